"""Batch means of a long run: the rule by hand, and widths against queues on other logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

import netcosim as nc
from netcosim.runs import queue_batches
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.queue_batches import (
    as_logs,
    batched,
    is_long,
    lag_one,
    makespan_parts,
    part_means,
)
from netcosim.runs.queue_intervals import METRICS, Redrawn, redrawn, with_intervals
from netcosim.runs.run_output import run_and_report
from netcosim.runs.store import Store
from queuesim.metrics import wait_s
from queuesim.queue import run_queue, simulate_queue
from queuesim.queue_setup import QueueSetup
from queuesim.result import NEVER_RUN, QueueResult
from workloads.transform import head

SPEEDUPS = """reference_policy,pattern,min_nodes,max_nodes,policy,ratio,ratio_low,ratio_high
rdn,all-to-all,2,18,simple,0.8,,
"""


def config(folder: Path, **synthetic: object) -> Any:
    """Return a run in which jobs under "simple" run a tenth shorter."""
    (folder / "speedups.csv").write_text(SPEEDUPS)
    return nc.config_from(
        {
            "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
            "workload": {
                "larger_jobs": "drop",
                "synthetic": {"n_jobs": 40_000, "mean_nodes": 3, "load": 0.5, **synthetic},
            },
            "communication": {"mix": [{"pattern": "all-to-all", "communication_fraction": 0.5}]},
            "queue": {
                "policies": ["rdn", "simple"],
                "run_time_model": "measured",
                "measured": {"table": str(folder / "speedups.csv")},
            },
            "run": {"snapshots": 0},
        }
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CosimResult:
    return nc.run_cosim(config(tmp_path_factory.mktemp("run")))


@pytest.fixture
def beyond_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_batches, "BUDGET_JOBS", 0)


def test_parts_and_their_correlation_by_hand() -> None:
    """Seven values in three parts of 2, 2 and 3; off the mean by -1.5, -0.5, 0.5 and 1.5."""
    assert part_means(np.arange(1.0, 8.0), 3).tolist() == [1.5, 3.5, 6]
    assert lag_one(np.array([1.0, 2, 3, 4])) == (0.75 - 0.25 + 0.75) / 5
    assert lag_one(np.array([1.0, 3, 1, 3])) == -0.75
    assert lag_one(np.full(4, 2.0)) == 0


def test_an_interval_from_five_batches_by_hand() -> None:
    """Student's t for 4 degrees of freedom, 2.7764, times the standard error 2.5 ** 0.5 / 5 ** 0.5
    of the mean of 10: 0.19632 of it. The other policy's batches are twice as long: a ratio of 0.5.
    """
    means = np.array([8.0, 9, 10, 11, 12])
    of = {"a": {"wait": as_logs(means)}, "b": {"wait": as_logs(2 * means)}}
    found = Redrawn(of, np.inf, n_batches=5)
    assert (found.sample, found.resamples) == (("batch of jobs", 5), 0)
    ends = found.interval(10.0, "a", "wait", 0.95)[1:]
    assert ends == pytest.approx((10 * np.exp(-0.196324), 10 * np.exp(0.196324)), rel=1e-5)
    assert found.interval(0.5, "a", "wait", 0.95, "b") == pytest.approx((0.5, 0.5, 0.5))
    assert as_logs(np.zeros(3)).tolist() == [0, 0, 0]


def test_parts_of_the_makespan_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends at 30, 12, 24 and 50 s: the last of two batches at 30 and 50 s, parts of 30 and 20 s.

    That is 1.2 and 0.8 of their mean. Jobs of 1 node for 30 and 2 s, then of 3 nodes for 4 and
    20 s are 32 and 72 node-seconds: 8/13 and 18/13 of their mean.
    """
    monkeypatch.setattr(queue_batches, "BATCHES", 2)
    jobs = make_workload([0, 10, 20, 30], [30, 2, 4, 20], [1, 1, 3, 3])
    schedule = simulate_queue(jobs, Mask(10), rng=np.random.default_rng(1))
    assert schedule.end_s.tolist() == [30, 12, 24, 50]
    assert makespan_parts(schedule) == pytest.approx([0.2 + 8 / 13, -0.2 + 18 / 13])


