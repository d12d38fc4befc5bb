"""Which nodes a job may use, and when: partitions, reservations, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsim.errors import NetcosimError, unknown_name
from netsim.topology import Topology
from queuesim.parameters import Partition
from queuesim.site.outages import Outage
from queuesim.site.partitions import Mask, node_mask, partition_of_jobs
from workloads.details import Labels
from workloads.job import Workload


@dataclass(frozen=True, eq=False)
class AccessWindow:
    """An outage on a machine."""

    start_s: float
    end_s: float
    nodes: Mask
    """(n,) bool."""
    failure: bool
    """It is not known in advance."""
    spares: Mask
    """(jobs,) bool. Jobs that may use the nodes all the same."""


class Access:
    """The nodes that each job of a workload may use at a time; all nodes without partitions."""

    def __init__(
        self,
        workload: Workload,
        topology: Topology,
        partitions: Sequence[Partition],
        outages: Sequence[Outage],
    ) -> None:
        named = _labelled(workload.details.partition)
        mine = partition_of_jobs(workload, partitions)
        if partitions:
            named = {p.name: mine == i for i, p in enumerate(partitions)}
        else:
            partitions = (Partition("all"),)
        self.partition: list[int] = mine.tolist()
        self.priority = [float(partition.priority) for partition in partitions]
        self.nodes = [node_mask(p.nodes, topology, f"partition {p.name!r}") for p in partitions]
        self._meet = [[bool((a & b).any()) for b in self.nodes] for a in self.nodes]
        self.windows = [_window(outage, workload, topology, named) for outage in outages]
        spares = [window.spares for window in self.windows]
        columns = np.stack([np.asarray(self.partition), *spares], axis=1) if spares else None
        self.alike = (
            np.asarray(self.partition, dtype=np.int64)
            if columns is None
            else np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)
        )
        """(jobs,) int64: jobs of one number may use the same nodes at any time."""
        self._alike: list[int] = self.alike.tolist()
        self._known = [k for k, window in enumerate(self.windows) if not window.failure]
        self._masks: dict[tuple[int, ...], Mask] = {}

    def meet(self, partition: int, other: int) -> bool:
        """Return whether two partitions have nodes in common."""
        return self._meet[partition][other]

    def adds(self, start_s: float, end_s: float, nodes: Mask) -> int:
        """Add a failure that begins now; return its number."""
        # a view of one value: failures of a long queue are many, and its jobs too
        none = np.broadcast_to(np.False_, len(self.partition))
        self.windows.append(AccessWindow(start_s, end_s, nodes, True, none))
        self._known.append(len(self.windows) - 1)
        return len(self.windows) - 1

    def begins(self, number: int) -> None:
        """Record that a window has begun, from when on a failure is known."""
        if self.windows[number].failure:
            self._known.append(number)

    def ends(self, number: int) -> None:
        """Record that a window is over."""
        self._known.remove(number)

    def usable(self, job: int, start_s: float, end_s: float) -> Mask:
        """Return the nodes that a job may use from start to end; not to be changed.

        A window that is known bars its nodes to all jobs that would overlap it.
        """
        windows = self.windows
        met = [k for k in self._known if windows[k].start_s < end_s and windows[k].end_s > start_s]
        key = (self._alike[job], *met)
        mask = self._masks.get(key)
        if mask is None:
            mask = self.nodes[self.partition[job]].copy()
            for k in met:
                if not windows[k].spares[job]:
                    mask &= ~windows[k].nodes
            if len(self._masks) > _MOST_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def changes_after(self, now_s: float) -> list[float]:
        """Return the times after now at which windows that are known now end."""
        return [self.windows[k].end_s for k in self._known if self.windows[k].end_s > now_s]


_MOST_MASKS = 4096


def _window(
    outage: Outage, workload: Workload, topology: Topology, in_partition: Mapping[str, Mask]
) -> AccessWindow:
    spares = np.zeros(len(workload), dtype=bool)
    if outage.partition:
        if outage.partition not in in_partition:
            problem = unknown_name("partition", outage.partition, in_partition)
            raise NetcosimError(f"{outage.where}: {problem}")
        spares |= in_partition[outage.partition]
    if outage.account:
        accounts = _labelled(workload.details.account)
        if outage.account not in accounts:
            wrong = unknown_name("account", outage.account, accounts)
            if not accounts:
                wrong = NetcosimError(f"account {outage.account!r}; no job has an account")
            raise NetcosimError(f"{outage.where}: {wrong}")
        spares |= accounts[outage.account]
    return AccessWindow(
        outage.start_s,
        outage.end_s,
        node_mask(outage.nodes, topology, outage.where),
        outage.kind == "failure",
        spares,
    )


def _labelled(labels: Labels | None) -> dict[str, Mask]:
    """Return which jobs have each label."""
    return {} if labels is None else {n: labels.code == i for i, n in enumerate(labels.names)}
