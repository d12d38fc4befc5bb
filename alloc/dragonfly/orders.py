"""Groups, routers or nodes by number, at random or in turn."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, fill, in_turn


class RandomGroup(DragonflyPolicy):
    """All free nodes of a random group in order, then of another (Level-Spread paper, IV)."""

    name = "rdg"
    description = "random groups, all free nodes of each"

    def _select(self, n_nodes: int) -> Nodes:
        order = self.rng.permutation(np.flatnonzero(self._group_free))
        return fill(order, self._group_free, self._free, self._group_size, n_nodes)


class RandomNode(DragonflyPolicy):
    """Uniformly random free nodes of the machine, in random order (Level-Spread paper, IV)."""

    name = "rdn"
    description = "random nodes"

    def _select(self, n_nodes: int) -> Nodes:
        return self.rng.permutation(np.flatnonzero(self._free))[:n_nodes]


class RandomRouter(DragonflyPolicy):
    """All free nodes of a random router in order, then of another (Level-Spread paper, IV)."""

    name = "rdr"
    description = "random routers, all free nodes of each"

    def _select(self, n_nodes: int) -> Nodes:
        order = self.rng.permutation(np.flatnonzero(self._router_free))
        return fill(order, self._router_free, self._free, self._p, n_nodes)


class RoundRobinNode(DragonflyPolicy):
    """From group 0, the first free node of each group in turn (Level-Spread paper, IV)."""

    name = "rrn"
    description = "round-robin over groups, one node at a time"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        nodes = np.flatnonzero(self._free)
        return in_turn(nodes, nodes // self._group_size)[:n_nodes]


class RoundRobinRouter(DragonflyPolicy):
    """From group 0, the first router with a free node of each group in turn.

    All free nodes of each router are taken (Level-Spread paper, IV).
    """

    name = "rrr"
    description = "round-robin over groups, one router at a time"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        routers = np.flatnonzero(self._router_free)
        order = in_turn(routers, routers * self._p // self._group_size)
        return fill(order, self._router_free, self._free, self._p, n_nodes)


class Simple(DragonflyPolicy):
    """The lowest-numbered free nodes (Level-Spread paper, IV)."""

    name = "simple"
    description = "free nodes in label order"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        return np.flatnonzero(self._free)[:n_nodes]
