"""Preemption, quotas, failures and checkpoints against slow references and exact accounts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_helpers import HeldMask, Mask, make_workload

from alloc.policy import Policy
from queuesim.ordering.attained import Attained, attained_order
from queuesim.ordering.orders import Order
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.preemption import PreemptionKeys
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
