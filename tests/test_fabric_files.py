"""Machines from ibnetdiscover's output and from tables of cables: what is read and refused."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import netcosim as nc
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.fabric_files import host_and_device, switch_name
from netsim.topologies.ibnetdiscover import FAMILY as FABRIC
from netsim.topologies.registry import make_topology
from netsim.topology import Topology

SHARED = Path(os.environ.get("NETCOSIM_SHARED", Path(__file__).parents[1] / ".." / "shared"))
EXAMPLE = SHARED / "inputs" / "ibnetdiscover-example.out"
TEXT = FABRIC.small_files[0].text


def machine(folder: Path, family: str, text: str, **params: object) -> Topology:
    path = folder / "file.txt"
    path.write_text(text, encoding="utf-8")
    return make_topology(family, {"file": str(path), **params})


def joined(t: Topology) -> Counter[tuple[str, str, int]]:
    """Cables between switches by their names, sorted, and bandwidth."""
    found: Counter[tuple[str, str, int]] = Counter()
    for link in range(t.first_router_link, t.n_links, 2):
        ends = sorted(
            t.shape.switches[int(v) - t.n_ports] for v in (t.link_src[link], t.link_dst[link])
        )
        found[ends[0], ends[1], int(t.link_bandwidth_Bps[link])] += 1
    return found


def test_a_fabric_by_hand(tmp_path: Path) -> None:
    t = machine(tmp_path, "ibnetdiscover", TEXT)
    assert (t.node_names, t.rails) == (("n1", "n2", "n3"), 1)
    assert t.shape.switches == ("leaf-1", "leaf-2", "spine")
    assert t.shape.height.tolist() == [0, 0, 1]
    # 4 lanes of 25 and of 50 Gbit/s
    assert joined(t) == {
        ("leaf-1", "spine", 25 * 10**9): 2,
        ("leaf-2", "spine", 12_500_000_000): 1,
    }
    # 4 x 13.64 Gbit/s
    assert t.link_bandwidth_Bps[:3].tolist() == [12_500_000_000] * 2 + [6_820_000_000]
    assert any("1 adapters that name no host" in note for note in t.shape.notes)
    assert hierarchy_of(t).names[1] == ("leaf-1", "leaf-2")


def second_port() -> str:
    """The fabric with a second adapter in n1, on the other leaf."""
    line = '[9]\t"H-8"[1](a8) \t# "n1 mlx5_1" lid 18 4xEDR\n'
    text = TEXT.replace("switchguid=0x3(3)\n", line + "switchguid=0x3(3)\n")
    return f'{text}Ca\t1 "H-8"\t# "n1 mlx5_1"\n[1](a8) \t"S-2"[9]\t# lid 18 lmc 0 4xEDR\n'


def test_hosts_of_several_adapters(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"\(2 with 1, 1 with 2\); give rails"):
        machine(tmp_path, "ibnetdiscover", second_port())
    one = machine(tmp_path, "ibnetdiscover", second_port(), rails=1)
    assert one.node_names == ("n1", "n2", "n3")
    assert "1 hosts have 2 ports: the first 1 are taken" in one.shape.notes
    two = machine(tmp_path, "ibnetdiscover", second_port(), rails=2)
    assert (two.node_names, two.rails, two.port_router.tolist()) == (("n1",), 2, [0, 1])
    assert "left out: 2 hosts with 1 ports (rails = 2)" in two.shape.notes
    with pytest.raises(NetcosimError, match="rails = 3; no host has so many ports"):
        machine(tmp_path, "ibnetdiscover", second_port(), rails=3)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("4xHDR", "4xABC", r":6: speed 'ABC'; known: SDR"),
        ("lid 11 4xEDR", "lid 11", r":4: no speed such as 4xNDR"),
        ('[2]\t"H-2"', '[2] "H-2', r":5: '\[2\] .* is no line of ibnetdiscover"),
        ('Switch\t4 "S-2"', 'Switch\t4 "S-1"', r":10: port 1 of 'S-1' has two links"),
        ('"S-3"[3]\t# "MF0;spine:X/U1" lid 3 4xEDR', '"S-3"[2]\t# "x" lid 3 4xEDR', "two links"),
    ],
)
def test_what_no_fabric_says(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in TEXT
    with pytest.raises(NetcosimError, match=told) as error:
        machine(tmp_path, "ibnetdiscover", TEXT.replace(old, new))
    assert "\n" not in str(error.value)


def test_lines_above_the_first_section_are_not_read(tmp_path: Path) -> None:
    plain = machine(tmp_path, "ibnetdiscover", TEXT)
    above = machine(tmp_path, "ibnetdiscover", f"Last login: Mon on tty1\n{TEXT}")
    assert above.node_names == plain.node_names


def test_a_fabric_in_pieces_and_without_hosts(tmp_path: Path) -> None:
    lines = [line for line in TEXT.splitlines() if '[3]\t"S-3"' not in line or "EDR" not in line]
    text = "\n".join(line for line in lines if '[3]\t"S-2"' not in line)
    t = machine(tmp_path, "ibnetdiscover", text)
    assert t.islands is not None
    assert dict(zip(t.node_names, t.islands.tolist(), strict=True)) == {"n1": 0, "n2": 0, "n3": 1}
    # adapters without names are nodes under their GUIDs
    t = machine(tmp_path, "ibnetdiscover", TEXT.replace("mlx5_0", "a b"))
    assert t.node_names == ("H-1", "H-2", "H-3")
    with pytest.raises(NetcosimError, match="no adapter is connected with a switch"):
        machine(tmp_path, "ibnetdiscover", TEXT.replace("Ca\t", "Rt\t"))
    with pytest.raises(NetcosimError, match="no switch; is it what ibnetdiscover prints"):
        machine(tmp_path, "ibnetdiscover", "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a08-p1 mlx5_10", ("a08-p1", "mlx5_10")),
        ("n1 HCA-2", ("n1", "HCA-2")),
        ("n1 hfi1_0", ("n1", "hfi1_0")),
        ("n1 ib0", ("n1", "ib0")),
        ("n1", ("n1", "")),
        ("Mellanox Technologies Aggregation Node", None),
        ("ConnectX-6 Technologies", None),
    ],
)
def test_descriptions_of_adapters(text: str, found: tuple[str, str] | None) -> None:
    assert host_and_device(text) == found


def test_descriptions_of_switches() -> None:
    assert switch_name("S-1", "MF0;A09-LEAF:MQM9701/U1") == "A09-LEAF"
    assert switch_name("S-1", "my switch") == "my switch"


@pytest.mark.shared
@pytest.mark.skipif(not EXAMPLE.is_file(), reason="no ../shared/inputs/ibnetdiscover-example.out")
def test_a_real_fabric() -> None:
    with pytest.raises(NetcosimError, match="3 with 1, 2 with 2, 10 with 3, 109 with 4"):
        make_topology("ibnetdiscover", {"file": str(EXAMPLE)})
    t = make_topology("ibnetdiscover", {"file": str(EXAMPLE), "rails": 4})
    assert (t.n_nodes, t.rails) == (109, 4)
    # NDR everywhere
    assert set(t.link_bandwidth_Bps.tolist()) == {50 * 10**9}
    # counted in the file itself: each link between switches stands there twice
    lines = EXAMPLE.read_text().splitlines()
    ports = [line for line in lines if line.startswith("[") and '"S-' in line]
    of_hosts = sum(line.startswith("Ca") for line in lines)
    assert (t.n_links - t.first_router_link) // 2 == (len(ports) - of_hosts) // 2


CSV = """a,b,bandwidth,latency,count
n1,s1,,,
s1,n2,4 GB/s,,

