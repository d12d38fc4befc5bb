"""Preemption by levels and by attained service against a slow queue, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemption_helpers import BY_ORDER, histories, jobs, runs_of, simulate
from queue_helpers import Contiguous, HeldMask, Mask, made
from selection import examples

from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError
from queuesim.metrics import run_s, wait_s
from queuesim.ordering.attained import LAS, AttainedService
from queuesim.parameters import Attained, Partition, PreemptionKeys, QuotaKeys
from queuesim.runtime import RunTimeModel, RunTimes
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.outages import Outage
from queuesim.site.rules import Rules
from workloads.details import Labels
from workloads.job import Workload


@dataclass
class Slow:
    """A second queue, second by second: strict order, preemption by levels, checkpoints.

    Times are whole seconds; any free nodes do.
    """

    workload: Workload
    n_nodes: int
    level: Callable[[int, int], float]
    checkpoints: Checkpoints
    min_run: int = 0
    promote_after: float = inf

    def run(self) -> list[list[tuple[float, float]]]:
        w, n = self.workload, len(self.workload)
        self.executed, waited = [0] * n, [0] * n
        saved, runs = [0] * n, [[] for _ in range(n)]
        waiting: list[int] = []
        running: dict[int, dict[str, int]] = {}
        done, now = 0, 0
        every, write = self.checkpoints.interval_s, int(self.checkpoints.write_s)
        while done < n:
            for job, state in list(running.items()):
                if state["work"] == w.run_time_s[job]:
                    runs[job].append((state["start"], now))
                    del running[job]
                    done += 1
            waiting += [j for j in range(n) if w.submit_s[j] == now]
            while waiting:
                for j in waiting:
                    starved = waited[j] >= self.promote_after * self.executed[j]
                    if starved and self.level(j, self.executed[j]) < 0:
                        self.executed[j] = waited[j] = 0
                waiting.sort(key=lambda j: (-self.level(j, self.executed[j]), j))
                head, need = waiting[0], int(w.n_nodes[waiting[0]])
                free = self.n_nodes - sum(int(w.n_nodes[j]) for j in running)
                mine = self.level(head, self.executed[head])
                lower = [
                    j
                    for j, state in running.items()
                    if self.level(j, self.executed[j]) < mine
                    and now >= state["start"] + self.min_run
                ]
                lower.sort(
                    key=lambda j: (self.level(j, self.executed[j]), -running[j]["start"], -j)
                )
                leave: list[int] = []
                while free < need and lower:
                    leave.append(lower.pop(0))
                    free += int(w.n_nodes[leave[-1]])
                if free < need:
                    break
                for job in leave[::-1]:
                    if free - int(w.n_nodes[job]) >= need:
                        leave.remove(job)
                        free -= int(w.n_nodes[job])
                for job in leave:
                    runs[job].append((running[job]["start"], now))
                    saved[job] = running.pop(job)["saved"]
                    waiting.append(job)
                waiting.remove(head)
                restart = int(self.checkpoints.restart_s) if runs[head] else 0
                running[head] = {
                    "start": now, "restart": restart, "work": saved[head],
                    "saved": saved[head], "write": 0,
                }  # fmt: skip
            now += 1
            for job in waiting:
                waited[job] += self.executed[job] > 0
            for job, state in running.items():
                self.executed[job] += 1
                if state["restart"]:
                    state["restart"] -= 1
                elif state["write"]:
                    state["write"] -= 1
                    if not state["write"]:
                        state["saved"] = state["work"]
                else:
                    state["work"] += 1
                    ends = state["work"] == w.run_time_s[job]
                    if every and (state["work"] - saved[job]) % every == 0 and not ends:
                        state["write"] = write
                        if not write:
                            state["saved"] = state["work"]
        return [[(float(a), float(b)) for a, b in mine] for mine in runs]


@examples(80)
@given(histories())
def test_preemption_by_priority_equals_a_slow_queue(history):
    workload, checkpoints, min_run = history
    rules = Rules(checkpoints=checkpoints, preemption=PreemptionKeys("order", min_run))
    level = workload.details.priority
    assert level is not None
    expected = Slow(workload, 8, lambda j, _: float(level[j]), checkpoints, min_run).run()
    for policy in (Mask(8), HeldMask(8)):
        result = simulate(workload, policy, rules, backfill="none")
        assert runs_of(result) == expected


@examples(60)
@given(histories(), st.sampled_from((None, 1.0, 2.0, 5.0)))
def test_las_equals_a_slow_queue(history, promote_after):
    workload, checkpoints, min_run = history
    # sizes divide the thresholds, so that jobs change queues at whole seconds
    workload = replace(workload, n_nodes=2 ** (workload.n_nodes % 4))
    order = made(LAS, Attained((24.0, 64.0), promote_after))
    if promote_after is not None:
        # jobs that lose work each time preempt each other without end
        checkpoints = Checkpoints(1.0)
    rules = Rules(checkpoints=checkpoints, preemption=PreemptionKeys("order", min_run))

    def level(job: int, executed: int) -> float:
        served = executed * int(workload.n_nodes[job])
        return -float((served >= 24) + (served >= 64))

    slow = Slow(workload, 8, level, checkpoints, min_run, promote_after or inf)
    expected = slow.run()
    result = simulate(workload, Mask(8), rules, order, backfill="none")
    assert runs_of(result) == expected


def test_the_lowest_level_goes_first_then_the_latest_start_then_the_later_job() -> None:
    """Jobs 1 to 4 hold 2 of 8 nodes each; from 10 s on a job of level 5 arrives each second.

    Of levels 0, 0, 0, 1 and starts 0, 1, 1, 2 they leave in the order 3, 2, 1, 4. The four that
    preempt end from 20 s on: first of those that wait is job 4, then 1, 2 and 3. Their work of
    100 s begins anew.
    """
    submit = [0.0, 1.0, 1.0, 2.0, 10.0, 11.0, 12.0, 13.0]
    level = [0.0, 0.0, 0.0, 1.0, *[5.0] * 4]
    workload = jobs(submit, [100.0] * 4 + [10.0] * 4, [2] * 8, priority=level)
    for policy in (Mask(8), HeldMask(8)):
        result = simulate(workload, policy, Rules(preemption=BY_ORDER))
        assert runs_of(result)[:4] == [
            [(0, 12), (21, 121)],
            [(1, 11), (22, 122)],
            [(1, 10), (23, 123)],
            [(2, 13), (20, 120)],
        ]
        assert result.start_s[4:].tolist() == [10, 11, 12, 13]
        # nodes that were held in vain: 2 for 12, 10, 9 and 11 s
        assert wait_s(result).tolist() == [9, 11, 13, 7, 0, 0, 0, 0]
        assert result.reports["queue_rules"]["mean_wait_s"] == 40 / 8
        assert result.reports["queue_rules"]["mean_wait_from_eligible_s"] == 40 / 8
        assert result.reports["interruptions"] == {
            "preemptions": 4,
            "failures": 0,
            "interrupted_jobs": 4,
            "useful_node_s": 880.0,
            "lost_node_s": 84.0,
            "checkpoint_node_s": 0.0,
            "restart_node_s": 0.0,
            "contention_node_s": 0.0,
            "effective_training_time": 880 / 964,
        }


def test_who_could_stay_stays() -> None:
    """Jobs 3, 2 and 1 would leave, with 2, 2 and 4 nodes, and job 4 needs 5 of these 8.

    From the last but one back: without job 2 there are 6, without job 3 as well only 4.
    """
    workload = jobs([0, 1, 2, 10], [50] * 3 + [5], [4, 2, 2, 5], priority=[0, 0, 0, 1])
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    result = simulate(workload, HeldMask(8), rules)
    assert runs_of(result) == [[(0, 10), (15, 55)], [(1, 51)], [(2, 10), (15, 57)], [(10, 15)]]


def test_all_that_can_preempt_do_so_at_once() -> None:
    """Jobs 3 and 4 come at 5 s, and each takes the place of one of jobs 1 and 2 then."""
    workload = jobs([0, 0, 5, 5], [20, 20, 10, 10], [1] * 4, priority=[0, 0, 1, 1])
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    result = simulate(workload, Mask(2), rules)
    assert runs_of(result) == [[(0, 5), (15, 30)]] * 2 + [[(5, 15)]] * 2


def test_nobody_leaves_for_a_job_that_does_not_fit_by_shape() -> None:
    """Job 4 needs 4 of 6 nodes in a row; job 2 of its level is between jobs 1 and 3 until 20 s.

    Then job 3 leaves, and the 4 nodes are those of jobs 2 and 3.
    """
    workload = jobs([0, 1, 2, 10], [30, 19, 30, 5], [2, 2, 2, 4], priority=[0, 1, 0, 1])
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    result = simulate(workload, Contiguous(6), rules)
    assert runs_of(result) == [[(0, 30)], [(1, 20)], [(2, 20), (25, 37)], [(20, 25)]]


def test_equal_levels_and_protected_runs_are_not_preempted() -> None:
    """Each run is protected for 10 s: job 2 takes the place of job 1 at 10 s, not at 4 s.

    Job 1 runs again from 15 s on. Job 3, of its level, waits for its end; job 4 waits from 20 s
    until the protection ends at 25 s.
    """
    workload = jobs([0, 4, 5, 20], [30, 5, 5, 5], [8] * 4, priority=[0, 1, 0, 1])
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=PreemptionKeys("order", 10.0))
    result = simulate(workload, Mask(8), rules)
    assert runs_of(result) == [[(0, 10), (15, 25), (30, 40)], [(10, 15)], [(40, 45)], [(25, 30)]]


def test_las_by_hand() -> None:
    """Two nodes, thresholds of 10 and 40 node-seconds; the numbers are worked out by hand.

    Job 1 (2 nodes, 30 s) crosses 10 node-seconds at 5 s. Job 2 arrives at 3 s and waits until
    then, since both are in the first queue; it ends at 7 s, before it has used 10. Job 1 goes on
    with 5 s of work done, and job 3 preempts it at 8 s. From 12 s on job 1 runs alone.
    """
    workload = jobs([0, 3, 8], [30, 2, 4], [2, 2, 1])
    order = made(LAS, Attained((10.0, 40.0)))
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    result = simulate(workload, Mask(2), rules, order)
    assert runs_of(result) == [[(0, 5), (7, 8), (12, 36)], [(5, 7)], [(8, 12)]]
    assert result.spent is not None
    assert result.spent.preempted.tolist() == [2, 0, 0]
    assert wait_s(result).tolist() == [6.0, 2.0, 0.0]
    assert run_s(result).tolist() == [30.0, 2.0, 4.0]


def test_a_starved_job_returns_to_the_first_queue() -> None:
    """One node, a threshold of 10 s; every 10 s from 5 s on a job of 10 s arrives.

    Job 1 has run for 10 s when it leaves the first queue. New jobs take its place until it has
    waited 20 s, from 10 to 30 s; then it runs 10 s of the first queue and leaves again.
    """
    submit = [0.0, *np.arange(5.0, 95.0, 10.0)]
    workload = jobs(submit, [40.0] + [10.0] * 9, [1] * 10)
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    first = []
    for promote_after in (None, 2.0):
        order = made(LAS, Attained((10.0,), promote_after))
        first.append(runs_of(simulate(workload, Mask(1), rules, order))[0])
    assert first == [[(0, 10), (100, 130)], [(0, 10), (30, 40), (60, 70), (90, 100)]]


def test_a_promotion_begins_a_new_account_of_waits() -> None:
    """One node, a threshold of 10 s, promoted after a wait of twice the executed time.

    Job 1 runs 10 s, waits 10, and runs 5 in the second queue before a new job takes its place at
    25 s. Its waits are 30 s at 45 s, twice its 15 s. Then it has run 10 s at 55 s, and waits 20.
    """
    submit = [0.0, 5.0, 25.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    workload = jobs(submit, [40.0] + [10.0] * 8, [1] * 9)
    result = simulate(workload, Mask(1), rules, made(LAS, Attained((10.0,), 2.0)))
    assert runs_of(result)[0] == [(0, 10), (20, 25), (45, 55), (75, 85), (105, 110)]


def test_a_job_of_the_first_queue_is_not_promoted() -> None:
    """Interrupted after 5 of 10 s, it has 5 s left in that queue whenever it runs again."""
    las = AttainedService(jobs([0], [40], [1]), Attained((10.0,), 1.0))
    las.started(0, 0.0)
    assert las.changes_s(0, 0.0) == 10.0
    las.ended(0, 5.0)
    assert las.changes_s(0, 5.0) == inf
    las.started(0, 10.0)
    assert las.changes_s(0, 10.0) == 15.0
    assert las.score(np.array([0]), 14.0).tolist() == [0]
    assert las.score(np.array([0]), 15.0).tolist() == [-1]
    # in the second queue: it has run 12 s and waited 5
    las.ended(0, 17.0)
    assert las.changes_s(0, 17.0) == 24.0
    # and with a quarter of the 12 s it has waited long enough already
    las = AttainedService(jobs([0], [40], [1]), Attained((10.0,), 0.25))
    for begin_s, end_s in ((0.0, 5.0), (10.0, 17.0)):
        las.started(0, begin_s)
        las.ended(0, end_s)
    assert las.score(np.array([0]), 17.0).tolist() == [0]


def test_a_job_that_crosses_as_it_is_preempted_stays_in_the_second_queue() -> None:
    """It leaves at 10 s, its threshold, and starts anew in that instant or later."""
    las = AttainedService(jobs([0], [40], [1]), Attained((10.0,), 2.0))
    las.started(0, 0.0)
    las.ended(0, 10.0)
    assert las.changes_s(0, 10.0) == 30.0
    las.started(0, 10.0)
    assert las.score(np.array([0]), 10.0).tolist() == [-1]
    assert las.changes_s(0, 10.0) == inf


@pytest.mark.parametrize("allowed", [3, 2])
def test_preemptions_in_a_row_are_counted_until_a_job_ends(allowed, monkeypatch):
    """Jobs 2, 3 and 4 preempt one another: three in a row. So do the next three at 50 s, when jobs
    have ended. Job 1 begins anew at 18 and at 65 s."""
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_PREEMPTIONS", allowed)
    level = [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    workload = jobs([0, 1, 2, 3, 50, 51, 52], [40] + [5] * 6, [8] * 7, priority=level)
    if allowed == 3:
        result = simulate(workload, Mask(8), Rules(preemption=BY_ORDER))
        assert runs_of(result)[0] == [(0, 1), (18, 50), (67, 107)]
    else:
        with pytest.raises(NetcosimError, match="2 preemptions in a row in which no job ended"):
            simulate(workload, Mask(8), Rules(preemption=BY_ORDER))


def test_jobs_that_preempt_each_other_without_end_are_an_error(monkeypatch):
    """Each has lost its work when it is in the first queue again."""
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_PREEMPTIONS", 50)
    order = made(LAS, Attained((10.0,), 1.0))
    with pytest.raises(NetcosimError, match=r"50 preemptions in a row .*queue\.las\.promote_after"):
        simulate(jobs([0, 1], [100, 100], [8, 8]), Mask(8), Rules(preemption=BY_ORDER), order)


# Contention


class HalfSpeed(RunTimes):
    """Two jobs that run together slow each other to half speed."""

    def __init__(self, work_s: np.ndarray) -> None:
        self.work, self.running = work_s, set[int]()

    def work_s(self, job: int) -> float:
        return float(self.work[job])

    def _rates(self) -> Mapping[int, float]:
        return dict.fromkeys(self.running, 1.0 if len(self.running) < 2 else 0.5)

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self.running.add(job)
        return self._rates()

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self.running.remove(job)
        return self._rates()


@dataclass(frozen=True)
class HalfSpeedModel(RunTimeModel):
    name = "half"
    description = "half speed beside another job"

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return HalfSpeed(workload.run_time_s)


def test_neighbours_are_retimed_and_checkpoints_count_work() -> None:
    """Jobs 1 and 2 share the machine at half speed; job 3 takes the place of both at 50 s.

    Until then each has executed 25 s: two intervals of 8 s with a write of 2 s each, and 5 s of
    work that is lost. Then 34 s of 50 are left, 4 writes and a restart of 3 s: 45 s. Job 4 takes
    job 2's place from 70 to 80 s: of 6 s that it has executed, 3 s of work are lost.
    """
    workload = jobs([0, 0, 50, 70], [50, 50, 8, 5], [2, 2, 4, 2], priority=[1, 0, 2, 1])
    rules = Rules(checkpoints=Checkpoints(8.0, 2.0, 3.0), preemption=BY_ORDER)
    result = simulate(workload, Mask(4), rules, run_time_model=HalfSpeedModel())
    assert runs_of(result) == [
        [(0, 50), (58, 148)],
        [(0, 50), (58, 70), (80, 159)],
        [(50, 58)],
        [(70, 80)],
    ]
    spent = result.spent
    assert spent is not None
    assert spent.preempted.tolist() == [1, 2, 0, 0]
    assert spent.useful_s.tolist() == [50, 50, 8, 5]
    assert spent.lost_s.tolist() == [5, 8, 0, 0]
    assert spent.restart_s.tolist() == [3, 6, 0, 0]
    assert spent.checkpoint_s.tolist() == [12, 12, 0, 0]
    # at half speed every second takes another one; job 2 runs its last 11 s alone
    assert spent.contention_s.tolist() == [70, 65, 0, 5]


@dataclass
class Recorded(HalfSpeed):
    """Full speed; notes the calls."""

    work: np.ndarray
    calls: list[str]

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self.calls.append(f"{now_s:g} start {job + 1}")
        return {}

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self.calls.append(f"{now_s:g} finish {job + 1}")
        return {}

    def settle(self, now_s: float) -> Mapping[int, float]:
        self.calls.append("settle")
        return {}


@dataclass(frozen=True)
class RecordedModel(HalfSpeedModel):
    calls: list[str]

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return Recorded(workload.run_time_s, self.calls)


def test_who_leaves_has_left_before_another_starts() -> None:
    """Job 2 takes the place of job 1 at 5 s; at 20 s node 0 fails, and job 1 begins again at once.

    The run-time model settles between the end of a run and the next start.
    """
    calls: list[str] = []
    workload = jobs([0, 5], [30, 5], [2, 2], priority=[0, 1])
    outage = Outage(20.0, 21.0, "0", "failure")
    rules = Rules(
        checkpoints=Checkpoints(1.0), preemption=BY_ORDER, outages=(outage,), requeues=True
    )
    result = simulate(workload, Mask(3), rules, run_time_model=RecordedModel(calls))
    assert runs_of(result) == [[(0, 5), (10, 20), (20, 35)], [(5, 10)]]
    # nothing has changed where it settles once more
    once = [call for call, before in zip(calls, ["", *calls], strict=False) if call != before]
    assert once == [
        "0 start 1", "settle", "5 finish 1", "settle", "5 start 2", "settle",
        "10 finish 2", "10 start 1", "settle", "20 finish 1", "settle", "20 start 1", "settle",
        "35 finish 1",
    ]  # fmt: skip


# Partitions, and what is refused


def test_a_partition_of_higher_priority_preempts() -> None:
    parts = (Partition("low", "0-3", default=True), Partition("high", "2-5", priority=5))
    workload = jobs([0, 0, 10], [100, 100, 20], [2, 2, 3])
    labels = Labels.of(["low", "low", "high"])
    workload = replace(workload, details=replace(workload.details, partition=labels))
    rules = Rules(
        partitions=parts, checkpoints=Checkpoints(5.0), preemption=PreemptionKeys("partition")
    )
    for backfill in ("none", "easy"):
        result = simulate(workload, Mask(6), rules, "fcfs", backfill=backfill)
        # the job on nodes 2 and 3 leaves, as nodes 4 and 5 are not enough; that on 0 and 1 stays
        assert runs_of(result) == [[(0, 100)], [(0, 10), (30, 120)], [(10, 30)]]


def test_the_first_job_of_each_partition_may_preempt() -> None:
    """Job 3 waits for job 2, of a higher level, in partition a. Behind it job 4 preempts in b."""
    workload = jobs([0, 0, 4, 5], [50, 20, 10, 10], [4] * 4, priority=[0, 3, 2, 1])
    labels = Labels.of(["b", "a", "a", "b"])
    workload = replace(workload, details=replace(workload.details, partition=labels))
    parts = (Partition("a", "0-3"), Partition("b", "4-7"))
    result = simulate(workload, Mask(8), Rules(partitions=parts, preemption=BY_ORDER))
    assert runs_of(result) == [[(0, 5), (15, 65)], [(0, 20)], [(20, 30)], [(5, 15)]]


@pytest.mark.parametrize(
    ("rules", "order", "more", "message"),
    [
        (Rules(), "las", {}, 'order \'las\' needs preemption; set queue.preemption.by = "order"'),
        (Rules(preemption=PreemptionKeys("partition")), "las", {}, "order 'las' needs preemption"),
        (Rules(preemption=BY_ORDER), "fcfs", {}, 'order \'fcfs\' has no levels; use "priority" or'),
        (
            Rules(preemption=PreemptionKeys("partition")),
            "fcfs", {}, "needs queue.partitions with priorities",
        ),
        (
            Rules(preemption=PreemptionKeys("partition"), outages=(Outage(0, 1, "0", "failure"),)),
            "fcfs", {}, "needs queue.partitions with priorities",
        ),
        (
            Rules(preemption=BY_ORDER),
            "priority", {"backfill": "conservative"},
            "backfill 'conservative' does not support preemption and quotas; use none or easy",
        ),
        (Rules(quotas=QuotaKeys(["a: 9"])), "fcfs", {}, "9 nodes in all; the machine has 8"),
        (Rules(quotas=QuotaKeys(["d: 4"])), "fcfs", {}, "unknown account 'd'; valid: a, b"),
        (
            Rules(quotas=QuotaKeys(["a: 4"], "user")),
            "fcfs", {}, "quotas by user: the log has no user of any job",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(rules, order, more, message):
    workload = jobs([0, 1], [10, 10], [4, 8], priority=[0, 1], account=["a", "b"])
    with pytest.raises(NetcosimError) as caught:
        simulate(workload, Mask(8), rules, order, **more)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_quotas_are_read_by_name() -> None:
    assert QuotaKeys([" a:b : 4 ", "c:0"]).of_name() == {"a:b": 4, "c": 0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuotaKeys(["a"]), "'a'; it must be a name and a number of nodes"),
        (lambda: QuotaKeys([" : 4"]), "' : 4'; it must be a name and a number of nodes"),
        (lambda: QuotaKeys(["a: 4", "a: 2"]), "'a' occurs twice"),
        (lambda: Attained((5.0, 5.0)), "they must ascend"),
        (lambda: Checkpoints(-1.0), "checkpoint: interval_s = -1"),
        (
            lambda: Rules(preemption=BY_ORDER, quotas=QuotaKeys(["a: 4"])),
            "does not go with queue.quotas; remove one of them",
        ),
    ],
)
def test_keys_that_make_no_sense(make: Callable[[], object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make()
