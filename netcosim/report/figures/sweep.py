"""What a sweep's page draws: curves of policies along an axis, and the best policy by region."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from netcosim.archive.values import ArchivedRun
from netcosim.report.compared import Compared
from netcosim.report.effect import Effect, Quantity
from netcosim.report.figures.drawing import Drawing, Panel, safe_name
from netcosim.report.figures.lines import time_unit
from netcosim.report.figures.policies import effects_drawing, pair_drawings
from netcosim.report.figures.run import wait_shares, waits_drawing, waits_of
from netcosim.report.figures.shapes import Square, squares
from netcosim.report.figures.style import (
    GRID,
    INK,
    ON_COLOUR,
    SOFT,
    dash,
    literal,
    marker,
    name_ticks,
    policy_colours,
)
from netcosim.report.swept import Axis, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 12
"""Of one drawing; of what does not fit, one value is drawn, and the caption names it."""
_MOST_TICKS = 7
_MOST_LETTERS = 24
_APART_PT = 4.0
"""Between the marks of two policies at one place, so that their intervals can be seen."""
CLIPPED = "Bars are 95 % intervals; one that leaves its panel goes on outside."
BY_REGION, COMPARED = "Best policy by region", "Policies compared"
PAIRS, WAITS = "Every pair of policies", "Who waits"
TEXTS = {
    BY_REGION: "",
    COMPARED: "",
    PAIRS: "Each policy (row) against each other one (column), over all settings.",
    WAITS: f"All jobs of one repetition, at {MOST_PANELS} settings at most.",
}
"""Titles of sections, and what they begin with; by default `CLIPPED`."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class Scale:
    """How a metric is shown: its axis label, and what its numbers are multiplied by."""

    factor: float
    label: str
    unit: str
    zero: float = 0.0
    """What is drawn as 0."""

    def of(self, value: float) -> float:
        """Return a number as it is shown."""
        return self.factor * (value - self.zero)


def scale_of(compared: Compared, metric: Quantity) -> Scale:
    """Return the unit that all panels of a metric are drawn in."""
    if metric.is_ratio:
        return Scale(100.0, f"{metric.name}, change (%)", "%", 1.0)
    if metric.unit == "%":
        return Scale(100.0, metric.label(), "%")
    if metric.unit == "s":
        seconds, unit = time_unit(max((e.interval.value for e in compared.of(metric)), default=0.0))
        return Scale(1 / seconds, f"{metric.name} ({unit})", unit)
    return Scale(1.0, metric.label(), metric.unit)


@dataclass(frozen=True)
class _Shown:
    """A metric in the unit and within the limits that all its panels have."""

    compared: Compared
    metric: Quantity

    @cached_property
    def scale(self) -> Scale:
        """See `scale_of`."""
        return scale_of(self.compared, self.metric)

    def interval(self, cell: Cell, policy: str) -> tuple[float, ...] | None:
        """Return value, low and high end of a policy at a cell."""
        found = self.compared.estimates.get((self.metric.column, cell, policy))
        return None if found is None else tuple(map(self.scale.of, found.interval))

    def samples(self, cell: Cell, policy: str) -> list[float]:
        """Return the repetitions of a policy at a cell."""
        found = self.compared.estimates[self.metric.column, cell, policy]
        return [*map(self.scale.of, found.samples.values())]

    def along(self, axis: int, cell: Cell, policy: str) -> list[tuple[float, ...]]:
        """Return position on an axis, value, low and high end of a policy at all its cells."""
        cells = (_moved(cell, axis, at) for at in range(len(self.compared.swept.axes[axis])))
        found = ((at, self.interval(there, policy)) for at, there in enumerate(cells))
        return [(at, *interval) for at, interval in found if interval is not None]

    def limits(self, most: float = 0.6) -> tuple[float, float]:
        """Return limits with all values, and intervals ending within ``most`` of their span."""
        all_of = [estimate.interval for estimate in self.compared.of(self.metric)]
        values = np.array([self.scale.of(i.value) for i in all_of])
        low, high = float(values.min()), float(values.max())
        room = max(high - low, 0.05 * max(abs(high), abs(low)), 1e-12)
        known = [end for i in all_of for end in i[1:] if math.isfinite(end)]
        ends = np.array([*map(self.scale.of, known)])
        inside = ends[(ends >= low - most * room) & (ends <= high + most * room)]
        low, high = min([low, *inside]), max([high, *inside])
        bottom = low - 0.12 * room
        return (max(bottom, 0.0) if values.min() >= 0 else bottom), high + 0.12 * room


