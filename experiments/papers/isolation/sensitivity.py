"""What the verdict held fixed, varied: Baseline's nodes, ranks a node, how long jobs repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.isolation.cases import (
    LOGS,
    REFERENCES,
    SENSITIVITY,
    Case,
    Machine,
    machines,
)
from experiments.papers.isolation.draw import draw_sensitivity
from experiments.papers.isolation.pairs import NO_LOGS, measured_pairs
from experiments.papers.isolation.point import MEASURE, measure_point
from experiments.papers.isolation.queue_point import QUEUE, measured_times, queue_point
from experiments.papers.isolation.queues import LOGGED, against_reference
from experiments.papers.isolation.shares import (
    MAIN_SHARE,
    class_name,
    counting_share,
    job_shares,
    mean_of_snapshots,
    taken_off,
)
from experiments.papers.isolation.tables import speedups
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure, Point, Then
from experiments.points import point_rng
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    import pandas as pd

NETWORK = "fattree"
POLICY = "jigsaw"
"""Whose queue runs with every case's run times."""


def _machines(options: Options) -> list[Machine]:
    """Thunder's, whose snapshots take seconds; with ``--scale quick`` the small one."""
    return [m for m in machines(NETWORK, options) if m.log["name"] in ("thunder", "synth-small")]


def _cases(options: Options) -> tuple[Case, ...]:
    short = tuple(case for case in SENSITIVITY if case.length == 1)
    known = short if options.quick else SENSITIVITY
    return tuple(c for c in known if not options.routings or c.routing in options.routings)


def sensitivity_points(options: Options) -> list[Point]:
    """The same instants of the schedule in every case."""
    found = [
        {**measure_point(machine, case, i, options.seed), "snapshots": machine.snapshots[1]}
        for case in _cases(options)
        for machine in _machines(options)
        for i in range(machine.snapshots[1])
    ]
    if not found:
        raise NetcosimError(NO_LOGS)
    return found


def queue_points(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """Baseline's queue as logged, and Jigsaw's with the run times of every case that timed runs."""
    pairs = measured_pairs(frames)
    points = []
    for machine in _machines(options):
        log = str(machine.log["name"])
        points.append(queue_point(machine, REFERENCES[NETWORK], LOGGED, {}, options.seed))
        for case in _cases(options):
            mine = pairs[(pairs["log"] == log) & (pairs["case"] == case.name)]
            if len(mine) and case.duty < 1:
                table = speedups(mine, NETWORK, log, case.name, options.seed)
                share = counting_share(case.duty, MAIN_SHARE)
                times = measured_times(table, POLICY, share)
                points.append(queue_point(machine, POLICY, case.name, times, options.seed))
    return points


def off_table(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Percent off the run time at the main share, by case and policy: over node-hours, and by size.

    Returns
    -------
    DataFrame
        Columns ``log``, ``case``, ``order``, ``ranks_per_node``, ``length``, ``duty``, ``policy``,
        ``nodes`` ("all" or a size class), ``jobs``, ``taken_off`` and its 95 % interval ``low``,
        ``high`` (whole snapshots drawn again).
    """
    import pandas as pd

    known = {case.name: case for case in SENSITIVITY}
    rows = []
    for (log, name, policy), part in pairs.groupby(["log", "case", "policy"], sort=False):
        case = known[str(name)]
        f = job_shares(part["job_id"].to_numpy(), counting_share(case.duty, MAIN_SHARE), seed)
        part = part.assign(off=100 * taken_off(part["run_ratio"], f))
        rng = point_rng({"of": [log, name, policy], "seed": seed}, "sensitivity bootstrap")
        pieces = [("all", part)]
        pieces += [
            (class_name(int(i)), part[part["size_class"] == i])
            for i in np.unique(part["size_class"])
        ]
        for nodes, piece in pieces:
            weights = piece["n_nodes"].to_numpy(dtype=np.float64)
            found = mean_of_snapshots(piece["off"], weights, piece["snapshot"], rng)
            rows.append(
                {
                    "log": log,
                    "case": name,
                    "order": case.order or REFERENCES[NETWORK],
                    "ranks_per_node": case.ranks_per_node,
                    "length": case.length,
                    "duty": case.duty,
                    "policy": policy,
                    "nodes": nodes,
                    "jobs": len(piece),
                    "taken_off": found.value,
                    "low": found.low,
                    "high": found.high,
                }
            )
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Time off and Jigsaw's makespan in every case; whether the paper's conclusion stands there."""
    off = off_table(measured_pairs(frames), options.seed)
    runs = against_reference(frames["queues"])
    runs = runs[runs["policy"] == POLICY]
    claims = [
        Claim(
            f"{row['log']}: Jigsaw's makespan is not above Baseline's",
            "Jigsaw 6.3",
            row["makespan_s_ratio"] <= 1,
            "ratio of makespans at most 1",
            str(row["run_times"]),
            None,
            row["makespan_s_ratio"],
        )
        for row in runs.to_dict("records")
    ]
    notes = () if options.quick else log_notes(LOGS[:1], options)
    return Analysis(claims_frame(claims), {"off": off, "queues": runs}, notes)


SENSITIVITY_FIGURE = PaperFigure(
    "sensitivity",
    "what the verdict holds fixed, varied: Baseline's nodes, ranks a node, length of the runs",
    MEASURE,
    sensitivity_points,
    analyse,
    draw_sensitivity,
    then=Then(QUEUE, queue_points),
)
