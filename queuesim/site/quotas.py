"""Quotas of virtual clusters: nodes that each may claim, and that others may borrow while idle.

A job *owns* its nodes while they fit into the quota of its virtual cluster, and *borrows* them
otherwise. A job that would own its nodes may preempt jobs that borrow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from queuesim.ordering.orders import FloatArray, IndexArray, LiveOrder
from queuesim.parameters import NUMBERS, QuotaKeys
from workloads.details import Labels
from workloads.job import Workload


class Quotas(LiveOrder):
    """Levels by quotas: 1 for jobs that own their nodes or would, 0 for those that borrow.

    Raises
    ------
    NetcosimError
        Quotas of more nodes than the machine has; a log without the column or a name.
    """

    def __init__(self, workload: Workload, keys: QuotaKeys, machine_nodes: int) -> None:
        nodes = keys.of_name()
        if sum(nodes.values()) > machine_nodes:
            raise NetcosimError(
                f"queue.quotas.nodes: {sum(nodes.values())} nodes in all; the machine has "
                f"{machine_nodes}"
            )
        code = _cluster_of_jobs(workload, keys.by, nodes)
        self.cluster: list[int] = code.tolist()
        """One a job: the position of its virtual cluster, -1 for none."""
        self._n_nodes: list[int] = workload.n_nodes.tolist()
        self._free = [*nodes.values(), 0]
        # Nodes of each quota that no job owns; the last entry is for jobs of none.
        self._owns: set[int] = set()
        self._borrows: list[dict[int, None]] = [{} for _ in self._free]
        # Invariant: no running job that borrows would fit into its quota.

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        return np.array([job in self._owns or self._fits(job) for job in jobs.tolist()], float)

    def started(self, job: int, now_s: float) -> None:
        self._borrows[self.cluster[job]][job] = None
        self._promote(self.cluster[job])

    def ended(self, job: int, now_s: float) -> None:
        cluster = self.cluster[job]
        if job in self._owns:
            self._owns.remove(job)
            self._free[cluster] += self._n_nodes[job]
        else:
            del self._borrows[cluster][job]
        self._promote(cluster)

    def _fits(self, job: int) -> bool:
        return self._n_nodes[job] <= self._free[self.cluster[job]]

    def _promote(self, cluster: int) -> None:
        """Give borrowing jobs nodes of their own that fit now, in the order of their starts."""
        borrow = self._borrows[cluster]
        for job in [*borrow] if self._free[cluster] else ():
            if self._fits(job):
                del borrow[job]
                self._owns.add(job)
                self._free[cluster] -= self._n_nodes[job]


def _cluster_of_jobs(workload: Workload, by: str, nodes: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the position of each job's virtual cluster in the quotas, (n,); -1: in none."""
    if by in NUMBERS:
        column = workload.user if by == "user" else workload.project
        labels = Labels.of(str(k) if k >= 0 else None for k in column.tolist())
    else:
        labels = getattr(workload.details, by)
    if labels is None or not labels.known.any():
        raise NetcosimError(f"{workload.name}: quotas by {by}: the log has no {by} of any job")
    for name in nodes:
        if name not in labels.names:
            raise NetcosimError(f"queue.quotas.nodes: {unknown_name(by, name, labels.names)}")
    position = {name: i for i, name in enumerate(nodes)}
    found = np.array([*(position.get(name, -1) for name in labels.names), -1])
    return np.asarray(found[labels.code], dtype=np.int64)
