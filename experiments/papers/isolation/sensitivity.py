"""What the verdict held fixed, varied: Baseline's nodes, ranks a node, how long jobs repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.isolation.cases import (
    LOGS,
    REFERENCES,
    SENSITIVITY,
    SMALL_LOG,
    Case,
    Machine,
    asked_for,
    machines,
)
from experiments.papers.isolation.draw import draw_sensitivity
from experiments.papers.isolation.point import (
    MEASURE,
    QUEUE,
    measure_points,
    measured_pairs,
    queue_point,
)
from experiments.papers.isolation.queues import LOGGED, against_reference
from experiments.papers.isolation.shares import MAIN_SHARE, counting_share, job_shares
from experiments.papers.isolation.tables import by_size, speedups
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure, Point, Then
from experiments.points import point_rng
from queuesim.pairs import taken_off
from queuesim.statistics import mean_of_snapshots

if TYPE_CHECKING:
    import pandas as pd

NETWORK = "fattree"
POLICY = "jigsaw"
"""Whose queue runs with every case's run times."""
OFF_COLUMNS = [
    *("log", "case", "order", "ranks_per_node", "length", "duty", "policy", "nodes", "jobs"),
    *("taken_off", "low", "high"),
]


def _machines(options: Options) -> list[Machine]:
    """Thunder's, whose snapshots take seconds; with ``--scale quick`` the small one."""
    return [m for m in machines(NETWORK, options) if m.log in ("thunder", SMALL_LOG)]


def _cases(options: Options) -> tuple[Case, ...]:
    short = tuple(case for case in SENSITIVITY if case.length == 1)
    return asked_for(short if options.quick else SENSITIVITY, options)


def sensitivity_points(options: Options) -> list[Point]:
    """The same instants of the schedule in every case."""
    return [
        point
        for case in _cases(options)
        for machine in _machines(options)
        for point in measure_points(machine, case, options.seed, machine.snapshots[1])
    ]


def queue_points(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """Baseline's queue as logged, and Jigsaw's with the run times of every case that timed runs."""
    pairs = measured_pairs(frames)
    points = []
    for machine in _machines(options):
        points.append(queue_point(machine, REFERENCES[NETWORK], LOGGED, options.seed))
        for case in _cases(options):
            table = speedups(pairs, NETWORK, machine.log, case.name, options.seed)
            if table.rows and case.duty < 1:
                points.append(queue_point(machine, POLICY, case.name, options.seed, table=table))
    return points


def off_table(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Percent off the run time at the main share, by case and policy: over node-hours, and by size.

    Returns
    -------
    DataFrame
        `OFF_COLUMNS`: ``nodes`` is "all" or a size class; ``taken_off`` has the 95 % interval
        ``low``, ``high`` (whole snapshots drawn again).
    """
    import pandas as pd

    known = {case.name: case for case in SENSITIVITY}
    rows = []
    for (log, name, policy), part in groups(pairs, "log", "case", "policy"):
        case = known[str(name)]
        f = job_shares(part["job_id"].to_numpy(), counting_share(case.duty, MAIN_SHARE), seed)
        part = part.assign(off=100 * taken_off(part["run_ratio"], f))
        rng = point_rng({"of": [log, name, policy], "seed": seed}, "sensitivity bootstrap")
        for nodes, piece in by_size(part):
            weights = piece["n_nodes"].to_numpy(dtype=np.float64)
            found = mean_of_snapshots(piece["off"], weights, piece["snapshot"], rng)
            varied = (case.ranks_per_node, case.length, case.duty)
            order = case.order or REFERENCES[NETWORK]
            rows.append((log, name, order, *varied, policy, nodes, len(piece), *found))
    return pd.DataFrame(rows, columns=OFF_COLUMNS)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Time off and Jigsaw's makespan in every case; whether the paper's conclusion stands there."""
    off = off_table(measured_pairs(frames), options.seed)
    runs = against_reference(frames["runs"])
    runs = runs[runs["policy"] == POLICY]
    claims = [
        Says("Jigsaw 6.3", str(row["run_times"])).at_most(
            f"{row['log']}: Jigsaw's makespan is not above Baseline's",
            row["makespan_s_ratio"],
            1,
            note="ratio of makespans",
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
