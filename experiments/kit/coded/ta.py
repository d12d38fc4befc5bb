"""TA by other interpretations of its two papers, to measure their effect.

Our own reading is `alloc.fattree.ta`; the papers leave open which jobs may share a leaf and in
what order leaves are taken.
"""

from __future__ import annotations

import numpy as np

from alloc.fattree.ta import TopologyAware
from alloc.nodes import Nodes, fill


class OneTypeALeaf(TopologyAware):
    """TA where a leaf never has jobs of different types.

    The topology-aware paper lets a T1 job share a leaf with a T2 or T3 job. The Jigsaw paper
    (5.2.2) only states that jobs "of a given type will not be able to share leaves or subtrees
    with other jobs of certain types".
    """

    name = "ta-one-type"
    description = "TA where a leaf never has jobs of different types"

    def _select(self, n_nodes: int) -> Nodes | None:
        leaf_size, _ = self._blocks
        counts = self._counts[0]
        if n_nodes <= leaf_size:
            barred = self._leaf_marks.any(axis=0)
        else:
            barred = counts < leaf_size
        kept = counts.copy()
        counts[barred] = 0
        try:
            return super()._select(n_nodes)
        finally:
            counts[:] = kept


class WholeLeaves(TopologyAware):
    """TA where T2 and T3 jobs use entirely free leaves and T1 jobs any (rules 2 to 4 read
    strictly).

    The topology-aware paper, III-B, rule 2: "using all nodes of one or more switches"; its
    algorithm requires only that no other T2 or T3 job is there.
    """

    name = "ta-whole-leaves"
    description = "TA where jobs larger than a leaf use entirely free leaves"

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


class FullestLeaf(TopologyAware):
    """TA that takes the fullest leaves that it may, in the first pod by number that fits.

    The topology-aware paper's Algorithm 1 sorts the pods, and the leaves of T2 and T3 jobs
    emptiest first; its rules, which are all that the Jigsaw paper (5.2.2) describes, do not.
    """

    name = "ta-fullest-leaf"
    description = "TA that takes the fullest leaves, in the first pod that fits"
    t3_whole = False
    """Whether T3 jobs use only entirely free leaves."""

    def _select(self, n_nodes: int) -> Nodes | None:
        leaf_size, pod_size = self._blocks
        leaf_free = self._counts[0]
        if n_nodes <= leaf_size:
            left = np.where(leaf_free >= n_nodes, leaf_free, leaf_size + 1)
            leaf = int(np.argmin(left))
            if left[leaf] > leaf_size:
                return None
            free = np.flatnonzero(self._free[leaf * leaf_size : (leaf + 1) * leaf_size])
            return leaf * leaf_size + free[:n_nodes]
        per_pod = pod_size // leaf_size
        usable = np.where(self._leaf_marks.any(axis=0), 0, leaf_free)
        pods = usable.reshape(-1, per_pod)
        in_pod = pods.sum(axis=1)
        if n_nodes <= pod_size:
            fits = np.flatnonzero(in_pod >= n_nodes)
            if not len(fits):
                return None
            pods[np.arange(len(pods)) != fits[0]] = 0
        else:
            pods[self._pod_marks.any(axis=0)] = 0
            if self.t3_whole:
                usable[usable < leaf_size] = 0
            if pods.sum() < n_nodes:
                return None
        leaves = np.flatnonzero(usable)
        leaves = leaves[np.lexsort((leaves, usable[leaves], leaves // per_pod))]
        return fill(leaves, usable, self._free, leaf_size, n_nodes)


class WholeLeavesOverPods(FullestLeaf):
    """The same, with T3 jobs on entirely free leaves.

    The topology-aware paper, III-B, rule 3: "using all nodes in all switches of one or several
    pods".
    """

    name = "ta-t3-whole-leaves"
    description = "ta-fullest-leaf where jobs larger than a pod take free leaves"
    t3_whole = True
