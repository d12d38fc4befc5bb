"""Routings as networks without virtual channels have them."""

from __future__ import annotations

import numpy as np

from netsim.errors import NetcosimError
from netsim.routing.base import Routing
from netsim.routing.shortest_path import table_routing


def on_one_channel(routing: Routing) -> Routing:
    """The same ways with one queue a link, as networks without virtual channels have.

    For buffers that never limit; where they do, the network can deadlock.

    Parameters
    ----------
    routing : Routing
        Of paths that depend only on a packet's router and its destination's router.

    Raises
    ------
    NetcosimError
        A routing that chooses, or whose way goes on differently by where a packet comes from.
    """
    if routing.n_vcs == 1:
        return routing
    topology = routing.topology
    n = topology.n_routers
    table = np.full((n, n), -1, dtype=np.int32)
    sources = np.unique(topology.port_router).tolist()
    for port, target in enumerate(topology.port_router.tolist()):
        for source in sources:
            router, state = source, 0
            while router != target:
                hops = routing.choices(router, port, state)
                if len(hops) != 1 or table[router, target] not in (-1, hops[0].link):
                    raise NetcosimError(
                        f"routing {routing.name!r} on {topology.name}: ways are not by router and "
                        "destination's router alone"
                    )
                table[router, target] = hops[0].link
                router = int(topology.link_dst[hops[0].link]) - topology.n_ports
                state = hops[0].state
    return table_routing(topology, f"{routing.name} on one channel", table, 1, channel_step=0)
