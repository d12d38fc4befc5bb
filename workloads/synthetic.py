"""Synthetic job streams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.kinds import RNG, need_array, need_kinds, need_real
from netsim.topologies.checks import need_int
from workloads.job import MAX_TIME_S, Workload, bare_jobs

MAX_JOBS = 10_000_000
"""Most jobs that are generated; the longest public log has six million."""

MAX_MEAN_NODES = 10_000_000
"""Largest mean size; the largest of `MAX_JOBS` exponential draws is some 16 times the mean."""

_BYTES_A_JOB = 100


def job_count_error(n_jobs: int) -> str | None:
    """Return the error of a number of jobs to generate; None if it is valid.

    For more than `MAX_JOBS`, return a message with the memory that they would need.
    """
    if n_jobs < 1:
        return f"{n_jobs}; it must be at least 1"
    if n_jobs > MAX_JOBS:
        return (
            f"{_formatted(n_jobs)} jobs would take {_formatted(n_jobs * _BYTES_A_JOB // 10**9)} "
            "GB of "
            f"memory; at most {MAX_JOBS:,} are generated"
        )
    return None


def _formatted(number: int) -> str:
    """Format an integer for users."""
    return f"{number:,}" if number < 10**15 else f"about 10^{int(number.bit_length() * 0.30103)}"


def laas_workload(
    n_jobs: int,
    mean_nodes: float,
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] = (),
    run_time_range_s: tuple[float, float] = (20.0, 3000.0),
    median_run_time_s: float | None = None,
    load: float | None = None,
    machine_nodes: int | None = None,
    requested_factor: tuple[float, float] | None = None,
) -> Workload:
    """Generate jobs as the LaaS paper does, whose streams Jigsaw calls Synth-16, -22 and -28.

    Sizes are exponential with mean ``mean_nodes``; a draw of 1 or less is replaced by the mean,
    then the fraction is cut off. Run times are uniform in the range, in whole seconds.

    Parameters
    ----------
    n_jobs, mean_nodes, rng
        The generator draws sizes, run times, then arrivals, then requested times.
    sizes : sequence of int
        Draw sizes from these instead, each half as often as the one before.
    run_time_range_s, median_run_time_s
        With a median, draw log-normal run times around it, with a deviation of 1 in the logarithm,
        and bring them into the range.
    load, machine_nodes : optional
        Poisson arrivals such that the jobs request this fraction of the nodes over time: the mean
        gap is mean(nodes * run time) / (load * machine_nodes). All arrive at 0 without.
    requested_factor : (low, high), optional
        Requested time = run time times a uniform factor; the run time itself if left out.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> jobs = nc.laas_workload(1000, 16, np.random.default_rng(1))
    >>> len(jobs), float(jobs.n_nodes.mean()), int(jobs.n_nodes.max())
    (1000, 16.589, 134)
    """
    where = "laas_workload"
    need_kinds(where, {"rng": (rng, RNG)})
    low, high = need_array(where, "run_time_range_s", run_time_range_s, 2, high=1e300, real=True)
    _check_sizes(n_jobs, mean_nodes)
    sizes = need_array(where, "sizes", sizes, low=1, high=MAX_MEAN_NODES).tolist()
    _check_times(low, high, median_run_time_s, requested_factor)
    nodes = _sizes(n_jobs, mean_nodes, sizes, rng)
    if median_run_time_s is None:
        run_s = np.floor(rng.uniform(low, high, n_jobs))
    else:
        run_s = np.clip(rng.lognormal(np.log(median_run_time_s), 1.0, n_jobs), low, high)
    submit_s = poisson_arrivals(nodes * run_s, load, machine_nodes, rng)
    factors = 1.0 if requested_factor is None else rng.uniform(*requested_factor, n_jobs)
    return bare_jobs(
        f"synth-{mean_nodes:g}" if not sizes else f"synth-of-{len(sizes)}-sizes",
        submit_s=submit_s,
        run_time_s=run_s,
        n_nodes=nodes,
        requested_s=run_s * factors,
    )


def _check_sizes(n_jobs: int, mean_nodes: float) -> None:
    """Raise NetcosimError for a number of jobs, or a mean size, out of range."""
    need_int("laas_workload", "n_jobs", n_jobs, 1)
    need_real("laas_workload", "mean_nodes", mean_nodes, 1)
    wrong = job_count_error(n_jobs)
    if wrong is not None:
        raise NetcosimError(f"synthetic workload: n_jobs = {wrong}")
    if not 1 <= mean_nodes <= MAX_MEAN_NODES:
        raise NetcosimError(
            f"synthetic workload: mean_nodes = {mean_nodes}; it must be 1 to {MAX_MEAN_NODES}"
        )


def _check_times(
    low: float, high: float, median_s: float | None, factor: tuple[float, float] | None
) -> None:
    """Raise NetcosimError for a range, a median or a factor that makes no run times."""
    where = "laas_workload"
    if not 1 <= low <= high <= MAX_TIME_S:
        raise NetcosimError(
            f"synthetic workload: run times {low} to {high} s; they must be 1 to "
            f"{MAX_TIME_S:g} s, and in order"
        )
    if median_s is not None and not low <= need_real(where, "median_run_time_s", median_s) <= high:
        raise NetcosimError(
            f"synthetic workload: median_run_time_s = {median_s}; it must be in the range of run "
            f"times, {low} to {high} s"
        )
    if factor is not None:
        least, most = need_array(where, "requested_factor", factor, 2, real=True)
        if not 1 <= least <= most <= MAX_TIME_S / high:
            raise NetcosimError(
                f"synthetic workload: requested_factor = {factor}; 1 <= low <= high, and requested "
                f"times up to {MAX_TIME_S:g} s"
            )


def poisson_arrivals(
    node_s: np.ndarray,
    load: float | None,
    machine_nodes: int | None,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return times at which jobs of these node-seconds come; all 0 without a load."""
    if (load is None) != (machine_nodes is None):
        raise NetcosimError("synthetic workload: load and machine_nodes must be given together")
    if load is None or machine_nodes is None:
        return np.zeros(len(node_s))
    need_int("laas_workload", "machine_nodes", machine_nodes, 0)
    load = need_real("laas_workload", "load", load)
    if not 0 < load < np.inf or not 1 <= machine_nodes <= np.iinfo(np.int32).max:
        raise NetcosimError(
            f"synthetic workload: load = {load}, machine_nodes = {_formatted(machine_nodes)}; "
            "load must be above 0, the machine have 1 node to 2147483647"
        )
    gap_s = float(np.mean(node_s)) / (load * machine_nodes)
    if not gap_s * len(node_s) <= MAX_TIME_S:
        raise NetcosimError(
            f"synthetic workload: load = {load}: the jobs would come over "
            f"{gap_s * len(node_s):g} s; times go up to {MAX_TIME_S:g} s"
        )
    return np.cumsum(rng.exponential(gap_s, len(node_s)))


def _sizes(
    n_jobs: int, mean_nodes: float, sizes: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int32]:
    if sizes:
        weights = 0.5 ** np.arange(len(sizes))
        return rng.choice(np.array(sizes, dtype=np.int32), n_jobs, p=weights / weights.sum())
    draw = rng.exponential(1.0, n_jobs) * mean_nodes
    return np.where(draw <= 1, mean_nodes, draw).astype(np.int32)
