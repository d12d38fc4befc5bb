"""Made jobs of GPU clusters have the published shares of jobs, GPU time and run times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcosim.config.errors import ConfigError
from netcosim.config.load import config_from
from netsim.errors import NetcosimError
from workloads.gpu_clusters import GPU_CLUSTERS, LONGEST_S, gpu_cluster_workload

N = 200_000


PUBLISHED = [name for name, cluster in GPU_CLUSTERS.items() if cluster.shorter_percent]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_shares_are_whole(name: str) -> None:
    cluster = GPU_CLUSTERS[name]
    gpus, jobs, time = np.array(cluster.sizes).T
    assert jobs.sum() == pytest.approx(100, abs=0.1)
    assert time.sum() == pytest.approx(100, abs=4)
    assert cluster.shorter_percent[-1] == 100
    assert np.all(np.diff(gpus) > 0)
    assert np.all(np.diff(cluster.shorter_percent) >= 0)
    assert 2.0 ** (len(cluster.shorter_percent) - 1) == LONGEST_S


def sizes_of(name: str) -> dict[int, float]:
    """Shares of jobs by GPUs, those on one node as published for it."""
    cluster = GPU_CLUSTERS[name]
    rows = [(gpus, jobs) for gpus, jobs, *_ in cluster.sizes if gpus == int(gpus)]
    rows += [(gpus, jobs) for gpus, jobs in cluster.one_node]
    total = sum(jobs for _, jobs in rows)
    return {int(gpus): jobs / total for gpus, jobs in rows}


@pytest.mark.parametrize("name", GPU_CLUSTERS)
def test_generated_jobs_have_the_published_sizes(name: str) -> None:
    published = sizes_of(name)
    jobs = gpu_cluster_workload(N, name, np.random.default_rng(1), size_unit="gpu")
    assert set(jobs.n_nodes) <= set(published)
    for gpus, share in published.items():
        found = np.mean(jobs.n_nodes == gpus)
        assert found == pytest.approx(share, abs=5 * np.sqrt(share / N) + 1e-3 * share)
    nodes = gpu_cluster_workload(N, name, np.random.default_rng(1))
    width = GPU_CLUSTERS[name].gpus_per_node
    assert np.array_equal(nodes.n_nodes, -(-jobs.n_nodes // width))
    assert np.array_equal(nodes.run_time_s, jobs.run_time_s)


@pytest.mark.parametrize(
    ("name", "mean", "up_to_node"),
    [
        ("kalos", 26.77, 93.92),
        ("philly", 1.928, 98.91),
        ("helios", 3.716, 94.69),
    ],
)
def test_mean_gpus_are_those_of_the_summary(name: str, mean: float, up_to_node: float) -> None:
    """The means of AcmeTrace's data/cluster_summary.csv, which the figures have to agree with."""
    shares = sizes_of(name)
    assert sum(gpus * share for gpus, share in shares.items()) == pytest.approx(mean, rel=0.03)
    assert 100 * sum(s for gpus, s in shares.items() if gpus <= 8) == pytest.approx(
        up_to_node, abs=0.1
    )


@pytest.mark.parametrize("name", GPU_CLUSTERS)
def test_generated_jobs_have_the_published_run_times(name: str) -> None:
    cluster = GPU_CLUSTERS[name]
    times = GPU_CLUSTERS[cluster.run_times_of] if cluster.run_times_of else cluster
    jobs = gpu_cluster_workload(N, name, np.random.default_rng(1), size_unit="gpu")
    for k, percent in enumerate(times.shorter_percent):
        # larger jobs last longer, which widens the distribution; seconds are rounded
        if k >= 5:
            assert np.mean(jobs.run_time_s <= 2.0**k) == pytest.approx(percent / 100, abs=0.04)
    for (gpus, *_), stretch in zip(cluster.sizes, cluster.stretch(), strict=True):
        mine = jobs.run_time_s[jobs.n_nodes == int(gpus)]
        if gpus == int(gpus) and len(mine) > 1000:
            middle_s = np.interp(0.5, np.array(times.shorter_percent) / 100, 2.0 ** np.arange(22))
            assert np.log(np.median(mine) / middle_s) == pytest.approx(np.log(stretch), abs=0.6)


