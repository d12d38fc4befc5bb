"""The compiled `route` takes the same hop as the plain reference, whatever the loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing_machines import all_routings, on_every_routing
from selection import examples

from experiments.validation.reference.decisions import choose_of
from netsim.routing.base import Hop, Routing
from netsim.routing.dragonfly_reference import COMPARES
from netsim.routing.kernels import links_compared, route
from netsim.routing.kernels_common import draw
from netsim.routing.kernels_random import packet_key
from netsim.routing.registry import make_routing, routings_for
from netsim.routing.tables import LinkView
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.torus import torus

ROUTINGS = all_routings()
UGAL = tuple(
    {"ugal_compares": compares, "ugal_weight": weight, margin: size}
    for compares, margin, size in (
        ("output-queue", "ugal_bias_s", 1e-9),
        ("output-bytes", "ugal_threshold_bytes", 100),
        ("used-credits", "ugal_bias_s", 1e-9),
    )
    for weight in (None, 1, 2)
)


BUFFER = 2000
SHORTEST = ("shortest-path", "min-hop", "adaptive-shortest-path")


class ArrayView:
    """The view of a router onto given arrays; notes the links whose buffers it was asked for."""

    def __init__(
        self,
        now: int,
        free_at: np.ndarray,
        waiting: np.ndarray,
        space: np.ndarray,
        room: np.ndarray,
    ) -> None:
        self.now, self.free_at, self.waiting = now, free_at, waiting
        self.space, self.rooms = space, room
        self.buffers: set[int] = set()

    def load(self, link: int) -> int:
        return max(0, int(self.free_at[link]) - self.now) + int(self.waiting[link])

    def room(self, link: int, vc: int) -> int:
        self.buffers.add(link)
        return int(self.rooms[link, vc])

    def queued(self, link: int) -> int:
        return int((self.space[link] - self.rooms[link]).sum())

    def used(self, link: int) -> int:
        self.buffers.add(link)
        return int((BUFFER - self.rooms[link]).sum())

    def queue_bytes(self, link: int, vc: int) -> int:
        return int(self.space[link, vc] - self.rooms[link, vc])

    def queue_free(self, link: int, vc: int) -> int:
        return BUFFER - self.queue_bytes(link, vc)


def walk_and_compare(
    routing: Routing, rng: np.random.Generator, packets: int, listed: bool = True
) -> int:
    """Send packets through random loads; the most router-to-router links that one took."""
    t, longest = routing.topology, 0
    for _ in range(packets):
        src, dst = (int(x) for x in rng.integers(0, t.n_ports, 2))
        router, state = int(t.port_router[src]), 0
        for visit in range(50):
            # Few distinct values, so that ties come up often.
            free_at = rng.integers(0, 4, t.n_links) * 50
            waiting = rng.integers(0, 3, t.n_links) * 100
            # One byte less than the packet has is no room for it.
            room = rng.choice([-500, 0, 600, 999, 1000, 2000], (t.n_links, routing.n_vcs))
            space = np.maximum(room, rng.choice([0, 1000], room.shape))
            # No chance where the routing says that it takes none: engines make no key there.
            key = int(rng.integers(0, 2**64, dtype=np.uint64)) * (visit < routing.random_visits)
            view = ArrayView(100, free_at, waiting, space, room)
            compared = links_compared(routing.tables, router, dst, state, np.uint64(key))
            hop = choose_of(routing)(view, router, dst, state, key, 1000)
            links = LinkView(
                100, free_at, waiting, space.ravel(), room.ravel(), routing.n_vcs, BUFFER
            )
            fast = route(routing.tables, router, dst, state, np.uint64(key), 1000, links)
            assert Hop(*fast) == hop, (routing.name, t.name, router, dst, state, visit)
            assert all(isinstance(x, int | np.integer) for x in fast)
            if routing.compares_credits and router != t.port_router[dst]:
                assert view.buffers == set(compared) - {-1}
                assert visit < routing.random_visits or not view.buffers
            if listed:
                assert hop in routing.choices(router, dst, state)
            longest = max(longest, visit)
            if hop.link == t.n_ports + dst:
                break
            assert int(t.link_src[hop.link]) == t.n_ports + router
            assert 0 <= hop.vc < routing.n_vcs
            router, state = int(t.link_dst[hop.link]) - t.n_ports, hop.state
        else:
            pytest.fail(f"{routing.name} on {t.name}: {src} never reached {dst}")
    return longest


@on_every_routing
@examples(2)
@given(seed=st.integers(0, 2**32 - 1))
def test_kernel_takes_the_hop_of_the_reference(routing: Routing, seed: int) -> None:
    walk_and_compare(routing, np.random.default_rng(seed), 30)


@pytest.mark.parametrize(
    ("t", "name", "parameters"),
    [
        (dragonfly(1, 4, 4, 3), "minimal", {"minimal_global_link": "nearest"}),
        (torus((4, 2, 4)), "dimension-order", {"ring_ties": "drawn"}),
    ],
    ids=["nearest", "drawn"],
)
def test_kernel_draws_as_the_reference(t, name, parameters):
    walk_and_compare(make_routing(t, name, parameters), np.random.default_rng(1), 200)


@pytest.mark.parametrize("name", ["ugal-l", "par"])
@pytest.mark.parametrize("parameters", UGAL, ids=lambda p: "-".join(map(str, p.values())))
def test_kernel_compares_as_the_reference(name: str, parameters: dict[str, object]) -> None:
    """Whatever is compared, on links of three speeds, one and two a pair of groups; in groups whose
    links are slower than a node's packets detour, too."""
    rng = np.random.default_rng(1)
    for h, g, local_Bps in ((None, 5, 3 * 10**9), (3, 4, 3 * 10**9), (1, 2, 5 * 10**8)):
        links = GroupLinks(local_bandwidth_Bps=local_Bps, global_bandwidth_Bps=250_000_000)
        t = dragonfly(1, 3, g, h, links=links)
        routing = make_routing(t, name, parameters)
        walk_and_compare(routing, rng, 200)


