"""Jokanovic's policy as the Level-Spread authors' program has it, by reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.dragonfly.jokanovic import Jokanovic
from alloc.nodes import Nodes


class JokanovicCoded(Jokanovic):
    """Small jobs on the lowest free nodes outside the first group that holds them.

    A variant of `alloc.dragonfly.jokanovic.Jokanovic`, kept because it comes nearer to the
    Level-Spread paper's Figs. 12 and 13. For a small job (at most a*p nodes) the program finds the
    first group with room, and a slip then overwrites that choice with the lowest free nodes outside
    the group; where there is no such group, or too few nodes outside it, the lowest free nodes are
    taken. A large job gets the highest-numbered free nodes, downwards. There is no boundary.
    """

    name = "jokanovic-coded"
    description = "jokanovic as the Level-Spread authors coded it: small jobs from the first node"

    def _small(self, free: Nodes, in_group: NDArray[np.bool_], n_nodes: int) -> Nodes:
        outside: Nodes = free[~in_group]
        return (outside if len(outside) >= n_nodes else free)[:n_nodes]
