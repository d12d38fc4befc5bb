"""The queue simulator: SimPy runs arrivals, running jobs and scheduling passes.

In each instant all arrivals and finishes happen first, then one scheduling pass. A
running job has work left that shrinks at its rate, and a timeout for its end; when its rate
changes it takes stock of what it has done and plans its end anew (`queuesim.run`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from netsim.kinds import FUNCTION, NONE, RNG, need_kinds
from queuesim.estimates import EstimateModel
from queuesim.fixed_run import FixedRun
from queuesim.ordering.orders import Order
from queuesim.queue_setup import NO_RULES, QueueSetup
from queuesim.result import QueueResult
from queuesim.run import Run
from queuesim.runtime import FixedRunTimes, RunTimeModel
from queuesim.site.rules import Rules
from workloads.job import Workload
from workloads.transform import drop

if TYPE_CHECKING:
    from queuesim.decide import Decider


def simulate_queue(
    workload: Workload,
    policy: Policy,
    *,
    order: str | Order = "fcfs",
    backfill: str | Decider = "easy",
    window: int | None = None,
    reservations: int | None = None,
    overrun: str = "keep",
    run_time_model: RunTimeModel | None = None,
    rng: np.random.Generator,
    bandwidth_Bps: NDArray[np.float64] | None = None,
    estimates: EstimateModel | None = None,
    rules: Rules = NO_RULES,
    keep_placements: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> QueueResult:
    """Run a workload through a queue on a machine.

    Parameters
    ----------
    workload : Workload
        Walltimes (``requested_s``) steer reservations, and with ``overrun = "cut"`` they end jobs.
    policy : Policy
        Empty; it is used up.
    order : str or Order
        A name in `queuesim.registry.ORDERS`, or an order of your own.
    backfill : str or Decider
        A name in `queuesim.registry.BACKFILLS`, or a decider instead.
    window : int or None
        How many jobs behind the head a pass looks at; None, the textbooks' rule, for all.
    reservations : int or None
        How many of the first blocked jobs conservative backfilling reserves nodes for; None: all.
    overrun : str
        A key of `OVERRUNS`: what happens to a job past its walltime, under any run-time
        model. `QueueResult.overran` has the jobs either way.
    run_time_model : RunTimeModel or None
        None: as logged.
    rng : numpy.random.Generator
        For the draws of the run-time model and of a decider; the policy has its own.
    bandwidth_Bps : (n,) float64 or None
        Link bandwidth each job needs, for policies that share links.
    estimates : EstimateModel or None
        Run times passed to the policy (`Request.end_s`); None for the requested ones.
    rules : Rules
        Partitions, dependencies, outages, preemption, quotas, failures, checkpoints.
    keep_placements : bool
        Keep every job's nodes and links, for snapshots and charts.
    progress : callable or None
        ``progress(jobs_done, jobs)``, about a thousand times.

    Returns
    -------
    QueueResult

    Raises
    ------
    NetcosimError
        An unknown name, a job larger than the machine can ever place, jobs not sorted by
        submit time, a run time or rate that makes no sense.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> jobs = nc.laas_workload(100, 16, rng)
    >>> policy = nc.make_policy(nc.preset("dragonfly-272"), "level-spread", rng)
    >>> schedule = nc.simulate_queue(jobs, policy, backfill="easy", rng=rng)
    >>> summary = nc.summarise(schedule)
    >>> summary.n_jobs, round(summary.makespan_s), round(summary.utilisation, 3)
    (100, 11411, 0.853)
    """
    need_kinds(
        "simulate_queue",
        {
            "workload": (workload, Workload),
            "policy": (policy, Policy),
            "order": (order, (str, Order)),
            "run_time_model": (run_time_model, (RunTimeModel, NONE)),
            "rng": (rng, RNG),
            "estimates": (estimates, (EstimateModel, NONE)),
            "rules": (rules, Rules),
            "progress": (progress, (FUNCTION, NONE)),
        },
    )
    if not isinstance(backfill, str):
        from queuesim.decide import Decider

        need_kinds("simulate_queue", {"backfill": (backfill, (str, Decider))})
    setup = QueueSetup(
        workload,
        policy,
        order=order,
        backfill=backfill,
        window=window,
        reservations=reservations,
        overrun=overrun,
        run_time_model=run_time_model,
        rng=rng,
        bandwidth_Bps=bandwidth_Bps,
        estimates=estimates,
        rules=rules,
        keep_placements=keep_placements,
        progress=progress,
    )
    return run_queue(setup)


def run_queue(setup: QueueSetup) -> QueueResult:
    """Run a queue, compiled where it can be."""
    if setup.is_compiled():
        from queuesim.compiled.by_count import run_by_count  # imports Numba

        result = run_by_count(setup)
        if result is not None:
            return result
    fixed = type(setup.run_times) is FixedRunTimes and setup.policy.relents_after_s is None
    run = setup.by_events(FixedRun if fixed else Run)
    run.run()
    return run.result()


def fitting(workload: Workload, policy: Policy, rules: Rules = NO_RULES) -> Workload:
    """Return the workload without the jobs that the policy can never place, which it counts.

    Returns
    -------
    Workload
        ``dropped`` has an entry for them; the same object if nothing was dropped.
    """
    sizes = [n for n in np.unique(workload.n_nodes).tolist() if policy.fits_empty(n)]
    keep = np.isin(workload.n_nodes, sizes)
    if not keep.all():
        workload = drop(workload, ~keep, f"never fits under {policy.name}")
    while unfit := rules.unfit(workload, policy):
        reason = next(iter(unfit))
        workload = drop(workload, unfit[reason], reason)
    return workload
