"""What `netcosim isolation-gain` makes of a gain: run times, node-hours and other shares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

from experiments.isolation.gain import tables
from experiments.isolation.gain.queues import Shorter, arrays, numbers
from experiments.isolation.gain.tables import TabulatedGain, _node_hours, _times
from experiments.isolation.gain.verdict import Gain, Line
from experiments.kit.study_config import TimeBudget
from queuesim.queue import simulate_queue
from queuesim.statistics import Interval


def test_jobs_that_communicate_run_so_many_percent_shorter() -> None:
    workload = make_workload([0, 0, 0], [10, 20, 30], [2, 2, 1])
    model = Shorter(20.0, np.array([True, False, True]))
    times = model.prepare(workload, Mask(8), np.random.default_rng(0))
    assert [times.work_s(job) for job in range(3)] == pytest.approx([8, 20, 24])
    result = simulate_queue(workload, Mask(8), run_time_model=model, rng=np.random.default_rng(0))
    assert result.end_s.tolist() == pytest.approx([8, 20, 24])


def test_the_high_end_of_a_gain_is_the_low_end_of_its_node_hours() -> None:
    fed = {
        "mean": {"node_hours": 0.9, "makespan": 1.0},
        "makespan low": {"node_hours": 0.95, "makespan": 1.1},
        "makespan high": {"node_hours": 0.85, "makespan": 0.9},
        "mean_turnaround low": {"node_hours": 0.5, "makespan": 0.5},
    }
    assert _node_hours(fed) == Interval(0.9, 0.85, 0.95)
    assert np.isnan(_node_hours({"mean": {"node_hours": 0.9}})[1:]).all()


def test_a_gain_at_another_share_has_its_own_error_and_the_predictors() -> None:
    # twice 5 +- 1.5, and 4 of its own: 3, 4, 5
    assert _times(Interval(5.0, 3.5, 6.5), 2.0, 4.0) == pytest.approx((10.0, 5.0, 15.0))
    assert _times(Interval(5.0, 3.5, 6.5), 1.0, 0.0) == pytest.approx((5.0, 3.5, 6.5))


def test_turnaround_goes_by_jobs_and_the_makespan_by_node_hours() -> None:
    gain = Gain(Interval(5, 4, 6), Interval(2, 1, 3), 8, 40)
    assert gain.of("makespan") == (5, 4, 6)
    assert gain.of("mean_turnaround") == (2, 1, 3)


def test_what_is_left_of_the_time() -> None:
    began_s = 1e12  # of the system's clock, far from now
    budget = TimeBudget(began_s, 10.0, 2)
    whole, half = budget.left_s(1.0), budget.left_s(0.5)
    assert whole - half == pytest.approx(300, abs=1)
    assert numbers(arrays({"a": 1.5, "b": -2.0})) == {"a": 1.5, "b": -2.0}


class Known(TabulatedGain):
    """Ratios of drawn logs, and of queues with gains, that are given."""

    logged = {"base": {"makespan": 200.0}, "iso": {"makespan": 210.0}}  # noqa: RUF012
    reference = "base"


def test_ratios_are_over_the_reference_as_logged() -> None:
    case = Known.__new__(Known)
    assert case.ratios("iso", {"makespan": 190.0}) == {"makespan": 0.95}
    assert Line.through([0, 10], [1.05, 0.95], 0.0).at_none == pytest.approx(1.05)


class Predicted:
    """A predictor of the percent that the features hold, known to 3 points."""

    range = SimpleNamespace(outside=lambda case, columns: ["a taper"])
    fitted = SimpleNamespace(percent=lambda columns: columns["percent"])

    @staticmethod
    def mean(columns: Any, level: float) -> Interval:
        value = float(np.average(columns["percent"], weights=columns["n_nodes"]))
        return Interval(value, value - level, value + level)

    @staticmethod
    def half_width(level: float) -> float:
        return 3.0


PERCENT = {0.5: (2.0, 2.0), 1.0: (5.0, 1.0), 2.0: (14.0, 6.0)}
"""Predicted for jobs of 3 nodes and of 1, by the factor of their shares: means 2, 4 and 12."""


def case_of(line: Line) -> Any:
    """A trial of a policy "iso" whose ratios of both metrics are on a line."""

    def features(factor: float, snapshots: int) -> list[dict[str, Any]]:
        return [
            {"policy": "iso", "percent": percent, "n_nodes": n, "snapshot": 7}
            for percent, n in zip(PERCENT[factor], (3, 1), strict=True)
        ]

    steady = SimpleNamespace(share="partner", phases=4)
    jobs = make_workload([0, 0, 0], [10, 10, 15], [1, 2, 4])
    machine = SimpleNamespace(family="fattree", parameters={"taper": None})
    bandwidth_Bps = np.array([5, 5, 5, 5, 7, 9, 7, 9]) * 10**9
    topology = SimpleNamespace(
        name="m", n_nodes=8, link_bandwidth_Bps=bandwidth_Bps, first_router_link=4
    )
    routing = SimpleNamespace(name="adaptive")
    return SimpleNamespace(
        config=SimpleNamespace(
            machine=machine,
            run=SimpleNamespace(confidence=0.95, steady=steady),
            communication=SimpleNamespace(ranks_per_node=1),
        ),
        context=SimpleNamespace(
            machine=SimpleNamespace(routing=routing, topology=topology),
            queues=SimpleNamespace(jobs=jobs),
            drawn=(None, np.array([0.9, 0.2, 0.4])),
        ),
        communicates=np.array([False, True, True]),
        reference="base",
        isolating=["iso"],
        level=0.99,
        lines={"iso": {"makespan": line, "mean_turnaround": line}},
        drawn={"iso": [{"makespan": 1.0, "mean_turnaround": value} for value in (0.7, 1.1)]},
        curve={
            "iso": {gain: {"makespan": 1.0, "mean_turnaround": gain} for gain in (0, 5, 10, 20)}
        },
        features=features,
        more=lambda name, ratios: (float(len(ratios)), np.nan),
    )


def test_verdicts_at_other_shares_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gain of 8 +- 1 %, and a ratio of 1.05 - 0.01 a percent +- 0.01.

    At half of the share it is 8 x 2/4 = 4, off by (0.5^2 + 3^2)^0.5 = 3.04: a ratio of 1.01 +-
    0.032. At twice the share 24, off by (3^2 + 3^2)^0.5 = 4.24. As measured the predictor adds
    nothing: 0.97 +- 0.014.
    """
    monkeypatch.setattr(tables, "shipped", Predicted)
    gains = {"iso": Gain(Interval(8.0, 7.0, 9.0), Interval(8.0, 7.0, 9.0), 8, 40)}
    case = case_of(Line(1.05, -0.01, 0.01))
    rows = tables._share_rows(case, gains)
    ends = [[row[f"gain_percent{end}"] for end in ("", "_low", "_high")] for row in rows]
    assert ends == pytest.approx(
        np.array([[4, 0.959, 7.041], [8, 7, 9], [24, 19.757, 28.243]]), abs=1e-3
    )
    assert [row["verdict"] for row in rows] == ["not significant", "would pay", "would pay"]
    # a gain without an interval, or of which the predictor sees none, has no rows
    unknown = {"iso": Gain(Interval(8.0, np.nan, np.nan), Interval(8.0, 7.0, 9.0), 1, 4)}
    assert tables._share_rows(case, unknown) == []
    monkeypatch.setitem(PERCENT, 1.0, (0.0, 0.0))
    assert tables._share_rows(case, gains) == []


