"""Bounds on bisection: closed forms, every half of small networks, and what routers accept."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from selection import first_only

from netsim.analysis.bounds import bounds_of
from netsim.analysis.graph import cut_weight, router_graph
from netsim.errors import NetcosimError
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph as graph_topology
from netsim.topologies.hyperx import hypercube, hyperx
from netsim.topologies.torus import torus
from netsim.topology import Topology

GB = 10**9


@pytest.mark.parametrize(
    ("topology", "cables"),
    [
        (torus((8,)), 2),
        (torus((4, 4)), 8),
        (torus((6, 6, 4), wrap=True), 2 * 6 * 4),
        (torus((8, 4), wrap=False), 4),
        (hypercube(4), 8),
        (hypercube(7), 64),
        (hyperx((8,)), 16),  # complete: 4 x 4
        (hyperx((30,)), 15 * 15),
        (fat_tree(4), 8),  # full bisection: half of 16 nodes
        (fat_tree(8), 64),
        (fat_tree(12), 216),
    ],
)
def test_closed_forms(topology: Topology, cables: int) -> None:
    found = bounds_of(topology)
    cable = float(topology.link_bandwidth_Bps[-1])
    assert found.bisection_high_Bps == pytest.approx(cables * cable)
    assert found.bisection_low_Bps <= found.bisection_high_Bps * (1 + 1e-12)


@pytest.mark.parametrize("topology", [hypercube(4), hypercube(7), hyperx((30,)), torus((4, 4))])
def test_where_the_spectrum_is_tight(topology: Topology) -> None:
    """Hypercubes, complete graphs, rings of four: both bounds are equal."""
    found = bounds_of(topology)
    assert found.bisection_low_Bps == pytest.approx(found.bisection_high_Bps)


def test_routers_without_nodes_settle_at_the_mean_of_their_neighbours() -> None:
    """A node at either end of a path of three links: one link of a third, of second eigenvalue 2/3;
    no half of two nodes has less than 2/3 x 1 x 1 / 2 to the other."""
    path = nx.path_graph(4)
    nx.set_node_attributes(path, {0: 1, 1: 0, 2: 0, 3: 1}, "nodes")
    found = bounds_of(graph_topology(path))
    assert found.bisection_low_Bps == pytest.approx(GB / 3)
    assert found.bisection_high_Bps == GB


def plain_bisection(topology: Topology) -> float:
    """Each half of the nodes' routers, each side for every other router: one by one."""
    graph = router_graph(topology, by_bandwidth=True)
    n = topology.n_routers
    nodes = np.bincount(topology.port_router, minlength=n)
    found: dict[float, float] = {}
    for size in range(1, n):
        for chosen in combinations(range(n), size):
            members = np.zeros(n, dtype=np.bool_)
            members[list(chosen)] = True
            off = abs(2 * nodes[members].sum() - nodes.sum())
            found[off] = min(found.get(off, np.inf), cut_weight(graph, members))
    return found[min(found)]


@pytest.mark.parametrize("seed", first_only(range(8)))
def test_small_graphs_against_every_half(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random graphs with unlike links and unlike routers; the search, too, is an upper bound."""
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(9, 0.45, seed=seed)
    graph.add_edges_from((i, i + 1) for i in range(8))
    for _, data in graph.nodes(data=True):
        data["nodes"] = int(rng.integers(0, 4 if seed % 2 else 2))
    graph.nodes[0]["nodes"] = graph.nodes[8]["nodes"] = 1
    for *_, data in graph.edges(data=True):
        data["bandwidth_Bps"] = int(rng.integers(1, 5)) * GB
    topology = graph_topology(graph)
    wanted = plain_bisection(topology)
    found = bounds_of(topology)
    assert found.exact
    assert found.bisection_high_Bps == pytest.approx(wanted)
    assert found.bisection_low_Bps <= wanted * (1 + 1e-9)
    if seed % 2:
        return  # halves along an order of routers with several nodes may be further from half
    monkeypatch.setattr("netsim.analysis.bounds.EXACT_ROUTERS", 0)
    searched = bounds_of.__wrapped__(topology)
    assert not searched.exact
    assert searched.bisection_high_Bps >= wanted * (1 - 1e-9)


def test_uniform_traffic_by_the_halves() -> None:
    """A ring of 8 with 4 nodes each: 16 x 16 pairs over 2 cables; (n - 1) / (16 x 16) x 2."""
    ring = torus((8,), concentration=4)
    assert bounds_of(ring).uniform_load == pytest.approx(2 * 31 / 256)
    assert bounds_of(fat_tree(8)).uniform_load == pytest.approx(1.0)


def test_what_cannot_be_halved_is_refused() -> None:
    with pytest.raises(NetcosimError, match="nodes on 1 of 1 routers"):
        bounds_of(hyperx((1,), concentration=4))
    with pytest.raises(NetcosimError, match="2 to 3,000 routers are looked at"):
        bounds_of(torus((16, 16, 16)))


def test_a_dragonflys_global_links_are_the_bisection() -> None:
    """10 groups with one link a pair: 5 x 5 of them, fewer than any cut through groups."""
    topology = dragonfly(1, 9, 10, h=1)
    found = bounds_of(topology)
    assert found.bisection_high_Bps == pytest.approx(25 * float(topology.link_bandwidth_Bps[-1]))
    assert "bisection" in found.describe()[0]


def test_a_run_that_asks_for_bounds_has_them_and_its_key_does() -> None:
    from netcosim.config.load import config_from
    from netcosim.report.about import notes_of
    from netcosim.runs.cosim import run_cosim
    from netcosim.runs.cosim_tables import result_tables
    from netcosim.runs.points import point_key

    content: dict[str, object] = {
        "machine": {"family": "torus", "dims": [4, 4]},
        "workload": {"synthetic": {"n_jobs": 5, "mean_nodes": 2}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    plain, asked = (config_from(content | more) for more in ({}, {"analysis": {"bounds": True}}))
    idle = config_from(content | {"analysis": {"bounds": False}})
    assert point_key(plain.resolved()) == point_key(idle.resolved()) != point_key(asked.resolved())
    results = [run_cosim(config) for config in (plain, asked)]
    tables = [result_tables(result) for result in results]
    assert "bounds" not in tables[0]
    [row] = tables[1].pop("bounds")
    assert row["bisection_high_Bps"] == 8 * results[0].machine.topology.link_bandwidth_Bps[-1]
    assert tables[0] == tables[1]
    assert sum("bisection" in line for line in notes_of(results[1])) == 1
    assert not any("bisection" in line for line in notes_of(results[0]))
