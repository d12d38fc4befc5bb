"""Machines of today: nodes, groups, links a pair, and no switch with more ports than it has."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import preset

PORTS = 64
"""Of a Rosetta and of a Quantum-2 switch."""

# nodes, ports a node, switches, groups, links a pair of groups, bytes/s of a switch's port
MACHINES = {
    "frontier": (9472, 4, 2368, 74, 4, 25e9),
    "aurora": (10_624, 8, 5312, 166, 2, 25e9),
    "polaris": (560, 2, 80, 10, 8, 25e9),
    "archer2": (5888, 2, 736, 46, 2, 25e9),
    "jupiter": (27 * 240, 4, 27 * 31, 27, 16, 50e9),
    "rail-clos-128": (128, 8, 48, 1, 0, 50e9),
}


@pytest.mark.parametrize("name", MACHINES)
def test_counts_are_those_of_the_machine(name: str) -> None:
    nodes, rails, switches, groups, links, port_Bps = MACHINES[name]
    t = preset(name)
    s = t.shape
    assert (t.n_nodes, t.rails, t.n_routers) == (nodes, rails, switches)
    if groups > 1:
        assert (s.g, s.global_links_per_pair) == (groups, links)
    used = np.zeros(t.n_routers)
    mine = t.link_src >= t.n_ports
    # several cables between two switches are one link of their sum; half a port is a split one
    cables = t.link_bandwidth_Bps[mine] / port_Bps
    np.add.at(used, t.link_src[mine] - t.n_ports, cables)
    assert used.max() <= PORTS
    np.testing.assert_array_equal(used % 1, 0)


def test_a_cray_ex_switch_has_its_ports_as_published() -> None:
    """Frontier: 16 down, 31 local, up to 16 global; 58.4 of 102.4 Tbit/s leave a group."""
    t = preset("frontier")
    kinds = {
        kind: Counter(t.link_src[t.kind_mask(kind)].tolist())
        for kind in ("ejection", "local", "global")
    }
    assert set(kinds["ejection"].values()) == {16}
    assert set(kinds["local"].values()) == {31}
    assert max(kinds["global"].values()) <= 16
    out = t.kind_mask("global") & (t.link_src < t.n_ports + 32)
    assert t.link_bandwidth_Bps[out].sum() * 8 == 58.4e12
    assert t.link_bandwidth_Bps[t.kind_mask("injection")].sum() * 8 == 74 * 102.4e12


def test_bandwidth_across_the_middle_of_aurora() -> None:
    t = preset("aurora")
    group = (t.link_src[t.kind_mask("global")] - t.n_ports) // 32
    there = (t.link_dst[t.kind_mask("global")] - t.n_ports) // 32
    assert ((group < 83) != (there < 83)).sum() * 25e9 == pytest.approx(0.69e15, rel=0.005)


@pytest.mark.parametrize(("name", "routers"), [("frontier", 4), ("aurora", 8), ("archer2", 2)])
def test_ports_of_a_node_are_on_neighbouring_switches(name: str, routers: int) -> None:
    t = preset(name)
    ports = t.port_router.reshape(t.n_nodes, t.rails)
    assert {len(set(row)) for row in ports.tolist()} == {routers}
    assert np.array_equal(ports.min(axis=1) // routers, ports.max(axis=1) // routers)
    assert np.array_equal(ports[:, 0] // routers, np.arange(t.n_nodes) // t.shape.p)


def test_gpu_i_of_every_server_is_on_leaf_i_of_its_pod() -> None:
    t = preset("rail-clos-128")
    ports = t.port_router.reshape(t.n_nodes, t.rails)
    assert np.array_equal(ports, np.arange(128)[:, None] // 32 * 8 + np.arange(8))
    # as much bandwidth from each leaf to the spines as to the servers
    for kind in ("ejection", "up1"):
        speed = t.link_bandwidth_Bps[t.kind_mask(kind)].sum()
        assert speed == 128 * 8 * 50e9


@pytest.mark.parametrize("name", MACHINES)
def test_every_routing_can_be_built(name: str) -> None:
    """In the memory that tests have; routings of any network have their own limit of routers."""
    t = preset(name)
    for routing in routings_for(t.family):
        if routing not in ("shortest-path", "min-hop", "adaptive-shortest-path"):
            assert make_routing(t, routing).name == routing


def test_what_is_assumed_is_said() -> None:
    for name in ("aurora", "polaris", "archer2", "jupiter"):
        assert "assumption" in PRESETS[name].description
