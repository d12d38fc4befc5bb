"""What is averaged for each conclusion, its table router by router, its claims and drawing.

What is compared (jobs, workloads, snapshots) is the same under all levels, so a change is drawn as
pairs and known much better than the two means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.dragonfly_workloads.measures import (
    LEVEL_SPREAD,
    dots_of,
    measure_column,
    quadrant,
    reductions,
)
from experiments.kit.fattree_workloads.speedups import against_ta
from experiments.kit.frames import cells, first_seen
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.papers import Analysis, Options
from experiments.kit.routers import OUTPUT_QUEUED, ROUTERS
from netcosim.report.figures.style import INK, colour
from netsim.errors import NetcosimError
from queuesim.statistics import Interval, around, drawn_means


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples under one level of a factor."""

    unit: ArrayLike
    """(n,). What the bootstrap draws again as a unit: jobs of one snapshot are not independent."""
    value: ArrayLike
    """(n,)."""
    weight: ArrayLike = 1.0
    """(n,) or number."""

    def of(self, units: NDArray[np.generic]) -> Samples:
        """Return the samples of some units."""
        unit, value = np.asarray(self.unit), np.asarray(self.value)
        weight = np.broadcast_to(np.asarray(self.weight, dtype=np.float64), value.shape)
        kept = np.isin(unit, units)
        return Samples(unit[kept], value[kept], weight[kept])


Conclusion = tuple[str, str, float | None]
"""Statement; for which routing; the value that separates it from its opposite, if there is one."""
Found = Iterator[tuple[Conclusion, str, Samples]]
"""Conclusion, router, and what is averaged."""
Frames = Mapping[str, "pd.DataFrame"]


def level_spread(frames: Frames, options: Options) -> Found:
    """Yield RDN's times below RDG's in Fig. 2's workloads, and the counts of Fig. 10."""
    times, column = frames["times"], measure_column(options)
    for cell, part in cells(times[times["set"].isna()], "workload", "routing", "router"):
        wide = part.pivot_table(index="repetition", columns="policy", values=column)
        below = Samples(wide.index, 100 * (1 - wide["rdn"] / wide["rdg"]), wide["rdg"])
        what = f"Fig. 2, {cell['workload']}: RDN below RDG (%)"
        yield (what, cell["routing"], 0.0), cell["router"], below
    for cell, part in cells(times[times["set"].notna()], "routing", "router"):
        dots = dots_of(part, column, LEVEL_SPREAD)
        better, worse = (100.0 * (quadrant(dots) == place) for place in (0, 1))
        for what, neutral, values in (
            ("Level-Spread strictly better (%)", None, better),
            ("a baseline strictly better (%)", None, worse),
            ("better less a baseline better (points)", 0.0, better - worse),
            ("mean reduction by Level-Spread (%)", 0.0, reductions(dots).mean(axis=1)),
        ):
            found = Samples(dots["workload"], values)
            yield (f"Fig. 10: {what}", cell["routing"], neutral), cell["router"], found


def interference(frames: Frames, options: Options) -> Found:
    """Yield the mean speed-up under TA, against each oblivious placement."""
    for cell, part in cells(against_ta(frames["jobs"]), "placement", "routing", "router"):
        what = f"speed-up of isolated jobs, {cell['placement']} nodes"
        found = Samples(part["workload"], part["speedup"])
        yield (what, cell["routing"], 1.0), cell["router"], found


def isolation(frames: Frames, options: Options) -> Found:
    """Yield percent off the run time by node-hours, of each policy against random nodes."""
    for cell, part in cells(frames["pairs"], "policy", "routing", "router"):
        what = f"{cell['policy']} against random: off the run time (%)"
        off = 100 * (1 - part["run_ratio"])
        yield (
            (what, cell["routing"], 0.0),
            cell["router"],
            Samples(part["snapshot"], off, part["n_nodes"]),
        )


def analyse(
    frames: Frames, options: Options, *, samples: Callable[[Frames, Options], Found]
) -> Analysis:
    """Return each conclusion under each router, and whether it is the same under all.

    Table "routers": ``simulated`` with ``low`` and ``high`` over ``n`` workloads, snapshots or
    repetitions; ``change`` from the output-queued router, these drawn for both alike.
    """
    by: dict[Conclusion, dict[str, Samples]] = {}
    for conclusion, router, found in samples(frames, options):
        by.setdefault(conclusion, {})[router] = found
    rows, claims = [], []
    for (what, routing, neutral), routers in by.items():
        means = level_means(routers, OUTPUT_QUEUED, options.seed)
        for router, level in means.items():
            row = {"conclusion": what, "routing": routing, "router": router, "neutral": neutral}
            row |= zip(("simulated", "low", "high"), level.mean, strict=True)
            row |= zip(("change", "change_low", "change_high"), level.change, strict=True)
            rows.append(row | {"n": level.n_units})
        # a side needs an interval: without one there is nothing to judge
        if neutral is not None and all(np.isfinite(m.mean.low) for m in means.values()):
            sides = {router: level.side(neutral) for router, level in means.items()}
            condition = ", ".join(f"{router} {side}" for router, side in sides.items())
            rule = f"all intervals above {neutral:g}, all below, or all around it"
            check = ClaimBuilder("under every router", f"{routing}: {condition}")
            claims.append(check.holds(what, len(set(sides.values())) == 1, rule))
    return Analysis(claims_frame(claims), {"routers": pd.DataFrame(rows)})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a panel a conclusion, the routers from left to right, a bar a routing."""
    table = analysis.tables["routers"]
    paint = {name: colour(i) for i, name in enumerate(first_seen(table, "routing"))}

    def bars(axis: Axes, part: pd.DataFrame) -> None:
        columns = ("router", "routing", Heights("simulated", ends=("low", "high")))
        grouped_bars(axis, part, *columns, order=tuple(ROUTERS), colours=paint)
        axis.axhline(part["neutral"].iloc[0], color=INK, lw=1.0, ls="--")
        axis.tick_params(axis="x", labelsize=7)

    return panels(table, "conclusion", bars, columns=2, size_in=(4.7, 2.2))


@dataclass(frozen=True)
class LevelMean:
    """The weighted mean under a level, and its change from the base; 95 % intervals."""

    mean: Interval
    change: Interval
    n_units: int

    def side(self, neutral: float) -> str:
        """Return where the entire interval is: "above" or "below" a value; else "around" it."""
        if self.mean.low > neutral:
            return "above"
        return "below" if self.mean.high < neutral else "around"


def level_means(samples: Mapping[str, Samples], base: str, seed: int) -> dict[str, LevelMean]:
    """Return means by level, over the units that all levels have.

    Changes are relative to the base, or the first existing one; all levels have the same draws.
    """
    units = [np.unique(np.asarray(mine.unit)) for mine in samples.values()]
    common = units[0]
    for more in units[1:]:
        common = np.intersect1d(common, more)
    if not len(common):
        raise NetcosimError(f"levels {', '.join(samples)}: no unit that all of them have")
    found = {}
    for level, mine in samples.items():
        kept = mine.of(common)
        rng = np.random.Generator(np.random.PCG64(seed))
        found[level] = drawn_means(kept.value, kept.weight, kept.unit, rng)
    first = found.get(base, next(iter(found.values())))
    return {
        level: LevelMean(
            around(*means),
            around(means.mean - first.mean, means.drawn - first.drawn, means.n_samples),
            means.n_samples,
        )
        for level, means in found.items()
    }
