"""How far the flow level of the queue is from packets: random mixes of running jobs, both judged.

Each mix fills 90 % of a machine with jobs of random sizes and patterns; all communicate at once.
At packet level each job repeats its iteration until all end at about the same time
(`queuesim.flow_vs_packets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from alloc.registry import make_policy
from experiments.papers.paper import Analysis, Claim, Options, PaperFigure, Point, claims_frame
from experiments.points import point_rng
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topology import Topology
from queuesim.coupled_packets import PacketBudget, level_errors
from queuesim.flow_vs_packets import compare_mix, random_mix
from queuesim.job_network import JobNetwork
from queuesim.measured import CommunicationMix, PatternShare
from queuesim.multijob import Communication

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FUNCTION = "experiments.papers.flow_levels:run_point"
PATTERNS: dict[str, dict[str, object]] = {
    "all-to-all": {},
    "halo3d": {},
    "halo3d26": {},
    "fft3d": {"compute": False, "cells": 32},
    "unstructured-mesh": {},
    "pairs": {},
    "sub-a2a": {},
    "stencil4d": {},
    "allreduce-ring": {},
    "bisection-pairing": {"rounds": 2, "warmup_rounds": 0},
}
CASES = (
    ("fat-tree", "d-mod-k", ("baseline", "random")),
    ("fat-tree", "adaptive", ("baseline", "random")),
    ("dragonfly", "minimal", ("rdn", "simple")),
    ("dragonfly", "ugal-l", ("rdn", "simple")),
)
STUDIES = {
    "full": (("20 kB", 20_000, 50), ("2 kB", 2_000, 50), ("200 kB", 200_000, 12)),
    "quick": (("20 kB", 20_000, 2),),
}
"""Name, message_bytes and mixes a case."""
MEDIAN, NINE_TENTHS, RANK = 0.10, 0.30, 0.90
"""What the flow level aims at: median and 90th percentile of the error, rank correlation."""


def points(options: Options) -> list[Point]:
    """A point a mix."""
    return [
        {
            "study": study,
            "message_bytes": size,
            "machine": machine,
            "routing": routing,
            "policy": policies[mix % len(policies)],
            "mix": mix,
            "seed": options.seed,
        }
        for study, size, n_mixes in STUDIES[options.scale]
        for machine, routing, policies in CASES
        if not options.routings or routing in options.routings
        for mix in range(n_mixes)
    ]


def topology_of(machine: str) -> Topology:
    """128 nodes as a fat-tree, 72 as a dragonfly."""
    return fat_tree(8) if machine == "fat-tree" else dragonfly(2, 4, 9)


def run_point(config: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Stretches of the jobs of one mix at both levels: table "jobs"."""
    topology = topology_of(config["machine"])
    rng = point_rng(config, "mix", leave_out=("routing",))
    mix = CommunicationMix([PatternShare(name, 1.0, 0.1, 0.5) for name in PATTERNS])
    communications = [
        Communication(name, config["message_bytes"], 1, parameters)
        for name, parameters in PATTERNS.items()
    ]
    network = JobNetwork(make_routing(topology, config["routing"]), mix, communications)
    policy = make_policy(topology, config["policy"], rng)
    jobs = random_mix(network, policy, rng, largest=topology.n_nodes // 2)
    found = compare_mix(network, jobs, PacketBudget(iterations=2, passes=3, max_repeats=200))
    names = list(PATTERNS)
    key = {k: config[k] for k in ("study", "machine", "routing", "policy", "mix")}
    return {
        "jobs": [
            key | {"pattern": names[share], "n_nodes": n, "flow": flow, "packet": packet}
            for share, n, flow, packet in zip(
                found.share.tolist(),
                found.n_nodes.tolist(),
                found.flow.tolist(),
                found.packet.tolist(),
                strict=True,
            )
        ]
    }


def _summary(jobs: pd.DataFrame) -> dict[str, object]:
    return {
        "jobs": len(jobs),
        **level_errors(jobs["flow"].to_numpy(), jobs["packet"].to_numpy()),
        "mean_flow": float(jobs["flow"].mean()),
        "mean_packet": float(jobs["packet"].mean()),
    }


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Errors by study and case, and by pattern."""
    import pandas as pd

    jobs = frames["jobs"]
    rows: list[dict[str, object]] = []
    for study, part in jobs.groupby("study", sort=False):
        for (machine, routing), case in part.groupby(["machine", "routing"], sort=False):
            rows.append({"study": study, "machine": machine, "routing": routing} | _summary(case))
        rows.append({"study": study, "machine": "all", "routing": "all"} | _summary(part))
    patterns = [
        {"study": study, "pattern": pattern} | _summary(part)
        for (study, pattern), part in jobs.groupby(["study", "pattern"], sort=False)
    ]
    claims = []
    for row in rows:
        for key, aim, most in (
            ("error_p50", MEDIAN, True),
            ("error_p90", NINE_TENTHS, True),
            ("rank_correlation", RANK, False),
        ):
            ours = float(str(row[key]))
            claims.append(
                Claim(
                    f"{row['study']}: {key} of the stretch, flow against packets",
                    "aim",
                    ours <= aim if most else ours >= aim,
                    f"at {'most' if most else 'least'} {aim:g}",
                    f"{row['machine']}, {row['routing']}",
                    None,
                    ours,
                    expected=aim,
                )
            )
    tables = {"errors": pd.DataFrame(rows), "patterns": pd.DataFrame(patterns), "jobs": jobs}
    return Analysis(claims_frame(claims), tables)


def draw(analysis: Analysis, options: Options) -> Figure:
    """A dot a job, a panel a machine and routing; the band is 30 % either way."""
    import matplotlib.pyplot as plt

    jobs = analysis.tables["jobs"]
    jobs = jobs[jobs["study"] == "20 kB"]
    cases = list(dict.fromkeys(zip(jobs["machine"], jobs["routing"], strict=True)))
    figure, axes = plt.subplots(
        1, len(cases), figsize=(3.4 * len(cases), 3.8), squeeze=False, layout="constrained"
    )
    ends = np.array([1.0, 1.1 * float(jobs[["flow", "packet"]].max().max())])
    for ax, (machine, routing) in zip(axes[0], cases, strict=True):
        part = jobs[(jobs["machine"] == machine) & (jobs["routing"] == routing)]
        ax.fill_between(ends, ends / 1.3, ends * 1.3, color="0.92")
        ax.plot(ends, ends, color="0.6", linewidth=0.8)
        ax.scatter(part["packet"], part["flow"], s=9, alpha=0.6, color="#0072B2", linewidths=0)
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
        ticks = [t for t in (1, 1.5, 2, 3, 5, 10) if t <= ends[1]]
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(ticks, labels=[f"{t:g}" for t in ticks])
            axis.set_ticks([], minor=True)
        ax.set_title(f"{machine}, {routing}", fontsize=10)
        ax.set_xlabel("stretch in packets")
    axes[0, 0].set_ylabel("stretch at flow level")
    return figure


FLOW_FIGURE = PaperFigure(
    name="flow",
    description="stretches of jobs that share a network: flow level against packet level",
    function=FUNCTION,
    points=points,
    analyse=analyse,
    draw=draw,
)
