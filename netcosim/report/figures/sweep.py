"""What a sweep's page draws: a curve a policy along every axis, and the best policy by region."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.figures.style import (
    GRID,
    INK,
    SOFT,
    dash,
    literal,
    marker,
    name_ticks,
    policy_colours,
)
from netcosim.report.compared import Compared, Metric
from netcosim.report.figures.drawing import Drawing, Panel, safe_name
from netcosim.report.figures.lines import time_unit
from netcosim.report.swept import Axis, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 12
"""Of one drawing; what does not fit is fixed, and told."""
_MOST_TICKS = 7
_MOST_LETTERS = 24
_APART_PT = 4.0
"""Between the marks of two policies at one place, so that their intervals can be seen."""
_ON_COLOUR = "#fefefe"
"""White that stays white where a page is dark."""
CLIPPED = "Bars are 95 % intervals; one that leaves its panel goes on outside."


@dataclass(frozen=True)
class Scale:
    """How a metric is shown: what its numbers are multiplied by, and its axis in words."""

    factor: float
    label: str
    unit: str


def scale_of(compared: Compared, metric: Metric) -> Scale:
    """The unit that all panels of a metric are drawn in."""
    if metric.unit == "percent":
        return Scale(100.0, f"{metric.title.lower()} (%)", "%")
    if metric.unit == "time":
        most = max(
            (e.interval.value for (c, _, _), e in compared.estimates.items() if c == metric.column),
            default=0.0,
        )
        seconds, unit = time_unit(most)
        return Scale(1 / seconds, f"{metric.title.lower()} ({unit})", unit)
    label = "time, reference = 1" if metric.unit == "ratio" else metric.title.lower()
    return Scale(1.0, label, "")


def curve_drawings(compared: Compared, along: int) -> list[Drawing]:
    """A drawing a metric: along one axis, a panel for each combination of the others.

    Parameters
    ----------
    compared : Compared
    along : int
        Which axis lies at the bottom.
    """
    axes = compared.swept.axes
    combinations, told = _facets(compared, along)
    title = axes[along].title
    alone = len(combinations) == 1
    drawings = []
    for metric in compared.metrics:
        scale = scale_of(compared, metric)
        limits = _limits(compared, metric, scale)
        panels = [
            Panel(
                metric.title if alone else compared.swept.told(cell, (along,)),
                partial(
                    _curves,
                    compared=compared,
                    metric=metric,
                    scale=scale,
                    along=along,
                    cell=cell,
                    limits=limits,
                ),
                _words(compared, metric, scale, along, cell),
            )
            for cell in combinations
        ]
        drawings.append(
            Drawing(
                safe_name(f"{metric.title} by {title}"),
                f"{metric.title} by {title}",
                " ".join(filter(None, (_format_scale(metric), told))),
                tuple(panels),
            )
        )
    if alone:
        each = tuple(drawing.panels[0] for drawing in drawings)
        return [Drawing(safe_name(f"policies by {title}"), f"By {title}", told, each)]
    return drawings


def _facets(compared: Compared, along: int) -> tuple[list[Cell], str]:
    """Cells that stand for the panels along an axis, and what of the others is not drawn."""
    axes = compared.swept.axes
    others = sorted((i for i in range(len(axes)) if i != along), key=lambda i: (len(axes[i]), i))
    chosen: dict[int, Sequence[int]] = {along: (0,)}
    room, told = MOST_PANELS, []
    for i in others:
        size = len(axes[i])
        if size <= room:
            chosen[i] = range(size)
        elif room == MOST_PANELS:  # the only one: some of its values, both ends among them
            chosen[i] = np.unique(np.linspace(0, size - 1, room).round().astype(int)).tolist()
            told.append(f"Of {size} values of {axes[i].title} {len(chosen[i])} are drawn.")
        else:
            chosen[i] = (0,)
            told.append(f"Fixed here: {axes[i].title} {axes[i].labels[0]}.")
        room //= max(1, len(chosen[i]))
    there = {tuple(c for i, c in enumerate(cell) if i != along) for cell in compared.cells()}
    cells = itertools.product(*(chosen[i] for i in range(len(axes))))
    kept = [c for c in cells if tuple(x for i, x in enumerate(c) if i != along) in there]
    return kept, " ".join(told)


def _format_scale(metric: Metric) -> str:
    return "Higher is better." if metric.most_wins else "Lower is better."


def _along(cell: Cell, axis: int, at: int) -> Cell:
    return (*cell[:axis], at, *cell[axis + 1 :])


def _points(
    compared: Compared, metric: Metric, scale: Scale, along: int, cell: Cell, policy: str
) -> list[tuple[int, float, float, float]]:
    """(position on the axis, value, low, high) of a policy, in the unit that is shown."""
    found = []
    for at in range(len(compared.swept.axes[along])):
        estimate = compared.estimates.get((metric.column, _along(cell, along, at), policy))
        if estimate is not None:
            value, low, high = (scale.factor * x for x in estimate.interval)
            found.append((at, value, low, high))
    return found


def _words(compared: Compared, metric: Metric, scale: Scale, along: int, cell: Cell) -> str:
    """The numbers of a panel in words."""
    axis = compared.swept.axes[along]
    parts = []
    for policy in compared.policies:
        points = _points(compared, metric, scale, along, cell, policy)
        told = ", ".join(f"{axis.labels[at]}: {value:.3g}" for at, value, _, _ in points)
        parts.append(f"{policy}: {told}")
    fixed = compared.swept.told(cell, (along,))
    head = f"{scale.label} by {axis.title}" + (f", {fixed}" if fixed else "")
    return f"{head}. {'; '.join(parts)}."


def _limits(
    compared: Compared, metric: Metric, scale: Scale, most: float = 0.6
) -> tuple[float, float]:
    """The same for all panels: all values, and intervals that end within ``most`` of their span."""
    all_of = [e.interval for (c, _, _), e in compared.estimates.items() if c == metric.column]
    values = scale.factor * np.array([i.value for i in all_of])
    low, high = float(values.min()), float(values.max())
    room = max(high - low, 0.05 * max(abs(high), abs(low)), 1e-12)
    ends = scale.factor * np.array([end for i in all_of for end in i[1:] if math.isfinite(end)])
    inside = ends[(ends >= low - most * room) & (ends <= high + most * room)]
    low, high = min([low, *inside]), max([high, *inside])
    bottom = low - 0.12 * room
    return (max(bottom, 0.0) if values.min() >= 0 else bottom), high + 0.12 * room


def _curves(
    axis: Axes,
    *,
    compared: Compared,
    metric: Metric,
    scale: Scale,
    along: int,
    cell: Cell,
    limits: tuple[float, float],
) -> None:
    """A line a policy with its intervals; repetitions as faint dots."""
    from matplotlib.transforms import ScaledTranslation

    swept = compared.swept.axes[along]
    place = np.array(swept.values if swept.values else range(len(swept)), dtype=float)
    figure = axis.figure
    colours = policy_colours(compared.policies)
    _bottom(axis, swept)
    axis.set_ylim(*limits)
    if metric.unit == "ratio":
        axis.axhline(1.0, color=SOFT, linewidth=0.8)
    for i, policy in enumerate(compared.policies):
        points = _points(compared, metric, scale, along, cell, policy)
        if not points:
            continue
        apart = (i - (len(compared.policies) - 1) / 2) * _APART_PT / 72
        shifted = axis.transData + ScaledTranslation(apart, 0, figure.dpi_scale_trans)
        x = place[[at for at, *_ in points]]
        value, low, high = (np.array([p[k] for p in points]) for k in (1, 2, 3))
        line = dash(i) if swept.values else "none"
        axis.plot(
            x,
            value,
            color=colours[policy],
            linestyle=line,
            marker=marker(i),
            markersize=4.5,
            linewidth=1.4,
            label=literal(policy, _MOST_LETTERS),
            transform=shifted,
        )
        known = np.isfinite(low) & np.isfinite(high)
        axis.vlines(
            x[known],
            low[known],
            high[known],
            color=colours[policy],
            linewidth=1.1,
            transform=shifted,
        )
        dots = [
            (place[at], scale.factor * sample)
            for at, *_ in points
            for sample in compared.estimates[
                (metric.column, _along(cell, along, at), policy)
            ].samples.values()
        ]
        if len(dots) > len(points):
            axis.plot(
                *zip(*dots, strict=True),
                linestyle="none",
                marker=".",
                markersize=3.5,
                color=colours[policy],
                alpha=0.45,
                transform=shifted,
            )
    axis.set_ylabel(scale.label, fontsize=8)


def _bottom(axis: Axes, swept: Axis) -> None:
    """The swept axis: to scale, logarithmic where its values are, or in categories."""
    axis.set_xlabel(literal(swept.title), fontsize=8)
    places = list(swept.values or range(len(swept)))
    if swept.values:
        if swept.log:
            axis.set_xscale("log")
            ends = (places[0] ** 1.06 / places[-1] ** 0.06, places[-1] ** 1.06 / places[0] ** 0.06)
        else:
            room = 0.06 * (places[-1] - places[0]) or 1.0
            ends = (places[0] - room, places[-1] + room)
        axis.set_xlim(*ends)
        some = np.unique(np.linspace(0, len(places) - 1, _MOST_TICKS).round().astype(int))
    else:
        axis.set_xlim(-0.5, len(places) - 0.5)
        some = np.arange(len(places))
    long = sum(len(swept.labels[i]) + 1 for i in some) > 44
    names = (literal(swept.labels[i], _MOST_LETTERS) for i in some)
    name_ticks(axis, [places[i] for i in some], names, slanted=long)
    axis.set_xticks([], minor=True)


def forest_drawing(compared: Compared) -> Drawing:
    """A panel a metric, a line a policy: for what varies in nothing but repetitions."""
    panels = [
        Panel(
            metric.title,
            partial(_forest, compared=compared, metric=metric, scale=scale),
            f"{scale.label}: "
            + "; ".join(
                f"{policy}: {scale.factor * estimate.interval.value:.3g}"
                for policy, estimate in compared.at(metric, ()).items()
            ),
        )
        for metric in compared.metrics
        for scale in [scale_of(compared, metric)]
    ]
    height = 1.0 + 0.28 * len(compared.policies)
    return Drawing(
        "policies", "Policies", "", tuple(panels), (3.7, height), legend=False, lines="x"
    )


def _forest(axis: Axes, *, compared: Compared, metric: Metric, scale: Scale) -> None:
    colours = policy_colours(compared.policies)
    for i, policy in enumerate(compared.policies):
        estimate = compared.estimates.get((metric.column, (), policy))
        if estimate is None:
            continue
        value, low, high = (scale.factor * x for x in estimate.interval)
        samples = [scale.factor * x for x in estimate.samples.values()]
        axis.hlines(i, low, high, color=colours[policy], linewidth=1.4)
        axis.plot(samples, [i] * len(samples), ".", color=colours[policy], alpha=0.45, ms=4)
        axis.plot([value], [i], marker(i), color=colours[policy], ms=6)
    if metric.unit == "ratio":
        axis.axvline(1.0, color=SOFT, linewidth=0.8)
    axis.set_xlim(*_limits(compared, metric, scale, 2.0))
    axis.set_ylim(len(compared.policies) - 0.5, -0.5)
    axis.set_yticks(
        range(len(compared.policies)), [literal(p, _MOST_LETTERS) for p in compared.policies]
    )
    axis.set_xlabel(scale.label, fontsize=8)


def best_drawings(compared: Compared) -> list[Drawing]:
    """Maps of the best policy over the two longest axes; a strip where there is one.

    One drawing of all metrics where there is nothing else to choose, else a drawing a metric with
    a panel for each combination of the other axes.
    """
    axes = compared.swept.axes
    if not axes or len(compared.policies) < 2:
        return []
    across, up = 0, (1 if len(axes) > 1 else None)
    rest = [i for i in range(len(axes)) if i not in (across, up)]
    size = (3.7, 1.25 + 0.36 * (len(axes[up]) if up is not None else 1))

    def panel(metric: Metric, cell: Cell, title: str) -> Panel:
        drawn = partial(_map, compared=compared, metric=metric, across=across, up=up, cell=cell)
        return Panel(title, drawn, _map_words(compared, metric, across, up, cell))

    if not rest:
        start = (0,) * len(axes)
        all_of = tuple(panel(m, start, m.title) for m in compared.metrics)
        return [Drawing("best-policy", "Best policy by region", "", all_of, size, lines="")]
    there = {tuple(cell[i] for i in rest) for cell in compared.cells()}
    fixed = sorted(there)[:MOST_PANELS]
    more = (
        f"{len(fixed)} of {len(there)} combinations are drawn." if len(there) > len(fixed) else ""
    )
    drawings = []
    for metric in compared.metrics:
        panels = []
        for values in fixed:
            at = dict(zip(rest, values, strict=True))
            cell = tuple(at.get(i, 0) for i in range(len(axes)))
            title = compared.swept.told(cell, (across,) if up is None else (across, up))
            panels.append(panel(metric, cell, title))
        name = f"best-policy {metric.title}"
        drawings.append(Drawing(safe_name(name), metric.title, more, tuple(panels), size, lines=""))
    return drawings


def _places(
    compared: Compared, across: int, up: int | None, cell: Cell
) -> Mapping[tuple[int, int], Cell]:
    """Column and row of a map to its cell."""
    rows = len(compared.swept.axes[up]) if up is not None else 1
    found = {}
    for x in range(len(compared.swept.axes[across])):
        for y in range(rows):
            here = _along(cell, across, x)
            found[x, y] = here if up is None else _along(here, up, y)
    return found


def _map(
    axis: Axes, *, compared: Compared, metric: Metric, across: int, up: int | None, cell: Cell
) -> None:
    """Cells in the colour of the best policy; hatched where it is not significant."""
    from matplotlib.patches import Rectangle

    colours = policy_colours(compared.policies)
    axes = compared.swept.axes
    wide, high = len(axes[across]), (len(axes[up]) if up is not None else 1)
    named = wide <= 5
    for (x, y), here in _places(compared, across, up, cell).items():
        best = compared.best(metric, here)
        if best is None:
            continue
        told = best.state == "told"
        paint = GRID if best.state == "not significant" else colours[best.policy]
        corner = (x - 0.48, y - 0.46)
        unclear = best.state == "not significant"
        pale = not told and not unclear
        axis.add_patch(
            Rectangle(
                *(corner, 0.96, 0.92),
                facecolor=paint,
                linewidth=0,
                alpha=0.45 if pale else 1.0,
                # where names have no room in their cells, the legend has them
                label="pale: no interval" if pale else None if named or unclear else best.policy,
            )
        )
        if unclear:
            axis.add_patch(
                Rectangle(
                    *(corner, 0.96, 0.92),
                    fill=False,
                    linewidth=0,
                    hatch="////",
                    edgecolor=SOFT,
                    label=best.state,
                )
            )
        elif named:
            text = literal(best.policy, 34 // wide)
            axis.text(
                x, y, text, ha="center", va="center", fontsize=8, color=_ON_COLOUR if told else INK
            )
    axis.set_xlim(-0.5, wide - 0.5)
    axis.set_ylim(-0.5, high - 0.5)
    some = np.unique(np.linspace(0, wide - 1, _MOST_TICKS).round().astype(int)).tolist()
    axis.set_xticks(some, [literal(axes[across].labels[i], max(3, 40 // len(some))) for i in some])
    axis.set_xlabel(literal(axes[across].title), fontsize=8)
    if up is None:
        axis.set_yticks([])
    else:
        axis.set_yticks(range(high), [literal(label, _MOST_LETTERS) for label in axes[up].labels])
        axis.set_ylabel(literal(axes[up].title), fontsize=8)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _map_words(compared: Compared, metric: Metric, across: int, up: int | None, cell: Cell) -> str:
    parts = []
    for here in _places(compared, across, up, cell).values():
        best = compared.best(metric, here)
        if best is not None:
            what = best.policy if best.state != "not significant" else best.state
            parts.append(f"{compared.swept.told(here)}: {what}")
    return f"Best by {metric.title.lower()}: {'; '.join(parts)}."
