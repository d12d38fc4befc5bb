"""Segments: a job in pieces of equal size, each inside one domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from alloc.hierarchy.base import HierarchyPolicy
from alloc.nodes import Counts, Nodes
from netsim.errors import NetcosimError
from netsim.parameters import Example
from netsim.topology import Topology


@dataclass(frozen=True)
class Segments:
    """Slurm's ``--segment``, for every job of a log."""

    segment: Annotated[
        int,
        "nodes, or GPUs of a gpu-cluster, that are placed in one domain together",
        Ge(1),
        Example(16),
    ] = 1
    level: Annotated[
        str | None,
        "level of the machine whose domains hold segments; the lowest if left out",
        Example("leaf"),
    ] = None


class Segment(HierarchyPolicy):
    """Pieces of ``segment`` nodes, each inside one domain of a level; else the job waits.

    Slurm's topology/block with ``--segment``: the pieces of a job may lie in any blocks. A job that
    is no multiple of the segment has a last piece with the rest. Pieces are placed by best fit:
    the domain with the fewest free nodes that holds a piece is used first, and for all pieces that
    it holds. Ranks are laid piece by piece.
    """

    name = "segment"
    description = "pieces of equal size, each inside one domain, best fit (Slurm's --segment)"
    parameters = Segments

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Segments | None = None
    ) -> None:
        super().__init__(topology, rng)
        given = parameters or Segments()
        self._level = self.level_named(given.level, self.n_levels - 1)
        self._segment, width = given.segment, self._server
        if self._segment % width and width % self._segment:
            raise NetcosimError(
                f"policy {self.name}: segment = {self._segment}; it must be a multiple of the "
                f"{width} GPUs of a node, or divide them"
            )

    def fits_empty(self, n_nodes: int) -> bool:
        sizes = self.hierarchy.sizes(self._level)
        return super().fits_empty(n_nodes) and self._pieces(sizes, n_nodes) is not None

    def _pieces(self, free: Counts, n_nodes: int) -> NDArray[np.int64] | None:
        """Return the domains in the order of use and the nodes in each, (k, 2) int64; or None.

        Whether a job fits does not depend on the domains of its pieces: each has the same
        rest, or room for one more.
        """
        size, rest = self._segment, n_nodes % self._segment
        order = np.argsort(free, kind="stable")
        held = free[order] // size * size
        held = np.clip(n_nodes - rest - np.cumsum(held) + held, 0, held)
        if held.sum() < n_nodes - rest:
            return None
        used: NDArray[np.int64] = np.stack([order, held], axis=1)[held > 0]
        if not rest:
            return used
        left = free[order] - held
        able = np.flatnonzero(left >= rest)
        if not len(able):
            return None
        last = order[able[np.argmin(left[able])]]
        return np.concatenate([used, [[last, rest]]])

    def _select(self, n_nodes: int) -> Nodes | None:
        pieces = self._pieces(self._count[self._level], n_nodes)
        if pieces is None:
            return None
        free = self._free.copy()
        found = []
        for domain, count in pieces.tolist():
            found.append(np.flatnonzero(free & (self._of[self._level] == domain))[:count])
            free[found[-1]] = False
        return np.concatenate(found)
