"""One point of the verdict: a snapshot of a schedule in packets, job by job under each policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from alloc.registry import make_policy
from experiments.build import build_workload
from experiments.config_load import validated_workload
from experiments.papers.isolation.cases import (
    LARGE_RANKS,
    LOADS,
    MOST_ITERATIONS,
    PATTERNS,
    POLICIES,
    REFERENCES,
    Case,
    Machine,
)
from experiments.papers.jigsaw.logs import WINDOW
from experiments.papers.paper import Point
from experiments.points import canonical_json, point_rng
from netsim.packet.model import PS_PER_S
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from patterns.registry import make_pattern
from queuesim.communication import Communication
from queuesim.draws import draw_key, uniform_per_job
from queuesim.ensemble import Ensemble, PlacedJob, SharedNetwork, job_streams
from queuesim.queue import fitting, simulate_queue
from queuesim.result import QueueResult
from queuesim.snapshots import snapshot_times
from workloads.job import Workload
from workloads.transform import from_zero, head

MEASURE = "experiments.papers.isolation.point:measure_snapshot"
US = 1e6 / PS_PER_S
UNIT_BYTES = 1000
WHOLE_S = 1e-7
"""Compute and start times are whole multiples: odd picoseconds would make a fine clock."""

LEAST_PERIODS = 4
"""Iterations of a job that computes too: it begins anywhere in the first of them."""

Rows = list[dict[str, object]]


def measure_point(machine: Machine, case: Case, snapshot: int, seed: int) -> Point:
    """A point's config."""
    load_bytes, repeats = LOADS[case.load]
    return {
        "experiment": "isolation-packets",
        **machine.config(),
        "reference": case.order or REFERENCES[machine.network],
        "policies": list(POLICIES[machine.network]),
        "case": case.name,
        "patterns": list(PATTERNS),
        "routing": case.routing,
        "mapping": case.mapping,
        "node_bytes": load_bytes,
        "ranks_per_node": case.ranks_per_node,
        "repeats": repeats * case.length,
        "most_iterations": MOST_ITERATIONS * case.length,
        "duty": float(case.duty),
        "snapshots": machine.n_snapshots(case),
        "snapshot": snapshot,
        "seed": seed,
    }


def measure_points(machine: Machine, case: Case, seed: int) -> list[Point]:
    """One point a snapshot."""
    return [measure_point(machine, case, i, seed) for i in range(machine.n_snapshots(case))]


def jobs_of(config: Mapping[str, Any], topology: Topology) -> Workload:
    """The log's jobs that every policy can place."""
    log = config["log"]
    rng = point_rng({"log": log["name"], "seed": config["seed"]}, "workload")
    section = validated_workload(log["workload"])
    workload = from_zero(build_workload(section, topology.n_nodes, rng))
    if "jobs" in config["log"]:
        workload = head(workload, config["log"]["jobs"])
    for name in (config["reference"], *config["policies"]):
        workload = fitting(workload, make_policy(topology, name, np.random.default_rng(0)))
    return workload


def pattern_draws(workload: Workload, seed: int) -> NDArray[np.float64]:
    """(n,) uniform numbers that say which pattern a job has."""
    key = draw_key(point_rng({"seed": seed}, "isolation patterns"))
    return uniform_per_job(key, 0, workload.job_id)


def pattern_of(u: float, n_ranks: int, patterns: Sequence[str]) -> str:
    """A job's pattern of equally likely ones."""
    pattern = patterns[int(u * len(patterns))]
    return "sub-a2a" if pattern == "all-to-all" and n_ranks > LARGE_RANKS else pattern


@lru_cache(maxsize=4096)
def communication(pattern: str, n_ranks: int, rank_bytes: int, iterations: int) -> Communication:
    """A pattern in which a rank sends about ``rank_bytes`` an iteration, in the mean over ranks."""
    if pattern == "fft3d":
        # Four transposes of cells^3 / 2 values of 16 bytes.
        cells = max(2, round((rank_bytes * n_ranks / 32) ** (1 / 3)))
        rows = max(1, round(n_ranks**0.5))
        extra = {"rows": rows, "cells": cells, "compute": False}
        return Communication(pattern, UNIT_BYTES, iterations, extra)
    extra = {"rounds": 1, "warmup_rounds": 0} if pattern == "bisection-pairing" else {}
    unit = make_pattern(pattern, n_ranks, UNIT_BYTES, 1, np.random.default_rng(0), extra)
    scale = rank_bytes * n_ranks / max(unit.total_bytes, 1)
    return Communication(pattern, max(1, round(UNIT_BYTES * scale)), iterations, extra)


