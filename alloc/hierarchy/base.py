"""Common parts of the schedulers' policies: free nodes of every domain of the machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import Counts, NodePolicy, Nodes, switch_levels
from netsim.errors import need_name
from netsim.hierarchy import hierarchy_of
from netsim.topology import Topology

Domains = NDArray[np.int64]
"""Numbers of domains of one level."""


class HierarchyPolicy(NodePolicy):
    """A node policy that sees the machine as nested domains (`netsim.hierarchy`).

    ``self._of[level]`` has the domain of each node and ``self._count[level]`` the free nodes of
    each domain, both from the whole machine (0) down to the lowest level (-1), which is called a
    leaf here: the nodes behind one switch. Servers of GPUs are no level, unless the policy places
    GPUs itself (``by_server`` is False).
    """

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        self.hierarchy = switch_levels(topology) if self.by_server else hierarchy_of(topology)
        self._of = self.hierarchy.domain
        self._above = [self.hierarchy.above(k) for k in range(len(self._of))]
        leaves: NDArray[np.int32] = np.arange(self.hierarchy.counts[-1], dtype=np.int32)
        self._leaves_in = [leaves]
        for k in range(len(self._of) - 1, 0, -1):
            self._leaves_in.insert(0, self._above[k][self._leaves_in[0]])
        super().__init__(topology, rng)

    @property
    def n_levels(self) -> int:
        """Levels of the machine, itself included."""
        return len(self._of)

    def level_named(self, name: str | None, default: int = 0) -> int:
        """Return the number of a level from the machine (0) down; the default without a name."""
        if name is None:
            return default
        levels = self.hierarchy.levels
        need_name(f"level of {self.topology.name} for {self.name}", name, levels)
        return levels.index(name)

    def _recount(self) -> None:
        super()._recount()
        self._count: list[Counts] = [
            np.bincount(row[self._free], minlength=n).astype(np.int64)
            for row, n in zip(self._of, self.hierarchy.counts, strict=True)
        ]

    def _flip(self, nodes: NDArray[np.integer], free: bool) -> None:
        super()._flip(nodes, free)
        step = 1 if free else -1
        self._count[0][0] += step * len(nodes)
        for row, count in zip(self._of[1:], self._count[1:], strict=True):
            np.add.at(count, row[nodes], step)

    def _below(self, level: int, domain: int) -> NDArray[np.bool_]:
        """Return which leaves lie in a domain, (leaves,) bool."""
        return np.equal(self._leaves_in[level], domain)

    def _fill(self, order: Domains, n_nodes: int, level: int = -1) -> Nodes:
        """Return the first free nodes of leaves, or of domains of a level, in this order.

        They have ``n_nodes`` or more.
        """
        last = int(np.searchsorted(np.cumsum(self._count[level][order]), n_nodes)) + 1
        turn = np.full(len(self._count[level]), -1)
        turn[order[:last]] = np.arange(len(order[:last]))
        turn = turn[self._of[level]]
        nodes = np.flatnonzero(self._free & (turn >= 0))
        by_turn = np.argsort(turn[nodes], kind="stable")
        return nodes[by_turn][:n_nodes]


def best_fit(count: Counts, n_nodes: int) -> int | None:
    """Return the domain with the fewest free nodes among those with enough, the first of equals."""
    fits = np.flatnonzero(count >= n_nodes)
    return int(fits[np.argmin(count[fits])]) if len(fits) else None
