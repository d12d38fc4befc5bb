"""Partitions of a queue: their nodes, limits on time and size, and priorities."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from netsim.topology import Topology, nodes_named
from queuesim.parameters import Partition
from workloads.job import Workload

Mask = NDArray[np.bool_]

_NUMBERS = re.compile(r"[\d\s,-]+")


def node_mask(text: str, topology: Topology, where: str) -> Mask:
    """Return which nodes a host list, a list of numbers and ranges, or "all" names, (n,)."""
    from netsim.hostlist import expand

    mask = np.zeros(topology.n_nodes, dtype=bool)
    if text.strip() == "all":
        return ~mask
    try:
        names = expand(f"[{text.strip()}]" if _NUMBERS.fullmatch(text) else text)
        nodes = nodes_named(topology, names)
        mask[nodes] = True
    except NetcosimError as error:
        raise NetcosimError(f"{where}: {error}") from None
    if not mask.any():
        raise NetcosimError(f"{where}: nodes = {text!r}; it names no node")
    if mask.sum() < len(nodes):
        raise NetcosimError(f"{where}: nodes = {text!r}; it names a node twice")
    return mask


def check_partitions(partitions: Sequence[Partition]) -> None:
    """Check that partitions are consistent with each other."""
    taken: dict[str, str] = {}
    for partition in partitions:
        for name in partition.names:
            if name in taken:
                raise NetcosimError(
                    f"partition {partition.name!r}: the name {name!r} belongs to "
                    f"{taken[name]!r} already"
                )
            taken[name] = partition.name
    defaults = [partition.name for partition in partitions if partition.default]
    if len(defaults) > 1:
        raise NetcosimError(f"partitions {' and '.join(defaults)}: one can be the default")


def partition_of_jobs(workload: Workload, partitions: Sequence[Partition]) -> NDArray[np.int64]:
    """Return the position of each job's partition, (n,) int64.

    A single partition takes all jobs; of several, each takes those of its names, and the default
    all others.
    """
    if len(partitions) <= 1:
        return np.zeros(len(workload), dtype=np.int64)
    rest = next((i for i, partition in enumerate(partitions) if partition.default), -1)
    position = {name: i for i, partition in enumerate(partitions) for name in partition.names}
    labels = workload.details.partition
    if labels is None:
        found = np.full(len(workload), rest)
    else:
        found = np.array([*(position.get(name, rest) for name in labels.names), rest])[labels.code]
    lost = np.flatnonzero(found < 0)
    if len(lost):
        name = None if labels is None else labels[int(lost[0])]
        job = f"{workload.name}: job {workload.job_id[lost[0]]} ({len(lost):,} such jobs)"
        if name is None:
            raise NetcosimError(
                f"{job}: the log names no partition; give one of {', '.join(position)} the key "
                "default = true"
            )
        raise NetcosimError(f"{job}: {unknown_name('partition', name, position)}")
    return np.asarray(found, dtype=np.int64)


def refused_by(workload: Workload, partitions: Sequence[Partition]) -> dict[str, Mask]:
    """Return the jobs that their partitions do not take, by reason: too long, too large."""
    if not partitions:
        return {}
    mine = partition_of_jobs(workload, partitions)
    reasons: dict[str, Mask] = {}
    for i, partition in enumerate(partitions):
        longest_s, most = partition.max_walltime_s, partition.max_nodes
        if longest_s is not None:
            reason = f"walltime above {longest_s:g} s, partition {partition.name}"
            too_long = (workload.requested_s > longest_s) & np.isfinite(workload.requested_s)
            reasons[reason] = (mine == i) & too_long
        if most is not None:
            reason = f"more than {most} nodes, partition {partition.name}"
            reasons[reason] = (mine == i) & (workload.n_nodes > most)
    return {reason: jobs for reason, jobs in reasons.items() if jobs.any()}
