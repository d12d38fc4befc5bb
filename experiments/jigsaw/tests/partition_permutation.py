"""Any permutation inside a partition, routed with at most one flow on a link.

That is, a partition is rearrangeable. The routes belong to the permutation; the static routing of
`netsim.routing.partition`, which knows no permutation, lets flows of one job meet.

The proof of sufficiency in Smith and Lowenthal (Jigsaw, HPDC 2021, extended version), appendix
A.2, theorems 5 and 6, carried out. The partition is filled up with missing nodes, each of
which sends to itself, until it is a full fat-tree of n_L nodes a leaf and L_T leaves a pod.
Flows between leaves then form a bipartite multigraph of degree n_L, which falls into n_L
perfect matchings (Hall): each goes over one L2 position, over one that the remainder leaf
has if its flow is real. In each position the flows between pods fall into L_T matchings,
one a spine, in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from netsim.errors import NetcosimError
from netsim.routing.partition_shape import PartitionShape, partition_shape
from netsim.topology import Topology

IntArray = NDArray[np.int64]


def perfect_matchings(src: IntArray, dst: IntArray, n: int, degree: int) -> IntArray:
    """Colour the edges of a regular bipartite multigraph, each colour a perfect matching.

    Parameters
    ----------
    src, dst : (n * degree,) int64
        Ends in 0 .. n-1; each number ``degree`` times on either side.
    n, degree : int

    Returns
    -------
    (n * degree,) int64
        Colours 0 .. degree-1.

    Raises
    ------
    NetcosimError
        The graph is not regular.
    """
    for ends in (src, dst):
        if len(ends) != n * degree or np.any(np.bincount(ends, minlength=n) != degree):
            raise NetcosimError(f"matchings: not every one of {n} ends has {degree} edges")
    colour = np.full(len(src), -1, dtype=np.int64)
    for c in range(degree):
        left = np.flatnonzero(colour < 0)
        edges = csr_array((np.ones(len(left)), (src[left], dst[left])), shape=(n, n))
        partner = maximum_bipartite_matching(edges, perm_type="column")
        # Of parallel edges the first is taken: `unique` tells where each pair first stands.
        pairs, first = np.unique(src[left] * n + dst[left], return_index=True)
        chosen = np.searchsorted(pairs, np.arange(n) * n + partner)
        colour[left[first[chosen]]] = c
    return colour


def _labels_for(colours: IntArray, degree: int, real: IntArray, available: int) -> IntArray:
    """Which switch each colour goes over: those that need a real one get the first ones.

    ``real`` are the colours in which the remainder's flow is real.
    """
    order = np.concatenate([real, np.setdiff1d(np.arange(degree), real)])
    if len(real) > available:
        raise NetcosimError(
            f"partition: the remainder sends {len(real)} flows on {available} links"
        )
    label = np.empty(degree, dtype=np.int64)
    label[order] = np.arange(degree)
    return label[colours]


def route_permutation(
    topology: Topology, nodes: ArrayLike, links: ArrayLike, targets: ArrayLike
) -> list[list[int]]:
    """Links of each flow of a permutation, no link used twice.

    Parameters
    ----------
    topology : Topology
        A fat-tree.
    nodes : (k,) int
        The partition's nodes, in any order.
    links : (m,) int
        Its router-to-router links.
    targets : (k,) int
        ``nodes`` in another order: node i sends to target i (itself allowed).

    Returns
    -------
    list of list of int
        Router-to-router links of each flow, in order; none on one leaf.

    Raises
    ------
    NetcosimError
        Targets that are no permutation of the nodes, or a partition that breaks the
        conditions: a flow would need a link that it does not have.
    """
    part = partition_shape(topology, nodes, links)
    source = np.asarray(nodes, dtype=np.int64).ravel()
    target = np.asarray(targets, dtype=np.int64).ravel()
    if len(np.unique(source)) != len(source) or not np.array_equal(
        np.sort(source), np.sort(target)
    ):
        raise NetcosimError("partition: the targets are no permutation of its nodes")
    n_real = len(source)
    n_L, L = (max(map(len, groups.values())) for groups in (part.leaves, part.pods))
    place, real_nodes = _leaf_places(part, L)
    src = np.array([place[int(topology.shape.leaf_of(v))] for v in source], dtype=np.int64)
    dst = np.array([place[int(topology.shape.leaf_of(v))] for v in target], dtype=np.int64)
    missing = np.repeat(np.arange(len(real_nodes)), n_L - real_nodes)
    src, dst = np.concatenate([src, missing]), np.concatenate([dst, missing])
    real = np.arange(len(src)) < n_real
    colour = perfect_matchings(src, dst, len(real_nodes), n_L)
    at_rest = np.empty(0, dtype=np.int64)
    if part.rest_leaf >= 0:
        at_rest = np.unique(colour[real & (src == place[part.rest_leaf])])
        position = _labels_for(colour, n_L, at_rest, len(part.up[part.rest_leaf]))
    else:
        position = colour
    spine = np.empty(len(src), dtype=np.int64)
    rows = list(part.pods)
    for p in range(n_L):
        inside = np.flatnonzero(position == p)
        a, b = src[inside] // L, dst[inside] // L
        colour = perfect_matchings(a, b, len(rows), L)
        if part.rest_pod >= 0:
            mine = real[inside] & (a == rows.index(part.rest_pod))
            needed = np.unique(colour[mine])
            colour = _labels_for(colour, L, needed, L)
        spine[inside] = colour
    order = _position_order(part, n_L)
    return [
        _path(part, int(source[i]), int(target[i]), order[position[i]], int(spine[i]))
        for i in range(n_real)
    ]


def _leaf_places(part: PartitionShape, L: int) -> tuple[dict[int, int], IntArray]:
    """Place of each leaf in the filled-up tree (pod by pod, L a pod), and its real nodes."""
    real = np.zeros(len(part.pods) * L, dtype=np.int64)
    place = {}
    for row, leaves in enumerate(part.pods.values()):
        for column, leaf in enumerate(leaves):
            place[leaf] = row * L + column
            real[place[leaf]] = len(part.leaves[leaf])
    return place, real


def _position_order(part: PartitionShape, n_L: int) -> Sequence[int]:
    """L2 positions as the equal leaves have them, filled up with -1 (no such switch)."""
    most = max(part.up.values(), key=len, default=[])
    return [*most, *[-1] * (n_L - len(most))]


def _path(part: PartitionShape, src: int, dst: int, position: int, spine: int) -> list[int]:
    s = part.tree
    a, b = int(s.leaf_of(src)), int(s.leaf_of(dst))
    if a == b:
        return []
    for leaf in (a, b):
        if position not in part.up[leaf]:
            raise NetcosimError(f"partition: leaf {leaf} has no link to L2 position {position}")
    up, down = [s.leaf_up(a, position)], [s.leaf_down(b, position)]
    pods = a // s.m2, b // s.m2
    if pods[0] == pods[1]:
        return up + down
    # Spines are kept with those of the remainder pod first: the longest list has them all.
    every = max((part.spines.get((pod, position), []) for pod in part.pods), key=len)
    if spine >= len(every):
        raise NetcosimError(f"partition: L2 position {position} has {len(every)} spines only")
    for pod in pods:
        if every[spine] not in part.spines.get((pod, position), []):
            raise NetcosimError(
                f"partition: L2 {position} of pod {pod} has no link to spine {every[spine]}"
            )
    return [
        *up,
        s.l2_up(pods[0], position, every[spine]),
        s.l2_down(pods[1], position, every[spine]),
        *down,
    ]