@pytest.mark.parametrize(
    ("name", "larger"), [("seren", 0.876), ("kalos", 0.989), ("philly", 0.120), ("helios", 0.587)]
)
def test_gpu_time_of_jobs_of_more_than_a_node(name: str, larger: float) -> None:
    """Published shares of GPU time, less what run times beyond the longest cut off."""
    jobs = gpu_cluster_workload(N, name, np.random.default_rng(1), size_unit="gpu")
    area = jobs.n_nodes * jobs.run_time_s
    found = area[jobs.n_nodes > 8].sum() / area.sum()
    assert 0.7 * larger < found < 1.05 * larger


def test_the_pages_shares_of_philly() -> None:
    jobs = gpu_cluster_workload(100_000, "philly", np.random.default_rng(1), size_unit="gpu")
    shares = [f"{100 * np.mean(jobs.n_nodes <= gpus):.1f} %" for gpus in (1, 8)]
    page = (Path(__file__).parents[1] / "docs" / "logs.md").read_text(encoding="utf-8")
    assert f"prints {shares[0]} and {shares[1]}" in page


def test_by_hand_what_gpu_time_asks_of_run_times() -> None:
    """Seren's jobs of 128 nodes: 14.43 / (0.06 x 1024) over 12.36 / (96.77 x 3.27)."""
    assert GPU_CLUSTERS["seren"].stretch()[-1] == pytest.approx(6.01, abs=0.01)
    assert GPU_CLUSTERS["tpuv4"].stretch().tolist() == [1] * 11


def test_load_is_that_of_the_arrivals() -> None:
    jobs = gpu_cluster_workload(
        5000, "seren", np.random.default_rng(2), load=0.8, machine_nodes=286
    )
    area = float(np.sum(jobs.n_nodes * jobs.run_time_s))
    assert area / (286 * jobs.submit_s[-1]) == pytest.approx(0.8, rel=5 / np.sqrt(5000))
    with pytest.raises(NetcosimError, match="unknown GPU cluster 'x'"):
        gpu_cluster_workload(5, "x", np.random.default_rng(2))


def test_a_config_asks_for_it() -> None:
    content = {
        "machine": {"family": "fattree", "radix": 12},
        "workload": {"synthetic": {"n_jobs": 50, "cluster": "kalos"}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    content["workload"]["size_unit"] = "gpu"  # type: ignore[index]
    in_gpus = config_from(content).workload.source().jobs(1024, np.random.default_rng(1))
    assert set(in_gpus.n_nodes.tolist()) <= set(sizes_of("kalos"))
    del content["workload"]["size_unit"]  # type: ignore[attr-defined]
    config = config_from(content)
    assert "size_unit" not in config.resolved()["workload"]
    made = config.resolved()["workload"]["synthetic"]
    assert set(made) == {"n_jobs", "cluster", "load", "requested_factor"}
    assert config_from(config.resolved()) == config
    jobs = config.workload.source().jobs(432, np.random.default_rng(1))
    assert jobs.name == "made-like-kalos"
    content["workload"]["synthetic"]["mean_nodes"] = 3  # type: ignore[index]
    with pytest.raises(ConfigError, match="mean_nodes conflicts with cluster"):
        config_from(content)
    plain = {**content, "workload": {"synthetic": {"n_jobs": 5}}}
    source = config_from({**plain, "workload": {"size_unit": "gpu", "synthetic": {}}}).workload
    with pytest.raises(NetcosimError, match='size_unit = "gpu": the jobs have no GPUs'):
        source.source().jobs(432, np.random.default_rng(1))
    assert "cluster" not in config_from(plain).resolved()["workload"]["synthetic"]
