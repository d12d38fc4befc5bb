"""Pages that are walked word for word: the tour on the first page, a trained agent, how-tos."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import ROOT, sitting

PAGES = ["index", "howto", "tutorials/learning-agent"]


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES)
def test_every_command_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    done = dict(sitting(ROOT / "docs" / f"{page}.md", tmp_path))
    assert done
    assert {command: told for command, told in done.items() if told} == {}
