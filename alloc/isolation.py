"""Which placements could share a router-to-router link.

What is proven here is about *other* jobs: none uses a link of this one. It says nothing of the
flows of one job among themselves. A partition that keeps `alloc.conditions` is *rearrangeable*:
every permutation has routes at one flow a link (`netsim.routing.partition_permutation`), but
these depend on the permutation. It is not free of contention under static routing:
`netsim.routing.partition` tells how often the flows of a random permutation meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from alloc.policy import Placement
from netsim.topology import Topology

Links = NDArray[np.int64]


class SharedLink(NamedTuple):
    """Two jobs that may both use a directed router-to-router link."""

    job_a: int
    job_b: int
    link: int


def usable_links(topology: Topology, placement: Placement) -> Links:
    """Directed router-to-router links that a job's traffic could use, ascending.

    The placement's own links if it has any. Otherwise, by family: fat-tree, every link of
    any up-down route between its nodes (all up- and down-links of its leaves if it has more
    than one; all links between L2 switches and spines of its pods if it has more than one);
    dragonfly, every link of a minimal (local, global, local) route, whatever global link is
    taken; any other, every link on a shortest path.

    Parameters
    ----------
    topology : Topology
    placement : Placement
    """
    if len(placement.links):
        return np.unique(placement.links).astype(np.int64)
    routers = np.unique(topology.node_router[placement.nodes]).astype(np.int64)
    if len(routers) < 2:
        return np.empty(0, dtype=np.int64)
    if topology.family == "fattree":
        return _fattree_links(topology, placement)
    if topology.family == "dragonfly":
        return _dragonfly_links(topology, routers)
    return _shortest_path_links(topology, routers)


def _fattree_links(topology: Topology, placement: Placement) -> Links:
    s = topology.shape
    leaves = np.unique(s.leaf_of(placement.nodes)).astype(np.int64)
    pods = np.unique(leaves // s.m2)
    positions = np.arange(s.w2)
    links = [s.leaf_up(leaves[:, None], positions), s.leaf_down(leaves[:, None], positions)]
    if len(pods) > 1:
        spines = np.arange(s.w3)
        where = pods[:, None, None], positions[:, None], spines
        links += [s.l2_up(*where), s.l2_down(*where)]
    return np.unique(np.concatenate([part.ravel() for part in links]))


def _dragonfly_links(topology: Topology, routers: Links) -> Links:
    s = topology.shape
    found: set[int] = set()

    def walk(group: int, start: int, end: int) -> None:
        while start != end:
            step = s.local_step(start, end)
            found.add(s.local_link(group, start, step))
            start = step

    by_group: dict[int, list[int]] = {}
    for router in routers.tolist():
        by_group.setdefault(router // s.a, []).append(router % s.a)
    for group, members in by_group.items():
        for r in members:
            for t in members:
                walk(group, r, t)
        for other in by_group:
            for copy in range(s.global_links_per_pair if other != group else 0):
                gate = s.global_router(group, other, copy) % s.a
                found.add(s.global_link(group, other, copy))
                for r in members:
                    walk(group, r, gate)
                    walk(group, gate, r)
    return np.array(sorted(found), dtype=np.int64)


def _shortest_path_links(topology: Topology, routers: Links) -> Links:
    links = np.arange(2 * topology.n_nodes, topology.n_links)
    src = topology.link_src[links] - topology.n_nodes
    dst = topology.link_dst[links] - topology.n_nodes
    n = topology.n_routers
    graph = coo_array((np.ones(len(links)), (src, dst)), shape=(n, n)).tocsr()
    out = shortest_path(graph, unweighted=True, indices=routers)
    back = shortest_path(graph.T.tocsr(), unweighted=True, indices=routers)
    on_path = np.zeros(len(links), dtype=np.bool_)
    for i in range(len(routers)):
        to_link = out[i][src] + 1
        on_path |= (to_link + back[:, dst] == out[i][routers][:, None]).any(axis=0)
    return links[on_path]


def shared_links(topology: Topology, placements: Iterable[Placement]) -> list[SharedLink]:
    """Every (job, job, link) where two placements could use the same directed link.

    An empty list is the proof that the placements are isolated from each other under any
    routing of `usable_links`.

    Parameters
    ----------
    topology : Topology
    placements : iterable of Placement
    """
    users: dict[int, list[int]] = {}
    for placement in placements:
        for link in usable_links(topology, placement).tolist():
            users.setdefault(link, []).append(placement.job_id)
    return [
        SharedLink(a, b, link)
        for link, jobs in sorted(users.items())
        for i, a in enumerate(jobs)
        for b in jobs[i + 1 :]
    ]


def shared_nodes(placements: Iterable[Placement]) -> list[int]:
    """Nodes that stand in more than one placement, ascending."""
    lists = [placement.nodes for placement in placements]
    if not lists:
        return []
    nodes, counts = np.unique(np.concatenate(lists), return_counts=True)
    return [int(node) for node in nodes[counts > 1]]
