"""A point of the verdict's queues: one log, one policy, one model of run times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alloc.registry import make_policy
from experiments.papers.isolation.cases import PATTERNS, POLICIES, REFERENCES, Machine
from experiments.papers.isolation.point import jobs_of
from experiments.papers.jigsaw.logs import WINDOW
from experiments.papers.paper import Point
from experiments.points import point_rng
from netsim.topologies.registry import make_topology
from queuesim.assumed import Assumed
from queuesim.measured import CommunicationMix, PatternShare, SpeedupRow, SpeedupTable
from queuesim.measured_times import Measured
from queuesim.metrics import summarise
from queuesim.queue import simulate_queue
from queuesim.runtime import AsLogged, RunTimeModel

QUEUE = "experiments.papers.isolation.queue_point:run_queue"

Rows = list[dict[str, object]]


def queue_point(
    machine: Machine, policy: str, label: str, run_times: Mapping[str, object], seed: int
) -> Point:
    """A point's config.

    Parameters
    ----------
    machine : Machine
    policy : str
    label : str
        Name of the run-time model in tables.
    run_times : mapping
        From `assumed_times` or `measured_times`; empty: as logged.
    seed : int
    """
    return {
        "experiment": "isolation-queue",
        **machine.config(),
        "reference": REFERENCES[machine.network],
        "policies": list(POLICIES[machine.network]),
        "policy": policy,
        "label": label,
        "run_times": dict(run_times),
        "seed": seed,
    }


def assumed_times(scenario: str) -> dict[str, object]:
    """Run times of a scenario."""
    return {"scenario": scenario}


def measured_times(
    table: SpeedupTable, policy: str, share: tuple[float, float], bound: str = "mean"
) -> dict[str, object]:
    """Run times from a policy's part of a speed-up table and the share to which it applies."""
    rows: list[Sequence[object]] = [
        [row.pattern, row.min_nodes, row.max_nodes, row.ratio, row.ratio_low, row.ratio_high]
        for row in table.rows
        if row.policy == policy
    ]
    return {"rows": rows, "share": list(share), "bound": bound}


def _model(config: Mapping[str, Any]) -> RunTimeModel:
    given = config["run_times"]
    if not given:
        return AsLogged()
    if "scenario" in given:
        return Assumed(given["scenario"])
    low, high = given["share"]
    mix = CommunicationMix(PatternShare(pattern, 1.0, low, high) for pattern in PATTERNS)
    rows = tuple(
        SpeedupRow(pattern, first, last, config["policy"], *ratios)
        for pattern, first, last, *ratios in given["rows"]
    )
    return Measured(SpeedupTable(config["reference"], rows), mix, given["bound"])


def run_queue(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Simulate a point: "queues", one row of metrics.

    Draws of patterns and shares belong to the seed and the job, so they are the same under every
    policy.
    """
    topology = make_topology(config["network"], config["parameters"])
    name = config["policy"]
    seed = {"seed": config["seed"]}
    result = simulate_queue(
        jobs_of(config, topology),
        make_policy(topology, name, point_rng(seed, f"placement {name}")),
        window=WINDOW,
        run_time_model=_model(config),
        rng=point_rng(seed, "isolation queue"),
    )
    metrics = summarise(result)
    large = metrics.mean_turnaround_large_s
    row: dict[str, object] = {
        "network": config["network"],
        "log": config["log"]["name"],
        "policy": name,
        "run_times": config["label"],
        "jobs": metrics.n_jobs,
        "mean_run_s": float(np.mean(result.end_s - result.start_s)),
        "mean_wait_s": metrics.mean_wait_s,
        "mean_turnaround_s": metrics.mean_turnaround_s,
        "mean_turnaround_large_s": large if np.isfinite(large) else None,
        "makespan_s": metrics.makespan_s,
        "utilisation": metrics.utilisation,
    }
    return {"queues": [row]}
