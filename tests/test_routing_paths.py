"""Every routing arrives, minimal ones by shortest ways; closed forms of link loads."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from routing_machines import on_every_routing
from routing_views import GivenLoads

from experiments.validation.reference.decisions import choose_of
from experiments.validation.reference.view import View
from netsim.errors import NetcosimError
from netsim.routing.base import Hop, Routing
from netsim.routing.dragonfly_reference import fs_per_byte
from netsim.routing.registry import ROUTINGS, default_routing, make_routing, routings_for
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.torus import torus
from netsim.topology import Topology

MINIMAL = ("d-mod-k", "adaptive", "dimension-order", "minimal-adaptive", "shortest-path")


def path_lengths(routing: Routing, src: int, dst: int) -> set[int]:
    """Router-to-router links of every path that the choices allow."""
    t = routing.topology
    lengths: set[int] = set()
    todo = {(int(t.port_router[src]), 0)}
    for hops in range(30):
        after = set()
        for router, state in todo:
            for hop in routing.choices(router, dst, state):
                assert t.link_src[hop.link] == t.n_ports + router
                if hop.link < t.first_router_link:
                    assert hop.link == t.n_ports + dst
                    assert hop.vc == 0
                    lengths.add(hops)
                else:
                    after.add((int(t.link_dst[hop.link]) - t.n_ports, hop.state))
        todo = after
        if not todo:
            return lengths
    raise AssertionError(f"{routing.name} on {t.name}: {src} to {dst} does not end")


def oracle(t: Topology) -> dict[int, dict[int, int]]:
    g = nx.DiGraph()
    g.add_nodes_from(range(t.n_routers))
    s = slice(t.first_router_link, None)
    g.add_edges_from(
        zip((t.link_src[s] - t.n_ports).tolist(), (t.link_dst[s] - t.n_ports).tolist(), strict=True)
    )
    return dict(nx.all_pairs_shortest_path_length(g))


@on_every_routing
def test_every_path_arrives_and_minimal_ones_are_shortest(routing: Routing) -> None:
    t = routing.topology
    distance = oracle(t)
    for src in range(t.n_ports):
        for dst in range(t.n_ports):
            lengths = path_lengths(routing, src, dst)
            least = distance[int(t.port_router[src])][int(t.port_router[dst])]
            assert min(lengths) >= least
            if routing.name in MINIMAL:
                assert lengths == {least}
            elif routing.name == "minimal":
                assert max(lengths) <= 3
            elif routing.name == "par":  # two links in the source group
                assert max(lengths) <= 6
            else:
                # a dragonfly+ crosses the intermediate group by way of a leaf, and a path by a
                # drawn node by way of its router
                by_way = t.family == "dragonfly-plus" or routing.n_vcs == 4
                # no message goes from one plane of a GPU cluster to another
                if t.scale_up is None or src % t.rails == dst % t.rails > 0:
                    assert max(lengths) <= (6 if by_way else 5)


def test_dragonfly_minimal_takes_the_one_global_link() -> None:
    t = dragonfly(1, 3, 7)
    routing = make_routing(t, "minimal")
    s = t.shape
    for src in range(t.n_routers):
        for dst in range(t.n_routers):
            if src // 3 != dst // 3:
                out = s.global_router(src // 3, dst // 3)
                back = s.global_router(dst // 3, src // 3)
                assert path_lengths(routing, src, dst) == {(src != out) + 1 + (back != dst)}
            else:
                assert path_lengths(routing, src, dst) == {int(src != dst)}


def walk(routing: Routing, src: int, dst: int) -> list[int]:
    """Links of a static routing's path, injection and ejection left out."""
    t = routing.topology
    router, state, links = int(t.port_router[src]), 0, []
    while True:
        (hop,) = routing.choices(router, dst, state)
        if hop.link < t.first_router_link:
            return links
        links.append(hop.link)
        router, state = int(t.link_dst[hop.link]) - t.n_ports, hop.state


@pytest.mark.parametrize("t", [fat_tree(4), fat_tree(6), fat_tree(6, levels=2)], ids=str)
def test_shifts_on_a_full_fat_tree_use_each_link_at_most_once(t: Topology) -> None:
    routing = make_routing(t, "d-mod-k")
    for shift in range(1, t.n_ports):
        used = Counter(
            link
            for src in range(t.n_ports)
            for link in walk(routing, src, (src + shift) % t.n_ports)
        )
        assert max(used.values(), default=1) == 1, shift


