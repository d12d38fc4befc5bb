"""Preemption, quotas and outages: exact accounts of node time, and who preempts whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemption_helpers import histories, jobs, runs_of, simulate
from queue_helpers import Contiguous, HeldMask, Mask
from selection import examples

from queuesim.capacity import loss_of_capacity, mean_utilisation
from queuesim.metrics import run_s, wait_s
from queuesim.parameters import PreemptionKeys, QuotaKeys
from queuesim.queue_setup import QueueSetup
from queuesim.result import CUT
from queuesim.site.checkpoints import Checkpoints, Spent
from queuesim.site.interruptions import Interruptions
from queuesim.site.outages import Outage
from queuesim.site.quotas import Quotas
from queuesim.site.ruled_run import RuledRun
from queuesim.site.rules import Rules
from workloads.details import Labels
from workloads.job import Workload


@st.composite
def ruled_histories(draw: st.DrawFn) -> tuple[Workload, Rules, str, str]:
    workload, checkpoints, min_run = draw(histories())
    accounts = draw(
        st.lists(st.sampled_from("abc"), min_size=len(workload), max_size=len(workload))
    )
    details = replace(workload.details, account=Labels.of([*"abc", *accounts]).take(slice(3, None)))
    slack = draw(st.lists(st.integers(0, 20), min_size=len(workload), max_size=len(workload)))
    requested = workload.run_time_s + np.array(slack)
    workload = replace(workload, details=details, requested_s=requested)
    outages = []
    for start, length, node in draw(
        st.lists(st.tuples(st.integers(0, 80), st.integers(1, 20), st.integers(0, 7)), max_size=4)
    ):
        outages.append(Outage(start, start + length, str(node), "failure"))
    quotas = draw(st.sampled_from(((), ("a: 4", "b: 2"), ("a: 8",), ("c: 3", "a: 3", "b: 2"))))
    by = "none" if quotas else draw(st.sampled_from(("none", "order")))
    rules = Rules(
        outages=tuple(outages),
        requeues=True,
        checkpoints=checkpoints,
        preemption=PreemptionKeys(by, min_run),
        quotas=QuotaKeys(quotas),
    )
    overrun = draw(st.sampled_from(("keep", "cut")))
    return workload, rules, draw(st.sampled_from(("none", "easy"))), overrun


POLICIES = (Mask, HeldMask, Contiguous)


@examples(150)
@given(ruled_histories(), st.sampled_from(POLICIES))
def test_every_second_on_a_node_is_accounted_for(history, policy):
    workload, rules, backfill, overrun = history
    result = simulate(workload, policy(8), rules, backfill=backfill, overrun=overrun)
    runs = runs_of(result)
    held = np.array([sum(end - start for start, end in mine) for mine in runs])
    spent = result.spent
    if spent is None:
        assert not rules.interrupts
        return
    # to the float: all times are whole seconds
    assert np.array_equal(spent.held_s, held)
    assert np.array_equal(run_s(result), held)
    assert not spent.contention_s.any()
    done = result.outcome == 0
    assert np.array_equal(spent.useful_s[done], workload.run_time_s[done])
    interruptions = spent.preempted + spent.failed
    assert np.array_equal([len(mine) for mine in runs], interruptions + 1)
    every = rules.checkpoints.interval_s
    if every is not None:
        # no work beyond the last checkpoint is lost
        assert np.all(spent.lost_s[done] <= interruptions[done] * every)
    else:
        assert not spent.checkpoint_s.any()
    assert np.all(spent.restart_s <= interruptions * rules.checkpoints.restart_s)
    assert np.array_equal(wait_s(result), result.end_s - workload.submit_s - held)
    # as without interruptions
    late = workload.run_time_s > workload.requested_s
    if every is not None:
        n_writes = np.maximum(np.ceil(workload.run_time_s / every) - 1, 0)
        late = workload.run_time_s + n_writes * rules.checkpoints.write_s > workload.requested_s
    assert np.array_equal(result.outcome == CUT, late & (overrun == "cut"))
    assert np.array_equal(result.overran, late)
    # nothing runs that does not fit
    _, busy = result.busy_nodes()
    assert 0 <= busy.min() <= busy.max() <= 8
    span = result.event_s[-1] - result.event_s[0]
    assert mean_utilisation(result) == pytest.approx(held @ workload.n_nodes / (8 * span))
    assert 0 <= loss_of_capacity(result) <= 1


@examples(80)
@given(ruled_histories())
def test_no_job_is_preempted_in_vain(history: tuple[Workload, Rules, str, str]) -> None:
    """Each preemption is followed by the start that needs it, of a job of a higher claim."""
    workload, rules, backfill, _ = history
    rules = replace(rules, outages=())
    result = simulate(workload, Mask(8), rules, backfill=backfill)
    size, level = workload.n_nodes, workload.details.priority
    account = workload.details.account
    assert level is not None
    assert account is not None
    last_end = {int(j): k for k, j in enumerate(result.event_job) if not result.event_is_start[k]}
    free, victims = 8, []
    for k, job in enumerate(result.event_job.tolist()):
        if not result.event_is_start[k]:
            free += size[job]
            if k != last_end[job]:
                victims.append(job)
            else:
                assert not victims
            continue
        if victims:
            assert all(free - size[victim] < size[job] for victim in victims)
            if not rules.quotas.nodes:
                assert all(level[victim] < level[job] for victim in victims)
            victims = []
        free -= size[job]
        assert free >= 0
    assert not victims
    assert result.spent is None or (rules.preempts or not result.spent.preempted.any())


@examples(80)
@given(ruled_histories())
def test_no_owner_waits_while_others_borrow(history: tuple[Workload, Rules, str, str]) -> None:
    workload, rules, backfill, _ = history
    quotas = {"a": 4, "b": 2, "c": 2}
    keys = QuotaKeys([f"{name}: {nodes}" for name, nodes in quotas.items()])
    protected = replace(rules.preemption, by="none")
    rules = replace(rules, outages=(), quotas=keys, preemption=protected)
    account = workload.details.account
    assert account is not None
    rng = np.random.default_rng(1)
    run = QueueSetup(
        workload, Mask(8), order="fcfs", backfill=backfill, rng=rng,
        rules=rules,
    ).by_events()  # fmt: skip
    size, started = workload.n_nodes, run.start_s

    def level_of(job: int) -> float:
        assert isinstance(run, RuledRun)
        assert run.preemption is not None
        return float(run.preemption._levels.score(np.array([job]), now_s)[0])

    for now_s in run.passes():
        owned = dict.fromkeys(quotas, 0)
        for job in sorted(run.running, key=lambda j: (started[j], j)):
            name = str(account[job])
            if level_of(job):
                owned[name] += size[job]
        assert all(owned[name] <= nodes for name, nodes in quotas.items())
        free = 8 - sum(size[job] for job in run.running)
        lent = sum(
            size[job]
            for job in run.running
            if not level_of(job) and now_s >= started[job] + rules.preemption.min_run_s
        )
        first: dict[str, int] = {}
        for job in run.queue.front(now_s) if len(run.queue) else ():
            first.setdefault(str(account[job]), job)
        for name, job in first.items():
            fits = owned[name] + size[job] <= quotas[name]
            assert not (fits and size[job] <= free + lent)
        run.scheduler.run_pass(now_s)


def test_quotas_are_lent_and_taken_back() -> None:
    """a may claim 6 of 8 nodes and b 2; c has none, and borrows."""
    workload = jobs(
        [0, 0, 5, 6], [100, 100, 10, 10], [4, 4, 4, 4],
        priority=[9, 0, 0, 0], account=["c", "b", "a", "a"],
    )  # fmt: skip
    rules = Rules(checkpoints=Checkpoints(1.0, 0.0, 2.0), quotas=QuotaKeys(["a: 6", "b: 2"]))
    result = simulate(workload, Mask(8), rules, "fcfs")
    # the second of a does not fit into what is left of its quota, and preempts no job; once it
    # does, it goes before the job of b, which only borrows
    assert runs_of(result) == [[(0, 100)], [(0, 5), (25, 122)], [(5, 15)], [(15, 25)]]
    assert result.spent is not None
    assert result.spent.restart_s.tolist() == [0, 2, 0, 0]


def test_borrowed_nodes_become_owned_in_the_order_of_starts() -> None:
    """a may claim 6 nodes: job 0 owns 4; jobs 1 and 2 borrow 4 and 3, job 3 owns the other 2.

    When job 0 ends, job 1 owns its 4 nodes, and job 2 goes on borrowing. When job 3 ends, 2 nodes
    are left, too few for job 2; when job 1 ends, it owns 3 of 6.
    """
    workload = jobs([0] * 6, [1] * 6, [4, 4, 3, 2, 2, 1], account=[*"aaaaab"])
    quotas = Quotas(workload, QuotaKeys(["a: 6"]), 20)
    assert quotas.cluster == [0, 0, 0, 0, 0, -1]
    every = np.arange(6)
    # who fits would own its nodes, if it waits
    assert quotas.score(every, 0.0).tolist() == [1, 1, 1, 1, 1, 0]
    for job in (0, 1, 2, 3, 5):
        quotas.started(job, 0.0)
    assert quotas.score(every, 0.0).tolist() == [1, 0, 0, 1, 0, 0]
    quotas.ended(0, 1.0)
    # nothing is left for job 0, if it comes again
    assert quotas.score(every, 1.0).tolist() == [0, 1, 0, 1, 0, 0]
    quotas.ended(3, 2.0)
    assert quotas.score(every[[1, 2, 4, 5]], 2.0).tolist() == [1, 0, 1, 0]
    quotas.ended(5, 2.0)
    quotas.ended(1, 3.0)
    assert quotas.score(every[[2, 4]], 3.0).tolist() == [1, 1]
    quotas.started(4, 3.0)
    quotas.ended(2, 4.0)
    # 2 of 6 nodes are owned: the 4 of job 0 fit
    assert quotas.score(every[:1], 4.0).tolist() == [1]


def test_a_job_that_borrowed_and_has_ended_becomes_no_owner() -> None:
    """a may claim 4 nodes: job 0 owns them, job 1 borrows 3. When both have ended, job 2 has 4."""
    workload = jobs([0] * 3, [1] * 3, [4, 3, 4], account=[*"aaa"])
    quotas = Quotas(workload, QuotaKeys(["a: 4"]), 8)
    quotas.started(0, 0.0)
    quotas.started(1, 0.0)
    quotas.ended(1, 1.0)
    quotas.ended(0, 2.0)
    assert quotas.score(np.array([2]), 2.0).tolist() == [1]


def test_who_has_become_an_owner_is_not_preempted() -> None:
    """a may claim 4 of 12 nodes, b 8. Jobs 1 and 3 of a have 4 each, and job 2 of c has 4.

    Job 3 borrows until job 1 ends at 10 s; then it owns its nodes. Job 4 of b needs 8 at 12 s: the
    4 that are free, and those of job 2, although job 3 started later.
    """
    workload = jobs([0, 0, 1, 12], [10, 50, 40, 5], [4, 4, 4, 8], account=["a", "c", "a", "b"])
    result = simulate(workload, Mask(12), Rules(quotas=QuotaKeys(["a: 4", "b: 8"])), "fcfs")
    assert runs_of(result) == [[(0, 10)], [(0, 12), (17, 67)], [(1, 41)], [(12, 17)]]


@pytest.mark.parametrize("by", ["user", "project"])
def test_quotas_by_numbers(by: str) -> None:
    """Number 0 may claim 2 of 4 nodes; job 1 of number 1 and job 2 of nobody borrow.

    Job 3 of 0 takes the place of the later one at 5 s. Job 4 of 0 does not fit into the quota until
    15 s; then it goes before job 2, which has 45 s left.
    """
    number = np.array([1, -1, 0, 0], dtype=np.int32)
    workload = jobs([0, 0, 5, 6], [50, 50, 10, 10], [2, 2, 2, 2])
    workload = replace(workload, **{by: number})
    rules = Rules(checkpoints=Checkpoints(1.0), quotas=QuotaKeys(["0: 2"], by))
    result = simulate(workload, Mask(4), rules, "fcfs")
    assert runs_of(result) == [[(0, 50)], [(0, 5), (25, 70)], [(5, 15)], [(15, 25)]]


def test_a_job_that_does_not_fit_its_quota_stands_before_those_behind_it() -> None:
    """a may claim 4 of 8 nodes: the first of its jobs has 6, and the second does not overtake."""
    workload = jobs([0, 5, 6], [100, 10, 10], [8, 6, 2], account=["c", "a", "a"])
    result = simulate(workload, Mask(8), Rules(quotas=QuotaKeys(["a: 4"])), "fcfs")
    assert runs_of(result) == [[(0, 100)], [(100, 110)], [(100, 110)]]


# Checkpoints


def test_what_a_run_spends() -> None:
    """Each 10 s of work a checkpoint of 2 s, but at the end; 5 s to begin again."""
    each = Checkpoints(10.0, 2.0, 5.0)
    assert each.planned(30.0, restarts=False) == Spent(30, 0, 4, 0)
    assert each.planned(31.0, restarts=True) == Spent(31, 0, 6, 5)
    assert each.planned(10.0, restarts=True) == Spent(10, 0, 0, 5)
    # in the restore; 4 s after the first checkpoint; in the second second of a checkpoint
    assert each.spent(3.0, 30.0, restarts=True) == Spent(0, 0, 0, 3)
    assert each.spent(21.0, 30.0, restarts=True) == Spent(10, 4, 2, 5)
    assert each.spent(11.0, 30.0, restarts=False) == Spent(0, 10, 1, 0)
    assert each.spent(33.0, 30.0, restarts=False) == Spent(20, 9, 4, 0)
    # all is done but the end: none of the three intervals' last is saved
    assert Checkpoints(10.0).spent(30.0, 30.0, restarts=False) == Spent(20, 10, 0, 0)
    assert Checkpoints(None, 0.0, 5.0).spent(30.0, 90.0, restarts=True) == Spent(0, 25, 0, 5)
    # of 60 s are left 60 - 20 - 2 x 2 + 5; a job past its walltime gets a second
    assert each.walltime_s(60.0, 20.0) == 41.0
    assert each.walltime_s(15.0, 20.0) == 1.0
    assert Checkpoints(None, 0.0, 5.0).walltime_s(60.0, 0.0) == 65.0


def test_checkpoints_cost_time_without_interruptions() -> None:
    """30 s of work with 2 checkpoints of 2 s: 34 s, cut at a walltime of 32 s in the third 10 s."""
    workload = jobs([0], [30], [1])
    rules = Rules(checkpoints=Checkpoints(10.0, 2.0))
    result = simulate(workload, Mask(1), rules, "fcfs")
    assert runs_of(result) == [[(0, 34)]]
    assert result.spent is not None
    assert (result.spent.useful_s.tolist(), result.spent.checkpoint_s.tolist()) == ([30], [4])
    cut = simulate(jobs([0], [30], [1], requested=[32]), Mask(1), rules, "fcfs", overrun="cut")
    assert runs_of(cut) == [[(0, 32)]]
    assert cut.spent is not None
    assert (cut.spent.useful_s.tolist(), cut.spent.lost_s.tolist()) == ([20], [8])
    # a restart that never comes costs nothing, and is counted
    never = simulate(workload, Mask(1), Rules(checkpoints=Checkpoints(restart_s=5.0)), "fcfs")
    assert runs_of(never) == [[(0, 30)]]
    assert never.spent is not None
    assert never.reports["interruptions"]["restart_node_s"] == 0


@pytest.mark.parametrize("slack_s", [0.0, -1.0])
def test_a_restart_has_its_time_within_the_walltime(slack_s: float) -> None:
    """30 s of work and 2 checkpoints of 1 s are 32 s, its walltime; job 2 preempts it at 25 s.

    20 s and 2 checkpoints are saved. A restart of 3 s and 10 s of work are left: 13 s, from 30 to
    43 s, of 32 - 22 + 3. With a walltime of 31 s it is cut at 42 s, as it would be at 31 s.
    """
    requested = [32.0 + slack_s, 5.0, 10.0, 90.0]
    workload = jobs(
        [0, 25, 31, 31], [30, 5, 10, 60], [2, 2, 3, 1], priority=[0, 1, 0, 0], requested=requested
    )
    rules = Rules(checkpoints=Checkpoints(10.0, 1.0, 3.0), preemption=PreemptionKeys("order"))
    result = simulate(workload, Mask(3), rules, overrun="cut")
    end_s = 43 + slack_s
    assert runs_of(result)[0] == [(0, 25), (30, end_s)]
    assert result.outcome.tolist() == [0 if slack_s == 0 else CUT, 0, 0, 0]
    assert result.overran.tolist() == [slack_s < 0, False, False, False]
    # job 3 needs all 3 nodes: it is promised the end of that walltime, and job 4 goes after it
    assert result.promised_s[2] == end_s
    assert result.start_s[2:].tolist() == [end_s, end_s + 10]


@pytest.mark.parametrize("more", [0, 100])
def test_a_restart_is_backfilled_by_the_walltime_that_is_left(more: int) -> None:
    """Job 1 has done 20 of 30 s when job 3 preempts it. Job 4 needs all 3 nodes, free at 45 s.

    From 25 s on 10 s of job 1 are left, which end before; 30 s would not. So it is if many jobs
    like job 4 wait behind it.
    """
    workload = jobs(
        [0, 0, 20, 21, *[22] * more],
        [30, 45, 5, 5, *[1] * more],
        [1, 2, 1, 3, *[3] * more],
        priority=[0, 1, 2, 1, *[0] * more],
    )
    rules = Rules(checkpoints=Checkpoints(10.0), preemption=PreemptionKeys("order"))
    for policy in (Mask(3), HeldMask(3)):
        runs = runs_of(simulate(workload, policy, rules))
        assert runs[:4] == [[(0, 20), (25, 35)], [(0, 45)], [(20, 25)], [(45, 50)]]


def test_what_is_saved_is_a_share_of_work_that_changes() -> None:
    """Of 100 s of work 40 are saved after 45 s. In a place with 50 s of work these are 20 s: 30 are
    left. Of these, 10 are saved after 15 s: 30 of 50 s, and 60 of 100 s in the first place."""
    account = Interruptions(1, Checkpoints(10.0))
    assert account.planned_s(0, 100.0) == 100.0
    account.left(0, 55.0, 45.0, completed=False)
    account.sent_back(0, 45.0, preempted=True)
    assert account.walltime_s(0, 200.0) == 160.0
    assert account.planned_s(0, 50.0) == 30.0
    account.left(0, 15.0, 15.0, completed=False)
    account.sent_back(0, 15.0, preempted=False)
    assert account.planned_s(0, 100.0) == 40.0
    account.left(0, 0.0, 44.0, completed=True)
    spent = account.spent
    assert (spent.preempted.tolist(), spent.failed.tolist()) == ([1], [1])
    assert spent.earlier_s.tolist() == [60]
    assert spent.useful_s.tolist() == [40 + 10 + 40]
    assert (spent.lost_s.tolist(), spent.contention_s.tolist()) == ([10], [4])


@pytest.mark.parametrize("preempted", [True, False])
def test_every_interruption_makes_the_next_run_a_restart(preempted: bool) -> None:
    account = Interruptions(1, Checkpoints(10.0, 0.0, 5.0))
    assert account.planned_s(0, 30.0) == 30.0
    account.left(0, 15.0, 15.0, completed=False)
    account.sent_back(0, 15.0, preempted=preempted)
    assert account.planned_s(0, 30.0) == 5.0 + 20.0