s2,n3,,,
s1,s2,100 Gbit/s,80 ns,3
s2,s1,,,
"""


def test_cables_by_hand(tmp_path: Path) -> None:
    t = machine(tmp_path, "cables", CSV, link_bandwidth_Bps=7 * 10**9)
    assert (t.node_names, t.shape.switches) == (("n1", "n2", "n3"), ("s1", "s2"))
    assert joined(t) == {("s1", "s2", 12_500_000_000): 3, ("s1", "s2", 7 * 10**9): 1}
    assert t.link_bandwidth_Bps[:3].tolist() == [10**9, 4 * 10**9, 10**9]
    latency = t.link_latency_s[t.first_router_link :]
    assert sorted(set(latency.tolist())) == [40e-9, 80e-9]
    assert np.count_nonzero(latency == 80e-9) == 6


def test_nodes_with_several_cables_are_named(tmp_path: Path) -> None:
    text = "a,b,count\nn1,s1,1\nn1,s2,1\nn2,s1,1\nn2,s2,1\ns1,s2,1\n"
    t = machine(tmp_path, "cables", text, nodes="n[1-2]")
    assert (t.n_nodes, t.rails, t.port_router.tolist()) == (2, 2, [0, 1, 0, 1])
    with pytest.raises(NetcosimError, match="no end has exactly one cable"):
        machine(tmp_path, "cables", text)
    with pytest.raises(NetcosimError, match=r"'n3' is the end of no cable \(2 such\)"):
        machine(tmp_path, "cables", text, nodes="n[1-4]")
    uneven = machine_error(tmp_path, text.replace("n2,s2,1\n", ""), nodes="n[1-2]")
    assert "different numbers of cables (1 with 1, 1 with 2)" in uneven


PLANES = "a,b,bandwidth\n" + "".join(
    f"g{node},s{plane},{speed} GB/s\n" for node in range(3) for plane, speed in enumerate((3, 2))
)


def test_planes_that_meet_in_the_nodes_are_rails(tmp_path: Path) -> None:
    """Ports are ordered by plane, whatever the order of the lines; a third plane has no node."""
    turned = PLANES.splitlines()
    text = "\n".join([turned[0], *turned[:0:-1], "s8,s9,1 GB/s"]) + "\n"
    t = machine(tmp_path, "cables", text, nodes="g[0-2]")
    assert (t.n_nodes, t.rails, t.n_routers) == (3, 2, 2)
    plane = t.port_router.reshape(3, 2)
    assert len(set(map(tuple, plane.tolist()))) == 1
    assert sorted(t.link_bandwidth_Bps[:2].tolist()) == [2 * 10**9, 3 * 10**9]
    assert "2 planes of switches, which meet in the nodes" in t.shape.notes
    assert any("left out: 2 switches and 0 nodes" in note for note in t.shape.notes)
    # what one plane carries does not pass the relay: 6 MB in equal parts at 2 GB/s are 1.5 ms
    pattern = nc.make_pattern("shift", 3, 6_000_000, 1, np.random.default_rng(1))
    config = nc.PacketConfig(rail_policy="striped")
    messages = nc.combine([pattern], [np.arange(3)])
    sent = nc.simulate_packets(nc.make_routing(t), messages, config, np.random.default_rng(1))
    assert sent.group_finish_ps[0] / 1e12 == pytest.approx(1.5e-3, rel=0.01)
    assert sent.link_bytes[t.first_router_link :].sum() == 0


def test_of_fabrics_that_nothing_joins_one_is_chosen(tmp_path: Path) -> None:
    text = "a,b\nn1,s1\nn2,s1\nn3,s2\ns2,s3\nn4,s3\nn5,s3\n"
    both = machine(tmp_path, "cables", text)
    assert any('fabric = "s2" takes that of a switch' in note for note in both.shape.notes)
    assert (both.n_nodes, both.node_names[-2:]) == (5, ("n1", "n2"))
    one = machine(tmp_path, "cables", text, fabric="s1")
    assert (one.node_names, one.shape.switches) == (("n1", "n2"), ("s1",))
    other = machine(tmp_path, "cables", text, fabric="s3", link_bandwidth_Bps=5 * 10**9)
    assert (other.node_names, joined(other)) == (("n3", "n4", "n5"), {("s2", "s3", 5 * 10**9): 1})
    assert "left out: 1 switches and 2 nodes that are not connected with the rest" in (
        other.shape.notes
    )
    assert "fabric = 's9' is no switch of it" in machine_error(tmp_path, text, fabric="s9")
    lonely = text + "s8,s9\n"
    assert "no node is on or behind it" in machine_error(
        tmp_path, lonely, nodes="n[1-5]", fabric="s9"
    )


def test_nodes_that_are_joined_directly(tmp_path: Path) -> None:
    """A ring of three cables: 2 MB over 1 GB/s and 1 us, or over both cables of the way round."""
    text = "a,b,bandwidth,latency\ng0,g1,1 GB/s,1 us\ng1,g2,2 GB/s,1 us\ng2,g0,4 GB/s,1 us\n"
    t = machine(tmp_path, "cables", text, nodes="g[0-2]", node_latency_s=0.0)
    assert (t.n_nodes, t.n_routers) == (3, 3)
    assert t.link_bandwidth_Bps[:3].tolist() == [5 * 10**9, 3 * 10**9, 6 * 10**9]
    assert joined(t)["g0 router", "g1 router", 10**9] == 1
    assert any("3 nodes are joined directly" in note for note in t.shape.notes)
    pattern = nc.make_pattern("shift", 3, 2_000_000, 1, np.random.default_rng(1))
    messages = nc.combine([pattern], [np.arange(3)])
    sent = nc.simulate_packets(
        nc.make_routing(t), messages, nc.PacketConfig(), np.random.default_rng(1)
    )
    assert sent.group_finish_ps[0] / 1e12 == pytest.approx(2.001e-3, rel=0.01)


def test_adapters_that_name_no_host_and_chosen_adapters(tmp_path: Path) -> None:
    """Two adapters called localhost are two nodes; of n1's adapters one may be chosen."""
    text = TEXT.replace("n2 mlx5_0", "localhost mlx5_0").replace("n3 mlx5_0", "localhost mlx5_0")
    t = machine(tmp_path, "ibnetdiscover", text)
    assert t.n_nodes == 3
    assert sum(name.startswith("H-") for name in t.node_names) == 2
    assert any("2 adapters are called localhost" in note for note in t.shape.notes)
    chosen = machine(tmp_path, "ibnetdiscover", second_port(), adapters="mlx5_[0,7]")
    assert (chosen.node_names, chosen.rails) == (("n1", "n2", "n3"), 1)
    with pytest.raises(NetcosimError, match="adapters = 'mlx4_0'; no host has one of them"):
        machine(tmp_path, "ibnetdiscover", TEXT, adapters="mlx4_0")


