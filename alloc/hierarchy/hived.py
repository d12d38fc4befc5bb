"""HiveD's buddy cells: a job takes the smallest free cells, and splits no larger one needlessly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.hierarchy.base import HierarchyPolicy
from alloc.nodes import Nodes
from netsim.topology import Topology

Flags = NDArray[np.bool_]


class Hived(HierarchyPolicy):
    """Buddy allocation of cells, which are the domains of the machine (Zhao et al., OSDI'20).

    A cell of a level is split into those of the level below, and merges with its buddies when all
    are free: only free nodes are stored. A job is placed in one cell of the lowest level that could
    hold it, its container: as entirely free cells of the level below, and a rest that is placed
    inside the container by the same rule. Of the containers with room the one is taken for which
    the fewest entirely free cells are split, then the one with the fewest free nodes, then the
    fewest free nodes in the cells around it, then the first. A job without such a container waits.
    Ranks are laid in order of node numbers.

    Cells of unequal size: only the largest of a level count as entire cells. An entirely free
    container in which they do not suffice gives its lowest nodes.
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
            if found is None:
                # only the first container may be missing: it was chosen to hold the rest
                assert not taken
                return None
            level, cell = found
            taken.append(self._cells(level, cell, n_nodes))
            self._flip(taken[-1], False)
            n_nodes -= len(taken[-1])
        nodes = np.sort(np.concatenate(taken))
        self._flip(nodes, True)
        return nodes

    def _whole(self, level: int) -> Flags:
        """(cells of the level,) bool: which are entirely free."""
        return np.equal(self._count[level], self._size[level])

    def _divided(self, level: int, n_nodes: int) -> Flags:
        """(cells of the level,) bool: which have the cells of the level below for a job."""
        if level == self.n_levels - 1:
            return self._count[level] >= n_nodes
        above, entire = self._above[level + 1], self._largest[level + 1]
        entire_cells, rest = divmod(n_nodes, entire)
        whole = self._whole(level + 1) & (self._size[level + 1] == entire)
        cells = len(self._size[level])
        enough = np.bincount(above, weights=whole, minlength=cells) >= entire_cells
        if not rest:
            return enough
        # an entirely free cell has room for the rest too
        able = self._room(level + 1, rest)
        return enough & (np.bincount(above, weights=able, minlength=cells) > entire_cells)

    def _room(self, level: int, n_nodes: int) -> Flags:
        """(cells of the level,) bool: which can hold a job."""
        return self._divided(level, n_nodes) | (self._whole(level) & (self._size[level] >= n_nodes))

    def _container(self, n_nodes: int, scope: int, inside: int) -> tuple[int, int] | None:
        """Return the level and the number of the best container inside a cell."""
        lowest = max(k for k, size in enumerate(self._largest) if size >= n_nodes)
        for level in range(lowest, scope - 1, -1):
            able = np.flatnonzero(self._room(level, n_nodes))
            around = [able]
            for k in range(level, 0, -1):
                around.append(self._above[k][around[-1]])
            kept = around[level - scope] == inside
            around = [cells[kept] for cells in around]
            if len(around[0]):
                # cells around a split one are split too, if they are entirely free
                pairs = [(level - k, cells) for k, cells in enumerate(around)]
                split = sum(self._whole(k)[cells].astype(int) for k, cells in pairs)
                free = [self._count[k][cells] for k, cells in pairs]
                return level, int(around[0][np.lexsort((*free[::-1], split))[0]])
        return None

    def _cells(self, level: int, cell: int, n_nodes: int) -> Nodes:
        """Return the free nodes of a container's entire cells for a job, or all of the job."""
        inside = np.flatnonzero(self._free & (self._of[level] == cell))
        if level == self.n_levels - 1 or not self._divided(level, n_nodes)[cell]:
            return inside[:n_nodes]
        entire = self._largest[level + 1]
        whole = self._whole(level + 1) & (self._size[level + 1] == entire)
        cells = np.flatnonzero(whole & (self._above[level + 1] == cell))[: n_nodes // entire]
        return inside[np.isin(self._of[level + 1][inside], cells)]
