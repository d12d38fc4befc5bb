"""Preemption, quotas, failures and checkpoints against slow references and exact accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_helpers import Contiguous, HeldMask, Mask, flat_machine, make_workload

from alloc.policy import Placement, Policy
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from queuesim.capacity import loss_of_capacity, mean_utilisation
from queuesim.metrics import effective_training_time, run_s, wait_s
from queuesim.ordering.attained import Attained, attained_order
from queuesim.ordering.orders import Order
from queuesim.queue import QueueSetup, simulate_queue
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel, RunTimes
from queuesim.site.checkpoints import Checkpoints, effective_share
from queuesim.site.failures import DAY_S, Failures, draw_failures
from queuesim.site.outages import Outage
from queuesim.site.partitions import Partition
from queuesim.site.preemption import PreemptionKeys
from queuesim.site.quotas import QuotaKeys
from queuesim.site.rules import Rules
from workloads.details import JobDetails, Labels
from workloads.job import Workload

BY_ORDER = PreemptionKeys("order")


def jobs(
    submit: list[float],
    run: list[float],
    nodes: list[int],
    priority: list[float] | None = None,
    account: list[str] | None = None,
    requested: list[float] | None = None,
) -> Workload:
    details = JobDetails(
        priority=None if priority is None else np.array(priority, dtype=float),
        account=None if account is None else Labels.of(account),
    )
    return replace(make_workload(submit, run, nodes, requested), details=details)


def simulate(
    workload: Workload,
    policy: Policy,
    rules: Rules,
    order: str | Order = "priority",
    **more: object,
) -> QueueResult:
    rng = np.random.default_rng(5)
    return simulate_queue(workload, policy, order=order, rules=rules, rng=rng, **more)  # type: ignore[arg-type]


def runs_of(result: QueueResult) -> list[list[tuple[float, float]]]:
    """The (start, end) of every run of every job."""
    found: list[list[tuple[float, float]]] = [[] for _ in range(len(result))]
    open_s: dict[int, float] = {}
    events = zip(result.event_s, result.event_job, result.event_is_start, strict=True)
    for time_s, job, is_start in events:
        if is_start:
            open_s[int(job)] = float(time_s)
        else:
            found[int(job)].append((open_s.pop(int(job)), float(time_s)))
    return found


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

    def run(self) -> list[list[tuple[float, float]]]:
        w, n = self.workload, len(self.workload)
        self.executed = [0] * n
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


@st.composite
def histories(draw: st.DrawFn) -> tuple[Workload, Checkpoints, int]:
    n = draw(st.integers(2, 12))
    some = st.integers(1, 30)
    submit = sorted(draw(st.lists(st.integers(0, 60), min_size=n, max_size=n)))
    run = draw(st.lists(some, min_size=n, max_size=n))
    nodes = draw(st.lists(st.integers(1, 8), min_size=n, max_size=n))
    priority = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    every = draw(st.none() | st.integers(1, 12))
    checkpoints = Checkpoints(every, draw(st.integers(0, 3)), draw(st.integers(0, 4)))
    return jobs(submit, run, nodes, priority), checkpoints, draw(st.integers(0, 9))


@settings(max_examples=80, deadline=None)
@given(histories())
def test_preemption_by_priority_equals_a_slow_queue(
    history: tuple[Workload, Checkpoints, int],
) -> None:
    workload, checkpoints, min_run = history
    rules = Rules(checkpoints=checkpoints, preemption=PreemptionKeys("order", min_run))
    level = workload.details.priority
    assert level is not None
    expected = Slow(workload, 8, lambda j, _: float(level[j]), checkpoints, min_run).run()
    for policy in (Mask(8), HeldMask(8)):
        result = simulate(workload, policy, rules, backfill="none")
        assert runs_of(result) == expected


@settings(max_examples=60, deadline=None)
@given(histories())
def test_las_equals_a_slow_queue(history: tuple[Workload, Checkpoints, int]) -> None:
    workload, checkpoints, min_run = history
    # sizes divide the thresholds, so that jobs change queues at whole seconds
    workload = replace(workload, n_nodes=2 ** (workload.n_nodes % 4))
    order = attained_order(Attained((24.0, 64.0)))
    rules = Rules(checkpoints=checkpoints, preemption=PreemptionKeys("order", min_run))

    def level(job: int, executed: int) -> float:
        served = executed * int(workload.n_nodes[job])
        return -float((served >= 24) + (served >= 64))

    expected = Slow(workload, 8, level, checkpoints, min_run).run()
    result = simulate(workload, Mask(8), rules, order, backfill="none")
    assert runs_of(result) == expected


def test_las_by_hand() -> None:
    """Two nodes, thresholds of 10 and 40 node-seconds; the numbers are worked out by hand.

    Job 1 (2 nodes, 30 s) crosses 10 node-seconds at 5 s. Job 2 arrives at 3 s and waits until
    then, since both are in the first queue; it ends at 7 s, before it has used 10. Job 1 goes on
    with 5 s of work done, and job 3 preempts it at 8 s. From 12 s on job 1 runs alone.
    """
    workload = jobs([0, 3, 8], [30, 2, 4], [2, 2, 1])
    order = attained_order(Attained((10.0, 40.0)))
    rules = Rules(checkpoints=Checkpoints(1.0), preemption=BY_ORDER)
    result = simulate(workload, Mask(2), rules, order)
    assert runs_of(result) == [[(0, 5), (7, 8), (12, 36)], [(5, 7)], [(8, 12)]]
    assert result.spent is not None
    assert result.spent.preempted.tolist() == [2, 0, 0]
    assert wait_s(result).tolist() == [6.0, 2.0, 0.0]
    assert run_s(result).tolist() == [30.0, 2.0, 4.0]


# The account


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


@settings(max_examples=150, deadline=None)
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
    # nothing runs that does not fit
    _, busy = result.busy_nodes()
    assert 0 <= busy.min() <= busy.max() <= 8
    span = result.event_s[-1] - result.event_s[0]
    assert mean_utilisation(result) == pytest.approx(held @ workload.n_nodes / (8 * span))
    assert 0 <= loss_of_capacity(result) <= 1


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=80, deadline=None)
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
    for now_s in run.passes():
        owned = dict.fromkeys(quotas, 0)
        for job in sorted(run.running, key=lambda j: (started[j], j)):
            name = str(account[job])
            assert run.preemption is not None
            if not run.preemption._quotas.borrows(job):
                owned[name] += size[job]
        assert all(owned[name] <= nodes for name, nodes in quotas.items())
        free = 8 - sum(size[job] for job in run.running)
        lent = sum(
            size[job]
            for job in run.running
            if run.preemption._quotas.borrows(job)
            and now_s >= started[job] + rules.preemption.min_run_s
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
    # the second of a does not fit into what is left of its quota, and preempts nobody; once it
    # does, it goes before the job of b, which only borrows
    assert runs_of(result) == [[(0, 100)], [(0, 5), (25, 122)], [(5, 15)], [(15, 25)]]
    assert result.spent is not None
    assert result.spent.restart_s.tolist() == [0, 2, 0, 0]
