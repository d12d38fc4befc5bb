"""The queue simulator: SimPy runs arrivals, running jobs and scheduling passes.

In each instant all arrivals and finishes happen first, then one scheduling pass. A
running job has work left that shrinks at its rate, and a timeout for its end; when its rate
changes it takes stock of what it has done and plans its end anew. Passes and ends are callbacks of
their events: with a process for each, SimPy would take half as long again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from math import inf, isfinite, nan, nextafter
from time import perf_counter
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError, unknown_name
from queuesim.backfill import check_window
from queuesim.estimates import EstimateModel
from queuesim.machine import Machine
from queuesim.orders import Order
from queuesim.registry import find_backfill, find_order
from queuesim.result import KeptPlacements, QueueResult
from queuesim.runtime import AsLogged, RunTimeModel, RunTimes
from queuesim.waiting import make_queue
from workloads.job import Workload
from workloads.transform import drop

SimProcess = Generator[Any, Any, None]

OVERRUNS: dict[str, str] = {
    "keep": "a job past its walltime runs on until its work is done",
    "cut": "a job ends at its walltime, done or not, as real schedulers have it",
}
"""What happens to a job that still has work at its requested walltime."""


def simulate_queue(
    workload: Workload,
    policy: Policy,
    *,
    order: str | Order = "fcfs",
    backfill: str = "easy",
    window: int | None = None,
    overrun: str = "keep",
    run_time_model: RunTimeModel | None = None,
    rng: np.random.Generator,
    bandwidth_Bps: NDArray[np.float64] | None = None,
    estimates: EstimateModel | None = None,
    keep_placements: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> QueueResult:
    """Run a workload through a queue on a machine.

    Parameters
    ----------
    workload : Workload
        Walltimes (``requested_s``) steer reservations, and with ``overrun = "cut"`` they
        end jobs.
    policy : Policy
        Empty; it is used up.
    order : str or Order
        A name in `queuesim.registry.ORDERS`, or an order of your own.
    backfill : str
        A name in `queuesim.registry.BACKFILLS`.
    window : int or None
        How many jobs behind the head a pass looks at; None, the textbooks' rule, for all.
    overrun : str
        A key of `OVERRUNS`: what happens to a job past its walltime, under any run-time
        model. `QueueResult.overran` has the jobs either way.
    run_time_model : RunTimeModel or None
        None: as logged.
    rng : numpy.random.Generator
        For the run-time model's draws; the policy has its own.
    bandwidth_Bps : (n,) float64 or None
        Link bandwidth each job needs, for policies that share links.
    estimates : EstimateModel or None
        Run times told to the policy (`Request.end_s`); None for the requested ones.
    keep_placements : bool
        Keep every job's nodes and links, for snapshots and charts.
    progress : callable or None
        ``progress(jobs_done, jobs)``, about a thousand times.

    Returns
    -------
    QueueResult

    Raises
    ------
    NetcosimError
        An unknown name, a job larger than the machine can ever place, jobs not sorted by
        submit time, a run time or rate that makes no sense.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> jobs = nc.laas_workload(100, 16, rng)
    >>> policy = nc.make_policy(nc.preset("dragonfly-272"), "level-spread", rng)
    >>> schedule = nc.simulate_queue(jobs, policy, backfill="easy", rng=rng)
    >>> summary = nc.summarise(schedule)
    >>> summary.n_jobs, round(summary.makespan_s), round(summary.utilisation, 3)
    (100, 11411, 0.853)
    """
    check_window(window)
    if overrun not in OVERRUNS:
        raise unknown_name("overrun", overrun, OVERRUNS)
    _check_fits(workload, policy)
    chosen = find_order(order) if isinstance(order, str) else order
    model = AsLogged() if run_time_model is None else run_time_model
    if bandwidth_Bps is not None and len(bandwidth_Bps) != len(workload):
        raise NetcosimError(
            f"bandwidth_Bps has {len(bandwidth_Bps)} values for {len(workload)} jobs"
        )
    run = _Run(
        workload,
        Machine(
            workload,
            policy,
            bandwidth_Bps,
            None if estimates is None else estimates.prepare(workload),
        ),
        chosen,
        backfill,
        window,
        overrun,
        model.prepare(workload, policy, rng),
        keep_placements,
        progress,
    )
    run.run()
    return run.result(chosen.name, backfill, window, overrun, model.label)


def fitting(workload: Workload, policy: Policy) -> Workload:
    """The workload without the jobs that the policy can never place, which it counts.

    Returns
    -------
    Workload
        ``dropped`` has an entry for them; the same object if nothing was dropped.
    """
    sizes, inverse = np.unique(workload.n_nodes, return_inverse=True)
    fits = np.array([policy.fits_empty(int(size)) for size in sizes], dtype=bool)
    keep = fits[inverse] if len(sizes) else np.ones(0, dtype=bool)
    if keep.all():
        return workload
    return drop(workload, ~keep, f"never fits under {policy.name}")


def _check_fits(workload: Workload, policy: Policy) -> None:
    bad = [int(n) for n in np.unique(workload.n_nodes) if not policy.fits_empty(int(n))]
    if bad:
        jobs = np.flatnonzero(np.isin(workload.n_nodes, bad))
        raise NetcosimError(
            f"{workload.name}: {len(jobs)} jobs can never be placed by {policy.name!r} on "
            f"{policy.topology.name} ({policy.topology.n_nodes} nodes), the first is job "
            f"{workload.job_id[jobs[0]]} with {workload.n_nodes[jobs[0]]} nodes; "
            'larger_jobs = "drop" leaves them out'
        )
    if len(workload) and np.any(np.diff(workload.submit_s) < 0):
        raise NetcosimError(f"{workload.name}: jobs must be sorted by submit time")
    if len(workload) and not np.all(workload.requested_s > 0):
        raise NetcosimError(f"{workload.name}: requested times must be > 0")


class _Running:
    """A running job: its work left at the time ``began``, its rate and the event of its end."""

    __slots__ = ("began", "end", "late", "limit", "rate", "remaining")

    def __init__(self, work_s: float, rate: float, limit: float) -> None:
        self.remaining = work_s
        self.rate = rate
        self.limit = limit
        self.began = 0.0
        self.late = False
        self.end: simpy.Event | None = None


class _Run:
    """One simulation: SimPy's events and what they share."""

    def __init__(
        self,
        workload: Workload,
        machine: Machine,
        order: Order,
        backfill: str,
        window: int | None,
        overrun: str,
        run_times: RunTimes,
        keep_placements: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        n = len(workload)
        self.began = perf_counter()
        self.workload = workload
        self.machine = machine
        self.run_times = run_times
        self.progress = progress
        depth = max(n, 1) if window is None else window + 1
        self.queue = make_queue(order, workload, depth, machine.kind)
        self.scheduler = find_backfill(backfill)(machine, self.queue, window, self._started)
        begin = float(workload.submit_s[0]) if n else 0.0
        self.env = simpy.Environment(initial_time=min(0.0, begin))
        self.wake = self._next_wake()
        self.all_done = self.env.event()
        self.running: dict[int, _Running] = {}
        self.new: list[int] = []
        self.rates: dict[int, float] = {}
        self.n_done = 0
        self.start_s = np.full(n, nan)
        self.end_s = np.full(n, nan)
        self.cuts = overrun == "cut"
        self.overran = np.zeros(n, dtype=bool)
        self.allocated = np.zeros(n, dtype=np.int32)
        self.event_job: list[int] = []
        self.event_is_start: list[bool] = []
        self.kept: list[Placement | None] | None = [None] * n if keep_placements else None

    def run(self) -> None:
        """From the first arrival to the last finish."""
        n = len(self.workload)
        if n == 0:
            return
        self.env.process(self._arrivals())
        try:
            self.env.run(until=self.all_done)
        except RuntimeError as stuck:
            # SimPy's word for "no more events": every job that runs has rate 0.
            if self.all_done.triggered or "scheduled events left" not in str(stuck):
                raise
            raise NetcosimError(
                f"{self.workload.name}: at {self.env.now} s {len(self.running)} jobs run and "
                f"{len(self.queue)} wait, but nothing moves: the run-time model gave every "
                "running job the rate 0"
            ) from stuck

    def _arrivals(self) -> SimProcess:
        """Put jobs into the queue, all of one submit time together."""
        env, queue = self.env, self.queue
        submit = self.workload.submit_s.tolist()
        k, n = 0, len(submit)
        while k < n:
            if submit[k] > env.now:
                yield env.timeout(_delay(env.now, submit[k]))
            while k < n and submit[k] <= env.now:
                queue.push(k)
                k += 1
            self._wake()

    def _next_wake(self) -> simpy.Event:
        """An event that runs a scheduling pass after all that happens in an instant.

        It is set off during the instant, after everything that was planned for it, so SimPy's
        order of equal times puts the pass last.
        """
        wake = self.env.event()
        wake.callbacks.append(self._pass)
        return wake

    def _pass(self, event: simpy.Event) -> None:
        self.wake = self._next_wake()
        now = self.env.now
        self.scheduler.run_pass(now)
        self._change(self.run_times.settle(now))
        self._apply_rates()

    def _wake(self) -> None:
        if not self.wake.triggered:
            self.wake.succeed()

    def _started(self, job: int) -> None:
        """A job was placed in the pass that runs now."""
        now = self.env.now
        placement = self.machine.placements[job]
        self.start_s[job] = now
        self.allocated[job] = len(placement.nodes)
        self.event_job.append(job)
        self.event_is_start.append(True)
        if self.kept is not None:
            self.kept[job] = placement
        self.new.append(job)
        self._change(self.run_times.on_start(job, placement, now))

    def _change(self, rates: Mapping[int, float]) -> None:
        if rates:
            self.rates.update(rates)

    def _apply_rates(self) -> None:
        """Plan the ends of the new jobs, then anew of the old ones whose rates change."""
        rates, now = self.rates, self.env.now
        for job in self.new:
            work = self.run_times.work_s(job)
            if not (isfinite(work) and work > 0):
                raise NetcosimError(f"job {self._id(job)}: run time {work} s; it must be > 0")
            rate = self._checked(job, rates.pop(job)) if job in rates else 1.0
            running = _Running(work, rate, now + self.machine.requested_s[job])
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

    def _checked(self, job: int, rate: float) -> float:
        if not (isfinite(rate) and rate >= 0):
            raise NetcosimError(f"job {self._id(job)}: rate {rate}; it must be >= 0")
        return rate

    def _plan(self, job: int, running: _Running) -> None:
        """Plan the end of a job at its present rate; the end that was planned is void."""
        began = running.began = self.env.now
        rate = running.rate
        needed = running.remaining / rate if rate > 0 else inf
        running.late = began + needed > running.limit
        if running.late and self.cuts:
            needed = _delay(began, running.limit)
        running.end = None
        if needed < inf:
            running.end = simpy.Timeout(self.env, needed, job)
            running.end.callbacks.append(self._ended)

    def _ended(self, end: simpy.Event) -> None:
        """A planned end has come, if it still stands."""
        job = int(end.value)  # type: ignore[arg-type]
        running = self.running.get(job)
        if running is not None and running.end is end:
            self.overran[job] = running.late
            self._finished(job)

    def _finished(self, job: int) -> None:
        now = self.env.now
        del self.running[job]
        self.rates.pop(job, None)
        self.end_s[job] = now
        self.event_job.append(job)
        self.event_is_start.append(False)
        self.machine.release(job, now)
        self._change(self.run_times.on_finish(job, now))
        self.n_done += 1
        n = len(self.workload)
        if self.progress is not None and (self.n_done % max(1, n // 1000) == 0 or self.n_done == n):
            self.progress(self.n_done, n)
        if self.n_done == n:
            self.all_done.succeed()
        self._wake()

    def _id(self, job: int) -> int:
        return int(self.workload.job_id[job]) if 0 <= job < len(self.workload) else job

    def result(
        self, order: str, backfill: str, window: int | None, overrun: str, run_time_model: str
    ) -> QueueResult:
        """The columns, frozen."""
        promised = np.full(len(self.workload), nan)
        for job, time_s in self.scheduler.promised_s.items():
            promised[job] = time_s
        blocked = self.scheduler.first_blocked_s
        kept = None
        if self.kept is not None:
            kept = KeptPlacements.pack([p for p in self.kept if p is not None])
        result = QueueResult(
            workload=self.workload,
            policy=self.machine.policy.name,
            order=order,
            backfill=backfill,
            run_time_model=run_time_model,
            window=window,
            overrun=overrun,
            topology=self.machine.policy.topology,
            wall_s=perf_counter() - self.began,
            start_s=self.start_s,
            end_s=self.end_s,
            overran=self.overran,
            allocated_nodes=self.allocated,
            promised_s=promised,
            scheduling_s=np.asarray(self.machine.scheduling_s, dtype=np.float64),
            event_job=np.asarray(self.event_job, dtype=np.int64),
            event_is_start=np.asarray(self.event_is_start, dtype=bool),
            first_blocked_s=nan if blocked is None else blocked,
            placements=kept,
            reports=self.run_times.report(),
            needs_Bps=self.machine.needs_Bps,
        )
        for column in (result.start_s, result.end_s, result.overran, result.allocated_nodes):
            column.flags.writeable = False
        return result


def _delay(now_s: float, time_s: float) -> float:
    """A delay that brings the clock to time_s, never a rounding step before it."""
    delay = time_s - now_s
    while now_s + delay < time_s:
        delay = nextafter(delay, inf)
    return delay
