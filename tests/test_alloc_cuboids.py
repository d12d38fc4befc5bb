"""Isoperimetric cuboids, static menus and the contention-aware policy."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from alloc_helpers import take
from hypothesis import given
from hypothesis import strategies as st
from isoperimetry_reference import least_cuts, torus_edges
from selection import examples

from alloc.bluegene.menus import JUQUEEN, MIRA, SEQUOIA, improved, partition_menu
from alloc.policy import Request
from alloc.registry import make_policy
from alloc.torus.first_fit_cuboid import free_corners
from netsim.errors import NetcosimError
from netsim.topologies.registry import preset
from netsim.topologies.torus import torus

NAMES = ["cuboid-best", "cuboid-worst", "menu", "menu-proposed", "contention-aware"]


def make(topology, name):
    return make_policy(topology, name, np.random.default_rng(0))


def geometry(topology, placement):
    """Edge lengths of a placement in routers, longest first; it must be a cuboid."""
    shape = topology.shape
    coords = np.array(
        [shape.coords(int(r)) for r in np.unique(topology.node_router[placement.nodes])]
    )
    lengths = [len(np.unique(c)) for c in coords.T]
    assert prod(lengths) * shape.concentration == len(placement.nodes)
    return tuple(sorted(lengths, reverse=True))


def inner_cut(topology, extents):
    """Least cables between halves of a cuboid that stands in the network, over all halves."""
    shape = topology.shape
    wrap = [w and a == d for a, d, w in zip(extents, shape.dims, shape.wrap, strict=True)]
    return least_cuts(prod(extents), torus_edges(extents, wrap, False))[prod(extents) // 2]


@pytest.mark.parametrize("wrap", [True, False])
def test_best_and_worst_against_every_cut_of_every_cuboid(wrap):
    topology = torus((6, 3, 2), wrap=wrap)
    best, worst = make(topology, "cuboid-best"), make(topology, "cuboid-worst")
    for size in (1, 2, 3, 4, 6, 8, 9, 12):
        every = [e for e in best._cuboids.tolist() if prod(e) == size]
        cuts = [inner_cut(topology, e) for e in every]
        assert all(inner_cut(topology, e) == max(cuts) for e in best.shapes_for(size))
        assert all(inner_cut(topology, e) == min(cuts) for e in worst.shapes_for(size))


def test_mira_gets_the_partitions_of_table_6():
    topology = preset("mira-midplanes")
    for size, old, new in (
        (1, (1, 1, 1, 1), (1, 1, 1, 1)),
        (3, (4, 1, 1, 1), (2, 2, 1, 1)),  # no 3 on the menu
        (4, (4, 1, 1, 1), (2, 2, 1, 1)),
        (8, (4, 2, 1, 1), (2, 2, 2, 1)),
        (16, (4, 4, 1, 1), (2, 2, 2, 2)),
        (24, (4, 3, 2, 1), (3, 2, 2, 2)),
        (32, (4, 4, 2, 1), (4, 4, 2, 1)),
        (65, (4, 4, 3, 2), (4, 4, 3, 2)),
    ):
        assert geometry(topology, take(make(topology, "menu"), 1, size)) == old
        assert geometry(topology, take(make(topology, "menu-proposed"), 1, size)) == new
    assert geometry(topology, take(make(topology, "cuboid-best"), 1, 24)) == (3, 2, 2, 2)
    assert geometry(topology, take(make(topology, "cuboid-worst"), 1, 24)) == (4, 3, 2, 1)
    assert geometry(topology, take(make(topology, "cuboid-best"), 1, 3)) == (3, 1, 1, 1)


def test_juqueen_worst_cases_are_those_of_table_7():
    topology = preset("juqueen-midplanes")
    for size, worst, best in ((6, (6, 1, 1, 1), (3, 2, 1, 1)), (16, (4, 2, 2, 1), (2, 2, 2, 2))):
        assert geometry(topology, take(make(topology, "cuboid-worst"), 1, size)) == worst
        assert geometry(topology, take(make(topology, "cuboid-best"), 1, size)) == best
        assert geometry(topology, take(make(topology, "menu"), 1, size)) == best


def test_nodes_of_a_midplane_stay_together():
    topology = torus(MIRA, concentration=512, double_links_for_two=True)
    placement = take(make(topology, "menu"), 1, 2048)
    assert len(placement.nodes) == 2048
    assert geometry(topology, placement) == (4, 1, 1, 1)
    assert not make(topology, "menu").fits_empty(96 * 512 + 1)


def test_a_shape_that_is_not_free_is_waited_for():
    topology = torus((4, 4))
    policy = make(topology, "cuboid-best")
    # 2 x 4 covers a ring and halves in 4 links, as many as 4 x 2; a row of 4 stays free.
    take(policy, 1, 8)
    take(policy, 2, 4)
    assert policy.n_free == 4
    left = make(topology, "cuboid-worst")
    left._busy[4:] = True
    left._recount()
    assert geometry(topology, take(left, 1, 4)) in [(4, 1), (2, 2)]
    assert left.allocate(Request(2, 1)) is None


@pytest.mark.parametrize("name", NAMES)
@examples(25)
@given(data=st.data())
def test_cuboids_are_free_and_of_an_allowed_shape(name, data):
    topology = torus((4, 3, 2), double_links_for_two=data.draw(st.booleans()))
    policy = make(topology, name)
    policy._busy[sorted(data.draw(st.sets(st.integers(0, 23))))] = True
    policy._recount()
    free = policy._free.copy()
    size = data.draw(st.integers(1, 24))
    shapes = policy.shapes_for(size)
    placement = policy.allocate(Request(1, size))
    if placement is None:
        # No allowed shape is free anywhere: tried corner by corner.
        for extents in shapes:
            for corner in np.ndindex(4, 3, 2):
                axes = [
                    (c + np.arange(a)) % d
                    for c, a, d in zip(corner, extents, (4, 3, 2), strict=True)
                ]
                assert not free.reshape(4, 3, 2)[np.ix_(*axes)].all()
        return
    assert free[placement.nodes].all()
    assert geometry(topology, placement) in [tuple(sorted(e, reverse=True)) for e in shapes]


@pytest.mark.parametrize("wrap", [True, False, (True, False, True)])
@examples(30)
@given(data=st.data())
def test_kept_cuboids_find_the_same_corner_as_the_search(wrap, data):
    topology = torus((4, 3, 2), wrap=wrap)
    policy = make(topology, "contention-aware")
    free = np.ones((4, 3, 2), dtype=bool)
    free.flat[sorted(data.draw(st.sets(st.integers(0, 23))))] = False
    shape = tuple(data.draw(st.integers(1, d)) for d in (4, 3, 2))
    corners = free_corners(free, np.array(shape), topology.shape.wrap).ravel()
    expected = int(np.argmax(corners)) if corners.any() else None
    assert policy._free_corner(free, shape) == expected


def test_menus():
    assert partition_menu("mira-current").geometries != partition_menu("mira-proposed").geometries
    for name, machine in (("juqueen", JUQUEEN), ("sequoia", SEQUOIA)):
        menu = partition_menu(name)
        assert menu.machine == machine
        assert menu.geometries[0] == (1, 1, 1, 1)
        assert menu.geometries[-1] == machine
        assert set(improved(machine, menu.geometries)) <= set(menu.geometries)
    with pytest.raises(NetcosimError, match="valid: juqueen, mira-current"):
        partition_menu("titan")
    with pytest.raises(NetcosimError, match="does not fit"):
        improved(JUQUEEN, [(3, 3, 1, 1)])


def test_contention_aware_takes_lines_or_waits_for_squares():
    topology = preset("mira-midplanes")
    link = int(topology.link_bandwidth_Bps[-1])
    policy = make(topology, "contention-aware")
    # 4 midplanes: a line carries 2 * 2 / 4 links a midplane, a square 2 * 4 / 4.
    assert policy.node_bandwidth((4, 1, 1, 1)) == link
    assert policy.node_bandwidth((2, 2, 1, 1)) == 2 * link
    for need, expected in (
        (None, (4, 1, 1, 1)),
        (0.5 * link, (4, 1, 1, 1)),
        (1.5 * link, (2, 2, 1, 1)),
        (99.0 * link, (2, 2, 1, 1)),
    ):
        placement = make(topology, "contention-aware").allocate(Request(1, 4, None, need))
        assert geometry(topology, placement) == expected
    # Only one line is free: the bound job waits, the other starts.
    policy._busy[:] = True
    line = np.array([[i, 0, 0, 0] for i in range(4)]).T
    policy._busy[np.ravel_multi_index(line, topology.shape.dims)] = False
    policy._recount()
    assert policy.allocate(Request(1, 4, None, 1.5 * link)) is None
    assert policy.allocate(Request(2, 4)) is not None
