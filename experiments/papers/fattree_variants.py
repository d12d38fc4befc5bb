"""Readings of a policy other than ours, to see what they are worth; not offered to users."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from alloc.fattree.ta import TopologyAware
from alloc.nodes import Nodes
from alloc.policy import Policy
from alloc.registry import make_policy
from netsim.topology import Topology


class OneTypeALeaf(TopologyAware):
    """TA where a leaf never has jobs of different types.

    The topology-aware paper lets a T1 job share a leaf with a T2 or T3 job. The Jigsaw paper
    (5.2.2) only says that jobs "of a given type will not be able to share leaves or subtrees
    with other jobs of certain types".
    """

    name = "ta-one-type"

    def _select(self, n_nodes: int) -> Nodes | None:
        leaf_size, _ = self._blocks
        counts = self._counts[0]
        if n_nodes <= leaf_size:
            barred = self._wired_leaf | self._held_leaf
        else:
            barred = counts < leaf_size
        kept = counts.copy()
        counts[barred] = 0
        try:
            return super()._select(n_nodes)
        finally:
            counts[:] = kept


class WholeLeaves(TopologyAware):
    """TA where T2 and T3 jobs take wholly free leaves and T1 jobs any (rules 2 to 4 read hard).

    The topology-aware paper, III-B, rule 2: "using all nodes of one or more switches"; its
    algorithm asks only that no other T2 or T3 job sits there.
    """

    name = "ta-whole-leaves"

    def _select(self, n_nodes: int) -> Nodes | None:
        leaf_size, _ = self._blocks
        if n_nodes <= leaf_size:
            return super()._select(n_nodes)
        counts = self._counts[0]
        kept = counts.copy()
        counts[counts < leaf_size] = 0
        try:
            return super()._select(n_nodes)
        finally:
            counts[:] = kept


VARIANTS: dict[str, Callable[[Topology, np.random.Generator], Policy]] = {
    policy.name: policy for policy in (OneTypeALeaf, WholeLeaves)
}


def make_variant(topology: Topology, name: str, rng: np.random.Generator) -> Policy:
    """A policy of `alloc.registry` or one of `VARIANTS`."""
    if name in VARIANTS:
        return VARIANTS[name](topology, rng)
    return make_policy(topology, name, rng)


def base_policy(name: str) -> str:
    """The policy that a variant is a reading of; other names as they are."""
    return TopologyAware.name if name in VARIANTS else name
