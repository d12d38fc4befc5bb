"""Several network ports a node: how ports, vertices and links are numbered."""

from __future__ import annotations

import numpy as np
import pytest

from netsim.errors import NetcosimError
from netsim.topology import Topology, build_topology


def three_nodes(port_router: list[int], rails: int) -> Topology:
    """Ports on three routers in a row."""
    return build_topology(
        family="graph",
        name="row",
        shape=None,
        port_router=np.array(port_router),
        n_routers=3,
        router_src=np.array([0, 1, 1, 2]),
        router_dst=np.array([1, 0, 2, 1]),
        router_kind=np.zeros(4, dtype=int),
        router_kinds=("cable",),
        router_bandwidth_Bps=10**9,
        router_latency_s=0.0,
        node_bandwidth_Bps=10**9,
        node_latency_s=0.0,
        rails=rails,
    )


def test_ports_come_first_then_routers():
    t = three_nodes([0, 1, 1, 2, 0, 2], rails=2)
    assert (t.n_nodes, t.n_ports, t.first_router_link, t.n_links) == (3, 6, 12, 16)
    assert t.link_src[:6].tolist() == t.link_dst[6:12].tolist() == list(range(6))
    assert t.link_dst[:6].tolist() == t.link_src[6:12].tolist() == [6, 7, 7, 8, 6, 8]
    assert (t.link_src[12:] - t.n_ports).tolist() == [0, 1, 1, 2]
    assert [row.tolist() for row in t.router_out_links()] == [[0, 1, 3, 4], [12, 13, 14, 15]]


def test_a_node_is_on_the_routers_of_all_its_ports():
    t = three_nodes([0, 1, 1, 2, 0, 2], rails=2)
    assert t.node_router.tolist() == [0, 1, 0]
    assert t.routers_of(np.array([2])).tolist() == [0, 2]
    assert t.routers_of(np.array([0, 1])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("rails", [0, -1, 4])
def test_ports_make_whole_nodes(rails):
    with pytest.raises(NetcosimError, match=f"row: 6 ports cannot be {rails} rails"):
        three_nodes([0, 1, 1, 2, 0, 2], rails)
