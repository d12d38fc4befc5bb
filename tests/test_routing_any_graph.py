"""Routings of any network over its shortest paths: fair shares of links, channels, free choice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing_machines import small_machines
from selection import examples

from netsim.errors import NetcosimError
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing import shortest_path
from netsim.routing.any_graph import ShortestPaths, links_in_turn
from netsim.routing.base import Hop, Routing
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import make_routing
from netsim.routing.shortest_path import router_distances
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import xgft
from netsim.topologies.graph import graph
from netsim.topologies.registry import make_topology
from netsim.topologies.torus import torus
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.registry import make_pattern

BOTH = ("min-hop", "adaptive-shortest-path")


def ways_of(routing: Routing, src: int, dst: int) -> list[int]:
    """Links between routers of the way from one port to another, always by the first choice."""
    t = routing.topology
    router, state, links = int(t.port_router[src]), 0, []
    while router != t.port_router[dst]:
        hop = routing.choices(router, dst, state)[0]
        links.append(hop.link)
        router, state = int(t.link_dst[hop.link]) - t.n_ports, hop.state
    return links


@pytest.mark.parametrize(
    ("m1", "m2", "m3", "w3"), [(3, 3, 3, 3), (2, 4, 3, 4), (4, 2, 2, 2), (4, 6, 1, 0)]
)
def test_min_hop_on_a_full_fat_tree_takes_each_link_once_a_shift(m1, m2, m3, w3):
    t = xgft(m1, m2, m3, m1, w3, levels=2 if m3 == 1 else 3)
    routing = make_routing(t, "min-hop")
    for shift in range(1, t.n_nodes):
        used = Counter(
            link
            for src in range(t.n_nodes)
            for link in ways_of(routing, src, (src + shift) % t.n_nodes)
        )
        assert max(used.values()) == 1


def test_min_hop_deals_destinations_out_evenly(tmp_path: Path) -> None:
    """From a leaf with 4 cables up, 9 destinations elsewhere take 3, 2, 2 and 2 of them."""
    path = tmp_path / "t.conf"
    path.write_text(
        "SwitchName=a Nodes=x[1-4]\nSwitchName=b Nodes=y[1-9]\nSwitchName=c Switches=a,b\n"
    )
    t = make_topology("topology.conf", {"file": str(path)})
    routing = make_routing(t)
    assert routing.name == "min-hop"
    first = Counter(ways_of(routing, 0, dst)[0] for dst in range(4, 13))
    assert sorted(first.values()) == [2, 2, 2, 3]
    # and down to the leaf with 9 cables each has its own
    down = Counter(ways_of(routing, 0, dst)[1] for dst in range(4, 13))
    assert sorted(down.values()) == [1] * 9


def links_by_hand(t: Topology) -> np.ndarray:
    """The links of "min-hop" by the rule as docs/machines.md has it, one destination at a time."""
    distance = router_distances(t)
    out = {
        r: [k for k in range(t.first_router_link, t.n_links) if t.link_src[k] == t.n_ports + r]
        for r in range(t.n_routers)
    }
    behind = {k: int(t.link_dst[k]) - t.n_ports for links in out.values() for k in links}
    table = np.full((t.n_routers, t.n_ports), -1)
    turns: Counter[tuple[int, ...]] = Counter()
    passing = {(int(r), dst) for r in t.port_router for dst in range(t.n_ports)}
    for far in range(int(distance.max()), 0, -1):
        for router, links in out.items():
            for dst, end in enumerate(t.port_router):
                if distance[router, end] == far:
                    good = tuple(k for k in links if distance[behind[k], end] == far - 1)
                    table[router, dst] = good[0]
                    if (router, dst) in passing:
                        link = table[router, dst] = good[turns[good] % len(good)]
                        turns[good] += 1
                        passing.add((behind[link], dst))
    return table


UNEVEN_NODES: nx.Graph = nx.gnm_random_graph(12, 30, seed=4)
nx.set_node_attributes(UNEVEN_NODES, {r: r % 3 for r in range(12)}, "nodes")


@pytest.mark.parametrize(
    "t",
    [
        *(t for t in small_machines() if t.scale_up is None),
        dragonfly(2, 4, 9),
        graph(UNEVEN_NODES),
    ],
    ids=lambda t: t.name,
)
def test_compiled_turns_are_those_by_hand(t: Topology) -> None:
    wanted = links_by_hand(t)
    assert np.array_equal(links_in_turn(ShortestPaths(t)), wanted)
    routing = make_routing(t, "shortest-path")
    assert routing.n_vcs == ShortestPaths(t).longest
    for router, dst in np.argwhere(wanted >= 0).tolist():
        assert routing.choices(router, dst, 0) == [Hop(wanted[router, dst], 0, 1)]


def test_shortest_paths_of_a_small_tree() -> None:
    """3 leaves of 3 nodes and 2 links up. Leaf 1 deals out nodes 0, 1, 2, 6, 7, 8 in turn."""
    t = xgft(3, 3, 1, 2, 0, levels=2)
    routing = make_routing(t, "shortest-path")
    used = {dst: ways_of(routing, 3, dst)[0] for dst in (0, 1, 2, 6, 7, 8)}
    up = sorted(set(used.values()))
    assert [up.index(link) for link in used.values()] == [0, 1, 0, 1, 0, 1]
    assert routing.n_vcs == 2
    # leaf 0 deals out 3 to 8: 6, 7 and 8 have other turns there than at leaf 1
    spines = [int(t.link_dst[ways_of(routing, 0, dst)[0]]) for dst in range(3, 9)]
    assert spines == [spines[0], spines[1]] * 3


@pytest.mark.parametrize("radix", [4, 6, 10])
def test_shortest_paths_of_a_full_fat_tree_use_all_links_alike(radix: int) -> None:
    """Each link up carries destinations within one of the others of its router; all to all, each
    link of a kind carries the same number of pairs. (By the leaf alone 5 of 25 up links of a pod
    would be used, and 5 times the mean load go down.)"""
    t = make_topology("fattree", {"radix": radix})
    routing = make_routing(t, "shortest-path")
    pairs = [(src, dst) for src in range(t.n_nodes) for dst in range(t.n_nodes)]
    ways = {(int(t.port_router[src]), dst): ways_of(routing, src, dst) for src, dst in pairs}
    first = Counter((leaf, links[0]) for (leaf, _), links in ways.items() if links)
    for leaf in range(t.n_nodes // (radix // 2)):
        counts = [count for (router, _), count in first.items() if router == leaf]
        assert len(counts) == radix // 2
        assert max(counts) - min(counts) <= 1
    load = Counter(k for s, d in pairs for k in ways[int(t.port_router[s]), d])
    for kind in ("up1", "up2", "down1", "down2"):
        assert len({load[int(k)] for k in np.flatnonzero(t.kind_mask(kind))}) == 1


@pytest.mark.parametrize("t", small_machines(), ids=lambda t: t.name)
def test_distances_are_those_of_breadth_first_search(t, monkeypatch):
    """With links looked up three at a time too."""
    links = slice(t.first_router_link, None)
    routers = nx.Graph(zip(t.link_src[links].tolist(), t.link_dst[links].tolist(), strict=True))
    routers.add_nodes_from(range(t.n_ports, t.n_ports + t.n_routers))
    every = dict(nx.all_pairs_shortest_path_length(routers))
    found = router_distances(t)
    for a, far in every.items():
        assert found[a - t.n_ports].tolist() == [far[t.n_ports + b] for b in range(t.n_routers)]
    monkeypatch.setattr(shortest_path, "MOST_AT_ONCE", 3)
    assert np.array_equal(router_distances(t), found)


def test_more_than_5000_switches_have_distances_and_16_bits_limit_them(monkeypatch):
    """5,200 servers of a GPU on one leaf: their scale-up switches are two hops apart."""
    t = make_topology("gpu-cluster", {"nodes": 5200, "gpus_per_node": 1})
    found = router_distances(t)
    assert found.shape == (5201, 5201)
    assert Counter(found[0].tolist()) == {0: 1, 1: 1, 2: 5199}
    monkeypatch.setattr(shortest_path, "MAX_ROUTERS", 5200)
    with pytest.raises(NetcosimError, match="5201 routers; shortest-path tables allow at most 5,"):
        router_distances(t)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("t", small_machines(), ids=lambda t: t.name)
def test_ways_are_shortest(t: Topology, name: str) -> None:
    routing = make_routing(t, name)
    routers: nx.Graph = nx.Graph()
    links = slice(t.first_router_link, None)
    routers.add_edges_from(zip(t.link_src[links].tolist(), t.link_dst[links].tolist(), strict=True))
    for dst in range(t.n_ports):
        end = int(t.port_router[dst]) + t.n_ports
        far = nx.single_source_shortest_path_length(routers, end) if end in routers else {end: 0}
        for router in {int(r) for r in t.port_router}:
            if router + t.n_ports == end:
                continue
            found = [hop.link for hop in routing.choices(router, dst, 0)]
            wanted = [
                link
                for link in range(t.first_router_link, t.n_links)
                if t.link_src[link] == router + t.n_ports
                and far[int(t.link_dst[link])] == far[router + t.n_ports] - 1
            ]
            assert found == wanted if name != "min-hop" else found[0] in wanted


@pytest.mark.parametrize(
    ("t", "n_vcs"),
    [
        (make_topology("fattree", {"radix": 4}), 1),
        (make_topology("fattree", {"radix": 4, "levels": 2}), 1),
        (make_topology("dragonfly-plus", {"p": 2, "leaves": 2, "spines": 2, "g": 1}), 1),
        (torus([2, 2], wrap=False), 2),
        (torus([4], wrap=False), 1),
        (torus([5]), 2),
        (dragonfly(1, 2, 5), 3),
        (graph(nx.star_graph(4)), 1),
        (graph(nx.balanced_tree(2, 3)), 1),
        (graph(nx.petersen_graph()), 2),
        (graph(nx.complete_graph(4)), 1),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_one_channel_where_nothing_can_wait_in_a_ring(t: Topology, n_vcs: int) -> None:
    for name in BOTH:
        assert make_routing(t, name).n_vcs == n_vcs


@examples(40)
@given(st.integers(0, 2**32 - 1))
def test_random_networks_are_free_of_deadlock(seed: int) -> None:
    """Random cables, some parallel, routers without nodes: both routings, walked through."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    network: nx.MultiGraph = nx.MultiGraph()
    network.add_nodes_from((i, {"nodes": int(rng.integers(0, 3))}) for i in range(n))
    network.nodes[0]["nodes"] = 1
    network.add_edges_from((i, int(rng.integers(i))) for i in range(1, n))
    for _ in range(int(rng.integers(0, 8))):
        a, b = rng.choice(n, 2, replace=False).tolist()
        network.add_edge(a, b)
    t = graph(network)
    for name in BOTH:
        routing = make_routing(t, name)
        assert find_cycle(routing) is None
        longest = ShortestPaths(t).longest
        assert routing.n_vcs in (1, longest)


