"""Strict order, conservative backfilling, orders and errors, by hand and by closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from queue_helpers import Contiguous, HeldMask, Mask, make_workload
from selection import examples

from netsim.errors import NetcosimError
from queuesim.backfilling.conservative import Profile
from queuesim.queue import fitting, simulate_queue
from queuesim.registry import BACKFILLS, ORDERS
from queuesim.result import QueueResult
from queuesim.waiting import make_queue
from workloads.job import Workload

BY_COUNT = [name for name in BACKFILLS if name not in ("cobalt", "as-logged")]
"""Cobalt's wants a partition menu; it has tests of its own."""


def simulate(workload: Workload, policy: Mask, **choices: object) -> QueueResult:
    return simulate_queue(workload, policy, rng=np.random.default_rng(1), **choices)  # type: ignore[arg-type]


def test_hand_worked_strict_order() -> None:
    # 4 nodes: A 3 nodes 0-10; B 4 nodes waits to 10; C 1 node would fit at once but waits to 15.
    workload = make_workload([0, 1, 2], [10, 5, 2], [3, 4, 1])
    result = simulate(workload, Mask(4), backfill="none")
    assert result.start_s.tolist() == [0, 10, 15]
    assert result.first_blocked_s == 1


@pytest.mark.parametrize(
    ("order", "jobs", "starts"),
    [
        ("shortest", ([0, 1, 2, 3], [10, 9, 1, 5], [4, 4, 4, 4]), [0, 16, 10, 11]),
        # one at a time, the first of equals first
        ("smallest", ([0] * 4, [1, 1, 2, 2], [2, 4, 3, 3]), [0, 5, 1, 3]),
        ("largest", ([0] * 4, [1, 1, 2, 2], [2, 4, 3, 3]), [5, 0, 1, 3]),
        # at 10: B (9/10)^3 * 1 = 0.729, C (8/4)^3 * 1 = 8: C first although it came later
        ("wfp", ([0, 1, 2], [10, 10, 4], [4, 4, 4]), [0, 14, 10]),
    ],
)
def test_hand_worked_orders(order: str, jobs: tuple[list[float], ...], starts: list[float]) -> None:
    result = simulate(make_workload(*jobs), Mask(4), order=order, backfill="none")
    assert result.start_s.tolist() == starts


def test_hand_worked_conservative() -> None:
    # 4 nodes. A 2 nodes 0-10, B 4 nodes at 10-15, C 4 nodes 15-20. D (1 node, 12 s) ends
    # at 12 and would delay B. E (2 nodes, 10 s) fits 0-10.
    workload = make_workload([0] * 5, [10, 5, 5, 12, 10], [2, 4, 4, 1, 2])
    result = simulate(workload, Mask(4), backfill="conservative")
    assert result.start_s.tolist() == [0, 10, 15, 20, 0]
    assert result.promised_s[1:4].tolist() == [10, 15, 20]


def test_conservative_keeps_what_easy_breaks() -> None:
    # 4 nodes. A 2 nodes 0-10, B 3 nodes 10-20, C 4 nodes. D (1 node, 100 s) does not touch
    # B, so EASY starts it at 0 and C waits for it; C's reservation at 20 forbids that.
    workload = make_workload([0] * 4, [10, 10, 10, 100], [2, 3, 4, 1])
    easy = simulate(workload, Mask(4))
    conservative = simulate(workload, Mask(4), backfill="conservative")
    assert easy.start_s.tolist() == [0, 10, 100, 0]
    assert conservative.start_s.tolist() == [0, 10, 20, 30]


@st.composite
def bounded(draw: st.DrawFn) -> Workload:
    n = draw(st.integers(1, 20))
    times = st.lists(st.integers(1, 12), min_size=n, max_size=n)
    run, more = draw(times), draw(times)
    return make_workload(
        sorted(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))),
        run,
        draw(st.lists(st.integers(1, 8), min_size=n, max_size=n)),
        [r + m - 1 for r, m in zip(run, more, strict=True)],
    )


@pytest.mark.parametrize("backfill", BY_COUNT)
@pytest.mark.parametrize("order", sorted(set(ORDERS) - {"fair-share", "las", "priority"}))
@examples(15)
@given(workload=bounded(), seed=st.integers(0, 9))
def test_every_schedule_is_a_schedule(backfill, order, workload, seed):
    # Underestimated walltimes too. Mask and its sisters assert that no node is given twice.
    workload.requested_s[:] = np.random.default_rng(seed).integers(1, 15, len(workload))
    for kind in (Mask, HeldMask, Contiguous):
        result = simulate(workload, kind(8), backfill=backfill, order=order, keep_placements=True)
        assert np.all(result.start_s >= workload.submit_s)
        assert np.array_equal(result.end_s - result.start_s, workload.run_time_s)
        _, busy = result.busy_nodes()
        assert busy.max() <= 8
        assert busy[-1] == 0
        assert np.all(np.diff(result.event_s) >= 0)
        for snapshot in result.snapshots([1.0, 7.5]):
            nodes = [n for p in snapshot.placements for n in p.nodes]
            assert len(nodes) == len(set(nodes)) == workload.n_nodes[snapshot.jobs].sum()


