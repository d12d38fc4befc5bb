"""A log under run.repetition: its blocks are redrawn; equal runs are one sample in a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from queue_helpers import make_workload
from sweep_frames import compared, policies_frame

import netcosim as nc
from netcosim.report.compared import Compared, change, compare
from netcosim.report.effect import WAIT, distinct
from netcosim.report.sweep_verdict import SAME_LOG, recommend
from netcosim.report.swept import swept
from netcosim.report.verdict import OTHER_BLOCKS, OTHER_JOBS
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from queuesim.statistics import t_quantile
from workloads.drawn import drawn_log, rotated


@pytest.fixture
def log(tmp_path: Path) -> str:
    rng = np.random.default_rng(1)
    submit_s = np.cumsum(rng.exponential(50, 80)).round()
    jobs = make_workload(submit_s, rng.integers(20, 200, 80), rng.integers(1, 9, 80))
    nc.write_swf(jobs, tmp_path / "a.swf")
    return str(tmp_path / "a.swf")


def jobs_of(log: str, **run: object) -> Any:
    config = nc.config_from(
        {
            "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
            "workload": {"log": log, "processors_per_node": 1},
            "queue": {"policies": ["rdn"], "run_time_model": "as-logged"},
            "run": {"snapshots": 0, **run},
        }
    )
    return queues_of(config, nc.make_topology("dragonfly", {"p": 2, "a": 2, "g": 5}))


def test_a_repetition_is_the_log_of_blocks_drawn_again(log: str) -> None:
    plain = jobs_of(log).jobs
    for seed in (1, 2):
        assert np.array_equal(jobs_of(log, seed=seed).jobs.submit_s, plain.submit_s)
    drawn = [jobs_of(log, repetition=k) for k in (1, 2, 1)]
    assert not np.array_equal(drawn[0].jobs.run_time_s, drawn[1].jobs.run_time_s)
    assert np.array_equal(drawn[0].jobs.submit_s, drawn[2].jobs.submit_s)
    rng = drawn[0].draws.rng("bootstrap", "repetition")
    expected = drawn_log(rotated(plain, rng), rng)
    assert np.array_equal(drawn[0].jobs.run_time_s, expected.run_time_s)
    kept = jobs_of(log, repetition=1, redraw_log=False)
    assert np.array_equal(kept.jobs.run_time_s, plain.run_time_s)
    # nothing but the jobs differs: what they send and where they go is drawn alike
    for purpose in ("jobs", "policy", "packets"):
        numbers = [one.draws.rng(purpose).integers(2**32) for one in (drawn[0], kept)]
        assert numbers[0] == numbers[1] != jobs_of(log).draws.rng(purpose).integers(2**32)


def test_a_log_that_is_replayed_cannot_be_redrawn(log: str) -> None:
    config = {
        "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
        "workload": {"log": log, "processors_per_node": 1},
        "queue": {"policies": ["rdn"], "backfill": "as-logged", "run_time_model": "as-logged"},
        "run": {"snapshots": 0, "repetition": 1},
    }
    with pytest.raises(NetcosimError, match=r"run\.repetition.*set redraw_log = false"):
        nc.run_cosim(nc.config_from(config))


def sweep(key: str, log: str | None, waits: Mapping[object, tuple[float, float]]) -> Compared:
    """Waits under a and b, by the value of the key that varies."""

    def values(point: Mapping[str, Any], policy: str) -> dict[str, object]:
        return {"mean_wait_s": waits[point[key]]["ab".index(policy)], "makespan_s": 9.0}

    frame = policies_frame({key: list(waits)}, ["a", "b"], values)
    configs = {
        str(row["point"]): {
            "workload": {"log": log},
            "run": {"snapshots": 0, "repetition": row[key] if key.endswith("n") else 0},
        }
        for row in frame.to_dict("records")
    }
    own = ["policy", "mean_wait_s", "makespan_s"]
    return compare(frame, swept(frame, own), configs)


def test_five_equal_runs_are_one_sample() -> None:
    """The defect: five equal rows, "Use jigsaw ... 6 % (6 to 6) within each of 5 repetitions"."""
    found = sweep("run.seed", "a.swf", dict.fromkeys(range(1, 6), (100.0, 94.0)))
    assert found.equal == 4
    for estimate in found.estimates.values():
        assert len(estimate.samples) == 1
        assert np.isnan(estimate.interval.low)
    answer = recommend(found, 1.0)
    assert answer.head[0].endswith(f"4 repetitions gave what another one gave: equal runs are one "
                                   f"sample.{SAME_LOG}")  # fmt: skip
    assert "Use" not in answer.sentence
    assert not answer.interval
    assert OTHER_BLOCKS in answer.next_step
    assert all(not effect.has_interval for effect in answer.others)
    generated = recommend(sweep("run.seed", None, dict.fromkeys(range(1, 6), (100.0, 94.0))), 1.0)
    assert OTHER_JOBS in generated.next_step


def test_two_equal_runs_of_six_are_one() -> None:
    waits = {k: (100.0 + k, 90.0 + k) for k in range(1, 6)} | {6: (101.0, 91.0)}
    found = sweep("run.seed", None, waits)
    assert found.equal == 1
    [estimate] = [e for at, e in found.estimates.items() if at == ("mean_wait_s", (), "a")]
    assert len(estimate.samples) == distinct(estimate.samples.values()) == 5


def test_the_interval_of_redrawn_logs_is_the_scatter_of_one_by_hand() -> None:
    """The log: 100 and 80 s. Redrawn: ratios of 0.64 and 1, in turns: 1 / sqrt(x) is 1.25 or 1.

    Times sqrt(0.8) that is 1.118 or 0.894, whose scatter over six is 0.1118 sqrt(6 / 5). Student's
    t of 5 degrees, and the correction for ten blocks.
    """
    waits = {k: (50.0 + k, (50.0 + k) * (0.64 if k % 2 else 1.0)) for k in range(1, 7)}
    waits |= {0: (100.0, 80.0)}
    answer = recommend(sweep("run.repetition", "a.swf", waits), 1.0)
    [effect] = [one for one in answer.others if one.quantity.name == "mean wait"]
    scatter = 0.8**0.5 * 0.125 * (6 / 5) ** 0.5
    half = t_quantile(0.95, 5) * (10 / 9) ** 0.5 * scatter
    ends = 0.8 * (1 + half) ** -2, 0.8 * (1 - half) ** -2
    assert effect.value == pytest.approx(-20)
    assert (effect.low, effect.high) == pytest.approx([100 * (end - 1) for end in ends])
    assert (effect.sample, effect.samples) == ("block of the log", 10)


@pytest.mark.full
def test_intervals_over_a_log_hold_the_change_in_90_of_100() -> None:
    """A wait of ten blocks and one that is 0.9 times as long, with noise of its own in each."""
    held, rng = 0, np.random.default_rng(3)
    for _ in range(100):
        blocks = rng.lognormal(0.0, 0.7, (10, 2)) * (1.0, 0.9)
        shared = rng.lognormal(0.0, 0.5, 10)
        drawn = [np.arange(10), *rng.integers(0, 10, (9, 10))]
        means = [(blocks * shared[:, None])[d].mean(axis=0) for d in drawn]
        found = sweep("run.repetition", "a.swf", {k: tuple(m) for k, m in enumerate(means)})
        at = found.at(WAIT, ())
        effect = change(WAIT, "b", at["b"], "a", at["a"])
        held += effect.low <= -10 <= effect.high
    assert held >= 90


def test_repetitions_of_generated_jobs_have_students_interval() -> None:
    waits = {k: (100.0 + k, 90.0 + 1.1 * k) for k in range(1, 6)}
    answer = recommend(sweep("run.seed", None, waits), 1.0)
    # differences of -9.9 to -9.5 s, of 103 s
    assert answer.sentence == "Use b: it shortens mean wait by 9.4 % (9.2 to 9.6) compared with a."
    assert [one.samples for one in answer.effects] == [5]


def test_a_frame_without_configs_is_compared_as_repetitions() -> None:
    frame = policies_frame(
        {"run.seed": [1, 2]}, ["a", "b"], lambda point, policy: {"mean_wait_s": 1.0}
    )
    assert isinstance(frame, pd.DataFrame)
    found = compared(frame, ["run.seed"])
    assert (found.equal, found.over_log) == (1, False)
