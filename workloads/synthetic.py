"""Synthetic job streams."""

from __future__ import annotations

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, need_memory, shown
from workloads.job import Workload
from workloads.transform import MAX_TIME_S

MAX_MEAN_NODES = 10**7
"""Draws are exponential: a mean 200 times below what 32 bits hold is safe."""
MAX_RUN_S = 1e9
"""30 years."""
MAX_LOAD = 1e6
"""Beyond, all come at once."""
MAX_FACTOR = 1e6
"""Of requested times."""
_JOB_BYTES = 200
"""Peak for each job while a workload is made; measured."""


def laas_workload(
    n_jobs: int,
    mean_nodes: float,
    rng: np.random.Generator,
    *,
    run_time_range_s: tuple[float, float] = (20.0, 3000.0),
    load: float | None = None,
    machine_nodes: int | None = None,
    requested_factor: tuple[float, float] | None = None,
) -> Workload:
    """The generator of the LaaS paper, whose streams Jigsaw calls Synth-16, -22 and -28.

    Sizes are exponential with mean ``mean_nodes``; a draw of 1 or less is replaced by the
    mean, then the fraction is cut off. Run times are uniform in ``run_time_range_s``, cut to
    whole seconds. The sizes of one generator state scale with the mean, as in the
    original files.

    Parameters
    ----------
    n_jobs : int
    mean_nodes : float
        At least 1. Jigsaw: 16, 22 and 28 with 10,000 jobs.
    rng : numpy.random.Generator
        Draws sizes, run times, then arrivals, then requested times.
    run_time_range_s : (low, high)
        At least 1 second.
    load : float, optional
        Poisson arrivals such that the jobs ask for this fraction of ``machine_nodes`` over time:
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
    """
    low, high = run_time_range_s
    if n_jobs < 1 or not mean_nodes >= 1 or not 1 <= low <= high:
        raise NetcosimError(
            f"synthetic workload: n_jobs = {n_jobs}, mean_nodes = {mean_nodes}, run times "
            f"{low} to {high} s; all must be at least 1, and the run times in order"
        )
    if not (mean_nodes <= MAX_MEAN_NODES and high <= MAX_RUN_S):
        raise NetcosimError(
            f"synthetic workload: mean_nodes = {mean_nodes:g}, run times to {high:g} s; at most "
            f"{MAX_MEAN_NODES:,} nodes and {MAX_RUN_S:g} s are allowed"
        )
    need_memory(f"synthetic workload: n_jobs = {shown(n_jobs)}", n_jobs * _JOB_BYTES)
    if (load is None) != (machine_nodes is None):
        raise NetcosimError("synthetic workload: load and machine_nodes must be given together")
    draw = rng.exponential(1.0, n_jobs) * mean_nodes
    nodes = np.where(draw <= 1, mean_nodes, draw).astype(np.int32)
    run_s = np.floor(rng.uniform(low, high, n_jobs))
    submit_s = np.zeros(n_jobs)
    if load is not None and machine_nodes is not None:
        if not 0 < load <= MAX_LOAD or not 1 <= machine_nodes <= MAX_INDEX:
            raise NetcosimError(
                f"synthetic workload: load = {load}, machine_nodes = {shown(machine_nodes)}; load "
                f"must be above 0 and at most {MAX_LOAD:g}, the machine have at least 1 node"
            )
        gap_s = float(np.mean(nodes * run_s)) / (load * machine_nodes)
        submit_s = np.cumsum(rng.exponential(gap_s, n_jobs))
        if not submit_s[-1] < MAX_TIME_S:
            raise NetcosimError(
                f"synthetic workload: load = {load:g} spreads the jobs over {submit_s[-1]:g} s"
            )
    requested_s = run_s.copy()
    if requested_factor is not None:
        least, most = requested_factor
        if not 1 <= least <= most <= MAX_FACTOR:
            raise NetcosimError(
                f"synthetic workload: requested_factor = {requested_factor}; "
                f"1 <= low <= high <= {MAX_FACTOR:g}"
            )
        requested_s = run_s * rng.uniform(least, most, n_jobs)
    unknown = np.full(n_jobs, -1, dtype=np.int32)
    return Workload(
        name=f"synth-{mean_nodes:g}",
        job_id=np.arange(1, n_jobs + 1, dtype=np.int64),
        submit_s=submit_s,
        run_time_s=run_s,
        n_nodes=nodes,
        requested_s=requested_s,
        user=unknown,
        project=unknown.copy(),
        wait_s=np.full(n_jobs, np.nan),
    )
