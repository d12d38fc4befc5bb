"""Routings as tables of links with weights: both engines, the flow level, deadlock, mistakes."""

from __future__ import annotations

from dataclasses import fields

import networkx as nx
import numpy as np
import pytest
from selection import first_only

from experiments.validation.reference.packets import simulate_reference
from netsim.errors import NetcosimError
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import make_routing
from netsim.routing.shortest_path import router_distances
from netsim.routing.weighted import Paths, _PathTable, _routing, table_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.all_to_all import all_to_all

PETERSEN = graph(nx.petersen_graph(), name="petersen")
SMALL = [PETERSEN, fat_tree(4), dragonfly(2, 2, 3), torus((4, 2)), torus((3, 3))]


def ends(t: Topology, link: int) -> tuple[int, int]:
    return int(t.link_src[link]) - t.n_ports, int(t.link_dst[link]) - t.n_ports


def downhill(t: Topology, rng: np.random.Generator) -> Paths:
    """Weighted ways that lose height toward each router: minimal ones and detours."""
    distance = router_distances(t)
    ways: dict[tuple[int, int], dict[int, int]] = {}
    for target in range(t.n_routers):
        # equal heights nowhere, so that no packet comes back
        height = distance[:, target] + rng.permutation(t.n_routers) / (2.0 * t.n_routers)
        height[target] = -1
        for link in range(t.first_router_link, t.n_links):
            here, there = ends(t, link)
            if here == target or height[there] >= height[here]:
                continue
            shorter = distance[there, target] < distance[here, target]
            if shorter or rng.random() < 0.3:
                ways.setdefault((here, target), {})[link] = int(rng.integers(1, 6))
    return ways


def run(routing: Routing, engine=simulate_packets, size: int = 3000, **how) -> PacketResult:
    n = routing.topology.n_nodes
    traffic = combine([all_to_all(n, size, 1)], [np.arange(n)])
    config = PacketConfig(packet_bytes=1000, buffer_bytes=2000)
    return engine(routing, traffic, config, np.random.default_rng(5), **how)


def assert_same(first: PacketResult, second: PacketResult) -> None:
    for f in fields(PacketResult):
        np.testing.assert_array_equal(getattr(first, f.name), getattr(second, f.name), f.name)


@pytest.mark.parametrize("t", SMALL, ids=lambda t: t.name)
def test_both_engines_take_the_same_ways(t: Topology) -> None:
    routing = table_routing(t, "mine", downhill(t, np.random.default_rng(1)))
    assert routing.random_visits > 0
    fast = run(routing)
    assert fast.link_stalls.sum() > 0
    assert_same(fast, run(routing, simulate_reference))
    assert_same(fast, run(routing, threads=2))


@pytest.mark.parametrize("t", [PETERSEN, dragonfly(1, 2, 3)], ids=lambda t: t.name)
def test_the_table_of_a_static_routing_is_that_routing(t: Topology) -> None:
    """Shortest paths one channel a hop, bit for bit; the flow level has the same paths."""
    known = make_routing(t, "shortest-path")
    ways = {
        (router, int(t.port_router[node])): [known.choices(router, node, 0)[0].link]
        for router in range(t.n_routers)
        for node in range(t.n_nodes)
        if router != t.port_router[node]
    }
    mine = table_routing(t, "mine", ways, channels=known.n_vcs)
    assert mine.random_visits == 0
    assert_same(run(mine), run(known))
    src, dst = np.divmod(np.arange(t.n_nodes**2), t.n_nodes)
    for a, b in zip(flow_paths(mine, src, dst), flow_paths(known, src, dst), strict=True):
        np.testing.assert_array_equal(a, b)


