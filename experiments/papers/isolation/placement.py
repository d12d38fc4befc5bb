"""Which nodes jobs had before they were isolated: by what rule, and what it does to the gain.

Figure ``placement``: the hops between a job's nodes under every reference placement, on Cab's tree,
beside what Pollard et al. print of Cab's record (Fig. 1); and what Jigsaw takes off against each, with
nodes that drive half of their link.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.frames import cells
from experiments.papers.isolation.base import study_content, study_point
from experiments.papers.jigsaw.logs import LINK_BPS, THUNDER, fat_tree
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.logs import log_notes, needed
from experiments.papers.kit.points import MEASURED
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.papers.pollard.logs import KTH, QUEUE_DEPTH, SLURM
from queuesim.observables.jobs import BINS, by_size
from queuesim.pairs import taken_off
from queuesim.statistics import t_of_snapshots

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACEMENTS = (
    "baseline",
    "slurm-linear",
    "slurm-tree",
    "shortest-idle",
    "longest-idle",
    "random",
)
"""All place by count alone: with equal run times every job starts and ends at the same moment."""
ISOLATING = "jigsaw"
HOPS_LOGS = (*SLURM.values(), KTH["kth on small cab"])
DAYS = 61.0
"""Fig. 1 has August and September of 2014."""
PARTS = 10
"""Of a log, one after the other, for intervals; the first is left out, for the machine was empty."""
EXCESS = (0.0, 0.5, 1.0, 2.0)
"""Hops above the least from which on a job may be called scattered: the paper does not say."""
SNAPSHOTS = 6
PRECISION = 0.02
DRIVES = (1.0, 0.5)
QUICK_TREE = fat_tree(8)
QUICK_JOBS = {"n_jobs": 150, "mean_nodes": 10}


def points(options: Options) -> list[Point]:
    """The logs on Cab's tree, then the jobs of one log in loops."""
    return [*hops_points(options), *gain_points(options)]


def hops_points(options: Options) -> list[Point]:
    """Each log with its arrivals, as logged, under all placements."""
    found = []
    if options.quick:
        made = {"synthetic": QUICK_JOBS, "larger_jobs": "drop"}
        logs = [("made", {"machine": fat_tree(8, pods=4), "workload": made})]
    else:
        logs = [(log.name, own) for log, own in needed(HOPS_LOGS, options)]
    for name, own in logs:
        days = {} if options.quick else {"days": DAYS}
        content = {
            **own,
            "workload": {**own["workload"], **days},
            "queue": {
                "policies": list(PLACEMENTS),
                "window": QUEUE_DEPTH,
                "run_time_model": "as-logged",
            },
            "run": {"seed": options.seed, "snapshots": 0, "observables": ["spread"]},
        }
        found.append(study_point("placement", content, {"log": name, "what": "hops"}))
    return found


def gain_points(options: Options) -> list[Point]:
    """Jobs in loops: all placements at full drive, some at less; the same jobs and instants."""
    snapshots = 2 if options.quick else SNAPSHOTS
    if options.quick:
        own: dict[str, Any] = {
            "machine": QUICK_TREE,
            "workload": {"synthetic": QUICK_JOBS, "all_at_zero": True, "larger_jobs": "drop"},
        }
        name = "made"
    else:
        [(log, own)] = needed((THUNDER,), options)
        name = log.name
    found = []
    for drive in DRIVES:
        some = PLACEMENTS if drive == 1 else ("baseline", "random")
        changes: dict[str, object] = {"run.steady.precision": PRECISION}
        if drive != 1:
            changes["machine.node_bandwidth_Bps"] = int(drive * LINK_BPS)
        content = study_content(
            own,
            "fattree",
            [*some, ISOLATING],
            snapshots=snapshots,
            seed=options.seed,
            changes=changes,
        )
        found.append(study_point("placement", content, {"log": name, "drive": drive}))
    return found
