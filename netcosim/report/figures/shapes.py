"""Shapes that figures are drawn of: squares of a map, boxes from quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from netcosim.report.figures.style import INK, ON_COLOUR, SOFT, colour

if TYPE_CHECKING:
    from netcosim.report.table import Table

FIVE = ("least", "q25", "median", "q75", "most")
"""Columns of a box: ends of the whiskers, quartiles, median."""


class Square(NamedTuple):
    """A cell of a map: its ground, what is written on it, its name in the legend."""

    paint: str
    text: str = ""
    ink: str = ON_COLOUR
    alpha: float = 1.0
    label: str | None = None
    hatch: str = ""


def squares(axis: Axes, cells: Mapping[tuple[int, int], Square], size: float = 8) -> None:
    """Draw squares at columns and rows, without an axis around them; texts of a size in points."""
    for (x, y), one in cells.items():
        place: dict[str, Any] = {"xy": (x - 0.48, y - 0.46), "width": 0.96, "height": 0.92}
        look: dict[str, Any] = {"linewidth": 0, "label": one.label}
        axis.add_patch(Rectangle(**place, facecolor=one.paint, alpha=one.alpha, **look))
        if one.hatch:
            axis.add_patch(Rectangle(**place, fill=False, hatch=one.hatch, edgecolor=SOFT, **look))
        if one.text:
            axis.text(x, y, one.text, ha="center", va="center", fontsize=size, color=one.ink)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def name_groups(axis: Axes, names: Sequence[Any]) -> None:
    """Write the names of groups, one at each whole number."""
    axis.set_xticks(range(len(names)), list(map(str, names)))
    axis.set_xlim(-0.6, len(names) - 0.4)


def boxes(
    axis: Axes,
    table: Table,
    x: str,
    by: str,
    *,
    quantiles: Sequence[str] = FIVE,
    scale: float = 1.0,
    order: Sequence[Any] | None = None,
    colours: Mapping[Any, str] | None = None,
    name: Callable[[Any], str] = str,
) -> None:
    """Draw boxes from stored quantiles, side by side at each ``x``; a ``mean`` as a dot.

    The five columns are the ends of the whiskers outside, the quartiles, and the median in the
    middle, each drawn ``scale`` times.
    """
    # rows need no pandas
    records: Any = table if isinstance(table, Sequence) else table.to_dict("records")
    places, kinds = (list(dict.fromkeys(row[key] for row in records)) for key in (x, by))
    groups_shown = list(places if order is None else order)
    step = 0.8 / max(2, len(kinds))
    apart = step if len(places) < len(records) else 0.0
    for row in records:
        i = kinds.index(row[by])
        place = groups_shown.index(row[x]) + apart * (i - (len(kinds) - 1) / 2)
        low, q25, median, q75, high = (scale * float(row[q]) for q in quantiles)
        half, label = 0.4 * step, name(row[by])
        paint = colour(i) if colours is None else colours[row[by]]
        axis.vlines(place, low, high, color=paint, lw=1)
        axis.bar(place, q75 - q25, 2 * half, bottom=q25, color=paint, alpha=0.6, label=label)
        axis.hlines(median, place - half, place + half, color=INK, lw=1.2)
        if "mean" in row:
            axis.plot([place], [scale * row["mean"]], "o", ms=3.5, mfc="white", mec=INK)
    name_groups(axis, groups_shown)
