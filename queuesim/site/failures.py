"""Failures drawn at random: nodes, and leaves with all nodes below, that fail at constant rates.

They are Poisson processes of the machine alone: nothing that jobs do moves them. So all policies of
one seed see the same failures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt

from alloc.nodes import switch_levels
from netsim.parameters import Example, ReadIf, check_values
from netsim.topology import Topology
from queuesim.site.partitions import Mask

DAY_S = 86_400.0


@dataclass(frozen=True)
class Failures:
    """``[queue.failures]``: random failures; the jobs on such nodes go back to the queue."""

    per_node_day: Annotated[
        float, "failures of a node in a day, in the mean", Ge(0), Example(0.0065)
    ] = 0.0
    per_leaf_day: Annotated[
        float,
        "failures of a leaf switch in a day, in the mean; all nodes below it fail",
        Ge(0),
        Example(0.001),
    ] = 0.0
    repair_s: Annotated[
        float,
        "time from a failure until the nodes are back",
        Gt(0),
        ReadIf(
            ("per_node_day", "per_leaf_day"),
            lambda *rates: any(rates),
            "queue.failures.per_node_day or per_leaf_day is above 0",
        ),
        Example("2 h", beside={"per_node_day": 0.0065}),
    ] = 3600.0

    def __post_init__(self) -> None:
        check_values("failures", self)

    def __bool__(self) -> bool:
        return self.per_node_day > 0 or self.per_leaf_day > 0


class Failure(NamedTuple):
    """Nodes that fail at a time."""

    start_s: float
    end_s: float
    nodes: Mask


def draw_failures(
    failures: Failures, topology: Topology, rng: np.random.Generator
) -> Iterator[Failure]:
    """Return the failures of a machine in order of time, without end; one rate must be above 0."""
    leaf, n_leaves = np.empty(0, dtype=np.int64), 0
    if failures.per_leaf_day:
        hierarchy = switch_levels(topology)
        leaf, n_leaves = hierarchy.domain[-1], hierarchy.counts[-1]
    of_nodes = topology.n_nodes * failures.per_node_day / DAY_S
    per_s = of_nodes + n_leaves * failures.per_leaf_day / DAY_S
    time_s = 0.0
    while True:
        time_s += float(rng.exponential(1.0 / per_s))
        if rng.random() * per_s < of_nodes:
            nodes = np.zeros(topology.n_nodes, dtype=bool)
            nodes[rng.integers(topology.n_nodes)] = True
        else:
            nodes = np.asarray(leaf == rng.integers(n_leaves))
        yield Failure(time_s, time_s + failures.repair_s, nodes)
