# mypy: allow-untyped-calls
"""Contention of one job on its links while all others are fixed: compiled.

Its iterations meet the neighbours in several sets of phases. In each set a neighbour communicates
for a part of the time for which the job does. docs/flow-model.md, "Jobs", has the rules.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.flow.kernels_message_times import SETS, mixed, unit
from netsim.kernels_options import FINITE_KERNEL, HOT_KERNEL, INNER_KERNEL
from netsim.packet.kernels_memory import prefetch

SPARE = 0.2
"""Least spare part of a link in the waits: jobs that wait send less, unlike in an open queue."""
MOST_FAIR = 2.0
"""A neighbour takes at most so much more of a link than the job, however many links feed it."""
USE, SLOW, INPUTS, PACKET, BUSY, COLUMNS = 0, 1, 2, 3, 4, 5
TINY = 1e-12
AHEAD = 6
"""Links before one whose row is fetched: rows of large machines are in no cache."""


class LinkRows(NamedTuple):
    """A link's jobs in its row.

    ``job``: who it is, and ``place``: the link's index in the job's list; ``column``, by what it
    is and then by job: use of the link while the job communicates, how much slower the link is for
    it, inputs, packet_s and busy_s; ``used``: share of time for which all jobs keep the link busy;
    ``inputs``: their sum.
    """

    n_jobs: NDArray[np.int32]
    job: NDArray[np.uint32]
    place: NDArray[np.uint32]
    column: NDArray[np.float64]
    used: NDArray[np.float64]
    inputs: NDArray[np.float64]


class Contention(NamedTuple):
    """Contention on the links of one job.

    ``slow``, ``wait_s``, ``met``: by link and set, how much slower it is, the mean wait of a
    packet, and the part of the time for which others hold it. By neighbour: ``present``, in each
    set, the part of the time for which it communicates; ``span_s``, how long its communication
    takes without the job; ``rest``, the part of its delay that is not the job's; ``train``, as in
    `Jobs`; ``shared``, see `neighbours`; ``who``, its slot. ``number``: of each slot among the
    neighbours, -1 between two jobs; ``turn``: scratch space of the sets.
    """

    slow: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    met: NDArray[np.float64]
    present: NDArray[np.float64]
    span_s: NDArray[np.float64]
    rest: NDArray[np.float64]
    train: NDArray[np.float64]
    shared: NDArray[np.float64]
    turn: NDArray[np.float64]
    who: NDArray[np.uint32]
    number: NDArray[np.int32]


class Own(NamedTuple):
    """A job's list of links: in its record."""

    link: NDArray[np.uint32]
    place: NDArray[np.uint32]
    busy_s: NDArray[np.float64]
    inputs: NDArray[np.float64]
    packet_s: NDArray[np.float64]
    use: NDArray[np.float64]
    followed: NDArray[np.uint32]
    """1 where a message that is followed goes over the link, else 0."""


@njit(**HOT_KERNEL)
def fetch(rows, links, i, what):  # type: ignore[no-untyped-def]
    """Fetch the jobs of a link that comes soon after the i-th, and one column of them."""
    link = links[min(i + AHEAD, len(links) - 1)]
    job, column = rows.job[link], rows.column[link, what]
    for at in range(0, rows.n_jobs[link], 8):
        prefetch(job, at)
        prefetch(column, at)


@njit(**HOT_KERNEL)
def job_period_s(jobs, job):  # type: ignore[no-untyped-def]
    """Return the present time of an iteration, computing included."""
    return jobs.compute_s[job] + jobs.alone_s[job] * jobs.stretch[job]


@njit(**HOT_KERNEL)
def add_up(jobs, rows, link):  # type: ignore[no-untyped-def]
    """Work out the use of a link, and what feeds it."""
    used = inputs = 0.0
    for at in range(rows.n_jobs[link]):
        used += rows.column[link, BUSY, at] / job_period_s(jobs, rows.job[link, at])
        inputs += rows.column[link, INPUTS, at]
    rows.used[link], rows.inputs[link] = used, inputs


@njit(**HOT_KERNEL)
def neighbours(jobs, rows, c, own, job):  # type: ignore[no-untyped-def]
    """List the jobs that share links with a job; return how many, and what the job meets.

    ``shared``: the time of each neighbour's iteration that the job's use of its links concerns.
    """
    n, meets = 0, 0.0
    period_s = job_period_s(jobs, job)
    for i in range(len(own.link)):
        fetch(rows, own.link, i, BUSY)
        link = own.link[i]
        n_jobs = rows.n_jobs[link]
        if n_jobs < 2:
            continue
        mine = own.busy_s[i] / period_s
        meets += own.busy_s[i] * max(0.0, rows.used[link] - mine)
        for at in range(n_jobs):
            other = np.int64(rows.job[link, at])
            if other == job:
                continue
            if c.number[other] < 0:
                c.number[other], c.who[n], c.shared[n] = n, other, 0.0
                n += 1
            c.shared[c.number[other]] += rows.column[link, BUSY, at] * mine
    return n, meets


@njit(**HOT_KERNEL)
def communicated(t, period, span):  # type: ignore[no-untyped-def]
    """Return for how long of 0 .. t a job communicates that begins at 0, and in each period."""
    turns = np.floor(t / period)
    return turns * span + min(t - turns * period, span)


