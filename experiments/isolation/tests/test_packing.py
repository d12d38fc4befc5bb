"""Packed jobs: all fit at once, and those before them leave scattered nodes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from alloc.registry import make_policy
from cosim.measuring.snapshots import snapshot_times
from experiments.isolation.cab import LONG_S, packed_jobs
from experiments.kit.size_laws import draw_size
from netsim.topologies.fattree import fat_tree
from queuesim.backfilling.backfill import NoBackfill
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from workloads.job import Workload

TREE = fat_tree(8)


def packed(generations: int, seed: int = 1) -> Workload:
    rng = np.random.default_rng(seed)
    draw = partial(draw_size, "powers", 2, 16)
    return packed_jobs(make_policy(TREE, "ta", rng), draw, rng, generations=generations)


def queue(jobs: Workload, policy: str) -> QueueResult:
    placing = make_policy(TREE, policy, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    return simulate_queue(jobs, placing, backfill=NoBackfill.name, rng=rng, keep_placements=True)


def test_packed_jobs_fill_the_machine_at_once() -> None:
    jobs = packed(0)
    assert 0.7 * TREE.n_nodes < jobs.n_nodes.sum() <= TREE.n_nodes
    for policy in ("ta", "random"):
        assert (queue(jobs, policy).start_s == 0).all()


@pytest.mark.parametrize("policy", ["baseline", "random", "ta"])
def test_at_half_of_the_work_the_packed_jobs_run_alone(policy: str) -> None:
    jobs = packed(3)
    alone = packed(0)
    long = jobs.run_time_s == LONG_S
    np.testing.assert_array_equal(np.sort(jobs.job_id[long]), alone.job_id)
    np.testing.assert_array_equal(jobs.n_nodes[long], alone.n_nodes)
    found = queue(jobs, policy)
    if policy != "ta":  # TA may find no place among those before, and begin later
        [at] = snapshot_times(found, 1)
        assert sorted(found.running_at(float(at))) == np.flatnonzero(long).tolist()


def test_an_aged_machine_scatters_first_fit() -> None:
    """On an empty machine the lowest free nodes of a job are one row; among others they are not."""

    def holes(jobs: Workload) -> int:
        kept = queue(jobs, "baseline").placements
        assert kept is not None
        rows = [kept.placement(int(i), 0).nodes for i in np.flatnonzero(jobs.run_time_s == LONG_S)]
        return sum(int(np.ptp(nodes)) + 1 > len(nodes) for nodes in rows)

    assert holes(packed(0)) == 0
    assert holes(packed(3)) >= 3
