"""A queue before its first arrival: its parts, checked and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from netsim.errors import NetcosimError, need_name, warn_of_model
from netsim.kinds import FUNCTION, NONE, RNG, need_array, need_kinds
from netsim.plugin_entries import given_by
from queuesim.backfilling.backfill import Backfill, Start, check_window
from queuesim.compiled import choice
from queuesim.compiled.choice import why_by_events
from queuesim.estimates import EstimateModel, Estimates
from queuesim.machine import Machine
from queuesim.ordering.orders import Order
from queuesim.registry import find_backfill, find_order
from queuesim.run import Run, RunLabels
from queuesim.runtime import AsLogged, RunTimeModel, RunTimes
from queuesim.site.rules import Rules
from queuesim.waiting import WaitingQueue
from workloads.job import Workload

if TYPE_CHECKING:
    from queuesim.decide import Decider
    from queuesim.site.failures import Failure

NO_RULES = Rules()

OVERRUNS: dict[str, str] = {
    "keep": "a job past its walltime runs on until its work is done",
    "cut": "a job ends at its walltime, done or not, as real schedulers have it",
}
"""What happens to a job that still has work at its requested walltime."""


_KINDS: dict[str, Any] = {
    "workload": Workload,
    "policy": Policy,
    "order": (str, Order),
    "run_time_model": (RunTimeModel, NONE),
    "rng": RNG,
    "estimates": (EstimateModel, NONE),
    "rules": Rules,
    "progress": (FUNCTION, NONE),
}


class QueueOptions(TypedDict, total=False):
    """Further options of a queue; `QueueSetup` has their defaults."""

    window: int | None
    """How many jobs behind the head a pass looks at; None, the textbooks' rule, for all."""
    reservations: int | None
    """How many of the first blocked jobs conservative backfilling reserves nodes for; None: all."""
    overrun: str
    """A key of `OVERRUNS`: what happens to a job past its walltime, under any run-time model.
    `QueueResult.overran` has the jobs either way."""
    bandwidth_Bps: NDArray[np.float64] | None
    """(n,) float64. Link bandwidth each job needs, for policies that share links."""
    estimates: EstimateModel | None
    """Run times passed to the policy (`Request.end_s`); None for the requested ones."""
    keep_placements: bool
    """Keep every job's nodes and links, for snapshots and charts."""
    progress: Callable[[int, int], None] | None
    """``progress(jobs_done, jobs)``, about a thousand times."""


