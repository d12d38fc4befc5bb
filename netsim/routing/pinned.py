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
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.parameters import Example
from netsim.routing.any_graph import SWITCHED, equal_cost_routing
from netsim.routing.base import Pins, Routing, RoutingEntry
from netsim.routing.check_tables import check_tables
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
    """Build "pinned" on any topology.

    Raises
    ------
    NetcosimError
        A router that cannot be reached, too many routers for a table, a parameter out of range.
    """
    need_int("pinned", "queue_pairs", queue_pairs, 1)
    hashed = equal_cost_routing(topology, "pinned", EQUAL_COST, queue_pairs)
    paths = EqualCostPaths(hashed)
    given: dict[tuple[int, int, int], int] = {}
    for row in pins:
        if len(row) != 4 or max(row[:2]) >= topology.n_nodes or row[2] >= queue_pairs:
            raise NetcosimError(
                f"routing pinned: pins has {list(row)}; each is a source and a destination from 0 "
                f"to {topology.n_nodes - 1}, a queue pair from 0 to {queue_pairs - 1} and a path"
            )
        given[row[0], row[1], row[2]] = row[3]

    def pin(
        src: LongArray, dst: LongArray, amount: FloatArray, busy_s: FloatArray | None = None
    ) -> Routing:
        return _with_pins(hashed, _chosen(paths, queue_pairs, given, src, dst, amount, busy_s))

    return replace(hashed, pin=pin)


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


def _chosen(
    paths: EqualCostPaths,
    queue_pairs: int,
    given: Mapping[tuple[int, int, int], int],
    src: LongArray,
    dst: LongArray,
    amount: FloatArray,
    busy_s: FloatArray | None,
) -> dict[tuple[int, int, int], tuple[int, ...]]:
    """Return the index of each flow's links: given ones first, then the largest flow first."""
    topology = paths.routing.topology
    bandwidth_Bps = topology.link_bandwidth_Bps.astype(np.float64)
    load_s = np.zeros(topology.n_links) if busy_s is None else np.array(busy_s, dtype=np.float64)
    pins: dict[tuple[int, int, int], tuple[int, ...]] = {}
    flows = [
        ((a, b, pair), size / queue_pairs)
        for a, b, size in zip(src.tolist(), dst.tolist(), amount.tolist(), strict=True)
        if topology.port_router[a] != topology.port_router[b]
        for pair in range(queue_pairs)
    ]
    rails = topology.rails
    number = [given.get((a // rails, b // rails, pair), -1) for (a, b, pair), _ in flows]
    for i in sorted(range(len(flows)), key=lambda i: (number[i] < 0, -flows[i][1], flows[i][0])):
        flow, size = flows[i]
        links, places = paths.between(*flow[:2])
        if number[i] >= len(links):
            raise NetcosimError(
                f"routing pinned: path {number[i]} from node {flow[0] // rails} to "
                f"{flow[1] // rails}, which have {len(links)} of equal length; from 0 to "
                f"{len(links) - 1}"
            )
        path = number[i]
        if path < 0:
            after_s = load_s[links] + size / bandwidth_Bps[links]
            path = int(np.lexsort((after_s.sum(1), after_s.max(1)))[0])
        load_s[links[path]] += size / bandwidth_Bps[links[path]]
        pins[flow] = tuple(places[path].tolist())
    return pins


def _with_pins(routing: Routing, pins: Pins) -> Routing:
    """Return the routing with a table of pinned flows."""
    topology, queue_pairs = routing.topology, routing.queue_pairs
    width = 1 + max((len(places) for places in pins.values()), default=0)
    flows = sorted(pins)
    rows = np.full((len(flows), width), -1, dtype=np.int32)
    for row, flow in zip(rows, flows, strict=True):
        row[0] = flow[1] * queue_pairs + flow[2]
        row[1 : 1 + len(pins[flow])] = pins[flow]
    source = np.array([flow[0] for flow in flows], dtype=np.int64)
    ptr = np.searchsorted(source, np.arange(topology.n_ports + 1)).astype(np.int32)
    tables = routing.tables
    params = tables.params.copy()
    params[PIN_WIDTH] = width
    table_b = np.concatenate([ptr, rows.ravel()])
    check_tables(
        topology, EQUAL_COST, routing.n_vcs, params, (tables.table_a, table_b, tables.table_c)
    )
    return replace(routing, tables=tables._replace(params=params, table_b=table_b), pins=pins)


ROUTINGS = (
    RoutingEntry(
        "pinned",
        "shortest path chosen for each flow: the least loaded, or by a table",
        SWITCHED,
        pinned_routing,
    ),
)
