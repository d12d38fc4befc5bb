"""Pinned flows: the least loaded path, a table, and the same paths in all engines."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest

from experiments.validation.reference.decisions import pins_of
from netsim.errors import NetcosimError
from netsim.flow.job_load import path_link_bytes
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.pinned import EqualCostPaths, pinned_for, port_flows
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import xgft
from netsim.topologies.gpu_cluster import GpuFabric, Nics, gpu_cluster
from netsim.traffic import combine
from patterns.registry import make_pattern

THREE_LEVELS = gpu_cluster(
    nodes=8,
    gpus_per_node=2,
    nics=Nics(planes=2),
    fabric=GpuFabric(nodes_per_leaf=2, nodes_per_pod=4),
)


def test_every_flow_has_an_up_link_of_its_own_where_there_are_enough():
    """Where hashing puts 2.6 of 8 flows on one link (tests/test_routing_ecmp.py)."""
    tree = xgft(8, 2, w2=8, levels=2)
    rng = np.random.default_rng(0)
    for _ in range(10):
        paths = flow_paths(make_routing(tree, "pinned"), np.arange(8), 8 + rng.permutation(8))
        load = path_link_bytes(paths, np.ones(8), tree.n_links)
        assert load.max() == 1.0


@pytest.mark.parametrize("queue_pairs", [1, 3])
def test_packets_and_flows_take_the_same_links(queue_pairs):
    routing = make_routing(THREE_LEVELS, "pinned", {"queue_pairs": queue_pairs})
    program = make_pattern("all-to-all", 16, 4096 * 2 * 3, 1, np.random.default_rng(0))
    traffic = combine([program], [np.arange(16)])
    config = PacketConfig(packet_bytes=4096)
    done = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    order = np.argsort(program.send_src() * 16 + program.send_dst)
    ends = program.send_src()[order], program.send_dst[order]
    paths = flow_paths(routing, *ends, program.send_bytes[order])
    load = path_link_bytes(paths, program.send_bytes[order].astype(float), THREE_LEVELS.n_links)
    assert load == pytest.approx(done.link_bytes)


def test_the_largest_flow_comes_first_and_each_takes_the_least_loaded_path():
    """The rule again, over all shortest paths that networkx finds."""
    topology = THREE_LEVELS
    rng = np.random.default_rng(3)
    src, dst = np.array([(a, b) for a, b in product(range(16), range(16)) if a != b]).T
    amount = rng.integers(1, 10**6, len(src)).astype(float)
    routing = make_routing(topology, "pinned")
    parts = np.repeat(amount / 2, 2)
    ports = topology.ports_between(np.repeat(src, 2), np.repeat(dst, 2), np.tile([0, 1], len(src)))
    pinned = routing.pin(*ports, parts)

    network = nx.DiGraph()
    for link in range(topology.first_router_link, topology.n_links):
        here, there = (int(end[link]) for end in (topology.link_src, topology.link_dst))
        network.add_edge(here - topology.n_ports, there - topology.n_ports, link=link)
    load_s = np.zeros(topology.n_links)
    flows = sorted(zip(-parts, *ports, strict=True))
    assert len({size for size, _, _ in flows}) > len(flows) / 3
    worse = 0
    for size, a, b in flows:
        here, there = (int(topology.port_router[port]) for port in (a, b))
        if here == there:
            continue
        found = []
        for routers in nx.all_shortest_paths(network, here, there):
            links = [network.edges[edge]["link"] for edge in nx.utils.pairwise(routers)]
            after = load_s[links] - size / topology.link_bandwidth_Bps[links]
            found.append((after.max(), after.sum(), links))
        taken, router = [], here
        for place in pins_of(pinned)[a, b, 0]:
            link = routing.choices(router, int(b), 0)[place].link
            taken.append(link)
            router = int(topology.link_dst[link]) - topology.n_ports
        assert router == there
        best = min(found)
        mine = next(row for row in found if row[2] == taken)
        assert mine[:2] == pytest.approx(best[:2], rel=1e-12)
        worse += max(found)[0] > best[0]
        load_s[taken] -= size / topology.link_bandwidth_Bps[taken]
    assert worse > 100


def test_a_table_names_the_path_and_others_avoid_it():
    tree = xgft(4, 2, w2=4, levels=2)
    up = np.flatnonzero(tree.kind_mask("up1"))
    for path in range(4):
        routing = make_routing(tree, "pinned", {"pins": [[1, 5, 0, path]]})
        paths = flow_paths(routing, [0, 1], [4, 5], [2.0, 1.0])
        links = [set(paths.links[paths.ptr[i] : paths.ptr[i + 1]]) for i in range(2)]
        assert up[path] in links[1]
        assert up[path] not in links[0]


def test_flows_avoid_what_others_keep_busy():
    tree = xgft(4, 2, w2=4, levels=2)
    up = np.flatnonzero(tree.kind_mask("up1"))
    busy_s = np.zeros(tree.n_links)
    busy_s[up[[0, 1, 3]]] = 1.0
    paths = flow_paths(make_routing(tree, "pinned"), [0], [4], background_s=busy_s)
    assert up[2] in paths.links


def test_of_paths_whose_worst_links_are_alike_the_one_of_least_sum_is_taken():
    """By the seconds for which links up and down are busy: 2 + 1, 3 + 0, 1 + 2, 2 + 0."""
    tree = xgft(4, 2, w2=4, levels=2)
    up, down = (np.flatnonzero(tree.kind_mask(kind)) for kind in ("up1", "down1"))
    # down-links to the second leaf, by spine
    down = [i for i in down.tolist() if tree.link_dst[i] == tree.n_ports + 1]
    busy_s = np.zeros(tree.n_links)
    busy_s[up[:4]] = [2, 3, 1, 2]
    busy_s[down] = [1, 0, 2, 0]
    paths = flow_paths(make_routing(tree, "pinned"), [0], [4], background_s=busy_s)
    assert {up[3], down[3]} <= set(paths.links.tolist())


def test_a_flow_is_as_long_on_a_link_as_its_bandwidth_lets_it():
    """Two flows of a second each on two paths; on the first one a flow takes 2.5 s."""
    tree = xgft(2, 2, w2=2, levels=2)
    up = np.flatnonzero(tree.kind_mask("up1"))
    bandwidth_Bps = tree.link_bandwidth_Bps.copy()
    bandwidth_Bps[up[0]] = bandwidth_Bps[up[0]] * 2 // 5
    slower = replace(tree, link_bandwidth_Bps=bandwidth_Bps)
    paths = flow_paths(make_routing(slower, "pinned"), [0, 1], [2, 3], [1.0, 1.0])
    load = path_link_bytes(paths, np.ones(2), tree.n_links)
    assert load[up[:2]].tolist() == [0, 2]


@pytest.mark.parametrize(("queue_pairs", "loads"), [(1, [2, 0]), (2, [1, 1]), (4, [0.5, 1.5])])
def test_queue_pairs_divide_a_flow(queue_pairs, loads):
    """Bytes of 2 s on two paths, of which one is busy for 0.9 s: the second, or with 4 the first.

    One flow takes the free path. Of two of 1 s the second one ends after 1.9 s on the busy path, or
    after 2 s on the free one. Of four of 0.5 s the third one does, after 1.4 or 1.5 s.
    """
    tree = xgft(2, 2, w2=2, levels=2)
    up = np.flatnonzero(tree.kind_mask("up1"))
    busy_s = np.zeros(tree.n_links)
    busy_s[up[0 if queue_pairs == 4 else 1]] = 0.9
    size = 2.0 * tree.link_bandwidth_Bps[up[0]]
    routing = make_routing(tree, "pinned", {"queue_pairs": queue_pairs})
    paths = flow_paths(routing, [0], [2], [size], background_s=busy_s)
    load = path_link_bytes(paths, np.array([2.0]), tree.n_links)
    assert load[up[:2]].tolist() == loads


def test_a_table_counts_nodes_and_of_a_flow_twice_the_last_choice_counts():
    """Nodes of three ports: the flow of node 0 to 15 has one a plane, each on the path given."""
    src, dst = np.array([0]), np.array([15])
    for path in range(4):
        routing = make_routing(THREE_LEVELS, "pinned", {"pins": [[0, 15, 0, path]]})
        paths = EqualCostPaths(routing)
        for plane in range(2):
            a, b = (int(end[0]) for end in THREE_LEVELS.ports_between(src, dst, np.array([plane])))
            pins = pins_of(routing.pin(np.array([a]), np.array([b]), np.ones(1)))
            assert list(pins[a, b, 0]) == paths.between(a, b)[1][path].tolist()
    tree = xgft(2, 2, w2=2, levels=2)
    pinned = make_routing(tree, "pinned").pin(np.array([0, 0]), np.array([2, 2]), np.ones(2))
    # from a spine there is one link to the leaf
    assert list(pins_of(pinned)[0, 2, 0]) == [1, 0]
    # behind where each port's rows begin, and their end, one row: the flow and two places
    assert pinned.tables.table_b[tree.n_ports + 1 :].tolist() == [2, 1, 0]


def test_a_flow_has_equal_parts_on_all_rails_or_one_on_its_own():
    """Node 0 to 15, 100 bytes, with a port for the scale-up switch and one for each of 2 planes."""
    ends = np.array([0]), np.array([15])
    parts, src, dst, amount = port_flows(THREE_LEVELS, *ends, np.array([100.0]), None)
    assert (parts, src.tolist(), dst.tolist()) == (2, [1, 2], [46, 47])
    assert amount.tolist() == [50.0, 50.0]
    parts, src, dst, amount = port_flows(THREE_LEVELS, *ends, np.array([100.0]), 1)
    assert (parts, src.tolist(), dst.tolist(), amount.tolist()) == (1, [2], [47], [100.0])


def test_what_is_not_pinned_is_hashed():
    """A clear-to-send goes against the flows of the data."""
    routing = make_routing(THREE_LEVELS, "pinned")
    program = make_pattern("broadcast", 16, 10_000, 1, np.random.default_rng(0))
    traffic = combine([program], [np.arange(16)])
    config = PacketConfig(packet_bytes=1000, eager_limit_bytes=0)
    bound = pinned_for(routing, traffic)
    assert {flow[0] // THREE_LEVELS.rails for flow in pins_of(bound)} == {0}
    done = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    assert done.rank_finish_ps.min() >= 0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"queue_pairs": 0}, "queue_pairs"),
        ({"pins": [[0, 4, 0]]}, r"pins has \[0, 4, 0\]"),
        ({"pins": [[0, 99, 0, 0]]}, "destination from 0 to 7"),
        ({"pins": [[0, 4, 1, 0]]}, "queue pair from 0 to 0"),
        ({"pins": [[0, 4, 0, 4]]}, "path 4 from node 0 to 4, which have 4 of equal length"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters, words):
    tree = xgft(4, 2, w2=4, levels=2)
    with pytest.raises(NetcosimError, match=words):
        flow_paths(make_routing(tree, "pinned", parameters), [0], [4])
