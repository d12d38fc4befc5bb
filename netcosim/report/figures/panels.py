"""Figures of several panels: bars in groups, curves, boxes from quantiles; one legend for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.style import INK, ON_COLOUR, SOFT, colour, marker
from netcosim.runs.frames import first_seen, groups

if TYPE_CHECKING:
    import pandas as pd

    from netcosim.report.table import Table

Draw = Callable[[Axes, "pd.DataFrame"], None]
"""Draws the rows of one panel."""
FIVE = ("least", "q25", "median", "q75", "most")
"""Columns of a box: ends of the whiskers, quartiles, median."""


class MarkStyle(NamedTuple):
    """How the dots of one kind look: colour, marker, and area in terms of the others'."""

    colour: str
    marker: str = "o"
    scale: float = 1.0


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


def panels(
    frame: pd.DataFrame,
    keys: str | Sequence[str],
    draw: Draw,
    *,
    columns: int = 1,
    size_in: tuple[float, float] = (7.5, 2.4),
    ylabel: str = "",
    xlabel: str = "",
    title: Callable[..., str] = lambda *values: ", ".join(map(str, values)),
    share: bool = False,
    legend: bool = True,
) -> Figure:
    """Draw a panel for each value of the key columns, or one, and one legend above all of them."""
    names = [keys] if isinstance(keys, str) else list(keys)
    parts = list(groups(frame, *names)) if names else [((), frame)]

    def drawn(axis: Axes, part: pd.DataFrame) -> None:
        draw(axis, part)
        # at this size 13 letters are an inch
        axis.set_ylabel(fill(ylabel, round(13 * size_in[1])), fontsize=8)
        axis.set_xlabel(xlabel, fontsize=8)

    shown = [Panel(partial(drawn, part=part), title(*values)) for values, part in parts]
    return Drawing(
        "", "", shown, size_in=size_in, columns=columns, legend=legend, share=share
    ).draw()


class Heights(NamedTuple):
    """Columns of the heights of bars, drawn as ``scale * (value - zero)``."""

    value: str
    ends: tuple[str, str] | None = None
    """Of an interval, drawn as a line over the bar."""
    outline: str | None = None
    """Of a second height, drawn as an empty bar around the first."""
    scale: float = 1.0
    zero: float = 0.0
    """A scale of 100 and a zero of 1 show ratios as percent above 1."""

    def of(self, rows: Sequence[Mapping[str, Any]], column: str) -> np.ndarray:
        """Return the heights of one of the columns; nan where a row has none."""
        values = np.array([row.get(column) for row in rows], dtype=float)
        return self.scale * (values - self.zero)


def _records(table: Table) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a table, without pandas for rows."""
    if isinstance(table, Sequence):
        return table
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _values(rows: Sequence[Mapping[str, Any]], column: str) -> list[Any]:
    """Return a column's values in order of first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def grouped_bars(
    axis: Axes,
    table: Table,
    x: str,
    by: str,
    heights: Heights,
    *,
    marks: Mapping[tuple[Any, Any], float | Sequence[float]] | None = None,
    order: Sequence[Any] | None = None,
    colours: Mapping[Any, str] | None = None,
    name: Callable[[Any], str] = str,
    numbers: str = "",
) -> None:
    """Draw bars side by side at each value of column ``x``, a colour for each value of ``by``.

    ``marks`` are printed values, or the ends of a range, already scaled, by (x, by): lines across
    the bar, "paper" in the legend. ``order`` has the groups from left to right, in order of first
    appearance by default. ``name`` is the legend's name of a ``by`` value, ``numbers`` the format
    of the number over each bar, such as "%.1f".
    """
    records = _records(table)
    groups_shown = list(_values(records, x) if order is None else order)
    kinds = _values(records, by)
    width = 0.8 / len(kinds)
    for i, kind in enumerate(kinds):
        # of several rows at one place the first
        place = {row[x]: row for row in reversed(records) if row[by] == kind}
        rows = [place.get(group, {}) for group in groups_shown]
        at = np.arange(len(groups_shown)) + (i - (len(kinds) - 1) / 2) * width
        paint = colour(i) if colours is None else colours[kind]
        if heights.outline is not None:
            outline = heights.of(rows, heights.outline)
            axis.bar(at, outline, width * 0.92, fill=False, edgecolor=paint)
        value = heights.of(rows, heights.value)
        bars = axis.bar(at, value, width * 0.92, color=paint, label=name(kind))
        if heights.ends is not None:
            low, high = (heights.of(rows, end) for end in heights.ends)
            axis.vlines(at, low, high, color=INK, linewidth=0.9)
        if numbers:
            axis.bar_label(bars, fmt=numbers, fontsize=7, padding=1)
        for group, middle in zip(groups_shown, at, strict=True):
            if marks is not None and (group, kind) in marks:
                half, height = 0.45 * width, marks[group, kind]
                axis.hlines(height, middle - half, middle + half, color=INK, lw=2, label="paper")
    axis.axhline(0.0, color=INK, linewidth=0.8)
    _name_groups(axis, groups_shown)


def _name_groups(axis: Axes, names: Sequence[Any]) -> None:
    axis.set_xticks(range(len(names)), list(map(str, names)))
    axis.set_xlim(-0.6, len(names) - 0.4)


def curves(
    axis: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    styles: Mapping[Any, tuple[str, str]] | None = None,
    marked: bool = False,
    steps: bool = False,
    name: Callable[[Any], str] = str,
) -> None:
    """Draw a line from left to right through the rows of each value of column ``by``.

    ``steps``: level up to each row, in place of slopes.
    """
    for i, ((kind,), rows) in enumerate(groups(frame, by)):
        paint, style = (colour(i), "-") if styles is None else styles[kind]
        rows = rows.sort_values(x, kind="stable")
        axis.plot(
            rows[x],
            rows[y],
            style,
            color=paint,
            marker=marker(i) if marked else None,
            markersize=5,
            linewidth=1.4,
            drawstyle="steps-pre" if steps else "default",
            label=name(kind),
        )


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
    """Draw boxes from stored quantiles, side by side as in `grouped_bars`; a ``mean`` as a dot.

    The five columns are the ends of the whiskers outside, the quartiles, and the median in the
    middle, each drawn ``scale`` times.
    """
    records = _records(table)
    places = _values(records, x)
    groups_shown = list(places if order is None else order)
    kinds = _values(records, by)
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
    _name_groups(axis, groups_shown)


def dots(
    axis: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    styles: Mapping[Any, MarkStyle] | None = None,
    size: float = 36.0,
    alpha: float = 1.0,
) -> None:
    """Draw a dot a row, with a colour and marker for each value of ``by``; the last kind on top."""
    kinds = first_seen(frame, by)
    if styles is None:
        styles = {kind: MarkStyle(colour(i), marker(i)) for i, kind in enumerate(kinds)}
    for kind in (kind for kind in styles if kind in kinds):
        rows = frame[frame[by] == kind]
        axis.scatter(
            rows[x],
            rows[y],
            s=size * styles[kind].scale,
            marker=styles[kind].marker,
            color=styles[kind].colour,
            alpha=alpha,
            linewidths=0,
            label=str(kind),
        )
