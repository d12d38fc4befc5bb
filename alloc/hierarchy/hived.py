"""HiveD's buddy cells: a job takes the smallest free cells, and splits no larger one needlessly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.hierarchy.base import HierarchyPolicy
from alloc.nodes import Nodes
from netsim.topology import Topology

Splits = NDArray[np.int64]
NEVER = 1 << 30
"""Splits of a cell that cannot hold a job."""


class Hived(HierarchyPolicy):
    """Buddy allocation of cells, which are the domains of the machine (Zhao et al., OSDI'20).

    A cell of a level is split into those of the level below, and merges with its buddies when all
    are free: only free nodes are stored. A job is placed in one cell of the lowest level that could
    hold it, its container: as entirely free cells of the level below, and a rest that is placed
    inside the container by the same rule. The container is the one for which the fewest entirely
    free cells are split, then the one with the fewest free nodes, then with the fewest in the cells
    around it, then the first. A job without such a container waits. Ranks are laid in order of node
    numbers.

    Cells of unequal size: only the largest of a level count as entire cells. An entirely free
    container in which they do not suffice gives its lowest nodes for the rest.
    """

    name = "hived"
    description = "HiveD's buddy cells (GPU, node, leaf, pod): smallest free cell, few splits"
    by_server = False

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        self._size = [self.hierarchy.sizes(k) for k in range(self.n_levels)]
        self._largest = [int(size.max()) for size in self._size]

    def _select(self, n_nodes: int) -> Nodes | None:
        taken: list[Nodes] = []
        level, cell = 0, 0
        while n_nodes:
            found = self._container(n_nodes, level, cell)
            if found is None and not taken:
                return None
            if found is None:
                # only of cells of unequal size: the container has the rest in several cells
                inside = np.flatnonzero(self._free & (self._of[level] == cell))
                taken.append(inside[:n_nodes])
            else:
                level, cell = found
                taken.append(self._cells(level, cell, n_nodes))
            self._flip(taken[-1], False)
            n_nodes -= len(taken[-1])
        nodes = np.sort(np.concatenate(taken))
        self._flip(nodes, True)
        return nodes

    def _untouched(self, level: int) -> NDArray[np.bool_]:
        """Return which cells of a level are entirely free."""
        return np.equal(self._count[level], self._size[level])

    def _splits(self, level: int, n_nodes: int) -> Splits:
        """Return how many entirely free cells a job in each cell splits at least, int64."""
        untouched = self._untouched(level)
        own = (untouched & (self._size[level] > n_nodes)).astype(np.int64)
        if level == self.n_levels - 1:
            return np.where(self._count[level] >= n_nodes, own, NEVER)
        above, below = self._above[level + 1], self._untouched(level + 1)
        entire = self._largest[level + 1]
        n_entire, rest = divmod(n_nodes, entire)
        cells = len(untouched)
        below &= self._size[level + 1] == entire
        here = np.bincount(above, weights=below, minlength=cells)
        inside = np.where(here >= n_entire, 0, NEVER)
        if rest:
            splits = self._splits(level + 1, rest)
            best = np.full((2, cells), NEVER)
            np.minimum.at(best, (below.astype(int), above), splits)
            # an entirely free cell can have the rest if it is not one of those for the job
            inside = np.maximum(
                inside, np.minimum(best[0], np.where(here > n_entire, best[1], NEVER))
            )
        holds_all = untouched & (self._size[level] >= n_nodes)
        return np.where(inside < NEVER, own + inside, np.where(holds_all, own, NEVER))

    def _container(self, n_nodes: int, scope: int, inside: int) -> tuple[int, int] | None:
        """Return the level and the number of the best container inside a cell."""
        lowest = max(k for k, size in enumerate(self._largest) if size >= n_nodes)
        for level in range(lowest, scope - 1, -1):
            splits = self._splits(level, n_nodes)
            around: list[NDArray[np.integer]] = [np.flatnonzero(splits < NEVER)]
            for k in range(level, scope, -1):
                around.append(self._above[k][around[-1]])
            kept = around[-1] == inside
            around = [cells[kept] for cells in around]
            if len(around[0]):
                # entirely free cells around it are split too
                outer = [self._untouched(level - k)[cells] for k, cells in enumerate(around) if k]
                total = splits[around[0]] + np.sum(outer, axis=0)
                free = [self._count[level - k][cells] for k, cells in enumerate(around)]
                return level, int(around[0][np.lexsort((*free[::-1], total))[0]])
        return None

    def _cells(self, level: int, cell: int, n_nodes: int) -> Nodes:
        """Return the free nodes of a container's entire cells for a job, or all of the job."""
        inside = np.flatnonzero(self._free & (self._of[level] == cell))
        if level == self.n_levels - 1:
            return inside[:n_nodes]
        entire = self._largest[level + 1]
        usable = self._untouched(level + 1) & (self._size[level + 1] == entire)
        cells = np.flatnonzero(usable & (self._above[level + 1] == cell))[: n_nodes // entire]
        chosen = inside[np.isin(self._of[level + 1][inside], cells)]
        return chosen if len(chosen) else inside[:n_nodes]
