"""What SST's merlin and BookSim2 draw and weigh on a dragonfly, on paths known by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from packet_cases import ENGINES, flows
from routing_views import BUFFER, GivenLoads

from experiments.validation.reference.decisions import choose_of
from netsim.errors import NetcosimError
from netsim.packet.model import INPUT_QUEUED, PacketConfig, PacketResult
from netsim.routing.base import Hop, Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.dragonfly_plus import dragonfly_plus

Engine = Callable[..., PacketResult]


def walk(routing: Routing, view: GivenLoads, src: int, dst: int, seed: int) -> list[Hop]:
    """Hops between routers of one packet from a router to a node."""
    t, router, state, hops = routing.topology, src, 0, []
    for key in np.random.default_rng(seed).integers(0, 2**63, 20):
        hop = choose_of(routing)(view, router, dst, state, int(key), 1000)
        if hop.link < 2 * t.n_nodes:
            break
        hops.append(hop)
        router, state = int(t.link_dst[hop.link]) - t.n_nodes, hop.state
    return hops


def routers_of(routing: Routing, hops: list[Hop]) -> list[int]:
    t = routing.topology
    return [int(t.link_dst[hop.link]) - t.n_nodes for hop in hops]


def test_merlin_may_draw_the_destinations_router_and_goes_directly() -> None:
    """Each of the others equally often (chi-square, 5 sigma); valiant-local never draws it."""
    a, src, dst, n = 6, 1, 4, 2000
    t = dragonfly(1, a, 3)
    routing = make_routing(t, "merlin-valiant")
    ways = [routers_of(routing, walk(routing, GivenLoads(), src, dst, seed)) for seed in range(n)]
    firsts = Counter(way[0] for way in ways)
    assert set(firsts) == set(range(a)) - {src}
    expected = n / (a - 1)
    chi2 = sum((count - expected) ** 2 / expected for count in firsts.values())
    assert chi2 < (a - 2) + 5 * (2 * (a - 2)) ** 0.5
    assert all(way == ([dst] if way[0] == dst else [way[0], dst]) for way in ways)
    never = make_routing(t, "valiant-local")
    assert dst not in {
        routers_of(never, walk(never, GivenLoads(), src, dst, s))[0] for s in range(200)
    }


def test_merlins_valiant_is_minimal_among_two_groups() -> None:
    """There is no intermediate group, and merlin then knows no detour inside either."""
    t = dragonfly(1, 4, 2)
    for dst in (3, 5, 7):
        ways = [
            walk(make_routing(t, name), GivenLoads(), 0, dst, 3)
            for name in ("merlin-valiant", "minimal")
        ]
        assert ways[0] == ways[1]


@pytest.mark.parametrize(
    ("direct", "detour", "detours"), [(400, 0, False), (401, 0, True), (2400, 1000, False)]
)
def test_merlins_ugal_inside_a_group(direct: int, detour: int, detours: bool) -> None:
    """Directly unless that queue is above twice the drawn router's and 400 bytes."""
    t = dragonfly(1, 3, 3)  # the only other router to draw is 1; 2 is the destination's
    s = t.shape
    view = GivenLoads({s.local_link(0, 0, 2): direct, s.local_link(0, 0, 1): detour})
    routing = make_routing(t, "merlin-ugal")
    ways = {
        tuple((router, hop.vc) for router, hop in zip(routers_of(routing, w), w, strict=True))
        for w in (walk(routing, view, 0, 2, seed) for seed in range(40))
    }
    straight, around = ((2, 0),), ((1, 0), (2, 2))
    assert ways == ({straight, around} if detours else {straight})


def test_merlins_ugal_weighs_first_links_and_again_where_both_ways_go_on() -> None:
    """Groups of two routers with two global links each: group 0 reaches 1, 2 from router 0 and
    3, 4 from router 1."""
    t = dragonfly(1, 2, 5)
    s = t.shape
    assert [s.global_router(0, g) for g in (1, 2, 3, 4)] == [0, 0, 1, 1]
    routing = make_routing(t, "merlin-ugal")
    to_three = s.global_router(3, 0)
    far, across = s.global_link(0, 3), s.local_link(0, 0, 1)

    def firsts(waiting: Mapping[int, int], n: int = 60) -> set[int]:
        """The global links by which packets from router 0 to group 3 leave their group."""
        out = set()
        for seed in range(n):
            hops = walk(routing, GivenLoads(waiting), 0, to_three, seed)
            out.add(next(hop.link for hop in hops if hop.link >= s.first_global_link))
        return out

    assert firsts({}) == {far}
    # the local link is full: who drew group 1 or 2 leaves from router 0; group 4 lies behind the
    # same local link, so those packets stay minimal
    assert firsts({across: 5000}) == {far, s.global_link(0, 1), s.global_link(0, 2)}
    # the far global link is full, which router 0 cannot see: packets that drew group 4 turn there
    assert firsts({far: 5000}) == {far, s.global_link(0, 4)}
    assert firsts({far: 400}) == {far}
    # equal weights, by chance
    assert firsts({across: 400}) == {far, s.global_link(0, 1), s.global_link(0, 2)}


