"""Jobs that a policy packs on a machine until nothing more finds a place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from alloc.policy import Policy, Request
from workloads.job import Workload, bare_jobs

PATIENCE = 10
"""Draws in a row that find no place, after which a machine is full."""
LONG_S, SHORT_S = 1e6, 600.0
"""Run times: of the packed jobs, and at most of those before them."""


def packed_jobs(
    policy: Policy,
    draw_size: Callable[[np.random.Generator], int],
    rng: np.random.Generator,
    *,
    generations: int = 0,
) -> Workload:
    """Jobs that fill a machine together, and others that were there before.

    Jobs of drawn sizes are packed by the policy until `PATIENCE` draws in a row find no place. All
    are submitted at 0, those before them first: these end one by one, at random, and the packed
    ones take, first come first served, the nodes that become free. So under a queue without
    backfilling free nodes lie scattered when a packed job comes, as on a machine in use; at half
    of the work all packed jobs run, and no other job.

    Parameters
    ----------
    policy : Policy
        Of an empty machine.
    draw_size : callable (rng) -> int
        Nodes of the next job.
    rng : numpy.random.Generator
    generations : int
        As many machines full of jobs were there before.

    Returns
    -------
    Workload
        Packed jobs are numbered 1, 2, ..., those before them from there on.
    """
    sizes: list[int] = []
    missed = 0
    while missed < PATIENCE:
        n_nodes = draw_size(rng)
        missed += 1
        if policy.allocate(Request(len(sizes), n_nodes)) is not None:
            missed = 0
            sizes.append(n_nodes)
    before: list[int] = []
    while sum(before) < generations * policy.topology.n_nodes:
        before.append(draw_size(rng))
    run_s = np.concatenate([rng.uniform(1, SHORT_S, len(before)), np.full(len(sizes), LONG_S)])
    ids = np.concatenate([len(sizes) + np.arange(len(before)), np.arange(len(sizes))]) + 1
    return bare_jobs(
        "packing",
        submit_s=np.zeros(len(run_s)),
        run_time_s=run_s,
        n_nodes=np.array([*before, *sizes]),
        requested_s=run_s,
        job_id=ids,
    )
