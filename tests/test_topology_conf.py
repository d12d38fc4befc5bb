"""Machines from Slurm's topology.conf and topology.yaml: what is read, assumed and refused."""

from __future__ import annotations

import importlib.util
import runpy
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.registry import family_of, make_topology
from netsim.topology import Topology, nodes_named

TREE = """
# a comment
SwitchName=leaf1 Nodes=n[01-03] LinkSpeed=100
SWITCHNAME=leaf2 nodes="n[04-05]"   # another
SwitchName=leaf3 \\
    Nodes=n06
SwitchName=mid Switches=leaf[1-2]
SwitchName=top Switches=mid,leaf3
"""


def machine(folder: Path, text: str, name: str = "topology.conf", **params: object) -> Topology:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return make_topology("topology.conf", {"file": str(path), **params})


def cables(t: Topology) -> Counter[tuple[str, str]]:
    """Cables between switches, by name, the lower switch first."""
    up = np.flatnonzero(t.kind_mask("up"))
    names = t.shape.switches
    src, dst = t.link_src[up] - t.n_ports, t.link_dst[up] - t.n_ports
    return Counter((names[a], names[b]) for a, b in zip(src.tolist(), dst.tolist(), strict=True))


def test_a_tree_by_hand(tmp_path: Path) -> None:
    t = machine(tmp_path, TREE)
    assert (t.name, t.n_nodes, t.n_routers) == ("topology.conf", 6, 5)
    assert t.node_names == ("n01", "n02", "n03", "n04", "n05", "n06")
    assert t.shape.switches == ("leaf1", "leaf2", "leaf3", "mid", "top")
    assert t.shape.height.tolist() == [0, 0, 0, 1, 2]
    # as much up as comes from below
    assert cables(t) == {
        ("leaf1", "mid"): 3,
        ("leaf2", "mid"): 2,
        ("mid", "top"): 5,
        ("leaf3", "top"): 1,
    }
    h = hierarchy_of(t)
    assert h.levels == ("machine", "level-1", "leaf")
    assert h.names == ((), ("mid", "leaf3"), ("leaf1", "leaf2", "leaf3"))
    assert h.domain.tolist() == [[0] * 6, [0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 2]]
    assert "1 lines" in t.shape.notes[-1]
    assert family_of(t).notes(t) == t.shape.notes


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        ({"taper": 0.5}, (2, 1, 2, 1)),  # round to even: 1.5 -> 2, 2.5 up of 3 -> 2
        ({"taper": [1.0, 0.2]}, (3, 2, 1, 1)),
        ({"taper": [2, 1]}, (6, 4, 10, 2)),
        ({"uplinks": 4}, (4, 4, 4, 4)),
        ({"uplinks": [1, 7]}, (1, 1, 7, 1)),
        ({"link_bandwidth_Bps": 3 * 10**9}, (1, 1, 2, 1)),
    ],
)
def test_cables_by_level(tmp_path, params, wanted):
    found = cables(machine(tmp_path, TREE, **params))
    ends = [("leaf1", "mid"), ("leaf2", "mid"), ("mid", "top"), ("leaf3", "top")]
    assert tuple(found[end] for end in ends) == wanted


def test_several_switches_above_share_the_cables(tmp_path: Path) -> None:
    text = "".join(f"SwitchName=l{i} Nodes=n[{i}0-{i}6]\n" for i in range(3))
    t = machine(tmp_path, text + "SwitchName=s1 Switches=l[0-2]\nSwitchName=s2 Switches=l[0-2]\n")
    assert cables(t) == {(f"l{i}", s): n for i in range(3) for s, n in (("s1", 4), ("s2", 3))}
    assert hierarchy_of(t).levels == ("machine", "leaf")


def test_nodes_stand_leaf_by_leaf_whatever_their_order(tmp_path: Path) -> None:
    text = (
        "SwitchName=a1 Nodes=n[3,1]\nSwitchName=b1 Nodes=n2\nSwitchName=a2 Nodes=n0\n"
        "SwitchName=a Switches=a[1-2]\nSwitchName=b Switches=b1\nSwitchName=r Switches=a,b\n"
    )
    t = machine(tmp_path, text)
    assert t.node_names == ("n3", "n1", "n0", "n2")
    assert nodes_named(t, ["n0", "n3"]).tolist() == [2, 0]


def test_one_switch_is_a_machine(tmp_path: Path) -> None:
    t = machine(tmp_path, "SwitchName=s Nodes=n[1-4]\n")
    assert (t.n_routers, t.n_links, hierarchy_of(t).counts) == (1, 8, (1, 1))


