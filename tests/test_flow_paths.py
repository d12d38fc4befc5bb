"""Paths of flows: the routing's own, connected, and in closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from netsim.errors import NetcosimError
from netsim.flow.maxmin import flow_finish_times, max_min_rates
from netsim.flow.paths import FlowPaths, flow_paths
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree, xgft
from netsim.topologies.torus import torus

UGAL = ("ugal-l", "ugal-g", "par", "adaptive-local")
SEVERAL = ("valiant", "valiant-local", *UGAL, "adaptive", "minimal-adaptive")
TWO_LINKS_A_PAIR = dragonfly(2, 4, 5, 4)  # the routing draws one
CASES = [
    (fat_tree(4), "d-mod-k"),
    (fat_tree(4), "adaptive"),
    (xgft(3, 2, 4, 2, 2), "adaptive"),
    (fat_tree(6, levels=2), "adaptive"),
    (dragonfly(2, 4, 9), "minimal"),
    (dragonfly(2, 4, 9), "valiant"),
    (dragonfly(2, 4, 9), "valiant-local"),
    *((dragonfly(2, 4, 9), name) for name in UGAL),
    (TWO_LINKS_A_PAIR, "minimal"),
    (TWO_LINKS_A_PAIR, "ugal-g"),
    (torus((4, 3, 2)), "dimension-order"),
    (torus((4, 3, 2)), "minimal-adaptive"),
    (fat_tree(4), "shortest-path"),
]


def all_pairs(n):
    return np.divmod(np.arange(n * n), n)


def name_of(case):
    return case if isinstance(case, str) else case.name


@pytest.mark.parametrize(("topology", "name"), CASES, ids=name_of)
def test_flows_are_conserved_at_every_router(topology, name):
    """One unit leaves the source, one comes in at the destination, routers keep nothing."""
    src, dst = all_pairs(min(topology.n_nodes, 24))
    paths = flow_paths(make_routing(topology, name), src, dst)
    weights = np.ones(len(paths.links)) if paths.weights is None else paths.weights
    n_vertices = topology.n_nodes + topology.n_routers
    for f in range(paths.n_flows):
        part = slice(paths.ptr[f], paths.ptr[f + 1])
        links, w = paths.links[part], weights[part]
        assert len(np.unique(links)) == len(links)
        net = np.zeros(n_vertices)
        np.add.at(net, topology.link_src[links], w)
        np.subtract.at(net, topology.link_dst[links], w)
        expected = np.zeros(n_vertices)
        if src[f] != dst[f]:
            expected[src[f]], expected[dst[f]] = 1, -1
        np.testing.assert_allclose(net, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("topology", "name"),
    [c for c in CASES if c[1] not in SEVERAL and c[0].name != TWO_LINKS_A_PAIR.name],
    ids=name_of,
)
def test_static_paths_are_the_walk_over_the_plain_routing(topology, name):
    routing = make_routing(topology, name)
    src, dst = all_pairs(min(topology.n_nodes, 24))
    paths = flow_paths(routing, src, dst)
    for f, (s, d) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        expected, router, state = [], int(topology.node_router[s]), 0
        while s != d and (not expected or expected[-1] != topology.n_nodes + d):
            expected = expected or [s]
            (hop,) = routing.choices(router, d, state)
            expected.append(hop.link)
            router, state = int(topology.link_dst[hop.link]) - topology.n_nodes, hop.state
        assert paths.links[paths.ptr[f] : paths.ptr[f + 1]].tolist() == expected


def test_paths_do_not_depend_on_what_else_is_asked():
    """Few flows are walked one by one, many share walks: the same paths."""
    topology = dragonfly(2, 4, 9)
    routing = make_routing(topology, "minimal")
    src, dst = all_pairs(topology.n_nodes)
    paths = flow_paths(routing, src, dst)
    for f in range(0, len(src), 37):
        one = flow_paths(routing, src[f : f + 1], dst[f : f + 1])
        assert one.links.tolist() == paths.links[paths.ptr[f] : paths.ptr[f + 1]].tolist()


def adversarial(topology):
    src = np.arange(topology.n_nodes)
    return src, (src + topology.shape.nodes_per_group) % len(src)


def test_group_adversarial_traffic_is_limited_by_one_global_link():
    """Minimal routing: a*p nodes on the one link to the next group (Kim et al. 2008)."""
    topology = dragonfly(2, 4, 9)
    paths = flow_paths(make_routing(topology, "minimal"), *adversarial(topology))
    rates = max_min_rates(paths.ptr, paths.links, topology.link_bandwidth_Bps)
    np.testing.assert_allclose(rates, topology.link_bandwidth_Bps[0] / 8)


@pytest.mark.parametrize("name", UGAL)
def test_ugal_leaves_the_full_link_and_keeps_the_empty_one(name):
    """Adversarial traffic: far faster than minimal. One flow alone: its minimal path."""
    topology = dragonfly(2, 4, 9)
    capacity = topology.link_bandwidth_Bps
    routing = make_routing(topology, name)
    paths = flow_paths(routing, *adversarial(topology))
    finish = flow_finish_times(paths, 1e6, capacity) * capacity[0] / 1e6
    assert finish.max() < 8 * 0.6
    minimal = make_routing(topology, "minimal")
    alone, least = flow_paths(routing, [0], [50]), flow_paths(minimal, [0], [50])
    assert sorted(alone.links) == sorted(least.links)


def test_adaptive_fat_tree_uses_every_path_alike():
    """With w2 * w3 pieces each up and down link of a flow carries its uniform share."""
    topology = fat_tree(6)
    routing = make_routing(topology, "adaptive")
    paths = flow_paths(routing, [0], [topology.n_nodes - 1], pieces=9)
    kinds = np.array(topology.kinds)[topology.link_kind[paths.links]]
    shares = {"injection": 1, "ejection": 1, "up1": 3, "down1": 3, "up2": 9, "down2": 9}
    for kind, ways in shares.items():
        np.testing.assert_allclose(paths.weights[kinds == kind], 1 / ways)
        assert (kinds == kind).sum() == ways


def test_one_node_needs_no_link():
    paths = flow_paths(make_routing(fat_tree(4)), [3, 3], [3, 4])
    assert paths.ptr[1] == 0
    assert flow_finish_times(paths, 1e6, fat_tree(4).link_bandwidth_Bps)[0] == 0.0


@pytest.mark.parametrize(
    ("src", "dst", "pieces", "message"),
    [([0], [99], None, "outside 0..15"), ([0, 1], [1], None, "2 source"), ([0], [1], 0, "pieces")],
)
def test_bad_input_says_what(src, dst, pieces, message):
    with pytest.raises(NetcosimError, match=message):
        flow_paths(make_routing(fat_tree(4), "adaptive"), src, dst, pieces=pieces)


def test_paths_without_flows():
    paths = flow_paths(make_routing(fat_tree(4)), [], [])
    assert isinstance(paths, FlowPaths)
    assert paths.n_flows == 0


def weights_by_link(paths: FlowPaths, flow: int) -> dict[int, float]:
    at = slice(paths.ptr[flow], paths.ptr[flow + 1])
    assert paths.weights is not None
    return dict(zip(paths.links[at].tolist(), paths.weights[at].tolist(), strict=True))


def test_pieces_go_both_ways_round_a_corner() -> None:
    """One flow across one square of a torus: half goes along x first, half along y first."""
    topology = torus((5, 5))
    paths = flow_paths(make_routing(topology, "minimal-adaptive"), [0], [6], 1e6)
    assert sorted(weights_by_link(paths, 0).values()) == [0.5] * 4 + [1.0] * 2


def test_pieces_stay_away_from_what_others_load() -> None:
    """1 MB takes 80 us; who keeps a link busy for as long has it alone, half of it a quarter.

    With b of others and k eighths of the flow on that way, packets choose it while
    b + k / 8 is less than 1 - k / 8: for half of the flow's time on a link, k = 2.
    """
    topology = torus((5, 5))
    routing = make_routing(topology, "minimal-adaptive")
    time_s = 1e6 / float(topology.link_bandwidth_Bps.min())
    first = [link for link in range(2 * topology.n_nodes, topology.n_links)
             if topology.link_src[link] == topology.n_nodes * 0 + topology.link_dst[0]]  # fmt: skip
    free = weights_by_link(flow_paths(routing, [0], [6], 1e6), 0)
    ways = [link for link in first if link in free]
    assert len(ways) == 2
    for way, other in (ways, ways[::-1]):
        for busy, share in ((0.5, 0.25), (1.0, 0.0), (7.0, 0.0)):
            background_s = np.zeros(topology.n_links)
            background_s[way] = busy * time_s
            found = weights_by_link(
                flow_paths(routing, [0], [6], 1e6, background_s=background_s), 0
            )
            assert found.get(way, 0.0) == share
            assert found[other] == 1 - share
    both = np.zeros(topology.n_links)
    both[ways] = 3 * time_s
    assert weights_by_link(flow_paths(routing, [0], [6], 1e6, background_s=both), 0) == free


def test_ugal_leaves_a_group_link_that_others_fill() -> None:
    """The only link between two groups is busy for 20 times as long as the flow: all detour."""
    topology = dragonfly(2, 4, 9)
    routing = make_routing(topology, "ugal-g")
    alone = flow_paths(routing, [0], [8], 1e6)
    (direct,) = [
        q for q in alone.links.tolist() if topology.kinds[topology.link_kind[q]] == "global"
    ]
    background_s = np.zeros(topology.n_links)
    background_s[direct] = 20 * 1e6 / float(topology.link_bandwidth_Bps.min())
    crowded = flow_paths(routing, [0], [8], 1e6, background_s=background_s)
    assert direct not in crowded.links.tolist()
    static = make_routing(topology, "minimal")
    same = flow_paths(static, [0], [8], 1e6, background_s=background_s)
    assert same.links.tolist() == flow_paths(static, [0], [8], 1e6).links.tolist()


@pytest.mark.parametrize("background_s", [[0.0], [-1.0] * 4, [np.inf] * 4])
def test_bad_background(background_s) -> None:
    topology = torus((3, 3))
    times = np.resize(background_s, topology.n_links if len(background_s) > 1 else 1)
    with pytest.raises(NetcosimError, match="background_s: one time >= 0"):
        flow_paths(make_routing(topology, "minimal-adaptive"), [0], [4], background_s=times)