@dataclass
class QueueSetup:
    """A queue before its first arrival: takes and refuses what `simulate_queue` does.

    Attributes
    ----------
    chosen : Order
        In which the jobs wait.
    labels : RunLabels
    run_times : RunTimes
    known_s : Estimates or None
        Run times passed to the policy; None for the requested ones.
    only_times : bool
        Only starts and ends are needed: the policy is not called for placements, even if it
        would draw them.
    failures_rng : Generator or None
        Of random failures; by default a child of ``rng``.
    known : Workload or None
        What a decider gets of the jobs; by default the workload.
    repeats : int
        Number of such queues: a kernel is loaded for many small ones too.
    """

    workload: Workload
    policy: Policy
    _: KW_ONLY
    order: str | Order = "fcfs"
    backfill: str | Decider = "easy"
    window: int | None = None
    reservations: int | None = None
    overrun: str = "keep"
    run_time_model: RunTimeModel | None = None
    rng: np.random.Generator
    failures_rng: np.random.Generator | None = None
    bandwidth_Bps: NDArray[np.float64] | None = None
    estimates: EstimateModel | None = None
    rules: Rules = NO_RULES
    keep_placements: bool = False
    progress: Callable[[int, int], None] | None = None
    only_times: bool = False
    known: Workload | None = None
    repeats: int = 1

    def __post_init__(self) -> None:
        need_kinds(
            "simulate_queue", {name: (getattr(self, name), kind) for name, kind in _KINDS.items()}
        )
        if not isinstance(self.backfill, str):
            from queuesim.decide import Decider

            need_kinds("simulate_queue", {"backfill": (self.backfill, (str, Decider))})
        policy, rules = self.policy, self.rules
        workload = self.workload = rules.limited(self.workload)
        check_window(self.window)
        check_window(self.reservations, "reservations")
        need_name("overrun", self.overrun, OVERRUNS)
        _check_fits(workload, policy, rules)
        self.chosen = find_order(self.order) if isinstance(self.order, str) else self.order
        self._model = model = AsLogged() if self.run_time_model is None else self.run_time_model
        if self.bandwidth_Bps is not None:
            self.bandwidth_Bps = need_array(
                "queue", "bandwidth_Bps", self.bandwidth_Bps, len(workload), high=np.inf, real=True
            )
        self.known_s = None
        if self.estimates is not None:
            self.known_s = given_by(self.estimates, self.estimates.prepare(workload), Estimates)
        if not isinstance(self.backfill, str) and (rules.uses_node_sets or rules.preempts):
            raise NetcosimError(
                f"decider {self.backfill.name!r} does not support partitions, reservations and "
                "failures of nodes, preemption and quotas"
            )
        known = workload if self.known is None else self.known
        self._method, named = _method(self.backfill, known, policy, self.rng)
        if self.reservations is not None:
            if named != "conservative":
                raise NetcosimError(
                    f"reservations = {self.reservations} with backfill {named!r}; only "
                    '"conservative" has a number of them'
                )
            from queuesim.backfilling.conservative import ConservativeBackfill

            self._method = partial(ConservativeBackfill, reservations=self.reservations)
        if rules.preempts:
            from queuesim.site.preemption import check_preemptive

            check_preemptive(named)
        if rules.failures:
            from queuesim.site.failures import check_failures

            check_failures(rules.failures, rules.checkpoints, workload, policy.topology)
        self._access = rules.access(workload, policy) if rules.uses_node_sets else None
        machine_nodes = policy.topology.n_nodes
        self._claims = rules.claims(workload, self.chosen, self._access, machine_nodes)
        if self._access is not None:
            from queuesim.backfilling.easy_sets import node_set_method

            self._method = node_set_method(named)
            self.chosen = rules.ordered(self.chosen, self._access)
        self.labels = RunLabels(self.chosen.name, named, self.window, self.overrun, model.label)
        self.run_times = given_by(model, model.prepare(workload, policy, self.rng), RunTimes)

    @property
    def why_by_events(self) -> str:
        """Why this queue is not compiled in a process of its own; empty if it is."""
        parts = self.policy, self.chosen, self.backfill, self.rules, self._model
        return why_by_events(len(self.workload), *parts, repeats=self.repeats)

    def is_compiled(self) -> bool:
        """Return whether the queue is compiled; call it once, as it counts the jobs.

        Small queues are, too, as soon as the process has queued `choice.least_jobs`: the kernel is
        loaded once. Results do not depend on it.
        """
        least, n_jobs = choice.least_jobs(self.policy), len(self.workload)
        parts = self.policy, self.chosen, self.backfill, self.rules, self._model
        if why_by_events(least, *parts):
            return False
        places = "" if self.policy.counts_only else self.policy.kernels
        kernel = self.chosen.static_key is None, self.backfill == "conservative", places
        choice.queued_jobs[kernel] += n_jobs
        return max(choice.queued_jobs[kernel], n_jobs * self.repeats) >= least

    def by_events(self) -> Run:
        """Return the queue event by event, to advance pass by pass (`Run.passes`)."""
        given = (self.workload, self.policy, self.bandwidth_Bps, self.known_s)
        access, rules, machine = self._access, self.rules, Machine(*given)
        if access is not None:
            from queuesim.site.node_sets import NodeSetMachine

            machine = NodeSetMachine(*given, access)
        parts = (
            self.workload,
            machine,
            self.chosen,
            self._method,
            self.labels,
            rules.grace_s if self.overrun == "cut" else None,
            self.run_times,
            self.keep_placements,
            self.progress,
        )
        if rules.plain:
            return Run(*parts)
        from queuesim.site.dependencies import DependencyRule
        from queuesim.site.interruptions import Interruptions
        from queuesim.site.ruled_run import RuledRun

        run = RuledRun(*parts)
        waits = DependencyRule(self.workload) if rules.has_dependencies else None
        if waits is not None and not waits.n_jobs:
            line = f'queue.dependencies = "keep": no job of {self.workload.name} waits for another'
            warn_of_model(line)
        interruptions = None
        if rules.interrupts:
            interruptions = Interruptions(len(self.workload), rules.checkpoints)
        run.under(waits, access, rules.requeues, interruptions, self._claims, self._failures())
        return run

    def _failures(self) -> Iterator[Failure] | None:
        """Return the random failures: the same for all policies whose generators are alike."""
        if not self.rules.failures:
            return None
        from queuesim.site.failures import draw_failures

        rng = self.failures_rng or self.rng.spawn(1)[0]
        return draw_failures(self.rules.failures, self.policy.topology, rng)


def _method(
    backfill: str | Decider, workload: Workload, policy: Policy, rng: np.random.Generator
) -> tuple[Callable[[Machine, WaitingQueue, int | None, Start], Backfill], str]:
    """Return the object that runs the passes, and its name."""
    if isinstance(backfill, str):
        return find_backfill(backfill), backfill
    from queuesim.decide import Decided, known_at_submit

    # draws of its own, so that what it draws moves no job's
    backfill.begin(known_at_submit(workload), policy.topology, rng.spawn(1)[0])
    return partial(Decided, decider=backfill), backfill.name


def _check_fits(workload: Workload, policy: Policy, rules: Rules) -> None:
    bad = [n for n in workload.sizes if not policy.fits_empty(n)]
    if bad:
        jobs = np.flatnonzero(np.isin(workload.n_nodes, bad))
        raise NetcosimError(
            f"{workload.name}: {len(jobs)} jobs can never be placed by {policy.name!r} on "
            f"{policy.topology.name} ({policy.topology.n_nodes} nodes), the first is job "
            f"{workload.job_id[jobs[0]]} with {workload.n_nodes[jobs[0]]} nodes; "
            'larger_jobs = "drop" leaves them out'
        )
    for reason, unfit in rules.unfit(workload, policy).items():
        first = int(np.flatnonzero(unfit)[0])
        raise NetcosimError(
            f"{workload.name}: {int(unfit.sum())} jobs can never run ({reason}), the first is job "
            f"{workload.job_id[first]} with {workload.n_nodes[first]} nodes for "
            f'{workload.requested_s[first]:g} s; larger_jobs = "drop" leaves them out'
        )
    if len(workload) and np.any(np.diff(workload.submit_s) < 0):
        raise NetcosimError(f"{workload.name}: jobs must be sorted by submit time")
    if len(workload) and not np.all(workload.requested_s > 0):
        raise NetcosimError(f"{workload.name}: requested times must be > 0")