@pytest.mark.parametrize("name", ["valiant", "ugal-l"])
@pytest.mark.parametrize("weight", [None, 2])
def test_kernel_draws_a_node_as_the_reference(name: str, weight: int | None) -> None:
    """Over one and two links a pair of groups, and in groups of chassis and slots."""
    rng = np.random.default_rng(2)
    machines = dragonfly(2, 3, 5), dragonfly(1, 3, 4, 3), dragonfly(1, 96, 3, group="aries")
    for t in machines:
        for compares in COMPARES if name == "ugal-l" else [None]:
            given = {} if compares is None else {"ugal_compares": compares, "ugal_weight": weight}
            routing = make_routing(t, name, {"valiant_intermediate": "node", **given})
            walk_and_compare(routing, rng, 100, listed=t.n_nodes < 96)


@pytest.mark.parametrize("name", [n for n in routings_for("dragonfly") if n not in SHORTEST])
def test_kernel_in_aries_groups_with_many_links_a_pair(name: str) -> None:
    t = dragonfly(2, 96, 4, 2, group="aries")
    assert t.shape.global_links_per_pair == 64
    routing = make_routing(t, name)
    rng = np.random.default_rng(5)
    longest = 0
    for _ in range(60):
        longest = max(longest, walk_and_compare(routing, rng, 1, listed=False))
    # Chassis and slot in each group: at most 2 + 1 + 2, and 3 more links by a detour; PAR may turn
    # after two links.
    assert 4 <= longest <= {"minimal": 5, "par": 10}.get(name, 8)
    # merlin compares the better of two drawn copies: with such loads one packet in a hundred turns
    assert name in ("minimal", "merlin-adaptive-local") or longest > 5


def hop_with_queues(
    routing: Routing, router: int, dst: int, state: int, queued: Mapping[tuple[int, int], int]
) -> Hop:
    """Hop of kernel and reference where these bytes wait at (link, channel), without draws."""
    t, key = routing.topology, 0
    space = np.full((t.n_links, routing.n_vcs), BUFFER)
    room = space.copy()
    for at, size in queued.items():
        room[at] -= size
    idle = np.zeros(t.n_links, dtype=np.int64)
    links = LinkView(0, idle, idle, space.ravel(), room.ravel(), routing.n_vcs, BUFFER)
    hop = Hop(*route(routing.tables, router, dst, state, np.uint64(key), 1000, links))
    view = ArrayView(0, idle, idle, space, room)
    assert hop == choose_of(routing)(view, router, dst, state, key, 1000)
    return hop


