"""Synthetic jobs of GPU clusters, by published sizes and run times.

`published.toml` has the numbers and their sources. No job of a log is included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
from workloads.job import GPU, NODE, Workload, bare_jobs
from workloads.registry import read_published
from workloads.synthetic import job_count_error, poisson_arrivals

LONGEST_S = 2.0**21
"""The last point of the published run times; the first is at 1 s, each at twice the one before."""


@dataclass(frozen=True)
class GpuCluster:
    """Published data of the GPU jobs of a cluster."""

    description: str
    sizes: Sequence[Sequence[float]]
    """GPUs, share of jobs of that size, and their share of GPU time where it is published; up to a
    common factor. A number of GPUs that is not whole is a mean of ``one_node``."""
    shorter_percent: Sequence[float] = ()
    """Jobs in per cent that last at most 1, 2, 4, ... seconds; empty where not published."""
    run_times_of: str = ""
    """The cluster whose run times are used then."""
    one_node: Sequence[tuple[int, float]] = ()
    """GPUs and share of jobs, of the jobs of such a mean."""
    gpus_per_node: int = 8

    def stretch(self) -> NDArray[np.float64]:
        """Return the mean run time of jobs of each size over that of jobs on one node.

        The latter is the geometric mean over their sizes. 1 for all sizes where shares of GPU time
        are not published.
        """
        gpus, jobs, *time = np.array(self.sizes).T
        if not time:
            return np.ones(len(gpus))
        mean_s = time[0] / (jobs * gpus)
        one = gpus <= self.gpus_per_node
        return np.asarray(mean_s / np.exp(np.average(np.log(mean_s[one]), weights=jobs[one])))


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
    size_unit: str = NODE,
) -> Workload:
    """Generate synthetic jobs like those of a GPU cluster; their unit is "node" or "gpu".

    Sizes are drawn by their published shares of jobs. Run times are drawn by the published ones of
    all jobs, times the demand that the shares of GPU time put on jobs of that size, so that a size
    has its published part of the GPU time, in the mean and but for run times that would be longer
    than the longest published. Users, bursts and daily cycles are not modelled. The other arguments
    are those of `workloads.synthetic.laas_workload`.
    """
    need_name("GPU cluster", cluster, GPU_CLUSTERS)
    wrong = job_count_error(n_jobs)
    if wrong is not None:
        raise NetcosimError(f"synthetic workload: n_jobs = {wrong}")
    published = GPU_CLUSTERS[cluster]
    gpus, jobs = np.array([size[:2] for size in published.sizes]).T
    which = rng.choice(len(gpus), n_jobs, p=jobs / jobs.sum())
    times = GPU_CLUSTERS[published.run_times_of] if published.run_times_of else published
    shorter = np.array((0.0, *times.shorter_percent)) / 100
    ends = np.arange(-1.0, len(shorter) - 1)
    # run times end at twice the one before: the logarithm is straight between them
    exponent = np.interp(rng.random(n_jobs), *_rising(shorter, ends))
    run_s = np.clip(2.0**exponent * published.stretch()[which], 1.0, LONGEST_S).round()
    width = 1 if size_unit == GPU else published.gpus_per_node
    nodes = np.ceil(gpus / width)[which].astype(np.int32)
    if published.one_node and size_unit == GPU:
        parts, share = np.array(published.one_node).T
        drawn = rng.choice(parts.astype(np.int32), n_jobs, p=share / share.sum())
        nodes = np.where(which == 0, drawn, nodes)
    submit_s = poisson_arrivals(nodes * run_s, load, machine_nodes, rng)
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
    """Return the points of an inverse without repeated shares."""
    kept = np.concatenate(([True], np.diff(share) > 0))
    return share[kept], value[kept]
