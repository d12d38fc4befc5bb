"""Spreading over groups, as Cray's dragonflies are used: many groups, many global links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from alloc.hierarchy.base import HierarchyPolicy, best_fit
from alloc.nodes import Nodes
from netsim.parameters import Example
from netsim.topology import Topology


@dataclass(frozen=True)
class Spread:
    """Over what a job is spread."""

    level: Annotated[
        str | None,
        "level of the machine over whose domains jobs are spread; if left out the first below the "
        "whole machine (group-spread) or the lowest (balanced)",
        Example("pod"),
    ] = None


class GroupSpread(HierarchyPolicy):
    """A job that fits into one group stays there; any other uses all groups alike.

    The rule of Slurm's dragonfly option with groups in place of switches: best fit on one domain
    of the level, else one node at a time in the domain that the job uses least so far, ties by
    fewest free nodes before the job came, then by number. On the lowest level of a dragonfly it is
    `slurm-dragonfly`.
    """

    name = "group-spread"
    description = "one group if it holds the job, else spread evenly over all groups"
    counts_only = True
    parameters = Spread

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Spread | None = None
    ) -> None:
        super().__init__(topology, rng)
        given = parameters or Spread()
        self._level = self.level_named(given.level, self.default_level())

    def default_level(self) -> int:
        """Return the level whose domains are used if none is given."""
        return min(1, self.n_levels - 1)

    def _select(self, n_nodes: int) -> Nodes:
        of, free = self._of[self._level], self._count[self._level]
        best = best_fit(free, n_nodes)
        if best is not None:
            return np.flatnonzero(self._free & (of == best))[:n_nodes]
        nodes, domain, turn = self._turns(self._free)
        return nodes[np.lexsort((domain, free[domain], turn))][:n_nodes]

    def _turns(self, usable: NDArray[np.bool_]) -> tuple[Nodes, Nodes, Nodes]:
        """Return usable nodes by domain, the domain of each, and its place among those of it."""
        nodes = np.flatnonzero(usable)
        nodes = nodes[np.argsort(self._of[self._level][nodes], kind="stable")]
        domain = self._of[self._level][nodes]
        return nodes, domain, np.arange(len(nodes)) - np.searchsorted(domain, domain)


class Balanced(GroupSpread):
    """Equal parts on as few leaves as allow it.

    The smallest number of leaves is used on which the job's nodes, or servers of GPUs, can be
    divided with a difference of at most one. Of the leaves with enough free nodes those with the
    fewest are taken. A job that cannot be divided so on any number of leaves is placed by
    `GroupSpread`. Ranks are laid leaf by leaf.
    """

    name = "balanced"
    description = "equal numbers of nodes on as few leaves as allow it"

    def default_level(self) -> int:
        return self.n_levels - 1

    def _select(self, n_nodes: int) -> Nodes:
        of, width = self._of[self._level], self._server if n_nodes > self._server else 1
        free, parts = self._count[self._level] // width, -(-n_nodes // width)
        falling = np.sort(free)[::-1]
        leaves = np.arange(1, min(parts, len(free)) + 1)
        low, more = np.divmod(parts, leaves)
        # the k-th fullest leaf has room for the lower part, the fullest ones for one more
        fits = (falling[leaves - 1] >= low) & (falling[np.maximum(more, 1) - 1] >= low + (more > 0))
        if not fits.any():
            return super()._select(n_nodes)
        k = int(np.argmax(fits))
        part = np.zeros(len(free), dtype=np.int64)
        for size, count in ((low[k] + 1, more[k]), (low[k], leaves[k] - more[k])):
            able = np.flatnonzero((free >= size) & (part == 0))
            part[able[np.argsort(free[able], kind="stable")][:count]] = size
        nodes, domain, turn = self._turns(self._free & (part > 0)[of])
        return np.asarray(nodes[turn < part[domain] * width][:n_nodes], dtype=np.int64)
