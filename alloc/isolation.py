"""Which placements could share a router-to-router link.

What is proven here is about *other* jobs: none uses a link of this one. It does not cover the
flows of one job among themselves. A partition under the conditions of Smith and
Lowenthal (HPDC 2021, 3.2.2) is *rearrangeable*: every permutation has routes at one flow a link
(``experiments/jigsaw/tests``), but these depend on the permutation. It is not free of contention
under static routing: `netsim.routing.partition` gives how often the flows of a random permutation
meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from netsim.errors import NetcosimError
from netsim.routing.shortest_path import router_distances
from netsim.topologies.dragonfly import DragonflyShape
from netsim.topology import Topology

Links = NDArray[np.int64]
_distances = lru_cache(maxsize=4)(router_distances)


class SharedLink(NamedTuple):
    """Two jobs that may both use a directed router-to-router link."""

    job_a: int
    job_b: int
    link: int


def usable_links(topology: Topology, placement: Placement) -> Links:
    """Return the directed router-to-router links that a job's traffic may use, ascending.

    These are the placement's own links if it has any, otherwise those of all shortest paths between
    its nodes. The minimal routes of a dragonfly are others; NetcosimError.
    """
    if len(placement.links):
        return np.unique(placement.links).astype(np.int64)
    if isinstance(topology.shape, DragonflyShape):
        raise NetcosimError(
            f"{topology.name}: minimal routes need not be shortest paths; give the placement links"
        )
    routers = topology.routers_of(placement.nodes)
    links = np.arange(topology.first_router_link, topology.n_links)
    if len(routers) < 2:
        return links[:0]
    distance = _distances(topology)
    src, dst = (ends[links] - topology.n_ports for ends in (topology.link_src, topology.link_dst))
    on_path = np.zeros(len(links), dtype=np.bool_)
    for router in routers:
        through = distance[router, src] + 1 + distance[np.ix_(dst, routers)].T
        on_path |= (through == distance[router, routers][:, None]).any(axis=0)
    return links[on_path]


def shared_links(topology: Topology, placements: Iterable[Placement]) -> list[SharedLink]:
    """Return every (job, job, link) where two placements could use the same directed link.

    An empty list proves that the placements are isolated from each other under any
    routing of `usable_links`.
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
