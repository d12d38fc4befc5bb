"""Nodes by when they became free: what a machine is like whose free nodes have an age."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import NodePolicy, Nodes
from alloc.policy import Placement
from netsim.topology import Topology


class IdleTimePolicy(NodePolicy):
    """A node policy that remembers in which order nodes were given back.

    Nodes that came back together are as old as each other, and those that were never used are the
    oldest. Ranks are laid in the order in which nodes are taken.
    """

    counts_only = True
    _last_back_first: ClassVar[bool] = False

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        self._back: NDArray[np.int64] = np.zeros(topology.n_nodes, dtype=np.int64)

    def _select(self, n_nodes: int) -> Nodes:
        free = np.flatnonzero(self._free)
        back = -self._back[free] if self._last_back_first else self._back[free]
        return free[np.argsort(back, kind="stable")][:n_nodes]

    def release(self, placement: Placement) -> None:
        """Release the nodes and record them as those freed last."""
        super().release(placement)
        self._back[placement.nodes] = self._back.max() + 1

    def clone(self) -> Self:
        copied = super().clone()
        copied._back = self._back.copy()
        return copied


class LongestIdle(IdleTimePolicy):
    """The free nodes that have been idle longest, ties by number.

    OpenPBS's ``node_sort_key: "last_used_time LOW"``: a vnode's last_used_time is when it last
    finished a job. It spreads wear, and jobs over the machine.
    """

    name = "longest-idle"
    description = 'nodes idle for longest first: PBS, node_sort_key "last_used_time LOW"'


class ShortestIdle(IdleTimePolicy):
    """The free nodes that were given back last, ties by number.

    OpenPBS's ``node_sort_key: "last_used_time HIGH"``. Nodes that are not needed stay idle, and can
    be switched off; Slurm with SuspendTime does half of it: nodes that are off are taken last.
    """

    name = "shortest-idle"
    description = 'nodes given back last first: PBS, node_sort_key "last_used_time HIGH"'
    _last_back_first = True
