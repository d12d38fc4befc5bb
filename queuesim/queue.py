"""The queue simulator: a run event by event (`queuesim.run`), or compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from alloc.policy import Policy
from queuesim.ordering.orders import Order
from queuesim.queue_setup import NO_RULES, QueueOptions, QueueSetup
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel
from queuesim.site.rules import Rules
from workloads.job import Workload
from workloads.transform import drop

if TYPE_CHECKING:
    from queuesim.decide import Decider


def simulate_queue(
    workload: Workload,
    policy: Policy,
    *,
    rng: np.random.Generator,
    order: str | Order = "fcfs",
    backfill: str | Decider = "easy",
    run_time_model: RunTimeModel | None = None,
    rules: Rules = NO_RULES,
    **options: Unpack[QueueOptions],
) -> QueueResult:
    """Run a workload through a queue on a machine.

    Parameters
    ----------
    workload : Workload
        Walltimes (``requested_s``) steer reservations, and with ``overrun = "cut"`` they end jobs.
    policy : Policy
        Empty; it is used up.
    rng : numpy.random.Generator
        For the draws of the run-time model and of a decider; the policy has its own.
    order, backfill
        A name in `queuesim.registry.ORDERS` and in `BACKFILLS`, or an order of your own and a
        decider.
    run_time_model : RunTimeModel or None
        None: as logged.
    rules : Rules
        Partitions, dependencies, outages, preemption, quotas, failures, checkpoints.
    **options
        ``window``, ``reservations``, ``overrun``, ``bandwidth_Bps``, ``estimates``,
        ``keep_placements``, ``progress``: see `queuesim.queue_setup.QueueOptions`.

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
    setup = QueueSetup(
        workload,
        policy,
        rng=rng,
        order=order,
        backfill=backfill,
        run_time_model=run_time_model,
        rules=rules,
        **options,
    )
    return run_queue(setup)


def run_queue(setup: QueueSetup) -> QueueResult:
    """Run a queue, compiled where it can be."""
    if setup.is_compiled():
        from queuesim.compiled.by_count import run_by_count  # imports Numba

        result = run_by_count(setup)
        if result is not None:
            return result
    run = setup.by_events()
    run.run()
    return run.result()


def fitting(workload: Workload, policy: Policy, rules: Rules = NO_RULES) -> Workload:
    """Return the workload without the jobs that the policy can never place.

    ``dropped`` counts them; the same object if there are none.
    """
    if too_large := [n for n in workload.sizes if not policy.fits_empty(n)]:
        larger = np.isin(workload.n_nodes, too_large)
        workload = drop(workload, larger, f"never fits under {policy.name}")
    while unfit := rules.unfit(workload, policy):
        reason = next(iter(unfit))
        workload = drop(workload, unfit[reason], reason)
    return workload
