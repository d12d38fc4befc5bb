"""Replayed placements, logged starts, and jobs that wait a while for few switches."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples, first_only

import netcosim as nc
from alloc.policy import Request
from alloc.registry import make_policy
from netcosim.config.load import config_from
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.spans import domains_spanned, least_domains
from queuesim.logged import logged_nodes, with_replay_notes
from queuesim.queue import simulate_queue
from workloads.details import NodeLists
from workloads.job import Workload, bare_jobs

TREE = nc.make_topology("fattree", {"radix": 4})
NAMED = replace(TREE, node_names=tuple(f"n{7 * i % 16:02}" for i in range(16)))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some_jobs(seed: int, n: int = 60) -> Workload:
    """About one job's time between arrivals: some wait, some do not."""
    jobs = nc.laas_workload(n, 4, rng(seed), run_time_range_s=(20.0, 300.0))
    arrive_s = np.cumsum(rng(seed).exponential(45.0, n))
    return replace(jobs, n_nodes=np.minimum(jobs.n_nodes, 16), submit_s=arrive_s)


def logged(seed: int, policy: str = "random") -> tuple[Workload, list[list[int]]]:
    """A workload as a log of a schedule tells it, on a machine whose nodes have names."""
    jobs = some_jobs(seed)
    done = simulate_queue(
        jobs, make_policy(NAMED, policy, rng(seed)), rng=rng(), keep_placements=True
    )
    places = [done.placements.placement(i, i).nodes.tolist() for i in range(len(jobs))]
    lists = NodeLists.of([[NAMED.node_names[v] for v in nodes] for nodes in places])
    details = replace(jobs.details, node_list=lists)
    return replace(jobs, wait_s=done.start_s - jobs.submit_s, details=details), places


def replayed(jobs: Workload, backfill: str, **parameters: object):
    policy = make_policy(NAMED, "replay", rng(), parameters)
    return simulate_queue(jobs, policy, backfill=backfill, rng=rng(), keep_placements=True)


@pytest.mark.parametrize("seed", first_only(range(5)))
def test_the_logs_own_schedule_comes_out_again(seed):
    jobs, places = logged(seed)
    again = replayed(jobs, "as-logged")
    np.testing.assert_allclose(again.start_s, jobs.submit_s + jobs.wait_s, rtol=0, atol=1e-9)
    assert np.any(jobs.wait_s > 0)
    for i, nodes in enumerate(places):
        assert again.placements.placement(i, i).nodes.tolist() == nodes


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-retest", "conservative", "as-logged"])
def test_under_any_queue_jobs_get_the_logs_nodes_and_share_none(backfill):
    jobs, places = logged(7)
    if backfill == "as-logged":
        # the log's waits are of another machine: all jobs want to start as they come
        jobs = replace(jobs, wait_s=np.zeros(len(jobs)))
    again = replayed(jobs, backfill)
    taken: list[list[tuple[float, float]]] = [[] for _ in range(16)]
    for i, nodes in enumerate(places):
        assert again.placements.placement(i, i).nodes.tolist() == nodes
        for v in nodes:
            taken[v].append((again.start_s[i], again.end_s[i]))
    for spans in taken:
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert np.all(again.start_s >= jobs.submit_s)


def test_a_job_late_on_its_nodes_starts_as_soon_as_they_are_free():
    jobs = bare_jobs(
        "two",
        submit_s=np.array([0.0, 5.0, 6.0]),
        run_time_s=np.array([100.0, 10.0, 10.0]),
        n_nodes=np.array([2, 2, 1]),
        requested_s=np.array([100.0, 10.0, 10.0]),
    )
    lists = NodeLists.of([["n00", "n07"], ["n07", "n14"], ["n14"]])
    details = replace(jobs.details, node_list=lists)
    jobs = replace(jobs, details=details, wait_s=np.array([0.0, 5.0, np.nan]))
    again = replayed(jobs, "as-logged")
    # the second wants node 1 at 10 s and gets it at 100 s; the third has no wait: at its submission
    assert again.start_s.tolist() == [0.0, 100.0, 6.0]
    strict = replayed(jobs, "none")
    assert strict.start_s.tolist() == [0.0, 100.0, 110.0]