def test_blocks(tmp_path: Path) -> None:
    text = "".join(f"BlockName=b{i} Nodes=g{i}n[1-4]\n" for i in range(5)) + "BlockSizes=4,8,16\n"
    t = machine(tmp_path, text, taper=0.5)
    assert cables(t) == {(f"b{i}", "core"): 2 for i in range(5)}
    h = hierarchy_of(t)
    assert (h.levels, h.counts) == (("machine", "block-16", "block-8", "block"), (1, 2, 3, 5))
    assert h.names[2] == ("b0 to b1", "b2 to b3", "b4")
    assert h.domain[1].tolist() == [0] * 16 + [1] * 4


YAML = """
- topology: other
  tree:
    switches:
    - switch: sw
      nodes: x[1-2]
- topology: main
  cluster_default: True
  tree:
    switches:
    - switch: root
      children: s[1-2]
    - switch: s1
      nodes: node[01-04]
    - switch: s2
      nodes: node[05-06]
- topology: b
  block:
    block_sizes: [2, 4]
    blocks:
    - {block: b1, nodes: "m[1-2]"}
    - {block: b2, nodes: "m[3-4]"}
    - {block: b3, nodes: "m[5-6]"}
- topology: f
  flat: true
"""
needs_yaml = pytest.mark.skipif(
    importlib.util.find_spec("yaml") is None, reason="PyYAML is not installed (extra yaml)"
)


@needs_yaml
def test_topology_yaml(tmp_path: Path) -> None:
    t = machine(tmp_path, YAML, "topology.yaml")
    assert t.node_names == tuple(f"node{i:02d}" for i in range(1, 7))
    assert cables(t) == {("s1", "root"): 4, ("s2", "root"): 2}
    assert t.shape.notes[-1] == "topology 'main' is used; the file also has other, b, f"
    assert machine(tmp_path, YAML, "topology.yaml", topology="other").n_nodes == 2
    blocks = machine(tmp_path, YAML, "topology.yaml", topology="b")
    assert hierarchy_of(blocks).counts == (1, 2, 3)


@needs_yaml
@pytest.mark.parametrize(
    ("text", "params", "told"),
    [
        (YAML, {"topology": "f"}, "'f' is flat and lists no nodes"),
        (YAML, {"topology": "z"}, "no topology 'z'; it has other, main, b, f"),
        ("- topology: [a", {}, r"topology.yaml:\d: not YAML"),
        ("a: 1", {}, "must be a list of topologies"),
        ("[]", {}, "no topology is declared"),
        ("- topology: a", {}, "is nothing; it must be tree or block"),
        ("- {topology: a, torus3d: {}}", {}, "is torus3d; it must be tree or block"),
        ("- {topology: a, tree: {switches: 3}}", {}, "switches must be a list"),
        ("- {topology: a, tree: {switches: [{switch: s, node: n1}]}}", {}, "unknown key 'node'"),
        ("- {topology: a, tree: {switches: [{switch: s}]}}", {}, "neither nodes nor switches"),
        ("- {topology: a, tree: {switches: [{switch: s, nodes: 'n[1'}]}}", {}, "not closed"),
        ("- {topology: a, block: {block_sizes: 3, blocks: []}}", {}, "block_sizes = 3"),
    ],
)
def test_what_a_topology_yaml_cannot_say(tmp_path, text, params, told):
    with pytest.raises(NetcosimError, match=told) as error:
        machine(tmp_path, text, "topology.yaml", **params)
    assert "\n" not in str(error.value)


def test_yaml_needs_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(NetcosimError, match=r"pip install netcosim\[yaml\]"):
        machine(tmp_path, YAML, "topology.yaml")


