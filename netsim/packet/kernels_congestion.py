# mypy: allow-untyped-defs, allow-untyped-calls
"""Congestion control at destinations and sources (docs/congestion-control.md).

``paces`` is the run's `netsim.packet.tables.Paces`. Times are ticks of one picosecond, so that the
numbers are those of the reference.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.packet.kernels_links import try_node
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_wheel import NONE, add_try
from netsim.routing.kernels_random import packet_key

# of DCQCN, from its paper: bytes between increases, gain, stages, and increases as shares of a link
BYTES_A_STAGE, GAIN, STAGES, ADDED, HYPER = 10_000_000, 1.0 / 256.0, 5, 0.001, 0.01

LOOK_AHEAD = 16
"""Messages at the head of a port's queue of which the first that may be sent goes next."""


@njit(**HOT_KERNEL)
def _ejection(a, flow):
    """Return the row of the link on which the flow's packets reach their node."""
    return row_of(a.links, a.sc[0].n_nodes + flow.to_port)


@njit(**HOT_KERNEL)
def _update_port(paces, port, full, target, now):
    """Change a destination's slowdown if its interval is over."""
    interval = paces.interval + np.int64(port.slowdown * full)
    elapsed = now - port.since
    if elapsed < interval:
        return
    change = 1.0 + 0.25 * (1.0 - port.sent / elapsed)
    # else the network limits, which is left to routing
    destination_limits = port.arrived >= 0.9 * elapsed
    if destination_limits:
        change -= 0.1 * ((port.in_flight - target) / elapsed)
    change = min(max(change, 0.5), 2.0)
    if destination_limits and port.in_flight > 2 * target + 4 * port.pairs * full:
        port.peak = max(port.peak, port.pairs)
        port.slowdown = 3.0 * port.peak
    elif port.peak > 0:
        port.slowdown = np.float64(port.peak)
        port.peak = 0
    else:
        # an idle time has several intervals
        times = min(elapsed // interval, 64) if change > 1.0 else np.int64(1)
        for _ in range(times):
            port.slowdown = max(1.0, port.slowdown / change)
    port.since = now
    port.sent = 0
    port.arrived = 0


@njit(**HOT_KERNEL)
def _recover(paces, flow, full, now):
    """Halve the slowdown for each recovery time without a signal."""
    while flow.slowdown > 1.0:
        after = paces.recovery + 4 * np.int64(flow.slowdown * full)
        if now - flow.since < after:
            break
        flow.slowdown = max(1.0, flow.slowdown / 2.0)
        flow.since += after


@njit(**HOT_KERNEL)
def _settle(paces, flow, full, now):
    """Bring a flow to what has reached its source by now."""
    if 0 <= flow.signal <= now:
        flow.slowdown = flow.signal_slowdown
        flow.since = flow.signal
        flow.signal = -1
    _recover(paces, flow, full, now)


@njit(**HOT_KERNEL)
def arrived(a, paces, p):
    """Record that a packet has arrived at its node; under endpoint-pairs signal its source."""
    if paces.marks:
        return
    now = a.sc[0].now
    packet = row_of(a.packets, p)
    flow = row_of(paces.flows, paces.flow_of[packet.message])
    port = row_of(paces.destinations, flow.to_port)
    bandwidth = _ejection(a, flow).bandwidth
    full, ser = a.ser[bandwidth, 0], a.ser[bandwidth, packet.size_class]
    port.arrived += ser
    _update_port(paces, port, full, paces.targets[bandwidth], now)
    port.in_flight -= ser
    flow.in_flight -= 1
    port.pairs -= flow.in_flight == 0
    _settle(paces, flow, full, now)
    # Invariant: one signal of a flow is under way at most
    if flow.signal < 0 and max(port.slowdown, flow.slowdown) > 1.0:
        flow.signal = now + paces.delay
        flow.signal_slowdown = port.slowdown


@njit(**HOT_KERNEL)
def _increase(flow):
    """Recover fast for `STAGES` stages, then add to the target, then more and more."""
    first = min(flow.timer_stage, flow.byte_stage)
    if first > STAGES:
        flow.target += HYPER * (first - STAGES)
    elif max(flow.timer_stage, flow.byte_stage) >= STAGES:
        flow.target += ADDED
    flow.target = min(flow.target, 1.0)
    flow.rate = (flow.rate + flow.target) / 2.0


@njit(**HOT_KERNEL)
def _advance(paces, flow, now):
    """Let the timers of a flow expire that have by now."""
    if flow.since < 0:  # not cut yet
        return
    times = (now - flow.since) // paces.recovery
    for _ in range(min(times, 4000)):
        flow.alpha *= 1.0 - GAIN
    flow.since += times * paces.recovery
    while flow.rate < 1.0 and now - flow.timer_since >= paces.recovery:
        flow.timer_since += paces.recovery
        flow.timer_stage += 1
        _increase(flow)


@njit(**HOT_KERNEL)
def _settle_rate(paces, flow, now):
    """Bring a flow under DCQCN to what has reached its source by now: timers precede the cut."""
    signal = flow.signal
    if 0 <= signal <= now:
        _advance(paces, flow, signal)
        flow.target = flow.rate
        flow.rate *= 1.0 - flow.alpha / 2.0
        flow.alpha = (1.0 - GAIN) * flow.alpha + GAIN
        flow.since = signal
        flow.timer_since = signal
        flow.bytes = 0
        flow.timer_stage = 0
        flow.byte_stage = 0
        flow.signal = -1
    _advance(paces, flow, now)


@njit(**HOT_KERNEL)
def joined(a, paces, link, p):
    """Under DCQCN, mark a packet that has joined a router's FIFO, by the length of the queue."""
    if not paces.marks:
        return
    now = a.sc[0].now
    link_row = row_of(a.links, link)
    least, most = paces.targets[link_row.bandwidth], paces.most[link_row.bandwidth]
    if link_row.waiting <= least:
        return
    if link_row.waiting <= most:
        probability = 0.2 * (link_row.waiting - least) / (most - least)
        draw = packet_key(a.sc[0].seed, link, link_row.packets, link_row.waiting) >> np.uint64(32)
        if draw * 2.0**-32 >= probability:
            return
    flow = row_of(paces.flows, paces.flow_of[row_of(a.packets, p).message])
    _settle_rate(paces, flow, now)
    if flow.marked < 0 or now - flow.marked >= paces.interval:
        flow.marked = now
        flow.signal = now + paces.delay


@njit(**HOT_KERNEL)
def _started_limited(paces, flow, now, ser, size):
    """Set when the next packet of a flow under DCQCN may start."""
    _settle_rate(paces, flow, now)
    flow.next_start = now + np.int64(ser / flow.rate)
    if flow.rate < 1.0:
        flow.bytes += size
        if flow.bytes >= BYTES_A_STAGE:
            flow.bytes = 0
            flow.byte_stage += 1
            _increase(flow)


@njit(**HOT_KERNEL)
def _started_pair(a, paces, flow, ser, size_class):
    """Set when the next packet of a flow under endpoint-pairs may start."""
    now = a.sc[0].now
    port = row_of(paces.destinations, flow.to_port)
    bandwidth = _ejection(a, flow).bandwidth
    full, there = a.ser[bandwidth, 0], a.ser[bandwidth, size_class]
    _settle(paces, flow, full, now)
    gap = ser
    if flow.slowdown > 1.0:
        gap = max(gap, np.int64(flow.slowdown * there))
    flow.next_start = now + gap
    if port.since < 0:
        port.since = now
    port.sent += there
    port.in_flight += there
    port.pairs += flow.in_flight == 0
    flow.in_flight += 1


@njit(**HOT_KERNEL)
def _keep_place(paces, queue):
    """Store how far the message at the head of a port's queue has been sent."""
    part = row_of(paces.parts, queue.head)
    part.sent = queue.sent
    part.count = queue.count


@njit(**HOT_KERNEL)
def _take_place(a, paces, queue):
    """Go on with the message at the head of a port's queue where it was left."""
    part = row_of(paces.parts, queue.head)
    queue.sent = part.sent
    # Invariant: of a message that has not begun no packet has arrived.
    queue.count = part.count if part.sent > 0 else row_of(a.messages, queue.head).packets_left
    part.sent = 0  # a group that loops sends it again


@njit(**HOT_KERNEL)
def _bring_forward(a, paces, queue, now):
    """Move the first message that may be sent to the head; return the earliest tick of those seen.

    Only `LOOK_AHEAD` of a port's messages are looked at.
    """
    before = np.int64(-1)
    m = np.int64(queue.head)
    earliest = NONE
    for _ in range(LOOK_AHEAD):
        next_start = row_of(paces.flows, paces.flow_of[m]).next_start
        earliest = min(earliest, next_start)
        if next_start <= now:
            break
        before = m
        m = np.int64(row_of(a.messages, m).next)
        if m < 0:
            return earliest
    if earliest <= now and before >= 0:
        _keep_place(paces, queue)
        row_of(a.messages, before).next = row_of(a.messages, m).next
        if queue.tail == m:
            queue.tail = before
        row_of(a.messages, m).next = queue.head
        queue.head = m
        _take_place(a, paces, queue)
    return earliest


@njit(**HOT_KERNEL)
def try_paced(a, paces, port):
    """Call `try_node` for the first message whose flow may send, when one may."""
    sc = a.sc[0]
    link_row = row_of(a.links, port)
    queue = row_of(a.nodes, port)
    earliest = _bring_forward(a, paces, queue, sc.now)
    if earliest > sc.now:
        add_try(sc, link_row, a.events, port, earliest)
        return
    m = np.int64(queue.head)
    size_class = np.int64(0)
    if queue.sent + 1 == queue.count:
        size_class = np.int64(row_of(a.messages, m).tail_class)
    # the gap follows from the packet that has started, if one has
    before = link_row.packets
    try_node(None, a, port)
    if link_row.packets == before:
        return
    if queue.head >= 0 and queue.head != m:
        _take_place(a, paces, queue)
    flow = row_of(paces.flows, paces.flow_of[m])
    ser = link_row.free_at - sc.now
    if paces.marks:
        _started_limited(paces, flow, sc.now, ser, a.wire[size_class])
    else:
        _started_pair(a, paces, flow, ser, size_class)