def test_merlins_adaptive_local_looks_at_the_free_output_buffer() -> None:
    """A detour where the drawn link's buffer has more than twice the free space."""
    t = dragonfly(1, 4, 3)
    direct = t.shape.local_link(0, 0, 2)
    routing = make_routing(t, "merlin-adaptive-local")
    for waiting, detours in ((BUFFER // 2, False), (BUFFER // 2 + 1, True)):
        ways = [walk(routing, GivenLoads({direct: waiting}), 0, 2, seed) for seed in range(60)]
        assert any(len(way) > 1 for way in ways) == detours
        # with probability 1/3 the destination's router is drawn
        assert any(len(way) == 1 for way in ways)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize(
    ("name", "parameters", "counts"),
    [
        ("ugal-l", {"ugal_compares": "output-bytes", "ugal_weight": 2}, True),
        ("ugal-l", {"ugal_compares": "output-bytes", "ugal_counts_bids": False}, False),
        ("ugal-l", {"ugal_weight": 2}, True),
        ("ugal-l", {"ugal_weight": 2, "ugal_counts_bids": False}, False),
        ("merlin-ugal", {}, False),
        ("merlin-adaptive-local", {}, False),
    ],
)
def test_heads_that_bid_count_for_some(engine, name, parameters, counts):
    """Four packets reach one router in one tick, for one group: all are routed before any crosses.

    Who counts heads that bid sends some elsewhere; the output FIFOs are still empty.
    """
    t = dragonfly(4, 2, 9, 4)
    s = t.shape
    routing = make_routing(t, name, parameters)
    link = s.global_link(0, next(g for g in range(1, 9) if s.global_router(0, g) == 0))
    target = int(t.link_dst[link]) - t.n_nodes
    sent = flows([(node, 4 * target + node) for node in range(4)], 1000, t.n_nodes)
    settings = PacketConfig(router=INPUT_QUEUED, crossbar_speedup=1)
    result = engine(routing, sent, settings, np.random.default_rng(3))
    assert (result.link_packets[link] < 4) == counts


def test_an_intermediate_node_is_drawn_from_all_nodes() -> None:
    """By way of its router, equally often (chi-square, 5 sigma); minimally if in the group."""
    t = dragonfly(2, 4, 5)
    s, n, target = t.shape, 4000, 13
    dst = 2 * target
    routing = make_routing(t, "valiant", {"valiant_intermediate": "node"})
    drawn: Counter[int] = Counter()
    for seed in range(n):
        key = int(np.random.default_rng(seed).integers(0, 2**63))
        # one link a pair of groups: the plan is the router and 1
        drawn[choose_of(routing)(GivenLoads(), 0, dst, 0, key, 1000).state // 4 - 1] += 1
    expected = n / s.n_routers
    # a packet that goes minimally has the destination's router for a plan
    minimal = drawn.pop(target)
    assert abs(minimal - (1 + s.a) * expected) < 5 * ((1 + s.a) * expected) ** 0.5
    assert set(drawn) == set(range(s.a, s.n_routers)) - {target}
    chi2 = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert chi2 < len(drawn) + 5 * (2 * len(drawn)) ** 0.5
    order = [(False, 0), (True, 0), (False, 1), (False, 2), (True, 1), (False, 3)]
    longest: list[tuple[bool, int]] = []
    for seed in range(300):
        hops = walk(routing, GivenLoads(), 0, dst, seed)
        taken = [(hop.link >= s.first_global_link, hop.vc) for hop in hops]
        assert taken == sorted(taken, key=order.index)
        longest = max(longest, taken, key=len)
    assert longest == order


def test_a_dragonfly_plus_draws_groups_alone() -> None:
    t = dragonfly_plus(2, 2, 2, 3)
    with pytest.raises(NetcosimError, match="valiant_intermediate = node; allowed on a dragonfly"):
        make_routing(t, "valiant", {"valiant_intermediate": "node"})
