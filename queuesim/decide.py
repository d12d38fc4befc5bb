"""Deciders: a scheduling pass as a sequence of decisions, each a job to start.

A pass ends with the decision to wait. The decider receives the waiting jobs in order, the
machine and the promised ends of the running jobs, and starts one job after the other: on the nodes
that the machine's policy finds, on those that another placement rule finds, or on nodes of its own
choice. A `Decider` answers within `queuesim.queue.simulate_queue` (`Decided` puts it in the place
of a backfilling method); a learning environment calls it itself, between two steps of
`queuesim.run.Run.passes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from time import perf_counter
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from alloc.any_rule import AnyRule
from alloc.nodes import BY_SERVER, NodePolicy, gpus_per_server
from alloc.policy import Placement
from netsim.errors import NetcosimError
from netsim.topology import Topology
from queuesim.backfilling.backfill import Backfill, Start
from queuesim.machine import Machine
from queuesim.waiting import WaitingQueue
from workloads.details import JobDetails
from workloads.job import Workload

_Columns = TypeVar("_Columns", Workload, JobDetails)


@dataclass(frozen=True, eq=False)
class Choice:
    """A job to start now."""

    job: int
    """Index into the workload of a waiting job."""
    rule: str = ""
    """Which of the machine's placement rules (`alloc.any_rule.AnyRule`) finds its nodes; empty: the
    machine's policy."""
    nodes: NDArray[np.integer] | None = field(default=None, repr=False)
    """(k,) integer or None. Its nodes, in the order in which ranks are laid on them; None: as
    ``rule`` has it."""


class DecisionPoint:
    """An instant at which jobs may start, as passed to the decider."""

    __slots__ = ("_scheduler", "_window", "machine", "now_s")

    def __init__(self, scheduler: Backfill, now_s: float) -> None:
        self._scheduler = scheduler
        self.machine: Machine = scheduler.machine
        self.now_s = now_s
        self._window: set[int] | None = None

    @property
    def n_free(self) -> int:
        """Free nodes."""
        return self.machine.n_free

    @property
    def n_waiting(self) -> int:
        """Jobs that wait."""
        return len(self._scheduler.queue)

    def waiting(self) -> list[int]:
        """Return the waiting jobs in the queue's order: the head and the window behind it."""
        return self._scheduler.queue.front(self.now_s) if self.n_waiting else []

    def head(self) -> int | None:
        """Return the first of them."""
        return self._scheduler.queue.head(self.now_s) if self.n_waiting else None

    def running(self) -> Sequence[tuple[float, int]]:
        """Return (promised end, job) of the running jobs, sorted."""
        return self.machine.by_end

    def link_use(self) -> NDArray[np.float64] | None:
        """Return the share of time that links are busy; None: the run-time model has no links."""
        return self._scheduler.link_use()

    def shadow(self, job: int) -> tuple[float, int]:
        """Return when enough nodes are free for a job, by count, and how many remain then.

        That is if all running jobs end as promised, and at the earliest now.
        """
        n_nodes = self.machine.n_nodes[job]
        shadow_s, free, _ = self.machine.shadow_count(n_nodes, self.now_s)
        return shadow_s, free - n_nodes

    def behind(self, shadow_s: float, extra: int) -> Iterator[int]:
        """Yield jobs behind the head within the window, in order, that may start by count.

        Jobs that end by ``shadow_s`` may use any number of nodes, others at most ``extra``.
        """
        queue, windowed = self._scheduler.queue, self._scheduler.window is not None
        if windowed and self._window is None:
            # a pass considers one window: a job that starts behind the head admits no other job
            self._window = set(queue.front(self.now_s))
        latest_end_s = self.machine.latest_end_s(shadow_s, extra)
        for job in queue.candidates(self.now_s, latest_end_s):
            if self._window is None or job in self._window:
                yield job

    def within(self, job: int, domain: NDArray[np.bool_]) -> NDArray[np.int32] | None:
        """Return nodes for a job in a part of the machine, as the policy chooses among them.

        If the job does not fit into the part (``domain``, by node), it gets all free nodes there,
        then others that the policy chooses; None if the machine has too few. Nothing is started.
        """
        policy, request = self.machine.policy, self.machine.request(job, self.now_s)
        if not (policy.counts_only and policy.holds_any):
            raise NetcosimError(
                f"policy {policy.name!r} cannot be kept to a part of the machine: it goes by more "
                "than which nodes are free"
            )
        found: list[NDArray[np.int32]] = []
        left = request.n_nodes
        if left > policy.n_free:
            return None
        for part in (domain, ~domain):
            policy.hold(Placement(request.job_id, np.flatnonzero(~part).astype(np.int32)))
            here = min(left, policy.n_free)
            placement = policy.allocate(replace(request, n_nodes=here)) if here else None
            policy.unhold()
            if placement is not None:
                policy.release(placement)
                found.append(placement.nodes)
                left -= here
        return np.concatenate(found)

    def start(self, choice: Choice) -> bool:
        """Start a job; False (and nothing changed) if it finds no place."""
        machine, now_s, job = self.machine, self.now_s, int(choice.job)
        if not self._scheduler.queue.holds(job):
            raise NetcosimError(f"decision at {now_s} s: job index {job} does not wait")
        if choice.nodes is None and not choice.rule:
            placement = machine.allocate(job, now_s)
        else:
            placement = self._placed(choice)
            if placement is not None:
                machine.take(job, placement, now_s)
        if placement is None:
            return False
        self._scheduler.begin(job, now_s)
        return True

    def _placed(self, choice: Choice) -> Placement | None:
        machine, policy, job = self.machine, self.machine.policy, choice.job
        request = machine.request(job, self.now_s)
        began = perf_counter()
        if choice.nodes is not None:
            if not isinstance(policy, AnyRule | NodePolicy) or not policy.holds_any:
                raise NetcosimError(
                    f"policy {policy.name!r} cannot place a job on given nodes: it depends on "
                    "more than which "
                    "nodes are free"
                )
            if len(choice.nodes) != request.n_nodes:
                raise NetcosimError(
                    f"job {request.job_id}: {len(choice.nodes)} nodes chosen for a job of "
                    f"{request.n_nodes}"
                )
            placement: Placement | None = policy.take(request.job_id, choice.nodes)
        elif isinstance(policy, AnyRule):
            placement = policy.allocate_by(choice.rule, request)
        else:
            raise NetcosimError(
                f"placement rule {choice.rule!r}: the machine has one policy, {policy.name!r}"
            )
        machine.scheduling_s[job] += perf_counter() - began
        return placement


