"""Walltimes told to the policy: request, truth, and the corrected request by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

from alloc.policy import Placement, Request
from queuesim.estimates import Actual, Adjusted, EstimateModel, Requested
from queuesim.queue import simulate_queue
from queuesim.registry import ESTIMATES
from workloads.job import Workload


class Listening(Mask):
    """Writes down the ends it is told."""

    def __init__(self, n_nodes: int) -> None:
        super().__init__(n_nodes)
        self.told: dict[int, float | None] = {}

    def allocate(self, request: Request) -> Placement | None:
        self.told[request.job_id] = request.end_s
        return super().allocate(request)


def log(users: list[int], projects: list[int], nodes: list[int]) -> Workload:
    """One job every 100 s, run 10 s, 20 s, ... of 100 s asked."""
    n = len(users)
    plain = make_workload(
        [100 * k for k in range(n)], [10.0 * (k + 1) for k in range(n)], nodes, [100.0] * n
    )
    return replace(
        plain, user=np.array(users, dtype=np.int32), project=np.array(projects, dtype=np.int32)
    )


def told(workload: Workload, model: EstimateModel | None) -> list[float]:
    policy = Listening(64)
    simulate_queue(workload, policy, estimates=model, rng=np.random.default_rng(0))
    return [float(policy.told[k + 1] or 0) - 100 * k for k in range(len(workload))]


def test_request_and_truth() -> None:
    workload = log([1, 1, 1], [1, 1, 1], [1, 1, 1])
    assert told(workload, None) == told(workload, Requested()) == [100, 100, 100]
    assert told(workload, Actual()) == [10, 20, 30]


def test_adjusted_falls_back_from_narrow_to_wide() -> None:
    # user, project, nodes of each job, and what is known when it starts (accuracy 0.1, 0.2,
    # 0.3, ...): nothing; same group 0.1; other size: user+project (0.1 + 0.2) / 2; other
    # project: user (0.1 + 0.2 + 0.3) / 3; other user: project 2 = 0.4; neither: all.
    workload = log([1, 1, 1, 1, 2, 3], [1, 1, 1, 2, 2, 3], [8, 5, 16, 8, 8, 8])
    assert told(workload, Adjusted()) == pytest.approx([100, 10, 15, 20, 40, 30])


def test_a_size_class_is_a_power_of_two_at_its_upper_end() -> None:
    """3 and 4 nodes are one class, 5 and 8 the next: 0.1 for 4 nodes, not (0.1 + 0.2) / 2; then
    0.2 for 8 nodes."""
    workload = log([1, 1, 1, 1], [1, 1, 1, 1], [3, 5, 4, 8])
    assert told(workload, Adjusted()) == pytest.approx([100, 10, 10, 20])


def test_history_is_learned_in_the_order_of_its_ends() -> None:
    """The first job of the history (90 of 100 s) ends after the second (20 of 100 s)."""
    history = replace(
        log([1, 1], [1, 1], [1, 1]),
        submit_s=np.array([0.0, 10.0]),
        run_time_s=np.array([90.0, 20.0]),
    )
    workload = log([1], [1], [1])
    assert told(workload, Adjusted(recent=1, history=history)) == pytest.approx([90])


def test_adjusted_forgets_and_learns_from_history() -> None:
    workload = log([1, 1, 1], [1, 1, 1], [1, 1, 1])
    assert told(workload, Adjusted(recent=1)) == pytest.approx([100, 10, 20])
    history = replace(log([1], [1], [1]), run_time_s=np.array([50.0]))
    assert told(workload, Adjusted(history=history)) == pytest.approx([50, 30, 80 / 3])


def test_adjusted_is_never_above_the_request() -> None:
    workload = log([1, 1], [1, 1], [1, 1])
    workload.run_time_s[0] = 900.0
    assert told(replace(workload, submit_s=np.array([0.0, 1000.0])), Adjusted())[1] == 1000.0


def test_names() -> None:
    assert all(ESTIMATES[name].name == name and ESTIMATES[name].description for name in ESTIMATES)
