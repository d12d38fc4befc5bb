"""First-fit cuboid: by hand and against a naive search over all boxes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from alloc_helpers import take
from hypothesis import given, settings
from hypothesis import strategies as st

from alloc.policy import Request
from alloc.registry import make_policy
from alloc.torus.first_fit_cuboid import free_corners
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
                s.router_at([(c + o) % d for c, o, d in zip(corner, offset, s.dims, strict=True)])
                for offset in product(*(range(e) for e in extents))
            ]
            yield len(inside), sum(extents), extents, corner, inside


TORI = [torus((4, 3)), torus((3, 2, 3), wrap=(True, False, False)), torus((4, 2), concentration=2)]


@pytest.mark.parametrize("topology", TORI)
@settings(max_examples=60, deadline=None)
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
