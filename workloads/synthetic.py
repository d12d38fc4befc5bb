"""Synthetic job streams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.kinds import RNG, need_array, need_kinds, need_real
from netsim.topologies.checks import need_int
from workloads.job import Workload, bare_jobs
from workloads.swf_parse import MAX_TIME_S

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
    """Return the generator of the LaaS paper, whose streams Jigsaw calls Synth-16, -22 and -28.

    Sizes are exponential with mean ``mean_nodes``; a draw of 1 or less is replaced by the mean,
    then the fraction is cut off. Run times are uniform in ``run_time_range_s``, cut to whole
    seconds. The sizes of one generator state scale with the mean, as in the original files.

    Parameters
    ----------
    n_jobs : int
    mean_nodes : float
        At least 1. Jigsaw: 16, 22 and 28 with 10,000 jobs.
    rng : numpy.random.Generator
        Draws sizes, run times, then arrivals, then requested times.
    sizes : sequence of int
        Draw sizes from these instead, each half as often as the one before.
    run_time_range_s : (low, high)
        At least 1 second.
    median_run_time_s : float, optional
        Draw log-normal run times around this median, with a deviation of 1 in the logarithm,
        and bring them into the range.
    load : float, optional
        Poisson arrivals such that the jobs request this fraction of ``machine_nodes`` over time:
        the mean gap is mean(nodes * run time) / (load * machine_nodes). All arrive at 0
        if left out.
    machine_nodes : int, optional
        Needed with ``load``.
    requested_factor : (low, high), optional
        Requested time = run time times a uniform factor, at least 1. The run time
        itself if left out.

    Returns
    -------
    Workload

    Raises
    ------
    NetcosimError
        A parameter outside these bounds.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> jobs = nc.laas_workload(1000, 16, np.random.default_rng(1))
    >>> len(jobs), float(jobs.n_nodes.mean()), int(jobs.n_nodes.max())
    (1000, 16.589, 134)
    """
    need_kinds("laas_workload", {"rng": (rng, RNG)})
    need_int("laas_workload", "n_jobs", n_jobs, 1)
    need_real("laas_workload", "mean_nodes", mean_nodes, 1)
    where = "laas_workload"
    low, high = need_array(where, "run_time_range_s", run_time_range_s, 2, high=1e300, real=True)
    sizes = need_array(where, "sizes", sizes, low=1, high=MAX_MEAN_NODES).tolist()
    wrong = job_count_error(n_jobs)
    if wrong is not None:
        raise NetcosimError(f"synthetic workload: n_jobs = {wrong}")
    if not 1 <= mean_nodes <= MAX_MEAN_NODES:
        raise NetcosimError(
            f"synthetic workload: mean_nodes = {mean_nodes}; it must be 1 to {MAX_MEAN_NODES}"
        )
    if not 1 <= low <= high <= MAX_TIME_S:
        raise NetcosimError(
            f"synthetic workload: run times {low} to {high} s; they must be 1 to "
            f"{MAX_TIME_S:g} s, and in order"
        )
    if median_run_time_s is not None and not (
        low <= need_real(where, "median_run_time_s", median_run_time_s) <= high
    ):
        raise NetcosimError(
            f"synthetic workload: median_run_time_s = {median_run_time_s}; it must be in the range "
            f"of run times, {low} to {high} s"
        )
    if (load is None) != (machine_nodes is None):
        raise NetcosimError("synthetic workload: load and machine_nodes must be given together")
    if requested_factor is not None:
        least, most = need_array(where, "requested_factor", requested_factor, 2, real=True)
        if not 1 <= least <= most <= MAX_TIME_S / high:
            raise NetcosimError(
                f"synthetic workload: requested_factor = {requested_factor}; 1 <= low <= high, and "
                f"requested times up to {MAX_TIME_S:g} s"
            )
    nodes = _sizes(n_jobs, mean_nodes, sizes, rng)
    if median_run_time_s is None:
        run_s = np.floor(rng.uniform(low, high, n_jobs))
    else:
        run_s = np.clip(rng.lognormal(np.log(median_run_time_s), 1.0, n_jobs), low, high)
    submit_s = np.zeros(n_jobs)
    if load is not None and machine_nodes is not None:
        need_int(where, "machine_nodes", machine_nodes, 0)
        load = need_real(where, "load", load)
        if not 0 < load < np.inf or not 1 <= machine_nodes <= np.iinfo(np.int32).max:
            raise NetcosimError(
                f"synthetic workload: load = {load}, machine_nodes = {_formatted(machine_nodes)}; "
                "load must be above 0, the machine have 1 node to 2147483647"
            )
        gap_s = float(np.mean(nodes * run_s)) / (load * machine_nodes)
        if not gap_s * n_jobs <= MAX_TIME_S:
            raise NetcosimError(
                f"synthetic workload: load = {load}: the jobs would come over {gap_s * n_jobs:g} s;"
                f" times go up to {MAX_TIME_S:g} s"
            )
        submit_s = np.cumsum(rng.exponential(gap_s, n_jobs))
    requested_s = run_s.copy()
    if requested_factor is not None:
        requested_s = run_s * rng.uniform(*requested_factor, n_jobs)
    return bare_jobs(
        f"synth-{mean_nodes:g}" if not sizes else f"synth-of-{len(sizes)}-sizes",
        submit_s=submit_s,
        run_time_s=run_s,
        n_nodes=nodes,
        requested_s=requested_s,
    )


def _sizes(
    n_jobs: int, mean_nodes: float, sizes: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int32]:
    if sizes:
        weights = 0.5 ** np.arange(len(sizes))
        return rng.choice(np.array(sizes, dtype=np.int32), n_jobs, p=weights / weights.sum())
    draw = rng.exponential(1.0, n_jobs) * mean_nodes
    return np.where(draw <= 1, mean_nodes, draw).astype(np.int32)
