"""One simulation of a queue whose jobs wait for others, or leave before they are done.

Jobs that wait for others join the queue when they are eligible. A job that can never become
eligible never runs.

There is one way in which a job leaves early: it gives back its nodes, keeps its work up to its last
checkpoint, and goes back to the queue (`queuesim.site.interruptions`). Failures of its nodes and
jobs that preempt it do so; a job that ends in that very instant has ended. Where a failure sends no
job back, it is over.

Preemption comes before the pass of an instant: the first waiting job starts on free nodes, or in
the place of running jobs of lower claims, as long as there is one that can. It preempts nothing if
it cannot be placed even then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import inf

import numpy as np

from netsim.errors import NetcosimError
from queuesim.metrics import interruption_totals
from queuesim.result import COMPLETED, CUT, FAILED, NEVER_RUN, TimeSpent
from queuesim.run import Run
from queuesim.site.access import Access
from queuesim.site.dependencies import DependencyRule
from queuesim.site.failures import Failure
from queuesim.site.interruptions import Interruptions
from queuesim.site.node_sets import NodeSetMachine
from queuesim.site.preemption import Preemption

MOST_FAILURES, MOST_PREEMPTIONS = 100_000, 5_000
"""In a row without a job that ends: the queue would not end either."""


class RuledRun(Run):
    """See the module's text; built as `queuesim.run.Run`, then `under`."""

    n_requeued = 0

    def under(
        self,
        dependencies: DependencyRule | None,
        access: Access | None,
        requeues: bool,
        interruptions: Interruptions | None,
        preemption: Preemption | None,
        failures: Iterator[Failure] | None,
    ) -> None:
        """Set what jobs wait for, which nodes are out when, and what interrupts jobs."""
        self.dependencies = dependencies
        self.access = access
        self.requeues = requeues
        self.interruptions = interruptions
        self.spent: TimeSpent | None = None
        if interruptions is not None:
            self.spent = interruptions.spent
            self.machine.requested_s = self._walltime_s = list(self.machine.requested_s)
        self.preemption = preemption
        self.failures = failures
        self._failures_in_a_row = self._preemptions_in_a_row = 0
        self._submitted: set[int] = set()
        self._thinking: set[int] = set()
        self._eligible: list[int] = []

    def passes(self) -> Iterator[float]:
        """Return the instants at which jobs may start, after their preemptions."""
        for now_s in super().passes():
            if self.preemption is not None:
                self._preempt(self.preemption, now_s)
            yield now_s

    def _begin(self) -> None:
        if self.access is not None and self.access.windows:
            self.clock.follow(self._outages(self.access))
        if self.access is not None and self.failures is not None:
            self.clock.follow(self._failures(self.access, self.failures))
        super()._begin()

    def _arrived(self, job: int) -> None:
        self._submitted.add(job)
        waits = self.dependencies is not None and self.dependencies.waits(job)
        if not waits and job not in self._thinking:
            super()._arrived(job)

    def _started(self, job: int) -> None:
        super()._started(job)
        if self.dependencies is not None:
            self._eligible += self.dependencies.started(job)
        if self.preemption is not None:
            self._plan_preemption(job, self.preemption.started(job, self.clock.now_s))

    def _plan_preemption(self, job: int, time_s: float) -> None:
        """Run a pass when a job's level has changed, or a running one may be preempted."""
        if time_s == inf:
            return
        started_s = self.start_s[job]

        def is_due() -> None:
            waits_or_runs = np.isnan(self.end_s[job])
            if waits_or_runs and np.array_equal(self.start_s[job], started_s, equal_nan=True):
                assert self.preemption is not None
                self._nodes_change()
                self._plan_preemption(job, self.preemption.changes_s(job, self.clock.now_s))

        self.clock.at(time_s, is_due)

    def _settle(self) -> None:
        super()._settle()
        if self._eligible:
            # they waited for a start; they join when the pass is over, and there is another
            self._join(self._eligible)
            self._eligible = []
            self.due = True

    def _join(self, jobs: list[int]) -> None:
        """Record that jobs are eligible, and queue those that are submitted, after their think
        times."""
        assert self.dependencies is not None
        for job in jobs:
            think_s = float(self.dependencies.think_s[job])
            if think_s > 0:
                self._thinking.add(job)
                self.clock.after(think_s, partial(self._has_thought, job))
            else:
                self._becomes_eligible(job)

    def _has_thought(self, job: int) -> None:
        self._thinking.remove(job)
        self._becomes_eligible(job)
        self.due = True

    def _becomes_eligible(self, job: int) -> None:
        self.eligible_s[job] = max(self.clock.now_s, self.workload.submit_s[job])
        if job in self._submitted:
            self.scheduler.push(job, self.clock.now_s)

    def _done(self, job: int) -> None:
        over = [job]
        self._failures_in_a_row = self._preemptions_in_a_row = 0
        while over:
            job = over.pop()
            if self.dependencies is not None:
                well = self.outcome[job] == COMPLETED
                eligible, dead = self.dependencies.over(job, bool(well))
                self._join(eligible)
                self.outcome[dead] = NEVER_RUN
                self.eligible_s[dead] = np.nan
                over += dead
            super()._done(job)

    def _outages(self, access: Access) -> Iterator[float]:
        """Begin and end windows; an end precedes a beginning of the same instant."""
        begin = [(w.start_s, True, k) for k, w in enumerate(access.windows)]
        end = [(w.end_s, False, k) for k, w in enumerate(access.windows)]
        for time_s, begins, number in sorted(begin + end):
            if time_s > self.clock.now_s:
                yield time_s
            if begins:
                access.begins(number)
                if access.windows[number].failure:
                    self._fail(access.windows[number].nodes, self.requeues)
            else:
                access.ends(number)
            self._nodes_change()

    def _failures(self, access: Access, failures: Iterator[Failure]) -> Iterator[float]:
        """Let nodes fail at random, and repair them."""
        for failure in failures:
            yield failure.start_s
            self._failures_in_a_row += 1
            if self._failures_in_a_row > MOST_FAILURES:
                raise self._endless(f"{MOST_FAILURES:,} failures", "lower queue.failures")
            number = access.adds(failure.start_s, failure.end_s, failure.nodes)
            self._fail(failure.nodes, True)
            self.clock.at(failure.end_s, partial(self._repair, access, number))
            self._nodes_change()

    def _endless(self, interruptions: str, remedy: str) -> NetcosimError:
        return NetcosimError(
            f"{self.workload.name}: {interruptions} in a row in which no job ended; {remedy}, or "
            "shorten queue.checkpoint.interval"
        )

    def _repair(self, access: Access, number: int) -> None:
        access.ends(number)
        self._nodes_change()

    def _nodes_change(self) -> None:
        self.machine.released = True
        self.due = True

    def _fail(self, nodes: np.ndarray, requeues: bool) -> None:
        """End the jobs on nodes that fail, or send them back."""
        now = self.clock.now_s
        assert isinstance(self.machine, NodeSetMachine)
        self.machine.failed(nodes)
        hit = [job for job in self.running if nodes[self.machine.placements[job].nodes].any()]
        for job in hit:
            if self.running[job].ends_s <= now:
                continue
            if requeues:
                self.n_requeued += 1
                self._send_back(job, preempted=False)
            else:
                self._leave(job)
                self.outcome[job] = FAILED
                self._done(job)
        if requeues and hit:
            # a job that begins again in this very instant must have left before
            self._change(self.run_times.settle(now))

    def _send_back(self, job: int, *, preempted: bool) -> None:
        """Interrupt a running job: it waits again, with the work left that no checkpoint has."""
        held_s = self.clock.now_s - self.start_s[job]
        self._leave(job)
        if self.interruptions is not None:
            self.interruptions.sent_back(job, held_s, preempted=preempted)
            requested_s = float(self.workload.requested_s[job])
            self._walltime_s[job] = self.interruptions.walltime_s(job, requested_s)
            self.queue.set_walltime(job, self._walltime_s[job])
        self.start_s[job] = self.end_s[job] = np.nan
        self.scheduler.push(job, self.clock.now_s)
        if self.preemption is not None:
            self._plan_preemption(job, self.preemption.changes_s(job, self.clock.now_s))

    def _planned_s(self, job: int, work_s: float) -> float:
        return work_s if self.interruptions is None else self.interruptions.planned_s(job, work_s)

    def _leave(self, job: int) -> None:
        if self.interruptions is not None:
            now, running = self.clock.now_s, self.running[job]
            remaining_s = max(0.0, running.remaining - running.rate * (now - running.began))
            completed = running.ends_s <= now and not running.cut
            held_s = now - self.start_s[job]
            self.interruptions.left(job, remaining_s, held_s, completed=completed)
        if self.preemption is not None:
            self.preemption.ended(job, self.clock.now_s)
        super()._leave(job)

    def _preempt(self, preemption: Preemption, now_s: float) -> None:
        """Start the jobs whose claims go before those of others, while there are such."""
        blocked: set[tuple[int, int]] = set()
        started = True
        while started and len(self.queue):
            started = False
            one = preemption.one_head
            for job in [self.queue.head(now_s)] if one else self.queue.front(now_s):
                head = preemption.head_of[job]
                if head not in blocked and self._claim(preemption, job, now_s):
                    started = True
                    break
                blocked.add(head)

    def _claim(self, preemption: Preemption, job: int, now_s: float) -> bool:
        """Start a waiting job on free nodes if it goes first, or by preemption."""
        scheduler = self.scheduler
        if not (preemption.goes_first(job, now_s) and scheduler.start_head(job, now_s)):
            victims = preemption.victims(job, now_s)
            held = scheduler.held_for(job)
            leave = self.machine.victims_for(job, now_s, victims, held) if victims else []
            if not leave:
                return False
            for victim in leave:
                self._preemptions_in_a_row += 1
                if self._preemptions_in_a_row > MOST_PREEMPTIONS:
                    remedy = "raise queue.preemption.min_run or queue.las.promote_after"
                    raise self._endless(f"{MOST_PREEMPTIONS:,} preemptions", remedy)
                self._send_back(victim, preempted=True)
            self._change(self.run_times.settle(now_s))
            scheduler.start_head(job, now_s)
        self._settle()
        return job in self.running

    def reports(self) -> Mapping[str, Mapping[str, float]]:
        """Return the rules' counts: a row of the table ``queue_rules``."""
        ran = self.outcome != NEVER_RUN
        earlier_s = 0.0 if self.spent is None else self.spent.earlier_s
        wait_s = np.maximum(self.start_s - self.workload.submit_s - earlier_s, 0.0)[ran]
        from_eligible_s = np.maximum(self.start_s - self.eligible_s - earlier_s, 0.0)[ran]
        waits = self.dependencies
        row = {
            "never_run_jobs": int((~ran).sum()),
            "cut_jobs": int((self.outcome == CUT).sum()),
            "failed_jobs": int((self.outcome == FAILED).sum()),
            "requeued": self.n_requeued,
            "dependent_jobs": 0 if waits is None else waits.n_jobs,
            "dependencies_outside": 0 if waits is None else waits.n_outside,
            "mean_wait_s": float(wait_s.mean()) if ran.any() else np.nan,
            "mean_wait_from_eligible_s": float(from_eligible_s.mean()) if ran.any() else np.nan,
        }
        if self.spent is None:
            return {"queue_rules": row}
        return {
            "queue_rules": row,
            "interruptions": interruption_totals(self.spent, self.workload.n_nodes),
        }
