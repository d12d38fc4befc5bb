"""Dragonfly+: wiring by closed forms, routes by hand, saturation where the counts put it."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offered_cycles import measure
from routing_views import GivenLoads
from selection import examples
from test_routing_deadlock import on_one_channel
from test_topology_families import check_symmetric, router_graph, router_links, speeds

from alloc.isolation import usable_links
from alloc.policy import Placement
from experiments.kit.load_networks import CYCLE_S, LINK_BPS
from experiments.validation.reference.decisions import choose_of
from netsim.errors import NetcosimError
from netsim.routing.base import Routing
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.dragonfly import ARRANGEMENTS, GroupLinks
from netsim.topologies.dragonfly_plus import dragonfly_plus
from netsim.topologies.registry import make_topology
from netsim.topology import Topology

sizes = st.tuples(
    st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(2, 7), st.integers(1, 8)
)


@examples(60)
@given(sizes=sizes, arrangement=st.sampled_from(ARRANGEMENTS))
def test_wiring_is_that_of_the_closed_forms(sizes, arrangement):
    p, leaves, spines, g, h = sizes
    if g > spines * h + 1:
        with pytest.raises(NetcosimError, match=rf"at most spines\*h\+1 = {spines * h + 1}"):
            dragonfly_plus(p, leaves, spines, g, h, arrangement=arrangement)
        return
    t = dragonfly_plus(p, leaves, spines, g, h, arrangement=arrangement)
    s, k = t.shape, spines * h // (g - 1)
    check_symmetric(t)
    assert (t.n_nodes, t.n_routers) == (p * leaves * g, (leaves + spines) * g)
    assert t.n_links == 2 * (t.n_nodes + g * leaves * spines) + g * (g - 1) * k

    group = leaves + spines
    by_kind = {
        kind: [router_links(t)[i - 2 * t.n_nodes] for i in np.flatnonzero(t.kind_mask(kind))]
        for kind in ("up", "down", "global")
    }
    every = {
        (x * group + i, x * group + leaves + j)
        for x in range(g)
        for i in range(leaves)
        for j in range(spines)
    }
    assert set(by_kind["up"]) == every
    assert by_kind["down"] == [(b, a) for a, b in by_kind["up"]]
    pairs = Counter((a // group, b // group) for a, b in by_kind["global"])
    assert pairs == {(x, y): k for x in range(g) for y in range(g) if x != y}
    assert all(a % group >= leaves and b % group >= leaves for a, b in by_kind["global"])
    assert max(Counter(a for a, _ in by_kind["global"]).values()) <= h
    for x, y in pairs:
        for copy in range(k):
            link = s.global_link(x, y, copy)
            assert t.link_src[link] - t.n_nodes == s.global_router(x, y, copy)
            assert t.link_dst[link] - t.n_nodes == s.global_router(y, x, copy)
    assert Counter(t.node_router.tolist()) == {
        x * group + i: p for x in range(g) for i in range(leaves)
    }


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_leaves_are_three_links_apart_and_half_the_groups_are_cut_by_their_pairs(arrangement):
    """The full one: each port taken, one link a pair. Then three links a pair."""
    t = dragonfly_plus(4, 4, 4, 17, arrangement=arrangement)
    assert t.shape.h == 4
    degree = Counter(a for a, _ in router_links(t)) + Counter(t.node_router.tolist())
    assert set(degree.values()) == {8}
    near = dict(nx.all_pairs_shortest_path_length(router_graph(t)))
    leaves = np.unique(t.node_router).tolist()
    far = {near[a][b] for a in leaves for b in leaves}
    assert far == {0, 2, 3}
    t = dragonfly_plus(1, 2, 3, 6, 5, arrangement=arrangement)
    assert t.shape.global_links_per_pair == 3
    cut = sum(a // 5 < 3 <= b // 5 for a, b in router_links(t))
    assert cut == 3 * 3 * 3


def routed(routing: Routing, src: int, dst: int) -> set[tuple[str, ...]]:
    """Kinds of the links of every path that a routing may take between two nodes."""
    t, found = routing.topology, set()
    todo: list[tuple[int, int, tuple[str, ...]]] = [(int(t.node_router[src]), 0, ())]
    while todo:
        router, state, kinds = todo.pop()
        for hop in routing.choices(router, dst, state):
            if hop.link == t.n_nodes + dst:
                found.add(kinds)
                continue
            kind = f"{t.kinds[t.link_kind[hop.link]]} {hop.vc}"
            todo.append((int(t.link_dst[hop.link]) - t.n_nodes, hop.state, (*kinds, kind)))
    return found


LEVEL = ("up 0", "down 0")
DIRECT = ("up 0", "global 0", "down 0")
BY_A_SPINE = ("up 0", "global 0", "global 1", "down 1")
BY_A_LEAF = ("up 0", "global 0", "down 0", "up 1", "global 1", "down 1")


def test_ways_are_those_of_the_papers() -> None:
    """L-L, L-G-L, L-G-G-L and L-G-L-L-G-L, the second half on the second channel."""
    few, many = dragonfly_plus(1, 2, 2, 5), dragonfly_plus(1, 2, 2, 3, 2)
    assert many.shape.global_links_per_pair == 2  # each spine has a link to both other groups
    for t, detours in ((few, {BY_A_SPINE, BY_A_LEAF}), (many, {BY_A_SPINE})):
        for name in routings_for(t.family):
            if name in ("shortest-path", "min-hop", "adaptive-shortest-path"):
                continue  # of any network
            routing = make_routing(t, name)
            found = set().union(*(routed(routing, 0, dst) for dst in range(2, t.n_nodes)))
            assert routed(routing, 0, 1) == {LEVEL}
            assert found == (set() if name == "valiant" else {DIRECT}) | (
                set() if name == "minimal" else detours
            )
            assert routing.n_vcs == (1 if name == "minimal" else 2)


def test_a_detour_needs_its_second_channel() -> None:
    assert find_cycle(on_one_channel(make_routing(dragonfly_plus(1, 2, 2, 5), "valiant")))


def test_spines_and_links_are_drawn_evenly() -> None:
    """Minimal routing in a group over four spines, between groups over three links; 5 sigma."""
    t = dragonfly_plus(1, 2, 4, 4, 3)
    assert t.shape.global_links_per_pair == 4
    routing = make_routing(t, "minimal")
    rng = np.random.default_rng(1)
    for dst in (1, 2):
        drawn = Counter(
            choose_of(routing)(None, 0, dst, 0, int(key), 1)[::2]  # type: ignore[arg-type]
            for key in rng.integers(0, 2**63, 4000)
        )
        assert len(drawn) == 4
        assert max(abs(n - 1000) for n in drawn.values()) < 5 * (4000 * 3 / 16) ** 0.5


def test_ugal_takes_the_least_loaded_spine_and_leaves_the_direct_way_by_weighed_loads() -> None:
    t = dragonfly_plus(1, 2, 2, 3, 2)
    s, routing = t.shape, make_routing(t, "ugal-l")
    ups = [s.up_link(0, 0, spine) for spine in range(2)]
    for key in range(1, 40):
        hop = choose_of(routing)(GivenLoads({ups[0]: 5}), 0, 1, 0, key, 1)
        assert hop.link == ups[1]  # within the group
        hop = choose_of(routing)(GivenLoads({ups[0]: 5, ups[1]: 4}), 0, 2, 0, key, 1)
        # the same link up carries the detour: 4 * 3 <= 4 * 4
        assert (hop.link, hop.state // 8) == (ups[1], 1)
    # ugal-g: the links to group 1 hold 5 and 4 of a packet's time, those to group 2 three
    routing = make_routing(t, "ugal-g")
    loads = {s.global_link(0, 1, 0): 5, s.global_link(0, 1, 1): 4}
    detour = {s.global_link(0, 2, copy): 3 for copy in range(2)}
    for key in range(1, 40):
        straight = choose_of(routing)(GivenLoads(loads | detour), 0, 2, 0, key, 1)
        assert straight.state // 4 == 2 + 1  # 4 * 3 <= 3 * 4: group 1 by copy 1
        less = dict.fromkeys(detour, 2)
        assert choose_of(routing)(GivenLoads(loads | less), 0, 2, 0, key, 1).state // 8 == 2


# Saturation

P, LEAVES, SPINES, G = 3, 4, 4, 13


def balanced(**given: int) -> Topology:
    """156 nodes; as many up links a leaf as nodes, and one; global ports as nodes of a group."""
    shape = {"p": P, "leaves": LEAVES, "spines": SPINES, "g": G} | given
    wires = {f"{kind}_latency_s": CYCLE_S for kind in ("node", "local", "global")}
    speeds = {f"{kind}_bandwidth_Bps": LINK_BPS for kind in ("node", "local", "global")}
    return make_topology("dragonfly-plus", {**shape, **wires, **speeds})


def test_adversarial_traffic_has_the_links_of_a_pair_of_groups() -> None:
    """Minimal K / (p leaves); Valiant K (g-2) / (2 p leaves), near a half with all ports taken.

    One link a pair; then one on each spine, so that a detour goes from spine to spine.
    """
    for g, k in ((13, 1), (4, 4)):
        t, n = balanced(g=g, h=3), P * LEAVES
        assert t.shape.global_links_per_pair == k
        minimal = measure(make_routing(t, "minimal"), "adversarial", 0.6, 3000).accepted
        assert minimal == pytest.approx(k / n, rel=0.05)
        limit = k * (g - 2) / (2 * n)
        valiant = measure(make_routing(t, "valiant"), "adversarial", 0.6, 3000).accepted
        assert limit * 0.9 <= valiant <= limit * 1.01


@pytest.mark.parametrize("routing", ["ugal-l", "ugal-g"])
def test_ugal_frees_adversarial_traffic_and_keeps_uniform(routing: str) -> None:
    made = make_routing(balanced(), routing)
    assert measure(made, "adversarial", 0.4, 4000).accepted >= 0.3
    assert measure(made, "uniform-random", 0.8, 4000).accepted >= 0.78


def test_uniform_traffic_is_accepted_nearly_whole() -> None:
    """Across groups and within one, where drawn spines make a Clos of the group."""
    assert measure(make_routing(balanced()), "uniform-random", 1.0, 8000).accepted > 0.9
    alone = make_routing(balanced(p=4, leaves=8, g=1))
    assert measure(alone, "uniform-random", 1.0, 8000).accepted > 0.9


# Beside the network


def test_usable_links_are_those_of_minimal_routes() -> None:
    """As walked: all links of every minimal path between the nodes, and no other."""
    t = dragonfly_plus(1, 2, 3, 4, 2)
    routing = make_routing(t, "minimal")
    for nodes in ([0, 1], [0, 2], [0, 2, 5], [1], [0, 1, 6, 7]):
        walked = set()
        for src in nodes:
            for dst in nodes:
                todo = [(int(t.node_router[src]), 0)]
                while todo:
                    router, state = todo.pop()
                    hops = [
                        h for h in routing.choices(router, dst, state) if h.link >= 2 * t.n_nodes
                    ]
                    walked |= {hop.link for hop in hops}
                    todo += [(int(t.link_dst[h.link]) - t.n_nodes, h.state) for h in hops]
        where = np.array(nodes, dtype=np.int32)
        assert usable_links(t, Placement(1, where)).tolist() == sorted(walked)


def test_speeds_stand_on_their_links() -> None:
    t = dragonfly_plus(
        1,
        2,
        2,
        3,
        links=GroupLinks(
            node_bandwidth_Bps=11,
            node_latency_s=0.1,
            local_bandwidth_Bps=12,
            global_bandwidth_Bps=13,
            local_latency_s=0.2,
            global_latency_s=0.3,
        ),
    )
    local = (12, 0.2)
    ends = {"injection": (11, 0.1), "ejection": (11, 0.1)}
    assert speeds(t) == {**ends, "up": local, "down": local, "global": (13, 0.3)}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"p": 1, "leaves": 2, "spines": 2, "g": 4, "h": 1}, r"g = 4 groups.*spines\*h\+1 = 3"),
        ({"p": 1, "leaves": 0, "spines": 2, "g": 4}, "leaves = 0; it must be at least 1"),
        ({"p": 1, "leaves": 2, "g": 4}, "parameter spines is missing"),
        ({"p": 1, "leaves": 2, "spines": 2, "g": 4, "arrangement": "x"}, "must be 'absolute'"),
    ],
)
def test_mistakes_are_named(params: dict[str, object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make_topology("dragonfly-plus", params)
