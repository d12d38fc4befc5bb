"""dragonfly-placement.md: its config and script, on a small machine and a short log."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from netcosim.cli import main

pytestmark = pytest.mark.usefixtures("undrawn")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "dragonfly-placement.md"
BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```", re.M | re.S)
FILES = {found.group(1): found.group(2) for found in BLOCK.finditer(PAGE.read_text("utf-8"))}
SMALLER = {
    r"^p = 4 .*": "p = 2",
    r"^a = 8 .*": "a = 4",
    r"^g = 33 .*": "g = 5",
    r"^start = .*": 'start = ["0 h", "2 h"]',
    r"^end = .*": 'end = ["2 h", "4 h"]',
    r"^snapshots = 3": "snapshots = 2",
}
CELL = r"[+-]\d+\.\d \(-?\d+\.\d \.\. -?\d+\.\d\)( \*)?"


@pytest.mark.full
def test_level_spread_is_compared_with_the_others_by_both_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = FILES["dragonfly.toml"]
    for pattern, text in SMALLER.items():
        config, n_lines = re.subn(pattern, text, config, flags=re.M)
        assert n_lines == 1
    monkeypatch.chdir(tmp_path)
    Path("dragonfly.toml").write_text(config, encoding="utf-8")
    Path("pairs.py").write_text(FILES["pairs.py"], encoding="utf-8")
    sizes = "--n-jobs 80 --mean-nodes 6 --machine-nodes 40 --load 1.2"
    assert main(f"trace generate --out jobs.swf {sizes}".split()) == 0
    assert main(["sweep", "dragonfly.toml", "--quiet"]) == 0
    assert main(["report", "dragonfly.db", "--export", "csv"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["pairs.py", "dragonfly-csv"])
    runpy.run_path("pairs.py")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| policies | change in % | coupled-packets | measured |"
    pairs = [f"level-spread over {policy}" for policy in ("simple", "rdn", "rdg")]
    metrics = ("communication", "run time", "wait", "turnaround")
    rows = [f"{pair} | {metric}" for pair in pairs for metric in metrics]
    for line, row in zip(lines[2:], rows, strict=True):
        assert re.fullmatch(rf"\| {re.escape(row)} \| {CELL} \| {CELL} \|", line), line
