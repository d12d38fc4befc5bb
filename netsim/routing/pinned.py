"""Flows pinned to one of their equal-cost paths: by a table, or each to the least loaded path.

A flow is what goes from one port to another on one queue pair. "pinned" is "ecmp" with a table: a
flow that is in it takes its path, any other one (a clear-to-send, against the direction of the
data) is hashed. The paths are chosen for the flows of a run, when these are known: largest first,
each over the path whose most loaded link is least loaded then, of equals the one with the least
sum of loads, then the first. A network scheduler (Crux, SIGCOMM 2024) chooses in this way.

Kernel table_b: for each source port where its rows begin, and their end; then a row a flow,
ascending: destination port times queue pairs plus queue pair, and for each router visit the place
of the link among the equal-cost ones. params[5] is the width of a row, 0 without a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.parameters import Example
from netsim.routing.base import SWITCHED, Routing, RoutingEntry
from netsim.routing.kernels_pinned import least_loaded
from netsim.routing.kernels_tables import EQUAL_COST, PIN_WIDTH
from netsim.topologies.checks import need_int
from netsim.topology import Topology
from netsim.traffic import Traffic

LongArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class EqualCostPaths:
    """The paths that an equal-cost routing allows between two routers, numbered."""

    def __init__(self, routing: Routing) -> None:
        self.routing = routing
        self._known: dict[tuple[int, int], tuple[LongArray, LongArray]] = {}

    def between(self, src_port: int, dst_port: int) -> tuple[LongArray, LongArray]:
        """Return (paths, links) the links of each path, and their places among the equal-cost ones.

        In the order of the places. Injection and ejection links are left out.
        """
        router = self.routing.topology.port_router
        ends = int(router[src_port]), int(router[dst_port])
        if ends not in self._known:
            found = self._from(ends[0], dst_port, 0)
            links, places = ([path[i] for path in found] for i in range(2))
            self._known[ends] = np.array(links, dtype=np.int64), np.array(places, dtype=np.int64)
        return self._known[ends]

    def _from(self, router: int, dst: int, state: int) -> list[tuple[list[int], list[int]]]:
        topology = self.routing.topology
        if router == topology.port_router[dst]:
            return [([], [])]
        return [
            ([hop.link, *links], [place, *places])
            for place, hop in enumerate(self.routing.choices(router, dst, state))
            for links, places in self._from(
                int(topology.link_dst[hop.link]) - topology.n_ports, dst, hop.state
            )
        ]


def port_flows(
    topology: Topology,
    src: LongArray,
    dst: LongArray,
    amount: FloatArray,
    rail: ArrayLike | None,
) -> tuple[int, LongArray, LongArray, FloatArray]:
    """Return the number of parts of each flow, and the flows of all parts between ports."""
    rails = topology.n_rails
    if topology.rails == 1 and rail is None:
        return 1, src, dst, amount
    if rail is None:
        each = np.tile(np.arange(rails), len(src))
        ends = topology.ports_between(np.repeat(src, rails), np.repeat(dst, rails), each)
        return rails, *ends, np.repeat(amount / rails, rails)
    taken = np.broadcast_to(np.asarray(rail, dtype=np.int64), src.shape)
    if len(taken) and (taken.min() < 0 or taken.max() >= rails):
        raise NetcosimError(f"a flow's rail is outside 0..{rails - 1} of {topology.name}")
    return 1, *topology.ports_between(src, dst, taken), amount


def pinned_routing(
    topology: Topology,
    *,
    queue_pairs: Annotated[
        int, "flows over which the packets of a message are dealt, each with its own path", Ge(1)
    ] = 1,
    pins: Annotated[
        Sequence[Sequence[int]],
        "paths of flows: lists of source node, destination node, queue pair and path, from 0 in "
        "the order of their links; all others take the least loaded",
        Ge(0),
        Example([[0, 9, 0, 1]]),
    ] = (),
) -> Routing:
    """Build "pinned" on any topology."""
    from netsim.routing.any_graph import equal_cost_routing

    need_int("pinned", "queue_pairs", queue_pairs, 1)
    hashed = equal_cost_routing(topology, "pinned", EQUAL_COST, queue_pairs)
    given: dict[tuple[int, int, int], int] = {}
    for row in pins:
        if len(row) != 4 or max(row[:2]) >= topology.n_nodes or row[2] >= queue_pairs:
            raise NetcosimError(
                f"routing pinned: pins has {list(row)}; each is a source and a destination from 0 "
                f"to {topology.n_nodes - 1}, a queue pair from 0 to {queue_pairs - 1} and a path"
            )
        if row[0] == row[1] or tuple(row[:3]) in given:
            why = "ends where it begins" if row[0] == row[1] else "pins a flow again"
            raise NetcosimError(f"routing pinned: pins has {list(row)}, which {why}; remove it")
        given[row[0], row[1], row[2]] = row[3]

    return replace(hashed, pin=partial(_pinned, EqualCostPaths(hashed), given))


def pinned_for(routing: Routing, traffic: Traffic) -> Routing:
    """Return the routing with the flows of a traffic pinned, if it pins flows."""
    if routing.pin is None:
        return routing
    program, n = traffic.program, routing.topology.n_nodes
    node = np.asarray(traffic.rank_node, dtype=np.int64)
    pair = node[program.send_src()] * n + node[program.send_dst]
    pairs, which = np.unique(pair, return_inverse=True)
    sent = program.send_bytes.astype(np.float64)
    amount = np.bincount(which.ravel(), sent, len(pairs)).astype(np.float64)
    _, src, dst, amount = port_flows(routing.topology, pairs // n, pairs % n, amount, None)
    return routing.pin(src, dst, amount, None)


def _pinned(
    paths: EqualCostPaths,
    given: Mapping[tuple[int, int, int], int],
    src: LongArray,
    dst: LongArray,
    amount: FloatArray,
    busy_s: FloatArray | None = None,
) -> Routing:
    """Return the routing with a path for each flow: given ones first, then the largest flow first.

    Of a flow that is there twice the last choice counts.
    """
    routing, tables = paths.routing, paths.routing.tables
    topology, queue_pairs = routing.topology, routing.queue_pairs
    router, rails = topology.port_router.astype(np.int64), topology.rails
    apart = router[src] != router[dst]
    flow = np.stack([np.repeat(part[apart], queue_pairs) for part in (src, dst)] + [
        np.tile(np.arange(queue_pairs), int(apart.sum()))
    ], axis=1)  # fmt: skip
    size = np.repeat(amount[apart] / queue_pairs, queue_pairs)
    number = np.full(len(flow), -1)
    if given:
        names = ((a // rails, b // rails, pair) for a, b, pair in flow.tolist())
        number = np.array([given.get(name, -1) for name in names], dtype=np.int64)
    order = np.lexsort((*flow.T[::-1], -size, number < 0))
    flow, size, number = flow[order], size[order], number[order]
    ends = router[flow[:, :2]] @ (topology.n_routers, 1)
    _, at, which = np.unique(ends, return_index=True, return_inverse=True)
    paths_found = [paths.between(*flow[i, :2].tolist()) for i in at.tolist()]
    count = np.array([len(links) for links, _ in paths_found], dtype=np.int64)
    for i in np.flatnonzero(number >= count[which])[:1].tolist():
        (a, b), most = flow[i, :2] // rails, count[which[i]]
        raise NetcosimError(
            f"routing pinned: path {number[i]} from node {a} to {b}, which have {most} of equal "
            f"length; from 0 to {most - 1}"
        )
    # behind the last link of a path -1
    width = max((of.shape[1] for of, _ in paths_found), default=0)
    links, places = both = np.full((2, int(count.sum()), width), -1)
    first = count.cumsum() - count
    for row, of in zip(first.tolist(), paths_found, strict=True):
        both[:, row : row + len(of[0]), : of[0].shape[1]] = of
    load_s = np.zeros(topology.n_links) if busy_s is None else np.array(busy_s, dtype=np.float64)
    bandwidth_Bps = topology.link_bandwidth_Bps.astype(np.float64)
    candidates = np.stack([first, count], axis=1)[which]
    chosen = least_loaded(size, number, candidates, links, bandwidth_Bps, load_s)
    # a row a flow, by source port
    rows = np.column_stack([flow[:, 1] * queue_pairs + flow[:, 2], places[chosen]])
    order = np.lexsort((rows[:, 0], flow[:, 0]))
    rows, source = rows[order], flow[order, 0]
    last = np.diff(rows[:, 0], append=-1).astype(bool) | np.diff(source, append=-1).astype(bool)
    rows, source = rows[last], source[last]
    ptr = np.searchsorted(source, np.arange(topology.n_ports + 1))
    params = tables.params.copy()
    params[PIN_WIDTH] = rows.shape[1]
    table_b = np.concatenate([ptr, rows.ravel()]).astype(np.int32)
    return replace(routing, tables=tables._replace(params=params, table_b=table_b))


ROUTINGS = (
    RoutingEntry(
        "pinned",
        "shortest path chosen for each flow: the least loaded, or by a table",
        SWITCHED,
        pinned_routing,
    ),
)
