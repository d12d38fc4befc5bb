"""Rules of a site besides order and backfilling: partitions, dependencies, outages, preemption."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from alloc.policy import Policy, Request
from netsim.errors import NetcosimError
from queuesim.ordering.orders import Order, first_by
from queuesim.parameters import Failures, Partition, PreemptionKeys, QuotaKeys
from queuesim.site.checkpoints import Checkpoints
from workloads.job import Workload

if TYPE_CHECKING:
    from queuesim.site.access import Access
    from queuesim.site.outages import Outage
    from queuesim.site.partitions import Mask
    from queuesim.site.preemption import Preemption


@dataclass(frozen=True)
class Rules:
    """Rules of a queue; by default none."""

    grace_s: float = 0.0
    """How long past its walltime a job may run on before it is cut."""
    has_dependencies: bool = False
    """Whether jobs wait for their dependencies in the log."""
    partitions: tuple[Partition, ...] = ()
    """None: all jobs may use all nodes."""
    outages: tuple[Outage, ...] = field(default=(), repr=False)
    requeues: bool = False
    """Whether a job on a node that an outage makes fail goes back to the queue; else it is over."""
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    """What jobs keep that go back to the queue."""
    preemption: PreemptionKeys = field(default_factory=PreemptionKeys)
    quotas: QuotaKeys = field(default_factory=QuotaKeys)
    failures: Failures = field(default_factory=Failures)
    """Random ones, which send jobs back."""

    def __post_init__(self) -> None:
        if self.partitions:
            from queuesim.site.partitions import check_partitions

            check_partitions(self.partitions)
        if self.preemption.by != "none" and self.quotas.nodes:
            raise NetcosimError(
                f'queue.preemption.by = "{self.preemption.by}" does not go with queue.quotas; '
                "remove one of them"
            )

    @property
    def uses_node_sets(self) -> bool:
        """Whether jobs may not use all nodes at all times."""
        return bool(self.partitions or self.outages or self.failures)

    @property
    def preempts(self) -> bool:
        """Whether jobs may preempt others."""
        return self.preemption.by != "none" or bool(self.quotas.nodes)

    @property
    def interrupts(self) -> bool:
        """Whether runs may be parts of a job, or more than its work."""
        sends_back = self.preempts or bool(self.failures) or (self.requeues and bool(self.outages))
        return sends_back or bool(self.checkpoints.interval_s or self.checkpoints.restart_s)

    @property
    def plain(self) -> bool:
        """Whether a queue without a thought for rules does the same."""
        sets = self.uses_node_sets
        return not (sets or self.interrupts or self.has_dependencies or self.grace_s)

    def claims(
        self, workload: Workload, order: Order, access: Access | None, machine_nodes: int
    ) -> Preemption | None:
        """Return which jobs may preempt others; None: no preemption. See `levels_of`, `Quotas`."""
        if not self.preempts and not order.needs_preemption:
            return None
        from queuesim.site.preemption import Preemption, levels_of

        partition = [0] * len(workload) if access is None else access.partition
        priority = None
        if access is not None and self.partitions:
            priority = np.array(access.priority)[access.partition]
        levels = levels_of(self.preemption, order, workload, priority)
        if self.quotas.nodes:
            from queuesim.site.quotas import Quotas

            levels = Quotas(workload, self.quotas, machine_nodes)
        if levels is None:
            return None
        return Preemption(levels, self.preemption.min_run_s, partition)

    def access(self, workload: Workload, policy: Policy) -> Access:
        """Return the nodes that jobs may use; see `Access`, `check_holds_any` for refusals."""
        from queuesim.site.access import Access
        from queuesim.site.node_sets import check_holds_any

        check_holds_any(policy)
        return Access(workload, policy.topology, self.partitions, self.outages)

    def ordered(self, order: Order, access: Access) -> Order:
        """Return an order with jobs of a higher partition first."""
        if len(set(access.priority)) == 1:
            return order
        return first_by(order, np.array(access.priority)[access.partition])

    def limited(self, workload: Workload) -> Workload:
        """Return the workload, in which jobs without a walltime have the limit of their partition.

        So Slurm has it: a partition's limit is that of a job that requests none.
        """
        if not (np.isinf(workload.requested_s).any() and self.partitions):
            return workload
        from queuesim.site.partitions import partition_of_jobs

        longest_s = np.array([p.max_walltime_s or np.inf for p in self.partitions])
        most_s = longest_s[partition_of_jobs(workload, self.partitions)]
        without = np.isinf(workload.requested_s)
        return replace(workload, requested_s=np.where(without, most_s, workload.requested_s))

    def unfit(self, workload: Workload, policy: Policy) -> dict[str, Mask]:
        """Return the jobs that can never run under these rules, by reason."""
        if not self.partitions:
            return {}
        from queuesim.site.partitions import refused_by

        reasons = refused_by(workload, self.partitions)
        never = _never_placed(workload, policy, self.access(workload, policy))
        if never.any():
            reasons[f"never fits its partition under {policy.name}"] = never
        return reasons


def _never_placed(workload: Workload, policy: Policy, access: Access) -> Mask:
    """Return which jobs the policy cannot place on the empty nodes of their partition, (n,)."""
    from queuesim.site.node_sets import allocate_within

    partition, trial = np.array(access.partition, dtype=np.int64), policy.clone()
    no_links = np.empty(0, dtype=np.int32)
    never = np.zeros(len(workload), dtype=bool)
    for number, nodes in enumerate(access.nodes):
        for size in np.unique(workload.n_nodes[partition == number]).tolist():
            if size <= np.count_nonzero(nodes):
                if policy.replays:
                    continue  # its limits do not depend on a job's size
                placement = allocate_within(trial, Request(-1, size), nodes, no_links)
                if placement is not None:
                    trial.release(placement)
                    continue
            never |= (partition == number) & (workload.n_nodes == size)
    return never
