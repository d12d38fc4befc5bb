# mypy: allow-untyped-defs, allow-untyped-calls
"""Congestion control at the source (docs/packet-model.md, "Congestion control")."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.packet.kernels_links import try_node
from netsim.packet.kernels_wheel import add_try
from netsim.packet.tables import (
    BANDWIDTH,
    DELAY,
    F_BITS,
    FREE_AT,
    L_BITS,
    MOST,
    N_BITS,
    NEXT_START,
    NIC_HEAD,
    NOW,
    PACKETS,
    RECOVERY,
    SIGNAL,
    SINCE,
    SLOWDOWN,
    THRESHOLD,
    WAITING,
)


@njit(**HOT_KERNEL)
def _recover(scalars, flows, flow, now):
    """Halve the slowdown for each whole recovery time that has passed."""
    times = (now - flows[flow + SINCE]) // scalars[RECOVERY]
    if flows[flow + SLOWDOWN] > 1 and times > 0:
        flows[flow + SLOWDOWN] = max(np.int64(1), flows[flow + SLOWDOWN] >> min(times, 62))
        flows[flow + SINCE] += times * scalars[RECOVERY]


@njit(**HOT_KERNEL)
def _settle(scalars, flows, flow, now):
    """Bring a flow to what has reached its source by now."""
    signal = flows[flow + SIGNAL]
    if 0 <= signal <= now:
        _recover(scalars, flows, flow, signal)
        flows[flow + SLOWDOWN] = min(2 * flows[flow + SLOWDOWN], scalars[MOST])
        flows[flow + SINCE] = signal
        flows[flow + SIGNAL] = -1
    _recover(scalars, flows, flow, now)


@njit(**HOT_KERNEL)
def joined(a, paces, link, m):
    """Signal congestion if a packet of row ``m`` joins a queue above the threshold."""
    row = np.uint64(link) << L_BITS
    if a.links[row + WAITING] <= paces.scalars[THRESHOLD + a.links[row + BANDWIDTH]]:
        return
    now = a.sc[NOW]
    flow = np.uint64(paces.flow_of[m]) << F_BITS
    _settle(paces.scalars, paces.flows, flow, now)
    if paces.flows[flow + SIGNAL] < 0:
        paces.flows[flow + SIGNAL] = now + paces.scalars[DELAY]


@njit(**HOT_KERNEL)
def try_paced(a, paces, port):
    """Call `try_node`, but not before the flow of the packet at the head may send."""
    sc = a.sc
    now = sc[NOW]
    row = np.uint64(port) << L_BITS
    m = a.nodes[(np.uint64(port) << N_BITS) + NIC_HEAD]
    flow = np.uint64(paces.flow_of[m]) << F_BITS
    if paces.flows[flow + NEXT_START] > now:
        add_try(sc, a.links, a.events, port, paces.flows[flow + NEXT_START])
        return
    # the gap follows from the packet that has started, if one has
    before = a.links[row + PACKETS]
    try_node(None, a, port)
    if a.links[row + PACKETS] > before:
        _settle(paces.scalars, paces.flows, flow, now)
        ser = a.links[row + FREE_AT] - now
        paces.flows[flow + NEXT_START] = now + ser * paces.flows[flow + SLOWDOWN]
