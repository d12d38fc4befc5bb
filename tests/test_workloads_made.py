"""Generated and transformed workloads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.errors import NetcosimError
from workloads import transform
from workloads.csv_jobs import read_csv
from workloads.synthetic import laas_workload


def size_law(mean: float, top: int) -> np.ndarray:
    """Chance of each size 0..top: exponential, draws <= 1 become the mean, truncated."""
    s = np.arange(top + 1)
    law = np.exp(-s / mean) - np.exp(-(s + 1) / mean)
    law[0] = 0.0
    law[int(mean)] += 1 - np.exp(-1 / mean)
    return np.asarray(law)


def distance(sizes: np.ndarray, mean: float) -> float:
    """Largest gap between the empirical and the exact distribution function."""
    top = int(sizes.max())
    seen = np.cumsum(np.bincount(sizes, minlength=top + 1)) / len(sizes)
    return float(np.abs(seen - np.cumsum(size_law(mean, top))).max())


@pytest.mark.parametrize("mean", [16, 22, 28])
def test_sizes_follow_the_closed_form(mean: int) -> None:
    jobs = laas_workload(10_000, mean, np.random.default_rng(mean))
    # 1 % level of the Kolmogorov distance at 10,000 jobs: 1.63 / sqrt(10000).
    assert distance(jobs.n_nodes, mean) < 0.0163
    assert jobs.n_nodes.min() >= 1
    assert (jobs.run_time_s.min(), jobs.run_time_s.max()) == (20, 2999)
    assert jobs.run_time_s.mean() == pytest.approx(1509.5, rel=0.02)
    assert not jobs.submit_s.any()
    assert np.array_equal(jobs.requested_s, jobs.run_time_s)


@pytest.mark.shared
@pytest.mark.parametrize(("mean", "largest"), [(16, 138), (22, 190), (28, 243)])
def test_the_original_streams_follow_the_same_form(shared_dir, mean, largest):
    jobs = read_csv(shared_dir / "traces" / f"synth-{mean}.csv.gz")
    assert len(jobs) == 10_000
    assert jobs.n_nodes.max() == largest
    assert distance(jobs.n_nodes, mean) < 0.0163
    assert (jobs.run_time_s.min(), jobs.run_time_s.max()) == (20, 2999)
    assert not jobs.submit_s.any()


def test_one_generator_state_scales_with_the_mean() -> None:
    small = laas_workload(1000, 16, np.random.default_rng(5))
    large = laas_workload(1000, 32, np.random.default_rng(5))
    normal = (small.n_nodes != 16) & (large.n_nodes != 32)
    assert np.all(np.isin(large.n_nodes[normal] - 2 * small.n_nodes[normal], (0, 1)))
    assert np.array_equal(small.run_time_s, large.run_time_s)


def test_poisson_arrivals_reach_the_load() -> None:
    jobs = laas_workload(20_000, 16, np.random.default_rng(1), load=0.8, machine_nodes=1024)
    asked = float((jobs.n_nodes * jobs.run_time_s).sum())
    assert asked / (1024 * jobs.submit_s[-1]) == pytest.approx(0.8, rel=0.03)
    gaps = np.diff(jobs.submit_s)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    # five jobs: a generator that has drawn the same jobs goes on with the same gaps
    rng = np.random.default_rng(1)
    few = laas_workload(5, 16, np.random.default_rng(1), load=0.8, machine_nodes=1024)
    node_s = laas_workload(5, 16, rng).n_nodes * few.run_time_s
    gaps_s = rng.exponential(node_s.mean() / (0.8 * 1024), 5)
    assert few.submit_s == pytest.approx(np.cumsum(gaps_s))


def test_requested_times_are_above_run_times() -> None:
    jobs = laas_workload(5000, 16, np.random.default_rng(1), requested_factor=(1.0, 3.0))
    factor = jobs.requested_s / jobs.run_time_s
    assert 1 <= factor.min() < 1.01
    assert 2.99 < factor.max() <= 3
    assert factor.mean() == pytest.approx(2.0, rel=0.02)


def test_sizes_out_of_a_list_are_each_half_as_frequent_as_the_one_before() -> None:
    jobs = laas_workload(20_000, 1, np.random.default_rng(3), sizes=(4, 1, 32))
    counts = np.bincount(jobs.n_nodes)[[4, 1, 32]]
    assert counts.sum() == 20_000
    assert counts / 20_000 == pytest.approx(np.array([4, 2, 1]) / 7, abs=0.012)


def test_log_normal_run_times_stay_in_their_range() -> None:
    options = {"run_time_range_s": (60.0, 86_400.0), "median_run_time_s": 5000.0}
    run_s = laas_workload(20_000, 16, np.random.default_rng(3), **options).run_time_s  # type: ignore[arg-type]
    assert np.median(run_s) == pytest.approx(5000, rel=0.03)
    # One deviation of the logarithm: 15.9 % below median / e.
    assert (run_s < 5000 / np.e).mean() == pytest.approx(0.1587, abs=0.01)
    assert run_s.min() >= 60
    assert (run_s == 86_400).mean() == pytest.approx(0.0022, abs=0.0015)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": (1, 0)}, r"sizes has 0; each must be from 1"),
        ({"median_run_time_s": 5.0}, "median_run_time_s = 5.0; it must be in the range"),
        ({"mean_nodes": 0.5}, "mean_nodes = 0.5"),
        ({"load": 0.8}, "load and machine_nodes must be given together"),
        ({"load": 0.0, "machine_nodes": 5}, "load = 0.0"),
        ({"requested_factor": (0.5, 2)}, "requested_factor = "),
        ({"run_time_range_s": (5, 2)}, "5 to 2 s"),
    ],
)
def test_generator_mistakes(options: dict[str, object], message: str) -> None:
    given_options: dict[str, object] = {"n_jobs": 5, "mean_nodes": 16} | options
    with pytest.raises(NetcosimError, match=message):
        laas_workload(rng=np.random.default_rng(0), **given_options)  # type: ignore[arg-type]


@examples(30)
@given(st.integers(1, 60), st.sampled_from([0.1, 0.25, 1 / 3, 1.0, 1.5, 7.0]), st.integers(0, 99))
def test_transforms_equal_their_definitions(n: int, factor: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = laas_workload(n, 10, rng, load=0.5, machine_nodes=100)
    before = jobs.n_nodes.copy()
    sizes = transform.scale_sizes(jobs, factor).n_nodes.tolist()
    # Whole-number arithmetic: factor = p / q.
    p, q = {0.1: (1, 10), 0.25: (1, 4), 1 / 3: (1, 3), 1.0: (1, 1), 1.5: (3, 2), 7.0: (7, 1)}[
        factor
    ]
    assert sizes == [-(-s * p // q) for s in before.tolist()]
    assert np.allclose(
        transform.scale_arrivals(jobs, factor).submit_s, jobs.submit_s * factor, rtol=1e-15
    )
    assert not transform.all_at_zero(jobs).submit_s.any()
    zero = transform.from_zero(jobs)
    assert zero.submit_s[0] == 0
    assert np.allclose(np.diff(zero.submit_s), np.diff(jobs.submit_s))
    small = transform.drop_larger(jobs, 10)
    assert small.job_id.tolist() == jobs.job_id[before <= 10].tolist()
    assert sum(small.dropped.values()) == np.count_nonzero(before > 10)
    middle = float(np.median(jobs.submit_s))
    window = transform.time_window(jobs, middle, middle + 1e9)
    assert window.job_id.tolist() == jobs.job_id[jobs.submit_s >= middle].tolist()
    assert len(window) + sum(window.dropped.values()) == n
    assert transform.head(jobs, 5).job_id.tolist() == jobs.job_id[:5].tolist()
    assert np.array_equal(jobs.n_nodes, before)
    assert jobs.dropped == {}


def test_a_time_window_has_its_start_and_not_its_end() -> None:
    jobs = laas_workload(4, 16, np.random.default_rng(0))
    jobs = replace(jobs, submit_s=np.array([10.0, 20.0, 20.0, 30.0]))
    window = transform.time_window(jobs, 10, 20)
    assert window.submit_s.tolist() == [10]
    assert sum(window.dropped.values()) == 3
    assert transform.time_window(jobs, 20, 30.5).submit_s.tolist() == [20, 20, 30]


@pytest.mark.parametrize("hundredths", [7, 14, 28, 55, 56, 110])
def test_whole_sizes_are_not_rounded_up(hundredths: int) -> None:
    """100 * 0.07 is 7.000000000000001 in floating point, and 7 nodes: ceil(n p / 100) in whole
    numbers, for every size up to 5000."""
    n = np.arange(1, 5001)
    jobs = laas_workload(len(n), 16, np.random.default_rng(0))
    scaled = transform.scale_sizes(replace(jobs, n_nodes=n.astype(np.int32)), hundredths / 100)
    assert np.any(np.ceil(n * (hundredths / 100)) != -(-n * hundredths // 100))
    assert np.array_equal(scaled.n_nodes, -(-n * hundredths // 100))


def test_refusing_names_the_first_job() -> None:
    jobs = laas_workload(100, 16, np.random.default_rng(0))
    limit = int(np.sort(jobs.n_nodes)[-3])
    count = int(np.count_nonzero(jobs.n_nodes > limit))
    first = int(np.flatnonzero(jobs.n_nodes > limit)[0])
    text = (
        f"job {jobs.job_id[first]} wants {jobs.n_nodes[first]} nodes, the machine has {limit} "
        rf"\({count} such jobs\)"
    )
    with pytest.raises(NetcosimError, match=text):
        transform.refuse_larger(jobs, limit)
    assert transform.refuse_larger(jobs, int(jobs.n_nodes.max())) is jobs


def test_transform_mistakes() -> None:
    jobs = laas_workload(3, 16, np.random.default_rng(0))
    with pytest.raises(NetcosimError, match="arrival_factor = 0"):
        transform.scale_arrivals(jobs, 0)
    with pytest.raises(NetcosimError, match="size_factor = nan"):
        transform.scale_sizes(jobs, float("nan"))
    with pytest.raises(NetcosimError, match="the end must be after the start"):
        transform.time_window(jobs, 5, 5)
    with pytest.raises(NetcosimError, match="n_jobs = 0"):
        transform.head(jobs, 0)
