"""Figures of several panels: bars in groups, curves, dots; one legend for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.frames import first_seen, groups
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.shapes import name_groups
from netcosim.report.figures.style import INK, colour, marker

if TYPE_CHECKING:
    import pandas as pd

Draw = Callable[[Axes, "pd.DataFrame"], None]
"""Draws the rows of one panel."""


class MarkStyle(NamedTuple):
    """How the dots of one kind look: colour, marker, and area in terms of the others'."""

    colour: str
    marker: str = "o"
    scale: float = 1.0


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

    def of(self, rows: pd.DataFrame, column: str) -> np.ndarray:
        """Return the heights of one of the columns."""
        return np.asarray(self.scale * (rows[column].to_numpy(dtype=float) - self.zero))


def grouped_bars(
    axis: Axes,
    frame: pd.DataFrame,
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
    groups_shown = list(first_seen(frame, x) if order is None else order)
    kinds = first_seen(frame, by)
    width = 0.8 / len(kinds)
    for i, kind in enumerate(kinds):
        rows = frame[frame[by] == kind].drop_duplicates(x).set_index(x).reindex(groups_shown)
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
        for group, place in zip(groups_shown, at, strict=True):
            if marks is not None and (group, kind) in marks:
                half, height = 0.45 * width, marks[group, kind]
                axis.hlines(height, place - half, place + half, color=INK, lw=2, label="paper")
    axis.axhline(0.0, color=INK, linewidth=0.8)
    name_groups(axis, groups_shown)


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
