"""Fig. 1 of the topology-aware paper: how spread jobs are where nobody looks at the network.

The paper's figure is Cab's own record of August and September 2014: the nodes that Slurm gave
to each job. That record is not public. Ours is a counterpart from simulation, not the same
measurement: job logs go through our queue onto Cab's tree, with the lowest free nodes
(Baseline), with Slurm's tree plugin and with TA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.observables.hops import SEVERAL
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.kit.logs import log_notes
from experiments.papers.kit.points import OBSERVE
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.papers.pollard.logs import KTH, OWN, SLURM, points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POLICIES = ("baseline", "slurm-tree", "ta")
LOGS = (OWN["aug on cab"], *SLURM.values(), KTH["kth on small cab"])
NO_RECORD = (
    "the paper's figure is Cab's record of placements, which is not public; this one is simulated"
)


def fig1_points(options: Options) -> list[Point]:
    """Every log with its arrivals under the three policies."""
    return points(LOGS, POLICIES, options, ("hops", "spread"), run_times="logged")


def fig1_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Whether most jobs are more spread than they need be, and what TA makes of it."""
    hops = frames["hops"]
    spread = hops[hops["bin"] == SEVERAL][["log", "policy", "jobs", "mean_hops", "mean_least"]]
    spread.insert(3, "above_least_percent", 100 * hops["above_least"])
    says, claims = Says("Fig. 1", "simulated, not Cab's record"), []
    for (log,), part in groups(spread, "log"):
        base = part.set_index("policy").loc["baseline"]
        what = f"{log}: jobs of 2 and more nodes above the least hops, Baseline (%)"
        above = float(base["above_least_percent"])
        claims.append(says.above(what, above, 50, note='"most jobs"'))
        ratio = float(base["mean_hops"] / base["mean_least"])
        what = f"{log}: mean hops over the mean least, Baseline"
        claims.append(says.at_least(what, ratio, 1.25, note='"significantly higher"'))
    notes = (NO_RECORD, *log_notes(LOGS, options, spread["log"]))
    return Analysis(claims_frame(claims), {"spread": spread, "jobs": frames["spread"]}, notes)


def fig1_draw(analysis: Analysis, options: Options) -> Figure:
    """A dot a job, hops over nodes, a column a policy; the least possible as a line."""
    from experiments.figures.style import INK, colour
    from experiments.papers.kit.panels import panels

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        ink = colour(POLICIES.index(rows["policy"].iloc[0]))
        axis.scatter(rows["nodes"], rows["hops"], s=7, color=ink, alpha=0.35, linewidths=0)
        least = rows.drop_duplicates("nodes").sort_values("nodes")
        axis.plot(least["nodes"], least["least"], color=INK, lw=1.2, label="least possible")
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_ylim(-0.1, 4.1)

    return panels(
        analysis.tables["jobs"],
        ["log", "policy"],
        draw,
        columns=len(POLICIES),
        size_in=(3.0, 2.3),
        xlabel="nodes of the job",
        ylabel="average pairwise hops",
        share=True,
    )


FIG1 = PaperFigure(
    "fig1",
    "how spread jobs are, simulated in place of Cab's record",
    OBSERVE,
    fig1_points,
    fig1_analyse,
    fig1_draw,
)
