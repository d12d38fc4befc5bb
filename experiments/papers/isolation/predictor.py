"""Can the gain of isolation be told without packets? Measured on some logs, judged on others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.papers.isolation.base import study_content, study_mix, study_point
from experiments.papers.jigsaw.logs import ATLAS, KTH, THETA, THUNDER, fat_tree
from experiments.papers.kit.logs import PaperLog, needed
from experiments.papers.paper import Options, Point

POLICY = "jigsaw"
WIDE, NARROW = (0.05, 0.6), (0.2, 0.4)
"""Ends of communication shares: jobs that differ, so that theirs and their neighbours' are told
apart, and jobs that are more alike."""
CASES = (("baseline", WIDE), ("random", WIDE), ("baseline", NARROW), ("slurm-tree", WIDE))
NODE_BYTES = 64 * 1024
STEADY = {"precision": 0.02, "most_iterations": 32}

DAYS = {"thunder": 14.0, "atlas": 60.0, "theta": 30.0, "kth-sp2": 60.0}
"""What is taken of each log: the queue's length is not the point here."""
SNAPSHOTS = {"thunder": 4, "atlas": 4, "theta": 3, "kth-sp2": 10}
SMALL: tuple[tuple[str, dict[str, Any]], ...] = tuple(
    (f"made-{mean}", {"synthetic": {"n_jobs": 60, "mean_nodes": mean}, "all_at_zero": True})
    for mean in (4, 8)
)
"""Made jobs, for a quick look."""


def _logs(options: Options) -> list[tuple[str, dict[str, Any], int]]:
    """Name, sections of a config and snapshots of each log."""
    if options.quick:
        return [(name, {"machine": fat_tree(8), "workload": jobs}, 2) for name, jobs in SMALL]
    return [
        (log.name, _cut(log, sections), SNAPSHOTS[log.name])
        for log, sections in needed((KTH, THUNDER, ATLAS, THETA), options)
    ]


def _cut(log: PaperLog, sections: Mapping[str, Any]) -> dict[str, Any]:
    return {**sections, "workload": {**sections["workload"], "days": DAYS[log.name]}}


def points(options: Options) -> list[Point]:
    """One a log and case; those of the first case of all logs first."""
    return [
        study_point(
            "isolation-predictor",
            study_content(
                sections,
                "fattree",
                [reference, POLICY],
                snapshots=snapshots,
                seed=options.seed,
                changes={
                    "communication.mix": study_mix(share, NODE_BYTES),
                    "run.steady": STEADY,
                },
            ),
            {"log": name, "placement": reference, "share": f"{share[0]:g} to {share[1]:g}"},
        )
        for reference, share in CASES
        for name, sections, snapshots in _logs(options)
    ]
