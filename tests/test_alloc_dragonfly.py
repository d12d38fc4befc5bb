"""Dragonfly policies against cases worked by hand and naive transcriptions."""

from __future__ import annotations

import numpy as np
import pytest
from alloc_helpers import take
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from alloc.isolation import usable_links
from alloc.policy import Placement
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.torus import torus

FIG3 = dragonfly(p=4, a=4, g=9)
SMALL = dragonfly(p=3, a=3, g=4)


def with_free(name, topology, free, seed=1):
    """A policy on a machine where exactly ``free`` is free."""
    policy = make_policy(topology, name, np.random.default_rng(seed))
    busy = np.setdiff1d(np.arange(topology.n_nodes), free).astype(np.int32)
    policy._busy[busy] = True
    policy._recount()
    return policy


def test_level_spread_figure_3():
    policy = make_policy(FIG3, "level-spread", np.random.default_rng(1))
    assert take(policy, 1, 4).nodes.tolist() == [0, 1, 2, 3]
    # Group 1 is the first of the groups that are wholly idle; one node a router in turn.
    assert take(policy, 2, 8).nodes.tolist() == [16, 20, 24, 28, 17, 21, 25, 29]
    third = take(policy, 3, 54).nodes
    assert third[:9].tolist() == [4, 18, 32, 48, 64, 80, 96, 112, 128]
    for group in range(9):  # the first six available nodes of every group
        inside = sorted(v for v in third.tolist() if v // 16 == group)
        first = {0: [4, 5, 6, 7, 8, 9], 1: [18, 19, 22, 23, 26, 27]}
        assert inside == first.get(group, list(range(16 * group, 16 * group + 6)))


FREE = [0, 1, 3, 5, 6, 7, 8, 9, 19, 20, 24, 25, 26, 30]
# Routers (3 nodes): 0: 0 1; 1: 3 5; 2: 6 7 8; 3: 9; 6: 19 20; 8: 24 25 26; 10: 30.
# Groups (9 nodes): 0: seven, 1: one, 2: five, 3: one.


@pytest.mark.parametrize(
    ("name", "n_nodes", "nodes"),
    [
        ("simple", 5, [0, 1, 3, 5, 6]),
        ("slurm", 1, [9]),
        ("slurm", 2, [0, 1]),
        ("slurm", 3, [6, 7, 8]),
        ("slurm", 5, [9, 30, 0, 1, 3]),
        ("slurm-dragonfly", 3, [6, 7, 8]),
        ("slurm-dragonfly", 8, [9, 30, 0, 3, 19, 6, 24, 1]),
        ("rrn", 7, [0, 9, 19, 30, 1, 20, 3]),
        ("rrr", 8, [0, 1, 9, 19, 20, 30, 3, 5]),
        ("level-spread", 2, [6, 7]),
        ("level-spread", 5, [0, 3, 6, 1, 5]),
        ("level-spread", 8, [0, 9, 19, 30, 1, 20, 3, 24]),
        ("jokanovic", 7, [0, 1, 3, 5, 6, 7, 8]),
        ("jokanovic", 8, [0, 1, 3, 5, 6, 7, 8, 9]),
        ("jokanovic", 10, [30, 26, 25, 24, 20, 19, 9, 8, 7, 6]),
        ("jokanovic-coded", 5, [9, 19, 20, 24, 25]),
        ("jokanovic-coded", 7, [9, 19, 20, 24, 25, 26, 30]),
        ("jokanovic-coded", 8, [0, 1, 3, 5, 6, 7, 8, 9]),
        ("jokanovic-coded", 10, [30, 26, 25, 24, 20, 19, 9, 8, 7, 6]),
    ],
)
def test_by_hand(name, n_nodes, nodes):
    policy = with_free(name, SMALL, FREE)
    assert take(policy, 1, n_nodes).nodes.tolist() == nodes


def test_jokanovic_small_and_large_jobs_meet_where_they_may():
    policy = make_policy(SMALL, "jokanovic", np.random.default_rng(0))
    assert take(policy, 1, 5).nodes.tolist() == list(range(5))
    assert take(policy, 2, 9).nodes.tolist() == list(range(9, 18))
    large = take(policy, 3, 20)
    assert large.nodes.tolist() == [*range(35, 17, -1), 8, 7]
    # a small job may go where a large one was: nobody waits because of a boundary
    policy.release(large)
    assert take(policy, 4, 9).nodes.tolist() == list(range(18, 27))


free_sets = st.sets(st.integers(0, SMALL.n_nodes - 1), min_size=1)


def naive(name, free, n_nodes, p=3, group=9):
    """The rules of the field notes, one node at a time."""
    left, out = sorted(free), []

    def grab(nodes):
        for v in list(nodes):
            if len(out) < n_nodes:
                out.append(v)
                left.remove(v)

    def of(size, block):
        return [v for v in left if v // size == block]

    routers, groups = range(SMALL.n_nodes // p), range(SMALL.n_nodes // group)
    if name == "slurm":
        fits = [r for r in routers if len(of(p, r)) >= n_nodes]
        if fits:
            grab(of(p, min(fits, key=lambda r: (len(of(p, r)), r))))
        while len(out) < n_nodes:
            grab(of(p, min((r for r in routers if of(p, r)), key=lambda r: (len(of(p, r)), r))))
    elif name == "rrn":
        while len(out) < n_nodes:
            for g in groups:
                grab(of(group, g)[:1])
    elif name == "rrr":
        while len(out) < n_nodes:
            for g in groups:
                if of(group, g):
                    grab(of(p, of(group, g)[0] // p))
    elif name == "level-spread":
        router = max(routers, key=lambda r: (len(of(p, r)), -r))
        best = max(groups, key=lambda g: (len(of(group, g)), -g))
        if len(of(p, router)) >= n_nodes:
            grab(of(p, router))
        elif len(of(group, best)) >= n_nodes:
            while len(out) < n_nodes:
                for r in range(best * group // p, (best + 1) * group // p):
                    grab(of(p, r)[:1])
        else:
            return naive("rrn", free, n_nodes)
    elif name == "slurm-dragonfly":
        size = {r: len(of(p, r)) for r in routers}
        fits = [r for r in routers if size[r] >= n_nodes]
        if fits:
            grab(of(p, min(fits, key=lambda r: (size[r], r))))
        while len(out) < n_nodes:
            used = {r: sum(v // p == r for v in out) for r in routers}
            grab(
                of(p, min((r for r in routers if of(p, r)), key=lambda r: (used[r], size[r], r)))[
                    :1
                ]
            )
    return out


@pytest.mark.parametrize("name", ["slurm", "slurm-dragonfly", "rrn", "rrr", "level-spread"])
@examples(60)
@given(free=free_sets, data=st.data())
def test_against_naive(name, free, data):
    n_nodes = data.draw(st.integers(1, len(free)))
    policy = with_free(name, SMALL, np.array(sorted(free)))
    assert take(policy, 1, n_nodes).nodes.tolist() == naive(name, free, n_nodes)


@examples(40)
@given(free=free_sets, seed=st.integers(0, 99), data=st.data())
@pytest.mark.parametrize(("name", "size"), [("rdr", 3), ("rdg", 9)])
def test_random_blocks_are_used_up_one_after_the_other(name, size, free, seed, data):
    n_nodes = data.draw(st.integers(1, len(free)))
    nodes = take(with_free(name, SMALL, np.array(sorted(free)), seed), 1, n_nodes).nodes.tolist()
    blocks = list(dict.fromkeys(v // size for v in nodes))
    expected = [v for b in blocks for v in sorted(free) if v // size == b]
    assert nodes == expected[:n_nodes]


@pytest.mark.parametrize(("name", "size"), [("rdn", 1), ("rdr", 3), ("rdg", 9)])
def test_first_choice_is_uniform(name, size):
    """The first node's block is uniform over the blocks with a free node (chi-square)."""
    free, draws = np.array(FREE), 1200
    blocks = np.unique(free // size)
    rng = np.random.default_rng(5)
    counts = dict.fromkeys(blocks.tolist(), 0)
    for _ in range(draws):
        policy = with_free(name, SMALL, free)
        policy.rng = rng
        counts[int(take(policy, 1, 1).nodes[0]) // size] += 1
    expected = draws / len(blocks)
    chi2 = sum((c - expected) ** 2 / expected for c in counts.values())
    assert chi2 < len(blocks) - 1 + 5 * np.sqrt(2 * (len(blocks) - 1))


def test_usable_links_of_a_dragonfly_are_not_guessed():
    """Its minimal routes have one global link, even where two would be a shorter path."""
    topology = dragonfly(p=1, a=2, g=3)
    with pytest.raises(NetcosimError, match="minimal routes need not be shortest paths"):
        usable_links(topology, Placement(1, np.array([0, 2], dtype=np.int32)))


def test_usable_links_of_a_torus_by_hand():
    """Ring of 6, nodes 0 and 2: only the four links between 0, 1 and 2."""
    topology = torus((6,))
    links = usable_links(topology, Placement(1, np.array([0, 2], dtype=np.int32)))
    ends = {(int(topology.link_src[k]) - 6, int(topology.link_dst[k]) - 6) for k in links.tolist()}
    assert ends == {(0, 1), (1, 2), (2, 1), (1, 0)}
    halfway = usable_links(topology, Placement(1, np.array([0, 3], dtype=np.int32)))
    assert len(halfway) == 12
