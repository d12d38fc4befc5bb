"""Where isolation pays: a panel of squares, over share of communication and load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.isolation.phases import NOT, PAYS, UNKNOWN
from netcosim.report.figures.shapes import Square, squares
from netcosim.report.figures.style import INK, colour

if TYPE_CHECKING:
    import pandas as pd

PAINT = {PAYS: colour(0), NOT: colour(1), UNKNOWN: "0.88"}


def verdict_legend(figure: Figure, what: str = "isolation") -> None:
    """Draw the legend of the three colours above all panels."""
    figure.legend(
        handles=[
            Patch(color=paint, label=word if word == UNKNOWN else f"{what} {word}".strip())
            for word, paint in PAINT.items()
        ],
        loc="outside upper center",
        ncols=len(PAINT),
        frameon=False,
        fontsize=8,
    )


def draw_phases(
    axis: Axes,
    rows: pd.DataFrame,
    levels: Sequence[float],
    loads: Sequence[str],
) -> None:
    """Draw a square for each share of communication and load, with the gain in percent.

    Rows have ``share``, ``load``, ``verdict`` and ``gain_percent``; levels and loads are those of
    all panels, from left to right and from below.
    """
    drawn = {}
    for row in rows.to_dict("records"):
        text, word = f"{round(row['gain_percent'], 1) + 0.0:.1f}", row["verdict"]
        at = levels.index(row["share"]), loads.index(row["load"])
        drawn[at] = Square(PAINT[word], text, INK if word == UNKNOWN else "white")
    squares(axis, drawn, size=7)
    axis.set_xlim(-0.5, len(levels) - 0.5)
    axis.set_ylim(-0.5, len(loads) - 0.5)
    axis.set_xticks(range(len(levels)), [f"{level:g}" for level in levels], fontsize=7)
    axis.set_yticks(range(len(loads)), [load.replace("all at once", "full") for load in loads])
    axis.tick_params(axis="y", labelsize=7)
    axis.set_xlabel("share of communication", fontsize=8)
