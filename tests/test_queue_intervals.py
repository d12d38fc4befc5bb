"""Intervals of waits from queues on other logs hold the true mean as often as they say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

import netcosim as nc
from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.redrawn import ResampledSpeedups
from cosim.measuring.snapshots import Measurement, Measurements
from netcosim.cli import main
from netcosim.commands import check_resamples
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.queue_intervals import (
    Redrawn,
    default_resamples,
    queue_metrics,
    redrawn,
    why_not_redrawn,
    with_intervals,
)
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from queuesim.metrics import wait_s
from queuesim.queue import run_queue
from queuesim.queue_setup import QueueSetup
from queuesim.site.rules import Rules
from queuesim.statistics import interval_of_redrawn
from workloads.details import Dependencies, JobDetails
from workloads.drawn import block_length_s, drawn_log, n_blocks, rotated
from workloads.job import Workload

pytestmark = pytest.mark.usefixtures("undrawn")


def test_the_interval_by_hand() -> None:
    """Ten blocks: Student's t of 9 degrees, 2.2622, times the scatter of roots, corrected."""
    values = np.exp([-0.1, 0.1] * 50)
    scatter = 0.1 * np.sqrt(100 / 99)
    found = interval_of_redrawn(1.0, values, 10)
    half = 2.262157 * np.sinh(0.05) * np.sqrt(100 / 99 * 10 / 9)
    assert found.high == pytest.approx((1 - half) ** -2)
    assert found.low == pytest.approx((1 + half) ** -2)
    assert interval_of_redrawn(1.0, np.exp([-3.0, 3.0] * 50), 10).high == pytest.approx(100.0)
    generated = interval_of_redrawn(2.0, values, np.inf)
    assert generated.high == pytest.approx(2 * np.exp(1.984217 * scatter))
    # nobody waits on some of the logs
    zeros = interval_of_redrawn(1.0, [0.0, *range(1, 100)], 10)
    assert (zeros.low, zeros.high) == pytest.approx((2.475, 96.525))
    # roots of 1 / 1 and 1 / 4: half of 0.5 off their mean
    half = 2.262157 * 0.25 * np.sqrt(100 / 99 * 10 / 9)
    skewed = interval_of_redrawn(1.0, [1.0, 4.0] * 50, 10)
    assert (skewed.low, skewed.high) == pytest.approx(((1 + half) ** -2, (1 - half) ** -2))
    # on this log nobody waits: quantiles of 1, 2, ..., 100
    nobody = interval_of_redrawn(0.0, [*range(1, 101)], 10)
    assert (nobody.low, nobody.high) == pytest.approx((3.475, 97.525))
    assert np.isnan(interval_of_redrawn(1.0, values, 4).low)


def test_a_ratio_is_over_the_logs_on_which_somebody_waits() -> None:
    """Twice as long on five of six logs; on the other nobody waits under the reference."""
    waits = {"a": {"wait": np.array([5.0, 2, 4, 6, 8, 10])}, "b": {"wait": np.arange(6.0)}}
    found = Redrawn(waits, np.inf).interval(2.0, "a", "wait", 0.95, "b")
    assert found == (2.0, 2.0, 2.0)


def test_metrics_are_those_of_the_jobs_that_ran() -> None:
    """Job 2 waits for job 1 to fail, which it does not; job 3 waits for its node until 5 s."""
    jobs = make_workload([0, 1, 2], [5, 5, 20], [1, 1, 1])
    waits = Dependencies.of([[], [("afternotok", 1)], []])
    jobs = replace(jobs, details=JobDetails(dependency=waits))
    rng = np.random.default_rng(0)
    found = run_queue(QueueSetup(jobs, Mask(1), rng=rng, rules=Rules(has_dependencies=True)))
    # slowdowns 1 (5 of at least 10 s) and 23 / 20
    expected = {"wait": 1.5, "turnaround": 14.0, "slowdown": 1.075, "makespan": 25.0}
    assert queue_metrics(found) == pytest.approx(expected)


def poisson_jobs(rng: np.random.Generator, load: float, n: int) -> Workload:
    """Jobs of one node that run for 1 s."""
    submit_s = np.cumsum(rng.exponential(1 / load, n))
    return make_workload(submit_s - submit_s[0], np.ones(n), np.ones(n, int), np.ones(n))


def mean_wait_s(jobs: Workload) -> float:
    rng = np.random.default_rng(0)
    setup = QueueSetup(jobs, Mask(1), rng=rng, repeats=20_000, only_times=True)
    return float(wait_s(run_queue(setup)).mean())


