"""Compiled: the choice of nodes by TA (see `alloc.fattree.ta`), and its counts of free nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


WIRED, HELD = 0, 1
"""Rows of marks of leaves and pods."""


class Tree(NamedTuple):
    """Free nodes, their number on every leaf and in every pod; who may not use a leaf or a pod.

    ``leaf_marks``: a job larger than a leaf has nodes there (row WIRED), or holds them (HELD);
    ``pod_marks``: one that is larger than a pod.
    """

    free: Flags
    leaf_free: Ints
    pod_free: Ints
    leaf_marks: Flags
    pod_marks: Flags


@njit(**INNER_KERNEL)
def usable(tree: Tree, leaf: int) -> int:
    """Return the free nodes of a leaf for a job larger than a leaf."""
    return 0 if marked(tree.leaf_marks, leaf) else tree.leaf_free[leaf]


@njit(**INNER_KERNEL)
def marked(marks: Flags, i: int) -> bool:
    """Return whether a leaf or pod has a mark."""
    return marks[WIRED, i] or marks[HELD, i]


@njit(**INNER_KERNEL)
def usable_in_pod(tree: Tree, per_pod: int, pod: int) -> int:
    """Return the free nodes of a pod for a job larger than a leaf."""
    total = 0
    for leaf in range(pod * per_pod, (pod + 1) * per_pod):
        total += usable(tree, leaf)
    return total


@njit(**INNER_KERNEL)
def take_leaf(tree: Tree, leaf_size: int, leaf: int, n: int, wanted: int, out: Ints) -> int:
    """Add the lowest free nodes of a leaf to the n in ``out``, at most ``wanted`` in all."""
    for node in range(leaf * leaf_size, (leaf + 1) * leaf_size):
        if n < wanted and tree.free[node]:
            out[n] = node
            n += 1
    return n


@njit(**INNER_KERNEL)
def take_pod(
    tree: Tree, leaf_size: int, per_pod: int, pod: int, n: int, wanted: int, out: Ints
) -> int:
    """Take nodes as `take_leaf` does, from a pod's usable leaves, most free nodes first."""
    for count in range(leaf_size, 0, -1):
        for leaf in range(pod * per_pod, (pod + 1) * per_pod):
            if n < wanted and usable(tree, leaf) == count:
                n = take_leaf(tree, leaf_size, leaf, n, wanted, out)
    return n


@njit(**INNER_KERNEL)
def select_leaf(tree: Tree, leaf_size: int, per_pod: int, wanted: int, out: Ints) -> int:
    """Select by T1: see `alloc.fattree.ta`."""
    best = -1
    for leaf in range(len(tree.leaf_free)):
        if tree.leaf_free[leaf] < wanted:
            continue
        pod, chosen = leaf // per_pod, best // per_pod
        if (
            best < 0
            or tree.pod_free[pod] < tree.pod_free[chosen]
            or (pod == chosen and tree.leaf_free[leaf] < tree.leaf_free[best])
        ):
            best = leaf
    return 0 if best < 0 else take_leaf(tree, leaf_size, best, 0, wanted, out)


@njit(**INNER_KERNEL)
def select_pod(tree: Tree, leaf_size: int, per_pod: int, wanted: int, out: Ints) -> int:
    """Select by T2: see `alloc.fattree.ta`."""
    best = -1
    for pod in range(len(tree.pod_free)):
        fewer = best < 0 or tree.pod_free[pod] < tree.pod_free[best]
        if fewer and usable_in_pod(tree, per_pod, pod) >= wanted:
            best = pod
    return 0 if best < 0 else take_pod(tree, leaf_size, per_pod, best, 0, wanted, out)


@njit(**INNER_KERNEL)
def select_pods(tree: Tree, leaf_size: int, per_pod: int, wanted: int, out: Ints) -> int:
    """Select by T3: see `alloc.fattree.ta`."""
    total = 0
    for pod in range(len(tree.pod_free)):
        if not marked(tree.pod_marks, pod):
            total += usable_in_pod(tree, per_pod, pod)
    if total < wanted:
        return 0
    n, last = 0, -1
    while n < wanted:
        best = -1
        for pod in range(len(tree.pod_free)):
            if marked(tree.pod_marks, pod):
                continue
            behind = (
                last < 0
                or tree.pod_free[pod] < tree.pod_free[last]
                or (tree.pod_free[pod] == tree.pod_free[last] and pod > last)
            )
            if behind and (best < 0 or tree.pod_free[pod] > tree.pod_free[best]):
                best = pod
        n = take_pod(tree, leaf_size, per_pod, best, n, wanted, out)
        last = best
    return n


@njit(**PLAIN_KERNEL)
def mark_possible(
    sizes: Ints,
    leaf_size: int,
    pod_size: int,
    tree: Tree,
    out: Flags,
) -> None:
    """Write for each number of nodes whether a leaf, a pod or pods have them for its type."""
    on_leaf, in_pod, in_pods = largest(leaf_size, pod_size, tree)
    for k in range(len(sizes)):
        most = on_leaf
        if sizes[k] > leaf_size:
            most = in_pods if sizes[k] > pod_size else in_pod
        out[k] = sizes[k] <= most


@njit(**INNER_KERNEL)
def largest(leaf_size: int, pod_size: int, tree: Tree) -> tuple[int, int, int]:
    """Return how many nodes a job of each type can have at most: on a leaf, in a pod, in pods."""
    on_leaf = in_pod = in_pods = np.int64(0)
    for leaf in range(len(tree.leaf_free)):
        on_leaf = max(on_leaf, tree.leaf_free[leaf])
    for pod in range(len(tree.pod_free)):
        n_usable = usable_in_pod(tree, pod_size // leaf_size, pod)
        in_pod = max(in_pod, n_usable)
        if not marked(tree.pod_marks, pod):
            in_pods += n_usable
    return int(on_leaf), int(in_pod), int(in_pods)


@njit(**PLAIN_KERNEL)
def select(
    wanted: int,
    leaf_size: int,
    pod_size: int,
    tree: Tree,
    out: Ints,
) -> int:
    """Write the nodes of a job in rank order; their number, 0 if it cannot be placed."""
    per_pod = pod_size // leaf_size
    if wanted <= leaf_size:
        return select_leaf(tree, leaf_size, per_pod, wanted, out)
    if wanted <= pod_size:
        return select_pod(tree, leaf_size, per_pod, wanted, out)
    return select_pods(tree, leaf_size, per_pod, wanted, out)


@njit(**PLAIN_KERNEL)
def flip(
    nodes: Ints,
    on: bool,
    leaf_size: int,
    pod_size: int,
    free: Flags,
    leaf_free: Ints,
    pod_free: Ints,
) -> None:
    """Mark nodes free or not, all of which change, and count them."""
    step = 1 if on else -1
    for node in nodes:
        free[node] = on
        leaf_free[node // leaf_size] += step
        pod_free[node // pod_size] += step