def without_some_lists(jobs: Workload) -> Workload:
    """Job 0 has no list, job 1 one that is too short."""
    lists = jobs.details.node_list
    rows = [[lists.names[k] for k in lists[i]] for i in range(len(jobs))]
    long = next(i for i in range(1, len(rows)) if len(rows[i]) > 1)
    rows[0], rows[long] = [], rows[long][1:]
    return replace(jobs, details=replace(jobs.details, node_list=NodeLists.of(rows)))


def test_jobs_without_a_usable_list_go_by_rule_and_are_counted():
    jobs = without_some_lists(logged(3)[0])
    found = logged_nodes(jobs, NAMED)
    assert int((~found.known).sum()) == 2
    assert int(found.odd.sum()) == 1
    told = with_replay_notes(jobs, NAMED).notes
    assert f"replay: 1 of {len(jobs)} jobs have no node list in the log" in told[-2]
    assert "differs from the nodes they requested" in told[-1]
    by_tree = replayed(jobs, "easy")
    assert len(by_tree.placements.placement(0, 0).nodes) == jobs.n_nodes[0]
    first = replayed(jobs, "easy", unlisted="first-free")
    assert first.placements.placement(0, 0).nodes.tolist() == list(range(jobs.n_nodes[0]))
    with pytest.raises(NetcosimError, match=r"replay: job \d+ has no usable node list"):
        replayed(jobs, "easy", unlisted="refuse")


def test_what_cannot_be_replayed_is_told():
    bare = some_jobs(1)
    with pytest.raises(NetcosimError, match="needs the nodes that jobs ran on"):
        replayed(bare, "easy")
    jobs, _ = logged(1)
    other = replace(NAMED, node_names=tuple(f"m{i}" for i in range(16)))
    with pytest.raises(NetcosimError, match="no node 'n"):
        simulate_queue(jobs, make_policy(other, "replay", rng()), rng=rng())
    with pytest.raises(NetcosimError, match="needs the log's waits"):
        replayed(replace(jobs, wait_s=np.full(len(jobs), np.nan)), "as-logged")


# --switches=count@max-wait


def fcfs_with_patience(jobs: Workload, topology, switches: int, max_wait_s: float) -> list[float]:
    """Strict order, event by event, asking the policy about the head each time."""
    policy = make_policy(
        topology, "slurm-tree", rng(), {"switches": switches, "max_wait_s": max_wait_s}
    )
    times = [*jobs.submit_s.tolist(), *(jobs.submit_s + max_wait_s).tolist()]
    heapq.heapify(times)
    ends: list[tuple[float, int]] = []
    where = {}
    start = [np.nan] * len(jobs)
    head = 0
    while head < len(jobs):
        now = heapq.heappop(times)
        while ends and ends[0][0] <= now:
            policy.release(where.pop(heapq.heappop(ends)[1]))
        while head < len(jobs) and jobs.submit_s[head] <= now:
            patience = now >= jobs.submit_s[head] + max_wait_s
            waited = max_wait_s if patience else 0.0
            request = Request(head, int(jobs.n_nodes[head]), wait_s=waited)
            placement = policy.allocate(request)
            if placement is None:
                break
            where[head] = placement
            start[head] = now
            heapq.heappush(ends, (now + jobs.run_time_s[head], head))
            heapq.heappush(times, now + jobs.run_time_s[head])
            head += 1
    return start


@examples(15)
@given(seed=st.integers(0, 99), switches=st.integers(1, 2), wait=st.sampled_from([0.0, 40.0, 1e6]))
def test_patience_in_strict_order_is_what_a_plain_simulation_finds(seed, switches, wait):
    jobs = some_jobs(seed, 40)
    policy = make_policy(TREE, "slurm-tree", rng(), {"switches": switches, "max_wait_s": wait})
    found = simulate_queue(jobs, policy, backfill="none", rng=rng())
    assert found.start_s.tolist() == pytest.approx(fcfs_with_patience(jobs, TREE, switches, wait))


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-retest", "conservative"])
@pytest.mark.parametrize("name", ["slurm-tree", "slurm-tree-coded"])
def test_who_got_more_switches_has_waited_and_promises_are_kept(backfill, name):
    h, patience, loose = hierarchy_of(TREE), 30.0, 0
    for seed in range(3):
        jobs = some_jobs(seed, 80)
        policy = make_policy(TREE, name, rng(), {"switches": 1, "max_wait_s": patience})
        found = simulate_queue(jobs, policy, backfill=backfill, rng=rng(), keep_placements=True)
        spanned = domains_spanned(h, found.placements.nodes, found.placements.node_ptr)[-1]
        least = least_domains(h, jobs.n_nodes)[-1]
        waited = found.start_s - jobs.submit_s
        assert np.all((spanned <= least) | (waited >= patience - 1e-9))
        loose += int(np.sum(spanned > least))
        if backfill == "easy":
            promised = np.isfinite(found.promised_s)
            assert np.all(found.start_s[promised] <= found.promised_s[promised] + 1e-9)
    assert loose > 0


