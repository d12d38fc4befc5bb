"""The tutorial for operators of GPU clusters, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import ROOT, sitting

PAGE = ROOT / "docs" / "tutorials" / "gpu-operator.md"


@pytest.mark.full
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    done = dict(sitting(PAGE, tmp_path))
    assert {command: difference for command, difference in done.items() if difference} == {}
    assert len(done) == 4