@lru_cache(maxsize=16)
def _schedule(text: str) -> QueueResult:
    config = json.loads(text)
    topology = make_topology(config["network"], config["parameters"])
    name = config["policy"]
    return simulate_queue(
        jobs_of(config, topology),
        make_policy(topology, name, point_rng({"seed": config["seed"]}, f"placement {name}")),
        window=WINDOW,
        rng=np.random.default_rng(0),
        keep_placements=True,
    )


def schedule(config: Mapping[str, Any], policy: str) -> QueueResult:
    """The log's schedule under a policy, run times as logged; kept for the next points."""
    keys = ("log", "network", "parameters", "reference", "policies", "seed")
    return _schedule(canonical_json({**{key: config[key] for key in keys}, "policy": policy}))


@dataclass
class Bench:
    """What the snapshots of one case share: the network and times that are known."""

    config: Mapping[str, Any]
    topology: Topology
    network: SharedNetwork
    reference: QueueResult
    draws: NDArray[np.float64]
    alone: dict[tuple[str, int], int] = field(default_factory=dict)
    repeats: dict[int, tuple[int, float]] = field(default_factory=dict)

    def times_ps(self, jobs: Sequence[PlacedJob], stream: int) -> NDArray[np.int64]:
        """Times of jobs together."""
        return Ensemble(self.network, jobs).packets(stream=stream).time_ps

    def repeat(self, index: int) -> tuple[int, float]:
        """How often a job repeats its iteration, and how long one takes alone.

        On the reference's nodes; the same under every policy.
        """
        if index not in self.repeats:
            job_id, size, _, _ = self.told(index)
            once = self.said(index, 1)
            place = placement_of(self.reference, index)
            one_s = (
                self.times_ps([PlacedJob(job_id, once, place.nodes[:size])], index)[0] / PS_PER_S
            )
            link_s = self.config["node_bytes"] / int(self.topology.link_bandwidth_Bps[0])
            wanted = self.config["repeats"] * link_s / one_s
            least = 1 if self.config["duty"] == 1 else LEAST_PERIODS
            often = int(np.clip(round(wanted), least, self.config["most_iterations"]))
            self.repeats[index] = often, one_s
        return self.repeats[index]

    def told(self, index: int) -> tuple[int, int, str, float]:
        """Id, nodes, pattern and run time of a job."""
        jobs = self.reference.workload
        size = int(jobs.n_nodes[index])
        ranks = size * self.config["ranks_per_node"]
        pattern = pattern_of(self.draws[index], ranks, self.config["patterns"])
        return int(jobs.job_id[index]), size, pattern, float(jobs.run_time_s[index])

    def said(self, index: int, iterations: int) -> Communication:
        """What a job sends: the same bytes a node however many ranks it has."""
        _, size, pattern, _ = self.told(index)
        ranks = self.config["ranks_per_node"]
        return communication(pattern, size * ranks, self.config["node_bytes"] // ranks, iterations)

    def job(self, result: QueueResult, index: int) -> PlacedJob:
        """A job where a policy put it, repeated; with computing if the duty is below 1."""
        job_id, size, _, _ = self.told(index)
        often, one_s = self.repeat(index)
        said = self.said(index, often)
        duty = self.config["duty"]
        compute_s = start_s = 0.0
        if duty < 1:
            compute_s = max(1, round(one_s * (1 / duty - 1) / WHOLE_S)) * WHOLE_S
            u = job_streams(self.network.seed, job_id).start.random()
            start_s = round(u * (one_s + compute_s) / WHOLE_S) * WHOLE_S
        place = placement_of(result, index)
        return PlacedJob(
            job_id,
            said,
            place.nodes[:size],
            partition=place,
            compute_s=compute_s,
            start_s=start_s,
        )

    def time_alone(self, result: QueueResult, index: int) -> int:
        """Time of a job alone where a policy put it, on its own links if it has some."""
        key = (result.policy, index)
        if key not in self.alone:
            self.alone[key] = int(self.times_ps([self.job(result, index)], index)[0])
        return self.alone[key]

    def times_together(
        self, result: QueueResult, indices: Sequence[int], stream: int
    ) -> tuple[list[int], list[int]]:
        """Times of jobs with all of them on the network, and of each alone."""
        times = self.times_ps([self.job(result, index) for index in indices], stream)
        return times.tolist(), [self.time_alone(result, index) for index in indices]


def placement_of(result: QueueResult, index: int) -> Placement:
    """Where a job (by index) was."""
    assert result.placements is not None
    return result.placements.placement(index, int(result.workload.job_id[index]))


@lru_cache(maxsize=1)
def _bench(text: str) -> Bench:
    config = json.loads(text)
    topology = make_topology(config["network"], config["parameters"])
    reference = schedule(config, config["reference"])
    return Bench(
        config,
        topology,
        SharedNetwork(
            make_routing(topology, config["routing"]),
            ranks_per_node=config["ranks_per_node"],
            task_mapping=config["mapping"],
            seed=config["seed"],
        ),
        reference,
        pattern_draws(reference.workload, config["seed"]),
    )


def bench_of(config: Mapping[str, Any]) -> Bench:
    """What the snapshots of a case share; kept for the process's next points."""
    return _bench(canonical_json({k: v for k, v in config.items() if k != "snapshot"}))


def measure_snapshot(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Time the jobs that run at one instant of the reference's schedule.

    Returns
    -------
    dict of str to list of dict
        "pairs": a row for each job of more than one node and each policy: times under the
        reference with all others and alone, and under the policy as it runs there (where it
        isolates: alone) and alone. "proof" (first snapshot, static routing): of the jobs that run
        at one instant of an isolating policy's own schedule, how many take the same time, to
        the picosecond, alone and with all others.
    """
    bench = bench_of(config)
    reference, number = bench.reference, config["snapshot"]
    instant = snapshot_times(reference, config["snapshots"])[number]
    running = reference.running_at(instant)
    multi = running[reference.workload.n_nodes[running] > 1].tolist()
    if not multi:
        return {"pairs": []}
    labels = {
        "network": config["network"],
        "log": config["log"]["name"],
        "case": config["case"],
        "snapshot": number,
    }
    rows: Rows = []
    proof: Rows = []
    reference_ps, reference_alone = bench.times_together(reference, multi, number)
    for name in config["policies"]:
        result = schedule(config, name)
        isolates = make_policy(bench.topology, name, np.random.default_rng(0)).isolates
        if isolates:
            mine = alone = [bench.time_alone(result, index) for index in multi]
        else:
            mine, alone = bench.times_together(result, multi, number)
        for k, index in enumerate(multi):
            job_id, size, pattern, run_s = bench.told(index)
            rows.append(
                {
                    **labels,
                    "policy": name,
                    "job_id": job_id,
                    "n_nodes": size,
                    "run_s": run_s,
                    "pattern": pattern,
                    "iterations": bench.repeat(index)[0],
                    "reference_us": reference_ps[k] * US,
                    "reference_alone_us": reference_alone[k] * US,
                    "policy_us": mine[k] * US,
                    "policy_alone_us": alone[k] * US,
                }
            )
        if isolates and number == 0 and config["routing"] == "d-mod-k":
            proof.append({**labels, "policy": name, **_proof(bench, result)})
    return {"pairs": rows, "proof": proof} if proof else {"pairs": rows}


def _proof(bench: Bench, result: QueueResult) -> dict[str, object]:
    """Jobs of an isolating policy's own snapshot: how many are untouched by the others."""
    running = result.running_at(snapshot_times(result, 1)[0])
    multi = running[result.workload.n_nodes[running] > 1].tolist()
    together = bench.times_ps([bench.job(result, index) for index in multi], 0)
    alone = np.array([bench.time_alone(result, index) for index in multi])
    return {
        "jobs": len(multi),
        "untouched": int((together == alone).sum()),
        "largest_difference_ps": int(np.abs(together - alone).max()) if multi else 0,
    }
