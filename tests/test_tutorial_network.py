"""The tutorial for researchers of networks, word for word; the page on curves and its keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from console import ROOT, sitting

from netcosim.curve.config import CurveSection
from netsim.units import short_name

PAGE = ROOT / "docs" / "tutorials" / "network-researcher.md"


@pytest.mark.full
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    done = dict(sitting(PAGE, tmp_path))
    assert {command: told for command, told in done.items() if told} == {}
    assert len(done) == 4
    assert {p.name for p in (tmp_path / "curve-mine").iterdir()} == {
        "report.html",
        "curve.csv",
        "curve.db",
        "curve.png",
        "saturation.csv",
    }


def test_the_page_on_curves_has_every_key() -> None:
    text = (ROOT / "docs" / "curve.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`.*?) \|", text, re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert named == [short_name(name) for name in (
        "traffic", "loads", "routings", "file", "parameters", "process", "message_bytes",
        "warm_up_s", "window_s", "tolerance", "doublings",
    )]  # fmt: skip
    assert set(named) == {short_name(name) for name in CurveSection.model_fields}
