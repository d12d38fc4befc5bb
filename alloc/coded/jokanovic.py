"""Jokanovic's policy as the Level-Spread authors' program has it, by reading."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes


class JokanovicCoded(DragonflyPolicy):
    """Small jobs on the lowest free nodes outside the first group that holds them.

    A variant of `alloc.dragonfly.jokanovic.Jokanovic`, kept because it comes nearer to the
    Level-Spread paper's Figs. 12 and 13. For a small job (at most a*p nodes) the program
    finds the first group with room, and a slip then overwrites that choice with the lowest
    free nodes outside the group; where there is no such group, or too few nodes outside it,
    the lowest free nodes are taken. A large job gets the highest-numbered free nodes,
    downwards. There is no boundary.
    """

    name = "jokanovic-coded"
    description = "jokanovic as the Level-Spread authors coded it: small jobs from the first node"

    def _select(self, n_nodes: int) -> Nodes:
        size = self._group_size
        free: Nodes = np.flatnonzero(self._free)
        if n_nodes > size:
            last: Nodes = free[::-1][:n_nodes]
            return last
        room = self._group_free >= n_nodes
        if room.any():
            outside: Nodes = free[free // size != int(np.argmax(room))]
            if len(outside) >= n_nodes:
                return outside[:n_nodes]
        return free[:n_nodes]