def _moved(cell: Cell, axis: int, at: int) -> Cell:
    """Return the cell at another place of an axis."""
    return (*cell[:axis], at, *cell[axis + 1 :])


def curve_drawings(compared: Compared, along: int) -> list[Drawing]:
    """Return drawings along one axis, a panel for each combination of the others."""

    def panel(metric: Quantity, cell: Cell, title: str) -> Panel:
        shown = _Shown(compared, metric)
        draw = partial(_curves, shown=shown, along=along, cell=cell)
        return Panel(draw, title, _curve_words(shown, along, cell))

    of = f"by {compared.swept.axes[along].title}"
    return _by_metric(compared, f"policies {of}", of, facets(compared, along), (along,), panel)


def facets(compared: Compared, *along: int) -> list[Cell]:
    """Return a cell for each combination of the axes that are not drawn along."""
    cells = compared.cells()
    for axis in along:
        cells = [_moved(cell, axis, 0) for cell in cells]
    return sorted(set(cells))


def _by_metric(
    compared: Compared,
    single: str,
    of: str,
    cells: Sequence[Cell],
    along: Sequence[int],
    panel: Callable[[Quantity, Cell, str], Panel],
    **look: Any,
) -> list[Drawing]:
    """Return one drawing of all metrics; of several cells, a drawing a metric with a panel each."""
    if len(cells) == 1:
        panels = [panel(metric, cells[0], metric.title) for metric in compared.metrics]
        return [Drawing(safe_name(single), single, panels, **look)]
    grid = len(compared.swept.axes) > 1 + len(along)
    some = cells[:MOST_PANELS] if grid else spread(cells, MOST_PANELS)
    more = f" {len(some)} of {len(cells)} settings are drawn." if len(some) < len(cells) else ""
    drawings = []
    for metric in compared.metrics:
        panels = [panel(metric, cell, compared.swept.describe(cell, along)) for cell in some]
        caption = f"{'Higher' if metric.more_is_better else 'Lower'} is better.{more}"
        title = f"{metric.title} {of}"
        drawings.append(Drawing(safe_name(title), title, panels, caption, **look))
    return drawings


def spread(values: Sequence[Value], most: int) -> list[Value]:
    """Return at most ``most`` of some values, evenly spread, including both ends."""
    some = np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))
    return [values[i] for i in some]


def _curve_words(shown: _Shown, along: int, cell: Cell) -> str:
    """Return the numbers of a panel as text."""
    swept = shown.compared.swept
    axis, parts = swept.axes[along], []
    for policy in shown.compared.policies:
        points = shown.along(along, cell, policy)
        numbers = ", ".join(f"{axis.labels[int(at)]}: {value:.3g}" for at, value, *_ in points)
        parts.append(f"{policy}: {numbers}")
    fixed = swept.describe(cell, (along,))
    head = f"{shown.scale.label} by {axis.title}" + (f", {fixed}" if fixed else "")
    return f"{head}. {'; '.join(parts)}."


