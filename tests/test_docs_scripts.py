"""The scripts behind published tables and figures: each runs, small, in a copy of the tree."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from netcosim.cli import main

ROOT = Path(__file__).resolve().parents[1]
Small = Callable[[ModuleType, Path, pytest.MonkeyPatch], Path]
"""Run a script's module small, with its folder's copy; return a file that it has written."""


def draw_house(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(script, "ROOT", ROOT)
    script.main()
    return Path(script.PICTURE)


def draw_report(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    assert main(["demo", "--out", str(folder / "demo")]) == 0
    script.draw(folder / "demo" / "report.html", script.PICTURE)
    return Path(script.PICTURE)


def draw_speed(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    script.main([])
    return folder.parents[2] / "docs" / "speed.md"


def draw_validation(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    (folder / "run").mkdir()
    (folder / "validation.csv").rename(folder / "run" / "validation.csv")
    script.main([str(folder / "run")])
    return folder / "validation.csv"


def fit_isolation_gain(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(script, "SHIPPED", folder / "predictor.json")
    script.main([])
    return folder / "predictor.json"


def learning_cells(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(script, "LOGS", {})
    patch.setattr(script, "SYNTHETIC", {"bursty": script.BURSTY})
    patch.setattr(script, "MACHINES", dict([*script.MACHINES.items()][:1]))
    patch.setitem(script.SCALES, "full", script.SCALES["quick"])
    script.main(folder, folder / "candidates.csv", str(folder))
    return folder / "candidates.csv"


def learning_speed(script: ModuleType, folder: Path, patch: pytest.MonkeyPatch) -> Path:
    for name, value in {"SECONDS": 0.01, "TURNS": 1, "N_STEPS": 5, "N_ENVS": 1}.items():
        patch.setattr(script, name, value)
    patch.setattr(script, "MACHINES", {"dragonfly-272": script.MACHINES["dragonfly-272"]})
    world = script.world

    def of_fewer_jobs(*named: str) -> dict[str, Any]:
        config: dict[str, Any] = world(*named)
        config["workload"]["synthetic"]["n_jobs"] = 20
        return config

    patch.setattr(script, "world", of_fewer_jobs)
    script.main()
    return folder / "speed.csv"


SMALL: dict[str, Small] = {
    f"{small.__name__}.py": small
    for small in (
        *(draw_house, draw_report, draw_speed, draw_validation),
        *(fit_isolation_gain, learning_cells, learning_speed),
    )
}


NEEDS = {"draw_report.py": ("playwright", "PIL"), "learning_speed.py": ("gymnasium",)}


def scripts() -> dict[str, Path]:
    """Return the programs of the documentation and those beside the studies' tables, by name."""
    found = [*ROOT.glob("docs/*.py"), *ROOT.glob("experiments/*/tables/*.py")]
    programs = [path for path in found if "__main__" in path.read_text(encoding="utf-8")]
    return {path.name: path.relative_to(ROOT) for path in programs}


def test_each_script_has_a_small_run() -> None:
    assert set(scripts()) == set(SMALL)


@pytest.mark.full
@pytest.mark.parametrize("name", SMALL)
def test_each_script_runs_small(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Also with what it reads of its folder; nothing is written elsewhere."""
    script_path = tmp_path / scripts()[name]
    folder = script_path.parent
    pages = (ROOT / "README.md", *ROOT.glob("docs/*.md"))
    for path in (*(ROOT / scripts()[name].parent).rglob("*"), *pages):
        if path.suffix in (".csv", ".json", ".toml", ".md", ".py", ".svg") and path.is_file():
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    for images in (folder, folder.parent, tmp_path / "docs"):
        (images / "images").mkdir(exist_ok=True)
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location(f"small_{name[:-3]}", script_path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)
    spec.loader.exec_module(script)
    began_s = time.time()
    written = SMALL[name](script, folder, monkeypatch)
    assert written.stat().st_mtime >= began_s - 1
    assert written.stat().st_size > 0
    assert written.is_relative_to(tmp_path)