def test_merlin_in_an_intermediate_group_by_hand() -> None:
    """Two links a pair of groups: those of group 0 to group 1 are on routers 0 and 1.

    A packet to group 1 is on router 0, which has the first global link. Of a state, plan 1 is
    group 0 with copies 0, and 3 is "not chosen". On channel 1, 300 bytes wait for that link and 200
    for the local one to router 1: merlin-ugal counts the latter twice and takes the global link,
    300 < 400. On channel 0 it is 300 and 200, too, and merlin-adaptive-local looks at that channel:
    it takes the second copy, whose local link has more space, though on channel 1 it has less.
    """
    t = dragonfly(1, 2, 4, 3)
    s = t.shape
    across, out, dst = s.local_link(0, 0, 1), s.first_global_link, s.a
    assert (s.global_link(0, 1, 0), s.global_router(0, 1, 1)) == (out, 1)
    state = 1 * 4 + 3
    ugal = make_routing(t, "merlin-ugal")
    hop = hop_with_queues(ugal, 0, dst, state, {(out, 1): 300, (across, 1): 200})
    assert hop == Hop(out, 1, (1 + 1 * 4) * 4 + 2)
    adaptive = make_routing(t, "merlin-adaptive-local")
    queued = {(out, 0): 300, (across, 0): 200, (across, 1): 1000}
    assert hop_with_queues(adaptive, 0, dst, state, queued) == Hop(across, 1, (1 + 1) * 4 + 1)


def test_merlin_leaves_from_the_first_router_that_has_a_link() -> None:
    """In an aries group a packet crosses its chassis, then its slot: 17, 16, 0 on the way to 0.

    Of 18 groups, group 0 reaches group 1 from router 0 and group 17 from router 16. A packet for
    group 1 that drew 17 and set out directly leaves at 16, whatever waits. A copy takes 3 bits.
    """
    t = dragonfly(1, 96, 18, 1, group="aries")
    s = t.shape
    assert (s.global_router(0, 1), s.global_router(0, 17), s.local_step(17, 0)) == (0, 16, 16)
    plan = 1 + 17 * 8 * 8
    out = s.global_link(0, 17)
    routing = make_routing(t, "merlin-ugal")
    for waiting in (0, 1000):
        hop = hop_with_queues(routing, 16, 96, plan * 4, {(out, 0): waiting})
        assert hop == Hop(out, 0, plan * 4 + 3)


def plain_mix(x: int) -> int:
    """SplitMix64's finaliser (Steele, Lea, Flood, 2014) in Python's own numbers."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


words = st.integers(0, 2**64 - 1)


@examples(100)
@given(words, st.integers(0, 2**31), st.integers(0, 2**20), st.integers(0, 2**16), st.data())
def test_chance_is_that_of_splitmix64(seed, message, packet, visit, data):
    """A key of (seed, message, packet, visit), and the i-th number below n that it gives."""
    known = packet_key(np.uint64(seed), np.int64(message), np.int64(packet), np.int64(visit))
    first = plain_mix((seed + message * 0x9E3779B97F4A7C15) % 2**64)
    key = plain_mix((first + packet * 0xD1B54A32D192ED03 + visit) % 2**64)
    assert int(known) == key
    i, n = data.draw(st.integers(0, 9)), data.draw(st.integers(1, 2**31))
    number = (plain_mix((key + i * 0x9E3779B97F4A7C15) % 2**64) >> 32) * n >> 32
    assert draw(np.uint64(key), i, n) == number < n


def test_intermediate_groups_are_drawn_uniformly() -> None:
    """All groups but two, equally often (chi-square, 5 sigma)."""
    t = dragonfly(1, 2, 9)
    routing = make_routing(t, "valiant")
    view = ArrayView(0, np.zeros(1), np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)))
    groups: Counter[int] = Counter()
    n = 7000
    for i in range(n):
        key = int(packet_key(np.uint64(3), np.int64(i), np.int64(0), np.int64(0)))
        groups[(choose_of(routing)(view, 0, 8, 0, key, 1).state // 4) - 1] += 1
    assert set(groups) == set(range(9)) - {0, 4}
    chi2 = sum((c - n / 7) ** 2 / (n / 7) for c in groups.values())
    assert chi2 < 6 + 5 * 12**0.5