@njit(**FINITE_KERNEL)
def presence(jobs, c, n, job):  # type: ignore[no-untyped-def]
    """Compute for which part of the job's communication each neighbour communicates, in each set.

    A neighbour is seen as it is without this job: what the job adds to its stretch is left out.
    Its phases in the sets are even over its period, in a random order from a random begin.
    """
    own_s = jobs.span_s[job] * jobs.stretch[job]
    for k in range(n):
        other = np.int64(c.who[k])
        rest = max(0.0, 1.0 - c.shared[k] / max(TINY, jobs.meets[other]))
        stretch = 1.0 + (jobs.stretch[other] - 1.0) * rest
        period_s = jobs.compute_s[other] + jobs.alone_s[other] * stretch
        span_s = min(period_s, jobs.span_s[other] * stretch)
        c.span_s[k], c.rest[k], c.train[k] = span_s, rest, jobs.train[other]
        seed = mixed(jobs.key[job], jobs.key[other])
        for q in range(SETS):
            c.turn[q] = q
        for q in range(SETS - 1, 0, -1):
            at = np.int64(mixed(seed, q) % np.uint64(q + 1))
            c.turn[q], c.turn[at] = c.turn[at], c.turn[q]
        shift = unit(mixed(seed, SETS))
        for q in range(SETS):
            begin = (c.turn[q] + shift) / SETS * period_s
            overlap = communicated(begin + own_s, period_s, span_s)
            c.present[k, q] = (overlap - communicated(begin, period_s, span_s)) / own_s


@njit(**HOT_KERNEL)
def occupied(column, at, span_s, rest):  # type: ignore[no-untyped-def]
    """Return for which part of its communication a job has something on a link."""
    return min(1.0, column[BUSY, at] * (1.0 + (column[SLOW, at] - 1.0) * rest) / span_s)


@njit(**FINITE_KERNEL)
def contention(jobs, rows, c, own, job, most_slow):  # type: ignore[no-untyped-def]
    """Compute the contention on the job's links: by how much they are slower, and the waits.

    A neighbour that holds the link takes its share by inputs. A packet waits for half a packet of
    it, and for its train as far as others and the job itself keep that in the queue. Waits are
    computed for the links of messages that are followed: those of others are not looked at.
    """
    n, meets = neighbours(jobs, rows, c, own, job)
    jobs.meets[job] = meets
    presence(jobs, c, n, job)
    for i in range(len(own.link)):
        fetch(rows, own.link, i, BUSY)
        fetch(rows, own.link, i, SLOW)
        fetch(rows, own.link, i, INPUTS)
        link = own.link[i]
        slow, wait_s, met = c.slow[i], c.wait_s[i], c.met[i]
        for q in range(SETS):
            slow[q], wait_s[q], met[q] = 1.0, 0.0, 0.0
        n_jobs = np.int64(rows.n_jobs[link])
        if n_jobs < 2:
            continue
        most_s, column, place = 0.0, rows.column[link], np.int64(own.place[i])
        for at in range(n_jobs):
            if at != place:
                k = np.int64(c.number[rows.job[link, at]])
                use = occupied(column, at, c.span_s[k], c.rest[k])
                share = use * min(MOST_FAIR, column[INPUTS, at] / own.inputs[i])
                present = c.present[k]
                most_s += column[INPUTS, at] * column[PACKET, at] * c.train[k]
                for q in range(SETS):
                    slow[q] += present[q] * share
                    met[q] += present[q] * use
        for q in range(SETS):
            slow[q] = min(slow[q], most_slow)
        if not own.followed[i]:
            continue
        for at in range(n_jobs):
            if at != place:
                k = np.int64(c.number[rows.job[link, at]])
                use = occupied(column, at, c.span_s[k], c.rest[k])
                wait, more = 0.5 * column[PACKET, at] * use, c.train[k] - 1.0
                present, mine = c.present[k], own.use[i]
                for q in range(SETS):
                    rest = met[q] - present[q] * use
                    queued = 1.0 + more * min(1.0, rest + mine)
                    wait_s[q] += present[q] * wait * queued / max(SPARE, 1.0 - rest)
        for q in range(SETS):
            wait_s[q] = min(wait_s[q], most_s) if own.packet_s[i] > 0.0 else 0.0
    for neighbour in range(n):
        c.number[c.who[neighbour]] = -1


@njit(**INNER_KERNEL)
def capacity_s(jobs, rows, own, job):  # type: ignore[no-untyped-def]
    """Return the least period that the job's links allow beside the others' use of them."""
    least = 0.0
    period_s = job_period_s(jobs, job)
    for i in range(len(own.link)):
        link = own.link[i]
        others = rows.used[link] - own.busy_s[i] / period_s
        least = max(least, own.busy_s[i] / max(1.0 - others, own.inputs[i] / rows.inputs[link]))
    return least


@njit(**HOT_KERNEL)
def update_rows(jobs, rows, c, own, job, stretch):  # type: ignore[no-untyped-def]
    """Note a job's new stretch, and what it uses of its links at that."""
    old_s = job_period_s(jobs, job)
    jobs.stretch[job] = stretch
    new_s, span_s = job_period_s(jobs, job), jobs.span_s[job] * stretch
    for i in range(len(own.link)):
        link = own.link[i]
        rows.used[link] += own.busy_s[i] / new_s - own.busy_s[i] / old_s
        column, at = rows.column[link], own.place[i]
        column[USE, at] = own.use[i] = min(1.0, own.busy_s[i] / span_s)
        slow = 0.0
        for q in range(SETS):
            slow += c.slow[i, q]
        column[SLOW, at] = slow / SETS
