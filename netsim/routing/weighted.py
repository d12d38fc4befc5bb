"""Routings that a user brings as a table: from each router toward each other, links with weights.

A Python function of the topology makes the table once; the kernels draw from it. So a custom
routing needs no kernel as long as it ignores loads: static (one link everywhere) and oblivious
(several, at random) routings, minimal or not. What a packet has behind it, and what waits on the
links, is not available to a table: an adaptive routing needs a kernel.

A packet draws at each router anew. With one channel a table can deadlock where its links may wait
for each other in a ring (Dally and Seitz, 1987); `table_routing` looks for rings, and then lets
the channel rise by one a hop, which no table can deadlock with.

Kernel tables: params = 0, routers, channels up a hop (0 or 1). table_a: (routers, routers) where in
table_c the list from row toward column begins: number of links, then each link and the sum of the
weights so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from netsim.routing.base import Routing
from netsim.routing.kernels_tables import WEIGHTED
from netsim.routing.make_tables import choices_of, make_tables
from netsim.topology import Topology

Paths = Mapping[tuple[int, int], Mapping[int, int] | Sequence[int]]
"""(router, destination's router) to links that leave the router, with their weights."""

MAX_WEIGHT = 1 << 30
_ENTRY_BYTES = 600


class _PathTable:
    """Validated paths, as lists of (link, weight)."""

    def __init__(self, topology: Topology, name: str, paths: Paths) -> None:
        self.topology = topology
        self.where = f"routing {name} on {topology.name}"
        self.targets = sorted({int(router) for router in topology.port_router})
        need_memory(self.where, _ENTRY_BYTES * topology.n_routers * len(self.targets))
        self.paths = {
            key: self._checked(key, paths[key])
            for target in self.targets
            for key in self._reached(paths, target)
        }

    def _reached(self, paths: Paths, target: int) -> Iterable[tuple[int, int]]:
        """Yield the places of packets to a target, from all routers with nodes."""
        todo = [router for router in self.targets if router != target]
        seen = set(todo)
        while todo:
            router = todo.pop()
            if (router, target) not in paths:
                raise NetcosimError(
                    f"{self.where}: no path from router {router} toward router {target}"
                )
            yield router, target
            for link in paths[router, target]:
                beyond = self.behind(self._link(router, target, link))
                if beyond != target and beyond not in seen:
                    seen.add(beyond)
                    todo.append(beyond)

    def behind(self, link: int) -> int:
        """Return the router at the end of a link between routers."""
        return int(self.topology.link_dst[link]) - self.topology.n_ports

    def _link(self, router: int, target: int, link: object) -> int:
        t, toward = self.topology, f"from router {router} toward router {target}"
        if isinstance(link, bool) or not isinstance(link, (int, np.integer)):
            raise NetcosimError(f"{self.where}: {toward}: link {link!r}; it must be a whole number")
        if not t.first_router_link <= link < t.n_links:
            raise NetcosimError(
                f"{self.where}: {toward}: link {link}; links between routers are "
                f"{t.first_router_link} to {t.n_links - 1}"
            )
        leaves = int(t.link_src[link]) - t.n_ports
        if leaves != router:
            raise NetcosimError(f"{self.where}: {toward}: link {link} leaves router {leaves}")
        return int(link)

    def _checked(
        self, key: tuple[int, int], choices: Mapping[int, int] | Sequence[int]
    ) -> list[tuple[int, int]]:
        toward = f"from router {key[0]} toward router {key[1]}"
        given = choices.items() if isinstance(choices, Mapping) else ((link, 1) for link in choices)
        links = sorted((int(link), weight) for link, weight in given)
        if not links:
            raise NetcosimError(f"{self.where}: {toward}: no link")
        if len({link for link, _ in links}) < len(links):
            raise NetcosimError(f"{self.where}: {toward}: a link is listed twice")
        for link, weight in links:
            is_integer = isinstance(weight, (int, np.integer)) and not isinstance(weight, bool)
            if not is_integer or not 1 <= weight <= MAX_WEIGHT:
                raise NetcosimError(
                    f"{self.where}: {toward}: weight {weight!r} of link {link}; it must be a whole "
                    f"number from 1 to {MAX_WEIGHT:,}"
                )
        common = gcd(*(int(weight) for _, weight in links))
        whole_weight = sum(int(weight) for _, weight in links) // common
        if whole_weight > MAX_WEIGHT:
            raise NetcosimError(f"{self.where}: {toward}: weights of {whole_weight:,} together")
        return [(link, int(weight) // common) for link, weight in links]

    def longest(self) -> int:
        """Return the links of the longest path."""
        import networkx as nx

        ways: dict[int, list[tuple[int, int]]] = {target: [] for target in self.targets}
        for (router, target), links in self.paths.items():
            ways[target] += [(router, self.behind(link)) for link, _ in links]
        longest = 1
        for target, edges in ways.items():
            graph = nx.DiGraph(edges)
            try:
                longest = max(longest, nx.dag_longest_path_length(graph))
            except nx.NetworkXUnfeasible:
                ring = [router for router, _ in nx.find_cycle(graph)]
                routers = ", ".join(map(str, [*ring, ring[0]]))
                raise NetcosimError(
                    f"{self.where}: packets to router {target} may cycle forever: {routers}"
                ) from None
        return longest

    def ring(self) -> list[int]:
        """Return the links of a ring that may wait for each other; empty if there is none."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        waits: set[tuple[int, int]] = set()
        for (_, target), held in self.paths.items():
            for link, _ in held:
                beyond = self.behind(link)
                if beyond != target:
                    waits.update((link, wanted) for wanted, _ in self.paths[beyond, target])
        if not waits:
            return []
        src, dst = np.array(sorted(waits)).T
        n = self.topology.n_links
        graph = coo_array((np.ones(len(src)), (src, dst)), shape=(n, n))
        _, part = connected_components(graph, directed=True, connection="strong")
        size = np.bincount(part)
        inside = (part[src] == part[dst]) & (size[part[src]] > 1)
        if not inside.any():
            return []
        import networkx as nx

        edges = zip(src[inside].tolist(), dst[inside].tolist(), strict=True)
        return [int(edge[0]) for edge in nx.find_cycle(nx.DiGraph(list(edges)))]


def table_routing(
    topology: Topology, name: str, paths: Paths, *, channels: int | None = None
) -> Routing:
    """Build a routing from a table of links with weights.

    Parameters
    ----------
    paths : mapping
        ``paths[router, target]``: the links that a packet may take from a router toward its
        destination's router, all equally likely, or each with an integer weight. It is looked up
        for every router that a packet can visit.
    channels : int, optional
        Virtual channels a link. By default 1 where the table cannot deadlock on one; else as many
        as the longest path has links, the channel rising by one a hop.

    Examples
    --------
    >>> import netcosim as nc
    >>> ring = nc.make_topology("torus", {"dims": [3]})
    >>> paths = {}
    >>> for link in range(ring.first_router_link, ring.n_links):
    ...     here, there = (int(end[link]) - ring.n_ports for end in (ring.link_src, ring.link_dst))
    ...     paths.setdefault((here, there), []).append(link)
    >>> routing = table_routing(ring, "direct", paths)
    >>> routing.n_vcs, routing.adaptive
    (1, False)
    """
    table = _PathTable(topology, name, paths)
    longest, ring = table.longest(), table.ring()
    n_vcs = channels if channels is not None else (longest if ring else 1)
    if n_vcs < (longest if ring else 1):
        cycle = ", ".join(map(str, ring[:8]))
        raise NetcosimError(
            f"{table.where}: it can deadlock on {n_vcs} channel{'s' if n_vcs > 1 else ''}: links "
            f"{cycle} may wait for each other in a ring; {longest} channels are needed"
        )
    step = int(bool(ring))
    return _routing(table, name, n_vcs, step, longest)


def _routing(table: _PathTable, name: str, n_vcs: int, step: int, longest: int) -> Routing:
    topology = table.topology
    n = topology.n_routers
    lists, place = [0], np.zeros((n, n), dtype=np.int32)
    known: dict[tuple[tuple[int, int], ...], int] = {}
    for key, links in table.paths.items():
        if tuple(links) not in known:
            known[tuple(links)] = len(lists)
            sums = np.cumsum([weight for _, weight in links]).tolist()
            pairs = zip((link for link, _ in links), sums, strict=True)
            lists += [len(links), *(number for pair in pairs for number in pair)]
        place[key] = known[tuple(links)]

    def links_of(router: int, dst_node: int) -> list[int]:
        return [link for link, _ in table.paths[router, int(topology.port_router[dst_node])]]

    several = any(len(links) > 1 for links in table.paths.values())
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=False,
        random_visits=longest if several else 0,
        tables=make_tables(topology, WEIGHTED, n_vcs, (0, n, step), place, (), lists),
        choices=choices_of(topology, links_of, step),
    )
