"""The tutorial for readers of papers, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import ROOT, sitting

PAGE = ROOT / "docs" / "tutorials" / "paper-reader.md"


@pytest.mark.full
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    """Verdicts, numbers and intervals to the digit, the paper's figure and the reader's own."""
    done = dict(sitting(PAGE, tmp_path))
    assert {command: told for command, told in done.items() if told} == {}
    assert len(done) == 6
