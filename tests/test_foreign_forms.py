"""Machines as their owners have them: every form of a file is read right or refused in one line."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

import netcosim as nc
from alloc.registry import policies_for
from netcosim.commands.describe import lines_of
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topology import Topology

SHARED = Path(os.environ.get("NETCOSIM_SHARED", Path(__file__).parents[1] / ".." / "shared"))
needs_yaml = pytest.mark.skipif(
    importlib.util.find_spec("yaml") is None, reason="PyYAML is not installed (extra yaml)"
)

# The same fabric in all forms: n1, n2 on leaf-1, n3, n4 on leaf-2, two cables from each leaf up

LEAVES = {"leaf-1": ["n1", "n2"], "leaf-2": ["n3", "n4"]}


def section_lines(group: bool = False, named: bool = True) -> str:
    """The fabric as ibnetdiscover prints it; -g has chassis, and adapters twice."""
    text = "# Topology file: generated on Sun Nov 22 2026\n#\n"
    guid = {"leaf-1": "S-1", "leaf-2": "S-2", "spine": "S-3"}
    cas = []
    for s, (leaf, nodes) in enumerate(LEAVES.items()):
        if group:
            text += f"\nChassis {s + 1} (guid 0x{s})\n\n# Spine Nodes\n# Line Nodes"
        text += f"\nvendid=0x2c9\nswitchguid=0x{s}({s})\t# ISR2012 Line {s}\n"
        text += f'Switch\t36 "{guid[leaf]}"\t\t# "MF0;{leaf}:X/U1" enhanced port 0 lid {s} lmc 0\n'
        for i, node in enumerate(nodes, 1):
            called = f"{node} mlx5_0" if named else "MT4129 ConnectX7   Mellanox Technologies"
            text += f'[{i}]\t"H-{node}"[1](a{s}{i}) \t\t# "{called}" lid 1{s}{i} 4xNDR\n'
            ca = f'\nvendid=0x2c9\ncaguid=0xa{s}{i}\nCa\t1 "H-{node}"\t\t# "{called}"\n'
            ca += f'[1](a{s}{i}) \t"{guid[leaf]}"[{i}]\t\t# lid 1{s}{i} lmc 0 "x" lid {s} 4xNDR\n'
            cas.append(ca)
        for k in (1, 2):
            text += (
                f'[3{k}][ext {k}]\t"S-3"[{2 * s + k}][ext 9]\t\t# "MF0;spine:X/U1" lid 3 4xNDR\n'
            )
    if group:
        text += "\n# Chassis CAs" + "".join(cas) + "\nNon-Chassis Nodes\n"
    text += (
        '\nswitchguid=0x3(3)\nSwitch\t36 "S-3"\t\t# "MF0;spine:X/U1" enhanced port 0 lid 3 lmc 0\n'
    )
    return text + "".join(cas)


def report_lines() -> str:
    """The fabric as ibnetdiscover -p prints it."""
    text = ""
    for s, (leaf, nodes) in enumerate(LEAVES.items(), 1):
        for i, node in enumerate(nodes, 1):
            text += f"SW {s:5} {i:2} 0x{s:016x} 4x NDR - CA {s}{i} 1 0x{s * 100 + i:016x} "
            text += f"( '{leaf}' - '{node} mlx5_0' )\n"
            text += f"CA {s}{i} 1 0x{s * 100 + i:016x} 4x NDR - SW {s:5} {i:2} 0x{s:016x} "
            text += f"( '{node} mlx5_0' - '{leaf}' )\n"
        for k in (31, 32):
            text += f"SW {s:5} {k} 0x{s:016x} 4x NDR - SW 9 {2 * s + k} 0x{9:016x} "
            text += f"( '{leaf}' - 'spine' )\n"
        text += f"SW {s:5} 36 0x{s:016x} 4x SDR                                  '{leaf}'\n"
    return text


def link_info_lines(cas: bool = True) -> str:
    """The fabric as iblinkinfo prints it."""
    up = "==( 4X          106.25 Gbps Active/  LinkUp)==>"
    text = ""
    for s, (leaf, nodes) in enumerate(LEAVES.items(), 1):
        for i, node in enumerate(nodes, 1) if cas else ():
            text += (
                f"CA: {node} mlx5_0:\n      0x{s}{i:03}    {s}{i}    1[  ] {up}  {s}    {i}[  ] "
            )
            text += f'"MF0;{leaf}:MQM9700/U1" ( )\n'
        text += f"Switch: 0x{s:016x} MF0;{leaf}:MQM9700/U1:\n"
        for i, node in enumerate(nodes, 1):
            text += f'          {s}    {i}[  ] {up}  {s}{i}    1[  ] "{node} mlx5_0" ( )\n'
        for k in (31, 32):
            text += f'          {s}   {k}[  ] {up}    9   {2 * s + k}[  ] "MF0;spine:X/U1" ( )\n'
        text += (
            f'          {s}   36[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'
        )
    text += f"Switch: 0x{9:016x} MF0;spine:X/U1:\n"
    text += f'          9   33[  ] {up}    1   31[  ] "MF0;leaf-1:MQM9700/U1" ( )\n'
    return text


def network() -> nx.MultiGraph:
    g = nx.MultiGraph()
    for leaf, nodes in LEAVES.items():
        g.add_node(leaf, hosts=len(nodes))
        g.add_edges_from([(leaf, "spine", {"bandwidth": "400 Gbit/s"})] * 2)
    g.nodes["spine"]["hosts"] = 0
    return g


TREE = "SwitchName=leaf-1 Nodes=n[1-2]\nSwitchName=leaf-2 Nodes=n[3-4]\n"
SPINE = "SwitchName=spine Switches=leaf-[1-2]\n"
BLOCKS = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\n"
STDERR = "ibwarn: [4711] mad_rpc_open_port: can't open UMAD port (mlx5_9:1)\n"
SHOWN = (
    "SwitchName=leaf-1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
    "SwitchName=leaf-2 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
    "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf-[1-2]\n"
)
SHOWN_BLOCKS = (
    "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
    "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
    "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n"
)
CABLES = "a,b,bandwidth,count\n" + "".join(
    [f"{n},{leaf},400 Gbit/s,1\n" for leaf, nodes in LEAVES.items() for n in nodes]
    + [f"{leaf},spine,400 Gbit/s,2\n" for leaf in LEAVES]
)
YAML_TREE = (
    "- topology: t\n  cluster_default: true\n  tree:\n    switches:\n"
    "    - {switch: spine, children: 'leaf-[1-2]'}\n"
    "    - {switch: leaf-1, nodes: 'n[1-2]'}\n    - {switch: leaf-2, nodes: 'n[3-4]'}\n"
)
YAML_BLOCKS = (
    "- topology: b\n  block:\n    block_sizes: [2]\n    blocks:\n"
    "    - {block: b1, nodes: 'n[1-2]'}\n    - {block: b2, nodes: 'n[3-4]'}\n"
)
TOPOGRAPH = (
    "switches:\n  spine:\n    switches: [leaf-1, leaf-2, leaf-3]\n"
    "blocks:\n- {switch: leaf-1, nodes: ['n[1-2]'], annotations: {x/domain: nvl1}}\n"
    "- {switch: leaf-2, nodes: [n3, n4], annotations: {x/domain: nvl2}}\n"
)

FORMS: dict[str, tuple[str, str, str, str]] = {
    # form: family, name of the file, text, what describe says is left out
    "ibnetdiscover": ("ibnetdiscover", "f.topo", section_lines(), "nothing"),
    "ibnetdiscover -g": ("ibnetdiscover", "f.topo", section_lines(group=True), "nothing"),
    "a line of stderr on top": (
        *("ibnetdiscover", "f.topo", STDERR + section_lines()),
        "1 lines of other programs",
    ),
    "a line of stderr inside": (
        *("ibnetdiscover", "f.topo", section_lines().replace("\nCa", f"\n{STDERR}Ca", 1)),
        "1 lines of other programs",
    ),
    "ibnetdiscover --full": (
        *("ibnetdiscover", "f.topo", section_lines().replace("4xNDR\n", "4xNDR s=128 w=2\n")),
        "nothing",
    ),
    "ibnetdiscover -p": ("ibnetdiscover", "f.txt", report_lines(), "nothing"),
    "iblinkinfo": ("ibnetdiscover", "f.txt", link_info_lines(), "nothing"),
    "iblinkinfo --switches-only": ("ibnetdiscover", "f.txt", link_info_lines(False), "nothing"),
    "topology.conf": ("topology.conf", "topology.conf", TREE + SPINE, "nothing"),
    "scontrol show topology": ("topology.conf", "t.txt", SHOWN, "nothing"),
    "scontrol with its command": (
        *("topology.conf", "t.txt", f"$ scontrol show topology\n{SHOWN}"),
        "1 lines before the first switch or block",
    ),
    "a tree with blocks": (
        *("topology.conf", "t.conf", TREE + SPINE + BLOCKS),
        "nothing",
    ),
    "topology.yaml": ("topology.conf", "topology.yaml", YAML_TREE, "nothing"),
    "topology.yaml with blocks": (
        *("topology.conf", "topology.yaml", YAML_TREE + YAML_BLOCKS),
        "nothing",
    ),
    "topograph": (
        *("topology.conf", "model.yaml", TOPOGRAPH),
        "1 switches without nodes on or behind them",
    ),
    "cables": ("cables", "c.csv", CABLES, "nothing"),
    "cables from source to target": (
        *("cables", "c.csv", CABLES.replace("a,b,", "Source,Target,", 1)),
        "nothing",
    ),
    "GraphML": ("graph", "g.graphml", "\n".join(nx.generate_graphml(network())), "nothing"),
    "GML": ("graph", "g.gml", "\n".join(nx.generate_gml(network())), "nothing"),
    "node-link JSON": (
        *("graph", "g.json", json.dumps(nx.node_link_data(network(), edges="edges"))),
        "nothing",
    ),
}
SPEED_Bps = 50 * 10**9


@pytest.mark.parametrize("form", list(FORMS))
def test_a_form_is_read(form: str, tmp_path: Path) -> None:
    """All give four nodes on two leaves, with two cables of 400 Gbit/s from each leaf up."""
    family, name, text, left_out = FORMS[form]
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    path = tmp_path / name
    path.write_text(text)
    more: dict[str, Any] = {}
    if family == "topology.conf":  # has no speeds
        more = {"node_bandwidth_Bps": SPEED_Bps, "link_bandwidth_Bps": SPEED_Bps}
    if family == "graph":
        more = {"node_bandwidth_Bps": SPEED_Bps}
    t = nc.make_topology(family, {"file": str(path), **more})
    assert (t.n_nodes, t.n_routers, t.rails) == (4, 3, 1)
    assert t.node_router.tolist() in ([0, 0, 1, 1], [0, 0, 2, 2], [1, 1, 2, 2])
    assert set(t.link_bandwidth_Bps.tolist()) == {SPEED_Bps}
    assert t.n_links == 2 * 4 + 2 * 4
    if family != "graph":
        assert t.node_names == ("n1", "n2", "n3", "n4")
        # leaf, spine and nothing else
        assert hierarchy_of(t).counts == (1, 2)
    lines = lines_of(str(path))
    assert f'    family = "{family}"' in lines
    assert f"  found: 4 nodes, 3 switches, 4 cables between them; left out: {left_out}" in lines
    assert sum("left out: " in line for line in lines) == 1


OMNI_PATH = "<?xml version='1.0'?>\n<Report date='x'><LinkSummary></LinkSummary></Report>\n"
REFUSED: dict[str, tuple[str, str]] = {
    "ibnetdiscover -l": (
        'Switch\t : 0x0008f10400411a08 ports 24 devid 0x5a40 vendid 0x8f1 "ISR9024"\n',
        "a list of nodes without links",
    ),
    "ibhosts": ('Ca\t: 0x0002c90300002778 ports 2 "n1 mlx5_0"\n', "a list of nodes without links"),
    "iblinkinfo -l": (
        '0x0002c90200404ad8 "leaf" 4   17[  ] ==( 4X 25.78 Gbps Active/  LinkUp)==>  '
        '0x0011220300334455      5    1[  ] "n1 HCA-1" ( )\n' + link_info_lines(),
        "run it without -l",
    ),
    "DOT": ('graph fabric {\n  "leaf-1" -- "spine";\n}\n', "DOT is not supported"),
    "DOT, directed": ("// made by x\nstrict digraph {\n a -> b\n}\n", "DOT is not supported"),
    "opareport": (OMNI_PATH, "an Omni-Path report is not supported; write its links as CSV"),
    "opaextractsellinks": (
        "Rate;NodeGUID;PortNum;NodeType;NodeDesc\n100g;0x1;1;SW;leaf\n",
        "an Omni-Path report is not supported",
    ),
    "NCCL topology": (
        '<system version="1">\n  <cpu numaid="0" affinity="ff"><pci busid="0"/></cpu></system>\n',
        "NCCL topology XML is not supported; it describes the inside of a server",
    ),
    "NCCL graph": (
        '<graphs version="1">\n  <graph id="0" pattern="4"></graph></graphs>\n',
        "NCCL graph XML is not supported",
    ),
    "hwloc": (
        '<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology>\n',
        "hwloc XML is not supported; it describes the inside of a server",
    ),
    "hwloc 1": ('<topology>\n <object type="Machine"/></topology>\n', "hwloc XML is not supported"),
    "LLDP": ('{"lldp": {"interface": []}}\n', "LLDP neighbours is not supported"),
}


@pytest.mark.parametrize("form", list(REFUSED))
def test_a_form_is_refused_in_one_line(form: str, tmp_path: Path) -> None:
    text, told = REFUSED[form]
    path = tmp_path / "file.txt"
    path.write_text(text)
    for call in (lambda: lines_of(str(path)), lambda: build_any(path)):
        with pytest.raises(NetcosimError) as error:
            call()
        assert told in str(error.value)
        assert "\n" not in str(error.value)


def build_any(path: Path) -> None:
    """Build it as a config would that names the family most likely meant."""
    text = path.read_text()
    fabric = text.startswith(("Switch", "Ca", "0x"))
    nc.make_topology("ibnetdiscover" if fabric else "graph", {"file": str(path)})


# What machines have


def machine(folder: Path, text: str, family: str = "topology.conf", **params: Any) -> Topology:
    path = folder / "machine.txt"
    path.write_text(text)
    return nc.make_topology(family, {"file": str(path), **params})


def test_adapters_without_names_are_nodes_under_their_guids(tmp_path: Path) -> None:
    t = machine(tmp_path, section_lines(named=False), "ibnetdiscover")
    assert t.node_names == ("H-n1", "H-n2", "H-n3", "H-n4")
    assert any("4 adapters are called 'MT4129 ConnectX7" in note for note in t.shape.notes)
    # beside named hosts too, unless they have another number of ports
    some = section_lines().replace("n4 mlx5_0", "MT4129 ConnectX7   Mellanox Technologies")
    assert {*machine(tmp_path, some, "ibnetdiscover").node_names} == {"n1", "n2", "n3", "H-n4"}
    double = section_lines().replace("H-n2", "H-n1b").replace("n2 mlx5_0", "n1 mlx5_1")
    double = (
        double.replace("n3 mlx5_0", "n3 mlx5_0")
        .replace("H-n4", "H-x")
        .replace("n4 mlx5_0", "a b c")
    )
    t = machine(tmp_path, double.replace("n3 mlx5_0", "d e f"), "ibnetdiscover")
    assert (t.node_names, t.rails) == (("n1",), 2)
    assert "left out: 1 adapters that name no host ('a b c')" in t.shape.notes


def test_an_adapter_with_two_ports_has_two_rails(tmp_path: Path) -> None:
    """As two ports of one adapter on both leaves: n1 and n2 of two ports each."""
    text = section_lines()
    for node, twin, port in (("n3", "n1", 1), ("n4", "n2", 2)):
        text = text.replace(f'"H-{node}"[1]', f'"H-{twin}"[2]').replace(
            f"{node} mlx5", f"{twin} mlx5"
        )
        text = text.replace(f'Ca\t1 "H-{node}"', f'Ca\t2 "H-{twin}"')
        text = text.replace(f'[1](a1{port}) \t"S-2"', f'[2](a1{port}) \t"S-2"')
    t = machine(tmp_path, text, "ibnetdiscover")
    assert (t.node_names, t.rails, t.port_router.tolist()) == (("n1", "n2"), 2, [0, 1, 0, 1])


def test_nodes_on_two_leaves_have_two_rails(tmp_path: Path) -> None:
    text = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[1-3]\nSwitchName=c Switches=a,b\n"
    t = machine(tmp_path, text)
    assert (t.n_nodes, t.rails, t.port_router.tolist()) == (3, 2, [0, 1] * 3)
    assert "nodes are on 2 leaves, by a port on each" in t.shape.notes
    # a cable a port from each leaf up
    assert np.count_nonzero(t.kind_mask("up")) == 6
    # without a common switch they are planes
    planes = machine(tmp_path, text.replace("SwitchName=c Switches=a,b\n", ""))
    assert (planes.rails, planes.islands) == (2, None)
    # GPUs are dealt to the leaves of their server
    gpus = machine(tmp_path, text, gpus_per_node=4)
    assert gpus.port_router.reshape(12, 2)[:4, 1].tolist() == [0, 0, 1, 1]
    with pytest.raises(NetcosimError, match="gpus_per_node = 3; nodes are on 2 leaves"):
        machine(tmp_path, text, gpus_per_node=3)


def test_some_nodes_on_two_leaves_use_the_first(tmp_path: Path) -> None:
    """As Slurm, which warns of it."""
    text = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[3-5]\nSwitchName=c Switches=a,b\n"
    t = machine(tmp_path, text)
    assert (t.n_nodes, t.rails) == (5, 1)
    assert t.port_router.tolist() == [0, 0, 0, 1, 1]
    assert "left out: of 1 nodes on 2 leaves all after 1" in t.shape.notes


def test_blocks_of_scontrol_have_their_sizes(tmp_path: Path) -> None:
    t = machine(tmp_path, SHOWN_BLOCKS)
    assert t.shape.block_sizes == (2, 4)
    assert hierarchy_of(t).counts == (1, 2)


BELOW = "SwitchName=l Nodes=n[1-4]\nSwitchName=m Nodes=n[5-8]\nSwitchName=s Switches=l,m\n"


@pytest.mark.parametrize(
    ("blocks", "levels", "counts", "note"),
    [
        # racks of two below each leaf
        (
            ["n[1-2]", "n[3-4]", "n[5-6]", "n[7-8]"],
            ("leaf", "block"),
            (2, 4),
            "4 blocks are a level",
        ),
        # the leaves
        (["n[1-4]", "n[5-8]"], ("leaf",), (2,), "2 blocks are a level"),
        # all
        (["n[1-8]"], ("leaf",), (2,), "1 blocks are a level"),
        (["n[1-3]", "n[4-8]"], ("leaf",), (2,), "they cross those of switches"),
        (["n[1-4]"], ("leaf",), (2,), "4 nodes are in none"),
        (["n[1-4]", "n[5-9]"], ("leaf",), (2,), "1 nodes of blocks that are on no switch"),
    ],
)
def test_blocks_and_trees_at_once(tmp_path, blocks, levels, counts, note):
    text = BELOW + "".join(f"BlockName=b{i} Nodes={nodes}\n" for i, nodes in enumerate(blocks))
    t = machine(tmp_path, text)
    h = hierarchy_of(t)
    assert (h.levels, h.counts) == (("machine", *levels), (1, *counts))
    assert any(note in line for line in t.shape.notes)
    # as GPUs of servers
    g = hierarchy_of(machine(tmp_path, text, gpus_per_node=2))
    assert (g.levels, g.counts) == (("machine", *levels, "node"), (1, *counts, 8))


def test_blocks_above_leaves_are_between_levels(tmp_path: Path) -> None:
    leaves = "".join(f"SwitchName=l{i} Nodes=n[{2 * i}-{2 * i + 1}]\n" for i in range(4))
    text = (
        leaves
        + "SwitchName=s Switches=l[0-3]\nBlockName=x Nodes=n[0-3]\nBlockName=y Nodes=n[4-7]\n"
    )
    h = hierarchy_of(machine(tmp_path, text))
    assert (h.levels, h.counts) == (("machine", "block", "leaf"), (1, 2, 4))
    assert h.names[1] == ("x", "y")


# Islands

ISLANDS = (
    "SwitchName=b1 Nodes=h[1-4]\nSwitchName=fabA Switches=a[1-2]\nSwitchName=a1 Nodes=g[1-4]\n"
    "SwitchName=a2 Nodes=g[5-8]\nSwitchName=fabB Switches=b1\n"
)


def test_fabrics_that_nothing_joins_are_islands(tmp_path: Path) -> None:
    """The largest one is first, wherever it is in the file."""
    t = machine(tmp_path, ISLANDS)
    assert t.islands is not None
    assert t.islands.tolist() == [0] * 8 + [1] * 4
    assert t.node_names[:2] == ("g1", "g2")
    assert (t.largest_island, hierarchy_of(t).counts) == (8, (1, 2, 3))
    assert any("2 fabrics that nothing joins, of 4 to 8 nodes" in n for n in t.shape.notes)
    found = lines_of(str(tmp_path / "machine.txt"))[1]
    # as many up as come from below: four from each leaf
    assert "12 nodes, 5 switches, 12 cables, 2 fabrics that nothing joins" in found
    one = machine(tmp_path, ISLANDS, fabric="fabB")
    assert (one.n_nodes, one.islands) == (4, None)
    gpus = machine(tmp_path, ISLANDS, gpus_per_node=2)
    assert gpus.islands is not None
    assert gpus.islands.tolist() == [0] * 16 + [1] * 8


@pytest.mark.parametrize("name", [p for p in policies_for("topology.conf") if p != "replay"])
def test_no_policy_places_a_job_in_two_islands(tmp_path: Path, name: str) -> None:
    """By hand: 4 nodes go to the smaller fabric, 6 to the larger, 3 fit nowhere, 2 do."""
    t = machine(tmp_path, ISLANDS)
    assert t.islands is not None
    policy = nc.make_policy(t, name, np.random.default_rng(1))
    assert [policy.fits_empty(n) for n in (0, 1, 8, 9, 12)] == [False, True, True, False, False]
    placed = [policy.allocate(nc.Request(i, n)) for i, n in enumerate((4, 6, 3, 2))]
    assert placed[2] is None
    nodes = [set(t.islands[p.nodes].tolist()) for p in placed if p is not None]
    assert nodes == [{1}, {0}, {0}]
    assert policy.n_free == 0
    assert policy.fits_empty(7)
    policy.release(placed[0])  # type: ignore[arg-type]
    assert policy.n_free == 4
    again = policy.clone().allocate(nc.Request(9, 4))
    assert again is not None
    assert policy.n_free == 4


@examples(30)
@given(st.data())
def test_islands_keep_their_books(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    """Placements never overlap, stay in one fabric, and all free nodes come back."""
    t = machine(tmp_path_factory.mktemp("islands"), ISLANDS)
    assert t.islands is not None
    name = data.draw(st.sampled_from(["baseline", "random", "slurm-tree"]))
    policy: Any = nc.make_policy(t, name, np.random.default_rng(1))
    running: dict[int, Any] = {}
    for job in range(data.draw(st.integers(1, 25))):
        if running and data.draw(st.booleans()):
            policy.release(running.pop(data.draw(st.sampled_from(sorted(running)))))
            continue
        size = data.draw(st.integers(1, 9))
        busy = np.concatenate([p.nodes for p in running.values()] or [np.empty(0, int)])
        free = np.bincount(t.islands, minlength=2) - np.bincount(t.islands[busy], minlength=2)
        placement = policy.allocate(nc.Request(job, size))
        assert (placement is not None) == (size <= free.max())
        if placement is not None:
            running[job] = placement
            assert len(set(t.islands[placement.nodes].tolist())) == 1
            assert not set(busy.tolist()) & set(placement.nodes.tolist())
    for placement in running.values():
        policy.release(placement)
    assert policy.n_free == 12
    assert policy.free_nodes().tolist() == list(range(12))


@pytest.mark.parametrize("model", ["measured", "coupled-flow", "coupled-packets"])
def test_a_queue_on_islands(tmp_path: Path, model: str) -> None:
    """Jobs of up to a fabric's nodes run; relays between fabrics carry nothing."""
    machine(tmp_path, ISLANDS)
    content = {
        "machine": {"family": "topology.conf", "file": str(tmp_path / "machine.txt")},
        "workload": {"synthetic": {"n_jobs": 25, "mean_nodes": 4}, "larger_jobs": "drop"},
        "queue": {"policies": ["baseline", "random"], "run_time_model": model},
        "run": {"snapshots": 2 if model == "measured" else 0},
    }
    result = nc.run(content, progress=False)
    t = result.machine.topology
    assert t.islands is not None
    assert result.workload.n_nodes.max() <= 8
    for schedule in result.schedules.values():
        assert schedule.placements is not None
        for job in range(len(result.workload)):
            nodes = schedule.placements.placement(job, 0).nodes
            assert len(set(t.islands[nodes].tolist())) == 1
    for measured in result.measured.values():
        for packets in measured.packets:
            assert not packets.link_bytes[t.kind_mask("relay")].any()


