"""One simulation of a queue, event by event.

In each instant all arrivals and finishes happen first, then one scheduling pass. A
running job has work left that shrinks at its rate, and a planned end; when its rate
changes it takes stock of what it has done and plans its end anew. A pass is no call of the clock:
it is due, and comes before the clock moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf, isfinite, isnan, nan
from time import perf_counter
from typing import NamedTuple

import numpy as np

from alloc.policy import Placement
from netsim.errors import NetcosimError
from queuesim.backfilling.backfill import Backfill, Start
from queuesim.clock import Clock, delay
from queuesim.machine import Machine
from queuesim.ordering.orders import Order
from queuesim.result import COMPLETED, CUT, PlacementArrays, QueueResult, TimeSpent
from queuesim.runtime import RunTimes
from queuesim.waiting import WaitingQueue, make_queue
from workloads.job import Workload


class RunLabels(NamedTuple):
    """The settings of a run, as recorded in its result."""

    order: str
    backfill: str
    window: int | None
    overrun: str
    run_time_model: str


class Running:
    """A running job: its work left at the time ``began``, its rate and its planned end."""

    __slots__ = ("began", "cut", "ends_s", "late", "limit", "plan", "rate", "remaining")

    def __init__(self, work_s: float, rate: float, limit: float) -> None:
        self.remaining = work_s
        self.rate = rate
        self.limit = limit
        self.began = 0.0
        self.late = False
        self.cut = False
        self.ends_s = inf
        self.plan = 0


class Run:
    """One simulation: its clock, and what its events share."""

    spent: TimeSpent | None = None
    """What the time of interrupted jobs was spent on."""

    def __init__(
        self,
        workload: Workload,
        machine: Machine,
        order: Order,
        method: Callable[[Machine, WaitingQueue, int | None, Start], Backfill],
        labels: RunLabels,
        grace_s: float | None,
        run_times: RunTimes,
        keep_placements: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        n = len(workload)
        self.began = perf_counter()
        self.workload = workload
        self.labels = labels
        self.machine = machine
        self.run_times = run_times
        self.progress = progress
        window = labels.window
        depth = max(n, 1) if window is None else window + 1
        self.queue = make_queue(order, workload, depth, machine.kind)
        self.scheduler = method(machine, self.queue, window, self._started)
        self.scheduler.link_use = run_times.link_use
        begin = float(workload.submit_s[0]) if n else 0.0
        self.clock = Clock(min(0.0, begin))
        self.due = False
        """Whether a scheduling pass follows when all of this instant has happened."""
        self.running: dict[int, Running] = {}
        self.new: list[int] = []
        self.rates: dict[int, float] = {}
        self.n_done = 0
        self.start_s = np.full(n, nan)
        self.end_s = np.full(n, nan)
        self.grace_s = grace_s
        """How long past its walltime a job is cut; None: never."""
        self.overran = np.zeros(n, dtype=bool)
        self.outcome = np.full(n, COMPLETED, dtype=np.int8)
        self.eligible_s = np.array(workload.submit_s, dtype=np.float64)
        self.allocated = np.zeros(n, dtype=np.int32)
        self.event_s: list[float] = []
        self.event_job: list[int] = []
        self.event_is_start: list[bool] = []
        self.kept: list[Placement | None] | None = [None] * n if keep_placements else None

    def run(self) -> None:
        """Run from the first arrival to the last finish."""
        with self.scheduler:
            for now_s in self.passes():
                self.scheduler.run_pass(now_s)

    def passes(self) -> Iterator[float]:
        """Yield the instants at which jobs may start, after all arrivals and finishes of each.

        Jobs started between two of them start at the earlier one: the clock does not advance until
        the iterator is resumed.
        """
        if len(self.workload) == 0:
            return
        self._begin()
        clock, n_jobs = self.clock, len(self.workload)
        while self.n_done < n_jobs:
            next_s = clock.next_s
            if self.due and next_s > clock.now_s:
                self.due = False
                yield clock.now_s
                self._settle()
                if clock.now_s < self.scheduler.until_s < inf:
                    clock.at(self.scheduler.until_s, self._pass_is_due)
            elif next_s < inf:
                clock.step()
            else:
                raise NetcosimError(self._stuck(clock.now_s))

    def _begin(self) -> None:
        self.clock.follow(self._arrivals())
        if self.machine.policy.relents_after_s is not None:
            self.clock.follow(self._relents())

    def _pass_is_due(self) -> None:
        """Run a pass now, unless one before has changed its time."""
        self.due = self.due or self.scheduler.until_s <= self.clock.now_s

    def _stuck(self, now_s: float) -> str:
        return (
            f"{self.workload.name}: at {now_s} s {len(self.running)} jobs run and "
            f"{len(self.queue)} wait, but nothing moves: {self._why_stuck()}"
        )

    def _why_stuck(self) -> str:
        if self.running:
            return "the run-time model gave every running job the rate 0"
        return "no waiting job is ever started"

    def _arrivals(self) -> Iterator[float]:
        """Put jobs into the queue, all that enter it at one time together."""
        clock = self.clock
        enters_s = self.scheduler.enters_s(self.workload)
        jobs = np.argsort(enters_s, kind="stable")
        times, k, n = enters_s[jobs].tolist(), 0, len(jobs)
        while k < n:
            if times[k] > clock.now_s:
                yield times[k]
            while k < n and times[k] <= clock.now_s:
                self._arrived(int(jobs[k]))
                k += 1
            self.due = True

    def _relents(self) -> Iterator[float]:
        """Schedule a pass whenever the policy relents on waiting jobs."""
        for job in range(len(self.workload)):
            time_s = self.machine.relents_s(job)
            if time_s > self.clock.now_s:
                yield time_s
            if isnan(self.start_s[job]):
                self.machine.released = True
                self.due = True

    def _arrived(self, job: int) -> None:
        """Add a submitted job."""
        self.scheduler.push(job, self.clock.now_s)

    def _settle(self) -> None:
        """Update the running jobs after all starts of this instant are reported."""
        self._change(self.run_times.settle(self.clock.now_s))
        if self.new or self.rates:
            self._apply_rates()

    def _started(self, job: int) -> None:
        """Record that the current pass placed a job."""
        now = self.clock.now_s
        placement = self._note_start(job, now)
        self.new.append(job)
        self._change(self.run_times.on_start(job, placement, now))

    def _note_start(self, job: int, now: float) -> Placement:
        placement = self.machine.placements[job]
        self.start_s[job] = now
        self.allocated[job] = len(placement.nodes)
        self.event_s.append(now)
        self.event_job.append(job)
        self.event_is_start.append(True)
        if self.kept is not None:
            self.kept[job] = placement
        self.queue.started(job, now)
        return placement

    def _change(self, rates: Mapping[int, float]) -> None:
        if rates:
            self.rates.update(rates)

    def _apply_rates(self) -> None:
        """Plan the ends of the new jobs, then anew of the old ones whose rates change."""
        rates, now = self.rates, self.clock.now_s
        for job in self.new:
            work = self.run_times.work_s(job)
            if not (isfinite(work) and work > 0):
                raise NetcosimError(f"job {self._id(job)}: run time {work} s; it must be > 0")
            rate = self._checked(job, rates.pop(job)) if job in rates else 1.0
            planned_s = self._planned_s(job, work)
            running = Running(planned_s, rate, now + self.machine.requested_s[job])
            self.running[job] = running
            self._plan(job, running)
        self.new.clear()
        for job, rate in rates.items():
            if job not in self.running:
                raise NetcosimError(f"job {self._id(job)}: a rate for a job that does not run")
            running = self.running[job]
            new_rate = self._checked(job, rate)
            running.remaining = max(0.0, running.remaining - running.rate * (now - running.began))
            running.rate = new_rate
            self._plan(job, running)
        rates.clear()

    def _planned_s(self, job: int, work_s: float) -> float:
        """Return what a run needs at rate 1 of a job that has so much work."""
        return work_s

    def _checked(self, job: int, rate: float) -> float:
        if not (isfinite(rate) and rate >= 0):
            raise NetcosimError(f"job {self._id(job)}: rate {rate}; it must be >= 0")
        return float(rate)

    def _plan(self, job: int, running: Running) -> None:
        """Plan the end of a job at its present rate; the end that was planned is void."""
        began = running.began = self.clock.now_s
        rate = running.rate
        needed = running.remaining / rate if rate > 0 else inf
        stop = inf if self.grace_s is None else running.limit + self.grace_s
        running.late = began + needed > running.limit
        running.cut = began + needed > stop
        if running.cut:
            needed = delay(began, stop)
        running.plan += 1
        running.ends_s = began + needed
        if needed < inf:
            self.clock.after(needed, partial(self._ended, job, running, running.plan))

    def _ended(self, job: int, running: Running, plan: int) -> None:
        """End a job whose planned end has come, unless it was planned anew."""
        if running.plan == plan and self.running.get(job) is running:
            self.overran[job] = running.late
            if running.cut:
                self.outcome[job] = CUT
            self._leave(job)
            self._done(job)
            self.due = True

    def _leave(self, job: int) -> None:
        """Remove a running job and report its end."""
        now = self.clock.now_s
        del self.running[job]
        self.rates.pop(job, None)
        self._note_end(job, now)
        self._change(self.run_times.on_finish(job, now))

    def _note_end(self, job: int, now: float) -> None:
        self.end_s[job] = now
        self.event_s.append(now)
        self.event_job.append(job)
        self.event_is_start.append(False)
        self.scheduler.ended(job, now)
        self.machine.release(job, now)
        self.queue.ended(job, now)

    def _done(self, job: int) -> None:
        """Count a job to which nothing more will happen."""
        self.n_done += 1
        if self.progress is not None:
            n = len(self.workload)
            if self.n_done % max(1, n // 1000) == 0 or self.n_done == n:
                self.progress(self.n_done, n)

    def _id(self, job: int) -> int:
        return int(self.workload.job_id[job]) if 0 <= job < len(self.workload) else job

    def result(self) -> QueueResult:
        """Return the columns, frozen."""
        promised = np.full(len(self.workload), nan)
        for job, time_s in self.scheduler.promised_s.items():
            promised[job] = time_s
        blocked = self.scheduler.first_blocked_s
        kept = None if self.kept is None else PlacementArrays.from_placements(self.kept)
        return QueueResult(
            workload=self.workload,
            policy=self.machine.policy.name,
            **self.labels._asdict(),
            topology=self.machine.policy.topology,
            wall_s=perf_counter() - self.began,
            start_s=self.start_s,
            end_s=self.end_s,
            eligible_s=self.eligible_s,
            overran=self.overran,
            outcome=self.outcome,
            allocated_nodes=self.allocated,
            promised_s=promised,
            scheduling_s=np.asarray(self.machine.scheduling_s, dtype=np.float64),
            event_s=np.asarray(self.event_s, dtype=np.float64),
            event_job=np.asarray(self.event_job, dtype=np.int64),
            event_is_start=np.asarray(self.event_is_start, dtype=bool),
            first_blocked_s=nan if blocked is None else blocked,
            placements=kept,
            reports={**self.run_times.report(), **self.reports()},
            needs_Bps=self.machine.needs_Bps,
            spent=self.spent,
        ).frozen()

    def reports(self) -> Mapping[str, Mapping[str, float]]:
        """Return the reports of the queue besides its columns: one row per table, by table."""
        return {}