def test_opposite_traffic_on_a_torus_is_split_evenly_in_every_dimension() -> None:
    t = torus([4, 8, 4])
    routing = make_routing(t, "dimension-order")
    used: Counter[int] = Counter()
    for src in range(t.n_ports):
        far = [(c + n // 2) % n for c, n in zip(t.shape.coords(src), t.shape.dims, strict=True)]
        used.update(walk(routing, src, int(np.ravel_multi_index(far, t.shape.dims))))
    for d, length in enumerate(t.shape.dims):
        for sign in "+-":
            links = np.flatnonzero(t.kind_mask(f"d{d}{sign}"))
            assert {used[int(link)] for link in links} == {length // 4}


def test_shift_by_half_less_one_goes_one_way() -> None:
    # Tornado on a ring of 8: 3 hops each, all the same way, 3 packets on each + link.
    t = torus([8])
    routing = make_routing(t, "dimension-order")
    used = Counter(link for src in range(8) for link in walk(routing, src, (src + 3) % 8))
    assert used == {int(link): 3 for link in np.flatnonzero(t.kind_mask("d0+"))}


def test_registry() -> None:
    t = fat_tree(4)
    assert default_routing(t) == make_routing(t).name == "d-mod-k"
    assert routings_for("hyperx") == (
        "dimension-order",
        "shortest-path",
        "min-hop",
        "adaptive-shortest-path",
    )
    assert all(entry.description for entry in ROUTINGS.values())
    with pytest.raises(
        NetcosimError, match=r"unknown routing for fattree 'ugal'; valid: adaptive, adaptive-"
    ):
        make_routing(t, "ugal")
    with pytest.raises(NetcosimError, match="routing d-mod-k: unknown parameter 'ugal_bias_s'"):
        make_routing(t, "d-mod-k", {"ugal_bias_s": 1e-6})
    biased = make_routing(dragonfly(1, 2, 5), "ugal-l", {"ugal_bias_s": 1e-6})
    assert biased.tables.params[0] == 10**6


def test_ugal_by_hand() -> None:
    """With load on the minimal path only, UGAL-L sees it at the source, UGAL-G beyond it."""
    t = dragonfly(1, 2, 5)
    s = t.shape

    # Source router 0; the link from group 0 to group 4 sits on router 1 of the group.
    assert s.global_router(0, 4) == 1
    local, far = s.local_link(0, 0, 1), s.global_link(0, 4)
    dst = s.global_router(4, 0)

    def first(name: str, link: int, load: int, **parameters: object) -> set[bool]:
        """Whether the packet goes minimally, over detours that start on router 0 itself."""
        routing = make_routing(t, name, parameters)
        direct = make_routing(t, "minimal").choices(0, dst, 0)
        out = set()
        for key in np.random.default_rng(1).integers(0, 2**63, 60):
            detour = choose_of(make_routing(t, "valiant"))(GivenLoads(), 0, dst, 0, int(key), 1)
            if detour.link != local:
                hop = choose_of(routing)(GivenLoads({link: load}), 0, dst, 0, int(key), 1)
                out.add(hop in direct)
        return out

    assert first("ugal-l", local, 100) == {False}
    assert first("ugal-l", far, 100) == {True}
    assert first("ugal-g", far, 100) == {False}
    assert first("ugal-g", local, 100) == {True}
    assert first("ugal-l", -1, 0) == {True}
    # Times in picoseconds: a load of 100 on a way of 2 links; 100 bytes used of a link of 1 GB/s.
    queue = {"ugal_compares": "output-queue"}
    for compares, bias_ps in ((queue, 200), ({}, 200_000)):
        assert first("ugal-l", local, 100, ugal_bias_s=bias_ps * 1e-12, **compares) == {True}
        less = (bias_ps - 1) * 1e-12
        assert first("ugal-l", local, 100, ugal_bias_s=less, **compares) == {False}
    # Bytes that wait, unweighed as merlin has it: 100 > 2 * 0 + threshold
    waiting = {"ugal_compares": "output-bytes", "ugal_weight": 2}
    assert first("ugal-l", local, 100, ugal_threshold_bytes=99, **waiting) == {False}
    assert first("ugal-l", local, 100, ugal_threshold_bytes=100, **waiting) == {True}


@pytest.mark.parametrize("name", ["ugal-l", "par"])
def test_a_margin_in_what_is_not_compared_is_refused(name: str) -> None:
    t = dragonfly(1, 2, 5)
    with pytest.raises(NetcosimError, match="used-credits compares times, with ugal_bias_s"):
        make_routing(t, name, {"ugal_threshold_bytes": 100})
    with pytest.raises(NetcosimError, match="compares bytes, with ugal_threshold_bytes"):
        make_routing(t, name, {"ugal_compares": "output-bytes", "ugal_bias_s": 1e-6})


UGALS = ("ugal-l", "ugal-g", "par")


def busy(*links: int) -> GivenLoads:
    """A view in which some links are busy, and the others idle."""
    return GivenLoads(dict.fromkeys(links, 10**6))


def walks(routing: Routing, view: View, src: int, dst: int, n: int = 60) -> list[list[Hop]]:
    """Hops between routers of ``n`` packets from router to node, each with chances of its own."""
    t, found = routing.topology, []
    for seed in range(n):
        router, state, hops = src, 0, []
        keys = np.random.default_rng(seed).integers(0, 2**63, 20)
        for key in keys:
            hop = choose_of(routing)(view, router, dst, state, int(key), 1)
            if hop.link < 2 * t.n_nodes:
                break
            hops.append(hop)
            router, state = int(t.link_dst[hop.link]) - t.n_nodes, hop.state
        found.append(hops)
    return found


def test_par_turns_at_the_router_of_a_full_global_link() -> None:
    """What UGAL-L cannot see from its source router; a second local link, on channel 1."""
    t = dragonfly(1, 4, 9)
    s, target = t.shape, 5
    gate = s.global_router(0, target)
    src, dst = (gate + 1) % s.a, s.global_router(target, 0)
    full, toward = s.global_link(0, target), s.local_link(0, src, gate)
    assert all(len(hops) == 2 for hops in walks(make_routing(t, "par"), busy(), src, dst))
    assert all(
        hops[1].link == full for hops in walks(make_routing(t, "ugal-l"), busy(full), src, dst)
    )
    turned = walks(make_routing(t, "par"), busy(full), src, dst)
    assert {hops[0][:2] for hops in turned} == {(toward, 0)}
    assert all(hop.link != full for hops in turned for hop in hops)
    second = [hops[1] for hops in turned if hops[1].link < s.first_global_link]
    assert second
    assert {hop.vc for hop in second} == {1}
    assert max(len(hops) for hops in turned) == 6
    # a packet that its source router already sends on a detour is on channel 1 at once
    detours = walks(make_routing(t, "par"), busy(toward), src, dst)
    assert all(
        hops[0].vc == (hops[0].link < s.first_global_link)
        for hops in detours
        if hops[0].link != toward
    )


@pytest.mark.parametrize("group", ["all-to-all", "aries"])
def test_detours_inside_a_group(group: str) -> None:
    """By way of each other router, on channel 0 and then 1; directly where that has room."""
    a = 96 if group == "aries" else 6
    t = dragonfly(1, a, 1, group=group, links=GroupLinks(local_bandwidth_Bps=5 * 10**8))
    s, src, dst = t.shape, 1, 4
    direct = s.local_link(0, src, s.local_step(src, dst))
    judges = [(name, busy(direct)) for name in ("adaptive-local", *UGALS)]
    for name, view in (("valiant-local", busy()), *judges):
        ways = walks(make_routing(t, name), view, src, dst, 300)
        for hops in ways:
            assert [hop.vc for hop in hops] == sorted(hop.vc for hop in hops)
            assert len(hops) <= 4
        if group == "all-to-all":
            assert {tuple(hop.vc for hop in hops) for hops in ways} == {(0, 1)}
            vias = {int(t.link_dst[hops[0].link]) - t.n_nodes for hops in ways}
            assert vias == set(range(a)) - {src, dst}
    for name, _ in judges:
        routing = make_routing(t, name)
        assert {hops[0].link for hops in walks(routing, busy(), src, dst)} == {direct}


@pytest.mark.parametrize("name", UGALS)
def test_ugal_detours_inside_a_group_where_its_links_are_slow(name: str) -> None:
    """Not where each pair of routers has a link as fast as a node's: no node needs two paths."""
    for local_Bps, detours in ((10**9, False), (10**9 - 1, True)):
        t = dragonfly(1, 6, 1, links=GroupLinks(local_bandwidth_Bps=local_Bps))
        direct = t.shape.local_link(0, 1, 4)
        ways = walks(make_routing(t, name), busy(direct), 1, 4)
        assert (direct not in {hops[0].link for hops in ways}) == detours


def test_adaptive_local_takes_the_freer_of_two_links() -> None:
    """In the source group, and at the first router of the group between."""
    t = dragonfly(1, 2, 4, 3)  # two links a pair, one on each router of a group
    s = t.shape
    here, there = s.global_router(0, 3, 0), s.global_router(0, 3, 1)
    assert here != there
    across, straight = s.local_link(0, here, there), s.global_link(0, 3, 0)
    dst = s.global_router(3, 0)
    routing = make_routing(t, "adaptive-local")
    for full, free in ((across, straight), (straight, across)):
        assert {hops[0].link for hops in walks(routing, busy(full), here, dst)} == {free}
    assert {h[0].link for h in walks(routing, busy(), here, dst)} == {across, straight}
    between = [s.global_link(m, 3, copy) for m in (1, 2) for copy in (0, 1)]
    after = [
        hops[i + 1].link
        for hops in walks(routing, busy(across, straight, *between), here, dst)
        for i, hop in enumerate(hops[:-1])
        if hop.link >= s.first_global_link and hop.state % 4 == 3
    ]
    assert len(after) > 10
    assert all(link < s.first_global_link for link in after)


def test_the_time_of_a_byte_that_ugal_compares_is_rounded_to_femtoseconds() -> None:
    """1e15 / 3e9 = 333,333.3 and 1e15 / 6e9 = 166,666.7."""
    assert [fs_per_byte(10**9 * k) for k in (1, 3, 6)] == [1_000_000, 333_333, 166_667]
