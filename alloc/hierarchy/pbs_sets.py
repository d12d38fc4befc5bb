"""PBS placement sets: the smallest set of nodes that holds the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from alloc.hierarchy.base import HierarchyPolicy
from alloc.nodes import Nodes
from netsim.errors import NetcosimError
from netsim.parameters import Example
from netsim.topology import Topology


@dataclass(frozen=True)
class Sets:
    """Settings of placement sets in the server and the scheduler."""

    levels: Annotated[
        Sequence[str],
        "levels of the machine whose domains are sets (node_group_key); all below the whole "
        "machine, lowest first, if left out",
        Example(["leaf", "pod"]),
    ] = ()
    do_not_span: Annotated[
        bool,
        "refuse jobs that no set could ever hold, instead of using any nodes for them "
        "(do_not_span_psets)",
    ] = False


class PbsPlacementSets(HierarchyPolicy):
    """The smallest placement set with enough free nodes, in PBS's order.

    As the scheduler of OpenPBS 23 has it: sets are sorted by their nodes in all, then by their free
    nodes (then as the levels are given, and by number), and the first with enough free nodes is
    taken, its lowest-numbered nodes first. A job that some set could hold waits for one. A job
    that no set could ever hold spans them: it gets the lowest-numbered free nodes of the machine;
    with ``do_not_span`` it is refused.
    """

    name = "pbs-placement-sets"
    description = "PBS placement sets: the smallest set that holds the job; larger jobs span sets"
    parameters = Sets

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Sets | None = None
    ) -> None:
        super().__init__(topology, rng)
        given = parameters or Sets()
        self._spans = not given.do_not_span
        self._levels = [self.level_named(name) for name in given.levels]
        if len(set(self._levels)) < len(self._levels):
            raise NetcosimError(f"policy {self.name}: levels names a level twice")
        if not given.levels:
            self._levels = list(range(self.n_levels - 1, 0, -1)) or [0]
        self._total = np.concatenate([self.hierarchy.sizes(k) for k in self._levels])
        self._level_of = np.repeat(self._levels, [len(self._count[k]) for k in self._levels])
        self._number = np.concatenate([np.arange(len(self._count[k])) for k in self._levels])

    def fits_empty(self, n_nodes: int) -> bool:
        if not super().fits_empty(n_nodes):
            return False
        return self._spans or n_nodes <= int(self._total.max())

    def _select(self, n_nodes: int) -> Nodes | None:
        free = np.concatenate([self._count[k] for k in self._levels])
        fits = np.flatnonzero(free >= n_nodes)
        if len(fits):
            size = self._total[fits] * (self.topology.n_nodes + 1) + free[fits]
            best = fits[np.argmin(size)]
            inside = self._of[self._level_of[best]] == self._number[best]
            return np.flatnonzero(self._free & inside)[:n_nodes]
        if n_nodes <= self._total.max() or not self._spans:
            return None
        return np.flatnonzero(self._free)[:n_nodes]
