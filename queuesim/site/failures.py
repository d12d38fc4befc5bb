"""Failures drawn at random: nodes, their links, and leaves fail at constant rates.

They are Poisson processes of the machine alone: nothing that jobs do moves them. So all policies of
one seed see the same failures. A server fails with all its GPUs. A node that has lost its link, or
its leaf, is out until the repair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import gpus_per_server
from netsim.errors import NetcosimError
from netsim.topology import Topology
from queuesim.parameters import Failures
from queuesim.site.partitions import Mask

DAY_S = 86_400.0


class Failure(NamedTuple):
    """Nodes that fail at a time."""

    start_s: float
    end_s: float
    nodes: Mask


def draw_failures(
    failures: Failures, topology: Topology, rng: np.random.Generator
) -> Iterator[Failure]:
    """Return the failures of a machine in order of time, without end; one rate must be above 0.

    Raises
    ------
    NetcosimError
        Failures of links or leaves that would leave each node another link.
    """
    rates, parts = zip(*_parts(failures, topology), strict=True)
    counts = [int(part.max()) + 1 for part in parts]
    ends, time_s = (np.multiply(rates, counts) / DAY_S).cumsum(), 0.0
    while True:
        time_s += float(rng.exponential(1.0 / ends[-1]))
        kind = int(np.searchsorted(ends, rng.random() * ends[-1], "right"))
        nodes = np.asarray(parts[kind] == rng.integers(counts[kind]))
        yield Failure(time_s, time_s + failures.repair_s, nodes)


def _parts(failures: Failures, topology: Topology) -> list[tuple[float, NDArray[np.int64]]]:
    """Return the rate of each kind of part, and the part of that kind that each node needs."""
    nodes = np.arange(topology.n_nodes)
    leaves = topology.port_router.reshape(len(nodes), -1)[:, -topology.n_rails :]
    apart = bool((leaves != leaves[:, :1]).any())
    for name, several in (("leaf", apart), ("link", topology.n_rails > 1)):
        if several and getattr(failures, f"per_{name}_day"):
            raise NetcosimError(
                f"queue.failures.per_{name}_day: nodes of {topology.name} have {topology.n_rails} "
                "links, and keep the others when one fails; remove it"
            )
    return [
        (failures.per_node_day, nodes // gpus_per_server(topology)),
        (failures.per_leaf_day, np.unique(leaves[:, 0], return_inverse=True)[1]),
        (failures.per_link_day, nodes),
    ]
