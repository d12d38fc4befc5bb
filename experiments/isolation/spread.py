"""Figure ``dragonfly``: compact, spread or random nodes, simulated cell by cell as in `cells`.

Policies do not isolate and refuse no nodes, so none needs a gain: a policy pays where jobs run
shorter than on random nodes (RDN, the reference), in a queue's states or on an empty machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cosim.measuring.pairs import FACTORS as RATIOS
from cosim.parameters import SMALL_FIRST
from experiments.isolation.again import EVERY_OTHER, attack_points, attacks
from experiments.isolation.cells import (
    BY_NODE,
    FACTORS,
    WALLTIMES,
    cell_points,
    expanded,
    gains,
    gains_by_stretch,
    interference_alone,
    live,
)
from experiments.isolation.phase_figure import draw_phases, verdict_legend
from experiments.isolation.phases import over_stretches, word
from experiments.isolation.stretches import SMALL, STUDY, CellStudy, stretches_of
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.fat_tree_logs import ATLAS, THUNDER
from experiments.kit.frames import cells, first_seen
from experiments.kit.logs import log_notes
from experiments.kit.papers import Analysis, Options, Point
from netcosim.report.figures.style import new_figure
from queuesim.statistics import ENDS, Interval, interval_columns

REFERENCE, LEVEL_SPREAD = "rdn", "level-spread"
OTHERS = "mean of the others"
"""Level-Spread's mean reduction of communication time as printed (abstract, VI-D)."""
DRAGONFLIES = CellStudy(
    "isolation-dragonfly",
    "dragonfly",
    tuple(replace(log, machine={"preset": "dragonfly-1056"}) for log in (THUNDER, ATLAS)),
    replace(SMALL, machine={"family": "dragonfly", "p": 2, "a": 2, "g": 5}),
    ("rdg", "simple", LEVEL_SPREAD),
    ("rdg", LEVEL_SPREAD),
    STUDY | read_data("isolation")["dragonfly"],
)
CELL = ["log", *FACTORS]
FITS = {"a router": 4, "a group": 32, "no group": np.inf}
"""Most nodes of a job by the least level of the machine that can have it."""


def points(options: Options) -> list[Point]:
    """Return, log by log, the cells and those with one of the attacks."""
    found = []
    attacked = [{}] if options.quick else DRAGONFLIES.content["attacked"]
    for log, these in stretches_of(DRAGONFLIES, options):
        found += cell_points(DRAGONFLIES, log, these, options)
        for each in expanded(attacked, log, DRAGONFLIES):
            some = these[EVERY_OTHER]
            found += attack_points(DRAGONFLIES, DRAGONFLIES.name, log, some, each, options.seed)
    return found


def judged(gain: pd.DataFrame) -> pd.DataFrame:
    """Add whether run times are shorter, by node-hours and by jobs, and the sample to decide it."""
    for column in ("by_node", "by_job"):
        value, low, high = (gain[f"{column}{end}"].astype(float) for end in ENDS)
        ratios = zip(1 - value / 100, 1 - high / 100, 1 - low / 100, strict=True)
        gain[f"{column}_verdict"] = [word(Interval(*ratio)) for ratio in ratios]
        gain[f"{column}_would_decide"] = np.ceil(gain["stretches"] * ((high - value) / value) ** 2)
    return gain


