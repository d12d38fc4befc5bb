"""Slurm's best fit on routers, as the Level-Spread study used it."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, fill


class Slurm(DragonflyPolicy):
    """One router if the job fits, else the fullest routers first.

    A job of at most p nodes goes to the *fullest* router that still holds it (lowest number on
    ties): so the authors' program; the paper's text (Level-Spread, IV) states the first that fits.
    Any other job takes the free nodes of the router with the fewest (at least one), then the next.
    """

    name = "slurm"
    description = "best fit on routers: the fullest that fits, else the fullest ones first"

    def _select(self, n_nodes: int) -> Nodes:
        free = self._router_free
        fits = np.flatnonzero(free >= n_nodes)
        if len(fits):
            order = fits[[np.argmin(free[fits])]]
        else:
            order = np.flatnonzero(free)
            order = order[np.argsort(free[order], kind="stable")]
        return fill(order, free, self._free, self._p, n_nodes)
