"""Preemption, quotas, failures and checkpoints against slow references and exact accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_helpers import Contiguous, HeldMask, Mask, make_workload

from alloc.policy import Placement, Policy
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.gpu_cluster import gpu_cluster
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from queuesim.capacity import loss_of_capacity, mean_utilisation
from queuesim.metrics import interruption_totals, run_s, turnaround_s, wait_s
from queuesim.ordering.attained import Attained, attained_order
from queuesim.ordering.orders import Order
from queuesim.queue import simulate_queue
from queuesim.queue_setup import QueueSetup
from queuesim.result import CUT, QueueResult
from queuesim.runtime import RunTimeModel, RunTimes
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.failures import DAY_S, Failures, draw_failures
from queuesim.site.outages import Outage
from queuesim.site.partitions import Partition
from queuesim.site.preemption import PreemptionKeys
from queuesim.site.quotas import QuotaKeys
from queuesim.site.ruled_run import RuledRun
from queuesim.site.rules import Rules
from workloads.details import JobDetails, Labels
from workloads.gpu_clusters import gpu_cluster_workload
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
@given(histories(), st.sampled_from((None, 1.0, 2.0, 5.0)))
def test_las_equals_a_slow_queue(
    history: tuple[Workload, Checkpoints, int], promote_after: float | None
) -> None:
    workload, checkpoints, min_run = history
    # sizes divide the thresholds, so that jobs change queues at whole seconds
    workload = replace(workload, n_nodes=2 ** (workload.n_nodes % 4))
    order = attained_order(Attained((24.0, 64.0), promote_after))
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
        order = attained_order(Attained((10.0,), promote_after))
        first.append(runs_of(simulate(workload, Mask(1), rules, order))[0])
    assert first == [[(0, 10), (100, 130)], [(0, 10), (30, 40), (60, 70), (90, 100)]]


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
    # the second of a does not fit into what is left of its quota, and preempts nobody; once it
    # does, it goes before the job of b, which only borrows
    assert runs_of(result) == [[(0, 100)], [(0, 5), (25, 122)], [(5, 15)], [(15, 25)]]
    assert result.spent is not None
    assert result.spent.restart_s.tolist() == [0, 2, 0, 0]


# Failures


def test_a_leaf_of_gpus_fails_with_all_its_servers() -> None:
    topology = gpu_cluster(8, gpus_per_node=4, nodes_per_leaf=2)
    """Also a server with its GPUs, and a link with one; a leaf of a rail has a GPU a server."""
    units = {"leaf": 8, "node": 4, "link": 1}
    for fabric, per_leaf in (("leaf", 8), ("rail", 2)):
        topology = gpu_cluster(8, gpus_per_node=4, nodes_per_leaf=2, fabric=fabric)
        for part, n_gpus in (units | {"leaf": per_leaf}).items():
            failures = Failures(**{f"per_{part}_day": 1.0})
            drawn = draw_failures(failures, topology, np.random.default_rng(1))
            for failure, _ in zip(drawn, range(20), strict=False):
                gpus = np.flatnonzero(failure.nodes)
                assert len(gpus) == n_gpus
                assert np.unique(gpus // (4 if part == "node" else 8)).size == 1
                if fabric == "rail" and part == "leaf":
                    assert np.unique(gpus % 4).size == 1


@pytest.mark.parametrize("part", ["leaf", "link"])
def test_a_node_with_several_links_keeps_the_others(part: str) -> None:
    topology = gpu_cluster(8, gpus_per_node=4, nodes_per_leaf=2, planes=2)
    failures = Failures(**{f"per_{part}_day": 1.0})
    with pytest.raises(NetcosimError, match=f"per_{part}_day: nodes of .* have 2 links, and keep"):
        next(draw_failures(failures, topology, np.random.default_rng(1)))


@pytest.mark.parametrize(("part", "n_units"), [("node", 128), ("link", 128), ("leaf", 32)])
def test_failures_come_as_often_as_they_should(part: str, n_units: int) -> None:
    """Poisson: the count within four standard deviations, and all units alike."""
    topology = make_topology("fattree", {"radix": 8})
    rate, n_days = 0.02, 400
    failures, width = Failures(**{f"per_{part}_day": rate}), 128 // n_units
    drawn = []
    for one in draw_failures(failures, topology, np.random.default_rng(3)):
        if one.start_s > n_days * DAY_S:
            break
        drawn.append(one)
    expected = n_units * rate * n_days
    assert abs(len(drawn) - expected) < 4 * np.sqrt(expected)
    gaps = np.diff([one.start_s for one in drawn])
    assert gaps.mean() / gaps.std() == pytest.approx(1.0, abs=4 / np.sqrt(expected))
    hit = np.sum([one.nodes for one in drawn], axis=0)
    assert {int(one.nodes.sum()) for one in drawn} == {width}
    units = hit.reshape(n_units, width)
    assert np.all(units == units[:, :1])
    # chi-squared of n - 1 degrees: mean n - 1, deviation sqrt(2 n)
    chi = float(np.sum((units[:, 0] - len(drawn) / n_units) ** 2) / (len(drawn) / n_units))
    assert abs(chi - (n_units - 1)) < 4 * np.sqrt(2 * n_units)


def test_all_policies_see_the_same_failures() -> None:
    """Also with other jobs, and in another process: they depend on the generator alone."""
    topology = make_topology("fattree", {"radix": 4})
    rules = Rules(
        failures=Failures(30.0, 20.0, 20.0, repair_s=600.0),
        checkpoints=Checkpoints(100.0),
    )
    n = 40
    workload = jobs([float(100 * k) for k in range(n)], [500.0] * n, [1 + k % 9 for k in range(n)])
    seen, results = [], []
    for name in ("baseline", "random", "jigsaw", "baseline"):
        policy = make_policy(topology, name, np.random.default_rng(2))
        setup = QueueSetup(workload, policy, rules=rules, rng=np.random.default_rng(9))
        run = setup.by_events()
        run.run()
        assert run.access is not None
        seen.append([(w.start_s, w.end_s, w.nodes.tolist()) for w in run.access.windows])
        results.append(run.result())
        assert results[-1].spent is not None
        assert results[-1].spent.failed.sum() > 5
        assert np.all(results[-1].outcome == 0)
    least = min(map(len, seen))
    assert least > 20
    assert all(one[:least] == seen[0][:least] for one in seen)
    assert runs_of(results[0]) == runs_of(results[3])


@pytest.mark.parametrize(("rate", "interval_s"), [(0.02, 3600.0), (0.02, 900.0), (0.06, 1800.0)])
def test_effective_training_time_meets_its_closed_form(rate: float, interval_s: float) -> None:
    """A job on all 64 nodes of a machine, for about 1,000 failures.

    The closed form is of the first order in x = failures in an interval; what it leaves out is of
    the order x^2.
    """
    n, work_s = 64, 1000 * DAY_S / (64 * rate)
    checkpoints = Checkpoints(interval_s, 60.0, 300.0)
    rules = Rules(failures=Failures(per_node_day=rate, repair_s=1.0), checkpoints=checkpoints)
    result = simulate(jobs([0], [work_s], [n]), Mask(n), rules, "fcfs")
    assert result.spent is not None
    failed = int(result.spent.failed[0])
    totals = interruption_totals(result.spent, result.workload.n_nodes)
    share = totals["effective_training_time"]
    restarts = n * rate / DAY_S * (checkpoints.restart_s + interval_s / 2)
    expected = (1 - restarts) / (1 + checkpoints.write_s / interval_s)
    assert share == pytest.approx(expected, abs=0.003)
    assert share != pytest.approx(1.0, abs=0.01)
    # lost: half an interval a failure
    assert result.spent.lost_s[0] / failed == pytest.approx(interval_s / 2, rel=0.1)


def test_a_queue_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_INTERRUPTIONS", 50)
    rules = Rules(failures=Failures(per_node_day=1000.0, repair_s=1.0))
    with pytest.raises(NetcosimError, match="50 interruptions in a row in which no job ended"):
        simulate(jobs([0], [1e5], [8]), Mask(8), rules, "fcfs")


def test_jobs_that_preempt_each_other_without_end_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each has lost its work when it is in the first queue again."""
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_INTERRUPTIONS", 50)
    order = attained_order(Attained((10.0,), 1.0))
    with pytest.raises(NetcosimError, match=r"or raise queue\.las\.promote_after"):
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


