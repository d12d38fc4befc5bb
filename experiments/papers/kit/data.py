"""What a paper has as data: TOML files in its folder."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def read_data(paper: str, name: str = "paper.toml") -> dict[str, Any]:
    """Return a TOML file of a folder of `experiments.papers`."""
    path = files("experiments.papers").joinpath(paper, name)
    return tomllib.loads(path.read_text("utf-8"))


def read_printed(paper: str) -> dict[str, Any]:
    """Return the numbers that a paper prints."""
    return read_data(paper, "printed.toml")
