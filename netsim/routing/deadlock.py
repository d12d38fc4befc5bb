"""Proof of deadlock freedom: the channel-dependency graph has no cycle.

A packet that holds space behind channel (link, vc) may wait for any channel that its routing
could give it next. If no ring of such waits exists, something can always move (Dally and
Seitz, 1987). For "minimal-adaptive" the last channel is left out of the waits, since a packet
joins it only with its space already reserved and so never waits there; the test then also
needs an escape channel to be on offer everywhere (Duato, 1993).
"""

from __future__ import annotations

import networkx as nx

from netsim.errors import NetcosimError
from netsim.routing.base import Routing

Channel = tuple[int, int]


def dependencies(routing: Routing) -> set[tuple[Channel, Channel]]:
    """Return every (held channel, wanted channel), from all routers with nodes to all destinations.

    Injection and ejection links are left out: nothing waits for an injection link's
    buffer in a ring, and an ejection link always drains.
    """
    t = routing.topology
    first = t.first_router_link
    reserved = routing.n_vcs - 1 if routing.name == "minimal-adaptive" else -1
    sources = sorted({int(r) for r in t.port_router})
    pairs: set[tuple[Channel, Channel]] = set()
    for dst in range(t.n_ports):
        # A place is a packet's router, its state, and the channel that it holds.
        todo: list[tuple[int, int, Channel | None]] = [(r, 0, None) for r in sources]
        seen = set(todo)
        while todo:
            router, state, held = todo.pop()
            hops = routing.choices(router, dst, state)
            if not any(hop.vc != reserved for hop in hops):
                raise NetcosimError(
                    f"routing {routing.name}: no escape channel at router {router} to port {dst}"
                )
            for hop in hops:
                if hop.link < first:
                    continue
                if not 0 <= hop.vc < routing.n_vcs:
                    raise NetcosimError(
                        f"routing {routing.name}: channel {hop.vc} of {routing.n_vcs} "
                        f"on link {hop.link}"
                    )
                wanted = (hop.link, hop.vc)
                if held is not None and hop.vc != reserved:
                    pairs.add((held, wanted))
                place = (int(t.link_dst[hop.link]) - t.n_ports, hop.state, wanted)
                if place not in seen:
                    seen.add(place)
                    todo.append(place)
    return pairs


def find_cycle(routing: Routing) -> list[Channel] | None:
    """Return a ring of channels that could wait for each other, or None if there is none.

    Meant for small machines: it walks every path of every destination.
    """
    graph: nx.DiGraph[Channel] = nx.DiGraph()
    graph.add_edges_from(dependencies(routing))
    try:
        return [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return None
