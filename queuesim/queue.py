"""The queue simulator: SimPy runs arrivals, running jobs and scheduling passes.

In each instant all arrivals and finishes happen first, then one scheduling pass. A
running job has work left that shrinks at its rate, and a timeout for its end; when its rate
changes it takes stock of what it has done and plans its end anew (`queuesim.run`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from netsim.errors import NetcosimError, unknown_name
from queuesim.backfilling.backfill import Backfill, Start, check_window
from queuesim.backfilling.easy_sets import node_set_method
from queuesim.decide import Decided, Decider, known_at_submit
from queuesim.estimates import EstimateModel
from queuesim.machine import Machine
from queuesim.ordering.orders import Order
from queuesim.registry import find_backfill, find_order
from queuesim.result import QueueResult
from queuesim.run import Labels, Run
from queuesim.runtime import AsLogged, RunTimeModel
from queuesim.site.dependencies import Dependencies
from queuesim.site.node_sets import NodeSetMachine
from queuesim.site.ruled_run import RuledRun
from queuesim.site.rules import Rules
from queuesim.waiting import WaitingQueue
from workloads.job import Workload
from workloads.transform import drop

NO_RULES = Rules()

OVERRUNS: dict[str, str] = {
    "keep": "a job past its walltime runs on until its work is done",
    "cut": "a job ends at its walltime, done or not, as real schedulers have it",
}
"""What happens to a job that still has work at its requested walltime."""


def simulate_queue(
    workload: Workload,
    policy: Policy,
    *,
    order: str | Order = "fcfs",
    backfill: str | Decider = "easy",
    window: int | None = None,
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
        Walltimes (``requested_s``) steer reservations, and with ``overrun = "cut"`` they
        end jobs.
    policy : Policy
        Empty; it is used up.
    order : str or Order
        A name in `queuesim.registry.ORDERS`, or an order of your own.
    backfill : str or Decider
        A name in `queuesim.registry.BACKFILLS`, or whoever decides instead.
    window : int or None
        How many jobs behind the head a pass looks at; None, the textbooks' rule, for all.
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
        Run times told to the policy (`Request.end_s`); None for the requested ones.
    rules : Rules
        Partitions, dependencies, outages.
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
    run = prepared_run(
        workload,
        policy,
        order=order,
        backfill=backfill,
        window=window,
        overrun=overrun,
        run_time_model=run_time_model,
        rng=rng,
        bandwidth_Bps=bandwidth_Bps,
        estimates=estimates,
        rules=rules,
        keep_placements=keep_placements,
        progress=progress,
    )
    run.run()
    return run.result()


def prepared_run(
    workload: Workload,
    policy: Policy,
    *,
    order: str | Order = "fcfs",
    backfill: str | Decider = "easy",
    window: int | None = None,
    overrun: str = "keep",
    run_time_model: RunTimeModel | None = None,
    rng: np.random.Generator,
    bandwidth_Bps: NDArray[np.float64] | None = None,
    estimates: EstimateModel | None = None,
    rules: Rules = NO_RULES,
    keep_placements: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """A queue before its first arrival: `simulate_queue` for those who go from pass to pass.

    Takes and refuses what `simulate_queue` does.

    Returns
    -------
    Run
        Its `queuesim.run.Run.passes` are the instants at which jobs may start.
    """
    check_window(window)
    if overrun not in OVERRUNS:
        raise unknown_name("overrun", overrun, OVERRUNS)
    _check_fits(workload, policy, rules)
    chosen = find_order(order) if isinstance(order, str) else order
    model = AsLogged() if run_time_model is None else run_time_model
    if bandwidth_Bps is not None and len(bandwidth_Bps) != len(workload):
        raise NetcosimError(
            f"bandwidth_Bps has {len(bandwidth_Bps)} values for {len(workload)} jobs"
        )
    told = None if estimates is None else estimates.prepare(workload)
    if isinstance(backfill, Decider) and rules.keeps_to_sets:
        raise NetcosimError(
            f"decider {backfill.name!r} knows no partitions, reservations and failures of nodes"
        )
    method, named = _method(backfill, workload, policy, rng)
    access = rules.access(workload, policy) if rules.keeps_to_sets else None
    machine = Machine(workload, policy, bandwidth_Bps, told)
    if access is not None:
        method = node_set_method(named)
        chosen = rules.ordered(chosen, access)
        machine = NodeSetMachine(workload, policy, bandwidth_Bps, told, access)
    run = (Run if rules.plain else RuledRun)(
        workload,
        machine,
        chosen,
        method,
        Labels(chosen.name, named, window, overrun, model.label),
        rules.grace_s if overrun == "cut" else None,
        model.prepare(workload, policy, rng),
        keep_placements,
        progress,
    )
    if isinstance(run, RuledRun):
        waits = Dependencies(workload) if rules.keeps_dependencies else None
        run.under(waits, access, rules.requeues)
    return run


def _method(
    backfill: str | Decider, workload: Workload, policy: Policy, rng: np.random.Generator
) -> tuple[Callable[[Machine, WaitingQueue, int | None, Start], Backfill], str]:
    """Who runs the passes, and the name of that."""
    if isinstance(backfill, str):
        return find_backfill(backfill), backfill
    # draws of its own, so that what it draws moves no job's
    backfill.begin(known_at_submit(workload), policy.topology, rng.spawn(1)[0])
    return partial(Decided, decider=backfill), backfill.name


def fitting(workload: Workload, policy: Policy, rules: Rules = NO_RULES) -> Workload:
    """The workload without the jobs that the policy can never place, which it counts.

    Returns
    -------
    Workload
        ``dropped`` has an entry for them; the same object if nothing was dropped.
    """
    sizes, inverse = np.unique(workload.n_nodes, return_inverse=True)
    fits = np.array([policy.fits_empty(int(size)) for size in sizes], dtype=bool)
    keep = fits[inverse] if len(sizes) else np.ones(0, dtype=bool)
    if not keep.all():
        workload = drop(workload, ~keep, f"never fits under {policy.name}")
    while unfit := rules.unfit(workload, policy):
        reason = next(iter(unfit))
        workload = drop(workload, unfit[reason], reason)
    return workload


def _check_fits(workload: Workload, policy: Policy, rules: Rules) -> None:
    bad = [int(n) for n in np.unique(workload.n_nodes) if not policy.fits_empty(int(n))]
    if bad:
        jobs = np.flatnonzero(np.isin(workload.n_nodes, bad))
        raise NetcosimError(
            f"{workload.name}: {len(jobs)} jobs can never be placed by {policy.name!r} on "
            f"{policy.topology.name} ({policy.topology.n_nodes} nodes), the first is job "
            f"{workload.job_id[jobs[0]]} with {workload.n_nodes[jobs[0]]} nodes; "
            'larger_jobs = "drop" leaves them out'
        )
    for reason, unfit in rules.unfit(workload, policy).items():
        first = int(np.flatnonzero(unfit)[0])
        raise NetcosimError(
            f"{workload.name}: {int(unfit.sum())} jobs can never run ({reason}), the first is job "
            f"{workload.job_id[first]} with {workload.n_nodes[first]} nodes for "
            f'{workload.requested_s[first]:g} s; larger_jobs = "drop" leaves them out'
        )
    if len(workload) and np.any(np.diff(workload.submit_s) < 0):
        raise NetcosimError(f"{workload.name}: jobs must be sorted by submit time")
    if len(workload) and not np.all(workload.requested_s > 0):
        raise NetcosimError(f"{workload.name}: requested times must be > 0")
