"""Why Level-Spread gains on an empty machine and not in a queue: one thing changed at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from alloc.policy import Request
from alloc.registry import make_policy
from experiments.papers.isolation.cases import CASES, Case, machines
from experiments.papers.isolation.pairs import NO_LOGS
from experiments.papers.isolation.point import bench_of, measure_point, schedule
from experiments.papers.isolation.shares import mean_of_snapshots
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.points import point_rng
from netsim.errors import NetcosimError
from queuesim.ensemble import PlacedJob
from queuesim.snapshots import snapshot_times

if TYPE_CHECKING:
    import pandas as pd

PACK = "experiments.papers.isolation.packing:pack_snapshots"
SNAPSHOTS = 6
PLACED = {
    "queue": "where the queue's schedule has them",
    "empty, log order": "on the empty machine, in the order of the log",
    "empty, small first": "on the empty machine, small jobs first, as in the paper",
}
PAPER_PERCENT = 16.0

Rows = list[dict[str, object]]


def packing_points(options: Options) -> list[Point]:
    """The smaller machines under both routings, ranks in order and shuffled."""
    found = [
        {
            **measure_point(machine, CASES["dragonfly"][0], 0, options.seed),
            "experiment": "isolation-packing",
            "case": Case(routing, mapping=mapping).name,
            "routing": routing,
            "mapping": mapping,
            "snapshots": SNAPSHOTS,
            "policies": ["level-spread"],
        }
        for machine in machines("dragonfly", options)
        if machine.log["name"] != "theta"
        for routing in ("minimal", "ugal-l")
        if not options.routings or routing in options.routings
        for mapping in ("in-order", "random")
    ]
    if not found:
        raise NetcosimError(NO_LOGS)
    return found


def pack_snapshots(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Times of the jobs of some snapshots, placed in three ways by RDN and by Level-Spread."""
    bench = bench_of(config)
    reference = bench.reference
    rows: Rows = []
    for number, instant in enumerate(snapshot_times(reference, config["snapshots"])):
        running = reference.running_at(instant)
        sizes = reference.workload.n_nodes
        multi = running[sizes[running] > 1].tolist()
        if not multi:
            continue
        for placed in PLACED:
            times = {}
            for name in ("rdn", "level-spread"):
                jobs = [bench.job(schedule(config, name), index) for index in multi]
                if placed != "queue":
                    order = np.argsort(sizes[multi], kind="stable")
                    if placed == "empty, log order":
                        order = np.arange(len(multi))
                    policy = make_policy(bench.topology, name, np.random.default_rng(number))
                    for k in order.tolist():
                        place = policy.allocate(Request(k, int(sizes[multi[k]])))
                        assert place is not None
                        jobs[k] = PlacedJob(jobs[k].job_id, jobs[k].communication, place.nodes)
                times[name] = bench.times_ps(jobs, number)
            rows += [
                {
                    "log": config["log"]["name"],
                    "routing": config["routing"],
                    "mapping": config["mapping"],
                    "placed": placed,
                    "snapshot": number,
                    "n_nodes": int(sizes[index]),
                    "ratio": float(times["level-spread"][k] / times["rdn"][k]),
                }
                for k, index in enumerate(multi)
            ]
    return {"packings": rows}


def packing_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Geometric mean of Level-Spread's communication time over RDN's, with its interval."""
    import pandas as pd

    rows, claims = [], []
    keys = ["log", "routing", "mapping", "placed"]
    for values, part in frames["packings"].groupby(keys, sort=False):
        labels = dict(zip(keys, values, strict=True))
        rng = point_rng({"of": labels, "seed": options.seed}, "packing bootstrap")
        logs = np.log(part["ratio"])
        found = mean_of_snapshots(logs, np.ones(len(part)), part["snapshot"], rng)
        ratio, low, high = (float(np.exp(x)) for x in found)
        rows.append({**labels, "jobs": len(part), "ratio": ratio, "low": low, "high": high})
        if labels["mapping"] == "random" and labels["placed"] == "empty, small first":
            claims.append(
                Claim(
                    f"{labels['log']}: faster communication under Level-Spread than rdn (% less)",
                    "Level-Spread, abstract",
                    abs(100 * (1 - ratio) - PAPER_PERCENT) <= 5,
                    "within 5 points; theirs is the mean over eight policies",
                    f"{labels['routing']}, ranks shuffled, empty machine, small first",
                    PAPER_PERCENT,
                    100 * (1 - ratio),
                    100 * (1 - high),
                    100 * (1 - low),
                )
            )
    return Analysis(claims_frame(claims), {"packings": pd.DataFrame(rows)})


PACKING = PaperFigure(
    "packing",
    "Level-Spread against RDN: queue states and empty machines, ranks in order and shuffled",
    PACK,
    packing_points,
    packing_analyse,
)
