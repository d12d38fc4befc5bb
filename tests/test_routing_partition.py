"""Routing inside partitions: own links only, any permutation at one flow a link, and why."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from fattree_conditions import violated_conditions
from hypothesis import given
from hypothesis import strategies as st
from partition_permutation import perfect_matchings, route_permutation
from selection import examples, first_only
from test_routing_kernels import walk_and_compare

from alloc.policy import Placement, Request
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


def check_paths(topology, job, targets, paths):
    """Each path joins its ends, by links of the job; no link twice."""
    own, n = set(job.links.tolist()), topology.n_nodes
    for src, dst, path in zip(job.nodes, targets, paths, strict=True):
        at = topology.link_dst[src]
        for link in path:
            assert link in own
            assert topology.link_src[link] == at
            at = topology.link_dst[link]
        assert at == n + topology.node_router[dst]
    assert max(Counter(link for path in paths for link in path).values(), default=0) <= 1


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("tree", first_only(range(len(TREES))))
@examples(12)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_permutation_in_any_partition_at_one_flow_a_link(tree, name, seed):
    topology, rng = TREES[tree], np.random.default_rng(seed)
    for job in busy_machine(topology, name, seed):
        assert violated_conditions(topology, job) == []
        targets = rng.permutation(job.nodes)
        paths = route_permutation(topology, job.nodes, job.links, targets)
        check_paths(topology, job, targets, paths)


def test_worst_permutations_of_a_whole_machine():
    """All 1024 nodes: shifts, the reversal and all across pods, every up-link used at most once."""
    topology = fat_tree(16)
    job = make_policy(topology, "jigsaw", np.random.default_rng(0)).allocate(Request(1, 1024))
    for targets in (np.roll(job.nodes, 64), job.nodes[::-1].copy(), np.roll(job.nodes, 1)):
        paths = route_permutation(topology, job.nodes, job.links, targets)
        check_paths(topology, job, targets, paths)
        # A shift by a whole pod sends every node over a spine: 4 links a flow.
        if targets[0] == job.nodes[-64]:
            assert sum(map(len, paths)) == 4 * 1024


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


def test_shifts_of_a_whole_machine_use_each_link_once():
    """The property for which D-mod-k was made (Zahavi 2010); the partition is the machine."""
    topology = fat_tree(8)
    job = make_policy(topology, "jigsaw", np.random.default_rng(0)).allocate(Request(1, 128))
    routing = partition_routing(topology, [(job.nodes, job.links)])
    for shift in (1, 5, 16, 77):
        src = np.arange(128)
        paths = flow_paths(routing, src, (src + shift) % 128)
        assert np.bincount(paths.links, minlength=topology.n_links).max() == 1


def flows_on_the_worst_link(mean, seeds):
    """How many flows there are on a flow's most loaded link: counts of 1, 2, 3, ...

    Over the flows between leaves of random permutations, in Jigsaw's partitions on a nearly
    full tree of radix 18, jobs of ``mean`` nodes on average.
    """
    topology, cases = fat_tree(18), Counter()
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        policy, running = make_policy(topology, "jigsaw", rng), []
        for job_id in range(300):
            if policy.n_free < 0.15 * topology.n_nodes:
                policy.release(running.pop(rng.integers(len(running))))
            job = policy.allocate(Request(job_id, 1 + int(rng.exponential(mean))))
            if job is not None:
                running.append(job)
        jobs = [job for job in running if len(job.links)]
        routing = partition_routing(topology, [(job.nodes, job.links) for job in jobs])
        for job in jobs:
            targets = rng.permutation(job.nodes)
            own_routes = route_permutation(topology, job.nodes, job.links, targets)
            check_paths(topology, job, targets, own_routes)
            apart = job.nodes // 9 != targets // 9
            paths = flow_paths(routing, job.nodes[apart], targets[apart])
            load = np.bincount(paths.links, minlength=topology.n_links)
            cases.update(
                int(load[paths.links[start:stop]].max())
                for start, stop in zip(paths.ptr[:-1], paths.ptr[1:], strict=True)
            )
    return cases


@pytest.mark.parametrize(("mean", "two", "more"), [(60, 0.38, 0.11), (400, 0.42, 0.17)])
def test_random_permutations_meet_under_static_routing(mean, two, more):
    """Rearrangeable is not free of contention: the docs' shares of flows that meet others.

    The same permutations with routes of their own have one flow a link (`check_paths`).
    """
    cases = flows_on_the_worst_link(mean, seeds=3)
    assert cases.total() > 2500
    assert cases[2] / cases.total() == pytest.approx(two, abs=0.01)
    assert 1 - (cases[1] + cases[2]) / cases.total() == pytest.approx(more, abs=0.01)


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
@pytest.mark.parametrize("seed", first_only([1, 2, 3]))
def test_packets_of_isolated_jobs_never_meet(seed, rule):
    """All-to-all of every job at once and of each alone: the same times, to the picosecond."""
    topology = xgft(3, 3, 4)
    jobs = busy_machine(topology, "jigsaw", seed)
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
    tree, s = xgft(4, 4, 2), xgft(4, 4, 2).shape
    with pytest.raises(NetcosimError, match="no fattree"):
        partition_routing(dragonfly(2, 4, 9), [])
    with pytest.raises(NetcosimError, match="node 3 is in two"):
        partition_routing(tree, [([1, 3], []), ([3], [])])
    with pytest.raises(NetcosimError, match="no permutation"):
        route_permutation(tree, [0, 1], [], [0, 0])
    with pytest.raises(NetcosimError, match="not between switches"):
        route_permutation(tree, [0, 1], [0], [1, 0])
    # Two leaves joined to different L2 switches: condition 4.
    links = [s.leaf_up(0, 0), s.leaf_up(1, 1)]
    with pytest.raises(NetcosimError, match="no link to"):
        route_permutation(tree, [0, 4], links, [4, 0])


def test_a_remainder_with_too_few_links_is_named():
    """Leaf 1 has two nodes and one up-link; both send to leaf 0."""
    topology = xgft(3, 2, 1)
    s = topology.shape
    cables = [(0, 0), (0, 1), (0, 2), (1, 0)]
    links = [end(leaf, i) for leaf, i in cables for end in (s.leaf_up, s.leaf_down)]
    with pytest.raises(NetcosimError, match="the remainder sends 2 flows on 1 links"):
        route_permutation(topology, [0, 1, 2, 3, 4], links, [3, 4, 2, 0, 1])


def test_the_remainder_leaf_stands_last_in_its_pod_and_its_links_first():
    """Leaf 0 has one node and the L2 position 1; leaves 1 and 2 have two nodes and both."""
    topology = xgft(2, 3, 1)
    s = topology.shape
    links = [s.leaf_up(leaf, i) for leaf, i in ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1))]
    shape = partition_shape(topology, [0, 2, 3, 4, 5], links)
    assert (shape.rest_leaf, shape.rest_pod) == (0, -1)
    assert shape.pods == {0: [1, 2, 0]}
    assert shape.up == {0: [1], 1: [1, 0], 2: [1, 0]}


@given(st.integers(1, 7), st.integers(1, 5), st.integers(0, 2**32 - 1))
@examples(60)
def test_matchings_cover_a_regular_multigraph(n, degree, seed):
    rng = np.random.default_rng(seed)
    src = np.repeat(np.arange(n), degree)
    dst = rng.permutation(src)
    colour = perfect_matchings(src, dst, n, degree)
    for c in range(degree):
        assert sorted(src[colour == c]) == sorted(dst[colour == c]) == list(range(n))


def routable(topology, nodes, links, targets):
    """Exhaustive: whether some choice of up-down paths uses no link of the partition twice."""
    s, own = topology.shape, set(links)
    flows = []
    for a, b in zip(nodes, targets, strict=True):
        x, y = s.leaf_of(a), s.leaf_of(b)
        if x == y:
            continue
        ways = []
        for i in range(s.w2):
            base = (s.leaf_up(x, i), s.leaf_down(y, i))
            if x // s.m2 == y // s.m2:
                ways.append(base)
            else:
                over = [(s.l2_up(x // s.m2, i, j), s.l2_down(y // s.m2, i, j)) for j in range(s.w3)]
                ways += [base + pair for pair in over]
        flows.append([way for way in ways if own.issuperset(way)])
    flows.sort(key=len)

    def place(k, used):
        if k == len(flows):
            return True
        return any(place(k + 1, used | set(way)) for way in flows[k] if used.isdisjoint(way))

    return place(0, frozenset())


def every_permutation_routable(topology, nodes, links):
    return all(routable(topology, nodes, links, t) for t in permutations(nodes))


def balanced(topology, nodes, rng, alike):
    """Random links with as many up as down at each leaf and L2 switch, as the proofs assume.

    ``alike``: lowest positions and spines first, which keeps the conditions more often.
    """
    s = topology.shape
    leaves = Counter(int(s.leaf_of(v)) for v in nodes)
    pods = {leaf // s.m2 for leaf in leaves}
    links, below = [], Counter()

    def pick(most, count):
        return range(count) if alike else rng.choice(most, count, replace=False).tolist()

    if len(leaves) > 1:
        for leaf, count in leaves.items():
            for i in pick(s.w2, count):
                links += [s.leaf_up(leaf, i), s.leaf_down(leaf, i)]
                below[leaf // s.m2, i] += 1
    if len(pods) > 1:
        for (pod, i), count in below.items():
            for j in pick(s.w3, count):
                links += [s.l2_up(pod, i, j), s.l2_down(pod, i, j)]
    return [int(link) for link in links]


def gap_in_lemma_3(topology, job, wrong):
    """Condition 3 broken with only two pods, one of them larger.

    The proof of lemma 3 compares the pod that has the remainder leaf with *another* pod of
    the same size; with one such pod there is none, and the condition is not necessary.
    """
    pods = Counter((job.nodes // (topology.shape.m1 * topology.shape.m2)).tolist())
    return any(text.startswith("3") for text in wrong) and (
        list(pods.values()).count(max(pods.values())) == 1
    )


def test_condition_3_is_not_necessary_with_one_full_pod():
    """2 nodes on one leaf of pod 0; 1 + 2 on the leaves of pod 2: every permutation fits."""
    topology = xgft(2, 2, 3)
    links = balanced(topology, [0, 1, 8, 10, 11], np.random.default_rng(0), True)
    job = Placement(1, np.array([0, 1, 8, 10, 11], dtype=np.int32), np.array(links, dtype=np.int32))
    wrong = violated_conditions(topology, job)
    assert [text.split(":")[0] for text in wrong] == ["3"]
    assert gap_in_lemma_3(topology, job, wrong)
    assert every_permutation_routable(topology, job.nodes.tolist(), links)


@pytest.mark.parametrize("topology", [xgft(2, 2, 3), xgft(3, 3, 2), xgft(2, 3, 3)])
@pytest.mark.parametrize("alike", [True, False])
def test_conditions_hold_if_and_only_if_every_permutation_can_be_routed(topology, alike):
    """Both halves of the proof, by exhaustive search over permutations and over paths."""
    rng, seen = np.random.default_rng(7), Counter()
    for _ in range(150):
        size = int(rng.integers(2, 6))
        nodes = sorted(rng.choice(topology.n_nodes, size, replace=False).tolist())
        links = balanced(topology, nodes, rng, alike)
        job = Placement(1, np.array(nodes, dtype=np.int32), np.array(links, dtype=np.int32))
        wrong = violated_conditions(topology, job)
        if gap_in_lemma_3(topology, job, wrong):
            continue
        # With two equal pods the first two conditions leave the remainder leaf no other place.
        assert "3" not in {text.split(":")[0] for text in wrong}
        assert (wrong == []) == every_permutation_routable(topology, nodes, links), (nodes, wrong)
        seen.update({text.split(":")[0] for text in wrong} or {"none"})
    assert seen["none"] >= 5
    assert sum(seen.values()) - seen["none"] >= 30


# On 2 nodes a leaf, 2 leaves a pod, 3 pods (nodes 0-3, 4-7, 8-11): one case a condition (3 alone
# is broken in `test_condition_3_is_not_necessary_with_one_full_pod` only). Cables
# as leaf: positions, (pod, position): spines.
BROKEN = {
    "1": (
        [0, 1, 4, 8],
        {0: [0, 1], 2: [0], 4: [0]},
        {(0, 0): [0], (0, 1): [0], (1, 0): [0], (2, 0): [0]},
    ),
    "2": (
        [0, 1, 2, 4, 5, 6],
        {0: [0, 1], 1: [0], 2: [0, 1], 3: [0]},
        {(0, 0): [0, 1], (0, 1): [0], (1, 0): [0, 1], (1, 1): [0]},
    ),
    "4": ([0, 2], {0: [0], 1: [1]}, {}),
    "5": ([0, 4], {0: [0], 2: [1]}, {(0, 0): [0], (1, 1): [0]}),
    "6": ([0, 4], {0: [0], 2: [0]}, {(0, 0): [0], (1, 0): [1]}),
}


@pytest.mark.parametrize("condition", BROKEN)
def test_each_broken_condition_has_a_permutation_that_cannot_be_routed(condition):
    topology = xgft(2, 2, 3)
    s = topology.shape
    nodes, up, spines = BROKEN[condition]
    links = [
        f(leaf, i) for leaf, found in up.items() for i in found for f in (s.leaf_up, s.leaf_down)
    ]
    links += [
        f(pod, i, j)
        for (pod, i), found in spines.items()
        for j in found
        for f in (s.l2_up, s.l2_down)
    ]
    job = Placement(1, np.array(nodes, dtype=np.int32), np.array(links, dtype=np.int32))
    assert condition in {text.split(":")[0] for text in violated_conditions(topology, job)}
    assert not every_permutation_routable(topology, nodes, links)
