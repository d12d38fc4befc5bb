"""Domains: the parts of a machine that threads simulate side by side.

A domain is a set of routers with their nodes. A link belongs to the domain of its source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.topology import Topology
from netsim.traffic import Traffic

SLACK = 0.08
"""How far a cut may lie from the even one, in shares of a domain's load."""

CROSSING = 0.3
"""What a packet costs that goes from one domain to another, beside what a hop does."""

TRANSIT = 3.0
"""Links between routers that a packet takes, about: what routers work beside their own nodes."""


@dataclass(frozen=True, eq=False)
class Domains:
    """Which part of a machine belongs to which domain."""

    n: int
    router: NDArray[np.int16]
    """(n_routers,) int16. Domain of each router."""
    link_from: NDArray[np.int16]
    link_to: NDArray[np.int16]
    """link_from, link_to: (n_links,) int16. Domain of each link's source and destination; a node is
    in that of its first router."""

    @property
    def border_links(self) -> NDArray[np.int64]:
        """Links from one domain to another."""
        return np.flatnonzero(self.link_from != self.link_to)


def make_domains(topology: Topology, load: NDArray[np.float64], n: int) -> Domains:
    """Cut a machine into ``n`` domains of about equal load, across links of high latency.

    Routers are put in an order (`router_row`), which is split where, close to even shares, the
    least latency of the links that are cut is highest, and of such places where few are: between
    groups of a dragonfly, pods of a fat-tree, slabs of a torus. There are never more domains than
    routers, and some may be empty. ``load`` is as `router_load` returns it.
    """
    n = min(n, topology.n_routers)
    row = router_row(topology)
    place = np.empty(len(row), dtype=np.int64)
    place[row] = np.arange(len(row))
    some = load + 1e-9 * max(float(load.sum()), 1.0)  # no share is nothing
    before = np.concatenate([[0.0], np.cumsum(some[row])])
    cuts = _cuts(topology, place, before, n)
    router = np.searchsorted(cuts, place, side="right").astype(np.int16)
    node = np.repeat(router[topology.node_router], topology.rails)
    vertex = np.concatenate([node, router])
    return Domains(n, router, vertex[topology.link_src], vertex[topology.link_dst])


def _cuts(
    topology: Topology, place: NDArray[np.int64], before: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """Return the places of the row at which new domains begin, ascending."""
    first = topology.first_router_link
    ends = place[
        np.stack([topology.link_src[first:], topology.link_dst[first:]]) - topology.n_ports
    ]
    low, high = ends.min(axis=0), ends.max(axis=0)
    latency = topology.link_latency_s[first:]
    share = before[-1] / n
    cuts: list[int] = []
    for k in range(1, n):
        near = np.abs(before - k * share) <= SLACK * share
        near[np.argmin(np.abs(before - k * share))] = True
        near[: cuts[-1] + 1 if cuts else 1] = False
        near[len(before) - 1] = False
        choice = np.flatnonzero(near)
        if not len(choice):
            break
        for value in np.unique(latency):
            untouched = choice[_parted(low, high, latency == value, len(before))[choice] == 0]
            if not len(untouched):
                break
            choice = untouched
        anywhere = np.ones(len(low), dtype=np.bool_)
        parted = _parted(low, high, anywhere, len(before))[choice] * n / max(len(low), 1)
        cost = np.abs(before[choice] - k * share) / share + CROSSING * parted
        cuts.append(int(choice[np.argmin(cost)]))
    return np.array(cuts, dtype=np.int64)


def _parted(
    low: NDArray[np.int64], high: NDArray[np.int64], which: NDArray[np.bool_], n: int
) -> NDArray[np.int64]:
    """Return the number of links that cross a cut before each place, (n,) int64."""
    begins = np.bincount(low[which] + 1, minlength=n + 1)
    stops = np.bincount(high[which] + 1, minlength=n + 1)
    return np.cumsum(begins - stops)[:n]


def router_row(topology: Topology) -> NDArray[np.int64]:
    """Return the routers in the order of their nodes.

    Those without nodes get the mean position of their neighbours that are nearer to nodes.
    """
    n = topology.n_routers
    first = topology.first_router_link
    src = topology.link_src[first:].astype(np.int64) - topology.n_ports
    dst = topology.link_dst[first:].astype(np.int64) - topology.n_ports
    count = np.bincount(topology.port_router, minlength=n)
    total = np.bincount(topology.port_router, np.arange(topology.n_ports), minlength=n)
    known = count > 0
    at = np.full(n, float(topology.n_ports))
    at[known] = total[known] / count[known]
    while not known.all():
        seen = known[src] & ~known[dst]
        count = np.bincount(dst[seen], minlength=n)
        new = count > 0
        if not new.any():
            break
        total = np.bincount(dst[seen], at[src[seen]], minlength=n)
        at[new] = total[new] / count[new]
        known = known | new
    return np.lexsort((np.arange(n), at)).astype(np.int64)


def router_load(topology: Topology, traffic: Traffic, packet_bytes: int) -> NDArray[np.float64]:
    """Return the estimated number of packets that each router handles, (n_routers,) float64.

    It counts those from and to its nodes, and a share of all others in proportion to its links.
    """
    program, n = traffic.program, topology.n_routers
    router = topology.node_router[np.asarray(traffic.rank_node)]
    first = np.asarray(program.send_ptr)[program.rank_step_ptr]
    sizes = np.asarray(program.send_bytes)
    if len(sizes) and sizes.min() == sizes.max():
        # by ranks, not by messages: of those there may be millions
        each = float(-(-int(sizes[0]) // packet_bytes))
        sent = np.diff(first).astype(np.float64) * each
        received = np.bincount(program.send_dst, minlength=program.n_ranks).astype(np.float64)
        received *= each
    else:
        packets = -(-sizes // packet_bytes).astype(np.float64)
        sent = np.diff(np.concatenate([[0.0], np.cumsum(packets)])[first])
        weighted = np.bincount(program.send_dst, packets, minlength=program.n_ranks)
        received = np.asarray(weighted, dtype=np.float64)
    ends = np.bincount(router, sent + received, minlength=n)
    links = topology.link_src[topology.first_router_link :] - topology.n_ports
    degree = np.bincount(links, minlength=n).astype(np.float64)
    degree += 1e-9  # a machine of one router has no links
    return np.asarray(ends + TRANSIT * sent.sum() * degree / degree.sum())
