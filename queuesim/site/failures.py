"""Failures drawn at random: nodes, their links, and leaves fail at constant rates.

They are Poisson processes of the machine alone: nothing that jobs do moves them. So all policies of
one seed see the same failures. A server fails with all its GPUs. A node that has lost its link, or
its leaf, is out until the repair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from alloc.nodes import gpus_per_server
from netsim.errors import NetcosimError
from netsim.parameters import Example, ReadIf, check_values
from netsim.topology import Topology
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.partitions import Mask
from workloads.job import Workload

DAY_S = 86_400.0
RATES = ("per_node_day", "per_leaf_day", "per_link_day")


@dataclass(frozen=True)
class Failures:
    """``[queue.failures]``: random failures; the jobs on such nodes go back to the queue."""

    per_node_day: Annotated[
        float, "failures of a node in a day, in the mean", Ge(0), Example(0.0065)
    ] = 0.0
    per_leaf_day: Annotated[
        float,
        "failures of a leaf switch in a day, in the mean; all nodes (GPUs) on it are out",
        Ge(0),
        Example(1.7e-5),
    ] = 0.0
    per_link_day: Annotated[
        float,
        "failures of the link of a node (GPU) to its leaf in a day, in the mean; the node is out",
        Ge(0),
        Example(1.9e-5),
    ] = 0.0
    repair_s: Annotated[
        float,
        "time from a failure until the nodes are back",
        Gt(0),
        ReadIf(RATES, lambda *rates: any(rates), "a rate of queue.failures is above 0"),
        Example("2 h", beside={"per_node_day": 0.0065}),
    ] = 3600.0

    def __post_init__(self) -> None:
        check_values("failures", self)

    def __bool__(self) -> bool:
        return any(getattr(self, rate) for rate in RATES)


MOST_FAILURES = 1_000_000
HOPELESS = 11.5
"""Failures in the mean in a time of which one in 100,000 has none."""


def check_failures(
    failures: Failures, checkpoints: Checkpoints, workload: Workload, topology: Topology
) -> None:
    """Refuse failures under which a queue would hardly ever end, before it begins.

    Raises
    ------
    NetcosimError
        Nodes that fail faster than they are repaired, jobs that hardly ever run long enough to
        proceed, too many failures in the time of the jobs; what `draw_failures` refuses.
    """
    counts = [int(part.max()) + 1 for _, part in _parts(failures, topology)]
    rates = np.array([getattr(failures, rate) for rate in RATES]) / DAY_S
    if rates.sum() * failures.repair_s > 1:
        raise NetcosimError(
            f"queue.failures: a node fails every {1 / rates.sum():.3g} s and its repair takes "
            f"{failures.repair_s:g} s; lower the rates or queue.failures.repair"
        )
    if not len(workload):
        return
    per_node = rates[0] / gpus_per_server(topology) + rates[2]
    failures_per_s = workload.n_nodes * per_node + rates[1]
    interval_s, run_s = checkpoints.interval_s or inf, workload.run_time_s
    piece_s = np.where(run_s > interval_s, interval_s + checkpoints.write_s, run_s)
    needed_s = piece_s + checkpoints.restart_s
    worst = int(np.argmax(failures_per_s * needed_s))
    if failures_per_s[worst] * needed_s[worst] > HOPELESS:
        job, n_nodes = workload.job_id[worst], workload.n_nodes[worst]
        raise NetcosimError(
            f"queue.failures: job {job} on {n_nodes} nodes fails every "
            f"{1 / failures_per_s[worst]:.3g} s and needs {needed_s[worst]:.3g} s to proceed, so "
            "it would hardly ever end; lower the rates, or queue.checkpoint.interval and restart"
        )
    # In the mean a piece of L seconds takes (e^(rate L) - 1) / rate, as failures have no memory.
    risk = failures_per_s * needed_s
    stretch = np.divide(np.expm1(risk), risk, out=np.ones_like(risk), where=risk > 0)
    busy_s = np.ceil(run_s / np.minimum(run_s, interval_s)) * piece_s * stretch
    area_s = float(busy_s @ workload.n_nodes) / topology.n_nodes
    time_s = np.ptp(workload.submit_s) + max(busy_s.max(), area_s)
    expected = float(rates @ counts * time_s)
    if expected > MOST_FAILURES:
        raise NetcosimError(
            f"queue.failures: about {expected:,.0f} failures in the {time_s / DAY_S:.3g} days of "
            f"the jobs; at most {MOST_FAILURES:,}: lower the rates"
        )


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
    while ends[-1] > 1e-300:  # at lower rates no time is finite
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
