"""The waiting queue of fixed keys against a sorted list: front, head, and where the front ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from queuesim.waiting import StaticQueue
from workloads.job import Workload
from workloads.synthetic import laas_workload

N = 24


@pytest.fixture(scope="module")
def workload() -> Workload:
    return laas_workload(N, 4.0, np.random.default_rng(1))


@examples(300)
@given(
    keys=st.lists(st.integers(0, 9), min_size=N, max_size=N),
    depth=st.integers(1, 6),
    moves=st.lists(st.integers(0, 10**6), max_size=60),
)
def test_the_front_is_that_of_a_sorted_list(
    workload: Workload, keys: list[int], depth: int, moves: list[int]
) -> None:
    """Jobs come in any order of their keys and leave from anywhere in the front."""
    queue = StaticQueue(np.array(keys, dtype=np.float64), workload, depth)
    order = sorted(range(N), key=lambda job: (keys[job], job))
    left, waiting = list(range(N)), []
    for move in moves:
        front = [job for job in order if job in waiting][:depth]
        if left and (move % 2 or not front):
            job = left.pop((move // 2) % len(left))
            queue.push(job)
            waiting.append(job)
        elif front:
            job = front[(move // 2) % len(front)]
            queue.remove(job)
            waiting.remove(job)
        front = [job for job in order if job in waiting][:depth]
        assert queue.front(0.0) == front
        assert len(queue) == len(waiting)
        if front:
            assert queue.head(0.0) == front[0]
            if move % 3:
                always = np.full(1, np.inf)
                assert list(queue.candidates(0.0, always)) == front[1:]
