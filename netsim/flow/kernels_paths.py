"""Walks over the routing kernels, compiled: paths of flows, split where the routing adapts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, INNER_KERNEL, KERNEL
from netsim.routing.kernels import route, static_route
from netsim.routing.kernels_common import entry
from netsim.routing.kernels_random import packet_key
from netsim.routing.kernels_tables import ROW, equal_cost_place, flow_key, hashes_flows
from netsim.routing.tables import LinkView


class WalkView(NamedTuple):
    """The network as seen by walks: empty queues and free buffers, except the flows' loads.

    ``link_router`` is the router at the end of a link, ``link_ticks`` the load that one
    unit of ``ticks`` makes on it. ``busy`` holds what others put on links, and is overwritten.
    """

    link_router: NDArray[np.int64]
    link_ticks: NDArray[np.float64]
    waiting: NDArray[np.int64]
    room: NDArray[np.int64]
    busy: NDArray[np.int64]


@njit(**INNER_KERNEL)
def walk(rt, node, dst_node, drawn_by, now, view, out, at, limit):  # type: ignore[no-untyped-def]
    """Append one path to ``out`` from ``at``; returns its end, or -1 if it does not arrive.

    A link is busy until ``busy``; what lies before ``now`` is no load. ``drawn_by`` is a seed, a
    flow and a number of its walk.
    """
    seed, flow, piece = drawn_by
    links = LinkView(now, view.busy, view.waiting, view.room, view.room, rt.n_vcs, np.int64(0))
    out[at] = node
    at += 1
    router = np.int64(rt.port_router[node])
    last = np.int64(rt.eject_link[dst_node])
    state = np.int64(0)
    for hop in range(limit):
        key = packet_key(seed, flow, piece, hop)
        link, _, state = route(rt, router, dst_node, state, key, 1, links)
        out[at] = link
        at += 1
        if link == last:
            return at
        router = np.int64(view.link_router[link])
    return -1


@njit(**INNER_KERNEL)
def walk_static(rt, node, dst_node, view, out, at, limit):  # type: ignore[no-untyped-def]
    """Walk as `walk` for a routing without draws and loads; it compiles three times as fast."""
    out[at] = node
    at += 1
    router = np.int64(rt.port_router[node])
    last = np.int64(rt.eject_link[dst_node])
    state, never = np.int64(0), np.int64(0)
    idle = LinkView(never, view.waiting, view.waiting, view.room, view.room, rt.n_vcs, never)
    for _ in range(limit):
        link, _, state = static_route(rt, router, dst_node, state, idle)
        out[at] = link
        at += 1
        if link == last:
            return at
        router = np.int64(view.link_router[link])
    return -1


@njit(**INNER_KERNEL)
def walk_hashed(rt, node, dst_node, seed, pair, view, out, at):  # type: ignore[no-untyped-def]
    """Walk as `walk` for a hashed or pinned flow alone; a key is made only for a choice."""
    out[at] = node
    at += 1
    router, last = entry(rt.port_router, node), entry(rt.port_router, dst_node)
    for hop in range(len(out) - at):
        if router == last:
            out[at] = rt.eject_link[dst_node]
            return at + 1
        paths = entry(rt.table_a, router * rt.params[ROW] + last)
        n = entry(rt.table_c, paths)
        place = np.int64(0)
        if n > 1:
            place = equal_cost_place(flow_key(rt, seed, node, dst_node, pair, hop), n)
        link = entry(rt.table_c, paths + 1 + place)
        out[at] = link
        at += 1
        router = entry(view.link_router, link)
    return -1


@njit(**INNER_ALLOCATING_KERNEL)
def grown(out, need):  # type: ignore[no-untyped-def]
    """Return ``out``, or a longer copy that holds ``need`` entries."""
    if need <= len(out):
        return out
    longer = np.empty(max(need, 2 * len(out)), np.int32)
    # a slice would compile the text of its error too, for two seconds
    for i in range(len(out)):
        longer[i] = out[i]
    return longer


@njit(**KERNEL)
def place(rt, src, dst, seed, pieces, sweeps, limit, ticks, calm, view):  # type: ignore[no-untyped-def]
    """Return the paths of ``pieces`` pieces of every flow: (ptr, links), piece by piece a flow.

    Pieces are put down in rounds, each flow one a round; a piece sees what all other pieces put on
    the links beyond the flow's ``calm`` ticks. In later sweeps each is taken up and put down again.
    ``ticks`` is the load of one piece of
    a flow on a link of speed 1. No loads are kept if ``ticks`` is empty.
    """
    n = len(src)
    link_ticks, busy = view.link_ticks, view.busy
    loaded, hashed = len(ticks) > 0, hashes_flows(rt)
    begin = np.zeros(n * pieces, np.int64)
    end = np.zeros(n * pieces, np.int64)
    out = np.empty(n * pieces * 7 + limit + 2, np.int32)
    for sweep in range(sweeps):
        old = out
        if sweep > 0:
            out = np.empty(len(old), np.int32)
        at = np.int64(0)
        for piece in range(pieces):
            for flow in range(n):
                if src[flow] == dst[flow]:
                    continue
                k = flow * pieces + piece
                if sweep > 0:
                    for i in range(begin[k], end[k]):
                        busy[old[i]] -= np.int64(ticks[flow] * link_ticks[old[i]])
                out = grown(out, at + limit + 2)
                now = calm[flow] if loaded else np.int64(0)
                name = sweep * pieces + piece
                if hashed:
                    stop = walk_hashed(rt, src[flow], dst[flow], seed, name, view, out, at)
                else:
                    drawn_by = seed, flow, name
                    stop = walk(rt, src[flow], dst[flow], drawn_by, now, view, out, at, limit)
                if stop < 0:
                    return begin, end, out, flow
                if loaded:
                    for i in range(at, stop):
                        busy[out[i]] += np.int64(ticks[flow] * link_ticks[out[i]])
                begin[k], end[k] = at, stop
                at = stop
    return begin, end, out, np.int64(-1)


@njit(**KERNEL)
def fixed_paths(rt, src, dst, view, limit, walk_once):  # type: ignore[no-untyped-def]
    """Return the CSR paths of a deterministic routing.

    With ``walk_once`` the walk from a router to a node is done once and copied for all nodes
    of the router: passing the tables costs more than the routing itself.
    """
    n, n_nodes = len(src), len(rt.port_router)
    n_routers = 0
    for router in rt.port_router:
        n_routers = max(n_routers, router + 1)
    known = np.full(n_routers * n_nodes if walk_once else 0, -1, np.int64)
    ptr = np.zeros(n + 1, np.int64)
    out = np.empty(n * 5 + limit + 2, np.int32)
    at = np.int64(0)
    for flow in range(n):
        if src[flow] != dst[flow]:
            out = grown(out, at + limit + 2)
            pair = np.int64(rt.port_router[src[flow]]) * n_nodes + dst[flow]
            begin = at
            same = known[pair] if walk_once else np.int64(-1)
            if same >= 0:
                out[at] = src[flow]
                at += 1
                for i in range(ptr[same] + 1, ptr[same + 1]):
                    out[at] = out[i]
                    at += 1
            else:
                at = walk_static(rt, src[flow], dst[flow], view, out, begin, limit)
                if at < 0:
                    return ptr, out, flow
                if walk_once:
                    known[pair] = flow
        ptr[flow + 1] = at
    return ptr, out[:at].copy(), np.int64(-1)


@njit(**KERNEL)
def merge_pieces(begin, end, out, pieces, n_links):  # type: ignore[no-untyped-def]
    """Return the CSR of flows from their pieces' paths; a link's weight is its share of pieces."""
    n = len(begin) // pieces
    total = np.int64(0)
    for k in range(len(begin)):
        total += end[k] - begin[k]
    ptr = np.zeros(n + 1, np.int64)
    links = np.empty(total, np.int32)
    weight = np.empty(total if pieces > 1 else 0, np.float64)
    seen = np.full(n_links if pieces > 1 else 0, -1, np.int64)
    at = np.int64(0)
    for flow in range(n):
        first = at
        for k in range(flow * pieces, (flow + 1) * pieces):
            for i in range(begin[k], end[k]):
                link = out[i]
                if pieces > 1:
                    if seen[link] >= first:
                        weight[seen[link]] += 1.0
                        continue
                    seen[link] = at
                    weight[at] = 1.0
                links[at] = link
                at += 1
        if pieces > 1:
            for i in range(first, at):
                weight[i] /= pieces
        ptr[flow + 1] = at
    return ptr, links[:at].copy(), weight[:at].copy()


@njit(**KERNEL)
def link_bytes(ptr, links, weight, amount, n_links):  # type: ignore[no-untyped-def]
    """Return the bytes that flows put on each link."""
    load = np.zeros(n_links, np.float64)
    for flow in range(len(ptr) - 1):
        for i in range(ptr[flow], ptr[flow + 1]):
            load[links[i]] += amount[flow] * (weight[i] if len(weight) > 0 else 1.0)
    return load
