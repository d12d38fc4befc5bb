"""Made jobs of GPU clusters have the published shares of jobs, GPU time and run times."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.config_errors import ConfigError
from experiments.config_load import config_from
from netsim.errors import NetcosimError
from workloads.gpu_clusters import GPU_CLUSTERS, LONGEST_S, gpu_cluster_workload

N = 200_000


@pytest.mark.parametrize("name", GPU_CLUSTERS)
def test_published_shares_are_whole(name: str) -> None:
    cluster = GPU_CLUSTERS[name]
    nodes, jobs, time = np.array(cluster.sizes).T
    assert jobs.sum() == pytest.approx(100, abs=0.1)
    assert time.sum() == pytest.approx(100, abs=4)
    assert nodes.max() * 8 == 1024
    assert cluster.shorter_percent[-1] == 100
    assert np.all(np.diff(cluster.shorter_percent) >= 0)
    assert 2.0 ** (len(cluster.shorter_percent) - 1) == LONGEST_S


@pytest.mark.parametrize("name", GPU_CLUSTERS)
def test_made_jobs_have_them(name: str) -> None:
    cluster = GPU_CLUSTERS[name]
    jobs = gpu_cluster_workload(N, name, np.random.default_rng(1))
    for nodes, percent, _ in cluster.sizes:
        share = percent / 100
        found = np.mean(jobs.n_nodes == nodes)
        assert found == pytest.approx(share, abs=5 * np.sqrt(share / N) + 1e-3 * share)
    # jobs on one node are nearly all, and their run times are drawn as published
    alone_s = jobs.run_time_s[jobs.n_nodes == 1]
    for k, percent in enumerate(cluster.shorter_percent):
        found = np.mean(alone_s <= 2.0**k)
        # rounding to seconds moves jobs of a few seconds
        if k >= 5:
            assert found == pytest.approx(percent / 100, abs=0.01)
    middle_s = {n: np.median(jobs.run_time_s[jobs.n_nodes == n]) for n, _, _ in cluster.sizes}
    # the logarithm of a run time has a deviation near 2, the rarest size some 120 jobs
    for (nodes, _, _), times in zip(cluster.sizes, cluster.stretch(), strict=True):
        assert np.log(middle_s[nodes] / middle_s[1]) == pytest.approx(np.log(times), abs=1.1)


def test_small_jobs_have_little_of_the_gpu_time() -> None:
    """Seren's jobs on one node: 97 % of all, 12 % of the GPU time; with equal run times 50 %."""
    jobs = gpu_cluster_workload(N, "seren", np.random.default_rng(1))
    gpus = np.where(jobs.n_nodes == 1, GPU_CLUSTERS["seren"].gpus_of_one_node, 8 * jobs.n_nodes)
    area = gpus * jobs.run_time_s
    assert 0.08 < area[jobs.n_nodes == 1].sum() / area.sum() < 0.2


def test_by_hand_what_gpu_time_asks_of_run_times() -> None:
    """Seren's jobs of 128 nodes: 14.43 / (0.06 x 1024) over 12.36 / (96.77 x 3.27)."""
    assert GPU_CLUSTERS["seren"].stretch()[-1] == pytest.approx(6.01, abs=0.01)


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
    config = config_from(content)
    made = config.resolved()["workload"]["synthetic"]
    assert set(made) == {"n_jobs", "cluster", "load", "requested_factor"}
    assert config_from(config.resolved()) == config
    jobs = config.workload.source().jobs(432, np.random.default_rng(1))
    assert jobs.name == "made-like-kalos"
    content["workload"]["synthetic"]["mean_nodes"] = 3  # type: ignore[index]
    with pytest.raises(ConfigError, match="mean_nodes conflicts with cluster"):
        config_from(content)
    plain = {**content, "workload": {"synthetic": {"n_jobs": 5}}}
    assert "cluster" not in config_from(plain).resolved()["workload"]["synthetic"]
