"""How two tutorials begin; tests/test_tutorial_*.py run all of them in full."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import ROOT, sitting


@pytest.mark.parametrize("name", ["administrator", "scheduler-researcher"])
def test_the_first_command_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    _, difference = next(sitting(ROOT / "docs" / "tutorials" / f"{name}.md", tmp_path))
    assert difference == ""
