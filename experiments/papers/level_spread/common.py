"""What the Level-Spread paper's figures share: policies, measures, ratios, and how dots look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.papers.level_spread.machine import networks
from experiments.papers.paper import Options
from netsim.errors import unknown_name
from queuesim.statistics import Interval, bootstrap_ratio

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL_SPREAD = "level-spread"
JOKANOVICS = ("jokanovic", "jokanovic-coded")
"""By the paper's words, and by its authors' program."""
GROUPING = ("simple", "slurm", "rdg")
SPREADING = ("rdr", "rrr", "rdn", "rrn")
POLICIES = (*GROUPING, LEVEL_SPREAD, *SPREADING)

MEASURES: dict[str, str] = {
    "last": "time_us",
    "rank0": "rank0_us",
    "rank0-cut": "rank0_cut_us",
}
"""Communication time of a job, by name: its last rank's end (the default); rank 0's end (a
broadcast's last rank's), which the authors' program printed; the same cut to whole
microseconds. Each is averaged over the jobs of a kind."""
DEFAULT_MEASURE = "last"

REPETITIONS = 10
QUICK_REPETITIONS = 3
POINTS_RULE = "within 10 percentage points"
POINTS_TOLERANCE = 10.0

STYLES: dict[str, tuple[str, str]] = {
    "simple": ("D", "#d62728"),
    "slurm": ("D", "#ff7f0e"),
    "rdg": ("D", "#e6b800"),
    "level-spread": ("*", "#1a9850"),
    "rdr": ("o", "#1f77b4"),
    "rrr": ("o", "#17becf"),
    "rdn": ("o", "#5e3c99"),
    "rrn": ("o", "#74add1"),
    "jokanovic": ("s", "#d62728"),
    "jokanovic-coded": ("D", "#5e3c99"),
}
"""Marker and colour: warm diamonds group, cool circles spread, the star is Level-Spread."""


def panels(
    rows: int, columns: int, width_in: float, height_in: float, *, sharey: bool = False
) -> tuple[Figure, NDArray[np.object_]]:
    """A figure without global state, and its (rows, columns) axes."""
    from matplotlib.figure import Figure as NewFigure

    drawing = NewFigure(figsize=(width_in, height_in))
    return drawing, drawing.subplots(rows, columns, squeeze=False, sharey=sharey)


def check(options: Options) -> None:
    """Raise NetcosimError for a routing, measure or setting that this paper does not know."""
    if options.measure and options.measure not in MEASURES:
        raise unknown_name("measure of level-spread", options.measure, MEASURES)
    networks(options, ("ugal-l",))


def measure_column(options: Options) -> str:
    """The column of the measure that is compared."""
    return MEASURES[options.measure or DEFAULT_MEASURE]


def repetitions(options: Options) -> int:
    """How often a workload is repeated."""
    return QUICK_REPETITIONS if options.quick else REPETITIONS


def statistics_rng() -> np.random.Generator:
    """For bootstrap draws; always the same, so that an analysis is a pure function."""
    return np.random.Generator(np.random.PCG64(20180521))


def cells(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Parts of a frame with equal keys, in order of first appearance."""
    for values, part in frame.groupby(list(keys), sort=False, dropna=False):
        yield dict(zip(keys, values if isinstance(values, tuple) else (values,), strict=True)), part


def normalised(
    times: pd.DataFrame, keys: Sequence[str], options: Options, reference: str = "simple"
) -> pd.DataFrame:
    """Mean times against the reference policy's, by cell, kind of job and policy.

    Returns
    -------
    DataFrame
        Keys, kind, policy; ``mean_us`` and ``sd_us`` over the repetitions; ``ratio`` of
        means with its 95 % bootstrap interval ``low``, ``high`` (repetitions drawn as
        pairs, since policies share draws) and ``ratio_sd``, the deviation in units of the
        reference's mean; ``ratio_<measure>`` by every other measure.
    """
    import pandas as pd

    rng, column = statistics_rng(), measure_column(options)
    rows: list[dict[str, object]] = []
    for cell, part in cells(times, [*keys, "kind"]):
        by_policy = {p: f.sort_values("repetition") for p, f in part.groupby("policy", sort=False)}
        base = by_policy[reference]
        for policy, mine in by_policy.items():
            values, against = mine[column].to_numpy(), base[column].to_numpy()
            ratio = bootstrap_ratio(values, against, rng)
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            rows.append(
                {
                    **cell,
                    "policy": policy,
                    "n": len(values),
                    "mean_us": float(values.mean()),
                    "sd_us": sd,
                    "ratio": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "ratio_sd": sd / float(against.mean()),
                    **{
                        f"ratio_{name}": float(mine[c].mean() / base[c].mean())
                        for name, c in MEASURES.items()
                        if c != column and base[c].mean() > 0
                    },
                }
            )
    return pd.DataFrame(rows)


def reduction_percent(ours: float, others: float) -> float:
    """By how many percent ``ours`` is below ``others``."""
    return 100.0 * (1.0 - ours / others)


def reduction_interval(ratio: Interval) -> Interval:
    """A ratio as a reduction in percent; the ends change places."""
    value, low, high = (100.0 * (1.0 - r) for r in ratio)
    return Interval(value, high, low)


def near(ours: float, paper: float, tolerance: float = POINTS_TOLERANCE) -> bool:
    """Whether two percentages agree by `POINTS_RULE`."""
    return abs(ours - paper) <= tolerance


def ratios_by_policy(part: pd.DataFrame, column: str = "ratio") -> dict[str, float]:
    """Policy to ratio in one cell."""
    return dict(zip(part["policy"], part[column], strict=True))


def pick(ratios: dict[str, float], policies: Iterable[str]) -> list[float]:
    """Ratios of these policies."""
    return [ratios[p] for p in policies if p in ratios]


def dot(
    axes: Axes, policy: str, x: object, y: object, size: float = 36.0, alpha: float = 1.0
) -> None:
    """Put a policy's dots into a scatter."""
    marker, colour = STYLES[policy]
    star = 3.0 if policy == LEVEL_SPREAD else 1.0
    axes.scatter(
        x,  # type: ignore[arg-type]
        y,  # type: ignore[arg-type]
        s=size * star,
        marker=marker,
        color=colour,
        alpha=alpha,
        linewidths=0,
        label=policy,
        zorder=3 if policy == LEVEL_SPREAD else 2,
    )
