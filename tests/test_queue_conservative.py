"""Conservative backfilling against a plain second implementation, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from conservative_reference import PlainConservative
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Contiguous, Mask, Pairs, make_workload
from selection import examples

from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from workloads.job import Workload

NODES = 8


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Whole seconds, many ties; walltimes may be too short, much too long, or missing."""
    n = draw(st.integers(1, 25))
    times = st.lists(st.integers(1, 12), min_size=n, max_size=n)
    submit = sorted(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)))
    if draw(st.booleans()):
        submit = [0] * n
    run, more = draw(times), draw(times)
    asked = draw(st.sampled_from([run, more, [r + m for r, m in zip(run, more, strict=True)]]))
    if draw(st.booleans()):
        endless = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        asked = [np.inf if no_limit else a for no_limit, a in zip(endless, asked, strict=True)]
    nodes = draw(st.lists(st.integers(1, NODES), min_size=n, max_size=n))
    return make_workload(submit, run, nodes, asked)


def schedule(
    workload: Workload,
    policy: Mask,
    order: str = "fcfs",
    window: int | None = None,
    reservations: int | None = None,
) -> QueueResult:
    return simulate_queue(
        workload,
        policy,
        backfill="conservative",
        order=order,
        window=window,
        reservations=reservations,
        rng=np.random.default_rng(1),
    )


@pytest.mark.parametrize("kind", [Mask, Contiguous, Pairs])
@examples(150)
@given(
    workload=workloads(),
    order=st.sampled_from(["fcfs", "shortest", "wfp", "smallest", "largest"]),
    window=st.sampled_from([0, 1, 3, None]),
    reservations=st.sampled_from([0, 1, 2, 4, None]),
)
def test_same_schedule_as_the_plain_queue(kind, workload, order, window, reservations):
    fast = schedule(workload, kind(NODES), order, window, reservations)
    plain = PlainConservative(workload, kind(NODES), order, window, reservations)
    assert np.array_equal(fast.start_s, plain.run())
    assert np.array_equal(fast.promised_s, plain.promised, equal_nan=True)
    assert np.array_equal(fast.first_blocked_s, plain.first_blocked, equal_nan=True)


@examples(100)
@given(workload=workloads(), order=st.sampled_from(["fcfs", "shortest", "smallest", "largest"]))
def test_one_reservation_by_count_is_easy(workload: Workload, order: str) -> None:
    one = schedule(workload, Mask(NODES), order, reservations=1)
    easy = simulate_queue(workload, Mask(NODES), order=order, rng=np.random.default_rng(1))
    assert np.array_equal(one.start_s, easy.start_s)


@pytest.mark.parametrize(
    ("reservations", "starts"), [(0, [0, 10, 30, 0]), (1, [0, 10, 30, 0]), (2, [0, 10, 15, 20])]
)
def test_hand_worked_numbers_of_reservations(reservations: int, starts: list[float]) -> None:
    # 4 nodes. A: 3 nodes 0-10. B: 2 nodes, 5 s, at 10. C: 4 nodes, 5 s, at 15 behind B. D (1 node,
    # 30 s) leaves B its nodes at 10, but holds up C until 30, unless C has a reservation too.
    jobs = make_workload([0, 0, 0, 0], [10, 5, 5, 30], [3, 2, 4, 1])
    assert schedule(jobs, Mask(4), reservations=reservations).start_s.tolist() == starts
    assert schedule(jobs, Mask(4)).start_s.tolist() == [0, 10, 15, 20]
    # A: 3 nodes 0-10. B: 4 nodes, at 10. E (1 node, 11 s) holds it up by 1 s if B has none.
    jobs = make_workload([0, 0, 0], [10, 5, 11], [3, 4, 1])
    expected = [0, 10, 15] if reservations else [0, 11, 0]
    assert schedule(jobs, Mask(4), reservations=reservations).start_s.tolist() == expected


def test_a_shape_can_break_a_reservation() -> None:
    # 4 nodes in a row: A takes node 0 until 10, B nodes 1-2 until 4, C node 3 until 10. D asks for
    # 2 nodes and has them by count at 4. E (1 node, 1 s) comes at 4, behind D: D gets 1-2.
    workload = make_workload([0, 0, 0, 1, 4], [10, 4, 10, 5, 1], [1, 2, 1, 2, 1])
    assert schedule(workload, Contiguous(4)).start_s[3] == 4
    # With B on one node between two that end at 4, two nodes are free then, but not in a row.
    workload = make_workload([0, 0, 0, 0, 1], [4, 10, 4, 10, 5], [1, 1, 1, 1, 2])
    result = schedule(workload, Contiguous(4))
    assert result.promised_s[4] == 4
    assert result.start_s[4] == 10