def by_size(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of each cell's jobs that fit in a router, in a group and in neither."""
    fits = pd.cut(pairs["n_nodes"], [0, *FITS.values()], labels=list(FITS))
    return pd.concat(
        gains(gains_by_stretch(pairs[fits == name])).assign(fits=name) for name in FITS
    )


def expected(gain: pd.DataFrame) -> pd.DataFrame:
    """Return what a judged gain lets expect of queues: makespan by node-hours, else by jobs."""
    parts = []
    for metric, column in ((BY_NODE, "by_node"), ("turnaround", "by_job")):
        part = gain.assign(ratio=1 - gain[column] / 100, verdict=gain[f"{column}_verdict"])
        parts.append(part.assign(metric=metric))
    return pd.concat(parts).assign(walltimes=WALLTIMES[0])


def communication(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return percent less communication time, by geometric means of jobs, over stretches.

    Of each policy against the reference, with the parts due to interference and to locality; of
    Level-Spread against the other policies, too, and against their mean.
    """
    logs = pairs.assign(**{name: np.log(pairs[name]) for name in RATIOS})
    means = logs.groupby([*CELL, "policy", "part"], sort=False)[list(RATIOS)].mean().reset_index()
    rows = []
    for cell, part in cells(means, *CELL):
        of = part.pivot(index="part", columns="policy", values=list(RATIOS))
        found = [(policy, REFERENCE, of.xs(policy, axis=1, level=1)) for policy in of["ratio"]]
        others = of["ratio"].drop(columns=LEVEL_SPREAD)
        if len(others.columns):
            others[OTHERS] = others.assign(**{REFERENCE: 0.0}).mean(axis=1)
            less = others.rsub(of["ratio", LEVEL_SPREAD], axis=0)
            found += [
                (LEVEL_SPREAD, against, less[[against]].set_axis(["ratio"], axis=1))
                for against in others
            ]
        for policy, against, ratios in found:
            row = {**cell, "policy": policy, "against": against, "stretches": len(ratios)}
            for name in ratios:
                value, low, high = (100 * (1 - np.exp(x)) for x in over_stretches(ratios[name]))
                row |= interval_columns(name, Interval(value, high, low))
            rows.append(row)
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return what each policy gains, where communication changes, queues, and attacks."""
    pairs = frames["pairs"]
    designed, changed = (pairs[pairs["variant"].isna() == is_one] for is_one in (True, False))
    each = gains_by_stretch(designed)
    alone = judged(gains(gains_by_stretch(interference_alone(designed))))
    attacked = gains_by_stretch(changed, "variant")
    tables = {
        "gain": judged(gains(each)),
        "sizes": by_size(designed),
        "communication": communication(designed),
        "live": live(frames["runs"], expected(alone), DRAGONFLIES.policies),
        "attacks": pd.concat(
            attacks(each, mine, of["policy"]).assign(policy=of["policy"])
            for of, mine in cells(attacked, "policy")
        ),
    }
    notes = () if options.quick else log_notes(DRAGONFLIES.logs, options)
    return Analysis(claims_frame(claims_of(tables["communication"])), tables, notes)


def claims_of(less: pd.DataFrame) -> list[Claim]:
    """Judge whether jobs of a log communicate less on an empty machine, as the paper's do."""
    claims = []
    mine = less[less["against"].eq(OTHERS) & less["load"].eq(SMALL_FIRST)]
    for row in mine.to_dict("records"):
        check = ClaimBuilder("Level-Spread, abstract and VI-D", row["network"])
        what = f"{row['log']}: communication, less under Level-Spread than the {OTHERS} (%)"
        claims.append(check.surely_above(what, Interval(*(row[f"ratio{end}"] for end in ENDS)), 0))
    return claims


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw, by log and policy, the cells by share, and by network with the load or place."""
    gain = analysis.tables["gain"]
    gain = gain.assign(gain_percent=gain["by_node"], verdict=gain["by_node_verdict"])
    gain = gain[gain["policy"].isin(DRAGONFLIES.live_policies)].sort_values(
        ["network", "load"], ascending=False, kind="stable"
    )
    gain["load"] = gain["network"] + ", " + gain["load"]
    logs, policies, loads = (first_seen(gain, name) for name in ("log", "policy", "load"))
    shares = sorted(set(gain["share"]))
    figure, axes = new_figure(4.2 * len(policies), 0.5 + 2.3 * len(logs), len(logs), len(policies))
    for axis, (log, policy) in zip(axes, itertools.product(logs, policies), strict=True):
        draw_phases(axis, gain[gain["log"].eq(log) & gain["policy"].eq(policy)], shares, loads)
        axis.set_title(f"{log}: {policy}", fontsize=8)
    verdict_legend(figure, "the policy")
    return figure
