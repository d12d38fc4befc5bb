"""What the studies of isolation share: a log on a machine, its jobs' mix, and how it is measured.

A study varies keys of the config that `study_content` makes: every factor is a key, so whatever a
study found can be tested on another log and machine with ``netcosim run``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.kit.papers import Point
from experiments.kit.study_mix import study_mix
from netcosim.config.content import checked_config
from netcosim.runs.points import replaced
from workloads.job import Workload

WINDOW = 50
"""How many jobs behind the head backfilling looks at, as in the Jigsaw paper (5.4.3)."""
ROUTINGS = {"fattree": "d-mod-k", "dragonfly": "ugal-l"}


def study_content(
    sections: Mapping[str, Any],
    network: str,
    policies: Sequence[str],
    *,
    snapshots: int,
    seed: int,
    changes: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return a config as in a file: a log under policies, all jobs in loops at some instants.

    ``changes`` are dotted keys that are other than here, such as ``{"machine.taper": 0.5}``.
    """
    content = {
        "machine": {"routing": ROUTINGS[network], **sections["machine"]},
        "workload": dict(sections["workload"]),
        "queue": {"policies": list(policies), "window": WINDOW, "run_time_model": "as-logged"},
        "communication": {"mix": study_mix(), "task_mapping": "in-order"},
        "run": {"seed": seed, "snapshots": snapshots, "measure": "steady", "keep": "tables"},
    }
    return replaced(content, dict(changes or {}))


def study_point(experiment: str, content: Mapping[str, Any], labels: Mapping[str, object]) -> Point:
    """Return a point of `experiments.kit.points.measured`: resolved config and columns."""
    return {
        "experiment": experiment,
        "config": checked_config(content).resolved(),
        "labels": dict(labels),
    }


def offered_load_of(workload: Workload, n_nodes: int) -> float:
    """Return the work of all jobs over what so many nodes do between the first and last arrival.

    Infinite if all jobs arrive at once.
    """
    work = float((workload.n_nodes * workload.run_time_s).sum())
    span_s = float(workload.submit_s[-1] - workload.submit_s[0])
    return work / (n_nodes * span_s) if span_s else float("inf")
