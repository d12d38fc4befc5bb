"""Fat-tree policies: figures worked by hand, the six conditions, naive searches."""

from __future__ import annotations

import numpy as np
import pytest
from alloc_helpers import MACHINES, churn, shared_nodes, take
from alloc_reference import lc_exists
from fattree_conditions import violated_conditions
from numba import njit
from selection import first_only

from alloc.fattree.kernels_bits import have_in_common
from alloc.isolation import shared_links, usable_links
from alloc.policy import Placement, Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.fattree import fat_tree, xgft


def placement(job_id, nodes, links=()):
    return Placement(job_id, np.array(nodes, dtype=np.int32), np.array(links, dtype=np.int32))


def occupied(name, topology, nodes):
    """A policy on which single-node jobs sit on exactly these nodes."""
    policy = make_policy(topology, name, np.random.default_rng(0))
    everyone = [take(policy, v, 1) for v in range(topology.n_nodes)]
    for job in everyone:
        if int(job.nodes[0]) not in nodes:
            policy.release(job)
    return policy


# Pollard et al.: k = 3 nodes a leaf, 3 leaves a pod (radix 6), 2 pods.
POLLARD = xgft(3, 3, 2)


def test_pollard_figure_3_types_may_share_as_the_text_says():
    """Red T1 and blue T3 share a leaf; brown T2 and blue T3 share pod 1 on other leaves."""
    red, brown = placement(1, [0]), placement(2, [12, 13, 14, 15])
    blue = placement(3, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert shared_links(POLLARD, [red, brown, blue]) == []


def test_pollard_figure_4_one_swap_makes_jobs_meet():
    """Swap a node of the T1 with one of the T2: both now use leaf up-links of others."""
    red, brown = placement(1, [0, 12]), placement(2, [1, 13, 14, 15])
    blue = placement(3, [2, 3, 4, 5, 6, 7, 8, 9, 10])
    pairs = {(x.job_a, x.job_b) for x in shared_links(POLLARD, [red, brown, blue])}
    assert {(1, 2), (1, 3)} <= pairs


def test_shared_nodes_names_each_node_of_two_jobs_or_more():
    jobs = [placement(1, [0, 1, 2]), placement(2, [2, 3]), placement(3, [1, 2, 7])]
    assert shared_nodes(jobs) == [1, 2]


def test_ta_by_hand():
    policy = make_policy(POLLARD, "ta", np.random.default_rng(0))
    assert take(policy, 1, 2).nodes.tolist() == [0, 1]
    assert take(policy, 2, 1).nodes.tolist() == [2]  # fullest leaf of the fullest pod
    assert take(policy, 3, 1).nodes.tolist() == [3]  # leaf 0 is full, leaf 1 comes next
    # T2: pod 0 is fullest; in it leaf 2 (3 free) before leaf 1 (2 free).
    assert take(policy, 4, 4).nodes.tolist() == [6, 7, 8, 4]
    assert policy.allocate(Request(5, 10)) is None  # T3 of 10: 9 usable in pod 1 and none in 0
    assert take(policy, 6, 1).nodes.tolist() == [5]  # T1 may share a leaf with the T2


def test_ta_t3_prefers_emptiest_pods_and_fullest_leaves_last():
    topology = xgft(2, 2, 4)
    policy = make_policy(topology, "ta", np.random.default_rng(0))
    assert take(policy, 1, 1).nodes.tolist() == [0]
    # Pods 1, 2, 3 are empty (4 each); 5 nodes come from pods 1 and 2.
    assert take(policy, 2, 5).nodes.tolist() == [4, 5, 6, 7, 8]
    # Pod 3 (4 free) and pod 0 (3 free); no pod with a T3. In pod 0 leaf 1 (2 free) first.
    third = take(policy, 3, 6)
    assert third.nodes.tolist() == [12, 13, 14, 15, 2, 3]
    # T2 of 3: leaf 5 (nodes 10, 11) is free, leaf 4 has the T3: 2 nodes are not enough.
    assert policy.allocate(Request(4, 3)) is None
    assert take(policy, 5, 2).nodes.tolist() == [10, 11]


def test_ta_line_7_of_a_job_that_fits_only_scattered():
    """Jigsaw paper, Fig. 2 right: enough nodes, but a T1 job must sit on one leaf."""
    ta = occupied("ta", POLLARD, {0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16})
    jig = occupied("jigsaw", POLLARD, {0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16})
    assert ta.allocate(Request(99, 3)) is None
    assert take(jig, 99, 3).nodes.tolist() == [2, 5, 8]


def test_ta_hold_reserves_marks():
    """A held T2 keeps later T2 jobs off its leaves though their nodes are free."""
    topology = xgft(4, 2, 2)
    policy = make_policy(topology, "ta", np.random.default_rng(0))
    policy.hold(placement(9, [0, 1, 2, 4, 5, 6]))  # leaves 0 and 1 of pod 0
    assert take(policy, 1, 1).nodes.tolist() == [3]
    assert take(policy, 2, 5).nodes.tolist() == [8, 9, 10, 11, 12]
    assert policy.allocate(Request(3, 5)) is None
    policy.unhold()
    assert take(policy, 4, 5).nodes.tolist() == [4, 5, 6, 7, 0]


def test_jigsaw_small_tree_by_hand():
    """11 = 2 pods of 4 (2 leaves of 2) and a remainder of 1 leaf of 2 and 1 node."""
    topology = xgft(2, 2, 4)
    s = topology.shape
    policy = make_policy(topology, "jigsaw", np.random.default_rng(0))
    job = take(policy, 1, 11)
    assert job.nodes.tolist() == list(range(11))
    cables = {s.leaf_up(leaf, i) for leaf in range(5) for i in (0, 1)} | {s.leaf_up(5, 0)}
    cables |= {s.l2_up(pod, i, j) for pod in (0, 1) for i in (0, 1) for j in (0, 1)}
    cables |= {s.l2_up(2, 0, 0), s.l2_up(2, 0, 1), s.l2_up(2, 1, 0)}
    down = {k + s.n_leaves * s.w2 for k in cables if k < s.first_down1}
    down |= {k + s.n_l2 * s.w3 for k in cables if k >= s.first_up2}
    assert set(job.links.tolist()) == cables | down
    assert violated_conditions(topology, job) == []


def test_laas_wastes_what_jigsaw_does_not():
    """Jigsaw paper, Fig. 2 left: over pods LaaS takes whole leaves."""
    topology = xgft(2, 2, 4)
    for name, size in (("laas", 6), ("jigsaw", 5)):
        job = take(make_policy(topology, name, np.random.default_rng(0)), 1, 5)
        assert len(job.nodes) == size
    # Two pods with one whole leaf each, three nodes left in all: LaaS may not place 3.
    taken = {0, 4, *range(8, 16)}
    assert occupied("laas", topology, taken).allocate(Request(99, 5)) is None


def test_laas_coded_holds_more_links_than_it_needs():
    """Two leaves have 2 of the positions 0 to 3 in common, and a job of 1 + 1 needs one of them.

    The program drops one position from the top: with 0 and 2 that is 3, which is not there.
    """
    topology = xgft(4, 2, levels=2)
    s = topology.shape

    def kept(name, common, nodes_a_leaf):
        policy = make_policy(topology, name, np.random.default_rng(0))
        everyone = [take(policy, v, 1) for v in range(8)]
        busy = [i for i in range(4) if i not in common]
        links = [way(0, i) for i in busy for way in (s.leaf_up, s.leaf_down)]
        for leaf in (0, 1):
            for job in everyone[4 * leaf : 4 * leaf + nodes_a_leaf]:
                policy.release(job)
        policy.hold(placement(99, [], links))
        job = take(policy, 100, 2 * nodes_a_leaf)
        found = sorted(job.links[job.links < s.leaf_up(1, 0)] - s.first_up1)
        assert np.unique(s.leaf_of(job.nodes)).tolist() == [0, 1]
        return [int(i) for i in found], violated_conditions(topology, job)

    assert kept("laas", {0, 1, 3}, 2) == ([0, 1], [])
    assert kept("laas-coded", {0, 1, 3}, 2) == ([0, 1], [])
    assert kept("laas-coded", {1, 3}, 1) == ([1], [])
    assert kept("laas", {0, 2}, 1) == ([0], [])
    positions, wrong = kept("laas-coded", {0, 2}, 1)
    assert positions == [0, 2]
    assert [text[0] for text in wrong] == ["4"]


def test_two_jobs_share_a_leaf_but_no_link():
    """3 nodes a leaf: a job on 2+2 and one on 1+1 of the same leaves use other L2s."""
    topology = xgft(3, 2, 2)
    policy = occupied("jigsaw", topology, set(range(6, 12)))
    a, b = take(policy, 100, 4), take(policy, 101, 2)
    assert a.nodes.tolist() == [0, 1, 2, 3]  # one leaf of 3 and a remainder of 1
    assert b.nodes.tolist() == [4, 5]
    assert len(a.links) == 4
    assert len(b.links) == 0
    assert shared_links(topology, [a, b]) == []


# Jigsaw paper, 3.2.2 and Fig. 3: N = T (L_T n_L) + (L_T^r n_L + n_L^r); here on 4 x 4 x 4
# with T = 2, L_T = 3, n_L = 2, L_T^r = 1, n_L^r = 1: N = 15, S = {1, 3}, S^r = {3}.
LEGAL = xgft(4, 4, 4)


def legal_parts():
    leaves = {0: 2, 1: 2, 3: 2, 4: 2, 5: 2, 6: 2, 9: 2, 11: 1}
    up = {leaf: {1, 3} for leaf in leaves} | {11: {3}}
    spines = {(p, i): {0, 1, 2} if i == 1 else {1, 2, 3} for p in (0, 1) for i in (1, 3)}
    spines |= {(2, 1): {0}, (2, 3): {1, 3}}
    return leaves, up, spines


def build(leaves, up, spines, topology=LEGAL):
    s = topology.shape
    nodes = [leaf * s.m1 + i for leaf, n in leaves.items() for i in range(n)]
    links = []
    for leaf, positions in up.items():
        for i in positions:
            links += [s.leaf_up(leaf, i), s.leaf_down(leaf, i)]
    for (pod, i), found in spines.items():
        for j in found:
            links += [s.l2_up(pod, i, j), s.l2_down(pod, i, j)]
    return placement(1, nodes, links)


def test_a_legal_partition_breaks_no_condition():
    assert violated_conditions(LEGAL, build(*legal_parts())) == []


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("1", lambda n, u, s: n.pop(0)),
        ("2", lambda n, u, s: n.update({9: 1})),
        ("3", lambda n, u, s: (n.clear(), n.update({0: 2, 1: 2, 3: 1, 4: 2, 5: 2}))),
        ("4", lambda n, u, s: u.update({1: {1, 2}})),
        ("4", lambda n, u, s: u.update({11: {2}})),
        ("4", lambda n, u, s: u.update({11: set()})),
        ("5", lambda n, u, s: u.update({4: {0, 1}, 5: {0, 1}, 6: {0, 1}})),
        ("6", lambda n, u, s: s.update({(1, 1): {0, 1, 3}})),
        ("6", lambda n, u, s: s.update({(2, 1): {3}})),
        ("6", lambda n, u, s: s.update({(2, 3): {1}})),
        ("6", lambda n, u, s: s.update({(0, 1): {0, 1}, (1, 1): {0, 1}})),
        ("6", lambda n, u, s: s.update({(0, 0): {0, 1, 2}, (1, 0): {0, 1, 2}})),
        ("links", lambda n, u, s: u.update({2: {1}})),
        ("links", lambda n, u, s: s.update({(3, 1): {0}})),
    ],
)
def test_each_condition_is_seen(what, change):
    parts = legal_parts()
    change(*parts)
    assert {text.split(":")[0] for text in violated_conditions(LEGAL, build(*parts))} >= {what}