class Drawn:
    """A generator that gives a number, and these blocks, one row after the other."""

    def __init__(self, number: float = 0.0, *blocks: tuple[int, ...]) -> None:
        self.number, self.blocks = number, list(blocks)

    def random(self) -> float:
        return self.number

    def integers(self, low: int, high: int, n: int) -> np.ndarray:
        blocks = self.blocks.pop(0)
        assert (low, high, n) == (0, len(blocks), len(blocks))
        return np.array(blocks)


def at(*submit_s: float) -> Workload:
    n = len(submit_s)
    return make_workload(submit_s, np.arange(1, n + 1), np.ones(n, int), np.ones(n))


WEEK_S = 604_800.0


@pytest.mark.parametrize(
    ("jobs", "length_s", "blocks"),
    [
        (at(7.0, 50.0, 107.0), 10.0, 10),
        (at(0.0, 9.0 * WEEK_S), 0.9 * WEEK_S, 10),
        (at(0.0, 10.0 * WEEK_S), WEEK_S, 10),
        (at(0.0, 10.5 * WEEK_S), WEEK_S, 11),
        # at once: parts of their order
        (at(*[3.0] * 4), 0.0, 4),
        (at(*[3.0] * 25), 0.0, 10),
    ],
)
def test_blocks_of_a_log_by_hand(jobs: Workload, length_s: float, blocks: int) -> None:
    """A week where ten fit, else a tenth of the log."""
    assert (block_length_s(jobs), n_blocks(jobs)) == (pytest.approx(length_s), blocks)


def test_a_drawn_log_by_hand() -> None:
    """Ten blocks of 10 s: 0 has the jobs at 0 and 5 s, 1 that at 15, 9 those at 95 and 100 s.

    Drawn first, block 1 begins 10 s earlier, its job at 5 s. Block 0 follows, 10 s later, then 9
    twice, 70 and 60 s earlier; the others are empty.
    """
    jobs = at(0.0, 5.0, 15.0, 95.0, 100.0)
    wait_for_first = Dependencies.of([[], [("afterok", 1)], [], [], []])
    jobs = replace(jobs, details=JobDetails(dependency=wait_for_first))
    found = drawn_log(jobs, Drawn(0.0, (1, 0, 9, 9, 2, 2, 3, 4, 5, 6)))  # type: ignore[arg-type]
    assert found.submit_s.tolist() == [5, 10, 15, 25, 30, 35, 40]
    # which jobs they were
    assert found.run_time_s.tolist() == [3, 1, 2, 4, 5, 4, 5]
    assert found.job_id.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert found.details.dependency is None
    at_once = drawn_log(at(*[3.0] * 6), Drawn(0.0, (5, 0, 0, 1, 2, 3)))  # type: ignore[arg-type]
    assert at_once.run_time_s.tolist() == [6, 1, 1, 2, 3, 4]
    # nothing is submitted in the fifth tenth: the blocks are drawn again
    later = drawn_log(at(0.0, 100.0), Drawn(0.0, (5,) * 10, (5,) * 9 + (9,)))  # type: ignore[arg-type]
    assert (later.run_time_s.tolist(), later.submit_s.tolist()) == ([2], [100])
    # parts of 2 and 3 jobs: 25 are 2, 3, 2, 3, ...
    parts = drawn_log(at(*[3.0] * 25), Drawn(0.0, (0, 1, *[0] * 8)))  # type: ignore[arg-type]
    assert parts.run_time_s[:8].tolist() == [1, 2, 3, 4, 5, 1, 2, 3]
    assert set(parts.submit_s) == {3.0}


def test_a_rotated_log_by_hand() -> None:
    """Gaps of 10, 20 and 10 s, a round of 40 + 40 / 3 s: half of it begins after 26 2/3 s."""
    found = rotated(at(10.0, 20.0, 40.0, 50.0), Drawn(0.5))  # type: ignore[arg-type]
    assert found.run_time_s.tolist() == [3, 4, 1, 2]
    assert 3 * found.submit_s == pytest.approx([40, 70, 110, 140])
    # 72.1 days are ten weeks: a round of 72.1 x 8 / 7 = 82.4 days is rounded up to 83, and its
    # half, 41.2 days, down to 41
    day_s = WEEK_S / 7
    found = rotated(at(*(k * 10.3 * day_s for k in range(8))), Drawn(0.5))  # type: ignore[arg-type]
    assert found.run_time_s.tolist() == [5, 6, 7, 8, 1, 2, 3, 4]
    days = [0.2, 10.5, 20.8, 31.1, 42.0, 52.3, 62.6, 72.9]
    assert found.submit_s / day_s == pytest.approx(days)