def test_predicted_tables_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means of 5 % on 3 nodes and 1 % on 1: 4 % of node-hours, 3 % by jobs."""
    monkeypatch.setattr(tables, "shipped", Predicted)
    found = tables.predicted_tables(case_of(Line(1.05, -0.01, 0.01)))
    [row] = found["gains"]
    assert (row["gain_percent"], row["by_job_percent"]) == pytest.approx((4.0, 3.0))
    assert (row["snapshots"], row["jobs"], row["level"]) == (1, 2, 0.95)
    by_metric = {row["metric"]: row for row in found["metrics"]}
    # 1.05 - 0.04, 1.05 - 0.03, each even at 5 %
    assert by_metric["makespan"]["ratio"] == pytest.approx(1.01)
    assert by_metric["mean_turnaround"]["ratio"] == pytest.approx(1.02)
    assert by_metric["makespan"]["break_even_percent"] == pytest.approx(5.0)
    assert by_metric["mean_turnaround"]["drawn_mean"] == pytest.approx(0.9)
    assert by_metric["mean_turnaround"]["at_20_percent"] == 20
    [about] = found["rests_on"]
    # node-seconds of 10, 20 and 60, the last two of jobs that communicate
    assert about["communicating_node_hours_percent"] == pytest.approx(100 * 80 / 90)
    assert about["fraction"] == pytest.approx((0.2 * 20 + 0.4 * 60) / 80)
    assert (about["node_Bps"], about["fabric_Bps"], about["outside"]) == (5e9, 9e9, "a taper")
    assert [row["gain_percent"] for row in found["curve"]] == [0, 5, 10, 20]
    assert [row["log"] for row in found["drawn"]] == [0, 1]


def test_what_would_decide_is_asked_only_where_no_metric_is_significant() -> None:
    case = case_of(Line(1.0, 0.0, 0.0))
    no_ratio = dict.fromkeys(("ratio", "ratio_low", "ratio_high"))
    known = {"policy": "iso", "metric": "makespan", "verdict": "would pay"} | no_ratio
    open_ = known | {"metric": "mean_turnaround", "verdict": "not significant"}
    other = known | {"policy": "another"}
    decided = {"more_snapshots": None, "more_s": None}
    assert tables._more(case, "iso", [known, open_]) == decided
    # both ratios without an interval are asked about; a time that is not known is none
    rows = [open_, open_ | {"metric": "makespan"}, other]
    assert tables._more(case, "iso", rows) == {"more_snapshots": 2.0, "more_s": None}
    measured = tables._gain_row(case, "iso", Gain(Interval(1, 0, 2), Interval(1, 0, 2), 8, 9), "x")
    assert measured["level"] == 0.99
