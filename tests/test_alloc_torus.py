"""First-fit cuboid: by hand and against a naive search over all boxes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from alloc_helpers import take
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from alloc.policy import Request
from alloc.registry import make_policy
from alloc.torus.first_fit_cuboid import free_corners, longest_free
from netsim.topologies.torus import torus


def with_free(topology, free):
    policy = make_policy(topology, "first-fit-cuboid", np.random.default_rng(0))
    policy._busy[np.setdiff1d(np.arange(topology.n_nodes), sorted(free))] = True
    policy._recount()
    return policy


def boxes(topology):
    """All (volume, edge sum, extents, corner, routers) in the order of the policy."""
    s = topology.shape
    for extents in product(*(range(1, d + 1) for d in s.dims)):
        starts = [
            [0] if e == d else range(d if ring else d - e + 1)
            for e, d, ring in zip(extents, s.dims, s.wrap, strict=True)
        ]
        for corner in product(*starts):
            inside = [
                int(np.ravel_multi_index(np.add(corner, offset), s.dims, mode="wrap"))
                for offset in product(*(range(e) for e in extents))
            ]
            yield len(inside), sum(extents), extents, corner, inside


TORI = [torus((4, 3)), torus((3, 2, 3), wrap=(True, False, False)), torus((4, 2), concentration=2)]


@pytest.mark.parametrize("topology", TORI)
@examples(60)
@given(data=st.data())
def test_against_all_boxes(topology, data):
    width = topology.shape.concentration
    free = data.draw(st.sets(st.integers(0, topology.n_nodes - 1), min_size=1))
    n_nodes = data.draw(st.integers(1, len(free)))
    fitting = [
        box
        for box in boxes(topology)
        if box[0] * width >= n_nodes
        and all(r * width + i in free for r in box[4] for i in range(width))
    ]
    job = with_free(topology, free).allocate(Request(1, n_nodes))
    if not fitting:
        assert job is None
        return
    routers = min(fitting)[4]
    assert job is not None
    assert job.nodes.tolist() == [r * width + i for r in routers for i in range(width)]


def test_by_hand_on_a_4_by_4_torus():
    topology = torus((4, 4))
    policy = make_policy(topology, "first-fit-cuboid", np.random.default_rng(0))
    assert take(policy, 1, 4).nodes.tolist() == [0, 1, 4, 5]  # square before line
    assert len(take(policy, 2, 5).nodes) == 6  # no box of 5
    wrap = with_free(topology, {0, 3, 12, 15})
    assert take(wrap, 1, 4).nodes.tolist() == [15, 12, 3, 0]
    mesh = with_free(torus((4, 4), wrap=False), {0, 3, 12, 15})
    assert mesh.allocate(Request(1, 2)) is None


def test_a_cuboid_as_long_as_its_ring_stands_at_0():
    """Around a ring of 4 there is one cuboid of length 4, and 4 of length 3."""
    free = np.ones((4, 3), dtype=np.bool_)
    whole = free_corners(free, np.array([4, 1]), (True, True))
    assert np.argwhere(whole).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert free_corners(free, np.array([3, 1]), (True, True)).sum() == 12
    assert free_corners(free, np.array([3, 1]), (False, True)).sum() == 6


def one_by_one(policy, n_nodes):
    """Every cuboid in turn, as the policy's order has them: the plain search."""
    free = policy._free.reshape(*policy._dims, policy._width).all(axis=-1)
    first = int(np.searchsorted(policy._volumes, -(-n_nodes // policy._width)))
    for extents in policy._cuboids[first:]:
        corners = free_corners(free, extents, policy._rings)
        if corners.any():
            return policy._nodes_of(
                np.unravel_index(int(np.argmax(corners)), corners.shape), extents
            )
    return None


@pytest.mark.parametrize(
    "topology",
    [
        torus((7, 5, 6)),
        torus((3, 4, 5), wrap=(True, False, True)),
        torus((6, 6, 4), wrap=False),
        torus((2, 3, 2, 4), concentration=2),
        torus((17,)),
    ],
)
@examples(60)
@given(seed=st.integers(0, 2**32 - 1))
def test_all_at_once_finds_what_one_by_one_does(topology, seed):
    """Machines of scattered nodes, and of cuboids that came and went."""
    rng = np.random.default_rng(seed)
    policy = make_policy(topology, "first-fit-cuboid", rng)
    policy._busy[rng.random(topology.n_nodes) < rng.choice([0.0, 0.05, 0.3, 0.7])] = True
    policy._recount()
    jobs = rng.integers(1, topology.n_nodes // 4, rng.integers(0, 8))
    placed = [policy.allocate(Request(k, int(n))) for k, n in enumerate(jobs)]
    for k in np.flatnonzero(rng.random(len(jobs)) < 0.4).tolist():
        if placed[k] is not None:
            policy.release(placed[k])
    for n_nodes in rng.integers(1, topology.n_nodes + 1, 6).tolist():
        expected, found = one_by_one(policy, n_nodes), policy._select(n_nodes)
        assert (found is None) == (expected is None)
        if expected is not None:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rings", [(True, True, True), (False, True, False)])
def test_longest_free_cuboids(rings):
    rng = np.random.default_rng(3)
    for _ in range(10):
        free = rng.random((3, 5, 4)) < 0.8
        axis, longest = longest_free(free, rings, 4)
        assert (axis, longest.shape) == (1, (3, 4))
        for a, c in product(range(1, 4), range(1, 5)):
            fit = [b for b in range(1, 6) if free_corners(free, np.array([a, b, c]), rings).any()]
            most = max(fit, default=0)
            # what is too small to matter may be left out
            assert longest[a - 1, c - 1] == most or a * c * most < 4
