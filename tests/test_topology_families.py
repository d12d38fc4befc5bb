"""Counts, degrees, symmetry, diameter and arrangement of every topology family."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import is_dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing_machines import small_machines
from selection import examples

from netsim.errors import NetcosimError
from netsim.parameters import parameters_of
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import ARRANGEMENTS, DragonflyShape, GroupLinks, dragonfly
from netsim.topologies.family import EqualLinks
from netsim.topologies.fattree import FatTreeLinks, FatTreeShape, fat_tree, xgft
from netsim.topologies.graph import graph, graph_file
from netsim.topologies.hyperx import hypercube, hyperx
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES, make_topology, preset
from netsim.topologies.slimfly import slimfly
from netsim.topologies.torus import torus
from netsim.topology import Topology


def router_links(t: Topology) -> list[tuple[int, int]]:
    s = slice(t.first_router_link, None)
    return [
        (int(a) - t.n_ports, int(b) - t.n_ports)
        for a, b in zip(t.link_src[s], t.link_dst[s], strict=True)
    ]


def router_graph(t: Topology) -> nx.Graph:
    g: nx.Graph = nx.Graph(router_links(t))
    g.add_nodes_from(range(t.n_routers))
    return g


SMALL_PRESETS = [n for n in PRESETS if n not in ("intrepid", "mira", "juqueen", "sequoia")]


def check_symmetric(t: Topology) -> None:
    count = Counter(
        zip(router_links(t), t.link_bandwidth_Bps[t.first_router_link :].tolist(), strict=True)
    )
    assert all(count[((b, a), bw)] == n for ((a, b), bw), n in count.items())
    assert all(a != b for a, b in router_links(t))


@pytest.mark.parametrize("t", small_machines(), ids=lambda t: t.name)
def test_every_link_has_its_reverse(t: Topology) -> None:
    check_symmetric(t)
    assert nx.is_connected(router_graph(t))


@pytest.mark.parametrize("name", SMALL_PRESETS)
def test_presets_are_symmetric_and_named(name: str) -> None:
    t = preset(name)
    assert t.name == name
    check_symmetric(t)
    if "-" in name and name.split("-")[1].isdigit():
        assert t.n_nodes == int(name.split("-")[1])


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        *(("cab", 1296), ("pinot", 2592), ("theta", 4608), ("mira-midplanes", 96), ("mira", 49152)),
        *(("dgx-b200", 1024), ("alps-gh200", 10_752), ("tpu-v4", 64 * 4**3)),
    ],
)
def test_preset_sizes(name: str, nodes: int) -> None:
    assert preset(name).n_nodes == nodes


@examples(40)
@given(
    p=st.integers(1, 3),
    a=st.integers(1, 5),
    h=st.integers(1, 4),
    g=st.integers(2, 9),
    arrangement=st.sampled_from(ARRANGEMENTS),
)
def test_dragonfly_invariants(p: int, a: int, h: int, g: int, arrangement: str) -> None:
    if g > a * h + 1:
        with pytest.raises(NetcosimError, match=f"at most a\\*h\\+1 = {a * h + 1}"):
            dragonfly(p, a, g, h, arrangement=arrangement)
        return
    t = dragonfly(p, a, g, h, arrangement=arrangement)
    check_symmetric(t)
    s = t.shape
    assert (t.n_nodes, t.n_routers) == (p * a * g, a * g)
    out = Counter()
    pairs = Counter()
    for link in np.flatnonzero(t.kind_mask("global")):
        src, dst = int(t.link_src[link]) - t.n_nodes, int(t.link_dst[link]) - t.n_nodes
        out[src] += 1
        pairs[src // a, dst // a] += 1
    copies = a * h // (g - 1)
    assert max(out.values()) <= h
    assert pairs == {(x, y): copies for x in range(g) for y in range(g) if x != y}
    local = [router_links(t)[i - 2 * t.n_nodes] for i in np.flatnonzero(t.kind_mask("local"))]
    assert len(set(local)) == g * a * (a - 1)
    assert all(x // a == y // a for x, y in local)
    for x in range(g):
        for y in range(g):
            for c in range(copies if x != y else 0):
                link = s.global_link(x, y, c)
                assert t.link_src[link] - t.n_nodes == s.global_router(x, y, c)
                assert t.link_dst[link] - t.n_nodes == s.global_router(y, x, c)


def test_arrangements_by_hand() -> None:
    # Five groups, links 0..3 of group 1: who is at the other end.
    ends = {
        "absolute": [0, 2, 3, 4],
        "relative": [2, 3, 4, 0],
        "circulant": [2, 0, 3, 4],  # +1, -1, +2, -2
    }
    for arrangement, far in ends.items():
        s = DragonflyShape(p=1, a=4, h=1, g=5, arrangement=arrangement)
        assert [s.link_number(1, d) for d in far] == [0, 1, 2, 3], arrangement
    # h = 2: link 3 of group 1 sits on its router 1; absolute: group 4 holds link 1 to it.
    s = DragonflyShape(p=4, a=2, h=2, g=5)
    assert s.global_router(1, 4) == 2 + 1
    assert s.global_router(4, 1) == 4 * 2 + 0


def test_default_ports_give_one_link_a_pair() -> None:
    t = dragonfly(4, 4, 17)
    assert t.shape.h == 4
    assert t.shape.global_links_per_pair == 1
    assert nx.diameter(router_graph(t)) == 3


def test_aries_group() -> None:
    t = dragonfly(4, 96, 2, 1, group="aries", links=GroupLinks(local_bandwidth_Bps=1000))
    s = t.shape
    assert s.local_degree == 15 + 5
    inside = nx.Graph([(x, y) for x, y in router_links(t) if x < 96 and y < 96])
    assert set(dict(inside.degree()).values()) == {20}
    assert nx.diameter(inside) == 2
    row, column = s.local_link(0, 0, 1), s.local_link(0, 0, 16)
    assert t.link_dst[row] - t.n_nodes == 1
    assert t.link_dst[column] - t.n_nodes == 16
    assert (t.link_bandwidth_Bps[row], t.link_bandwidth_Bps[column]) == (1000, 3000)
    assert s.local_step(0, 17) == 1  # along the chassis first


@examples(40)
@given(*(st.integers(1, 4) for _ in range(5)))
def test_fattree_link_numbers(m1: int, m2: int, m3: int, w2: int, w3: int) -> None:
    t = xgft(m1, m2, m3, w2, w3)
    check_symmetric(t)
    s = t.shape
    r0 = t.n_nodes
    assert t.n_links == 2 * (m1 * m2 * m3 + m2 * m3 * w2 + m3 * w2 * w3)
    for leaf in range(s.n_leaves):
        for j in range(w2):
            l2 = s.n_leaves + leaf // m2 * w2 + j
            up, down = s.leaf_up(leaf, j), s.leaf_down(leaf, j)
            assert (t.link_src[up], t.link_dst[up]) == (r0 + leaf, r0 + l2)
            assert (t.link_src[down], t.link_dst[down]) == (r0 + l2, r0 + leaf)
            assert (t.kinds[t.link_kind[up]], t.kinds[t.link_kind[down]]) == ("up1", "down1")
    for pod in range(m3):
        for j in range(w2):
            for k in range(w3):
                l2 = s.n_leaves + pod * w2 + j
                spine = s.n_leaves + s.n_l2 + j * w3 + k
                up, down = s.l2_up(pod, j, k), s.l2_down(pod, j, k)
                assert (t.link_src[up], t.link_dst[up]) == (r0 + l2, r0 + spine)
                assert (t.link_src[down], t.link_dst[down]) == (r0 + spine, r0 + l2)
                assert (t.kinds[t.link_kind[up]], t.kinds[t.link_kind[down]]) == ("up2", "down2")
    nodes = np.arange(t.n_nodes)
    assert np.array_equal(s.leaf_of(nodes), t.node_router)
    assert np.array_equal(s.pod_of(nodes), t.node_router // m2)


def test_full_fat_tree_uses_every_port() -> None:
    t = fat_tree(6)
    ports = Counter(a for a, _ in router_links(t)) + Counter(t.node_router.tolist())
    assert set(ports.values()) == {6}
    assert (t.n_nodes, t.n_routers) == (54, 45)
    two = fat_tree(6, levels=2)
    ports = Counter(a for a, _ in router_links(two)) + Counter(two.node_router.tolist())
    assert set(ports.values()) == {6}
    assert (two.n_nodes, two.n_routers) == (18, 9)


def test_fewer_pods_keep_the_spines() -> None:
    t = fat_tree(6, pods=2)
    assert t.shape == FatTreeShape(3, 3, 3, 2, 3, 3)
    assert t.shape.n_spines == 9
    assert fat_tree(8, taper=0.5).shape == FatTreeShape(3, 4, 4, 8, 2, 2)


@examples(40)
@given(
    dims=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    wraps=st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_torus_is_the_product_of_rings_and_paths(dims: list[int], wraps: list[bool]) -> None:
    t = torus(dims, wrap=wraps[: len(dims)])
    check_symmetric(t)
    oracle = nx.grid_graph(dims[::-1], periodic=wraps[: len(dims)][::-1])
    oracle.remove_edges_from(list(nx.selfloop_edges(oracle)))
    if len(dims) == 1:
        oracle = nx.relabel_nodes(oracle, {v: (v,) for v in list(oracle)})
    ours = {frozenset((t.shape.coords(a), t.shape.coords(b))) for a, b in router_links(t)}
    assert ours == {frozenset(edge) for edge in oracle.edges}
    assert len(router_links(t)) == 2 * len(ours)
    rows = [t.shape.coords(r) for r in range(t.n_routers)]
    assert rows == list(np.ndindex(*t.shape.dims))


@pytest.mark.parametrize(
    "t", [torus([1]), dragonfly(2, 1, 1), hyperx([1]), xgft(2, 1, 1), graph(nx.empty_graph(1))]
)
def test_machines_of_one_router_can_be_routed(t: Topology) -> None:
    routing = make_routing(t)
    assert routing.choices(0, t.n_nodes - 1, 0) == [(2 * t.n_nodes - 1, 0, 0)]
    assert find_cycle(routing) is None


def test_torus_length_two_and_factors() -> None:
    assert len(router_links(torus([2]))) == 2
    double = torus([2], double_links_for_two=True)
    assert len(router_links(double)) == 4
    assert [int(double.kind_mask(k).sum()) for k in ("d0+", "d0-")] == [2, 2]
    t = torus(
        [3, 3],
        bandwidth_factor=[1, 2.5],
        concentration=2,
        links=EqualLinks(link_bandwidth_Bps=1000),
    )
    assert set(t.link_bandwidth_Bps[t.kind_mask("d0-")]) == {1000}
    assert set(t.link_bandwidth_Bps[t.kind_mask("d1+")]) == {2500}
    assert t.node_router.tolist() == [r for r in range(9) for _ in range(2)]
    # C order: the last dimension is fastest.
    assert torus([2, 3]).shape.coords(4) == (1, 1)


def speeds(t: Topology) -> dict[str, tuple[int, float]]:
    """(bandwidth, latency) of each link kind, which must be alike within a kind."""
    found = {}
    for kind in t.kinds:
        mask = t.kind_mask(kind)
        pairs = set(zip(t.link_bandwidth_Bps[mask], t.link_latency_s[mask], strict=True))
        assert len(pairs) == 1, kind
        found[kind] = (int(min(pairs)[0]), float(min(pairs)[1]))
    return found


def test_bandwidths_and_latencies_stand_on_their_links() -> None:
    """Every family with values that all differ: each kind of link has its own."""
    ends = {"injection": (11, 0.1), "ejection": (11, 0.1)}
    fly = dragonfly(1, 2, 3, links=GroupLinks(11, 0.1, 12, 0.2, 13, 0.3))
    assert speeds(fly) == {**ends, "local": (12, 0.2), "global": (13, 0.3)}
    tree = xgft(2, 2, 2, links=FatTreeLinks(11, 0.1, 12, 0.2, 13, 0.3))
    low, high = (12, 0.2), (13, 0.3)
    assert speeds(tree) == {**ends, "up1": low, "down1": low, "up2": high, "down2": high}
    links = EqualLinks(11, 0.1, 12, 0.2)
    for t in (
        torus([3, 3], links=links),
        torus([2, 3], wrap=False, links=links),
        hyperx([3, 4], links=links),
        hypercube(3, links=links),
        slimfly(3, links=links),
    ):
        wires = [kind for kind in t.kinds if kind not in ends]
        assert speeds(t) == {**ends, **dict.fromkeys(wires, (12, 0.2))}
    even = {"bandwidth_Bps": 14, "latency_s": 0.4}
    assert set(speeds(fat_tree(4, **even)).values()) == {(14, 0.4)}


def test_bandwidths_are_rounded_to_whole_bytes() -> None:
    t = torus([3], bandwidth_factor=[0.9996], links=EqualLinks(link_bandwidth_Bps=1000))
    assert set(t.link_bandwidth_Bps[t.kind_mask("d0+")]) == {1000}


def test_defaults_of_the_families() -> None:
    """A fat-tree has as many links up as down; a taper is rounded to whole links; a Slim Fly
    has half as many nodes a router as links, rounded up: of 11 links 6, of 7 links 4."""
    assert xgft(2, 3, 4).shape == FatTreeShape(3, 2, 3, 4, 2, 3)
    assert fat_tree(6, taper=0.6).shape == FatTreeShape(3, 3, 3, 6, 2, 2)
    assert fat_tree(6, taper=0.1).shape == FatTreeShape(3, 3, 3, 6, 1, 1)
    assert [slimfly(q).shape.concentration for q in (5, 7)] == [4, 6]


def test_blue_gene_bisection() -> None:
    # Oltchik et al., Table 6: 256 links in the bisection of one midplane.
    t = torus([4, 4, 4, 4, 2], double_links_for_two=True)
    links = router_links(t)
    crossing = sum(t.shape.coords(a)[0] < 2 <= t.shape.coords(b)[0] for a, b in links)
    assert crossing == 256
    assert set(Counter(a for a, _ in links).values()) == {10}


def test_hypercube_and_hyperx() -> None:
    assert nx.is_isomorphic(router_graph(hypercube(4)), nx.hypercube_graph(4))
    assert sorted(router_graph(hypercube(3)).neighbors(5)) == [1, 4, 7]
    t = hyperx([3, 4], concentration=2)
    oracle = nx.cartesian_product(nx.complete_graph(3), nx.complete_graph(4))
    assert nx.is_isomorphic(router_graph(t), oracle)
    assert (t.n_nodes, len(router_links(t))) == (24, 12 * 5)


@pytest.mark.parametrize("q", [3, 5, 7, 11, 13])
def test_slimfly_has_diameter_two(q: int) -> None:
    t = slimfly(q)
    g = router_graph(t)
    assert t.n_routers == 2 * q * q
    assert set(dict(g.degree()).values()) == {(3 * q - (1 if q % 4 == 1 else -1)) // 2}
    assert nx.diameter(g) == 2
    check_symmetric(t)


def test_smallest_slimfly_is_the_hoffman_singleton_graph() -> None:
    assert nx.is_isomorphic(router_graph(slimfly(5)), nx.hoffman_singleton_graph())


def test_graph_attributes(tmp_path: Path) -> None:
    g = nx.Graph()
    g.add_node("a", nodes=3)
    g.add_node("b", nodes=0)
    g.add_node("c")
    g.add_edge("a", "b", bandwidth_Bps=7, latency_s=1e-6)
    g.add_edge("b", "c")
    t = graph(g)
    assert t.node_router.tolist() == [0, 0, 0, 2]
    assert t.link_bandwidth_Bps[8:].tolist() == [7, 7, 10**9, 10**9]
    assert t.link_latency_s[8:].tolist() == [1e-6, 1e-6, 40e-9, 40e-9]
    assert t.shape.labels == ("a", "b", "c")
    nx.write_graphml(g, tmp_path / "g.graphml")
    again = graph_file(str(tmp_path / "g.graphml"))
    assert np.array_equal(again.link_src, t.link_src)
    assert np.array_equal(again.link_bandwidth_Bps, t.link_bandwidth_Bps)


@pytest.mark.parametrize(
    ("family", "params", "message"),
    [
        ("fattre", {}, "unknown topology 'fattre'; did you mean fattree"),
        ("torus", {"dimensions": [3]}, "unknown parameter of topology torus 'dimensions'"),
        ("torus", {}, "parameter dims is missing"),
        ("torus", {"dims": [3, 0]}, "a list of whole numbers, each at least 1"),
        ("torus", {"dims": 3}, "dims = 3; it must be a list of whole numbers"),
        ("torus", {"dims": [3], "node_bandwidth_Bps": "fast"}, "it must be a whole number"),
        (
            "torus",
            {"dims": [3], "link_bandwidth_Bps": 0},
            "Bps = 0; it must be above 0",
        ),
        ("torus", {"dims": [3, 3], "wrap": [True]}, "wrap has 1 values for 2 dimensions"),
        ("dragonfly", {"p": 1, "a": 2, "g": 4, "h": 1}, r"g = 4 groups.*a\*h\+1 = 3"),
        ("dragonfly", {"p": 1, "a": 8, "g": 4, "group": "aries"}, "has 96 routers"),
        (
            "dragonfly",
            {"p": 1, "a": 8, "g": 4, "arrangement": "x"},
            "must be 'absolute'",
        ),
        ("dragonfly", {"p": "1", "a": 8, "g": 4}, "p = '1'; it must be a whole number"),
        ("fattree", {"radix": 7}, "radix = 7; it must be even"),
        ("fattree", {"radix": 8, "pods": 9}, "at most 8"),
        ("fattree", {"radix": 8, "taper": 0}, "taper = 0"),
        ("fattree", {"m1": 2, "m2": 2, "levels": 2, "m3": 2}, "two levels need m3 = 1"),
        ("slimfly", {"q": 9}, "odd prime"),
        ("graph", {"file": "nowhere.gml"}, "cannot be read"),
    ],
)
def test_mistakes_are_named(family: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message) as error:
        make_topology(family, params)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nx.DiGraph([(0, 1)]), "directed"),
        (nx.Graph([(0, 1), (2, 3)]), "not connected"),
    ],
)
def test_graphs_that_are_no_network(network: nx.Graph, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        graph(network)


def test_every_family_is_among_the_machines_of_the_laws() -> None:
    """Paths, deadlock freedom and the engines' equality are tested on these machines."""
    assert {t.family for t in small_machines()} == set(FAMILIES)


def test_every_parameter_of_a_machine_is_declared() -> None:
    """What a builder takes and does not declare, no config can say."""
    for family in FAMILIES.values():
        for builder in family.builders:
            keys = set()
            for name, parameter in inspect.signature(builder).parameters.items():
                group = is_dataclass(parameter.default)
                keys |= set(parameters_of(type(parameter.default))) if group else {name}
            assert set(parameters_of(builder)) == keys


def test_unknown_machine_lists_the_known() -> None:
    with pytest.raises(NetcosimError, match="unknown machine 'cap'; did you mean cab"):
        preset("cap")
    assert all(entry.description for entry in FAMILIES.values())
