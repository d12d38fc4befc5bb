"""Spreading over groups, as Cray's dragonflies are used: many groups, many global links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from alloc.hierarchy.base import HierarchyPolicy, best_fit
from alloc.nodes import Nodes
from netsim.parameters import Example
from netsim.topology import Topology


@dataclass(frozen=True)
class Spread:
    """Over what a job is spread.

    Parameters
    ----------
    level : str, optional
    """

    level: Annotated[
        str | None,
        "level of the machine over whose domains jobs are spread; the first below the whole "
        "machine if left out",
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
        self._level = min(1, self.n_levels - 1)
        if given.level is not None:
            self._level = self.level_named(given.level)

    def _select(self, n_nodes: int) -> Nodes:
        of, free = self._of[self._level], self._count[self._level]
        best = best_fit(free, n_nodes)
        if best is not None:
            return np.flatnonzero(self._free & (of == best))[:n_nodes]
        nodes = np.flatnonzero(self._free)
        nodes = nodes[np.argsort(of[nodes], kind="stable")]
        domain = of[nodes]
        turn = np.arange(len(nodes)) - np.searchsorted(domain, domain)
        return nodes[np.lexsort((domain, free[domain], turn))][:n_nodes]
