"""What `netcosim isolation-gain` makes of a gain: run times, node-hours and other shares."""

from __future__ import annotations

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

from netcosim.gain.queues import Shorter, arrays, numbers
from netcosim.gain.tables import TabulatedGain, _node_hours, _times
from netcosim.gain.verdict import Gain, Line
from netcosim.study.budget import TimeBudget
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
