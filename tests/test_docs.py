"""Every example in the README and the docs runs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(language: str) -> list[object]:
    return [
        pytest.param(found.group(2), id=f"{page.name}-{number}")
        for page in PAGES
        for number, found in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")))
        if found.group(1) == language
    ]


@pytest.mark.parametrize("text", blocks("toml"))
def test_configs_run(text: str) -> None:
    from experiments.config_load import config_from
    from experiments.cosim import run_cosim

    result = run_cosim(config_from(tomllib.loads(text)))
    assert list(result.schedules) == list(result.config.queue.policies)
    assert all(len(schedule) == len(result.workload) for schedule in result.schedules.values())


@pytest.mark.parametrize("text", blocks("python"))
def test_python_runs(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(text, "example", "exec"), {})
    assert capsys.readouterr().out


def test_pages_link_to_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_commands_named_in_pages_exist() -> None:
    from experiments.cli import command_names

    known = set(command_names())
    for page in PAGES:
        for command in re.findall(r"`netcosim ([a-z]+)", page.read_text(encoding="utf-8")):
            assert command in known, f"{page.name}: netcosim {command}"
