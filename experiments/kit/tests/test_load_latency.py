"""What is counted in a load-latency run, by hand-worked traffic on one router."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.kit.load_latency import Window, keeps_up, measure_load
from experiments.kit.offered import links_on_path, lone_time_ps, measure_lone
from experiments.kit.open_loop import lone_messages
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.family import EqualLinks
from netsim.topologies.fattree import fat_tree
from netsim.topologies.hyperx import hyperx
from netsim.topologies.torus import torus
from netsim.traffic import Traffic, combine

BPS = 10**9
PACKETS = PacketConfig(packet_bytes=1000, buffer_bytes=4000, router_latency_s=40e-9)
WINDOW_S = 4.05e-6
TOOK_S = 1120e-9  # 1000 bytes at 1 GB/s, two wires of 40 ns, a router of 40 ns


def one_router(n: int) -> Routing:
    links = EqualLinks(BPS, 40e-9, BPS, 40e-9)
    return make_routing(hyperx((1,), concentration=n, links=links))


def a_message_a_microsecond(n: int) -> Traffic:
    """Message i goes from node i to the next one at i microseconds."""
    src = np.arange(n)
    return combine([lone_messages(n, src, (src + 1) % n, 1000, 1e-6)], [src])


def measured(drain_s: float):
    window = Window(warm_up_s=1.1e-6, window_s=WINDOW_S, drain_s=drain_s)
    rng = np.random.default_rng(1)
    return measure_load(one_router(10), a_message_a_microsecond(10), window, PACKETS, rng)


def test_messages_are_counted_where_they_are_posted_and_where_they_arrive() -> None:
    """Posted at 2, 3, 4 and 5 us; those of 0, 1, 2, 3 and 4 us arrive in the window."""
    found = measured(drain_s=2e-6)
    one = 1000 / (10 * BPS * WINDOW_S)
    assert (found.offered, found.accepted) == pytest.approx((4 * one, 5 * one))
    assert found.messages == 4
    assert found.unfinished == 0
    assert (found.latency_mean_s, found.latency_p99_s) == pytest.approx((TOOK_S, TOOK_S))


def test_what_is_under_way_at_the_end_is_unfinished() -> None:
    found = measured(drain_s=0.0)
    assert found.unfinished == 0.25  # the one that was posted at 5 us
    assert found.latency_mean_s == pytest.approx(TOOK_S)


def test_a_window_holds_its_begin_and_not_its_end() -> None:
    """Posted at 2, 3 and 4 us, not 5: the one of 3 us to its own node, which takes no link.

    One arrives at 1.12 us, before the window, and three in it.
    """
    src = np.arange(10)
    dst = np.where(src == 3, 3, (src + 1) % 10)
    traffic = combine([lone_messages(10, src, dst, 1000, 1e-6)], [src])
    window, rng = Window(2e-6, 3e-6, 2e-6), np.random.default_rng(1)
    found = measure_load(one_router(10), traffic, window, PACKETS, rng)
    one = 1000 / (10 * BPS * 3e-6)
    assert (found.messages, found.unfinished) == (3, 0)
    assert (found.offered, found.accepted) == pytest.approx((3 * one, 3 * one))
    assert found.latency_mean_s == pytest.approx(TOOK_S)


def test_too_little_room_is_warned_of() -> None:
    """A packet's round trip is 1080 ns: buffers of one packet let 92.6 % through."""
    assert measured(0.0).warning == ""
    tight = PacketConfig(packet_bytes=1000, buffer_bytes=1000, router_latency_s=40e-9)
    window, rng = Window(1e-6, 1e-6, 1e-6), np.random.default_rng(1)
    found = measure_load(one_router(10), a_message_a_microsecond(10), window, tight, rng)
    assert "buffer" in found.warning


@pytest.mark.parametrize(
    ("offered", "accepted", "unfinished", "expected"),
    [(0.5, 0.485, 0.0, True), (0.5, 0.48, 0.0, False), (0.5, 0.5, 0.01, False)],
)
def test_a_load_is_kept_up_with_if_nearly_all_arrives(
    offered: float, accepted: float, unfinished: float, expected: bool
) -> None:
    assert keeps_up(offered, accepted, unfinished) == expected


def test_lone_messages_take_what_wires_and_routers_take() -> None:
    routing = one_router(10)
    assert lone_time_ps(routing, PACKETS, 2) == 1_120_000
    found = measure_lone(routing, a_message_a_microsecond(10), PACKETS, np.random.default_rng(1))
    assert (found.links, found.worst_ps) == (2.0, 0)
    assert found.latency_mean_s == pytest.approx(TOOK_S)
    # one that waits for another is late
    late = combine(
        [lone_messages(3, np.array([0, 1]), np.array([2, 2]), 1000, 1e-7)], [np.arange(3)]
    )
    found = measure_lone(one_router(3), late, PACKETS, np.random.default_rng(1))
    assert found.worst_ps == 900_000


def test_links_of_a_path_are_counted_from_node_to_node() -> None:
    line = make_routing(torus((5,), wrap=False))
    assert [links_on_path(line, 0, node) for node in range(1, 5)] == [3, 4, 5, 6]
    assert links_on_path(make_routing(fat_tree(4), "adaptive"), 0, 15) is None