def _curves(axis: Axes, *, shown: _Shown, along: int, cell: Cell) -> None:
    """Draw a line a policy with its intervals; repetitions as faint dots."""
    from matplotlib.transforms import ScaledTranslation

    compared = shown.compared
    swept = compared.swept.axes[along]
    place = np.array(swept.values if swept.values else range(len(swept)), dtype=float)
    _bottom(axis, swept)
    axis.set_ylim(*shown.limits())
    if shown.metric.is_ratio:
        axis.axhline(0.0, color=SOFT, linewidth=0.8)
    for i, (policy, paint) in enumerate(policy_colours(compared.policies).items()):
        points = shown.along(along, cell, policy)
        if not points:
            continue
        apart = (i - (len(compared.policies) - 1) / 2) * _APART_PT / 72
        shift = ScaledTranslation(apart, 0, axis.figure.dpi_scale_trans)
        look: dict[str, Any] = {"color": paint, "transform": axis.transData + shift}
        at, value, low, high = (np.array(column) for column in zip(*points, strict=True))
        x = place[at]
        axis.plot(
            x,
            value,
            linestyle=dash(i) if swept.values else "none",
            marker=marker(i),
            markersize=4.5,
            linewidth=1.4,
            label=literal(policy, _MOST_LETTERS),
            **look,
        )
        known = np.isfinite(low) & np.isfinite(high)
        axis.vlines(x[known], low[known], high[known], linewidth=1.1, **look)
        samples = [shown.samples(_moved(cell, along, int(k)), policy) for k in at]
        counts = [len(own) for own in samples]
        if sum(counts) > len(points):
            dots = list(itertools.chain(*samples))
            axis.plot(np.repeat(x, counts), dots, ".", markersize=3.5, alpha=0.45, **look)
    axis.set_ylabel(shown.scale.label, fontsize=8)


def _bottom(axis: Axes, swept: Axis) -> None:
    """Set up the swept axis: to scale, logarithmic where its values are, or in categories."""
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
        some = spread(range(len(places)), _MOST_TICKS)
    else:
        axis.set_xlim(-0.5, len(places) - 0.5)
        some = list(range(len(places)))
    long = sum(len(swept.labels[i]) + 1 for i in some) > 44
    names = (literal(swept.labels[i], _MOST_LETTERS) for i in some)
    name_ticks(axis, [places[i] for i in some], names, slanted=long)
    axis.set_xticks([], minor=True)


def sweep_drawings(compared: Compared, kept: Mapping[str, ArchivedRun]) -> dict[str, list[Drawing]]:
    """Return all drawings of a sweep's page, by the title of their section."""
    axes, colours = compared.swept.axes, policy_colours(compared.policies)
    found = {BY_REGION: best_drawings(compared)}
    # the panels along the first axis have all numbers, unless some are left out
    drawn = axes if axes and len(facets(compared, 0)) > MOST_PANELS else axes[:1]
    found |= {f"By {axis.title}": curve_drawings(compared, i) for i, axis in enumerate(drawn)}
    found |= {} if axes else {COMPARED: effects_drawing(_changes(compared), colours)}
    found |= {PAIRS: sweep_pairs(compared), WAITS: _waits(compared, kept)}
    return {title: drawings for title, drawings in found.items() if drawings}


def _changes(compared: Compared) -> list[Effect]:
    """Return the changes of all policies from the first one, where only repetitions vary."""
    first, *others = compared.policies
    pairs = itertools.product(compared.metrics, others)
    found = (compared.change(metric, (), policy, first) for metric, policy in pairs)
    return [effect for effect in found if effect is not None]


def sweep_pairs(compared: Compared) -> list[Drawing]:
    """Return every pair of policies, over all cells."""
    cells = compared.cells()

    def changes(metric: Quantity, a: str, b: str) -> list[Effect]:
        return [e for cell in cells if (e := compared.change(metric, cell, a, b)) is not None]

    what = (
        "Change of the row from the column."
        if len(cells) == 1
        else f"At how many of {len(cells)} settings the row, and the column, is significantly "
        "better; where there is no interval, the median change of the row from the column."
    )
    caption = (
        f"{what} Blue: the row is better; orange: the column is; grey: neither. Each interval is "
        "at 95 %: of 20 pairs that do not differ, one appears to."
    )
    return pair_drawings(compared.policies, compared.metrics, changes, caption)