def test_messages_between_islands_are_refused(tmp_path: Path) -> None:
    t = machine(tmp_path, ISLANDS)
    routing = nc.make_routing(t)
    program = nc.make_pattern("shift", 3, 1000, 1, np.random.default_rng(1))
    told = "in several fabrics of machine.txt, which nothing joins"
    for nodes, fits in ((np.array([6, 7, 8]), False), (np.array([9, 10, 8]), True)):
        job = nc.PlacedJob(1, nc.Communication("shift", 1000), nodes)
        traffic = nc.combine([program], [nodes])
        for call in (
            lambda job=job: nc.Ensemble(nc.SharedNetwork(routing), [job]).packets(),
            lambda traffic=traffic: nc.simulate_packets(
                routing, traffic, nc.PacketConfig(), np.random.default_rng(1)
            ),
            lambda nodes=nodes: nc.Live(t).change([nc.LiveJob("j", nodes)]),
        ):
            if fits:
                call()
            else:
                with pytest.raises(NetcosimError, match=told):
                    call()


@pytest.mark.shared
@needs_yaml
@pytest.mark.parametrize(
    ("name", "nodes", "leaves", "blocks"),
    [("dual-xclr-irregular", 255, 29, 2), ("medium", 8, 4, 4), ("nvl72", 72, 4, 4)],
)
def test_models_of_topograph(name: str, nodes: int, leaves: int, blocks: int) -> None:
    """Counted in the files: nodes of their lists, switches with some, values of domain."""
    path = SHARED / "inputs" / f"topograph-{name}.yaml"
    if not path.is_file():
        pytest.skip("no ../shared/inputs")
    t = nc.make_topology("topology.conf", {"file": str(path)})
    h = hierarchy_of(t)
    assert (t.n_nodes, h.counts[-1]) == (nodes, leaves)
    assert f"{blocks} blocks are a level of domains" in t.shape.notes
