"""Task mapping: which rank sits on which node of its job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from netsim.limits import shown

MAX_RANKS_PER_NODE = 65_536
"""No node has so many processors."""


def _nodes(nodes: Sequence[int] | NDArray[np.integer], ranks_per_node: int) -> NDArray[np.int32]:
    if not 1 <= ranks_per_node <= MAX_RANKS_PER_NODE:
        raise NetcosimError(
            f"ranks_per_node = {shown(ranks_per_node)}; allowed: 1 to {MAX_RANKS_PER_NODE:,}"
        )
    return np.array(nodes, dtype=np.int32)


def in_order(nodes: Sequence[int] | NDArray[np.integer], ranks_per_node: int) -> NDArray[np.int32]:
    """(n_nodes * ranks_per_node,) int32: node of each rank; rank r is on the (r div k)-th node.

    Raises
    ------
    NetcosimError
        ranks_per_node below 1.
    """
    return np.repeat(_nodes(nodes, ranks_per_node), ranks_per_node)


def random(
    nodes: Sequence[int] | NDArray[np.integer], ranks_per_node: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """As `in_order` after the node list was shuffled: ranks of one node stay together.

    What the Level-Spread paper's scripts do, with two ranks a node.

    Raises
    ------
    NetcosimError
        ranks_per_node below 1.
    """
    return np.repeat(rng.permutation(_nodes(nodes, ranks_per_node)), ranks_per_node)


@dataclass(frozen=True)
class TaskMapping:
    """An entry of `MAPPINGS`.

    Attributes
    ----------
    description : str
        One line.
    function : callable
        ``(nodes, ranks_per_node, rng)`` -> (n_nodes * ranks_per_node,) int32.
    """

    description: str
    function: Callable[
        [Sequence[int] | NDArray[np.integer], int, np.random.Generator], NDArray[np.int32]
    ]


MAPPINGS: dict[str, TaskMapping] = {
    "in-order": TaskMapping(
        "ranks fill the job's nodes in the order of the placement",
        lambda nodes, ranks_per_node, rng: in_order(nodes, ranks_per_node),
    ),
    "random": TaskMapping("ranks fill the job's nodes in a random order", random),
}


def map_ranks(
    name: str,
    nodes: Sequence[int] | NDArray[np.integer],
    ranks_per_node: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Return the mapping of this name; ``rng`` is used by the random one only.

    Raises
    ------
    NetcosimError
        A name that is not in `MAPPINGS`, ranks_per_node below 1.
    """
    if name not in MAPPINGS:
        raise unknown_name("task mapping", name, MAPPINGS)
    return MAPPINGS[name].function(nodes, ranks_per_node, rng)