def test_a_log_of_weeks_is_rotated_by_whole_days() -> None:
    submit_s = np.sort(np.random.default_rng(1).uniform(0, 80 * 86400, 400))
    jobs = make_workload(submit_s, np.ones(400), np.ones(400, int), np.ones(400))
    for seed in range(5):
        found = rotated(jobs, np.random.default_rng(seed))
        old_s = submit_s[np.searchsorted(jobs.job_id, found.job_id)]
        days = (found.submit_s - old_s) / 86400
        assert np.allclose(days, np.round(days))
        assert np.all(np.diff(found.submit_s) >= 0)


@pytest.mark.full
def test_of_100_intervals_90_hold_the_mean_wait_of_an_m_d_1_queue() -> None:
    """Pollaczek and Khinchine: load / (2 (1 - load)) services of 1 s.

    At a load of 0.8 the ten blocks last five relaxation times each.
    """
    load, held = 0.8, 0
    true_s = load / (2 * (1 - load))
    for repeat in range(100):
        rng = np.random.default_rng(repeat)
        jobs = poisson_jobs(rng, load, 1000)
        values = [mean_wait_s(drawn_log(rotated(jobs, rng), rng)) for _ in range(100)]
        found = interval_of_redrawn(mean_wait_s(jobs), values, n_blocks(jobs))
        held += found.low <= true_s <= found.high
    assert held >= 90


@pytest.mark.full
def test_of_100_intervals_90_hold_the_long_run_mean_of_generated_jobs() -> None:
    rng = np.random.default_rng(1)
    values = np.array([mean_wait_s(poisson_jobs(rng, 0.7, 400)) for _ in range(2300)])
    # the last 2,000 for the mean; each of the first 100 once, with 200 others
    true_s, held = float(values[300:].mean()), 0
    for value in values[:100].tolist():
        found = interval_of_redrawn(value, values[100:300], np.inf)
        held += found.low <= true_s <= found.high
    assert held >= 90


class Draws:
    """A generator that draws these snapshots, a row a side."""

    def __init__(self, *rows: tuple[int, ...]) -> None:
        self.rows = rows

    def integers(self, low: int, high: int, shape: tuple[int, int]) -> np.ndarray:
        assert (low, shape) == (0, (len(self.rows), high))
        return np.array(self.rows)


def test_speed_ups_of_drawn_snapshots_by_hand() -> None:
    """Two snapshots. Stretches of simple 2 and 4, of rdn 4 and 8: a ratio of 3 / 6.

    The first of simple twice is 2 / 3 of its mean, the second of rdn twice 8 / 6 of its. Pairs
    have 0.5 and 0.7: the second twice is 0.7. A size that is in no drawn snapshot moves as all
    jobs do: 0.9 x 0.5 / 0.7.
    """
    two = np.array([0, 1])
    sides = {
        name: Measurements(name, two, two, 0 * two, 4 + 0 * two, np.array(times), np.ones(2))
        for name, times in (("rdn", (4.0, 8.0)), ("simple", (2.0, 4.0)))
    }
    row = SpeedupRow("halo2d", 2, 8, "simple", 0.5, 0.4, 1.0)
    own = Measurement(sides, {}, SpeedupTable("rdn", (row,)))
    resampled = ResampledSpeedups.of(own, ["halo2d"])
    assert (resampled.n_snapshots, resampled.paired) == (2, False)
    [moved] = resampled.draw(Draws((1, 1), (0, 0))).rows  # type: ignore[arg-type]
    assert (moved.ratio, moved.ratio_low) == (pytest.approx(0.25), None)
    pairs = [
        {"policy": "simple", "pattern": "halo2d", "n_nodes": n, "snapshot": k, "run_ratio": ratio}
        for n, k, ratio in ((4, 0, 0.5), (4, 1, 0.7), (64, 1, 0.9))
    ]
    rows = (replace(row, ratio=0.6, ratio_low=None, ratio_high=None),)
    rows += (replace(rows[0], min_nodes=9, max_nodes=99, ratio=0.9),)
    paired = Measurement(sides, {}, SpeedupTable("rdn", rows), {"pairs": pairs})
    resampled = ResampledSpeedups.of(paired, ["halo2d"])
    for most_nodes, jobs in ((8, [1, 1]), (99, [1, 2])):
        sums = resampled.seen["simple"].sums(replace(row, max_nodes=most_nodes), 2)
        assert sums[0][0].tolist() == jobs
    draw = resampled.draw
    assert [one.ratio for one in draw(Draws((1, 1))).rows] == pytest.approx([0.7, 0.9])  # type: ignore[arg-type]
    drawn = [one.ratio for one in draw(Draws((0, 0))).rows]  # type: ignore[arg-type]
    assert drawn == pytest.approx([0.5, 0.9 * 0.5 / 0.7])