@pytest.mark.parametrize("backfill", BY_COUNT)
def test_jobs_come_at_their_own_fraction_of_a_second(backfill: str) -> None:
    """Three jobs of a third of a second, an eighth apart, on a machine for all of them."""
    workload = make_workload([0.0, 0.125, 0.25], [0.3] * 3, [1] * 3)
    result = simulate(workload, Mask(3), backfill=backfill)
    assert result.start_s.tolist() == [0.0, 0.125, 0.25]


@examples(40)
@given(
    gaps=st.lists(st.integers(0, 8), min_size=1, max_size=30),
    services=st.lists(st.integers(1, 9), min_size=30, max_size=30),
    backfill=st.sampled_from(BY_COUNT),
)
def test_one_node_is_lindleys_recursion(gaps, services, backfill):
    # W(k+1) = max(0, W(k) + S(k) - A(k)): the wait in a single-server queue.
    submit = np.cumsum(gaps)
    run = services[: len(gaps)]
    workload = make_workload(submit.tolist(), run, [1] * len(gaps))
    result = simulate(workload, Mask(1), backfill=backfill)
    wait = [0]
    for k in range(len(gaps) - 1):
        wait.append(max(0, wait[k] + run[k] - gaps[k + 1]))
    assert (result.start_s - workload.submit_s).tolist() == wait


@examples(60)
@given(
    steps=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4)), max_size=6),
    jobs=st.lists(
        st.tuples(st.integers(1, 8), st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=8
    ),
)
# two jobs end at 10: of 5 nodes 3 are taken then, and 2 are free from 0 to 20
@example(steps=[(10, 1), (10, 2)], jobs=[(3, 5, 0), (2, 20, 0)])
def test_profile_against_a_table_of_seconds(steps, jobs):
    table = np.full(400, 2)
    for time, nodes in steps:
        table[time:] += nodes
    profile = Profile(0.0, 2, sorted((float(t), n) for t, n in steps))
    for n_nodes, duration, begin in jobs:
        found = profile.earliest(n_nodes, float(duration), float(begin))
        fits = [t for t in range(begin, 300) if table[t : t + duration].min() >= n_nodes]
        assert found == (fits[0] if fits else np.inf)
        if fits:
            profile.take(n_nodes, found, float(duration))
            table[fits[0] : fits[0] + duration] -= n_nodes


@examples(60)
@given(data=st.data(), order=st.sampled_from(["fcfs", "shortest", "wfp"]), depth=st.integers(1, 6))
def test_waiting_queue_is_a_sorted_list(data: st.DataObject, order: str, depth: int) -> None:
    n = 30
    requested = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    workload = make_workload([0] * n, requested, [1] * n)
    queue = make_queue(ORDERS[order], workload, depth)
    waiting: list[int] = []
    arrivals = iter(range(n))
    for now in range(1, 40):
        if data.draw(st.booleans()):
            for job in [j for _, j in zip(range(4), arrivals, strict=False)]:
                queue.push(job)
                waiting.append(job)
        chosen = ORDERS[order]
        if chosen.score is None:
            waiting.sort(key=lambda j: (requested[j] if order == "shortest" else 0, j))
        else:
            waiting.sort(key=lambda j: (-((now / requested[j]) ** 3), j))
        assert len(queue) == len(waiting)
        if waiting:
            assert queue.head(float(now)) == waiting[0]
            assert queue.front(float(now)) == waiting[:depth]
            if data.draw(st.booleans()):
                found = queue.candidates(float(now), np.full(1, np.inf))
                assert list(found) == waiting[1:depth]
            gone = data.draw(st.sampled_from(waiting[:depth]))
            queue.remove(gone)
            waiting.remove(gone)


def test_too_large_jobs() -> None:
    workload = make_workload([0, 1], [5, 5], [2, 9])
    with pytest.raises(NetcosimError, match=r"1 jobs .*job 2 with 9 nodes"):
        simulate(workload, Mask(4))
    kept = fitting(workload, Mask(4))
    assert kept.job_id.tolist() == [1]
    assert kept.dropped == {"never fits under mask": 1}


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            {"order": "lifo"},
            "unknown queue order 'lifo'; valid: fair-share, fcfs, largest, las, multifactor, ",
        ),
        ({"backfill": "eazy"}, "unknown backfill 'eazy'; did you mean easy"),
        ({"window": -1}, "backfilling: window = -1"),
    ],
)
def test_user_mistakes(choice: dict[str, object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        simulate(make_workload([0], [1], [1]), Mask(1), **choice)


def test_snapshots_need_placements() -> None:
    with pytest.raises(NetcosimError, match="keep_placements"):
        simulate(make_workload([0], [1], [1]), Mask(1)).snapshots([0.5])


def test_empty_workload() -> None:
    assert len(simulate(make_workload([], [], []), Mask(1))) == 0


def test_progress_ends_at_the_last_job() -> None:
    seen: list[tuple[int, int]] = []
    simulate(make_workload([0, 0], [1, 2], [1, 1]), Mask(1), progress=lambda *x: seen.append(x))
    assert seen == [(1, 2), (2, 2)]