def known_at_submit(workload: Workload) -> Workload:
    """Return read-only copies of the data that a scheduler has of its jobs at submission.

    Run times and logged waits are NaN; where the log has them, how jobs ended and on which nodes
    they ran is left out.
    """
    unknown = np.full(len(workload), np.nan)
    details = replace(workload.details, status=None, node_list=None)
    jobs = replace(workload, run_time_s=unknown, wait_s=unknown, details=_read_only(details))
    return _read_only(jobs)


def _read_only(columns: _Columns) -> _Columns:
    """Return the same with a read-only copy of every array."""
    copies: dict[str, Any] = {
        column.name: np.array(values)
        for column in fields(columns)
        if isinstance(values := getattr(columns, column.name), np.ndarray)
    }
    for values in copies.values():
        values.flags.writeable = False
    return replace(columns, **copies)


class Decider(ABC):
    """Makes the decisions of a scheduling pass. `begin` resets it before a run."""

    registered_in: ClassVar[str] = "queuesim.registry:DECIDERS"

    name: str
    description: str
    windowed: ClassVar[bool] = True
    """Whether it considers jobs behind the head, up to the window."""
    names_rules: ClassVar[bool] = True
    """Whether its choices may name a placement rule."""
    until_s: float = inf
    """When `decide` is called again at the latest, as long as jobs wait; set by `decide`."""

    def begin(self, workload: Workload, topology: Topology, rng: np.random.Generator) -> None:
        """Prepare for a run.

        Jobs are read-only, as known at submit (`known_at_submit`): run times are NaN. In a run of a
        config their ``details`` have what they send: patterns and communication fractions. All
        draws come from ``rng``.
        """
        return

    def arrived(self, job: int, now_s: float) -> None:
        """Note that a job, by index, has joined the waiting queue."""
        return

    def ended(self, job: int, now_s: float) -> None:
        """Note that a running job ends; the machine still has its placement."""
        return

    def end(self, *, done: bool) -> None:
        """Release what the run needed; ``done``: all jobs have ended."""
        return

    @abstractmethod
    def decide(self, point: DecisionPoint) -> Choice | None:
        """Return the next job to start, or None to wait until something arrives or ends.

        Called again in the same instant after each job that it starts.
        """


