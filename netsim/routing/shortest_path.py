"""Distances between routers, and static routings by a table of next links.

The state is the channel; with one channel a hop no cycle is possible.

Kernel tables: params = 0, entries a router in table_a, channels up a hop (1, or 0 for one channel).
table_a: next link from the row's router toward the column's router, or port (BY_DESTINATION); -1 at
the router itself.
"""

from __future__ import annotations

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from netsim.routing.base import Routing
from netsim.routing.kernels_tables import BY_DESTINATION, SHORTEST_PATH
from netsim.routing.make_tables import choices_of, make_tables
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


def table_routing(
    topology: Topology,
    name: str,
    next_link: np.ndarray,
    n_vcs: int,
    code: int = SHORTEST_PATH,
    *,
    channel_step: int = 1,
) -> Routing:
    """Build a static routing from a table; with one channel a hop no cycle is possible.

    The table has the link from the row's router toward the column's, or by code BY_DESTINATION
    toward the column's port; -1 at the router itself. ``n_vcs`` is the number of links of the
    longest path, or 1 if the channel is constant (``channel_step`` 0).
    """

    def links(router: int, dst_node: int) -> list[int]:
        column = dst_node if code == BY_DESTINATION else int(topology.port_router[dst_node])
        return [int(next_link[router, column])]

    params = (0, next_link.shape[1], channel_step)
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=False,
        random_visits=0,
        tables=make_tables(topology, code, n_vcs, params, next_link),
        choices=choices_of(topology, links, channel_step),
    )
