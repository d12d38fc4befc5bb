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


@dataclass(frozen=True)
class TaskMapping:
    """An entry of `MAPPINGS`."""

    description: str
    """One line."""
    order: Callable[[NDArray[np.int32], np.random.Generator, int], NDArray[np.int32]]
    """``(nodes, rng, rails)`` -> the nodes in the order in which ranks fill them."""


MAPPINGS: dict[str, TaskMapping] = {
    "in-order": TaskMapping(
        "ranks fill the job's nodes in the order of the placement", lambda nodes, rng, rails: nodes
    ),
    # as the Level-Spread paper's scripts do, with two ranks a node
    "random": TaskMapping(
        "ranks fill the job's nodes in a random order",
        lambda nodes, rng, rails: rng.permutation(nodes),
    ),
    "by-domain": TaskMapping(
        "ranks fill the job's nodes in the order of their numbers: server by server, leaf by leaf",
        lambda nodes, rng, rails: np.sort(nodes),
    ),
    "by-rail": TaskMapping(
        "on GPU 0 of all servers of the job first, then GPU 1, ...; else as by-domain",
        lambda nodes, rng, rails: nodes[np.lexsort((nodes, nodes % rails))],
    ),
}


def map_ranks(
    name: str,
    nodes: Sequence[int] | NDArray[np.integer],
    ranks_per_node: int,
    rng: np.random.Generator,
    rails: int = 1,
) -> NDArray[np.int32]:
    """Return the node of each rank, (n_nodes * ranks_per_node,) int32, node by node.

    ``rails`` is the number of GPUs of a server, where nodes are GPUs.
    """
    need_name("task mapping", name, MAPPINGS)
    if not 1 <= ranks_per_node <= MAX_RANKS_PER_NODE:
        raise NetcosimError(
            f"ranks_per_node = {shown(ranks_per_node)}; allowed: 1 to {MAX_RANKS_PER_NODE:,}"
        )
    ordered = MAPPINGS[name].order(np.array(nodes, dtype=np.int32), rng, rails)
    return np.repeat(ordered, ranks_per_node)
