"""Logs drawn again from a log: blocks of its time in another order, some twice, some not at all.

What a queue does to one log is one sample: with other weeks of the same kind the makespan would
have been another. A block bootstrap (Kunsch 1989) keeps what happens within a block together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from workloads.job import Workload
from workloads.transform import select

DAY_S = 86400.0
WEEK_S = 7 * DAY_S
LEAST_BLOCKS = 10
"""A log of fewer weeks is cut into so many parts of one length instead."""


def block_length_s(workload: Workload) -> float:
    """Return the length of a block of submissions; 0 if all jobs are submitted at once, with only
    an order."""
    span_s = float(workload.submit_s[-1] - workload.submit_s[0])
    return WEEK_S if span_s >= LEAST_BLOCKS * WEEK_S else span_s / LEAST_BLOCKS


def n_blocks(workload: Workload) -> int:
    """Return the number of blocks of a log of at least one job."""
    length_s = block_length_s(workload)
    if length_s == 0:
        return min(LEAST_BLOCKS, len(workload))
    # the last block may be short: the last job begins none of its own
    return max(1, int(np.ceil((workload.submit_s[-1] - workload.submit_s[0]) / length_s)))


def rotated(workload: Workload, rng: np.random.Generator) -> Workload:
    """Return a log that begins at a random time of itself; what was before follows at its end.

    Its blocks then begin anywhere (circular blocks, Politis and Romano 1992), which makes the
    scatter of drawn logs less dependent on where ten blocks happen to be cut. A log that is cut
    into weeks is rotated by whole days, so all jobs keep their time of day. It has a job, and is
    sorted by submit time.
    """
    n = len(workload)
    from_first_s = workload.submit_s - workload.submit_s[0]
    # the mean time between two jobs is also between the last and the first
    round_s = float(from_first_s[-1]) * n / max(1, n - 1)
    begin_s = rng.random() * round_s
    if block_length_s(workload) == WEEK_S:
        begin_s, round_s = begin_s // DAY_S * DAY_S, np.ceil(round_s / DAY_S) * DAY_S
    first = int(np.searchsorted(from_first_s, begin_s))
    jobs = np.roll(np.arange(n), -first)
    jobs_drawn = select(workload, jobs)
    later_s = np.where(jobs < first, round_s, 0.0) - begin_s
    return replace(jobs_drawn, submit_s=jobs_drawn.submit_s + later_s)


def drawn_log(workload: Workload, rng: np.random.Generator) -> Workload:
    """Return a log of blocks of another one, sorted by submit time, drawn with replacement.

    Jobs keep their sizes, run times and times within the block, and get new ids; dependencies are
    dropped. Where all are submitted at once, the blocks are parts of their order.
    """
    n = len(workload)
    if n == 0:
        raise NetcosimError(f"{workload.name}: no jobs to draw from")
    length_s, blocks = block_length_s(workload), n_blocks(workload)
    if length_s > 0:
        from_first_s = workload.submit_s - workload.submit_s[0]
        block = np.minimum((from_first_s / length_s).astype(np.int64), blocks - 1)
    else:
        block = np.arange(n) * blocks // n
    ends = np.searchsorted(block, np.arange(blocks + 1))
    taken: list[NDArray[np.int64]] = []
    later_s: list[NDArray[np.float64]] = []
    for place, b in enumerate(rng.integers(0, blocks, blocks).tolist()):
        jobs = np.arange(ends[b], ends[b + 1])
        taken.append(jobs)
        later_s.append(np.full(len(jobs), (place - b) * length_s))
    jobs = np.concatenate(taken)
    if not len(jobs):
        return drawn_log(workload, rng)
    jobs_drawn = select(workload, jobs)
    return replace(
        jobs_drawn,
        job_id=np.arange(1, len(jobs) + 1, dtype=np.int64),
        # rounding must not put the last job of a block behind the first of the next
        submit_s=np.maximum.accumulate(jobs_drawn.submit_s + np.concatenate(later_s)),
        details=replace(jobs_drawn.details, dependency=None),
    )
