"""What longer run times cost a queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from queue_helpers import make_workload

from alloc.registry import make_policy
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from queuesim.metrics import turnaround_s
from queuesim.queue import simulate_queue
from workloads.gpu_clusters import gpu_cluster_workload
from workloads.job import Workload


def mean_completion(workload: Workload, topology: Topology) -> float:
    rng = np.random.default_rng(0)
    policy = make_policy(topology, "baseline", rng)
    return float(turnaround_s(simulate_queue(workload, policy, rng=rng)).mean())


def stretched(workload: Workload, factor: float) -> Workload:
    longer = workload.run_time_s * factor
    return replace(workload, run_time_s=longer, requested_s=longer)


@pytest.mark.shared
def test_longer_run_times_on_kalos(shared_dir: Path) -> None:
    """Published numbers within one point; netcosim's to the digit."""
    path = shared_dir / "inputs" / "ai" / "jobs" / "kalos_319_completed_jobs.csv"
    rows = np.genfromtxt(path, delimiter=",", names=True)
    workload = make_workload(rows["arrival_s"], rows["duration_s"], rows["nodes"])
    assert len(workload) == 319
    topology = make_topology("fattree", {"radix": 8})
    alone = mean_completion(workload, topology)
    costs = [
        100 * (mean_completion(stretched(workload, factor), topology) / alone - 1)
        for factor in (1.02, 1.05, 1.10)
    ]
    assert costs == pytest.approx([2.5, 6.7, 15], abs=1.0)
    assert "{:.1f}, {:.1f}, {:.1f}".format(*costs) == "2.5, 6.7, 15.0"


def costs_of_two_per_cent(topology: Topology, load: float) -> list[float]:
    found = []
    for seed in range(4):
        workload = gpu_cluster_workload(
            20_000,
            "philly",
            np.random.default_rng(seed),
            load=load,
            machine_nodes=topology.n_nodes,
            size_unit="gpu",
        )
        alone = mean_completion(workload, topology)
        longer = mean_completion(stretched(workload, 1.02), topology)
        found.append(100 * (longer / alone - 1))
    return found


def test_the_elasticity_of_a_queue_grows_with_its_load() -> None:
    """2 % more run time on 256 GPUs: 2 % at a load of 0.3, a few times as much at 0.9."""
    topology = make_topology("fattree", {"radix": 16, "pods": 4})
    assert topology.n_nodes == 256
    assert costs_of_two_per_cent(topology, 0.3) == pytest.approx([2.0] * 4, abs=0.02)
    costs = costs_of_two_per_cent(topology, 0.9)
    mean, least, most = np.mean(costs), min(costs), max(costs)
    assert least > 1.2 * 2.0
    assert 2 * 2.0 < mean < 5 * 2.0
    assert f"{mean:.1f}, {least:.1f} to {most:.1f}" == "8.9, 6.8 to 13.6"


@pytest.mark.full
def test_the_elasticity_of_a_queue_falls_with_its_size() -> None:
    few = make_topology("fattree", {"radix": 8, "pods": 4})
    many = make_topology("fattree", {"radix": 16})
    assert (few.n_nodes, many.n_nodes) == (64, 1024)
    assert f"{np.mean(costs_of_two_per_cent(few, 0.9)):.0f}" == "18"
    assert costs_of_two_per_cent(many, 0.9) == pytest.approx([2.0] * 4, abs=0.02)
