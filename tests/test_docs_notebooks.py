"""The notebooks run, and what is kept in them is what comes out."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS / "sphinx"))

from notebook import markdown_of, read_notebook, run_cells, texts  # noqa: E402

NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
MARKS = {"isolation-on-your-log": (), "learning-agent": pytest.mark.slow}
"""Of the shortest and of the longest one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is left beside a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def kept(path: Path) -> tuple[list[dict[str, Any]], list[list[str]]]:
    """The cells, and the outputs of those of code."""
    cells = read_notebook(path.read_text(encoding="utf-8"))
    return cells, [texts(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=MARKS.get(path.stem, pytest.mark.full))
        for path in NOTEBOOKS
    ],
)
def test_outputs_are_what_comes_out(path: Path) -> None:
    """To the digit; of pictures, that they are there."""
    cells, outputs = kept(path)
    assert list(map(texts, run_cells(cells))) == outputs


SHORTER = {
    '("fcfs", "shortest", "smallest")': '("smallest",)',
    "generations=10": "generations=1",
}
"""Of the longest one: one order of three, and a generation of ten."""


@pytest.mark.full
@pytest.mark.usefixtures("folder")
def test_the_agent_learns_for_a_generation_as_it_did() -> None:
    """What comes out until then is part of what is kept; the other cells run."""
    cells, outputs = kept(DOCS / "notebooks" / "learning-agent.ipynb")
    for (old, new), cell in itertools.product(SHORTER.items(), cells):
        cell["source"] = cell["source"].replace(old, new)
    trained = next(k for k, out in enumerate(outputs) if "generation 10" in str(out))
    found = list(map(texts, run_cells(cells)))[: trained + 1]
    lines = [line for out in found for text in out for line in text.splitlines()]
    assert len(lines) == 1 + 3 + 2
    assert set(lines) <= {line for out in outputs for text in out for line in text.splitlines()}


def test_there_are_five_of_them_in_order() -> None:
    """Each begins with a title, is small, and its cells are numbered as they ran."""
    assert [path.stem for path in NOTEBOOKS] == [
        "first-comparison",
        "isolation-on-your-log",
        "learning-agent",
        "own-policy",
        "tour",
    ]
    for path in NOTEBOOKS:
        assert path.stat().st_size < 90_000
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert cells[0]["source"][0].startswith("# ")
        counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
        assert counts == list(range(1, len(counts) + 1))


def test_the_runner_shows_what_jupyter_would() -> None:
    """Prints, then the last line's value; names carry over; None is not shown."""
    cells = [
        {"cell_type": "code", "source": "a = 3\nprint('three')\na"},
        {"cell_type": "markdown", "source": "text"},
        {"cell_type": "code", "source": "b = a + 1"},
        {"cell_type": "code", "source": "None"},
        {"cell_type": "code", "source": "b"},
    ]
    assert list(map(texts, run_cells(cells))) == [["three\n", "3"], [], [], ["4"]]


def test_a_notebooks_page_has_its_cells_in_order() -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]}
    page = markdown_of(
        [
            {"cell_type": "markdown", "source": "# Title"},
            {"cell_type": "code", "source": "print(1)\nprint(2)", "outputs": [output]},
        ]
    )
    assert page == "# Title\n\n```python\nprint(1)\nprint(2)\n```\n\n```text\n1\n2\n```\n"
