"""Jobs past their walltime, kept or cut, under run times that are fixed and that are live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Contiguous, Live, Mask, make_workload
from selection import examples
from test_coupled_flow import Across, job_network, one_cable

from alloc.policy import Placement, Policy
from cosim.run_times.coupled import CoupledFlow, mean_slowdowns
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from queuesim.assumed import Assumed
from queuesim.metrics import summarise
from queuesim.queue import simulate_queue
from queuesim.registry import BACKFILLS
from queuesim.result import COMPLETED, CUT, QueueResult
from queuesim.runtime import RunTimes
from workloads.job import Workload


def simulate(workload: Workload, policy: Policy, overrun: str, **choices: object) -> QueueResult:
    return simulate_queue(
        workload,
        policy,
        overrun=overrun,
        rng=np.random.default_rng(3),
        **choices,  # type: ignore[arg-type]
    )


@st.composite
def late_jobs(draw: st.DrawFn) -> Workload:
    n = draw(st.integers(1, 20))
    times = st.lists(st.integers(1, 12), min_size=n, max_size=n)
    return make_workload(
        sorted(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))),
        draw(times),
        draw(st.lists(st.integers(1, 8), min_size=n, max_size=n)),
        draw(times),
    )


@pytest.mark.parametrize("backfill", sorted(set(BACKFILLS) - {"cobalt", "as-logged"}))
@examples(30)
@given(workload=late_jobs())
def test_cut_is_a_log_cut_beforehand(backfill: str, workload: Workload) -> None:
    # With the log's run times nothing else can tell a cut job from one that ends by itself.
    for kind in (Mask, Contiguous):
        cut = simulate(workload, kind(8), "cut", backfill=backfill)
        short = replace(workload, run_time_s=np.minimum(workload.run_time_s, workload.requested_s))
        beforehand = simulate(short, kind(8), "keep", backfill=backfill)
        assert np.array_equal(cut.start_s, beforehand.start_s)
        assert np.array_equal(cut.end_s, beforehand.end_s)
        late = workload.run_time_s > workload.requested_s
        assert np.array_equal(cut.overran, late)
        assert not beforehand.overran.any()
        assert np.array_equal(simulate(workload, kind(8), "keep").overran, late)
        assert summarise(cut).n_overran == late.sum()


def test_a_model_that_shortens_comes_before_the_cut() -> None:
    # 20 % off: 10 s become 8, within 9 s; 12 s become 9.6, which 9 s cut.
    workload = make_workload([0, 0], [10, 12], [8, 8], [9, 9])
    policy = Mask(16)
    policy.isolates = True
    result = simulate(workload, policy, "cut", run_time_model=Assumed("20%"))
    assert (result.end_s - result.start_s).tolist() == pytest.approx([8.0, 9.0])
    assert result.overran.tolist() == [False, True]


class Half(RunTimes):
    """All jobs move at half the rate while more than one runs."""

    def __init__(self, work_s: np.ndarray) -> None:
        self._work_s = work_s
        self._running: set[int] = set()

    def work_s(self, job: int) -> float:
        return float(self._work_s[job])

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self._running.add(job)
        return {}

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self._running.discard(job)
        return {}

    def settle(self, now_s: float) -> Mapping[int, float]:
        return dict.fromkeys(self._running, 0.5 if len(self._running) > 1 else 1.0)


def test_hand_worked_cut_of_slowed_jobs() -> None:
    # A and B (10 s each) run at 1/2. A is cut at 12, when it has done 6; B has done 6 too and
    # does the last 4 alone, by 16: within its 20 s. Kept, both end at 20.
    workload = make_workload([0, 0], [10, 10], [1, 1], [12, 20])
    model = Live(Half(workload.run_time_s))
    cut = simulate(workload, Mask(2), "cut", run_time_model=model)
    assert cut.end_s.tolist() == [12, 16]
    assert cut.overran.tolist() == [True, False]
    kept = simulate(workload, Mask(2), "keep", run_time_model=model)
    assert kept.end_s.tolist() == [20, 20]
    assert kept.overran.tolist() == [True, False]


def test_a_job_that_becomes_faster_than_its_cut_completes() -> None:
    # At 1/2, A (10 s) would end at 20 and be cut at 16. B leaves at 10, and A ends at 15.
    workload = make_workload([0, 0], [10, 5], [1, 1], [16, 12])
    model = Live(Half(workload.run_time_s))
    result = simulate(workload, Mask(2), "cut", run_time_model=model)
    assert result.end_s.tolist() == [15, 10]
    assert result.outcome.tolist() == [COMPLETED, COMPLETED]
    assert not result.overran.any()


def test_a_job_that_stands_still_is_cut() -> None:
    class Still(RunTimes):
        def work_s(self, job: int) -> float:
            return 1.0

        def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
            return {job: 0.0}

    workload = make_workload([0], [1], [1], [5])
    result = simulate(workload, Mask(1), "cut", run_time_model=Live(Still()))
    assert result.end_s.tolist() == [5]
    assert result.overran.all()


@examples(60)
@given(workload=late_jobs())
def test_nobody_outlives_a_walltime_under_changing_rates(workload: Workload) -> None:
    cut = simulate(workload, Mask(8), "cut", run_time_model=Live(Half(workload.run_time_s)))
    ran = cut.end_s - cut.start_s
    assert np.all(ran <= workload.requested_s)
    assert np.all(ran[cut.overran] == workload.requested_s[cut.overran])
    assert np.array_equal(cut.outcome == CUT, cut.overran)
    # who was not cut has done all its work, at the rates 1 and 1/2
    done = ran[~cut.overran]
    assert np.all(done >= workload.run_time_s[~cut.overran])
    assert np.all(done <= 2 * workload.run_time_s[~cut.overran])
    ample = replace(workload, requested_s=workload.requested_s + 1000.0)
    model = Live(Half(workload.run_time_s))
    both = [simulate(ample, Mask(8), how, run_time_model=model) for how in ("cut", "keep")]
    assert np.array_equal(both[0].end_s, both[1].end_s)
    assert not both[0].overran.any()


def test_coupled_flow_jobs_are_cut() -> None:
    """Two jobs on one cable, f = 1/2: both at the rate 1 / (1 + f^2) = 0.8.

    A (10 s of work) would end at 12.5; its 12 s cut it there, when both have done 9.6. B (20 s)
    has 10.4 left and the cable to itself: 22.4.
    """
    topology = one_cable()
    model = CoupledFlow(job_network(make_routing(topology), message_bytes=10**8))
    workload = make_workload([0, 0], [10, 20], [2, 2], [12, 100])
    cut = simulate(workload, Across(topology), "cut", run_time_model=model)
    assert cut.end_s == pytest.approx([12, 22.4], rel=5e-3)
    assert cut.overran.tolist() == [True, False]
    with pytest.raises(NetcosimError, match="1 jobs were cut at their walltime"):
        mean_slowdowns(cut)


def test_unknown_overrun() -> None:
    workload = make_workload([0], [1], [1])
    with pytest.raises(NetcosimError, match="unknown overrun 'kill'; valid: cut, keep"):
        simulate(workload, Mask(1), "kill")