def _saturated(routing: Routing, shift: int) -> float:
    """Time of long messages of all nodes to another by number, over the node's link alone."""
    t = routing.topology
    n, size = t.n_nodes, 100_000
    rng = np.random.default_rng(1)
    program = make_pattern("shift", n, size, 1, rng, {"distance": shift})
    result = simulate_packets(
        routing, combine([program], [np.arange(n)]), PacketConfig(), np.random.default_rng(2)
    )
    return float(result.group_finish_ps.max()) * 1e-12 / (size / 1e9)


def test_adaptive_choice_spreads_over_parallel_cables(tmp_path: Path) -> None:
    """Two leaves of 8 with 8 cables up each: a shift by 8 takes as long as a message alone."""
    path = tmp_path / "t.conf"
    path.write_text(
        "SwitchName=a Nodes=x[1-8]\nSwitchName=b Nodes=y[1-8]\nSwitchName=c Switches=a,b\n"
    )
    t = make_topology("topology.conf", {"file": str(path)})
    # every link carries one message, or close to that; one cable for all would take 8 times
    assert _saturated(make_routing(t, "min-hop"), 8) < 1.05
    assert _saturated(make_routing(t, "adaptive-shortest-path"), 8) < 1.25
    half = make_topology("topology.conf", {"file": str(path), "taper": 0.5})
    for name in BOTH:
        assert _saturated(make_routing(half, name), 8) == pytest.approx(2.0, rel=0.15)


def test_flows_take_every_parallel_cable(tmp_path: Path) -> None:
    """At flow level the pieces of flows go where there is room, as packets do."""
    path = tmp_path / "t.conf"
    path.write_text(
        "SwitchName=a Nodes=x[1-8]\nSwitchName=b Nodes=y[1-8]\nSwitchName=c Switches=a,b\n"
    )
    t = make_topology("topology.conf", {"file": str(path)})
    for name in BOTH:
        paths = flow_paths(make_routing(t, name), np.arange(8), np.arange(8, 16))
        weights = np.ones(len(paths.links)) if paths.weights is None else paths.weights
        load = np.bincount(paths.links, weights, t.n_links)
        assert load[t.kind_mask("up")].max() == pytest.approx(1.0)
        assert load[t.kind_mask("down")].max() == pytest.approx(1.0)
        assert load[t.kind_mask("up")].sum() == pytest.approx(8.0)
