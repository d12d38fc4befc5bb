"""Why Level-Spread gains on an empty machine and not in a queue: one thing changed at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from alloc.policy import Request
from alloc.registry import make_policy
from experiments.frames import cells
from experiments.papers.isolation.cases import Case, machines
from experiments.papers.isolation.point import measure_points, pairing_of
from experiments.papers.isolation.printed import LEVEL_SPREAD_PERCENT
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.points import point_rng
from experiments.store import Rows
from queuesim.ensemble import Ensemble, PlacedJob
from queuesim.pairing import Pairing
from queuesim.statistics import Interval, mean_of_snapshots

if TYPE_CHECKING:
    import pandas as pd

PACK = "experiments.papers.isolation.packing:pack_snapshots"
SNAPSHOTS = 6
QUEUE, LOG_ORDER, SMALL_FIRST = "queue", "empty, log order", "empty, small first"
PLACED = {
    QUEUE: "where the queue's schedule has them",
    LOG_ORDER: "on the empty machine, in the order of the log",
    SMALL_FIRST: "on the empty machine, small jobs first, as in the paper",
}
COMPARED = ("rdn", "level-spread")


def packing_points(options: Options) -> list[Point]:
    """The smaller machines under both routings, ranks in order and shuffled."""
    return [
        {
            **point,
            "experiment": "isolation-packing",
            "labels": {"log": machine.log, "routing": routing, "mapping": mapping},
        }
        for machine in machines("dragonfly", options)
        if machine.log != "theta"
        for routing in ("minimal", "ugal-l")
        if not options.routings or routing in options.routings
        for mapping in ("in-order", "random")
        for point in measure_points(
            machine, Case(routing, mapping=mapping), options.seed, SNAPSHOTS, COMPARED
        )
    ]


def _packed(
    pairing: Pairing, name: str, running: Sequence[int], placed: str, seed: int
) -> list[PlacedJob]:
    """Jobs where a policy puts them."""
    jobs = [pairing.job(name, index) for index in running]
    if placed == QUEUE:
        return jobs
    sizes = [len(job.nodes) for job in jobs]
    order = np.arange(len(jobs)) if placed == LOG_ORDER else np.argsort(sizes, kind="stable")
    topology = pairing.study.sides[name].network.routing.topology
    policy = make_policy(topology, name, np.random.default_rng(seed))
    for k in order.tolist():
        place = policy.allocate(Request(k, sizes[k]))
        assert place is not None
        jobs[k] = replace(jobs[k], nodes=place.nodes, partition=place)
    return jobs


def pack_snapshots(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Times of the jobs of a snapshot, placed in three ways by RDN and by Level-Spread."""
    pairing, number = pairing_of(point["config"]), point["config"]["run"]["only_snapshot"]
    running = dict(pairing.instants(pairing.study.reference))[number]
    rows: list[dict[str, object]] = []
    for placed in PLACED if running else ():
        times = {}
        for name in COMPARED:
            jobs = _packed(pairing, name, running, placed, number)
            network = pairing.study.sides[name].network
            times[name] = Ensemble(network, jobs).packets(stream=number).time_ps
        rdn_ps, level_spread_ps = times.values()
        rows += [
            {
                **point["labels"],
                "placed": placed,
                "snapshot": number,
                "n_nodes": len(job.nodes),
                "ratio": float(mine / theirs),
            }
            for job, mine, theirs in zip(jobs, level_spread_ps, rdn_ps, strict=True)
        ]
    return {"packings": rows}


def packing_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Geometric mean of Level-Spread's communication time over RDN's, with its interval."""
    import pandas as pd

    rows, claims = [], []
    for labels, part in cells(frames["packings"], "log", "routing", "mapping", "placed"):
        rng = point_rng({"of": labels, "seed": options.seed}, "packing bootstrap")
        found = mean_of_snapshots(np.log(part["ratio"]), 1, part["snapshot"], rng)
        ratio, low, high = (float(np.exp(x)) for x in found)
        rows.append({**labels, "jobs": len(part), "ratio": ratio, "low": low, "high": high})
        if labels["mapping"] == "random" and labels["placed"] == SMALL_FIRST:
            condition = f"{labels['routing']}, ranks shuffled, empty machine, small first"
            says = Says("Level-Spread, abstract", condition)
            what = f"{labels['log']}: faster communication under Level-Spread than rdn (% less)"
            less = Interval(*(100 * (1 - x) for x in (ratio, high, low)))
            note = "theirs is the mean over eight policies"
            claims.append(
                says.near(what, LEVEL_SPREAD_PERCENT, less, within=5, unit="points", note=note)
            )
    return Analysis(claims_frame(claims), {"packings": pd.DataFrame(rows)})


PACKING = PaperFigure(
    "packing",
    "Level-Spread against RDN: queue states and empty machines, ranks in order and shuffled",
    PACK,
    packing_points,
    packing_analyse,
)