def test_intervals_of_waits_have_the_error_of_speed_ups() -> None:
    """The queues on the same logs, with speed-ups held fixed and with snapshots drawn again."""
    measured = content(run_time_model="measured") | {"run": {"snapshots": 6}}
    measured["communication"] = {"mix": [{"pattern": "all-to-all", "communication_fraction": 0.9}]}
    run = nc.run_cosim(nc.config_from(measured))
    found = redrawn(run, 12)
    assert found.sample == ("snapshot", 6)
    fixed = redrawn(replace(run, study=None), 12)
    assert fixed.sample == ("set of generated jobs", 12)
    logs = [of.metrics["rdn"]["turnaround"] for of in (found, fixed)]
    np.testing.assert_array_equal(*logs)  # the reference has no speed-up
    ratios = [of.metrics["simple"]["turnaround"] / logs[0] for of in (found, fixed)]
    assert ratios[0].std() > ratios[1].std()
    assert np.isnan(replace(found, n_snapshots=4).interval(1.0, "rdn", "wait", 0.95).low)


SYNTHETIC = {"n_jobs": 60, "mean_nodes": 3, "load": 0.9}


def content(**queue: object) -> dict[str, object]:
    return {
        "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
        "workload": {"synthetic": SYNTHETIC},
        "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged", **queue},
        "run": {"snapshots": 0},
    }


@pytest.fixture(scope="module")
def result() -> CosimResult:
    return nc.run_cosim(nc.config_from(content()))


def test_generated_jobs_come_from_other_seeds_and_are_the_same_under_every_policy(
    result: CosimResult,
) -> None:
    found = redrawn(result, 5)
    assert (found.resamples, found.n_blocks) == (5, np.inf)
    under = found.metrics
    # as logged, all policies that place by count have one schedule
    for metric, values in under["rdn"].items():
        np.testing.assert_array_equal(values, under["simple"][metric])
    assert len(set(under["rdn"]["wait"])) == 5
    np.testing.assert_array_equal(
        redrawn(result, 3).metrics["rdn"]["wait"], under["rdn"]["wait"][:3]
    )


def test_a_log_is_drawn_from_its_blocks_and_each_queue_is_that_of_the_reference(
    tmp_path: Path, result: CosimResult
) -> None:
    """Simulated here by events, with places."""
    nc.write_swf(result.workload, tmp_path / "a.swf")
    logged = content() | {"workload": {"log": str(tmp_path / "a.swf"), "processors_per_node": 1}}
    run = nc.run_cosim(nc.config_from(logged))
    found = redrawn(run, 4)
    assert found.n_blocks == 10
    queues = queues_of(run.config, run.machine.topology, run.workload)
    for k in range(4):
        rng = queues.draws.rng("bootstrap", f"log {k}")
        jobs = drawn_log(rotated(run.workload, rng), rng)
        plain = queue_metrics(replace(queues, jobs=jobs).under("simple"))
        assert plain == {m: values[k] for m, values in found.metrics["simple"].items()}


def test_tables_get_the_intervals(result: CosimResult) -> None:
    """Waits under simple are half of those under rdn on every log: a ratio without scatter."""
    base = {m: np.array([1.0, 2, 3, 4, 5]) for m in queue_metrics(result.schedules["rdn"])}
    half = {m: values / 2 for m, values in base.items()}
    tables = nc.result_tables(result)
    found = with_intervals(tables, result, Redrawn({"rdn": base, "simple": half}, np.inf))
    rows = found["queue_intervals"]
    assert len(rows) == 2 * 4
    [row] = [r for r in rows if (r["policy"], r["metric"]) == ("simple", "wait")]
    assert row["ratio"] == row["ratio_low"] == row["ratio_high"] == 1.0
    assert row["value_low"] < row["value"] < row["value_high"]
    assert row["resamples"] == 5
    for policy, before in zip(found["policies"], tables["policies"], strict=True):
        new = {f"{metric}_ratio_{end}" for metric in base for end in ("low", "high")}
        assert set(policy) - set(before) == new
        assert (policy["wait_ratio_low"], policy["wait_ratio_high"]) == (1.0, 1.0)