def test_one_way_links_are_seen():
    job = build(*legal_parts())
    broken = placement(1, job.nodes, job.links[:-1])
    assert "other direction" in violated_conditions(LEGAL, broken)[0]


def test_usable_links_of_a_fat_tree_closed_form():
    topology = fat_tree(6)
    assert len(usable_links(topology, placement(1, [0, 1]))) == 0
    assert len(usable_links(topology, placement(1, [0, 3]))) == 2 * 2 * 3
    assert len(usable_links(topology, placement(1, [0, 3, 9]))) == 2 * 3 * 3 + 2 * 2 * 9


@pytest.mark.parametrize("name", ["jigsaw", "laas", "lc"])
def test_release_of_links_that_are_not_the_jobs_is_refused(name):
    """Nodes that are busy do not make up for a cable that is not, at either level."""
    topology = xgft(2, 2, 4)
    s = topology.shape
    policy = make_policy(topology, name, np.random.default_rng(0))
    job = take(policy, 1, 6)
    for free in (s.leaf_up(7, 0), s.l2_up(3, 1, 0)):
        assert free not in job.links
        with pytest.raises(NetcosimError, match="not busy"):
            policy.release(placement(1, job.nodes, [*job.links, free]))
    policy.release(job)
    assert policy.n_free == topology.n_nodes