def machine_error(folder: Path, text: str, **params: object) -> str:
    with pytest.raises(NetcosimError) as error:
        machine(folder, "cables", text, **params)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ":1: columns"),
        ("a,c\n", ":1: columns 'a, c'; they must be a, b"),
        ("a,b\n", "no cable"),
        ("a,b\nn1,n1\n", ":2: ends 'n1' and 'n1'"),
        ("a,b\nn1\n", ":2: ends 'n1' and ''"),
        ("a,b\nn1,s,3\n", ":2: 3 values for 2 columns"),
        ("a,b\nn1,n2\n", ":2: 'n1' and 'n2' have no other cable"),
        ("a,b,count\nn1,s,0\n", ":2: count = '0'; a whole number from 1 to"),
        ("a,b,bandwidth\nn1,s,10\n", ":2: 10"),
        ("a,b,bandwidth\nn1,s,-1 GB/s\n", ":2: bandwidth '-1 GB/s'"),
        ("a,b,latency\nn1,s,-1 ns\n", ":2: latency '-1 ns'"),
        ("a,b,latency\nn1,s1,1 ns\nn2,s1,2 ns\n", "2 latencies; one is allowed"),
    ],
)
def test_what_no_table_of_cables_says(tmp_path: Path, text: str, told: str) -> None:
    if told == ":2: 10":
        assert ":2: " in machine_error(tmp_path, text)
    else:
        assert told in machine_error(tmp_path, text)
