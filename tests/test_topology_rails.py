"""Several network ports a node: how ports, vertices and links are numbered."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.flow.maxmin import run_flows
from netsim.flow.paths import flow_paths
from netsim.routing.partition import partition_routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.fattree import fat_tree, xgft
from netsim.topologies.registry import make_topology
from netsim.topology import Ports, RouterLinks, Topology, build_topology


def three_nodes(port_router: list[int], rails: int) -> Topology:
    """Ports on three routers in a row."""
    return build_topology(
        family="graph",
        name="row",
        shape=None,
        n_routers=3,
        ports=Ports(router=np.array(port_router), bandwidth_Bps=10**9, latency_s=0.0, rails=rails),
        links=RouterLinks(
            src=np.array([0, 1, 1, 2]),
            dst=np.array([1, 0, 2, 1]),
            kind=np.zeros(4, dtype=int),
            kinds=("cable",),
            bandwidth_Bps=10**9,
            latency_s=0.0,
        ),
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


def test_a_dragonfly_with_rails_on_neighbouring_routers():
    """Frontier's way: a block of four routers holds the four ports of each of its nodes."""
    t = dragonfly(p=2, a=8, g=3, rails=4)
    s = t.shape
    assert (t.n_nodes, t.n_ports, s.nodes_per_group) == (12, 48, 4)
    assert t.port_router[: 4 * 3].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]
    assert t.routers_of(np.arange(4)).tolist() == list(range(8))
    assert np.bincount(t.port_router).tolist() == [2] * 24
    assert t.kind_mask("local")[s.first_local_link]
    assert s.first_local_link == t.first_router_link
    assert s.n_links == t.n_links


def test_a_dragonfly_with_all_ports_of_a_node_on_one_router():
    t = dragonfly(p=2, a=4, g=3, rails=2, rail_routers="same")
    assert (t.n_nodes, t.n_ports, t.shape.nodes_per_group) == (24, 48, 8)
    assert np.array_equal(t.port_router, np.repeat(np.arange(12), 4))


def test_a_rail_optimised_fat_tree():
    """Port r of every server of a block on the block's leaf r: 2 x 2 leaves, 3 servers a block."""
    t = xgft(3, 4, 1, 3, 0, levels=2, rails=2)
    s = t.shape
    assert (t.n_nodes, s.n_leaves) == (6, 4)
    assert t.port_router.tolist() == [0, 1] * 3 + [2, 3] * 3
    assert s.leaf_of(np.arange(6)).tolist() == [0, 0, 0, 2, 2, 2]
    assert s.n_links == t.n_links
    assert s.first_up1 == t.first_router_link


def test_a_fat_tree_by_radix_keeps_its_switches():
    """Half the ports of a leaf go to nodes, whatever the rails: as many ports in all."""
    one = fat_tree(8)
    for rail_routers, a_leaf in (("different", 4), ("same", 2)):
        t = fat_tree(8, rails=2, rail_routers=rail_routers)
        assert (t.n_ports, t.n_routers, t.n_links) == (one.n_nodes, one.n_routers, one.n_links)
        assert (t.n_nodes, t.shape.m1) == (one.n_nodes // 2, a_leaf)
        pods = t.shape.pod_of(np.arange(t.n_nodes))
        assert np.bincount(pods).tolist() == [t.n_nodes // 8] * 8


def test_d_mod_k_spreads_the_ports_of_a_leaf_over_its_up_links():
    """All servers of one rail-optimised block to those of another: no up-link carries two."""
    t = xgft(4, 4, 1, 4, 0, levels=2, rails=2)
    paths = flow_paths(make_routing(t, "d-mod-k"), np.arange(4), np.arange(4, 8))
    between = paths.links[paths.links >= t.first_router_link]
    assert np.bincount(between).max() == 1


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: dragonfly(2, 3, 3, rails=2), "rails = 2 on different routers need a to be a mult"),
        (lambda: dragonfly(2, 4, 3, rails=0), "dragonfly: rails = 0; it must be at least 1"),
        (lambda: xgft(2, 3, 2, rails=2), "rails = 2 on different routers need m2 to be a multiple"),
        (lambda: fat_tree(6, rails=2, rail_routers="same"), "do not divide its 3 ports to nodes"),
        (
            lambda: fat_tree(6, rails=2),
            "need leaves a pod to be a multiple of it; leaves a pod = 3",
        ),
        (lambda: fat_tree(8, rails=2, rail_routers="both"), "rail_routers = 'both'; valid: differ"),
        (lambda: make_topology("torus", {"dims": [4], "rails": 2}), "rails"),
    ],
)
def test_rails_that_do_not_fit_are_refused(build, told):
    with pytest.raises(NetcosimError, match=told):
        build()


def test_a_flow_is_spread_over_the_rails_or_keeps_to_one():
    t = dragonfly(p=2, a=4, g=3, rails=2)
    routing = make_routing(t, "minimal")
    spread = flow_paths(routing, [0], [11])
    assert spread.weights is not None
    on = dict(zip(spread.links.tolist(), spread.weights.tolist(), strict=True))
    assert {link: on[link] for link in (0, 1, 24 + 22, 24 + 23)} == dict.fromkeys(
        (0, 1, 46, 47), 0.5
    )
    alone = flow_paths(routing, [0, 0], [11, 11], rail=[1, 0])
    ends = [
        [link for link in alone.links[a:b].tolist() if link < t.first_router_link]
        for a, b in pairwise(alone.ptr)
    ]
    assert ends == [[1, 47], [0, 46]]
    with pytest.raises(NetcosimError, match=r"a flow's rail is outside 0\.\.1"):
        flow_paths(routing, [0], [11], rail=2)


def test_a_flow_over_two_rails_takes_half_the_time():
    for rails in (1, 2, 4):
        t = dragonfly(p=1, a=4, g=1, rails=rails, rail_routers="same")
        paths = flow_paths(make_routing(t, "minimal"), [0], [3])
        took = run_flows(paths, [1e9], t.link_bandwidth_Bps).finish_s
        # the cable between the two routers is the only one
        assert took.tolist() == pytest.approx([1.0])
        t = dragonfly(
            p=1,
            a=4,
            g=1,
            rails=rails,
            rail_routers="same",
            links=GroupLinks(local_bandwidth_Bps=10**10),
        )
        paths = flow_paths(make_routing(t, "minimal"), [0], [3])
        took = run_flows(paths, [1e9], t.link_bandwidth_Bps).finish_s
        assert took.tolist() == pytest.approx([1.0 / rails])


def test_policies_that_give_links_to_jobs_want_one_port_a_node():
    t = fat_tree(8, rails=2)
    with pytest.raises(NetcosimError, match=r"'jigsaw' needs rails = 1; nodes of .* have 2"):
        make_policy(t, "jigsaw", np.random.default_rng(0))
    with pytest.raises(NetcosimError, match=r"partition: nodes of .* have 2 ports"):
        partition_routing(t, [(np.arange(2), np.empty(0))])
