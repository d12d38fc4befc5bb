# mypy: allow-untyped-defs, allow-untyped-calls
"""Congestion control at the source (docs/packet-model.md, "Congestion control")."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.packet.kernels_links import try_node
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_wheel import add_try


@njit(**HOT_KERNEL)
def _recover(paces, flow, now):
    """Halve the slowdown for each whole recovery time that has passed."""
    times = (now - flow.since) // paces.recovery
    if flow.slowdown > 1 and times > 0:
        flow.slowdown = max(np.int64(1), flow.slowdown >> min(times, 62))
        flow.since += times * paces.recovery


@njit(**HOT_KERNEL)
def _settle(paces, flow, now):
    """Bring a flow to what has reached its source by now: recovery precedes cut."""
    signal = flow.signal
    if 0 <= signal <= now:
        _recover(paces, flow, signal)
        flow.slowdown = min(2 * flow.slowdown, paces.most)
        flow.since = signal
        flow.signal = -1
    _recover(paces, flow, now)


@njit(**HOT_KERNEL)
def joined(a, paces, link, m):
    """Signal congestion if a packet of row ``m`` joins a queue above the threshold."""
    link_row = row_of(a.links, link)
    if link_row.waiting <= paces.thresholds[link_row.bandwidth]:
        return
    now = a.sc[0].now
    flow = row_of(paces.flows, paces.flow_of[m])
    _settle(paces, flow, now)
    if flow.signal < 0:
        flow.signal = now + paces.delay


@njit(**HOT_KERNEL)
def try_paced(a, paces, port):
    """Call `try_node`, but not before the flow of the packet at the head may send."""
    sc = a.sc[0]
    link_row = row_of(a.links, port)
    flow = row_of(paces.flows, paces.flow_of[row_of(a.nodes, port).head])
    if flow.next_start > sc.now:
        add_try(sc, link_row, a.events, port, flow.next_start)
        return
    # the gap follows from the packet that has started, if one has
    before = link_row.packets
    try_node(None, a, port)
    if link_row.packets > before:
        _settle(paces, flow, sc.now)
        ser = link_row.free_at - sc.now
        flow.next_start = sc.now + ser * flow.slowdown
