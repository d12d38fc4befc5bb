"""Metrics by hand on one small schedule, and by sampling on random ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Mask, make_workload
from selection import examples

from queuesim import capacity, metrics
from queuesim.observables.machine import EACH, ranges
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult


def small() -> QueueResult:
    """10 nodes, strict order. A 6 nodes 0-100; B 8 nodes at 10, runs 100-150; C 1 node at
    20 behind it, runs 100-104."""
    workload = make_workload([0, 10, 20], [100, 50, 4], [6, 8, 1])
    return simulate_queue(workload, Mask(10), backfill="none", rng=np.random.default_rng(0))


def test_job_metrics() -> None:
    result = small()
    assert metrics.wait_s(result).tolist() == [0, 90, 80]
    assert metrics.turnaround_s(result).tolist() == [100, 140, 84]
    # C ran 4 s, counted as 10: 84 / 10.
    assert metrics.bounded_slowdown(result) == pytest.approx([1, 2.8, 8.4])
    assert metrics.makespan_s(result) == 150


def test_summary_by_hand() -> None:
    """Means over jobs, not of means; the makespan begins with the first submission."""
    times = np.array([0.001, 0.005, 0.003])
    late = replace(small(), scheduling_s=times, start_s=np.array([1.0, 100.0, 100.0]))
    found = metrics.summarise(late)
    assert found.n_jobs == 3
    assert found.makespan_s == 150
    assert found.mean_wait_s == pytest.approx((1 + 90 + 80) / 3)
    assert found.mean_turnaround_s == pytest.approx((100 + 140 + 84) / 3)
    assert found.mean_bounded_slowdown == pytest.approx((100 / 99 + 2.8 + 8.4) / 3)
    assert np.isnan(found.mean_turnaround_large_s)
    assert (found.mean_scheduling_s, found.max_scheduling_s) == pytest.approx((0.003, 0.005))
    assert metrics.bounded_slowdown(late, 60.0) == pytest.approx([100 / 99, 140 / 60, 84 / 60])


def test_walltimes_are_not_run_times() -> None:
    workload = make_workload([0, 0], [20, 30], [2, 2], [200, 300])
    result = simulate_queue(workload, Mask(2), rng=np.random.default_rng(0))
    assert metrics.bounded_slowdown(result) == pytest.approx([1, 50 / 30])


def test_bounded_slowdown_is_at_least_one() -> None:
    workload = make_workload([0], [2], [1])
    result = simulate_queue(workload, Mask(1), rng=np.random.default_rng(0))
    assert metrics.bounded_slowdown(result) == [1]


def test_capacity_metrics() -> None:
    result = small()
    time, value = capacity.utilisation_steps(result)
    assert time.tolist() == [0, 100, 104, 150]
    assert value == pytest.approx([0.6, 0.9, 0.8, 0])
    # From the first failure (10) to the last start (100) A alone ran.
    assert capacity.steady_state_utilisation(result) == pytest.approx(0.6)
    assert capacity.mean_utilisation(result) == pytest.approx((600 + 400 + 4) / 1500)
    # 4 nodes idle 10-100; B needs 8; C (1 < 4) waits from 20 on.
    assert capacity.loss_of_capacity(result) == pytest.approx(4 * 80 / (10 * 150))
    every, without = (vars(metrics.summarise(result, lost=lost)) for lost in (True, False))
    assert np.isnan(without.pop("loss_of_capacity"))
    assert every.pop("loss_of_capacity") == capacity.loss_of_capacity(result)
    assert str(every) == str(without)  # a nan is equal to none
    sampled_at, sampled = capacity.sampled_utilisation(result)
    assert sampled_at.tolist() == [0, 60, 120]
    assert sampled == pytest.approx([0.6, 0.6, 0.8])


def each_start_and_end(result: QueueResult) -> list[object]:
    first = ranges(result)[0]
    assert first["counting"] == EACH
    return list(first.values())[1:]


def test_ranges_count_each_start_and_end() -> None:
    # After each event: 6, (end of A) 0, 8, 9, 8, 0 of 10 nodes; 60 % is in the lowest range.
    assert each_start_and_end(small()) == [0, 0, 1, 2, 0, 3]
    edges = make_workload([0] * 5, [1, 2, 3, 4, 5], [60, 20, 10, 5, 3])
    full = simulate_queue(edges, Mask(100), rng=np.random.default_rng(0))
    # 60, 80, 90, 95, 98 going up; 38, 18, 8, 3, 0 coming down.
    assert each_start_and_end(full) == [1, 1, 1, 1, 0, 6]


def test_every_count_of_busy_nodes_is_in_its_range() -> None:
    """On 1000 nodes: 60 % and less in the lowest range, every other edge in the range above."""
    busy = np.arange(1001)
    found = capacity.range_counts(busy, 1000)
    edges = [(980, 1001), (950, 980), (900, 950), (800, 900), (601, 800), (0, 601)]
    assert list(found.values()) == [last - first for first, last in edges]
    for (first, last), name in zip(edges, found, strict=True):
        inside = capacity.range_counts(busy[first:last], 1000)
        assert inside[name] == last - first


def test_loss_of_capacity_is_strict() -> None:
    # Under strict order B (9 of 10 nodes) blocks; C needs exactly the idle 4, no less.
    for nodes, lost in ((4, 0.0), (3, 4 * 100)):
        workload = make_workload([0, 0, 0], [100, 100, 100], [6, 9, nodes])
        result = simulate_queue(workload, Mask(10), backfill="none", rng=np.random.default_rng(0))
        makespan = result.end_s.max()
        assert capacity.loss_of_capacity(result) == pytest.approx(lost / (10 * makespan))


def test_summary_of_large_jobs() -> None:
    workload = make_workload([0, 0], [10, 20], [100, 101])
    result = simulate_queue(workload, Mask(201), rng=np.random.default_rng(0))
    summary = metrics.summarise(result)
    assert summary.mean_turnaround_s == 15
    assert summary.mean_turnaround_large_s == 20
    assert np.isnan(summary.steady_utilisation)
    assert 0 < summary.mean_scheduling_s <= summary.max_scheduling_s


@examples(40)
@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 8)),
        min_size=1,
        max_size=20,
    ),
    backfill=st.sampled_from(["none", "easy"]),
)
def test_capacity_against_counting_seconds(jobs: list[tuple[int, int, int]], backfill: str) -> None:
    jobs = sorted(jobs)
    submit, run, nodes = (list(column) for column in zip(*jobs, strict=True))
    workload = make_workload(submit, run, nodes)
    result = simulate_queue(workload, Mask(8), backfill=backfill, rng=np.random.default_rng(0))
    first, last = min(submit), int(result.end_s.max())
    used = lost = 0
    for t in range(first, last):
        running = result.running_at(t)
        idle = 8 - workload.n_nodes[running].sum()
        waiting = (workload.submit_s <= t) & (result.start_s > t)
        used += 8 - idle
        if np.any(workload.n_nodes[waiting] < idle):
            lost += idle
    assert capacity.mean_utilisation(result) == pytest.approx(used / (8 * (last - first)))
    assert capacity.loss_of_capacity(result) == pytest.approx(lost / (8 * (last - first)))
    time, value = capacity.utilisation_steps(result)
    assert float(np.sum(np.diff(time) * value[:-1])) == pytest.approx(used / 8)
