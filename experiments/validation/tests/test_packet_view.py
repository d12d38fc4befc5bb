"""What a router may look at, against a plain recomputation from when packets started."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from packet_cases import L, R, Send, Step, config, line, traffic

from experiments.validation.reference.decisions import choose_of
from experiments.validation.reference.packets import simulate_reference
from experiments.validation.reference.view import Choose, View
from netsim.packet.engine import simulate_packets
from netsim.routing.base import Hop, Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly

BYTE = 1000
"""Picoseconds that a byte takes at 1 GB/s."""


def watched(routing: Routing, link: int, where: int) -> tuple[Choose, list[tuple[int, ...]]]:
    """The decisions, and a list that gets (used, queued, room) of a link at each choice there."""
    seen: list[tuple[int, ...]] = []

    def choose(view: View, router: int, dst: int, state: int, key: int, wire: int) -> Hop:
        if router == where:
            seen.append((view.used(link), view.queued(link), view.room(link, 0)))
        return choose_of(routing)(view, router, dst, state, key, wire)

    return choose, seen


def test_used_credits_count_what_waits_flies_and_stands_behind() -> None:
    """Packets of 1000 bytes, one a microsecond, over a link of 3 us that takes 4 us for each.

    They queue. The router behind sends on as the tail comes in: the space of a packet that starts
    at s is free for the sender at s + 3 us + R + (3 us for the tail, 1 us to send on) + 3 us.
    """
    us = 1000 * BYTE
    link = 4  # two nodes: injection 0 and 1, ejection 2 and 3, then the cable
    routing = line([0, 1], [4 * BYTE], [3 * us])
    choose, seen = watched(routing, link, 0)
    n = 12
    simulate_reference(
        routing,
        traffic([Step([Send(1, n * 1000)])], [Step(need=1)]),
        config(buffer=100_000),
        np.random.default_rng(0),
        choose=choose,
    )
    routed = [k * us + L + R for k in range(n)]
    started = [routed[0] + 4 * us * k for k in range(n)]
    freed = [s + 3 * us + R + 4 * us + 3 * us for s in started]
    expected = []
    for k, now in enumerate(routed):
        mine = range(k)  # those routed before
        # a link starts packets after the arrivals of a tick, and credits come before them
        waits = sum(started[j] >= now for j in mine)
        used = sum(freed[j] > now for j in mine)
        expected.append((1000 * used, 1000 * waits, 100_000 - 1000 * used))
    assert seen == expected
    assert max(used - queued for used, queued, _ in seen) == 3000
    assert seen[0] == (0, 0, 100_000)


@pytest.mark.parametrize(("counts", "bids"), [(True, 1000), (False, 0)])
def test_an_output_queue_does_not_hold_the_heads_that_bid(counts: bool, bids: int) -> None:
    """Two heads come in one tick and bid for one cable: neither is in the queue, one is seen."""
    plain = dataclasses.replace(line([0, 0, 1], [1000]), counts_bids=counts)
    link, seen = 6, list[tuple[int, int, int]]()

    def choose(view: View, router: int, dst: int, state: int, key: int, wire: int) -> Hop:
        if router == 0:
            seen.append((view.queued(link), view.queue_bytes(link, 0), view.queue_free(link, 0)))
        return choose_of(plain)(view, router, dst, state, key, wire)

    settings = dataclasses.replace(
        config(buffer=9000), router="input-queued", crossbar_speedup=4, output_buffer_bytes=5000
    )
    sent = traffic([Step([Send(2, 1000)])], [Step([Send(2, 1000), Send(2, 1000)])], [Step(need=3)])
    simulate_reference(plain, sent, settings, np.random.default_rng(0), choose=choose)
    # the third comes 1 us later: the first is on the cable, the second has crossed and starts then
    assert seen == [(0, 0, 5000), (bids, 0, 5000), (1000, 1000, 4000)]


@pytest.mark.parametrize("buffer_packets", [2, 3, 50])
def test_ugal_leaves_a_link_once_its_used_credits_weigh_more(buffer_packets: int) -> None:
    """One stream on an idle network: a packet sees what those before it have not got back.

    Both engines, to the packet.
    """
    t = dragonfly(1, 1, 6, links=GroupLinks(node_bandwidth_Bps=4 * 10**9, global_latency_s=5e-6))
    routing = make_routing(t, "ugal-l")
    stream = traffic([Step([Send(1, 40_000)])], [Step(need=1)])
    packets = config(buffer=1000 * buffer_packets)
    results = [
        simulate(routing, stream, packets, np.random.default_rng(3))
        for simulate in (simulate_reference, simulate_packets)
    ]
    minimal = t.shape.global_link(0, 1)
    counts = [result.link_packets.tolist() for result in results]
    assert counts[0] == counts[1]
    out = [t.shape.global_link(0, m) for m in range(1, 6)]
    assert sum(counts[0][link] for link in out) == 40
    # no credit is back before 10 us: all 40 are decided by bytes given out, one link against
    # two; the minimal one has at most twice the others' largest, and a packet more
    others = [counts[0][link] for link in out if link != minimal]
    assert 0 < counts[0][minimal] <= 2 * max(others) + 1
