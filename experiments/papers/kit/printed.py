"""Numbers that a paper prints: the file ``printed.toml`` of its folder."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def read_printed(paper: str) -> dict[str, Any]:
    """Return the printed numbers of the paper in this folder of `experiments.papers`."""
    text = files("experiments.papers").joinpath(paper, "printed.toml").read_text("utf-8")
    return tomllib.loads(text)
