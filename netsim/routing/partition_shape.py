"""The form of a fat-tree partition: its leaves, pods, L2 positions and spines in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from netsim.errors import NetcosimError
from netsim.topologies.fattree import FatTreeShape
from netsim.topology import Topology


@dataclass(frozen=True)
class PartitionShape:
    """A set of nodes and cables of a fat-tree, sorted for routing.

    L2 positions are ordered with those of the remainder leaf first, the spines of a position with
    those of the remainder pod first; so what a remainder switch has is always a prefix of
    what the others have.
    """

    tree: FatTreeShape
    leaves: dict[int, list[int]]
    """Leaf to its nodes, ascending."""
    pods: dict[int, list[int]]
    """Pod to its leaves, the remainder leaf last."""
    up: dict[int, list[int]]
    """Leaf to the L2 positions it is joined to."""
    spines: dict[tuple[int, int], list[int]]
    """Dict of (pod, position) to list of int."""
    rest_leaf: int
    rest_pod: int
    """rest_leaf, rest_pod: The remainder leaf and pod; -1 if there is none."""


def _smallest(sizes: dict[int, int]) -> int:
    """Return the key of the smallest size, or -1 if all sizes are equal."""
    least = min(sizes, key=lambda k: sizes[k])
    return least if sizes[least] < max(sizes.values()) else -1


def _prefix_first(items: set[int], first: set[int]) -> list[int]:
    return sorted(items & first) + sorted(items - first)


def partition_shape(topology: Topology, nodes: ArrayLike, links: ArrayLike) -> PartitionShape:
    """Sort the nodes and links of a partition of a fat-tree by leaf, pod and switch.

    Links are between routers; each cable may be named by either direction or both.
    """
    s = topology.shape
    if not isinstance(s, FatTreeShape):
        raise NetcosimError(f"partition: {topology.name} is no fattree")
    if topology.rails > 1:
        raise NetcosimError(
            f"partition: nodes of {topology.name} have {topology.rails} ports; links of its own "
            "can be given to a job where they have one"
        )
    members = sorted({int(v) for v in np.asarray(nodes).ravel()})
    if not members:
        raise NetcosimError("partition: it has no nodes")
    leaves: dict[int, list[int]] = {}
    for node in members:
        leaves.setdefault(int(s.leaf_of(node)), []).append(node)
    up: dict[int, set[int]] = {leaf: set() for leaf in leaves}
    spines: dict[tuple[int, int], set[int]] = {}
    level1, level2 = s.n_leaves * s.w2, s.n_l2 * s.w3
    for link in sorted({int(x) for x in np.asarray(links).ravel()}):
        if s.first_up1 <= link < s.first_up2:
            leaf, position = divmod((link - s.first_up1) % level1, s.w2)
            up.setdefault(leaf, set()).add(position)
        elif s.first_up2 <= link < s.first_down2 + level2:
            l2, spine = divmod((link - s.first_up2) % level2, s.w3)
            pod, position = divmod(l2, s.w2)
            spines.setdefault((pod, position), set()).add(spine)
        else:
            raise NetcosimError(f"partition: link {link} is not between switches")
    pods: dict[int, list[int]] = {}
    for leaf in leaves:
        pods.setdefault(leaf // s.m2, []).append(leaf)
    rest_leaf = _smallest({leaf: len(mine) for leaf, mine in leaves.items()})
    rest_pod = _smallest({pod: sum(len(leaves[k]) for k in mine) for pod, mine in pods.items()})
    for mine in pods.values():
        mine.sort(key=lambda leaf: (leaf == rest_leaf, leaf))
    of_leaf = up.get(rest_leaf, set())
    return PartitionShape(
        s,
        leaves,
        pods,
        {leaf: _prefix_first(found, of_leaf) for leaf, found in up.items()},
        {
            (pod, position): _prefix_first(found, spines.get((rest_pod, position), set()))
            for (pod, position), found in spines.items()
        },
        rest_leaf,
        rest_pod,
    )
