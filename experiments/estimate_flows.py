"""How much the flow level of a queue will cost, told before the queue begins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.estimate import LONG_S
from experiments.units import format_quantity
from netsim.errors import NetcosimError
from netsim.flow.job_routes import load_cost
from netsim.limits import need_memory
from netsim.routing.base import Routing
from patterns.registry import make_pattern
from queuesim.communication import Communication

_KNOWN_NODES = 128


def node_pairs(communication: Communication, n_nodes: int) -> int:
    """Pairs of nodes that exchange anything in a job, one rank a node.

    Up to 128 nodes the pattern is asked; beyond, its growth from 64 to 128 is carried on.
    """
    if n_nodes > _KNOWN_NODES:
        try:
            half, full = (_asked(communication, n) for n in (64, _KNOWN_NODES))
        except NetcosimError:
            pass  # a pattern for numbers of ranks of its own
        else:
            power = math.log2(full / half) if half and full else 1.0
            grown = full * float((n_nodes / _KNOWN_NODES) ** power)
            return min(round(grown), n_nodes**2)
    return _asked(communication, n_nodes)


def _asked(communication: Communication, n_nodes: int) -> int:
    name, size = communication.pattern, communication.message_bytes
    program = make_pattern(
        name, n_nodes, size, 1, np.random.default_rng(0), communication.parameters
    )
    source, target = program.send_src().astype(np.int64), program.send_dst
    return len(np.unique(source * n_nodes + target))


def flow_level_line(
    routing: Routing,
    communications: Sequence[Communication],
    share: NDArray[np.int64],
    n_nodes: NDArray[np.int32],
    n_policies: int,
) -> str | None:
    """What the user should know before jobs are put on the network; None if it is soon done.

    Parameters
    ----------
    routing : Routing
    communications : sequence of Communication
    share : (n_jobs,) int64
        Communication of each job.
    n_nodes : (n_jobs,) int32
    n_policies : int

    Raises
    ------
    NetcosimError
        A job that needs more memory than the machine has; what a pattern refuses.
    """
    seconds, largest = 0.0, 0.0
    kinds, jobs = np.unique(np.stack([share, n_nodes]), axis=1, return_counts=True)
    for (which, size), count in zip(kinds.T.tolist(), jobs.tolist(), strict=True):
        if size < 2:
            continue
        communication = communications[which]
        cost = load_cost(routing, node_pairs(communication, size))
        need_memory(
            f"queue.run_time_model: {communication.pattern} of a job of {size:,} nodes at flow "
            "level",
            round(cost.memory_bytes),
        )
        seconds += cost.seconds * count * n_policies
        largest = max(largest, cost.seconds)
    if seconds < LONG_S:
        return None
    return (
        f"about {format_quantity(seconds, 'time', 2)} at flow level ahead to put jobs on the "
        f"network, {format_quantity(largest, 'time', 2)} for the largest"
    )