def test_tapered_trees_and_other_families_are_refused():
    rng = np.random.default_rng(0)
    for name in ("jigsaw", "laas"):
        for uneven in (fat_tree(8, taper=0.5), xgft(3, 3, 4, 4, 3), xgft(3, 3, 4, 3, 2)):
            with pytest.raises(NetcosimError, match="full bandwidth"):
                make_policy(uneven, name, rng)
        with pytest.raises(NetcosimError, match="at most 62"):
            make_policy(xgft(63, 2, levels=2), name, rng)
        assert len(take(make_policy(xgft(62, 2, levels=2), name, rng), 1, 124).nodes) == 124
    with pytest.raises(NetcosimError, match="fattree"):
        violated_conditions(MACHINES["torus"], placement(1, [0]))


@pytest.mark.parametrize("topology", [xgft(2, 2, 3), xgft(3, 2, 4), xgft(4, 3, 3)])
@pytest.mark.parametrize("seed", first_only([1, 2]))
def test_lc_places_whatever_any_legal_placement_allows(topology, seed):
    policy = make_policy(topology, "lc", np.random.default_rng(0))
    for state, n_nodes, job in churn(topology, policy, seed, 150):
        assert (job is not None) == lc_exists(state, n_nodes)
        if job is not None:
            assert violated_conditions(topology, job) == []
    assert policy.n_cut == 0


