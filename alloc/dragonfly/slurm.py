"""Slurm's policies on routers: best fit, as the Level-Spread study used it, and its own option."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, fill


class SlurmDragonfly(DragonflyPolicy):
    """One node at a time on the router that the job uses least.

    The option of Slurm since 2015 (topology/tree with TopologyParam=dragonfly): a job that
    fits on one router goes to the one with the fewest free nodes (lowest number on ties);
    any other takes one node at a time on the router that it uses least so far, ties by
    fewest free nodes before the job came, then by number.
    """

    name = "slurm-dragonfly"
    description = "Slurm's dragonfly option: one node at a time on the router least used by the job"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        free = self._router_free
        fits = np.flatnonzero(free >= n_nodes)
        if len(fits):
            return fill(fits[[np.argmin(free[fits])]], free, self._free, self._p, n_nodes)
        nodes = np.flatnonzero(self._free)
        router = nodes // self._p
        starts = np.searchsorted(router, router)
        turn = np.arange(len(nodes)) - starts
        return nodes[np.lexsort((router, free[router], turn))][:n_nodes]


class Slurm(DragonflyPolicy):
    """One router if the job fits, else the fullest routers first.

    A job of at most p nodes goes to the *fullest* router that still holds it (lowest number on
    ties): so the authors' program; the paper's text (Level-Spread, IV) states the first that fits.
    Any other job takes the free nodes of the router with the fewest (at least one), then the next.
    """

    name = "slurm"
    description = "best fit on routers: the fullest that fits, else the fullest ones first"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        free = self._router_free
        fits = np.flatnonzero(free >= n_nodes)
        if len(fits):
            order = fits[[np.argmin(free[fits])]]
        else:
            order = np.flatnonzero(free)
            order = order[np.argsort(free[order], kind="stable")]
        return fill(order, free, self._free, self._p, n_nodes)
