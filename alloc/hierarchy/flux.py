"""Flux's matcher (Fluxion): nodes by their numbers, or runs of them."""

from __future__ import annotations

import numpy as np

from alloc.nodes import NodePolicy, Nodes


class FluxLow(NodePolicy):
    """Lowest-numbered free nodes: Fluxion's match policy "low" ("lonode", "lonodex")."""

    name = "flux-low"
    description = "Flux, low id first: the lowest-numbered free nodes"
    counts_only = True

    def _select(self, n_nodes: int) -> Nodes:
        return np.flatnonzero(self._free)[:n_nodes]


class FluxHigh(NodePolicy):
    """Highest-numbered free nodes: Fluxion's "high" ("hinode", "hinodex", and the default "first").

    Ranks are laid in order of node numbers, as in Flux's resource sets.
    """

    name = "flux-high"
    description = "Flux, high id first (its default): the highest-numbered free nodes"
    counts_only = True

    def _select(self, n_nodes: int) -> Nodes:
        return np.flatnonzero(self._free)[-n_nodes:]


class FluxLocality(NodePolicy):
    """Longest runs of consecutive free nodes first: Fluxion's match policy "locality".

    "Contiguous resources first in their ID space": where there are more of them, according to its
    header. Runs of equal length go by the lowest number, and the lowest-numbered nodes of the last
    run are taken.
    """

    name = "flux-locality"
    description = "Flux, locality: the longest runs of consecutively numbered free nodes first"
    counts_only = True

    def _select(self, n_nodes: int) -> Nodes:
        nodes = np.flatnonzero(self._free)
        begins = np.flatnonzero(np.diff(nodes, prepend=-2) > 1)
        lengths = np.diff(begins, append=len(nodes))
        order = np.argsort(-lengths, kind="stable")
        last = int(np.searchsorted(np.cumsum(lengths[order]), n_nodes)) + 1
        runs = [nodes[begins[k] : begins[k] + lengths[k]] for k in order[:last]]
        return np.sort(np.concatenate(runs)[:n_nodes])
