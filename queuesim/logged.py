"""The schedule in the log: the nodes of each job."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.topology import Topology, nodes_named
from workloads.job import Workload


@dataclass(frozen=True, eq=False)
class LoggedNodes:
    """The machine's nodes that jobs ran on, as the log has it."""

    ptr: NDArray[np.int64]
    """(n + 1,) int64. Job i has ``nodes[ptr[i]:ptr[i + 1]]``."""
    nodes: NDArray[np.int32]
    """Int32. In the log's order."""
    known: NDArray[np.bool_]
    """(n,) bool. Jobs whose node list has as many distinct nodes as they requested."""
    odd: NDArray[np.bool_]
    """(n,) bool. Which have one that does not."""

    def __getitem__(self, job: int) -> NDArray[np.int32] | None:
        return self.nodes[self.ptr[job] : self.ptr[job + 1]] if self.known[job] else None


def logged_nodes(workload: Workload, topology: Topology) -> LoggedNodes:
    """Return the nodes of the jobs in a log, as numbers of the machine's nodes."""
    lists = workload.details.node_list
    if lists is None or not lists.known.any():
        raise NetcosimError(
            f"policy 'replay' needs the nodes that jobs ran on, and {workload.name} lists none "
            "(a log imported from sacct with NodeList has them)"
        )
    used, where = np.unique(lists.index, return_inverse=True)
    numbers = nodes_named(topology, [lists.names[i] for i in used])
    nodes = numbers[where].astype(np.int32)
    count = np.diff(lists.ptr)
    job = np.repeat(np.arange(len(workload)), count)
    different = np.bincount(
        np.unique(job * topology.n_nodes + nodes) // topology.n_nodes, minlength=len(workload)
    )
    fits = (different == count) & (count == workload.n_nodes)
    return LoggedNodes(lists.ptr, nodes, fits, (count > 0) & ~fits)


def with_replay_notes(workload: Workload, topology: Topology) -> Workload:
    """Return the jobs with a note on those that cannot be replayed."""
    found = logged_nodes(workload, topology)
    bare = int((~found.known & ~found.odd).sum())
    counts = {
        "have no node list in the log": bare,
        "have a node list whose length differs from the nodes they requested": int(found.odd.sum()),
    }
    notes = [
        f"replay: {n:,} of {len(workload):,} jobs {why}; they are placed by rule"
        for why, n in counts.items()
        if n
    ]
    return replace(workload, notes=tuple(dict.fromkeys((*workload.notes, *notes))))
