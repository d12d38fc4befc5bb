"""Policies compared: with a reference, with each other, and waits by the size of jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from netcosim.report.effect import Effect, Quantity, signed
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import time_unit
from netcosim.report.figures.panels import Heights, Square, grouped_bars, squares
from netcosim.report.figures.style import (
    GRID,
    INK,
    ON_COLOUR,
    SOFT,
    colour,
    literal,
    marker,
    name_ticks,
)
from netsim.errors import NetcosimError

SIZES = ((1, "1"), (8, "2-8"), (32, "9-32"), (128, "33-128"), (512, "129-512"), (2048, "513-2048"))
"""Most nodes of each class, and its name; larger ones are one more."""
MORE = "more"


def effect_bars(axis: Axes, effects: Sequence[Effect], colours: Mapping[str, str]) -> None:
    """Draw effects of one quantity by part of the jobs: groups of bars, a bar a policy."""
    [(quantity, against)] = {(effect.quantity, effect.against) for effect in effects}
    names = ("part", "policy", "value", "low", "high")
    parts = [e.part.replace(" on ", "\n") for e in effects]
    rows = [
        dict(zip(names, (part, e.subject, e.value, e.low, e.high), strict=True))
        for part, e in zip(parts, effects, strict=True)
    ]
    groups = list(dict.fromkeys(parts))
    grouped_bars(
        axis,
        rows,
        "part",
        "policy",
        Heights("value", ends=("low", "high")),
        order=groups,
        colours=colours,
        name=literal,
    )
    wide = bars_width_in(effects)
    slanted = max(len(str(g)) for g in groups) * len(groups) > wide * 9
    name_ticks(axis, range(len(groups)), map(literal, groups), slanted=slanted)
    axis.tick_params(axis="x", length=0)
    axis.set(ylabel=quantity.label(literal(against)))
    axis.spines["bottom"].set_color(SOFT)


def bars_width_in(effects: Sequence[Effect]) -> float:
    """Return the width, in inches, that `effect_bars` of these needs."""
    groups, policies = ({getattr(e, of) for e in effects} for of in ("part", "subject"))
    return min(max(6.0, 1.2 + 0.32 * len(groups) * (len(policies) + 1)), 11.0)


def effect_dots(axis: Axes, effects: Sequence[Effect], colours: Mapping[str, str]) -> None:
    """Draw rows of policies under each quantity, with a line where nothing changes."""
    quantities = list(dict.fromkeys(effect.quantity.name for effect in effects))
    policies = list(dict.fromkeys(effect.subject for effect in effects))
    names = [name for quantity in quantities for name in (quantity, *policies)]
    rows = {pair: i for i, pair in enumerate((q, p) for q in quantities for p in ("", *policies))}
    axis.axvline(0.0, color=SOFT, linewidth=1.0)
    for effect in effects:
        row, paint = rows[effect.quantity.name, effect.subject], colours[effect.subject]
        if effect.has_interval:
            axis.hlines(row, effect.low, effect.high, color=paint, linewidth=2.4)
        axis.plot([effect.value], [row], "o", color=paint, markersize=7)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), map(literal, names))
    for label in axis.get_yticklabels()[:: len(policies) + 1]:
        label.set_fontweight("bold")
    axis.tick_params(axis="y", length=0)
    ends = np.array([(e.value, e.low, e.high) for e in effects])
    least, most = min(-5.0, float(np.nanmin(ends))), max(5.0, float(np.nanmax(ends)))
    room = 0.06 * (most - least)
    axis.set(xlim=(least - room, most + room))
    axis.set_xlabel(f"change from {literal(effects[0].against)} (%)")


def effects_drawing(effects: Sequence[Effect], colours: Mapping[str, str]) -> list[Drawing]:
    """Return the drawing of `effect_dots`; none of no effects."""
    if not effects:
        return []
    label, names = effects[0].against, {effect.quantity.name: None for effect in effects}
    rows = len(names) * (1 + len({effect.subject for effect in effects}))
    title = f"Change of each policy from {label} in percent: {', '.join(names)}."
    panel = Panel(partial(effect_dots, effects=effects, colours=colours))
    caption = f"Change from {label}: left of the line is less. Bars: 95 % intervals."
    size = (4.9, 0.8 + 0.25 * rows)
    return [Drawing("policies", title, [panel], caption, size, legend=False, lines="x")]


def pair_matrix(
    axis: Axes, names: Sequence[str], cells: Mapping[tuple[str, str], tuple[str, int]]
) -> None:
    """Draw a square for each pair of names: the row compared with the column.

    ``cells`` has a text and a state by (row, column): 1 the row is significantly better, -1 the
    column is, 0 neither.
    """
    drawn = {}
    for (row, column), (text, state) in cells.items():
        paint = {1: colour(0), -1: colour(1), 0: GRID}[state]
        at = names.index(column), names.index(row)
        drawn[at] = Square(paint, text, ON_COLOUR if state else INK)
    squares(axis, drawn)
    axis.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
    shown = [literal(name, 14) for name in names]
    name_ticks(axis, range(len(names)), shown, slanted=sum(map(len, shown)) > 34)
    axis.set_yticks(range(len(names)), shown)


def pair_drawings(
    names: Sequence[str],
    quantities: Iterable[Quantity],
    changes: Callable[[Quantity, str, str], Sequence[Effect]],
    caption: str,
) -> list[Drawing]:
    """Return a panel a quantity: every policy compared with every other one.

    ``changes`` gives the effects of the row's policy against the column's, one a setting. Of
    several, a square has at how many the row is significantly better, and at how many the column
    is; without intervals, the median change.
    """
    panels = []
    for quantity in quantities:
        cells = {}
        for pair in permutations(names, 2):
            effects = [e for e in changes(quantity, *pair) if math.isfinite(e.value)]
            better = sum(effect.better for effect in effects)
            worse = sum(effect.significant for effect in effects) - better
            if len(effects) > 1 and any(effect.has_interval for effect in effects):
                cells[pair] = f"{better} : {worse}", int(np.sign(better - worse))
            elif effects:
                middle = float(np.median([effect.value for effect in effects]))
                cells[pair] = f"{signed(middle)} %", int(np.sign(better - worse))
        words = "; ".join(f"{a} against {b}: {text}" for (a, b), (text, _) in cells.items())
        draw = partial(pair_matrix, names=names, cells=cells)
        panels += [Panel(draw, quantity.title, f"{quantity.name}: {words}.")] if cells else []
    if len(names) < 3 or not panels:
        return []
    size, title = (3.9, 1.1 + 0.4 * len(names)), "Every pair of policies"
    return [Drawing("pairs", title, panels, caption, size, legend=False, lines="")]


def waits_by_size(
    axis: Axes,
    n_nodes: ArrayLike,
    wait_s: Mapping[str, ArrayLike],
    colours: Mapping[str, str],
) -> None:
    """Draw mean waits by size class, a mark a policy; a line from median to 90th percentile.

    The wait of a job that never ran is nan.
    """
    nodes = np.asarray(n_nodes)
    waits = {name: np.asarray(values, dtype=float) for name, values in wait_s.items()}
    size = np.searchsorted([most for most, _ in SIZES], nodes)
    names = [name for _, name in SIZES] + [MORE]
    used = [int(i) for i in np.unique(size)]
    if not used:
        raise NetcosimError("waits by size: there is nothing to draw")
    high = [np.nanquantile(v, 0.9) for v in waits.values() if np.isfinite(v).any()]
    unit_s, unit = time_unit(4 * max([1.0, *map(float, high)]))
    step = 0.8 / max(1, len(waits))
    for i, (name, values) in enumerate(waits.items()):
        for place, group in enumerate(used):
            mine = values[(size == group) & np.isfinite(values)] / unit_s
            if not len(mine):
                continue
            at = place + (i - (len(waits) - 1) / 2) * step
            middle, most = np.quantile(mine, [0.5, 0.9])
            axis.vlines(at, middle, most, color=colours[name], linewidth=1.6)
            label = literal(name)
            axis.plot([at], [mine.mean()], marker(i), ls="", color=colours[name], label=label)
    counts = np.bincount(size, minlength=len(names))
    axis.set_xticks(range(len(used)), [f"{names[i]}\n{counts[i]:,}" for i in used])
    axis.tick_params(axis="x", length=0)
    axis.set(
        xlim=(-0.6, len(used) - 0.4),
        ylim=(0, None),
        xlabel="nodes of the job, and how many jobs there are",
        ylabel=f"wait ({unit})",
    )
