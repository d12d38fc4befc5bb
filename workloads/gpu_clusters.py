"""Synthetic jobs of GPU clusters, by published sizes and run times.

The numbers are read off the vector figures of Hu et al., "Characterization of large language model
development in the datacenter" (NSDI'24), as their repository has them
(https://github.com/InternLM/AcmeTrace, commit 6d6ac9cd): ``figure/cdf_job_gpunum.pdf``, shares of
jobs and of GPU time by number of GPUs, eight a node; ``figure/cdf_job_jobtime.pdf``, run times of
GPU jobs. No job of the logs is included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from workloads.job import Workload, bare_jobs
from workloads.registry import read_published
from workloads.synthetic import job_count_error

LONGEST_S = 2.0**21
"""The last point of the published run times; the first is at 1 s, each at twice the one before."""


@dataclass(frozen=True)
class GpuCluster:
    """Published data of the GPU jobs of a cluster.

    Attributes
    ----------
    description : str
    sizes : sequence of (int, float, float)
        Nodes, jobs of that size and their GPU time, both in per cent of all.
    gpus_of_one_node : float
        Mean GPUs of jobs on one node.
    shorter_percent : sequence of float
        Jobs in per cent that last at most 1, 2, 4, ... seconds.
    """

    description: str
    sizes: Sequence[tuple[int, float, float]]
    gpus_of_one_node: float
    shorter_percent: Sequence[float]

    def stretch(self) -> NDArray[np.float64]:
        """Return the mean run time of jobs of each size over that of jobs on one node."""
        nodes, jobs, time = np.array(self.sizes).T
        gpus = np.where(nodes == 1, self.gpus_of_one_node, 8 * nodes)
        mean_s = time / (jobs * gpus)
        return np.asarray(mean_s / mean_s[0])


GPU_CLUSTERS: dict[str, GpuCluster] = {
    name: GpuCluster(**cluster) for name, cluster in read_published()["gpu_clusters"].items()
}


def gpu_cluster_workload(
    n_jobs: int,
    cluster: str,
    rng: np.random.Generator,
    *,
    load: float | None = None,
    machine_nodes: int | None = None,
    requested_factor: tuple[float, float] | None = None,
) -> Workload:
    """Generate synthetic jobs like those of a GPU cluster.

    Sizes are drawn by their published shares of jobs. Run times are drawn by the published ones of
    all jobs, times the demand that the shares of GPU time put on jobs of that size, so that a size
    has its published part of the GPU time, in the mean and but for run times that would be longer
    than the longest published. Users, bursts and hours of the day are not made.

    Parameters
    ----------
    n_jobs : int
    cluster : str
        A name of `GPU_CLUSTERS`.
    rng : numpy.random.Generator
        Draws sizes, run times, then arrivals, then requested times.
    load, machine_nodes, requested_factor
        As in `workloads.synthetic.laas_workload`.

    Raises
    ------
    NetcosimError
        An unknown cluster, or a number outside its bounds.
    """
    if cluster not in GPU_CLUSTERS:
        raise unknown_name("GPU cluster", cluster, GPU_CLUSTERS)
    wrong = job_count_error(n_jobs)
    if wrong is not None:
        raise NetcosimError(f"synthetic workload: n_jobs = {wrong}")
    if load is not None and (machine_nodes is None or not 0 < load <= 1000):
        raise NetcosimError(f"synthetic workload: load = {load}; above 0 and at most 1000")
    published = GPU_CLUSTERS[cluster]
    sizes, jobs, _ = np.array(published.sizes).T
    which = rng.choice(len(sizes), n_jobs, p=jobs / jobs.sum())
    shorter = np.array((0.0, *published.shorter_percent)) / 100
    ends = np.arange(-1.0, len(shorter) - 1)
    # run times end at twice the one before: the logarithm is straight between them
    exponent = np.interp(rng.random(n_jobs), *_rising(shorter, ends))
    run_s = np.clip(2.0**exponent * published.stretch()[which], 1.0, LONGEST_S).round()
    nodes = sizes[which].astype(np.int32)
    submit_s = np.zeros(n_jobs)
    if load is not None and machine_nodes is not None:
        gap_s = float(np.mean(nodes * run_s)) / (load * machine_nodes)
        submit_s = np.cumsum(rng.exponential(gap_s, n_jobs))
    factor = (1.0, 1.0) if requested_factor is None else requested_factor
    if not 1 <= factor[0] <= factor[1] <= 1000:
        raise NetcosimError(
            f"synthetic workload: requested_factor = {factor}; 1 <= low <= high <= 1000"
        )
    requested_s = run_s * rng.uniform(*factor, n_jobs)
    return bare_jobs(
        f"made-like-{cluster}",
        submit_s=submit_s,
        run_time_s=run_s,
        n_nodes=nodes,
        requested_s=requested_s,
    )


def _rising(
    share: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of an inverse without the later ones of equal shares."""
    kept = np.concatenate(([True], np.diff(share) > 0))
    return share[kept], value[kept]
