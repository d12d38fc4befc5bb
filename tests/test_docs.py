"""Every example in the README and the docs runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from selection import first_only

from netcosim.catalogue import entries

ROOT = Path(__file__).resolve().parents[1]
SWEEPS = ROOT / "docs" / "sweeps.md"
EXTEND = ROOT / "docs" / "extend.md"
STUDIES = sorted((ROOT / "experiments").rglob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *STUDIES]
ALONE = [page for page in PAGES if page not in (SWEEPS, EXTEND)]
"""Their examples stand alone; tests/test_docs_extend.py runs those of extend.md."""
FILE = re.compile(r"# \S+\.(py|toml)\n")
"""Such a line begins those of `WALKED` that other tests run together."""
WALKED = tuple(ROOT / "docs" / f"{name}.md" for name in ("index", "howto", "dragonfly-placement"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(language: str, pages: Sequence[Path] = PAGES) -> list[object]:
    return [
        pytest.param(found.group(2), id=f"{page.name}-{number}")
        for page in pages
        for number, found in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")))
        if found.group(1) == language
        and found.group(2).strip() != "#:schema ./netcosim.schema.json"
        and not (page in WALKED and FILE.match(found.group(2)))
    ]


@pytest.mark.parametrize("text", first_only(blocks("toml", ALONE)))
def test_configs_run(text: str) -> None:
    from netcosim.config.load import config_from
    from netcosim.runs.cosim import run_cosim

    result = run_cosim(config_from(tomllib.loads(text)))
    assert list(result.schedules) == list(result.config.queue.policies)
    assert all(len(schedule) == len(result.workload) for schedule in result.schedules.values())


def changed(config: Mapping[str, Any], by: Mapping[str, Any]) -> dict[str, Any]:
    """A config with the keys of another in it; lists are replaced whole."""
    inner = {
        key: changed(config[key], value)
        for key, value in by.items()
        if isinstance(value, Mapping) and isinstance(config.get(key), Mapping)
    }
    return {**config, **by, **inner}


@pytest.mark.parametrize("text", blocks("toml", [SWEEPS])[1:])
def test_sweeps_have_the_points_that_the_page_says(text: str) -> None:
    """Each example changes the page's first; its first and last point run."""
    from netcosim.config.load import points_of
    from netcosim.runs.cosim import run_cosim
    from netcosim.runs.points import point_key

    base = BLOCK.search(SWEEPS.read_text(encoding="utf-8"))
    assert base is not None
    points = points_of(changed(tomllib.loads(base.group(2)), tomllib.loads(text)))
    told = re.match(r"# (\d+) points", text)
    assert told is not None
    assert len(points) == int(told.group(1))
    assert len({point_key(point.resolved()) for point in points}) == len(points)
    for point in (points[0], points[-1]):
        result = run_cosim(point)
        assert list(result.measured) == list(point.queue.policies)


@pytest.mark.parametrize("text", blocks("python", ALONE))
def test_python_runs(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(text, "example", "exec"), {})
    assert capsys.readouterr().out


def test_commands_named_in_pages_exist() -> None:
    from netcosim.cli import command_names

    known = set(command_names())
    for page in PAGES:
        for command in re.findall(r"`netcosim ([a-z][a-z-]*)", page.read_text(encoding="utf-8")):
            assert command in known, f"{page.name}: netcosim {command}"


@pytest.mark.full
def test_the_demos_table_in_the_readme_is_what_comes_out() -> None:
    """To the digit: the demo's draws come from its config alone."""
    from netcosim.config.load import config_from
    from netcosim.demo_config import demo_config_text
    from netcosim.report.about import notes_of
    from netcosim.report.policies import policy_rows, print_table
    from netcosim.report.verdict import findings
    from netcosim.runs.cosim import run_cosim
    from netcosim.runs.cosim_tables import result_tables
    from netcosim.runs.queue_intervals import RESAMPLES, redrawn, with_intervals

    policies = ("rdn", "rdg", "simple", "level-spread")
    text = demo_config_text(None, None, policies, 1)
    config = tomllib.loads(text)
    config["run"]["keep"] = "schedules"  # jobs need not be sent alone as well
    result = run_cosim(config_from(config))
    shown = [*print_table(policy_rows(result_tables(result))).splitlines(), *notes_of(result)]
    [table] = [
        found.group(2).splitlines()
        for found in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))
        if found.group(2).startswith("policy ")
    ]
    assert [line.rstrip() for line in shown] == [line.rstrip() for line in table]
    tables = with_intervals(result_tables(result), result, redrawn(result, RESAMPLES))
    [waits] = [line for line in findings(tables) if line.startswith("simple ")]
    assert "shortens mean wait by 49 % (15 to 70)" in waits
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "and mean waits by 49 % (15 to 70)." in readme


def test_the_readme_counts_the_machines() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [count] = re.findall(r"(\d+) \[machine presets\]", readme)
    assert int(count) == len(entries("machines"))
