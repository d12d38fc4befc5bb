"""No two running jobs of an isolating policy share a link: at every start of whole runs."""

from __future__ import annotations

import numpy as np
import pytest
from selection import first_of_each

from alloc.isolation import usable_links
from alloc.registry import make_policy
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue
from workloads.registry import LOGS, read_known_log
from workloads.synthetic import laas_workload
from workloads.transform import all_at_zero, drop_larger

ISOLATING = ("ta", "laas", "jigsaw", "lc", "laas-coded")


def first_meeting(topology, result):
    """The first pair of jobs that run at once and could both use a link; None if there is none.

    Follows the events in order with one owner a link, so each start is checked against all
    jobs that run then.
    """
    owner = np.full(topology.n_links, -1, dtype=np.int64)
    node_owner = np.full(topology.n_nodes, -1, dtype=np.int64)
    links = {}
    checked = 0
    for job, starts in zip(result.event_job.tolist(), result.event_is_start.tolist(), strict=True):
        placement = result.placements.placement(job, job)
        if starts:
            mine = links[job] = usable_links(topology, placement)
            for owners, used in ((owner, mine), (node_owner, placement.nodes)):
                if np.any(owners[used] >= 0):
                    return int(owners[used].max()), job
                owners[used] = job
            checked += 1
        else:
            owner[links.pop(job)] = -1
            node_owner[placement.nodes] = -1
    assert checked == len(result)
    return None


def run(topology, name, workload, **choices):
    policy = make_policy(topology, name, np.random.default_rng(0))
    return simulate_queue(
        workload, policy, rng=np.random.default_rng(0), keep_placements=True, **choices
    )


def small_stream(n_jobs):
    return drop_larger(laas_workload(n_jobs, 9.0, np.random.default_rng(4)), 54)


CASES = [(name, how) for name in ISOLATING for how in ("easy", "easy-retest", "conservative")]


@pytest.mark.parametrize(("name", "backfill"), first_of_each(CASES, lambda c: c[0], lambda c: c[1]))
def test_sample(name, backfill):
    """300 jobs on 54 nodes, many of them over pods: a sample for every day."""
    topology = fat_tree(6)
    result = run(topology, name, small_stream(300), backfill=backfill)
    assert first_meeting(topology, result) is None


@pytest.mark.parametrize("name", ["baseline", "slurm-tree"])
def test_the_check_sees_policies_that_do_not_isolate(name):
    topology = fat_tree(6)
    result = run(topology, name, small_stream(100))
    assert first_meeting(topology, result) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ISOLATING[:3])
@pytest.mark.parametrize("mean", [16, 22, 28])
def test_whole_synthetic_runs(mean, name):
    topology = fat_tree(mean)
    workload = laas_workload(10_000, float(mean), np.random.default_rng(1))
    assert first_meeting(topology, run(topology, name, workload)) is None


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", ISOLATING[:3])
@pytest.mark.parametrize("log", ["thunder", "atlas"])
def test_whole_logs(shared_dir, log, name):
    topology = fat_tree(18)
    workload = read_known_log(log, shared_dir / "traces" / LOGS[log].file_name)
    assert first_meeting(topology, run(topology, name, all_at_zero(workload))) is None