@pytest.mark.parametrize(
    ("rules", "order", "more", "message"),
    [
        (Rules(), "las", {}, 'order \'las\' needs preemption; set queue.preemption.by = "order"'),
        (Rules(preemption=BY_ORDER), "fcfs", {}, 'order \'fcfs\' has no levels; use "priority" or'),
        (
            Rules(preemption=PreemptionKeys("partition")),
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
def test_what_does_not_go_together_is_one_line(
    rules: Rules, order: str, more: dict[str, object], message: str
) -> None:
    workload = jobs([0, 1], [10, 10], [4, 8], priority=[0, 1], account=["a", "b"])
    with pytest.raises(NetcosimError) as caught:
        simulate(workload, Mask(8), rules, order, **more)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuotaKeys(["a"]), "'a'; it must be a name and a number of nodes"),
        (lambda: QuotaKeys(["a: 4", "a: 2"]), "'a' occurs twice"),
        (lambda: Attained((5.0, 5.0)), "they must ascend"),
        (
            lambda: Rules(preemption=BY_ORDER, quotas=QuotaKeys(["a: 4"])),
            "does not go with queue.quotas; remove one of them",
        ),
    ],
)
def test_keys_that_make_no_sense(make: Callable[[], object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make()


# What longer run times cost a queue


def mean_completion(workload: Workload, topology: Topology) -> float:
    rng = np.random.default_rng(0)
    policy = make_policy(topology, "baseline", rng)
    return float(turnaround_s(simulate_queue(workload, policy, rng=rng)).mean())


def stretched(workload: Workload, factor: float) -> Workload:
    longer = workload.run_time_s * factor
    return replace(workload, run_time_s=longer, requested_s=longer)


@pytest.mark.shared
def test_longer_run_times_on_kalos(shared_dir: Path) -> None:
    """The issue's numbers, within one point; those of docs/queue.md to the digit."""
    path = shared_dir / "inputs" / "ai" / "jobs" / "kalos_319_completed_jobs.csv"
    rows = np.genfromtxt(path, delimiter=",", names=True)
    workload = make_workload(rows["arrival_s"], rows["duration_s"], rows["nodes"])
    assert len(workload) == 319
    topology = make_topology("fattree", {"radix": 8})
    alone = mean_completion(workload, topology)
    costs = [
        100 * (mean_completion(stretched(workload, factor), topology) / alone - 1)
        for factor in (1.02, 1.05, 1.10)
    ]
    assert costs == pytest.approx([2.5, 6.7, 15], abs=1.0)
    page = (Path(__file__).parents[1] / "docs" / "queue.md").read_text(encoding="utf-8")
    assert "{:.1f}, {:.1f} and {:.1f} %".format(*costs) in page


def costs_of_two_per_cent(topology: Topology, load: float) -> list[float]:
    found = []
    for seed in range(4):
        workload = gpu_cluster_workload(
            20_000,
            "philly",
            np.random.default_rng(seed),
            load=load,
            machine_nodes=topology.n_nodes,
            size_unit="gpu",
        )
        alone = mean_completion(workload, topology)
        longer = mean_completion(stretched(workload, 1.02), topology)
        found.append(100 * (longer / alone - 1))
    return found


def test_the_elasticity_of_a_queue_grows_with_its_load() -> None:
    """2 % more run time on 256 GPUs: 2 % at a load of 0.3, a few times as much at 0.9."""
    topology = make_topology("fattree", {"radix": 16, "pods": 4})
    assert topology.n_nodes == 256
    assert costs_of_two_per_cent(topology, 0.3) == pytest.approx([2.0] * 4, abs=0.02)
    costs = costs_of_two_per_cent(topology, 0.9)
    mean, least, most = np.mean(costs), min(costs), max(costs)
    assert least > 1.2 * 2.0
    assert 2 * 2.0 < mean < 5 * 2.0
    page = (Path(__file__).parents[1] / "docs" / "queue.md").read_text(encoding="utf-8")
    assert f"{mean:.1f} % at 0.9 (mean of four generated logs, {least:.1f} to {most:.1f} %)" in page


@pytest.mark.full
def test_the_elasticity_of_a_queue_falls_with_its_size() -> None:
    few = make_topology("fattree", {"radix": 8, "pods": 4})
    many = make_topology("fattree", {"radix": 16})
    assert (few.n_nodes, many.n_nodes) == (64, 1024)
    assert f"{np.mean(costs_of_two_per_cent(few, 0.9)):.0f}" == "18"
    assert costs_of_two_per_cent(many, 0.9) == pytest.approx([2.0] * 4, abs=0.02)
