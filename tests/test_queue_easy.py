"""EASY against a plain second implementation, and what EASY promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Contiguous, HeldMask, Mask, PlainEasy, make_workload
from selection import examples

from netcosim.config.config import QueueSection
from queuesim.queue import simulate_queue
from workloads.job import Workload

NODES = 8


@st.composite
def workloads(draw: st.DrawFn, estimates: str = "any") -> Workload:
    """Integer times, so that sums are exact; many ties; some jobs without a limit."""
    n = draw(st.integers(1, 25))
    times = st.lists(st.integers(1, 12), min_size=n, max_size=n)
    submit = sorted(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)))
    if draw(st.booleans()):
        submit = [0] * n
    run = draw(times)
    asked = draw(times)
    if estimates == "upper":
        asked = [r + a - 1 for r, a in zip(run, asked, strict=True)]
    if draw(st.booleans()):
        endless = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        asked = [np.inf if no_limit else a for no_limit, a in zip(endless, asked, strict=True)]
    nodes = draw(st.lists(st.integers(1, NODES), min_size=n, max_size=n))
    return make_workload(submit, run, nodes, asked)


def start_times(
    workload: Workload, policy: Mask, order: str = "fcfs", window: int = 50
) -> np.ndarray:
    result = simulate_queue(
        workload, policy, order=order, window=window, rng=np.random.default_rng(1)
    )
    assert np.array_equal(result.end_s, result.start_s + workload.run_time_s)
    return result.start_s


@pytest.mark.parametrize("kind", [Mask, HeldMask, Contiguous])
@examples(80)
@given(
    workload=workloads(),
    order=st.sampled_from(["fcfs", "shortest", "wfp", "smallest", "largest"]),
    window=st.sampled_from([0, 1, 3, 50]),
)
def test_same_schedule_as_the_plain_queue(kind, workload, order, window):
    fast = start_times(workload, kind(NODES), order, window)
    plain = PlainEasy(workload, kind(NODES), order, window).run()
    assert np.array_equal(fast, plain)


@pytest.mark.parametrize("backfill", ["easy", "easy-retest"])
@pytest.mark.parametrize("kind", [Mask, HeldMask, Contiguous])
@examples(60)
@given(workload=workloads(estimates="upper"))
def test_no_job_starts_after_its_reservation(kind, backfill, workload):
    # Walltimes are upper bounds here, so the head may only be earlier than it was promised.
    result = simulate_queue(workload, kind(NODES), backfill=backfill, rng=np.random.default_rng(1))
    has = ~np.isnan(result.promised_s)
    assert np.all(result.start_s[has] <= result.promised_s[has])
    assert result.busy_nodes()[1].max() <= NODES


def test_retest_lets_a_job_use_what_easy_holds() -> None:
    # 6 nodes in a row: 0-1 until 5, 2-3 and 4-5 until 10. D needs 4 in a row: 0-3 at 10. E (2
    # nodes, 100 s) could have 0-1 at 5, which are held; but D could as well have 2-5.
    workload = make_workload([0, 0, 0, 1, 1], [5, 10, 10, 5, 100], [2, 2, 2, 4, 2])
    starts = {
        backfill: simulate_queue(
            workload, Contiguous(6), backfill=backfill, rng=np.random.default_rng(1)
        ).start_s.tolist()
        for backfill in ("easy", "easy-retest")
    }
    assert starts == {"easy": [0, 0, 0, 10, 10], "easy-retest": [0, 0, 0, 10, 5]}


def test_hand_worked_easy() -> None:
    # 4 nodes. A: 3 nodes 0-10. B needs 4: shadow 10. C (1 node, 10 s) ends by 10: starts.
    # D (1 node, 11 s) would end at 11: waits for B, which ends at 15.
    workload = make_workload([0, 0, 0, 0], [10, 5, 10, 11], [3, 4, 1, 1])
    assert start_times(workload, Mask(4)).tolist() == [0, 10, 0, 15]


@pytest.mark.parametrize("backfill", ["easy", "easy-retest", "conservative"])
@pytest.mark.parametrize("kind", [Mask, HeldMask, Contiguous])
def test_a_job_without_a_limit_never_ends_for_a_reservation(kind, backfill):
    # 4 nodes. A: 2 nodes, ends at 10, no limit. B: 1 node 0-20. C needs 4: no shadow time. So D (1
    # node, 100 s) starts at 1, which would delay C if A's end were known (shadow 20). C: at 101.
    jobs = make_workload([0, 0, 1, 1], [10, 20, 5, 100], [2, 1, 4, 1], [np.inf, 20, 5, 100])
    result = simulate_queue(jobs, kind(4), backfill=backfill, rng=np.random.default_rng(1))
    assert result.start_s.tolist() == [0, 0, 101, 1]
    # conservative backfilling promises C the end of D once A has ended; EASY: nobody is behind C
    assert result.promised_s[2] == 101 or backfill != "conservative"
    assert not np.isinf(result.promised_s).any()
    known = make_workload([0, 0, 1, 1], [10, 20, 5, 100], [2, 1, 4, 1])
    result = simulate_queue(known, kind(4), backfill=backfill, rng=np.random.default_rng(1))
    assert result.start_s.tolist() == [0, 0, 20, 25]


def test_a_job_without_a_limit_starts_only_where_it_delays_nobody() -> None:
    # 4 nodes. A: 3 nodes 0-10. B needs 4 at 10. C (1 node, no limit) runs 2 s, but nobody knows.
    jobs = make_workload([0, 0, 0], [10, 5, 2], [3, 4, 1], [10, 5, np.inf])
    assert start_times(jobs, Mask(4)).tolist() == [0, 10, 15]
    assert start_times(jobs, Contiguous(4)).tolist() == [0, 10, 15]


def test_hand_worked_extra_nodes() -> None:
    # 4 nodes. A: 2 nodes 0-10. B needs 3: shadow 10, where 1 node is left over. C (1 node,
    # 100 s) takes that node at 0; D, the same, would take one of B's.
    workload = make_workload([0, 0, 0, 0], [10, 5, 100, 100], [2, 3, 1, 1])
    assert start_times(workload, Mask(4)).tolist() == [0, 10, 0, 15]


def test_hold_keeps_the_shape_of_the_head() -> None:
    # 6 nodes in a row. A: 0-1 until 10, B: 2-3 until 20. C needs 4 in a row: nodes 0-3 at
    # 20. D (2 nodes, 30 s) fits on 4-5, off the hold. E (2 nodes, 5 s) comes at 10, when
    # 0-1 are free again and held: it ends by 20 and may use them. F (2 nodes, 50 s) may not.
    workload = make_workload([0, 0, 0, 0, 1, 10], [10, 20, 7, 30, 5, 50], [2, 2, 4, 2, 2, 2])
    starts = start_times(workload, Contiguous(6))
    assert starts.tolist() == [0, 0, 20, 0, 10, 27]


def test_a_failed_size_is_not_tried_again_on_the_same_state() -> None:
    # 5 nodes in a row; the free nodes 1 and 3 cannot hold two in a row.
    workload = make_workload(
        [0] * 5 + [1, 2, 3, 4], [50, 9, 50, 9, 50] + [5] * 4, [1] * 5 + [2] * 4
    )
    workload.requested_s[:] = 100.0
    policy = Contiguous(5)
    start_times(workload, policy)
    # At 9 one search fails for all four waiting jobs (the reservation is sought on a clone);
    # at 50 two are placed and a third has too few free nodes to try; at 55 the other two.
    assert policy.calls.count(2) == 1 + 4


def test_a_newcomer_before_the_head_ends_the_reservation() -> None:
    # Shortest first, 8 nodes. At 3, job 1 (4 nodes) is reserved for 4 with 3 nodes left over.
    # Job 6 (2 nodes) runs past its walltime; at 4 jobs 14 and 15 come and pass in front. Only
    # 1 node is left over then, so job 5 (2 nodes) may not start.
    n_nodes = [1, 4, 1, 1, 5, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    run = [1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]
    asked = [1, 2, 1, 1, 1, 3, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]
    workload = make_workload([0] + [2] * 13 + [4, 4], run, n_nodes, asked)
    starts = start_times(workload, Mask(8), "shortest", window=1)
    assert starts[[1, 5, 14, 15]].tolist() == [5, 5, 4, 4]


def test_a_new_hold_rules_out_other_jobs() -> None:
    """Shortest first, 8 nodes, of which 4 to 7 are free. Nodes 4 and 5 are held for job 1 (6
    nodes at 100), so job 2 (3 nodes) waits; at 2 only node 4 is, for job 3 (5 nodes).
    """

    class Bounded(HeldMask):
        def may_place(self, sizes, needs):
            return np.asarray(sizes) <= self.n_free

    workload = make_workload([0, 1, 1, 2], [100, 50, 200, 20], [4, 6, 3, 5])
    assert start_times(workload, Bounded(NODES), "shortest").tolist() == [0, 202, 2, 100]


def test_a_job_that_ends_late_after_the_shadow_time_ends_the_reservation() -> None:
    """The first job (promised for 150) ends at 160, the second (for 100) goes on until 300.

    The head of four nodes was promised 100 on nodes 2, 3, 4 and 7. At 160 it gets a new reservation
    on 0 to 3, since the second counts as ending now: a job of two nodes has to wait, one of a
    single node starts on 7.
    """
    workload = make_workload(
        [0, 0, 0, 5, 6, 7],
        [160, 300, 1000, 10, 500, 500],
        [2, 3, 2, 4, 2, 1],
        [150, 100, 1000, 10, 500, 500],
    )
    starts = start_times(workload, HeldMask(NODES))
    assert starts.tolist() == [0, 0, 0, 300, 310, 160]
    assert starts.tolist() == PlainEasy(workload, HeldMask(NODES), "fcfs", 50).run().tolist()


def test_window_limits_the_look_ahead() -> None:
    # B blocks; C is too large to backfill; D could, but only a window of 2 sees it.
    workload = make_workload([0, 0, 0, 0], [10, 5, 5, 5], [3, 4, 2, 1])
    assert start_times(workload, Mask(4), window=1)[3] > 0
    assert start_times(workload, Mask(4), window=2)[3] == 0


def test_by_default_a_pass_looks_at_all_waiting_jobs() -> None:
    """One runs, one blocks, 58 are too large, and the sixtieth behind the head fits."""
    n = 61
    workload = make_workload([0.0] * n, [10.0] + [5.0] * (n - 1), [3, *[4] * (n - 2), 1])
    policy = Mask(4)
    result = simulate_queue(workload, policy, rng=np.random.default_rng(0))
    assert result.start_s[-1] == 0
    with_50 = simulate_queue(workload, Mask(4), window=50, rng=np.random.default_rng(0))
    assert with_50.start_s[-1] > 0
    assert QueueSection(policies=("rdn",)).window == "all"
