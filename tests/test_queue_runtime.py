"""Run-time models: scenarios as printed, the measured formula, live changes of rate."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Live, Mask, make_workload
from selection import examples

from alloc.policy import Placement, Policy
from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.run_times.measured_times import Measured
from netsim.errors import NetcosimError
from queuesim.assumed import Assumed, scenario_reduction
from queuesim.draws import uniform_per_job
from queuesim.queue import simulate_queue
from queuesim.runtime import RunTimeModel, RunTimes
from workloads.job import Workload


class Isolating(Mask):
    name = "isolating"
    isolates = True


def sized(nodes: list[int]) -> Workload:
    n = len(nodes)
    return make_workload([0] * n, [100] * n, nodes)


def run_times(model: RunTimeModel, workload: Workload, policy: Policy) -> np.ndarray:
    live = model.prepare(workload, policy, np.random.default_rng(3))
    return np.array([live.work_s(k) for k in range(len(workload))])


@pytest.mark.parametrize(
    ("scenario", "percent"), [("none", 0), ("5%", 5), ("10%", 10), ("20%", 20)]
)
def test_fixed_scenarios_spare_jobs_of_four_nodes(scenario: str, percent: float) -> None:
    times = run_times(Assumed(scenario), sized([1, 4, 5, 600]), Isolating(1))
    assert times == pytest.approx([100, 100, 100 - percent, 100 - percent])


def test_baseline_never_speeds_up_unless_told() -> None:
    workload = sized([600])
    assert run_times(Assumed("20%"), workload, Mask(1)) == [100]
    assert run_times(Assumed("20%", (Mask.name,)), workload, Mask(1)) == [80]
    assert run_times(Assumed("20%", ()), workload, Isolating(1)) == [100]


@pytest.mark.parametrize(
    ("scenario", "n_nodes", "values"),
    [
        ("V1", 512, [0.1, 0.2, 0.3]),
        ("V1", 1000, [0.1, 0.2, 0.3]),
        ("V1", 128, [0.025, 0.05, 0.075]),
        ("V2", 4, [0]),
        ("V2", 128, [0.025, 0.05]),
        ("V2", 256, [0.05, 0.15, 0.2]),
        ("V2", 1000, [0.1, 0.2, 0.3]),
        ("Random", 64, [0]),
        ("Random", 65, [0, 0.05, 0.15, 0.3]),
    ],
)
def test_random_scenarios_take_their_bins_equally_often(scenario, n_nodes, values):
    n = 6000
    taken = scenario_reduction(scenario, sized([n_nodes] * n), np.random.default_rng(2))
    found, counts = np.unique(taken.round(12), return_counts=True)
    assert found == pytest.approx(values)
    share = 1 / len(values)
    assert np.all(np.abs(counts - n * share) < 5 * np.sqrt(n * share * (1 - share)) + 1e-9)


def test_draws_belong_to_the_job() -> None:
    # The same seed gives a job the same draw under another policy and in a shorter log.
    workload = sized([600] * 50)
    half = make_workload([0] * 25, [100] * 25, [600] * 25)
    half.job_id[:] = workload.job_id[::2]
    a = run_times(Assumed("Random"), workload, Isolating(1))
    b = run_times(Assumed("Random"), half, Isolating(4))
    assert np.array_equal(a[::2], b)
    assert len(np.unique(a)) == 4


def test_draws_are_uniform_and_streams_differ() -> None:
    jobs = np.arange(40_000)
    u, v = uniform_per_job(7, 0, jobs), uniform_per_job(7, 1, jobs)
    for x in (u, v):
        counts = np.bincount((x * 20).astype(int), minlength=20)
        chi2 = float(((counts - 2000) ** 2 / 2000).sum())
        assert chi2 < 50  # 19 degrees of freedom: far beyond the 0.9999 quantile
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.02
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.02


TABLE = SpeedupTable(
    "mask",
    (
        SpeedupRow("a2a", 2, 16, "isolating", 0.5, 0.4, 0.6),
        SpeedupRow("a2a", 17, 64, "isolating", 0.8, 0.7, 0.9),
    ),
)


def test_measured_formula() -> None:
    mix = CommunicationMix([PatternShare("a2a", 1.0, 0.25, 0.25)])
    workload = sized([1, 2, 16, 17, 500])
    # logged * ((1 - f) + f * ratio); one node has no network; 500 takes the nearest class.
    expected = [100, 87.5, 87.5, 95, 95]
    assert run_times(Measured(TABLE, mix), workload, Isolating(1)) == pytest.approx(expected)
    assert run_times(Measured(TABLE, mix), workload, Mask(1)) == pytest.approx([100] * 5)
    low = run_times(Measured(TABLE, mix, "low"), workload, Isolating(1))
    assert low[1] == pytest.approx(85)


def test_mix_keeps_its_weights_and_fractions() -> None:
    mix = CommunicationMix([PatternShare("a", 3.0, 0.0, 0.5), PatternShare("b", 1.0, 0.9, 0.9)])
    n = 8000
    which, fraction = mix.draw(sized([1] * n), np.random.default_rng(4))
    assert abs(np.mean(which == 0) - 0.75) < 5 * np.sqrt(0.75 * 0.25 / n)
    assert np.all(fraction[which == 1] == 0.9)
    mine = fraction[which == 0]
    assert mine.max() < 0.5
    assert abs(mine.mean() - 0.25) < 5 * 0.5 / np.sqrt(12 * len(mine))
    fewer, _ = mix.draw(sized([1] * 3), np.random.default_rng(4))
    assert np.array_equal(fewer, which[:3])


def test_a_pickled_mix_has_no_jobs() -> None:
    mix = CommunicationMix([PatternShare("a", 3.0, 0.0, 0.5)])
    before = pickle.dumps(mix)
    mix.draw(sized([1] * 9), np.random.default_rng(4))
    assert pickle.dumps(mix) == before
    assert pickle.loads(before) == mix


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Assumed("30%"), "unknown speed-up scenario '30%'"),
        (lambda: SpeedupTable("x", (SpeedupRow("p", 1, 2, "y", 2.0, 0.5, 1.0),)), "ratio 2.0"),
        (
            lambda: SpeedupTable("x", (*TABLE.rows, SpeedupRow("a2a", 3, 3, "isolating", 1, 1, 1))),
            "overlaps 2-16",
        ),
        (
            lambda: SpeedupTable(
                "x", (*TABLE.rows, SpeedupRow("a2a", 64, 80, "isolating", 1, 1, 1))
            ),
            "overlaps 17-64",
        ),
        (lambda: CommunicationMix([PatternShare("p", 1, 0.5, 1.5)]), "fraction 0.5 to 1.5"),
        (lambda: CommunicationMix([]), "at least one pattern"),
        (lambda: TABLE.ratios("fft", "isolating", np.array([2], np.int32)), "valid: a2a"),
        (lambda: TABLE.ratios("a2a", "other", np.array([2], np.int32)), "valid: isolating, mask"),
    ],
)
def test_bad_choices(make: object, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make()  # type: ignore[operator]


class Crowd(RunTimes):
    """Every running job slows with the number of running jobs; keeps its own books."""

    def __init__(self, run_time_s: np.ndarray, late: bool) -> None:
        self.run_time_s, self.late = run_time_s, late
        self.running: dict[int, float] = {}
        self.done = np.zeros(len(run_time_s))
        self.now = 0.0

    def _pass_time(self, now_s: float) -> None:
        for job, rate in self.running.items():
            self.done[job] += rate * (now_s - self.now)
        self.now = now_s

    def _rates(self) -> dict[int, float]:
        for job in self.running:
            self.running[job] = 1.0 / (1 + 0.3 * (len(self.running) - 1))
        return dict(self.running)

    def work_s(self, job: int) -> float:
        return float(self.run_time_s[job])

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self._pass_time(now_s)
        self.running[job] = 1.0
        return {} if self.late else self._rates()

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self._pass_time(now_s)
        del self.running[job]
        return {} if self.late else self._rates()

    def settle(self, now_s: float) -> Mapping[int, float]:
        return self._rates() if self.late else {}


@pytest.mark.parametrize("late", [False, True])
@examples(50)
@given(
    gaps=st.lists(st.floats(0, 5), min_size=1, max_size=15),
    seed=st.integers(0, 99),
)
def test_work_is_conserved_under_changing_rates(late: bool, gaps: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(gaps)
    workload = make_workload(
        np.cumsum(gaps).tolist(), rng.uniform(0.1, 10, n), rng.integers(1, 4, n).tolist()
    )
    crowd = Crowd(workload.run_time_s, late)
    result = simulate_queue(
        workload, Mask(4), run_time_model=Live(crowd), rng=np.random.default_rng(0)
    )
    assert crowd.done == pytest.approx(workload.run_time_s, rel=1e-9, abs=1e-9)
    assert np.all(result.end_s - result.start_s >= workload.run_time_s * (1 - 1e-9))


def test_hand_worked_change_of_rate() -> None:
    # A (10 s) alone 0-4; with B both run at 1 / 1.3. B (2 s) takes 2.6 s, to 6.6; by then A
    # has done 4 + 2 and needs 4 more: 10.6.
    workload = make_workload([0, 4], [10, 2], [1, 1])
    live = Live(Crowd(workload.run_time_s, late=False))
    result = simulate_queue(workload, Mask(2), run_time_model=live, rng=np.random.default_rng(0))
    assert result.end_s == pytest.approx([10.6, 6.6])


class AsLogged(RunTimes):
    """Run times that nothing changes, in a run that expects changes."""

    def __init__(self, workload: Workload) -> None:
        self.run_time_s = workload.run_time_s

    def work_s(self, job: int) -> float:
        return float(self.run_time_s[job])


@pytest.mark.parametrize(
    ("submit", "run", "starts"),
    [
        # one node each, at their own fraction of a second
        ([0.0, 0.125, 0.25], [0.3, 0.3, 0.3], [0.0, 0.125, 0.25]),
        # the third comes when the first ends: it is the shortest in that pass
        ([0, 1, 10], [10, 5, 3], [0, 13, 10]),
    ],
)
def test_a_pass_follows_all_events_of_its_instant(submit, run, starts) -> None:
    workload = make_workload(submit, run, [1, 1, 1])
    policy = Mask(1 if max(run) > 1 else 3)
    result = simulate_queue(
        workload,
        policy,
        order="shortest",
        run_time_model=Live(AsLogged(workload)),
        rng=np.random.default_rng(0),
    )
    assert result.start_s.tolist() == starts


def test_a_stopped_job_goes_on_later() -> None:
    class Pause(RunTimes):
        def work_s(self, job: int) -> float:
            return [5.0, 3.0][job]

        def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
            return {0: 0.0} if job == 1 else {}

        def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
            return {0: 1.0} if job == 1 else {}

    workload = make_workload([0, 2], [5, 3], [1, 1])
    result = simulate_queue(
        workload, Mask(2), run_time_model=Live(Pause()), rng=np.random.default_rng(0)
    )
    assert result.end_s.tolist() == [8, 5]


@pytest.mark.parametrize(
    ("rates", "message"),
    [({0: 0.0}, "nothing moves"), ({0: -1.0}, "rate -1.0"), ({1: 1.0}, "does not run")],
)
def test_bad_rates(rates: dict[int, float], message: str) -> None:
    class Bad(RunTimes):
        def work_s(self, job: int) -> float:
            return 1.0

        def settle(self, now_s: float) -> Mapping[int, float]:
            return rates

    workload = make_workload([0, 5], [1, 1], [2, 2])
    with pytest.raises(NetcosimError, match=message):
        simulate_queue(workload, Mask(2), run_time_model=Live(Bad()), rng=np.random.default_rng(0))