def test_seeds_whose_jobs_all_are_too_large_are_left_out() -> None:
    one = {"n_jobs": 1, "mean_nodes": 12}
    run = nc.run_cosim(nc.config_from(content() | {"workload": {"synthetic": one}}))
    found = redrawn(run, 40)
    assert 20 < found.resamples < 40
    assert len(found.metrics["rdn"]["wait"]) == found.resamples
    # of 4 jobs those that are too large are left out, and the others go on
    several = {"synthetic": {"n_jobs": 4, "mean_nodes": 12}}
    fits = content() | {"workload": several, "run": {"snapshots": 0, "seed": 2}}
    assert redrawn(nc.run_cosim(nc.config_from(fits)), 20).resamples == 20
    # one job never waits: its wait is no multiple of another
    rows = with_intervals(nc.result_tables(run), run, found)["queue_intervals"]
    assert {r["metric"] for r in rows if "ratio" not in r} == {"wait"}


def test_queues_that_would_take_long_are_not_drawn_unasked(result: CosimResult) -> None:
    assert why_not_redrawn(result) == ""
    tree = content(policies=["jigsaw"]) | {"machine": {"family": "fattree", "radix": 6}}
    isolated = nc.run_cosim(nc.config_from(tree))
    assert "'jigsaw' places by more than the number of free nodes" in why_not_redrawn(isolated)
    assert redrawn(isolated, 2).resamples == 2


@pytest.mark.parametrize(
    ("jobs", "policies", "logs"),
    [(50_000, 1, 200), (40_000, 2, 125), (1_000_000, 1, 20), (9_000, 3, 200), (600_000, 1, 20)],
)
def test_the_number_of_logs_follows_from_the_jobs(jobs: int, policies: int, logs: int) -> None:
    """Ten million jobs in all: 10,000,000 / 80,000 = 125 logs; at least 20, at most 200."""
    queues = SimpleNamespace(why_by_events=lambda name, repeats: "")
    schedules = dict.fromkeys(map(str, range(policies)))
    of: Any = SimpleNamespace(queues=queues, schedules=schedules, workload=range(jobs))
    assert default_resamples(of) == logs


def test_live_run_times_have_no_intervals() -> None:
    live = nc.config_from(content(run_time_model="coupled-flow"))
    with pytest.raises(NetcosimError, match=r"--resamples 5: run times change while jobs run"):
        check_resamples(live, 5)
    check_resamples(live, None)
    check_resamples(live, 0)
    with pytest.raises(NetcosimError, match="--resamples -1; must be at least 0"):
        check_resamples(live, -1)


def test_commands_print_the_effects_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is on stdout; a sweep over the same config has the same policies."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(
        "[machine]\nfamily = 'dragonfly'\np = 2\na = 2\ng = 5\n"
        "[workload]\nlarger_jobs = 'drop'\n[workload.synthetic]\nn_jobs = 60\nmean_nodes = 3\n"
        "load = 1.2\n"
        "[queue]\npolicies = ['rdn', 'simple']\nrun_time_model = 'assumed'\n"
        "[run]\nsnapshots = 0\n"
    )
    found = {}
    for command in (["run", "--resamples", "6"], ["sweep"]):
        name, *options = command
        assert main([name, "c.toml", *options, "--json", "--quiet"]) == 0
        found[name] = json.loads(capsys.readouterr().out)
        assert found[name]["confidence"] == 0.95
        for effect in found[name]["effects"]:
            assert (effect["subject"], effect["against"], effect["unit"]) == ("simple", "rdn", "%")
            assert (effect["low"] is None) or effect["samples"] >= 2
    assert [e["sample"] for e in found["run"]["effects"][:1]] == ["set of generated jobs"]
    assert {e["quantity"] for e in found["sweep"]["effects"]} >= {"mean wait", "makespan"}
    assert all(e["low"] is None for e in found["sweep"]["effects"])
    curve = "[machine]\nfamily = 'torus'\ndims = [4]\n[curve]\nloads = [0.1]\n"
    (tmp_path / "d.toml").write_text(curve)
    assert main(["curve", "d.toml", "--json", "--quiet"]) == 0
    [level] = json.loads(capsys.readouterr().out)["effects"]
    assert (level["quantity"], level["unit"], level["against"]) == ("accepted load", "%", None)
