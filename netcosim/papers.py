"""Studies whose figures can be reproduced: folders of `experiments` that contain a ``paper.py``.

A folder that is deleted is a study less. Its name and description are read without importing it.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).resolve().parents[1] / "experiments"


class PaperEntry(NamedTuple):
    """A paper or study that was found."""

    description: str
    """One line: the docstring of its folder's ``__init__.py``."""
    module: str
    """The module that has it, under the name ``PAPER``; imported when it is wanted."""


def _papers() -> dict[str, PaperEntry]:
    """Return the entries by name, in the order of their names."""
    folders = sorted(path.parent for path in _FOLDER.glob("*/paper.py"))
    return {
        folder.name.replace("_", "-"): PaperEntry(
            ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or "",
            f"experiments.{folder.name}.paper",
        )
        for folder in folders
    }


PAPERS = _papers()
