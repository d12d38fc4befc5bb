"""The documentation site: built without a warning, whole, and without a network."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import Opened

import netcosim

pytest.importorskip("sphinx", reason='no Sphinx here: pip install "netcosim[docs]"')
pytest.importorskip("furo", reason='no Furo here: pip install "netcosim[docs]"')
pytest.importorskip("myst_parser", reason='no MyST here: pip install "netcosim[docs]"')
docscrape = pytest.importorskip("numpydoc.docscrape", reason="no numpydoc here")

ROOT = Path(__file__).resolve().parents[1]
NAMES = [name for name in netcosim.__all__ if name != "__version__"]
FETCHED = re.compile(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` makes it."""
    folder = tmp_path_factory.mktemp("site")
    asked = re.findall(r"^docs:.*\n\t\$\(BIN\)/python (.*)$", (ROOT / "Makefile").read_text(), re.M)
    [words] = [line.split() for line in asked]
    words[words.index("-d") + 1] = str(folder / "doctrees")
    done = subprocess.run(
        [sys.executable, *words[:-1], str(folder / "html")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.mark.full
def test_it_is_whole(site: Path) -> None:
    """Every page, what is shown on them, and a way in at the top."""
    assert 'url=docs/index.html"' in (site / "index.html").read_text(encoding="utf-8")
    for page in (*(ROOT / "docs").glob("*.md"), *(ROOT / "experiments").rglob("*.md")):
        assert (site / page.relative_to(ROOT)).with_suffix(".html").exists(), page
    from netcosim.cli import command_names

    commands = (site / "docs" / "commands.html").read_text(encoding="utf-8")
    assert {name for name in NAMES if f'id="netcosim.{name}"' not in commands} == set()
    assert {n for n in command_names() if f'id="netcosim-{n}"' not in commands} == set()
    assert "--plugin" in commands
    notebook = (site / "docs" / "notebooks" / "first-comparison.html").read_text(encoding="utf-8")
    assert "level-spread" in notebook
    assert "figure of the cell above" in notebook


@pytest.mark.full
def test_nothing_of_it_is_fetched_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style.read_text()), style


@pytest.mark.full
@pytest.mark.parametrize(("width", "colours"), [(1440, "light"), (390, "dark")])
def test_pages_open_from_a_folder(site: Path, browser: Any, width: int, colours: str) -> None:
    """Without an error, without a request to anywhere else, and as wide as the screen."""
    pages = (
        "index",
        "howto",
        "faq",
        "commands",
        "config",
        "notebooks/first-comparison",
    )
    for name in pages:
        page = site / "docs" / f"{name}.html"
        opened = Opened(browser, page, width=width, color_scheme=colours)
        assert opened.wrong == []
        assert {url for url in opened.asked if not url.startswith(("file:", "data:"))} == set()
        assert "the page" not in opened.cut(), name
        opened.context.close()


@pytest.mark.full
def test_its_search_finds_without_a_network(site: Path, browser: Any) -> None:
    """From the first page, by its field; what it finds can be opened."""
    opened = Opened(browser, site / "docs" / "index.html", width=1440)
    opened.page.fill(".sidebar-search", "rendezvous")
    opened.page.press(".sidebar-search", "Enter")
    opened.page.wait_for_selector("ul.search li a")
    assert opened.page.url.startswith(f"file://{site}/search.html?q=rendezvous")
    assert "End points" in opened.texts("ul.search li a")
    opened.page.locator("ul.search li a", has_text="End points").first.click()
    opened.page.wait_for_url("**/docs/end-points.html*")
    assert opened.wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_public_docstrings_say_all_that_goes_in_and_out(name: str) -> None:
    """Parsed as numpydoc has it: a first sentence, every parameter, what comes back."""
    thing = getattr(netcosim, name)
    parsed = (
        docscrape.FunctionDoc(thing) if inspect.isfunction(thing) else docscrape.ClassDoc(thing)
    )
    assert "".join(parsed["Summary"]).endswith(".")
    # errors take a message; the fields of the others are described where they are declared, those
    # of a config on the page of its keys
    declared = (netcosim.Config, netcosim.Run, netcosim.Topology)
    if thing in (netcosim.NetcosimError, netcosim.ModelWarning, *declared):
        return
    sections = parsed["Parameters"] + parsed["Attributes"]
    said = {part.strip(" *") for entry in sections for part in entry.name.split(",")}
    signature = inspect.signature(thing)
    taken = {n for n in signature.parameters if n != "self"}
    assert taken - said == set()
    # what a function gives back stands in its signature, with its type
    assert (
        not inspect.isfunction(thing) or signature.return_annotation is not inspect.Signature.empty
    )
