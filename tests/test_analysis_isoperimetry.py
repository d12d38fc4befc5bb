"""Edge-isoperimetric closed forms against every set, or every cuboid, of small networks."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isoperimetry_bounds import (
    cuboid_bound,
    cuboid_links,
    cuboids_of_size,
    hypercube_cut,
    hypercube_cuts,
    hyperx_cuts,
    isoperimetric_cuboid,
    small_set_expansion,
    spectral_bound,
    theorem_cuboids,
    torus_cuts,
)
from isoperimetry_reference import least_cuts, least_expansion, torus_edges
from scipy import sparse
from selection import examples

from alloc.bluegene.geometries import geometries, partition_bisection, possible_sizes
from netsim.analysis.bisection import cuboid_bisection, torus_bisection
from netsim.analysis.graph import _best_swap, cut_weight, router_graph, search_cut
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
cuboid_tori = st.lists(st.integers(1, 6), min_size=1, max_size=5).filter(
    lambda d: 2 <= prod(d) <= 600
)


def all_cuboids(dims):
    return product(*(range(1, d + 1) for d in dims))


@examples(80)
@given(cuboid_tori, st.booleans(), st.data())
def test_theorem_bounds_every_cuboid(dims, double, data):
    size = data.draw(
        st.sampled_from([prod(c) for c in all_cuboids(dims) if 2 * prod(c) <= prod(dims)])
    )
    same = [c for c in all_cuboids(dims) if prod(c) == size]
    assert sorted(cuboids_of_size(dims, size)) == sorted(same)
    links = [cuboid_links(dims, c, double_links_for_two=double) for c in same]
    bound = cuboid_bound(dims, size, double_links_for_two=double)
    assert bound <= min(links) * (1 + 1e-9)
    best = isoperimetric_cuboid(dims, size, double_links_for_two=double)
    assert best.links == min(links)
    if double:
        found = theorem_cuboids(dims, size)
        assert {c.extents for c in found} <= set(same)
        # Where the minimising r gives whole lengths, the bound is met.
        assert all(c.links >= bound * (1 - 1e-9) for c in found)


@examples(40)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda d: prod(d) > 1), st.data())
def test_cuboid_links_count_the_cables(dims, data):
    double = data.draw(st.booleans())
    extents = tuple(data.draw(st.integers(1, d)) for d in dims)
    inside = np.zeros(dims, dtype=bool)
    inside[tuple(slice(0, a) for a in extents)] = True
    edges = torus_edges(dims, True, double)
    flat = inside.ravel()
    assert cuboid_links(dims, extents, double_links_for_two=double) == sum(
        flat[edges[:, 0]] != flat[edges[:, 1]]
    )


def test_bound_is_met_by_the_cuboids_of_the_lemma():
    for dims, size, extents in (
        ((8, 8, 8), 8, (2, 2, 2)),
        ((4, 4, 4), 16, (4, 2, 2)),
        ((8, 8, 4), 64, (4, 4, 4)),
        ((16, 12, 8, 8, 2), 16 * 12 * 64, (8, 12, 8, 8, 2)),
    ):
        bound = cuboid_bound(dims, size)
        met = [c for c in theorem_cuboids(dims, size) if c.links == pytest.approx(bound)]
        assert extents in [c.extents for c in met]


def test_cubic_torus_is_theorem_2_1():
    n, D = 6, 3
    for t in range(1, n**D // 2):
        expected = min(
            2 * (D - r) * n ** (r / (D - r)) * t ** ((D - r - 1) / (D - r)) for r in range(D)
        )
        assert cuboid_bound((n,) * D, t) == pytest.approx(expected)


@pytest.mark.parametrize("double", [True, False])
def test_conjecture_no_set_beats_the_bound(double):
    """The paper conjectures the bound for all sets; every torus this small obeys it."""
    for dims in SMALL:
        least = least_cuts(prod(dims), torus_edges(dims, True, double))
        for t in range(1, prod(dims) // 2 + 1):
            bound = cuboid_bound(dims, t, double_links_for_two=double)
            assert bound <= least[t] * (1 + 1e-9), (dims, t)


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


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_harper(dimension):
    edges = torus_edges((2,) * dimension, True, False)
    least = least_cuts(2**dimension, edges)
    assert hypercube_cuts(dimension).tolist() == least.tolist()
    assert [hypercube_cut(dimension, t) for t in range(2**dimension + 1)] == least.tolist()


def test_harper_two_ways_on_larger_cubes():
    assert hypercube_cuts(9).tolist() == [hypercube_cut(9, t) for t in range(513)]
    assert hypercube_cut(40, 2**39) == 2**39


@pytest.mark.parametrize("dims", [(2,), (5,), (3, 2), (2, 4), (3, 4), (2, 3, 2), (7, 2), (13,)])
def test_lindsey(dims):
    topology = hyperx(dims)
    src = topology.link_src[2 * topology.n_nodes :: 2] - topology.n_nodes
    dst = topology.link_dst[2 * topology.n_nodes :: 2] - topology.n_nodes
    least = least_cuts(prod(dims), np.stack([src, dst], axis=1).astype(np.int64))
    assert hyperx_cuts(dims).tolist() == least.tolist()


def test_lindsey_on_lengths_of_two_is_harper():
    assert hyperx_cuts((2,) * 7).tolist() == hypercube_cuts(7).tolist()


@pytest.mark.parametrize("dims", [(4, 2), (3, 3), (5, 2), (2, 2, 2)])
def test_small_set_expansion(dims):
    edges, n = torus_edges(dims, True, False), prod(dims)
    degree = 2 * len(edges) / n
    exact = dict(enumerate(least_cuts(n, edges)))
    for t in range(1, n // 2 + 1):
        expected = least_expansion(n, edges, t)
        assert small_set_expansion(exact, degree, t) == pytest.approx(expected)
        # Cuboids alone can only be worse.
        cuts = torus_cuts(dims, t, double_links_for_two=False)
        assert small_set_expansion(cuts, degree, t) >= expected - 1e-12


def test_expansion_of_blue_gene_partitions_is_that_of_the_bisection():
    # Said by the paper of all partitions it considers.
    dims = (8, 4, 4, 4, 2)
    half = prod(dims) // 2
    cuts = torus_cuts(dims, half)
    bisection = {half: torus_bisection(dims)}
    assert small_set_expansion(cuts, 10, half) == small_set_expansion(bisection, 10, half)


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
        (hyperx((6, 5)), hyperx_cuts((6, 5))[15]),
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


def test_of_equal_cuboids_the_first_is_taken():
    assert isoperimetric_cuboid((4, 4), 2).extents == (1, 2)
    assert isoperimetric_cuboid((6, 6, 6), 4).extents == (1, 2, 2)


def test_bound_with_one_cable_in_a_length_of_two_by_hand():
    """2 x 6 x 6, 9 routers, one cable along the 2: with the 2 covered two layers of 4.5 routers,
    each with 4 sqrt(4.5) cables, in all 17; else 9 and 4 sqrt(9), in all 21."""
    bound = cuboid_bound((2, 6, 6), 9, double_links_for_two=False)
    assert bound == pytest.approx(8 * 4.5**0.5)


@pytest.mark.parametrize("size", [0, 9])
def test_sizes_beyond_half_are_refused(size):
    with pytest.raises(NetcosimError, match="1 to half"):
        cuboid_bound((4, 4), size)