def _waits(compared: Compared, kept: Mapping[str, ArchivedRun]) -> list[Drawing]:
    """Return the shares of jobs by wait, a panel for each point of which jobs were kept."""
    colours = policy_colours(compared.policies)
    panels = []
    for key, run in kept.items():
        found = waits_of(run).items()
        waits = {n: w for n, w in found if n in colours and not np.isnan(w).all()}
        if waits:
            title = compared.swept.describe(compared.swept.cells[key])
            panels.append(Panel(partial(wait_shares, wait_s=waits, colours=colours), title))
    return [waits_drawing("waits", panels)] if panels else []


def best_drawings(compared: Compared) -> list[Drawing]:
    """Return maps of the best policy over the two longest axes; a strip where there is one."""
    axes = compared.swept.axes
    if not axes or len(compared.policies) < 2:
        return []
    high = len(axes[1]) if len(axes) > 1 else 1
    along = range(min(2, len(axes)))

    def panel(metric: Quantity, cell: Cell, title: str) -> Panel:
        draw = partial(_map, compared=compared, metric=metric, fixed=cell[2:])
        return Panel(draw, title, _map_words(compared, metric, cell[2:]))

    look = {"size_in": (3.7, 1.25 + 0.36 * high), "lines": ""}
    return _by_metric(
        compared, "best policy", "best policy", facets(compared, *along), along, panel, **look
    )


def _cells(compared: Compared, fixed: Cell) -> Mapping[tuple[int, int], Cell]:
    """Map column and row of a map to its cell."""
    axes = compared.swept.axes
    if len(axes) == 1:
        return {(x, 0): (x,) for x in range(len(axes[0]))}
    places = itertools.product(range(len(axes[0])), range(len(axes[1])))
    return {(x, y): (x, y, *fixed) for x, y in places}


def _map(axis: Axes, *, compared: Compared, metric: Quantity, fixed: Cell) -> None:
    """Draw cells in the colour of the best policy; hatched where it is not significant."""
    colours = policy_colours(compared.policies)
    across, *others = compared.swept.axes
    wide, high = len(across), (len(others[0]) if others else 1)
    named, drawn = wide <= 5, {}
    for at, cell in _cells(compared, fixed).items():
        best = compared.best(metric, cell)
        if best is None:
            continue
        if best.state == "not significant":
            drawn[at] = Square(GRID, label=best.state, hatch="////")
            continue
        clear = best.state == "significant"
        # where names have no room in their cells, the legend has them
        label = (None if named else best.policy) if clear else "pale: no interval"
        text = literal(best.policy, 34 // wide) if named else ""
        ink, alpha = (ON_COLOUR, 1.0) if clear else (INK, 0.45)
        drawn[at] = Square(colours[best.policy], text, ink, alpha, label)
    squares(axis, drawn)
    axis.set(xlim=(-0.5, wide - 0.5), ylim=(-0.5, high - 0.5))
    some = spread(range(wide), _MOST_TICKS)
    name_ticks(axis, some, (literal(across.labels[i], max(3, 40 // len(some))) for i in some))
    axis.set_xlabel(literal(across.title), fontsize=8)
    if others:
        up = others[0]
        axis.set_yticks(range(high), [literal(label, _MOST_LETTERS) for label in up.labels])
        axis.set_ylabel(literal(up.title), fontsize=8)
    else:
        axis.set_yticks([])


def _map_words(compared: Compared, metric: Quantity, fixed: Cell) -> str:
    parts = []
    for cell in _cells(compared, fixed).values():
        best = compared.best(metric, cell)
        if best is not None:
            what = best.policy if best.state != "not significant" else best.state
            parts.append(f"{compared.swept.describe(cell)}: {what}")
    return f"Best by {metric.title.lower()}: {'; '.join(parts)}."