MOST_WAITS = 100_000
"""Decisions in a row to wait for another time while nothing happens: only as many seconds of
running jobs."""


class Decided(Backfill):
    """A decider in the place of a backfilling method; other arguments as for every `Backfill`."""

    def __init__(
        self,
        machine: Machine,
        queue: WaitingQueue,
        window: int | None,
        start: Start,
        decider: Decider,
    ) -> None:
        super().__init__(machine, queue, window, start)
        self.decider = decider
        self.name = decider.name
        self._n_waits, self._waits_from_s = 0, 0.0

    def push(self, job: int, now_s: float) -> None:
        super().push(job, now_s)
        self._n_waits = 0
        self.decider.arrived(job, now_s)

    def ended(self, job: int, now_s: float) -> None:
        self._n_waits = 0
        self.decider.ended(job, now_s)

    def __exit__(self, *error: object) -> None:
        self.decider.end(done=error[0] is None)

    def run_pass(self, now_s: float) -> None:
        point, decide = DecisionPoint(self, now_s), self.decider.decide
        self.until_s = inf
        while len(self.queue):
            choice = decide(point)
            if choice is None:
                self.until_s = self.decider.until_s
                self._note_blocked(now_s)
                self._note_wait(now_s, bool(point.running()))
                return
            self._n_waits = 0
            self._start(point, choice)

    def _note_wait(self, now_s: float, jobs_run: bool) -> None:
        if self._n_waits == 0:
            self._waits_from_s = now_s
        self._n_waits += 1
        waited_s = now_s - self._waits_from_s
        if self._n_waits > MOST_WAITS and (not jobs_run or waited_s < MOST_WAITS):
            raise NetcosimError(
                f"decider {self.name!r}: at {now_s:g} s: waited {MOST_WAITS:,} times in a row, "
                f"{waited_s:g} s in all, in which no job came, started or ended; wait for longer"
            )

    def _start(self, point: DecisionPoint, choice: object) -> None:
        job: object = getattr(choice, "job", None)
        if not isinstance(choice, Choice) or not isinstance(job, int | np.integer):
            raise NetcosimError(
                f"decider {self.name!r}: decided {choice!r}; it must be a Choice of a job's index, "
                "or None"
            )
        try:
            started = point.start(choice)
        except NetcosimError as error:
            raise NetcosimError(f"decider {self.name!r}: {error}") from None
        if not started:
            machine, where = self.machine, ""
            if gpus_per_server(machine.policy.topology) > 1:
                where = f"; {BY_SERVER}"
            raise NetcosimError(
                f"decider {self.name!r}: job index {job} cannot be placed: it requests "
                f"{machine.n_nodes[int(job)]} nodes, {machine.n_free} are free{where}"
            )


class Strict(Decider):
    """Strict order by count: the decider that `queuesim.backfilling.backfill.NoBackfill` is."""

    name = "strict"
    description = "the head of the queue or no job, by the number of free nodes"
    windowed = False
    names_rules = False

    def decide(self, point: DecisionPoint) -> Choice | None:
        """Return the head, if there are nodes for it."""
        head = point.head()
        if head is None or point.machine.n_nodes[head] > point.n_free:
            return None
        return Choice(head)


class Easy(Decider):
    """EASY by count (Skovira et al. 1996): the decider that
    `queuesim.backfilling.easy.EasyBackfill` is.

    For policies that depend only on the number of free nodes: nothing is held, a job behind the
    head starts if it ends by the shadow time or takes no more than the extra nodes.
    """

    name = "easy"
    description = "later jobs may start if they cannot delay the head, by the number of free nodes"
    names_rules = False

    def decide(self, point: DecisionPoint) -> Choice | None:
        """Return the head, or else the first behind it that does not delay it."""
        head, machine = point.head(), point.machine
        if head is None or not point.n_free:
            return None
        if machine.n_nodes[head] <= point.n_free:
            return Choice(head)
        behind = next(point.behind(*point.shadow(head)), None)
        return None if behind is None else Choice(behind)
