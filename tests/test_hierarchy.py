"""Nested domains of every family's nodes, names of nodes, lists of host names."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing_machines import small_machines
from selection import examples

from netsim.errors import NetcosimError
from netsim.hierarchy import Hierarchy, hierarchy_of
from netsim.hostlist import compress, expand, places_of
from netsim.topologies.graph import graph
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import make_topology, preset
from netsim.topology import Ports, RouterLinks, Topology, build_topology, nodes_named

MACHINES = (*small_machines(), *(preset(n) for n in PRESETS if n not in ("juqueen", "sequoia")))


@pytest.mark.parametrize("t", MACHINES, ids=lambda t: t.name)
def test_domains_are_nested_and_hold_every_node_once(t: Topology) -> None:
    h = hierarchy_of(t)
    assert h.levels[0] == "machine"
    assert len(set(h.levels)) == len(h.levels)
    assert h.domain.shape == (len(h.levels), t.n_nodes)
    assert h.counts[0] == 1
    assert list(h.counts) == sorted(h.counts)
    for level in range(len(h.levels)):
        assert int(h.sizes(level).sum()) == t.n_nodes
        found = [np.flatnonzero(h.domain[level] == d) for d in range(min(h.counts[level], 50))]
        for number, nodes in enumerate(found):
            assert len(nodes) == h.sizes(level)[number] > 0
            if level:
                up = set(h.domain[level - 1][nodes].tolist())
                assert up == {int(h.above(level)[number])}


@pytest.mark.parametrize("t", small_machines(), ids=lambda t: t.name)
def test_nodes_of_a_lowest_domain_share_their_routers(t: Topology) -> None:
    h = hierarchy_of(t)
    for d in range(h.counts[-1]):
        ports = t.port_router.reshape(t.n_nodes, t.rails)[h.domain[-1] == d]
        if t.scale_up is not None:  # GPUs of a node: the scale-up switch, but not the leaves
            ports = ports[:, 0]
        assert np.all(ports == ports[0])


@pytest.mark.parametrize(
    ("family", "params", "levels", "counts"),
    [
        ("fattree", {"radix": 8, "pods": 3}, ("machine", "pod", "leaf"), (1, 3, 12)),
        ("fattree", {"radix": 8, "levels": 2}, ("machine", "leaf"), (1, 8)),
        ("dragonfly", {"p": 2, "a": 4, "g": 9}, ("machine", "group", "router"), (1, 9, 36)),
        (
            "dragonfly-plus",
            {"p": 2, "leaves": 3, "spines": 2, "g": 5},
            ("machine", "group", "leaf"),
            (1, 5, 15),
        ),
        ("torus", {"dims": [4, 1, 3, 2]}, ("machine", "plane", "line", "router"), (1, 4, 12, 24)),
        (
            "torus",
            {"dims": [5, 4, 4, 2]},
            ("machine", "3d-slab", "plane", "line", "router"),
            (1, 5, 20, 80, 160),
        ),
        ("hyperx", {"dims": [3, 4]}, ("machine", "line", "router"), (1, 3, 12)),
        ("slimfly", {"q": 5}, ("machine", "router"), (1, 50)),
        # of levels with one domain only the lowest is kept
        ("gpu-cluster", {"nodes": 1}, ("machine", "node"), (1, 1)),
        (
            "gpu-cluster",
            {"nodes": 8, "gpus_per_node": 2, "scale_up_domain": 4, "nodes_per_leaf": 4},
            ("machine", "segment", "domain", "node"),
            (1, 2, 4, 8),
        ),
    ],
)
def test_levels_and_counts(family, params, levels, counts):
    h = hierarchy_of(make_topology(family, params))
    assert (h.levels, h.counts) == (levels, counts)


def test_a_plane_of_a_torus_is_what_shares_a_coordinate() -> None:
    t = make_topology("torus", {"dims": [3, 2, 4], "concentration": 2})
    h, coords = hierarchy_of(t), t.shape.all_coords()[t.node_router]
    assert np.array_equal(h.domain[1], coords[:, 0])
    assert np.array_equal(h.domain[2], coords[:, 0] * 2 + coords[:, 1])


def test_domains_of_a_graph_have_its_labels() -> None:
    network = nx.Graph([("a", "b"), ("b", "c")])
    network.nodes["b"]["nodes"] = 0
    h = hierarchy_of(graph(network))
    assert h.names[1] == ("a", "c")
    assert (h.name(1, 1), h.name(0, 0)) == ("c", "machine 0")


@pytest.mark.parametrize(
    ("levels", "domain", "names", "told"),
    [
        (("machine",), [[0, 1]], (), "not one domain"),
        (("machine", "leaf"), [[0, 0]], (), "do not fit"),
        (("machine", "leaf"), [[0, 0], [0, 2]], (), "must be 0, 1"),
        (("machine", "pod", "leaf"), [[0] * 3, [0, 1, 1], [0, 0, 1]], (), "lies in two"),
        (("machine", "leaf"), [[0, 0], [0, 1]], ((), ("a",)), "2 domains, 1 names"),
    ],
)
def test_domains_that_do_not_nest_are_refused(levels, domain, names, told):
    with pytest.raises(NetcosimError, match=told):
        Hierarchy(levels, np.array(domain), names)  # type: ignore[arg-type]


def test_a_machine_without_levels() -> None:
    h = Hierarchy(("machine",), np.zeros((1, 3), dtype=np.int32))
    assert (h.levels, h.counts, h.n_nodes) == (("machine",), (1,), 3)


# Host lists

NAMES = st.from_regex(r"[a-z]{0,3}[0-9]{0,4}[a-z.-]{0,2}[0-9]{0,3}[a-z]{0,2}", fullmatch=True)


@examples(40)
@given(st.lists(NAMES.filter(bool)))
def test_expand_undoes_compress(hosts: list[str]) -> None:
    assert expand(compress(hosts)) == hosts


@examples(40)
@given(st.integers(0, 2000), st.integers(1, 300), st.integers(1, 5))
def test_a_run_of_numbers_becomes_one_range(first: int, count: int, width: int) -> None:
    hosts = [f"n{i:0{width}d}" for i in range(first, first + count)]
    text = compress(hosts)
    assert expand(text) == hosts
    assert text.count("-") == (count > 1)
    assert text.count(",") == 0


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("login", ["login"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[1,3],m2", ["n1", "n3", "m2"]),
        ("r[1-2]c[0-1]s", ["r1c0s", "r1c1s", "r2c0s", "r2c1s"]),
        ("a , b", ["a", "b"]),
    ],
)
def test_lists_by_hand(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("n[1-3", "not closed"),
        ("n1]", "do not match"),
        ("n[1-[2]]", "do not match"),
        ("n[a-b]", "no number and no range"),
        ("n[]", "no number and no range"),
        ("n[3-1]", "backwards"),
        ("n[0-99999999999]", "hosts"),
        ("n[0-9999][0-9999]", "more than"),
    ],
)
def test_lists_that_are_none(text: str, told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        expand(text)


@pytest.mark.parametrize("host", ["", "a b", "a,b", "n[1]"])
def test_names_that_no_list_can_hold(host: str) -> None:
    with pytest.raises(NetcosimError, match="host name"):
        compress([host])


# Names of nodes


def named(names: tuple[str, ...]) -> Topology:
    return build_topology(
        family="graph",
        name="m",
        shape=None,
        n_routers=1,
        node_names=names,
        ports=Ports(router=np.zeros(3), bandwidth_Bps=1, latency_s=0.0),
        links=RouterLinks(
            src=np.array([]),
            dst=np.array([]),
            kind=np.array([]),
            kinds=(),
            bandwidth_Bps=1,
            latency_s=0.0,
        ),
    )


def test_nodes_by_name_short_or_full() -> None:
    t = named(("n1.site.org", "n2.site.org", "N2"))
    assert nodes_named(t, ["n1", "N1", "n1.other", "N2", "n2.site.org"]).tolist() == [0, 0, 0, 2, 1]
    # "n2" could be either of two
    with pytest.raises(NetcosimError, match=r"m: no node 'n2' \(and 1 more\); its 3 nodes are n1"):
        nodes_named(t, ["n1", "n2", "n2", "n9"])


def test_nodes_without_names_are_their_numbers() -> None:
    assert nodes_named(named(()), ["2", "0"]).tolist() == [2, 0]
    with pytest.raises(NetcosimError, match="no node 'n0'"):
        nodes_named(named(()), ["n0"])


def test_places_of_names() -> None:
    assert places_of(["b", "x", "a"], ["a", "b"]).tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("names", "told"), [(("a", "b"), "2 node names for 3 nodes"), (("a", "b", "a"), "'a' is there")]
)
def test_names_must_be_one_a_node(names: tuple[str, ...], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        named(names)
