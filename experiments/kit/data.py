"""What a paper has as data: TOML files in its folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from experiments.kit.papers import PaperFigure


@cache
def read_data(paper: str, name: str = "paper.toml") -> dict[str, Any]:
    """Return a TOML file of a folder of `experiments`, read once; do not change it."""
    path = files("experiments").joinpath(paper, name)
    return tomllib.loads(path.read_text("utf-8"))


def read_printed(paper: str) -> dict[str, Any]:
    """Return the numbers that a paper prints."""
    return read_data(paper, "printed.toml")


def paper_figures(paper: str, parts: Mapping[str, tuple[Any, ...]]) -> dict[str, PaperFigure]:
    """Return the figures that ``[figures]`` of a paper's ``paper.toml`` has a line for."""
    descriptions = read_data(paper)["figures"]
    return {name: PaperFigure(name, line, *parts[name]) for name, line in descriptions.items()}
