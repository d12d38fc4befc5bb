"""Links, anchors and pictures of all pages, and the site's order of pages."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import netcosim

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "sphinx"))

from nav import NAV  # noqa: E402

GENERATED = {DOCS / "images" / "house.svg"}
"""What `make docs` draws."""
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "NEWS.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("tutorials/*.md")),
    *sorted((ROOT / "experiments").rglob("*.md")),
]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    """A page's text, or the texts of a notebook, without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The names that a code forge gives to a page's headings."""
    names: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", text_of(page), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = name
        count = 0
        while again in names:
            count += 1
            again = f"{name}-{count}"
        names.add(again)
    return names


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Files are there, headings too, and a picture says what is on it."""
    for picture, text, target in LINK.findall(text_of(page)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        assert goal.exists() or goal in GENERATED, target
        assert goal.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(goal), target
        assert not picture or len(text) > 10, f"{target}: no words for who cannot see it"


def test_every_page_stands_in_the_sites_order_once() -> None:
    """A new page gets its line in docs/sphinx/nav.py."""
    listed = [
        entry[1:] if entry.startswith("/") else f"docs/{entry}"
        for entries in NAV.values()
        for entry in entries
    ]
    pages = [p.relative_to(ROOT).with_suffix("").as_posix() for p in [*PAGES, *NOTEBOOKS]]
    assert sorted([*listed, "README", "docs/index"]) == sorted(pages)


def test_the_page_on_python_has_every_public_name_once() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    lines = re.findall(r"^`\w+`(?: · `\w+`)*$", page, re.M)
    named = re.findall(r"\w+", " ".join(lines))
    assert sorted(named) == [name for name in netcosim.__all__ if name != "__version__"]


def test_pictures_are_small() -> None:
    pictures = [*DOCS.glob("images/*"), *(ROOT / "experiments").rglob("images/*")]
    assert {p.name for p in pictures if p.stat().st_size > 300_000} == set()