def crossing(weights: tuple[int, int]) -> Routing:
    """Two leaves and two spines; from leaf to leaf by either spine."""
    network = nx.Graph()
    network.add_nodes_from(["a", "b"], nodes=1)
    network.add_nodes_from(["x", "y"], nodes=0)
    network.add_edges_from([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
    t = graph(network)
    by_ends = {ends(t, link): link for link in range(t.first_router_link, t.n_links)}
    ways: dict[tuple[int, int], dict[int, int]] = {}
    for leaf, other in ((0, 1), (1, 0)):
        up = {by_ends[leaf, spine]: w for spine, w in zip((2, 3), weights, strict=True)}
        ways[leaf, other] = up
        for spine in (2, 3):
            ways[spine, other] = {by_ends[spine, other]: 7}
    return table_routing(t, "crossing", ways)


@pytest.mark.parametrize("weights", [(3, 1), (300, 100), (1, 1), (1, 9)])
def test_weights_are_shares_of_the_packets_and_of_the_flow(weights: tuple[int, int]) -> None:
    """Of 4000 packets, and of as many pieces of a flow, within five standard deviations."""
    routing, n = crossing(weights), 4000
    t, share = routing.topology, weights[0] / sum(weights)
    spread = 5 * np.sqrt(n * share * (1 - share))
    up = next(link for link in range(t.n_links) if ends(t, link) == (0, 2))
    traffic = combine([all_to_all(2, 1000 * n, 1)], [np.arange(2)])
    packets = simulate_packets(
        routing, traffic, PacketConfig(packet_bytes=1000), np.random.default_rng(2)
    )
    assert packets.link_packets[up] == pytest.approx(n * share, abs=spread)
    paths = flow_paths(routing, [0], [1], pieces=n)
    assert paths.weights is not None
    weight = dict(zip(paths.links.tolist(), paths.weights, strict=True))
    assert n * weight[up] == pytest.approx(n * share, abs=spread)
    assert sum(w for link, w in weight.items() if ends(t, link)[0] == 0) == pytest.approx(1)


@pytest.mark.parametrize("t", SMALL, ids=lambda t: t.name)
@pytest.mark.parametrize("seed", first_only(range(4)))
def test_rings_are_what_the_walk_over_all_paths_finds(t: Topology, seed: int) -> None:
    """On one channel there is a ring exactly where the slow proof finds one; never as built."""
    ways = downhill(t, np.random.default_rng(seed))
    table = _PathTable(t, "mine", ways)
    on_one = _routing(table, "mine", 1, 0, table.longest())
    ring = table.ring()
    assert bool(ring) == (find_cycle(on_one) is not None)
    for held, wanted in zip(ring, ring[1:] + ring[:1], strict=False):
        assert ends(t, held)[1] == ends(t, wanted)[0]
    built = table_routing(t, "mine", ways)
    assert find_cycle(built) is None
    assert built.n_vcs == (table.longest() if ring else 1)


def round_the_ring(n: int) -> tuple[Topology, dict[tuple[int, int], list[int]]]:
    """Everybody goes the same way round."""
    t = torus((n,))
    by_ends = {ends(t, link): link for link in range(t.first_router_link, t.n_links)}
    return t, {
        (here, there): [by_ends[here, (here + 1) % n]]
        for here in range(n)
        for there in range(n)
        if here != there
    }


def test_a_ring_needs_a_channel_a_hop_and_says_so() -> None:
    t, ways = round_the_ring(5)
    assert table_routing(t, "round", ways).n_vcs == 4
    with pytest.raises(NetcosimError, match=r"can deadlock on 1 channel: links .* wait for each"):
        table_routing(t, "round", ways, channels=1)
    with pytest.raises(
        NetcosimError, match=r"can deadlock on 3 channels: .* 4 channels are needed"
    ):
        table_routing(t, "round", ways, channels=3)
    assert run(table_routing(t, "round", ways)).end_ps > 0


def test_up_and_down_a_tree_needs_one_channel() -> None:
    t = fat_tree(4)
    known = make_routing(t, "random-up")
    ways = {
        (router, int(t.port_router[node])): [hop.link for hop in known.choices(router, node, 0)]
        for router in range(t.n_routers)
        for node in range(t.n_nodes)
        if router != t.port_router[node]
    }
    mine = table_routing(t, "mine", ways)
    assert mine.n_vcs == 1
    for node in range(t.n_nodes):
        assert mine.choices(0, node, 0) == known.choices(0, node, 0)


def test_mistakes_in_a_table_are_one_line() -> None:
    t, good = round_the_ring(4)
    back = next(link for link in range(t.first_router_link, t.n_links) if ends(t, link) == (1, 0))
    other = next(link for link in range(t.first_router_link, t.n_links) if ends(t, link) == (2, 3))
    for change, told in (
        ({(0, 2): None}, "no path from router 0 toward router 2"),
        ({(0, 2): []}, "from router 0 toward router 2: no link"),
        ({(0, 2): [3]}, "link 3; links between routers are 8 to 15"),
        ({(0, 2): [99]}, "link 99; links between routers are 8 to 15"),
        ({(0, 2): [1.5]}, "link 1.5; it must be a whole number"),
        ({(0, 2): [other]}, f"link {other} leaves router 2"),
        ({(0, 2): good[0, 2] * 2}, "a link is listed twice"),
        ({(0, 2): {good[0, 2][0]: 0}}, "weight 0 of link"),
        ({(0, 2): {good[0, 2][0]: -2}}, "weight -2 of link"),
        ({(0, 2): {good[0, 2][0]: 0.5}}, "weight 0.5 of link"),
        ({(0, 2): {good[0, 2][0]: 2**31}}, "weight 2147483648 of link"),
        ({(1, 3): [back]}, "packets to router 3 may cycle forever: 1, 0, 1"),
    ):
        ways = {key: some for key, some in {**good, **change}.items() if some is not None}
        with pytest.raises(NetcosimError, match=told):
            table_routing(t, "mine", ways)
