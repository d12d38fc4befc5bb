"""Fig. 1 of the topology-aware paper: how spread jobs are where nobody looks at the network.

The paper's figure is Cab's own record of August and September 2014: the nodes that Slurm gave
to each job. That record is not public. Ours is a counterpart from simulation, not the same
measurement: job logs go through our queue onto Cab's tree, with the lowest free nodes
(Baseline), with Slurm's tree plugin and with TA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.papers.fattree.common import queue_points
from experiments.papers.fattree.logs import (
    POLLARD_CAB,
    POLLARD_MIX,
    POLLARD_OTHERS,
    skipped_notes,
)
from experiments.papers.fattree.point import average_pairwise_hops, least_hops, simulate
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.points import point_rng
from netsim.topologies.fattree import fat_tree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SPREAD = "experiments.papers.pollard.fig1:run_spread"
POLICIES = ("baseline", "slurm-tree", "ta")
LOGS = {
    log.name: log
    for log in (
        POLLARD_CAB["aug on cab"],
        *POLLARD_MIX.values(),
        POLLARD_OTHERS["kth on small cab"],
    )
}
MOST_DOTS = 1500
"""Jobs kept of each run for the drawing, drawn at random; shares are over all jobs."""
TIGHT = 1e-9


def points(options: Options) -> list[Point]:
    """Every log with its arrivals under the three policies."""
    found = queue_points(tuple(LOGS.values()), POLICIES, options, window=128, hops=True)
    return [{**point, "experiment": "fattree-spread"} for point in found]


def run_spread(config: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Simulate a point.

    Returns
    -------
    dict of str to list of dict
        "spread": one row; of the jobs of two nodes and more the share above the least
        possible hops, and means. "jobs": size, hops and least possible of some jobs.
    """
    result = simulate(config, keep_placements=True)
    shape = fat_tree(**config["machine"]).shape
    kept, sizes = result.placements, result.workload.n_nodes
    assert kept is not None
    hops = average_pairwise_hops(kept.nodes, kept.node_ptr, shape)
    least_of = {int(n): least_hops(int(n), shape) for n in np.unique(sizes)}
    least = np.array([least_of[int(n)] for n in sizes])
    several = np.flatnonzero(sizes > 1)
    labels = {"log": config["log"]["name"], "policy": config["policy"]}
    row = {
        **labels,
        "jobs": len(several),
        "above_least_percent": 100 * float(np.mean(hops[several] > least[several] + TIGHT)),
        "mean_hops": float(hops[several].mean()),
        "mean_least": float(least[several].mean()),
    }
    rng = point_rng(config, "dots")
    some = np.sort(rng.permutation(several)[:MOST_DOTS])
    jobs = [
        {**labels, "nodes": int(sizes[i]), "hops": float(hops[i]), "least": float(least[i])}
        for i in some
    ]
    return {"spread": [row], "jobs": jobs}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Whether most jobs are more spread than they need be, and what TA makes of it."""
    spread, claims = frames["spread"], []
    for (log,), part in groups(spread, "log"):
        of = part.set_index("policy")
        above = float(of.loc["baseline", "above_least_percent"])
        claims.append(
            Claim(
                f"{log}: jobs of 2 and more nodes above the least hops, Baseline (%)",
                "Fig. 1",
                above > 50,
                '"most jobs": above 50',
                "simulated, not Cab's record",
                None,
                above,
            )
        )
        ratio = float(of.loc["baseline", "mean_hops"] / of.loc["baseline", "mean_least"])
        claims.append(
            Claim(
                f"{log}: mean hops over the mean least, Baseline",
                "Fig. 1",
                ratio >= 1.25,
                '"significantly higher": 1.25 and more',
                "simulated, not Cab's record",
                None,
                ratio,
            )
        )
    notes = (
        "the paper's figure is Cab's record of placements, which is not public; this one is"
        " simulated",
        *skipped_notes(LOGS.values(), options),
        *(
            f"{name} on {dict(LOGS[name].machine)} stands in for Cab's record"
            for name in dict.fromkeys(spread["log"])
            if LOGS[name].stands_for
        ),
    )
    return Analysis(claims_frame(claims), {"spread": spread, "jobs": frames["jobs"]}, notes)


def draw(analysis: Analysis, options: Options) -> Figure:
    """A dot a job, hops over nodes, a column a policy; the least possible as a line."""
    from experiments.figures.style import INK, colour, grid, new_figure

    table = analysis.tables["jobs"]
    logs = list(dict.fromkeys(table["log"]))
    figure, axes = new_figure(9.0, 0.6 + 2.3 * len(logs), len(logs), len(POLICIES), share=True)
    for k, axis in enumerate(axes):
        log, policy = logs[k // len(POLICIES)], POLICIES[k % len(POLICIES)]
        mine = table[(table["log"] == log) & (table["policy"] == policy)]
        ink = colour(k % len(POLICIES))
        axis.scatter(mine["nodes"], mine["hops"], s=7, color=ink, alpha=0.35, linewidths=0)
        least = mine.drop_duplicates("nodes").sort_values("nodes")
        axis.plot(least["nodes"], least["least"], color=INK, lw=1.2, label="least possible")
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_ylim(-0.1, 4.1)
        axis.set_title(f"{log}, {policy}", fontsize=9)
        if k // len(POLICIES) == len(logs) - 1:
            axis.set_xlabel("nodes of the job", fontsize=8)
        if k % len(POLICIES) == 0:
            axis.set_ylabel("average pairwise hops", fontsize=8)
        grid(axis)
    axes[0].legend(fontsize=8, frameon=False, loc="lower right")
    return figure


FIG1 = PaperFigure(
    "fig1", "how spread jobs are, simulated in place of Cab's record", SPREAD, points, analyse, draw
)
