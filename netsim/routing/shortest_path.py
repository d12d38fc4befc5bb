"""Shortest-path routing on any topology: a table of next links by breadth-first search.

Among the links on shortest paths the one taken depends only on the destination's router (its
number modulo the count, in link order), which splits the ties. Virtual channel = links
taken so far, as is the state, so ``n_vcs`` is the diameter and no cycle is possible.

Kernel tables: params = 0, routers, channels up a hop (1, or 0 for one channel). table_a: (routers,
routers) next link from row toward column, -1 on the diagonal.
"""

from __future__ import annotations

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from netsim.routing.base import Hop, Routing, RoutingEntry, View
from netsim.routing.kernels_tables import SHORTEST_PATH
from netsim.routing.make_tables import ejection, make_tables
from netsim.topology import Topology

MAX_ROUTERS = 32_000
"""Distances have 16 bits."""
MOST_AT_ONCE = 10_000
"""Links whose ends are looked up together."""


def router_distances(topology: Topology) -> np.ndarray:
    """Return the hops between any two routers, (n_routers, n_routers) int16."""
    n = topology.n_routers
    if n > MAX_ROUTERS:
        raise NetcosimError(
            f"{topology.name}: {n} routers; shortest-path tables allow at most {MAX_ROUTERS:,}"
        )
    # distances, the next links, and what is reached by one more hop
    need_memory(f"distances of {n:,} routers of {topology.name}", (2 + 4 + 1) * n * n)
    ptr, links = topology.router_out_links()
    near = topology.link_dst[links] - topology.n_ports
    leads_on = np.flatnonzero(np.diff(ptr))
    distances = np.full((n, n), -1, dtype=np.int16)
    # the routers that each one reaches, a bit each
    reached = np.packbits(np.eye(n, dtype=np.bool_), axis=1)
    new = reached
    for hops in range(n + 1):
        distances[np.unpackbits(new, axis=1, count=n).view(np.bool_)] = hops
        new = np.zeros_like(reached)
        for part in np.array_split(leads_on, 1 + len(links) // MOST_AT_ONCE):
            if len(part):
                ends = slice(ptr[part[0]], ptr[part[-1] + 1])
                begins = ptr[part] - ptr[part[0]]
                new[part] = np.bitwise_or.reduceat(reached[near[ends]], begins, axis=0)
        new &= ~reached
        if not new.any():
            break
        reached |= new
    # a router without nodes that is cut off by links that are down is on no path
    need = np.arange(n) if topology.down is None else np.unique(topology.port_router)
    cut = np.argwhere(distances[np.ix_(need, need)] < 0)
    if len(cut):
        a, b = need[cut[0]].tolist()
        why = "" if topology.down is None else " while links are down"
        raise NetcosimError(f"{topology.name}: no path from router {a} to router {b}{why}")
    return distances


def next_links(topology: Topology, distances: np.ndarray, *, first: bool = False) -> np.ndarray:
    """Return the next link toward each router, -1 on the diagonal, (n_routers, n_routers) int32.

    ``first``: of several links always the first, in place of splitting the ties.
    """
    n = topology.n_routers
    ptr, links = topology.router_out_links()
    table = np.full((n, n), -1, dtype=np.int32)
    for router in range(n):
        out = links[ptr[router] : ptr[router + 1]]
        if len(out) == 0:
            continue
        beyond = topology.link_dst[out] - topology.n_ports
        good = distances[beyond] == distances[router] - 1
        count = good.sum(axis=0)
        # The (destination mod count)-th of the good links, counted in link order.
        wanted = 0 if first else np.arange(n) % np.maximum(count, 1)
        rank = np.cumsum(good, axis=0) - 1
        chosen = np.argmax(good & (rank == wanted), axis=0)
        table[router] = np.where(count > 0, out[chosen], -1)
    return table


def shortest_path_routing(topology: Topology) -> Routing:
    """Build "shortest-path" on any topology."""
    distances = router_distances(topology)
    longest = max(1, int(distances.max()))
    return table_routing(topology, "shortest-path", next_links(topology, distances), longest)


def table_routing(
    topology: Topology,
    name: str,
    next_link: np.ndarray,
    n_vcs: int,
    *,
    channel_step: int = 1,
) -> Routing:
    """Build a static routing from a table; with one channel a hop no cycle is possible.

    The table has the link from the row's router toward the column's; -1 on the diagonal. ``n_vcs``
    is the number of links of the longest path, or 1 if the channel is constant (``channel_step``
    0).
    """

    def choices(router: int, dst_node: int, state: int) -> list[Hop]:
        dst_router = int(topology.port_router[dst_node])
        if router == dst_router:
            return [ejection(topology, dst_node, state)]
        return [Hop(int(next_link[router, dst_router]), state, state + channel_step)]

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        return choices(router, dst_node, state)[0]

    params = (0, topology.n_routers, channel_step)
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=False,
        random_visits=0,
        tables=make_tables(topology, SHORTEST_PATH, n_vcs, params, next_link),
        choices=choices,
        choose=choose,
    )


ROUTINGS = (
    RoutingEntry(
        *("shortest-path", "next-hop table, one channel a hop", (), shortest_path_routing),
        avoids_down=True,
    ),
)
