"""Routings of any network over its shortest paths, one packet spread from the next.

- "min-hop": static, by destination. At each router the destinations with the same next hops, and
  come by there at all, are dealt out to these in turn, as the subnet managers of InfiniBand do. On
  a full fat-tree that is D-mod-k (Zahavi, 2010): every shift permutation uses each link once.
- "shortest-path": the paths of "min-hop", with a channel for each link of the longest path.
- "adaptive-shortest-path": of the links on shortest paths a random one if it has no load, else the
  least loaded of all, one of equals at random (as "adaptive" on fat-trees).
- "ecmp": a link by a hash of source, destination and queue pair. All packets of a flow take one
  path, whatever the loads; the packets of a message are dealt over `queue_pairs` flows.
- "spray": a random link for each packet (as "random-up" on fat-trees).

One channel is enough where no ring of links can wait for each other, as on trees and networks of
leaves and spines (up, then down); `channels` finds out. Elsewhere the channel rises by one a hop
and there are as many as the longest path has links; the state is that hop count.

Kernel tables: params = 0, entries a router in table_a, channels up a hop (0 or 1). "min-hop" and
"shortest-path": table_a has the link toward each port. The others: table_a has for each router
where in table_c its list begins: number of links, then the links. They have three more params: the
queue pairs of "ecmp" (0 for others), and 1 if each hop has a hash seed of its own, else 0; the last
one and table_b are those of `netsim.routing.pinned`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.limits import need_memory
from netsim.parameters import OneOf
from netsim.routing.base import SWITCHED, Routing, RoutingEntry
from netsim.routing.kernels_in_turn import deal_links
from netsim.routing.kernels_tables import BY_DESTINATION, EQUAL_COST, LEAST_LOADED
from netsim.routing.make_tables import choices_of, make_tables
from netsim.routing.shortest_path import router_distances, table_routing
from netsim.topologies.checks import need_int, need_one_of
from netsim.topology import Topology

DIFFERENT, SAME = HASH_SEEDS = ("different", "same")
BoolArray = NDArray[np.bool_]


class ShortestPaths:
    """The links on shortest paths between routers, of which ``longest`` is the longest, at least 1.

    ``targets`` are the routers with nodes, ascending. ``place[row, column]`` is where in ``lists``
    the links from row toward column begin, their number first; it has no meaning on the diagonal
    and toward routers without nodes.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.distance = router_distances(topology)
        self.targets = np.unique(topology.port_router).astype(np.int64)
        self.longest = max(1, int(self.distance[np.ix_(self.targets, self.targets)].max()))
        self._ptr, self._links = topology.router_out_links()

    @cached_property
    def _places_and_lists(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        n, lists, end = len(self.distance), [np.zeros(1, dtype=np.int32)], 1
        place = np.zeros((n, n), dtype=np.int32)
        for router in range(n):
            sets, which = self.alike(router)
            links = np.broadcast_to(self.links_of(router), sets.shape)[sets]
            count = sets.sum(axis=1)
            ends = np.cumsum(count)
            lists.append(np.insert(links, ends - count, count))
            place[router, self.targets] = (end + ends - count + np.arange(len(count)))[which]
            end += len(lists[-1])
        return place, np.concatenate(lists)

    @property
    def place(self) -> NDArray[np.int32]:
        """See the attributes."""
        return self._places_and_lists[0]

    @property
    def lists(self) -> NDArray[np.int32]:
        """See the attributes."""
        return self._places_and_lists[1]

    @cached_property
    def passes(self) -> BoolArray:
        """Routers that pass packets on to others, (n_routers,) bool.

        Switches inside scale-up domains do so only as relays between rails.
        """
        passes = np.ones(len(self.distance), dtype=np.bool_)
        if self.topology.scale_up is not None and self.topology.nic_rail is None:
            passes[self.topology.port_router[:: self.topology.rails]] = False
        return passes

    def links_of(self, router: int) -> NDArray[np.int32]:
        """Return the links that leave a router, ascending."""
        return self._links[self._ptr[router] : self._ptr[router + 1]]

    def neighbours(self, router: int) -> NDArray[np.int64]:
        """Return the routers behind `links_of`."""
        behind = self.topology.link_dst[self.links_of(router)] - self.topology.n_ports
        return behind.astype(np.int64)

    def alike(self, router: int) -> tuple[BoolArray, NDArray[np.int32]]:
        """Return the distinct sets of next links, (sets, links) bool, and each target's set."""
        here = self.distance[router, self.targets]
        good = self.distance[np.ix_(self.neighbours(router), self.targets)] == here - 1
        packed = np.ascontiguousarray(np.packbits(good, axis=0).T)
        if not packed.shape[1]:
            return np.zeros((1, 0), dtype=np.bool_), np.zeros(len(self.targets), dtype=np.int32)
        rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, which = np.unique(rows, return_index=True, return_inverse=True)
        return good.T[first], which.ravel().astype(np.int32)

    def toward(self, router: int, target: int) -> list[int]:
        """Return the links on shortest paths from one router to another with nodes."""
        at = int(self.place[router, target])
        return list(map(int, self.lists[at + 1 : at + 1 + self.lists[at]]))


def channels(paths: ShortestPaths) -> int:
    """Return the number of channels that makes shortest paths free of deadlock.

    It is 1 if the links cannot wait for each other in a ring on any paths (Dally and Seitz,
    1987); else one for each link of the longest path.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    targets = paths.targets[paths.passes[paths.targets]]
    distance = paths.distance[:, targets]
    n, used = len(distance), _visited(paths, distance, targets)
    # routers that are joined, as pairs: parallel links wait as one
    near_of = [np.unique(paths.neighbours(u)) for u in range(n)]
    number = np.full((n, n), -1, dtype=np.int32)
    n_pairs = 0
    for v, near in enumerate(near_of):
        passes = used[near] & (distance[near] == distance[v] + 1) & (distance[v] > 0)
        # the others are in no ring: nothing that comes by there goes on
        before = near[passes.any(axis=1)]
        number[before, v] = n_pairs + np.arange(len(before))
        n_pairs += len(before)
    none = np.zeros(0, dtype=np.int32)
    held, wanted = [none], [none]
    for v, near in enumerate(near_of):
        before, after = near[number[near, v] >= 0], near[number[v, near] >= 0]
        comes = (distance[before] == distance[v] + 1) & used[before]
        closer = distance[after] == distance[v] - 1
        waits = comes.astype(np.float32) @ closer.T.astype(np.float32) > 0
        i, k = np.nonzero(waits)
        held.append(number[before[i], v])
        wanted.append(number[v, after[k]])
    ends = np.concatenate(held), np.concatenate(wanted)
    waiting = np.ones(len(ends[0]), dtype=np.float32)
    graph = coo_array((waiting, ends), shape=(n_pairs, n_pairs))
    parts, _ = connected_components(graph, directed=True, connection="strong")
    return 1 if parts == n_pairs else paths.longest


def _visited(
    paths: ShortestPaths, distance: NDArray[np.int16], targets: NDArray[np.int64]
) -> BoolArray:
    """Return whether a packet to the target can pass the router, (n_routers, targets)."""
    used = np.zeros(distance.shape, dtype=np.bool_)
    used[targets] = True
    near = [np.unique(paths.neighbours(router)) for router in range(len(distance))]
    for far in range(int(distance[targets].max(initial=0)), 1, -1):
        for router in np.flatnonzero((used & (distance == far)).any(axis=1)).tolist():
            here = used[router] & (distance[router] == far)
            used[near[router]] |= here & (distance[near[router]] == far - 1)
    return used


def links_in_turn(paths: ShortestPaths) -> NDArray[np.int32]:
    """Return the static link toward each port, -1 at its own router, (n_routers, n_ports).

    A router that packets to a port never pass has the first of its links toward the port.
    """
    topology, distance, passes = paths.topology, paths.distance, paths.passes
    ports = topology.port_router.astype(np.int64)
    need_memory(f"next links of {topology.name}", (4 + 1) * len(distance) * len(ports))
    table = np.full((len(distance), len(ports)), -1, dtype=np.int32)
    for router in np.flatnonzero(~passes).tolist():
        table[router, ports != router] = paths.links_of(router)[0]
    used = np.zeros(table.shape, dtype=np.bool_)
    used[paths.targets[passes[paths.targets]]] = True
    # GPUs of one leaf may not be numbered side by side
    by_router = topology.scale_up is not None
    columns = np.argsort(ports, kind="stable") if by_router else np.arange(len(ports))
    behind = topology.link_dst.astype(np.int64) - topology.n_ports
    lists = paths.lists
    dealt = np.zeros(len(lists), dtype=np.int64)
    # the furthest first, so that it is known who comes by
    for far in range(int(distance.max(initial=0)), 0, -1):
        deal_links(
            *(distance, far, paths.place, lists, dealt),
            *(columns, ports[columns], behind, passes, used, table),
        )
    return table


def shortest_path_routing(topology: Topology) -> Routing:
    """Build "shortest-path" on any topology."""
    paths = ShortestPaths(topology)
    how = paths.longest, BY_DESTINATION
    return table_routing(topology, "shortest-path", links_in_turn(paths), *how)


def min_hop_routing(topology: Topology) -> Routing:
    """Build "min-hop" on any topology."""
    paths = ShortestPaths(topology)
    table, n_vcs = links_in_turn(paths), channels(paths)
    how = n_vcs, BY_DESTINATION
    return table_routing(topology, "min-hop", table, *how, channel_step=int(n_vcs > 1))


def adaptive_shortest_path_routing(topology: Topology) -> Routing:
    """Build "adaptive-shortest-path" on any topology."""
    return equal_cost_routing(topology, "adaptive-shortest-path", LEAST_LOADED)


def ecmp_routing(
    topology: Topology,
    *,
    queue_pairs: Annotated[
        int, "flows over which the packets of a message are dealt, each with its own hash", Ge(1)
    ] = 1,
    hash_seeds: Annotated[
        str,
        "whether the switches of each hop hash with a seed of their own, or all with one",
        OneOf(HASH_SEEDS),
    ] = DIFFERENT,
) -> Routing:
    """Build "ecmp" on any topology."""
    need_int("ecmp", "queue_pairs", queue_pairs, 1)
    need_one_of("ecmp", "hash_seeds", hash_seeds, HASH_SEEDS)
    each = hash_seeds == DIFFERENT
    return equal_cost_routing(topology, "ecmp", EQUAL_COST, queue_pairs, each)


def spray_routing(topology: Topology) -> Routing:
    """Build "spray" on any topology."""
    return equal_cost_routing(topology, "spray", EQUAL_COST)


def equal_cost_routing(
    topology: Topology,
    name: str,
    code: int,
    queue_pairs: int = 0,
    seed_each_hop: bool = True,
) -> Routing:
    """Build a routing of code LEAST_LOADED or EQUAL_COST among all links on shortest paths."""
    paths = ShortestPaths(topology)
    n_vcs = channels(paths)
    step = int(n_vcs > 1)

    def links(router: int, dst_node: int) -> list[int]:
        return paths.toward(router, int(topology.port_router[dst_node]))

    params = (0, topology.n_routers, step, queue_pairs, int(seed_each_hop), 0)
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=code == LEAST_LOADED,
        random_visits=paths.longest,
        tables=make_tables(topology, code, n_vcs, params, paths.place, (), paths.lists),
        choices=choices_of(topology, links, step),
        queue_pairs=queue_pairs,
        seed_each_hop=seed_each_hop,
    )


ROUTINGS = (
    RoutingEntry(
        *("shortest-path", "as min-hop, with one channel a hop", (), shortest_path_routing),
        avoids_down=True,
    ),
    RoutingEntry(
        *("min-hop", "static shortest paths, dealt out by destination", (), min_hop_routing),
        avoids_down=True,
    ),
    RoutingEntry(
        "adaptive-shortest-path",
        "least loaded link on a shortest path, ties at random",
        (),
        adaptive_shortest_path_routing,
        avoids_down=True,
    ),
    RoutingEntry(
        *("ecmp", "shortest path by a hash of the flow", SWITCHED, ecmp_routing), avoids_down=True
    ),
    RoutingEntry(
        *("spray", "random link on a shortest path for each packet", SWITCHED, spray_routing),
        avoids_down=True,
    ),
)
