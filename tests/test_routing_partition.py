"""Routing inside partitions: own links only, any permutation at one flow a link, and why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples, first_only
from test_routing_kernels import walk_and_compare

from alloc.policy import Request
from alloc.registry import make_policy
from experiments.validation.reference.packets import simulate_reference
from netsim.errors import NetcosimError
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.deadlock import find_cycle
from netsim.routing.partition import partition_routing
from netsim.routing.partition_shape import partition_shape
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree, xgft
from netsim.traffic import combine
from patterns.registry import make_pattern

TREES = [xgft(4, 4, 4), xgft(3, 4, 5), xgft(4, 3, 4, 4, 5), fat_tree(8), xgft(6, 5, levels=2)]
POLICIES = ("jigsaw", "laas", "lc")
RULES = ("d-mod-k", "adaptive", "two-choice", "random-up")


def busy_machine(topology, name, seed):
    """A policy with jobs on it that came and went."""
    rng = np.random.default_rng(seed)
    policy = make_policy(topology, name, rng)
    running = []
    mean = topology.n_nodes * rng.choice([0.06, 0.15, 0.4])
    for job_id in range(60):
        if running and rng.random() < 0.4:
            policy.release(running.pop(rng.integers(len(running))))
            continue
        n_nodes = min(topology.n_nodes, 1 + int(rng.exponential(mean)))
        job = policy.allocate(Request(job_id, n_nodes))
        if job is not None:
            running.append(job)
    return running


@pytest.mark.parametrize("name", [*POLICIES, "laas-coded"])
@pytest.mark.parametrize("tree", first_only(range(len(TREES))))
@examples(8)
@given(seed=st.integers(0, 2**32 - 1))
def test_d_mod_k_stays_in_the_partition_in_kernel_and_reference(tree, name, seed):
    topology = TREES[tree]
    jobs = busy_machine(topology, name, seed)
    routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs])
    for job in jobs:
        src, dst = (ends.ravel() for ends in np.meshgrid(job.nodes, job.nodes))
        src, dst = src[src != dst], dst[src != dst]
        if not len(src):
            continue
        paths = flow_paths(routing, src, dst)
        own = set(job.links.tolist())
        for i in range(len(src)):
            links = paths.links[paths.ptr[i] : paths.ptr[i + 1]].tolist()
            middle = [link for link in links if link >= 2 * topology.n_nodes]
            assert set(middle) <= own
            router, walked = int(topology.node_router[src[i]]), []
            while True:
                [hop] = routing.choices(router, int(dst[i]), 0)
                if hop.link == topology.n_nodes + dst[i]:
                    break
                walked.append(hop.link)
                router = int(topology.link_dst[hop.link]) - topology.n_nodes
            assert walked == middle


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [*POLICIES, "lc-s"])
@pytest.mark.parametrize("tree", first_only(range(len(TREES))))
@examples(4)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_choice_stays_in_the_partition_and_none_is_a_dead_end(tree, name, rule, seed):
    """From every node of a job to every other, along all that the routing could ever do."""
    topology = TREES[tree]
    jobs = busy_machine(topology, name, seed)
    routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs], rule)
    first_switch = topology.n_ports
    for job in jobs:
        own = set(job.links.tolist())
        starts = {int(topology.node_router[v]) for v in job.nodes}
        for dst in job.nodes.tolist():
            todo, seen = [*starts], {*starts}
            while todo:
                hops = routing.choices(todo.pop(), dst, 0)
                assert hops
                for hop in hops:
                    if hop.link == topology.n_nodes + dst:
                        continue
                    assert hop.link in own
                    there = int(topology.link_dst[hop.link]) - first_switch
                    if there not in seen:
                        seen.add(there)
                        todo.append(there)


@pytest.mark.parametrize("rule", RULES)
@examples(10)
@given(seed=st.integers(0, 2**32 - 1), tree=st.integers(0, len(TREES) - 1))
def test_kernel_takes_the_hop_of_the_reference_in_partitions(rule, seed, tree):
    """Between any nodes, of one partition or not, whatever the loads."""
    topology = TREES[tree]
    jobs = busy_machine(topology, "jigsaw", seed)
    routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs], rule)
    walk_and_compare(routing, np.random.default_rng(seed), 30)


@pytest.mark.parametrize("rule", ["adaptive", "two-choice", "random-up"])
def test_a_position_without_a_common_spine_is_closed(rule):
    """Leaf 0 and leaf 2, in two pods, have both L2 positions; only position 1 has the same spine
    in either pod. A packet sent up to position 0 would have to leave the partition."""
    topology = xgft(2, 2, 2)
    s = topology.shape
    links = [s.leaf_up(leaf, i) for leaf in (0, 2) for i in (0, 1)]
    links += [s.l2_up(0, 0, 0), s.l2_up(1, 0, 1), s.l2_up(0, 1, 1), s.l2_up(1, 1, 1)]
    routing = partition_routing(topology, [([0, 4], links)], rule)
    assert [hop.link for hop in routing.choices(0, 4, 0)] == [s.leaf_up(0, 1)]
    assert [hop.link for hop in routing.choices(s.n_leaves + 1, 4, 0)] == [s.l2_up(0, 1, 1)]
    # from outside the partition everything is open
    assert [hop.link for hop in routing.choices(1, 4, 0)] == [s.leaf_up(1, i) for i in (0, 1)]
    walk_and_compare(routing, np.random.default_rng(0), 60)


@pytest.mark.parametrize("rule", ["adaptive", "two-choice", "random-up"])
@pytest.mark.parametrize("seed", first_only([1, 2, 3]))
def test_flows_spread_evenly_over_the_open_ports_of_a_partition(rule, seed):
    topology = xgft(4, 3, 4, 4, 5)
    s = topology.shape
    jobs = busy_machine(topology, "jigsaw", seed)
    routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs], rule)
    for job in jobs:
        src, dst = (ends.ravel() for ends in np.meshgrid(job.nodes, job.nodes))
        apart = s.leaf_of(src) != s.leaf_of(dst)
        if not apart.any():
            continue
        src, dst = src[apart], dst[apart]
        paths = flow_paths(routing, src, dst)
        for i in range(len(src)):
            entries = slice(paths.ptr[i], paths.ptr[i + 1])
            links, parts = paths.links[entries], paths.weights[entries]
            open_links = [hop.link for hop in routing.choices(s.leaf_of(src[i]), dst[i], 0)]
            first = {int(x): p for x, p in zip(links, parts, strict=True) if x in open_links}
            assert first == pytest.approx(dict.fromkeys(open_links, 1 / len(open_links)))
            assert set(links[links >= 2 * topology.n_nodes].tolist()) <= set(job.links.tolist())
            for ends in (topology.link_src, topology.link_dst):
                assert parts[ends[links] < topology.n_nodes].sum() == pytest.approx(1)


def test_plain_d_mod_k_leaves_the_partition_of_figure_5():
    """A partition on other L2 positions than D-mod-k's: only the mapped routing stays inside."""
    topology = xgft(4, 4, 2)
    s = topology.shape
    nodes = [0, 1, 4, 5]
    links = [f(leaf, p) for leaf in (0, 1) for p in (2, 3) for f in (s.leaf_up, s.leaf_down)]
    src, dst = np.array([0, 1]), np.array([4, 5])
    kept = flow_paths(partition_routing(topology, [(nodes, links)]), src, dst)
    plain = flow_paths(partition_routing(topology, []), src, dst)
    own = set(links) | set(range(2 * topology.n_nodes))
    assert set(kept.links.tolist()) <= own
    assert not set(plain.links.tolist()) <= own


