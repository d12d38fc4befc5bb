"""Observation kernel: some dozens of numbers of the queue at each decision."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import PLAIN_KERNEL

DAY_S = 86400.0
WAITED, FITS = 2, 5
"""Columns of `queuesim.learning.episode.JOB_COLUMNS` that change while a job waits."""


@njit(**PLAIN_KERNEL)
def observe(  # type: ignore[no-untyped-def]
    fixed,
    submit_s,
    size,
    waiting,
    busy,
    nodes,
    now_s,
    next_end_s,
    n_free,
    share_waiting,
    longest_s,
    jobs,
    domains,
    machine,
):
    """Fill the tables of `queuesim.learning.episode.View.of`, which are zeros."""
    longest = np.log1p(longest_s)
    for k in range(len(waiting)):
        job = waiting[k]
        for c in range(fixed.shape[1]):
            jobs[k, c] = fixed[job, c]
        jobs[k, WAITED] = np.log1p(min(now_s - submit_s[job], longest_s)) / longest
        jobs[k, FITS] = 1.0 if size[job] <= n_free else 0.0
    n_nodes = 0
    for d in range(len(busy)):
        domains[d, 0] = 1.0 - busy[d] / nodes[d]
        n_nodes += nodes[d]
    machine[0] = n_free / n_nodes
    machine[1] = share_waiting
    machine[2] = np.log1p(min(next_end_s, longest_s)) / longest
    machine[3] = now_s % DAY_S / DAY_S


@njit(**PLAIN_KERNEL)
def count(busy, domain, nodes, more):  # type: ignore[no-untyped-def]
    """Count a job's nodes in (``more`` 1) or out (-1) of the busy ones of each domain."""
    for k in range(len(nodes)):
        busy[domain[nodes[k]]] += more