L2 = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (L2 + "SwitchName=c Switches=a,b,d", r":3: switch 'c' has 'd' below it.* nowhere"),
        (L2 + "SwitchName=a Nodes=n9", r":3: switch 'a' is declared twice"),
        (
            "BlockName=a Nodes=n[1-3]\nBlockName=c Nodes=n3",
            r":2: node 'n3' is on block 'c' and on 'a'",
        ),
        ("SwitchName=a Nodes=n1,n1", r":1: 'a' has 'n1' below it twice"),
        (
            "SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a",
            r"in a cycle: a > b > c > a",
        ),
        ("SwitchName=a Switches=a", "in a cycle: a > a"),
        ("SwitchName=a", "neither nodes nor switches"),
        (L2 + "SwitchName=c Switches=a,b Nodes=n7", "both nodes and switches"),
        ("Switchname=a Nodes=n[1-", r":1: host list 'n\[1-': a bracket is not closed"),
        ("\n\nNodeName=a", ":3: 'NodeName=a'; a line begins with SwitchName=, BlockName="),
        ("SwitchName=a Nodes=n1 Speed=3", ":1: unknown key 'speed'"),
        ("SwitchName=a Nodes=n1 Nodes=n2", ":1: Nodes is there twice"),
        ("SwitchName=a nonsense", ":1: 'nonsense' is not KEY=VALUE"),
        ("", "no switch and no block is declared"),
        ("# only this", "no switch and no block is declared"),
        ("SwitchName=a \\", ":1: the last line is continued"),
        ("RingName=a Nodes=n1", ":1: a ring"),
        (
            "BlockName=a Nodes=n1\nBlockSizes=2,6",
            ":2: block sizes 2,6; each must be a power of two",
        ),
        ("BlockName=a Nodes=n1\nBlockSizes=x", ":2: block sizes 'x'; they must be whole numbers"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(NetcosimError, match=told) as error:
        machine(tmp_path, text)
    assert "\n" not in str(error.value)
    assert "topology.conf" in str(error.value)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"taper": []}, "a list of numbers, each above 0"),
        ({"taper": 0.0}, "above 0"),
        ({"uplinks": [0]}, "at least 1"),
        ({"uplinks": 10**12}, "links"),
        ({"topology": "x"}, "only a topology.yaml has several"),
    ],
)
def test_parameters_that_do_not_fit(tmp_path: Path, params: dict[str, object], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        machine(tmp_path, TREE, **params)


@st.composite
def trees(draw: st.DrawFn) -> tuple[str, nx.DiGraph]:
    """A random tree as text, its lines in any order, and as a graph."""
    graph: nx.DiGraph = nx.DiGraph()
    level = [f"s{i}" for i in range(draw(st.integers(1, 6)))]
    lines, node = [], 0
    for leaf in level:
        count = draw(st.integers(1, 5))
        graph.add_edges_from((leaf, f"n{node + i}") for i in range(count))
        lines.append(f"SwitchName={leaf} Nodes=n[{node}-{node + count - 1}]")
        node += count
    made = len(level)
    while len(level) > 1:
        # some of the highest switches get one above them, the others wait
        some = level[: draw(st.integers(2, len(level)))]
        graph.add_edges_from((f"s{made}", below) for below in some)
        lines.append(f"SwitchName=s{made} Switches={','.join(some)}")
        level = [*level[len(some) :], f"s{made}"]
        made += 1
    return "\n".join(draw(st.permutations(lines))), graph


@examples(60)
@given(trees())
def test_any_tree(tmp_path_factory: pytest.TempPathFactory, tree: tuple[str, nx.DiGraph]) -> None:
    text, graph = tree
    t = machine(tmp_path_factory.mktemp("tree"), text)
    h = hierarchy_of(t)
    below = {s: set(nx.descendants(graph, s)) for s in graph if graph.out_degree(s)}
    nodes = {s: {n for n in found if n.startswith("n")} for s, found in below.items()}
    assert set(t.node_names) == set().union(*nodes.values())
    for name, router in zip(t.node_names, t.node_router.tolist(), strict=True):
        assert graph.has_edge(t.shape.switches[router], name)
    for (low, high), count in cables(t).items():
        assert graph.has_edge(high, low)
        assert count == len(nodes[low])
    # every domain is a switch with the nodes below it, and every switch but the root is one
    domains = {
        frozenset(t.node_names[i] for i in np.flatnonzero(h.domain[level] == d).tolist())
        for level in range(len(h.levels))
        for d in range(h.counts[level])
    }
    assert domains == set(map(frozenset, nodes.values()))


def test_as_many_levels_as_are_allowed(tmp_path: Path) -> None:
    chain = [
        "SwitchName=s0 Nodes=n1",
        *(f"SwitchName=s{i} Switches=s{i - 1}" for i in range(1, 33)),
    ]
    assert machine(tmp_path, "\n".join(chain[:32])).n_routers == 32
    with pytest.raises(NetcosimError, match="more than 32 levels of switches"):
        machine(tmp_path, "\n".join(chain))


def test_the_tutorials_machine(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "docs" / "tutorials" / "make_topology_conf.py"
    make = runpy.run_path(str(script))["topology_conf"]
    text = make()
    assert text == make()
    t = machine(tmp_path, text)
    h = hierarchy_of(t)
    assert sorted(t.node_names) == [f"n{i:03d}" for i in range(1, 601)]
    assert h.levels == ("machine", "level-1", "leaf")
    assert 14 <= h.sizes(2).min() < 20 < h.sizes(2).max() <= 40
    assert len(set(h.sizes(2).tolist())) > 10
