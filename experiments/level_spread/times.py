"""What the Level-Spread paper's figures share: policies, measures, ratios, and how dots look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.kit.bootstrap import bootstrap_ratio
from experiments.kit.dragonfly_workloads.machine import built, machine_section, settings_of
from experiments.kit.dragonfly_workloads.measures import (
    GROUPING,
    LEVEL_SPREAD,
    MEASURES,
    SPREADING,
    measure_column,
)
from experiments.kit.frames import cells, groups
from experiments.kit.panels import MarkStyle
from experiments.kit.papers import Options
from netsim.errors import unknown_name
from queuesim.statistics import Interval

JOKANOVICS = ("jokanovic", "jokanovic-coded")
"""By the paper's words, and by its authors' program."""
COMPACT, WIDE = "grouping and Level-Spread", "spreading and Level-Spread"
CALLED: dict[str, tuple[str, ...]] = {
    "Simple": ("simple",),
    "Level-Spread": (LEVEL_SPREAD,),
    "grouping": GROUPING,
    "spreading": SPREADING,
    COMPACT: (*GROUPING, LEVEL_SPREAD),
    WIDE: (*SPREADING, LEVEL_SPREAD),
}
"""Policies by what claims call them."""

WITHIN_POINTS = 10.0
"""How far our reductions may be from the printed ones, in percentage points."""

STYLES = {
    "simple": MarkStyle("#d62728", "D"),
    "slurm": MarkStyle("#ff7f0e", "D"),
    "rdg": MarkStyle("#e6b800", "D"),
    "rdr": MarkStyle("#1f77b4"),
    "rrr": MarkStyle("#17becf"),
    "rdn": MarkStyle("#5e3c99"),
    "rrn": MarkStyle("#74add1"),
    "jokanovic": MarkStyle("#d62728", "s"),
    "jokanovic-coded": MarkStyle("#5e3c99", "D"),
    LEVEL_SPREAD: MarkStyle("#1a9850", "*", 3.0),
}
"""Warm diamonds group, cool circles spread, the star on top is Level-Spread."""
COLOURS = {policy: look.colour for policy, look in STYLES.items()}


def check(options: Options) -> None:
    """Raise NetcosimError for a routing, measure or setting that this paper does not know."""
    if options.measure and options.measure not in MEASURES:
        raise unknown_name("measure of level-spread", options.measure, MEASURES)
    settings = settings_of(options)
    for routing in options.routings or ("ugal-l",):
        built(machine_section(272, 1.0, routing, settings))


def statistics_rng() -> np.random.Generator:
    """Return the generator of bootstrap draws, always the same, so that an analysis is pure."""
    return np.random.Generator(np.random.PCG64(20180521))


def normalised(
    times: pd.DataFrame, keys: Sequence[str], options: Options, reference: str = "simple"
) -> pd.DataFrame:
    """Return mean times over the reference policy's, by cell, kind of job and policy.

    Columns: ``mean_us`` and ``sd_us`` over the repetitions; ``ratio`` of means with its 95 %
    bootstrap interval ``low``, ``high`` (repetitions drawn as pairs, since policies share draws)
    and ``ratio_sd``, the deviation in units of the reference's mean; ``ratio_<measure>`` by every
    other measure.
    """
    rng, column = statistics_rng(), measure_column(options)
    rows: list[dict[str, object]] = []
    for cell, part in cells(times, *keys, "kind"):
        by_policy = {p: f.sort_values("repetition") for p, f in part.groupby("policy", sort=False)}
        base = by_policy[reference]
        for policy, mine in by_policy.items():
            policy_us, base_us = mine[column].to_numpy(), base[column].to_numpy()
            sd = float(np.std(policy_us, ddof=1)) if len(policy_us) > 1 else 0.0
            row = cell | {"policy": policy, "n": len(policy_us), "mean_us": float(policy_us.mean())}
            ratio = bootstrap_ratio(policy_us, base_us, rng)
            row |= {"sd_us": sd, "ratio": ratio.value, "low": ratio.low, "high": ratio.high}
            row |= {"ratio_sd": sd / float(base_us.mean())}
            for name, other in MEASURES.items():
                if other != column and base[other].mean() > 0:
                    row[f"ratio_{name}"] = float(mine[other].mean() / base[other].mean())
            rows.append(row)
    return pd.DataFrame(rows)


def reduction_percent(policy_us: float, others: float) -> float:
    """Return by how many percent ``policy_us`` is below ``others``."""
    return 100.0 * (1.0 - policy_us / others)


def reduction_interval(ratio: Interval) -> Interval:
    """Convert a ratio to a reduction in percent; the ends change places."""
    value, low, high = (100.0 * (1.0 - r) for r in ratio)
    return Interval(value, high, low)


def pick(ratios: Mapping[str, float], called: str) -> list[float]:
    """Return the ratios of the policies in `CALLED`."""
    return [ratios[p] for p in CALLED[called] if p in ratios]


def shrinking(table: pd.DataFrame, keys: Sequence[str], ratios: list[str]) -> list[bool]:
    """Return whether each step up in global bandwidth lowers the span, for each cell with several.

    The span is the worst over the best policy's ratio; of several columns the product.
    """
    held = []
    for _, part in groups(table, *keys):
        by_alpha = part.groupby("alpha")[ratios]
        spans = (by_alpha.max() / by_alpha.min()).prod(axis=1)
        if len(spans) > 1:
            held.append(bool((np.diff(spans) < 0).all()))
    return held
