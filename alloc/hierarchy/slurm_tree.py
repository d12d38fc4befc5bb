"""Slurm's topology/tree: the lowest switch that holds the job, and ``--switches``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from alloc.hierarchy.base import HierarchyPolicy, best_fit
from alloc.nodes import Nodes
from alloc.policy import Request
from netsim.errors import NetcosimError
from netsim.parameters import Example
from netsim.topologies.spans import least_domains
from netsim.topology import Topology

MAX_SWITCH_WAIT_S = 300.0
"""Slurm's own SchedulerParameters=max_switch_wait."""


@dataclass(frozen=True)
class Switches:
    """Slurm's ``--switches=count@max-time``, for every job of a log."""

    switches: Annotated[
        int | None,
        "leaf switches that a job may use at most, or the least that could hold it if that is "
        "more (--switches=COUNT)",
        Ge(1),
        Example(1),
    ] = None
    max_wait_s: Annotated[
        float | None,
        "how long a job waits for that count before it takes any nodes (@MAX-TIME; Slurm's own "
        "is 5 min)",
        Ge(0),
        Example("10 min", {"switches": 1}),
    ] = None

    def __post_init__(self) -> None:
        if self.switches is None and self.max_wait_s is not None:
            raise NetcosimError("max_wait goes with switches: the count that a job waits for")

    @property
    def patience_s(self) -> float:
        """Time that a job waits for its switches."""
        return MAX_SWITCH_WAIT_S if self.max_wait_s is None else self.max_wait_s


class SlurmTree(HierarchyPolicy):
    """The lowest-level switch that holds the job, then its leaves, fullest first.

    The rule of Slurm's topology/tree plugin as its guide has it: among the switches of the lowest
    level (leaf, pod, machine) with enough free nodes the one with fewest; then its leaves are used
    up, those with the fewest free nodes first. Ties go to the lowest number. On any machine: a
    switch is a domain of its hierarchy. What Slurm's present code does with the leaves is
    `slurm-tree-coded`.

    With ``switches`` in ``[policies.slurm-tree]`` a job waits up to ``max_wait`` for a placement on
    at most so many leaves, then takes any. If the rule's own leaves are too many, the lowest switch
    some few leaves of which hold the job is taken, and its emptiest leaves are used first.
    """

    name = "slurm-tree"
    description = "Slurm's topology/tree: best fit on the lowest switch that holds the job"
    counts_only = True
    parameters: ClassVar[type | None] = Switches

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Switches | None = None
    ) -> None:
        self._limits = parameters or Switches()
        super().__init__(topology, rng)
        if self._limits.switches is not None:
            self.counts_only = False
            self.relents_after_s = self._limits.patience_s

    def _select(self, n_nodes: int) -> Nodes:
        for level in range(self.n_levels - 1, -1, -1):
            best = best_fit(self._count[level], n_nodes)
            if best is not None:
                break
        assert best is not None
        leaf_free = self._count[-1]
        leaves = np.flatnonzero(self._below(level, best) & (leaf_free > 0))
        return self._fill(leaves[np.argsort(leaf_free[leaves], kind="stable")], n_nodes)

    def _choose(self, request: Request) -> Nodes | None:
        nodes, wanted = self._select(request.n_nodes), self._limits.switches
        if wanted is None or request.wait_s >= self._limits.patience_s:
            return nodes
        least = least_domains(self.hierarchy, np.array([request.n_nodes]))[-1, 0]
        most = max(wanted, int(least))
        if len(np.unique(self._of[-1][nodes])) <= most:
            return nodes
        return self._on_few(request.n_nodes, most)

    def _on_few(self, n_nodes: int, most: int) -> Nodes | None:
        """Select nodes on at most ``most`` leaves of the lowest possible switch, or None."""
        leaf_free = self._count[-1]
        emptiest = np.argsort(-leaf_free, kind="stable")
        inside: NDArray[np.int32] = np.arange(len(leaf_free), dtype=np.int32)
        for level in range(self.n_levels - 1, -1, -1):
            of = inside[emptiest]
            by_domain = np.argsort(of, kind="stable")
            first = np.searchsorted(of[by_domain], of[by_domain])
            few = by_domain[np.arange(len(of)) - first < most]
            held = np.bincount(
                of[few], weights=leaf_free[emptiest[few]], minlength=len(self._count[level])
            )
            fits = np.flatnonzero(held >= n_nodes)
            if len(fits):
                best = fits[np.argmin(self._count[level][fits])]
                return self._fill(emptiest[of == best][:most], n_nodes)
            inside = self._above[level][inside]
        return None
