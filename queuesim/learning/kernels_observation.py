"""Observation kernel: some dozens of numbers of the queue at each decision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from netsim.kernels_options import PLAIN_KERNEL

DAY_S = 86400.0
WAITED, FITS = 2, 5
"""Columns of `queuesim.learning.episode.JOB_COLUMNS` that change while a job waits."""


class JobArrays(NamedTuple):
    """What is known of all jobs beforehand."""

    rows: np.ndarray
    """(n, columns) float32. Rows of the observation, but for what changes while a job waits."""
    submit_s: np.ndarray
    size: np.ndarray


class ObservationTables(NamedTuple):
    """An observation (`queuesim.learning.episode`)."""

    jobs: np.ndarray
    domains: np.ndarray
    machine: np.ndarray


class Moment(NamedTuple):
    """Numbers of a decision."""

    now_s: float
    next_end_s: float
    """Time to the next end of a job."""
    n_free: int
    share_waiting: float


@njit(**PLAIN_KERNEL)
def observe(all_jobs, waiting, busy, nodes, moment, longest_s, tables):  # type: ignore[no-untyped-def]
    """Fill the tables, which are zeros."""
    jobs, domains, machine = tables
    longest = np.log1p(longest_s)
    for k in range(len(waiting)):
        job = waiting[k]
        for c in range(all_jobs.rows.shape[1]):
            jobs[k, c] = all_jobs.rows[job, c]
        waited_s = min(moment.now_s - all_jobs.submit_s[job], longest_s)
        jobs[k, WAITED] = np.log1p(waited_s) / longest
        jobs[k, FITS] = 1.0 if all_jobs.size[job] <= moment.n_free else 0.0
    n_nodes = 0
    for d in range(len(busy)):
        domains[d, 0] = 1.0 - busy[d] / nodes[d]
        n_nodes += nodes[d]
    machine[0] = moment.n_free / n_nodes
    machine[1] = moment.share_waiting
    machine[2] = np.log1p(min(moment.next_end_s, longest_s)) / longest
    machine[3] = moment.now_s % DAY_S / DAY_S


@njit(**PLAIN_KERNEL)
def count(busy, domain, nodes, more):  # type: ignore[no-untyped-def]
    """Count a job's nodes in (``more`` 1) or out (-1) of the busy ones of each domain."""
    for k in range(len(nodes)):
        busy[domain[nodes[k]]] += more
