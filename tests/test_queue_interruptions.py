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
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.outages import Outage
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
def test_every_second_on_a_node_is_accounted_for(
    history: tuple[Workload, Rules, str, str], policy: type[Mask]
) -> None:
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
