"""Jobs with priorities and accounts, and the runs of their queue, for tests of preemption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from queue_helpers import make_workload

from alloc.policy import Policy
from queuesim.ordering.orders import Order
from queuesim.parameters import PreemptionKeys
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.site.checkpoints import Checkpoints
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
