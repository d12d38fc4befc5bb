"""Task mapping: which rank sits on which node of its job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
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
    """Map rank r to the (r div ranks_per_node)-th node, (n_nodes * ranks_per_node,) int32."""
    return np.repeat(_nodes(nodes, ranks_per_node), ranks_per_node)


def random(
    nodes: Sequence[int] | NDArray[np.integer], ranks_per_node: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Map ranks as `in_order` does, on a shuffled node list: ranks of a node stay together.

    The Level-Spread paper's scripts do so, with two ranks a node.
    """
    return np.repeat(rng.permutation(_nodes(nodes, ranks_per_node)), ranks_per_node)


def by_rail(nodes: Sequence[int] | NDArray[np.integer], rails: int) -> NDArray[np.int64]:
    """Return nodes sorted by rail, which is the number modulo ``rails``, then by number.

    Examples
    --------
    >>> by_rail([8, 9, 10, 11, 0, 1, 2, 3], 4).tolist()
    [0, 8, 1, 9, 2, 10, 3, 11]
    """
    found = np.sort(np.asarray(nodes, dtype=np.int64))
    return found[np.argsort(found % rails, kind="stable")]


@dataclass(frozen=True)
class TaskMapping:
    """An entry of `MAPPINGS`."""

    description: str
    """One line."""
    function: Callable[
        [Sequence[int] | NDArray[np.integer], int, np.random.Generator], NDArray[np.int32]
    ]
    """``(nodes, ranks_per_node, rng)`` -> (n_nodes * ranks_per_node,) int32."""
    by_rail: bool = False
    """Whether the nodes are given rail by rail (`by_rail`), not in the order of the placement."""


MAPPINGS: dict[str, TaskMapping] = {
    "in-order": TaskMapping(
        "ranks fill the job's nodes in the order of the placement",
        lambda nodes, ranks_per_node, rng: in_order(nodes, ranks_per_node),
    ),
    "random": TaskMapping("ranks fill the job's nodes in a random order", random),
    "by-domain": TaskMapping(
        "ranks fill the job's nodes in the order of their numbers: server by server, leaf by leaf",
        lambda nodes, ranks_per_node, rng: in_order(np.sort(nodes), ranks_per_node),
    ),
    "by-rail": TaskMapping(
        "on GPU 0 of all servers of the job first, then GPU 1, ...; else as by-domain",
        lambda nodes, ranks_per_node, rng: in_order(nodes, ranks_per_node),
        by_rail=True,
    ),
}


def map_ranks(
    name: str,
    nodes: Sequence[int] | NDArray[np.integer],
    ranks_per_node: int,
    rng: np.random.Generator,
    rails: int = 1,
) -> NDArray[np.int32]:
    """Return the mapping of this name; ``rng`` is used by the random one only.

    ``rails`` is the number of GPUs of a server, where nodes are GPUs.
    """
    need_name("task mapping", name, MAPPINGS)
    mapping = MAPPINGS[name]
    return mapping.function(
        by_rail(nodes, rails) if mapping.by_rail else nodes, ranks_per_node, rng
    )