def test_a_series_is_long_beside_its_correlation() -> None:
    rng = np.random.default_rng(1)
    noise, at = rng.standard_normal(40_000), np.arange(40_000)
    assert is_long(noise)
    assert is_long(np.ones(400))
    assert not is_long(np.ones(399))
    assert not is_long(noise + at / 1000)
    # sums over 1,000 jobs: ten parts of 100
    assert not is_long(np.convolve(noise, np.ones(1000), "same"))
    assert is_long(np.convolve(noise, np.ones(20), "same"))
    # waves of ten batches: a fifth of the scatter of parts, two thirds of that of batches
    wave = 0.07 * np.sin(2 * np.pi * at / 10_000)
    assert lag_one(part_means(noise + wave, 400)) < 0.4
    assert not is_long(noise + wave)


@pytest.mark.usefixtures("beyond_budget")
def test_widths_are_those_of_queues_on_other_logs(result: CosimResult) -> None:
    """From 40 batches and from 20 logs, each of which scatters itself.

    The ratio of makespans differs only by their last ends, which batches overestimate.
    """
    batches, logs = batched(result), redrawn(result, 20)
    assert batches is not None
    tables = nc.result_tables(result)
    of_batches, of_logs = (
        with_intervals(tables, result, one)["queue_intervals"] for one in (batches, logs)
    )
    for row, other in zip(of_batches, of_logs, strict=True):
        assert (row["sample"], row["samples"], row["resamples"]) == ("batch of jobs", 40, 0)
        widths = [np.log(one["value_high"] / one["value_low"]) for one in (row, other)]
        assert 0.6 < widths[0] / widths[1] < 1.8
        if row["policy"] == "simple":
            widths = [np.log(one["ratio_high"] / one["ratio_low"]) for one in (row, other)]
            assert widths[0] > 0.6 * widths[1]
            assert row["metric"] == "makespan" or widths[0] < 1.8 * widths[1]
    assert {str(row["metric"]) for row in of_batches} == set(METRICS)


@pytest.mark.usefixtures("beyond_budget")
def test_another_log_decides_on_batches(
    result: CosimResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's own waits may be correlated; those of no policy of the other log."""
    schedule = result.schedules["rdn"]
    late = replace(schedule, start_s=schedule.start_s + 100 * np.arange(len(schedule.start_s)))
    assert not is_long(wait_s(late))
    assert batched(replace(result, schedules={**result.schedules, "rdn": late})) is not None

    def one_is_correlated(setup: QueueSetup) -> QueueResult:
        run = run_queue(setup)
        if setup.policy.name != "simple":
            return run
        return replace(run, start_s=run.start_s + 100 * np.arange(len(run.start_s)))

    monkeypatch.setattr(queue_batches, "run_queue", one_is_correlated)
    assert batched(result) is None
    monkeypatch.setattr(queue_batches, "other_log", lambda *_: None)
    assert batched(result) is None


@pytest.mark.usefixtures("beyond_budget")
def test_other_logs_are_simulated_where_batches_do_not_hold(
    result: CosimResult, tmp_path: Path
) -> None:
    assert batched(result) is not None
    # more work than the machine can do: waits grow
    assert batched(nc.run_cosim(config(tmp_path, load=1.05, n_jobs=4000))) is None
    # all at once
    assert batched(nc.run_cosim(config(tmp_path, load=None, n_jobs=1000))) is None
    # a job that never ran
    schedule = result.schedules["rdn"]
    never = replace(schedule, outcome=schedule.outcome.copy())
    never.outcome[7] = NEVER_RUN
    assert batched(replace(result, schedules={"rdn": never})) is None
    nc.write_swf(head(result.workload, 1000), tmp_path / "a.swf")
    logged = {"log": str(tmp_path / "a.swf"), "processors_per_node": 1}
    content = config(tmp_path).resolved() | {"workload": logged}
    assert batched(nc.run_cosim(nc.config_from(content))) is None


def test_within_the_budget_other_logs_are_simulated(result: CosimResult) -> None:
    """40,000 jobs under two policies on 20 logs are 1.6 million."""
    assert batched(result) is None


@pytest.mark.usefixtures("beyond_budget", "undrawn")
def test_a_run_prints_and_stores_the_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same on one process and on two."""
    tables = []
    for jobs in (1, 2):
        run_and_report(config(tmp_path), "", out := tmp_path / str(jobs), title="t", jobs=jobs)
        text = capsys.readouterr()
        assert "intervals of waits come from 40 batches of the 39,973 jobs" in text.err
        with Store(out / "results.db", "read") as store:
            [point] = store.points()
            tables.append(store.tables(point.key)["queue_intervals"])
    assert tables[0] == tables[1]
    assert {row["sample"] for row in tables[0]} == {"batch of jobs"}
