"""Notebooks without Jupyter: their cells run in order, and what they show is kept in the file.

``python docs/sphinx/notebook.py docs/notebooks/*.ipynb`` runs them and keeps the outputs; a test
runs them again and holds the texts to what is kept. Cells are plain Python: no magics.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Cell = dict[str, Any]
Output = dict[str, Any]


def read_notebook(text: str) -> list[Cell]:
    """A notebook's cells, each text as one string."""
    return [cell | {"source": "".join(cell["source"])} for cell in json.loads(text)["cells"]]


def run_cells(cells: list[Cell]) -> Iterator[list[Output]]:
    """The outputs of each code cell, run in order with common names.

    What a cell prints is a text; the value of its last line is its result unless that is None; a
    matplotlib figure left open is a picture. Figures that were open before are closed.
    """
    list(_pictures())
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cell for cell in cells if cell["cell_type"] == "code"):
        tree = ast.parse(cell["source"], f"cell {number + 1}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        value = None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, tree_name := f"cell {number + 1}", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), tree_name, "eval"), names)
        outputs: list[Output] = []
        if printed.getvalue():
            outputs.append(
                {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
            )
        pictures = list(_pictures())
        outputs += pictures
        if value is not None and not pictures:
            outputs.append(
                {
                    "output_type": "execute_result",
                    "execution_count": number + 1,
                    "metadata": {},
                    "data": {"text/plain": _lines(repr(value)), **_rich(value)},
                }
            )
        yield outputs


def _rich(value: object) -> dict[str, Any]:
    """What Jupyter would show of a value instead of its text."""
    if hasattr(value, "_repr_png_"):
        return {"image/png": base64.b64encode(value._repr_png_()).decode()}
    if hasattr(value, "_repr_html_"):
        return {"text/html": _lines(value._repr_html_())}
    return {}


def _pictures() -> Iterator[Output]:
    if "matplotlib.pyplot" not in sys.modules:
        return
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        drawn = io.BytesIO()
        pyplot.figure(number).savefig(drawn, format="png", dpi=80, metadata={"Software": None})
        yield {
            "output_type": "display_data",
            "metadata": {},
            "data": {"image/png": base64.b64encode(drawn.getvalue()).decode()},
        }
    pyplot.close("all")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(outputs: list[Output]) -> list[str]:
    """What of a cell's outputs can be compared: texts, and of pictures that they are there."""
    return [
        "".join(output["text"])
        if output["output_type"] == "stream"
        else "".join(output["data"].get("text/plain", "(a picture)"))
        for output in outputs
    ]


def markdown_of(cells: list[Cell]) -> str:
    """A notebook as a page of Markdown."""
    parts = []
    for cell in cells:
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
            continue
        parts.append(f"```python\n{cell['source']}\n```")
        for output, text in zip(cell["outputs"], texts(cell["outputs"]), strict=True):
            data = output.get("data", {})
            if picture := data.get("image/png"):
                parts.append(f"![figure of the cell above](data:image/png;base64,{picture})")
            elif table := data.get("text/html"):
                parts.append("".join(line.strip() for line in table if line.strip()))
            else:
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def keep_outputs(path: Path) -> None:
    """Run a notebook and write what its cells show into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    shown = run_cells(read_notebook(json.dumps(notebook)))
    for number, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
        cell["outputs"] = next(shown)
        cell["execution_count"] = number + 1
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    for given in sys.argv[1:]:
        keep_outputs(Path(given))