def test_a_job_alone_with_its_patience_starts_when_it_ends():
    """One long job leaves one node a leaf; the next wants two on one leaf, for 100 s at most."""
    jobs = bare_jobs(
        "patient",
        submit_s=np.array([0.0, 10.0, 20.0]),
        run_time_s=np.array([1000.0, 5.0, 5.0]),
        n_nodes=np.array([15, 1, 1]),
        requested_s=np.array([1000.0, 5.0, 5.0]),
    )
    spread = replace(jobs, n_nodes=np.array([8, 2, 1], dtype=np.int32))
    every_other = NodeLists.of([[str(v) for v in range(0, 16, 2)], [], []])
    spread = replace(spread, details=replace(jobs.details, node_list=every_other))

    class FirstSpread(type(make_policy(TREE, "slurm-tree", rng()))):  # type: ignore[misc]
        def _choose(self, request):
            if request.n_nodes == 8:
                return np.arange(0, 16, 2)
            return super()._choose(request)

    for backfill in ("none", "easy", "easy-retest", "conservative"):
        policy = FirstSpread.from_config(TREE, rng(), {"switches": 1, "max_wait_s": 100.0})
        found = simulate_queue(spread, policy, backfill=backfill, rng=rng())
        assert found.start_s[1] == 110.0, backfill
        # the third needs no second switch: behind the head it may start at once
        assert found.start_s[2] == (110.0 if backfill == "none" else 20.0)
        if backfill == "easy":
            assert found.promised_s[1] == 110.0


# In a config


MINE = {
    "machine": {"family": "fattree", "radix": 4},
    "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    "queue": {"policies": ["baseline", "slurm-tree"], "run_time_model": "as-logged"},
    "run": {"snapshots": 0},
}


def test_a_table_of_a_policy_reaches_it_and_counts_in_the_key_alone():
    from netcosim.runs.points import point_key
    from netcosim.runs.schedules import queues_of

    bare = config_from(MINE)
    said = config_from({**MINE, "policies": {"slurm-tree": {"switches": 1, "max_wait": "1 h"}}})
    assert said.policies.of("slurm-tree") == {"switches": 1, "max_wait_s": 3600.0}
    assert said.policies.of("baseline") == {}
    assert "policies" not in bare.resolved()
    empty = config_from({**MINE, "policies": {"slurm-tree": {}}})
    assert point_key(empty.resolved()) == point_key(bare.resolved())
    assert point_key(said.resolved()) != point_key(bare.resolved())
    again = config_from(said.resolved())
    assert again.resolved() == said.resolved()
    plain, patient = queues_of(bare, TREE), queues_of(said, TREE)
    # the same jobs, and the same draws of all policies
    assert plain.jobs.submit_s.tolist() == patient.jobs.submit_s.tolist()
    a, b = plain.under("slurm-tree"), patient.under("slurm-tree")
    assert a.start_s.tolist() != b.start_s.tolist()
    with pytest.raises(
        NetcosimError, match=r"policies\.slurm-block\.block_sizes: \[2\]; nothing r"
    ):
        config_from({**MINE, "policies": {"slurm-block": {"block_sizes": [2]}}})


def test_a_policys_table_can_be_swept():
    from netcosim.config.load import points_of

    swept = {"policies": {"slurm-tree": {"switches": [1, 2]}, "slurm-block": {"block_sizes": [2]}}}
    policies = ["baseline", "slurm-tree", "slurm-block"]
    points = points_of({**MINE, "queue": {**MINE["queue"], "policies": policies}, **swept})
    assert [p.policies.of("slurm-tree") for p in points] == [{"switches": 1}, {"switches": 2}]
    assert points[0].policies.of("slurm-block") == {"block_sizes": (2,)}
