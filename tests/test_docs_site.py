"""The documentation site: built without a warning, whole, and without a network."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_it_is_whole(site: Path) -> None:
    """Every page, what is shown on them, and a way in at the top."""
    assert 'url=docs/index.html"' in (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / "docs" / f"{page.stem}.html").exists(), page
    python = (site / "docs" / "python.html").read_text(encoding="utf-8")
    assert {name for name in NAMES if f'id="netcosim.{name}"' not in python} == set()
    from netcosim.cli import command_names

    commands = (site / "docs" / "commands.html").read_text(encoding="utf-8")
    assert {n for n in command_names() if f'id="netcosim-{n}"' not in commands} == set()
    assert "--plugin" in commands
    notebook = (site / "docs" / "notebooks" / "first-comparison.html").read_text(encoding="utf-8")
    assert "level-spread" in notebook
    assert "figure of the cell above" in notebook


def test_nothing_of_it_is_fetched_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style.read_text()), style


@pytest.mark.parametrize("name", NAMES)
def test_public_docstrings_say_all_that_goes_in_and_out(name: str) -> None:
    """Parsed as numpydoc has it: a first sentence, every parameter, what comes back."""
    thing = getattr(netcosim, name)
    parsed = (
        docscrape.FunctionDoc(thing) if inspect.isfunction(thing) else docscrape.ClassDoc(thing)
    )
    assert "".join(parsed["Summary"]).endswith(".")
    if thing is netcosim.NetcosimError:
        return
    sections = parsed["Parameters"] + parsed["Attributes"]
    said = {part.strip() for entry in sections for part in entry.name.split(",")}
    signature = inspect.signature(thing)
    taken = {n for n in signature.parameters if n != "self"}
    assert taken - said == set()
    # what a function gives back stands in its signature, with its type
    assert (
        not inspect.isfunction(thing) or signature.return_annotation is not inspect.Signature.empty
    )