@pytest.mark.parametrize("rule", RULES)
def test_packets_of_isolated_jobs_never_meet(rule):
    """All-to-all of every job at once and of each alone: the same times, to the picosecond."""
    topology = xgft(3, 3, 4)
    jobs = busy_machine(topology, "jigsaw", 1)
    routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs], rule)
    programs = [
        make_pattern("all-to-all", len(job.nodes), 5000, 1, np.random.default_rng(0), {})
        for job in jobs
    ]

    def finish(engine, chosen):
        nodes, keys = [jobs[i].nodes for i in chosen], [10**6 * i for i in chosen]
        traffic = combine([programs[i] for i in chosen], nodes, group_key=keys)
        result = engine(routing, traffic, PacketConfig(), np.random.default_rng(0))
        return result.group_finish_ps.tolist()

    together = finish(simulate_packets, range(len(jobs)))
    assert together == [finish(simulate_packets, [i])[0] for i in range(len(jobs))]
    assert together == finish(simulate_reference, range(len(jobs)))


@pytest.mark.parametrize("rule", RULES)
def test_partition_routing_is_free_of_deadlock(rule):
    topology = xgft(3, 4, 5)
    jobs = busy_machine(topology, "jigsaw", 4)
    routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs], rule)
    assert not find_cycle(routing)


def test_wrong_partitions_are_refused():
    tree = xgft(4, 4, 2)
    with pytest.raises(NetcosimError, match="no fattree"):
        partition_routing(dragonfly(2, 4, 9), [])
    with pytest.raises(NetcosimError, match="node 3 is in two"):
        partition_routing(tree, [([1, 3], []), ([3], [])])
    with pytest.raises(NetcosimError, match="not between switches"):
        partition_routing(tree, [([0, 1], [0])])


def test_the_remainder_leaf_stands_last_in_its_pod_and_its_links_first():
    """Leaf 0 has one node and the L2 position 1; leaves 1 and 2 have two nodes and both."""
    topology = xgft(2, 3, 1)
    s = topology.shape
    links = [s.leaf_up(leaf, i) for leaf, i in ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1))]
    shape = partition_shape(topology, [0, 2, 3, 4, 5], links)
    assert (shape.rest_leaf, shape.rest_pod) == (0, -1)
    assert shape.pods == {0: [1, 2, 0]}
    assert shape.up == {0: [1], 1: [1, 0], 2: [1, 0]}