def test_lc_uses_partial_leaves_over_pods_where_jigsaw_cannot():
    """One free node on each of 4 leaves in 2 pods: 4 = 2 pods x 2 leaves x 1 node."""
    topology = xgft(2, 2, 2)
    taken = {1, 3, 5, 7}
    assert occupied("jigsaw", topology, taken).allocate(Request(99, 4)) is None
    job = take(occupied("lc", topology, taken), 99, 4)
    assert job.nodes.tolist() == [0, 2, 4, 6]
    assert violated_conditions(topology, job) == []


@pytest.mark.parametrize(("spine", "n_cut"), [(0, 0), (1, 1)])
def test_lc_does_not_search_pods_without_a_common_spine(spine, n_cut, monkeypatch):
    """One free node in each of 2 pods: pod 0 has spine 0 left, pod 1 has lost ``spine``.

    With no steps allowed, a search that begins is cut short.
    """
    topology = xgft(2, 2, 2)
    s, policy = topology.shape, make_policy(topology, "lc", np.random.default_rng(0))
    lost = [
        link(pod, i, lost)
        for pod, lost in ((0, 1), (1, spine))
        for i in (0, 1)
        for link in (s.l2_up, s.l2_down)
    ]
    policy.hold(placement(9, [1, 2, 3, 5, 6, 7], lost))
    with monkeypatch.context() as patch:
        patch.setattr("alloc.fattree.lc.MAX_STEPS_A_SHAPE", 0)
        assert policy.allocate(Request(1, 2)) is None
        assert policy.n_cut == n_cut
    job = policy.allocate(Request(1, 2))
    assert (job is not None) == (spine == 1)
    if job is not None:
        assert job.nodes.tolist() == [0, 4]


@njit
def two_in_two_pods(has, path):
    return have_in_common(2, 0b111, has, 2, path)


def test_pods_that_have_two_spines_in_common_have_both() -> None:
    """Spine 0 is free in pods 0 and 1, spine 1 in 1 and 2, spine 2 in 0 and 1."""
    has, path = np.array([0b011, 0b110, 0b011]), np.zeros((2, 2), dtype=np.int64)
    assert two_in_two_pods(has, path)
    assert not two_in_two_pods(has[:2], path)


def test_a_job_of_several_pods_takes_none_that_is_held() -> None:
    """Nodes 0 and 1 are taken, 8 to 12 held for a job of two pods: of the other two pods the free
    nodes are 4 to 7, then 2 and 3, though the held one has three."""
    policy = make_policy(fat_tree(4), "ta", np.random.default_rng(1))
    assert policy.allocate(Request(1, 2)).nodes.tolist() == [0, 1]
    policy.hold(Placement(-1, np.arange(8, 13, dtype=np.int32)))
    assert policy.allocate(Request(2, 7)) is None
    assert policy.allocate(Request(2, 6)).nodes.tolist() == [4, 5, 6, 7, 2, 3]
