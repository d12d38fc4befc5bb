"""The notebooks run, and what is kept in them is what comes out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS / "sphinx"))

from notebook import markdown_of, read_notebook, run_cells, texts  # noqa: E402

NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
SHORTEST = "isolation-on-your-log"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem == SHORTEST else pytest.mark.full)
        for path in NOTEBOOKS
    ],
)
def test_outputs_are_what_comes_out(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the digit; of pictures, that they are there. Nothing is left beside the notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    cells = read_notebook(path.read_text(encoding="utf-8"))
    kept = [texts(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]
    assert list(map(texts, run_cells(cells))) == kept
    assert list(tmp_path.iterdir()) == []


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
