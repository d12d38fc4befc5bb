"""Bisections and least cuts against every set of small networks, and closed forms of large ones."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isoperimetry_reference import least_cuts, torus_edges
from scipy import sparse
from selection import examples

from alloc.bluegene.geometries import geometries, partition_bisection, possible_sizes
from netsim.analysis.bisection import cuboid_bisection, torus_bisection
from netsim.analysis.graph import _best_swap, _fiedler, cut_weight, router_graph, search_cut
from netsim.errors import NetcosimError
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.hyperx import hypercube, hyperx
from netsim.topologies.slimfly import slimfly
from netsim.topologies.torus import torus

BRUTE = 14  # routers: all 2^14 sets are looked at
SMALL = [
    dims
    for n in (1, 2, 3, 4)
    for dims in product(range(1, 8), repeat=n)
    if prod(dims) <= BRUTE and list(dims) == sorted(dims, reverse=True) and dims[-1] > 1
]


def all_cuboids(dims):
    return product(*(range(1, d + 1) for d in dims))


def spectral_bound(graph, size):
    """No set of ``size`` routers has less weight to the rest (Fiedler, 1973)."""
    n, vector = int(graph.shape[0]), _fiedler(graph)
    second = vector @ (graph.sum(axis=1) * vector - graph @ vector) / (vector @ vector)
    return float(second) * size * (n - size) / n


@pytest.mark.parametrize("double", [True, False])
def test_bisection_is_the_least_over_all_halves(double):
    for dims in SMALL:
        for wrap in product((True, False), repeat=len(dims)):
            least = least_cuts(prod(dims), torus_edges(dims, wrap, double))
            closed = torus_bisection(dims, wrap=wrap, double_links_for_two=double)
            assert closed == least[prod(dims) // 2], (dims, wrap)


def test_bisection_of_a_cuboid():
    # A 4 x 2 part of an 8 x 4 torus is a mesh; one that covers the dimension of 4 has rings there.
    assert cuboid_bisection((8, 4), (4, 2)) == 2
    assert cuboid_bisection((8, 4), (3, 4)) == 6 == torus_bisection((3, 4), wrap=(False, True))
    assert torus_bisection((28, 8, 8, 8, 2)) == 2 * 28672 // 28
    with pytest.raises(NetcosimError, match="does not fit"):
        cuboid_bisection((8, 4), (4, 5))


@examples(60)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_geometries_go_from_the_greatest_bisection_to_the_least(dims, data):
    size = data.draw(st.sampled_from(possible_sizes(dims)))
    found = geometries(dims, size)
    every = {tuple(sorted(c, reverse=True)) for c in all_cuboids(dims) if prod(c) == size}
    assert set(found) == every
    assert len(found) == len(every)
    links = [partition_bisection(g) for g in found]
    assert links == sorted(links, reverse=True)
    assert set(possible_sizes(dims)) == {prod(c) for c in all_cuboids(dims)}


GRAPHS = [
    torus((7, 2)),
    torus((4, 3), wrap=False),
    torus((3, 2, 2), double_links_for_two=True),
    hypercube(3),
    hyperx((3, 4)),
    dragonfly(1, 3, 4),
]


@pytest.mark.parametrize("topology", GRAPHS, ids=lambda t: t.name)
def test_spectral_bound_and_search_enclose_the_least_cut(topology):
    weights = router_graph(topology)
    n = topology.n_routers
    dense = weights.toarray().astype(int)
    edges = [(u, v) for u in range(n) for v in range(u) for _ in range(dense[u, v])]
    least = least_cuts(n, edges)
    for t in range(1, n):
        assert spectral_bound(weights, t) <= least[t] + 1e-9
        found = search_cut(weights, t, np.random.default_rng(t))
        assert found.members.sum() == t
        assert found.weight == cut_weight(weights, found.members) == least[t]


def test_a_swap_saves_what_the_cut_loses():
    """On weighted graphs, neighbours or not: the cut before less the saving is the cut after."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        half = np.triu(rng.integers(0, 4, (12, 12)), 1)
        weights = sparse.csr_array((half + half.T).astype(float))
        members = np.zeros(12, dtype=bool)
        members[rng.permutation(12)[:5]] = True
        before = cut_weight(weights, members)
        inward = weights @ members
        degree = weights.sum(axis=0)
        saves = np.where(members, degree - 2 * inward, 2 * inward - degree)
        u, v, saved = _best_swap(weights, saves, members, ~members)
        swapped = members.copy()
        swapped[[u, v]] = False, True
        assert members[u]
        assert not members[v]
        assert cut_weight(weights, swapped) == before - saved


def test_search_finds_known_bisections():
    rng = np.random.default_rng(1)
    cases = [
        (torus((8, 4, 4)), torus_bisection((8, 4, 4))),
        (hypercube(7), 64),
        # Lindsey (1964): the first 15 of 6 x 5 routers, whole cliques of 6 first
        (hyperx((6, 5)), 45),
    ]
    for topology, expected in cases:
        weights = router_graph(topology)
        half = topology.n_routers // 2
        assert search_cut(weights, half, rng).weight == expected
        assert spectral_bound(weights, half) <= expected + 1e-9
    # The spectral bound is met by the hypercube.
    assert spectral_bound(router_graph(hypercube(7)), 64) == pytest.approx(64)


def test_spectral_bound_of_a_large_network_agrees_with_its_closed_form():
    # Second eigenvalue of a torus: 2 - 2 cos(2 pi / longest). Above the dense limit.
    weights = router_graph(torus((40, 40)))
    expected = (2 - 2 * np.cos(2 * np.pi / 40)) * 800 * 800 / 1600
    assert spectral_bound(weights, 800) == pytest.approx(expected, rel=1e-6)


def test_bandwidth_weights_and_slim_fly():
    topology = slimfly(5)
    cables = router_graph(topology)
    bandwidth = router_graph(topology, by_bandwidth=True)
    members = np.arange(topology.n_routers) < 25
    link = int(topology.link_bandwidth_Bps[-1])
    assert cut_weight(bandwidth, members) == cut_weight(cables, members) * link
    found = search_cut(cables, 25, np.random.default_rng(0))
    assert spectral_bound(cables, 25) <= found.weight
    with pytest.raises(NetcosimError, match="allowed: 1 to 49"):
        search_cut(cables, 50, np.random.default_rng(0))
