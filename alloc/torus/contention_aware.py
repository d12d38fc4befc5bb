"""Contention-aware cuboids: a job that needs the bisection waits for it, others do not."""

from __future__ import annotations

from math import prod

import numpy as np

from alloc.policy import Placement, Request
from alloc.torus.geometry import Extents, GeometryPolicy, balanced, internal_links
from netsim.topology import Topology


class ContentionAware(GeometryPolicy):
    """Takes or refuses a free cuboid by whether the job is bound by contention there.

    The request's ``bandwidth_Bps`` is the hint: what a *node* must be able to send to a far
    partner, all at the same time. A cuboid of N nodes with b links of capacity B across its middle
    carries 2 b B / N a node. A job takes only cuboids that carry what it needs or, if none of its
    size does, the best; it waits if none of those is free. A job without a hint takes any free
    cuboid of its size, least bisection first, so that the good shapes stay whole for those that
    need them. (The use that Oltchik and Schwartz propose in section 5.)
    """

    name = "contention-aware"
    description = "jobs that need the bisection wait for a cuboid that has it, others take any"
    without_need = "any cuboid of its size, so that no job waits for its bisection"

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        self._need_Bps: float | None = None

    def shapes(self, volume: int, every: list[Extents]) -> list[Extents]:
        return sorted(every, key=lambda e: (internal_links(self.topology, e), *balanced(e)))

    def node_bandwidth(self, extents: Extents) -> float:
        """Return the bytes/s that each node of a cuboid can send to a far partner, all at the same
        time."""
        link_Bps = float(self.topology.link_bandwidth_Bps[self.topology.first_router_link :].min())
        nodes = prod(extents) * self._width
        return 2 * internal_links(self.topology, extents) * link_Bps / nodes

    def shapes_for(self, n_nodes: int) -> list[Extents]:
        """Return the cuboids that the present request may get, in order of preference."""
        every = super().shapes_for(n_nodes)
        if self._need_Bps is None or not every:
            return every
        enough = min(self._need_Bps, max(map(self.node_bandwidth, every)))
        return [e for e in every if self.node_bandwidth(e) >= enough]

    def allocate(self, request: Request) -> Placement | None:
        self._need_Bps = request.bandwidth_Bps
        try:
            return super().allocate(request)
        finally:
            self._need_Bps = None
