"""Jobs whose messages share links, compiled: jobs are recomputed until none changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.flow.kernels_message_times import (
    BUFFER,
    COUNTS,
    FELT,
    HEAD,
    MOST_SLOW,
    SCALE,
    TRAIN,
    message_times,
    parts_of,
    period_of,
    write_record,
)
from netsim.flow.kernels_shares import (
    BUSY,
    INPUTS,
    PACKET,
    SLOW,
    USE,
    Own,
    add_up,
    capacity_s,
    contention,
    fetch,
    job_period_s,
    update_rows,
)
from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL

CALM = 10.0
DAMPING = 0.7
FELT_PART, LEAST_FELT = 1 / 3, 0.1
"""Parts of the largest possible effect of a change of a link's use on a job: at its start (nine in
ten feel less), and the least that is expected of any job."""
FELT_BEFORE, FELT_NOW = 0.5, 1.2
"""A job expects these multiples of what it expected before and of what it has felt now: 2.4 times
what it feels, if that stays."""
REST = 0.25
"""Of the first step of a job: how much its own step can move it further."""
ROUNDS, NEAR = 16, 0.002
"""Of the search for the computing time that gives a job its fraction; its accuracy, in periods."""


class Jobs(NamedTuple):
    """Jobs in slots; their records begin at ``int_begin`` and ``float_begin`` of the pools.

    ``pause``: computing between two iterations over an iteration's isolated communication
    ``alone_s``; ``compute_s``: that computing; ``span_s``: how long an iteration's messages take in
    isolation; ``train``: packets of a message in one buffer; ``meets``: see `neighbours`; ``felt``:
    see `disturb`; ``key``: of its random phases.
    """

    n_links: NDArray[np.int64]
    int_begin: NDArray[np.int64]
    float_begin: NDArray[np.int64]
    alone_s: NDArray[np.float64]
    compute_s: NDArray[np.float64]
    span_s: NDArray[np.float64]
    train: NDArray[np.float64]
    meets: NDArray[np.float64]
    felt: NDArray[np.float64]
    key: NDArray[np.int64]
    pause: NDArray[np.float64]
    stretch: NDArray[np.float64]
    reported: NDArray[np.float64]
    ints: NDArray[np.uint32]
    floats: NDArray[np.float64]


class Work(NamedTuple):
    """FIFO queue of jobs to be recomputed, and the changes that affected them since."""

    queue: NDArray[np.uint32]
    queued: NDArray[np.bool_]
    touched: NDArray[np.bool_]
    tries: NDArray[np.int32]
    unrest: NDArray[np.float64]
    effect: NDArray[np.float64]
    felt: NDArray[np.uint32]


@njit(**HOT_KERNEL)
def own_links(jobs, job):  # type: ignore[no-untyped-def]
    """Return a job's list of links, in its record."""
    n = jobs.n_links[job]
    ints = jobs.ints[jobs.int_begin[job] + COUNTS :]
    floats = jobs.floats[jobs.float_begin[job] + HEAD :]
    return Own(
        ints[:n],
        ints[n : 2 * n],
        floats[:n],
        floats[n : 2 * n],
        floats[2 * n : 3 * n],
        floats[3 * n : 4 * n],
        ints[2 * n : 3 * n],
    )


@njit(**INNER_KERNEL)
def job_period(jobs, job, run, c, pause_s, contended):  # type: ignore[no-untyped-def]
    """Return the mean period of a job that computes for ``pause_s``, and its first iteration."""
    n = jobs.n_links[job]
    ints, floats = jobs.ints[jobs.int_begin[job] :], jobs.floats[jobs.float_begin[job] :]
    parts = parts_of(ints, floats, n)
    scale, key = floats[SCALE], jobs.key[job]
    packet_s = own_links(jobs, job).packet_s
    message_times(parts, floats[BUFFER], floats[FELT], packet_s, c.slow, c.wait_s, run, c.turn)
    period_s, first_s = period_of(parts, run, pause_s / scale, key, c.met, c.wait_s, contended)
    return period_s * scale, first_s * scale


@njit(**INNER_KERNEL)
def isolate(jobs, job, run, c):  # type: ignore[no-untyped-def]
    """Work out a job's isolated iteration: it communicates for its fraction of the period.

    What communication takes falls as computing grows where streams go on without waiting, as in a
    broadcast; then the computing is found by bisection.
    """
    pause = jobs.pause[job]
    _, span_s = job_period(jobs, job, run, c, 0.0, False)
    compute_s, low_s, high_s = span_s * pause, 0.0, np.inf
    period_s = 0.0
    for _ in range(ROUNDS):
        period_s, _ = job_period(jobs, job, run, c, compute_s, False)
        wanted_s = (period_s - compute_s) * pause
        if abs(wanted_s - compute_s) <= NEAR * period_s:
            break
        if wanted_s > compute_s:
            low_s = compute_s
        else:
            high_s = compute_s
        compute_s = wanted_s if low_s < wanted_s < high_s else 0.5 * (low_s + high_s)
    jobs.compute_s[job], jobs.alone_s[job] = compute_s, period_s - compute_s
    jobs.span_s[job] = min(period_s, span_s)


@njit(**PLAIN_KERNEL)
def enter(jobs, rows, run, c, job, load, settled):  # type: ignore[no-untyped-def]
    """Write a job's record and enter it in the rows of its links, which have room.

    Unless it is settled, its isolated time is computed.
    """
    n = jobs.n_links[job] = len(load.links)
    write_record(load, jobs.ints[jobs.int_begin[job] :], jobs.floats[jobs.float_begin[job] :])
    if not settled:
        c.slow[:n], c.wait_s[:n], c.met[:n] = 1.0, 0.0, 0.0
        jobs.train[job] = load.floats[TRAIN]
        isolate(jobs, job, run, c)
        jobs.stretch[job] = jobs.reported[job] = 1.0
        jobs.meets[job] = 0.0
        jobs.felt[job] = FELT_PART
    own = own_links(jobs, job)
    for i in range(n):
        fetch(rows, own.link, i, BUSY)
        fetch(rows, own.link, i, INPUTS)
        link = own.link[i]
        at = own.place[i] = rows.n_jobs[link]
        own.use[i] = min(1.0, own.busy_s[i] / (jobs.span_s[job] * jobs.stretch[job]))
        rows.job[link, at], rows.place[link, at] = job, i
        column = rows.column[link]
        column[USE, at], column[SLOW, at], column[BUSY, at] = own.use[i], 1.0, own.busy_s[i]
        column[INPUTS, at], column[PACKET, at] = own.inputs[i], own.packet_s[i]
        rows.n_jobs[link] = at + 1
        add_up(jobs, rows, link)


@njit(**HOT_KERNEL)
def delete(jobs, rows, job):  # type: ignore[no-untyped-def]
    """Remove a job from the rows of its links."""
    own = own_links(jobs, job)
    for i in range(len(own.link)):
        fetch(rows, own.link, i, BUSY)
        fetch(rows, own.link, i, INPUTS)
        link, at = own.link[i], own.place[i]
        last = rows.n_jobs[link] - 1
        other, place = rows.job[link, last], rows.place[link, last]
        rows.job[link, at], rows.place[link, at] = other, place
        for k in range(rows.column.shape[1]):
            rows.column[link, k, at] = rows.column[link, k, last]
        jobs.ints[jobs.int_begin[other] + COUNTS + jobs.n_links[other] + place] = at
        rows.n_jobs[link] = last
        add_up(jobs, rows, link)
    jobs.n_links[job] = 0


@njit(**HOT_KERNEL)
def push(w, job, tail):  # type: ignore[no-untyped-def]
    """Put a job at the end of the queue unless it is there."""
    if w.queued[job]:
        return tail
    w.queued[job] = True
    w.queue[tail] = job
    return tail + 1 if tail + 1 < len(w.queue) else 0


@njit(**INNER_KERNEL)
def disturb(jobs, rows, w, job, links, busy_s, part, tolerance, tail):  # type: ignore[no-untyped-def]
    """Queue the neighbours that feel it when ``part`` of a job's ``busy_s`` on links comes or goes.

    A link of which another takes ``u`` more is slower by at most about ``u`` times the slowness
    squared, for the part of its communication for which the neighbour uses it, and feels it for the
    share of time in which the other communicates. The part of the largest such effect that the
    neighbour has felt so far adds up with those of other changes until it is recomputed.
    """
    more_s = part / job_period_s(jobs, job)
    w.effect[job] = 0.0  # not counted: each link would have to exclude it otherwise
    n = 0
    for i in range(len(links)):
        fetch(rows, links, i, USE)
        fetch(rows, links, i, SLOW)
        link = links[i]
        more = more_s * busy_s[i]
        column, others = rows.column[link], rows.job[link]
        for at in range(rows.n_jobs[link]):
            other = others[at]
            if w.effect[other] < 0.0:
                w.effect[other] = 0.0
                w.felt[n] = other
                n += 1
            slow = column[SLOW, at]
            w.effect[other] = max(w.effect[other], more * slow * slow * column[USE, at])
    w.effect[job] = -1.0
    for k in range(n):
        other = w.felt[k]
        w.unrest[other] += jobs.felt[other] * w.effect[other]
        w.effect[other] = -1.0
        if w.unrest[other] > tolerance:
            tail = push(w, other, tail)
    return tail


@njit(**PLAIN_KERNEL)
def leave(jobs, rows, w, leaving, felt, tolerance, tail):  # type: ignore[no-untyped-def]
    """Delete jobs; neighbours that feel it are queued if ``felt``. Returns the queue's tail."""
    for k in range(len(leaving)):
        job = leaving[k]
        if felt:
            own = own_links(jobs, job)
            tail = disturb(jobs, rows, w, job, own.link, own.busy_s, 1.0, tolerance, tail)
        delete(jobs, rows, job)
    return tail


@njit(**HOT_KERNEL)
def is_alone(rows, own):  # type: ignore[no-untyped-def]
    """Return whether no other job uses any of a job's links."""
    most = 0
    for i in range(len(own.link)):
        most = max(most, rows.n_jobs[own.link[i]])
    return most < 2


@njit(**PLAIN_KERNEL)
def solve(jobs, rows, w, run, c, coming, tail, tolerance, max_tries):  # type: ignore[no-untyped-def]
    """Work out the coming and the queued jobs and all that they move; marks whose stretch changed.

    ``coming`` has the jobs, and for each the links and the time for which it keeps them busier or
    less busy than before. A job is reported to its neighbours when it has changed by more than the
    tolerance since the last report. Returns how many jobs were given up at ``max_tries``.
    """
    new, ptr, links, busy_s = coming
    for k in range(len(new)):
        tail = push(w, new[k], tail)
    for k in range(len(new)):
        part = slice(ptr[k], ptr[k + 1])
        tail = disturb(jobs, rows, w, new[k], links[part], busy_s[part], 1.0, tolerance, tail)
    head = given_up = 0
    size = len(w.queue)
    while head != tail:
        job = np.int64(w.queue[head])
        head = head + 1 if head + 1 < size else 0
        w.queued[job] = False
        effect = w.unrest[job] / jobs.felt[job]
        w.unrest[job] = 0.0
        if jobs.n_links[job] == 0:
            continue  # has left
        if w.tries[job] >= max_tries:
            given_up += 1
            continue
        w.tries[job] += 1
        # smaller steps where it goes to and fro
        damping = 1.0 if w.tries[job] == 1 else DAMPING * min(1.0, CALM / w.tries[job])
        own, compute_s = own_links(jobs, job), jobs.compute_s[job]
        most_slow = jobs.floats[jobs.float_begin[job] + MOST_SLOW]
        # no other job to wait for: exactly 1, at once
        alone, old = is_alone(rows, own), jobs.stretch[job]
        contention(jobs, rows, c, own, job, most_slow)
        goal = 1.0
        if not alone:
            period_s, _ = job_period(jobs, job, run, c, compute_s, True)
            period_s = max(period_s, capacity_s(jobs, rows, own, job))
            # paths among others may happen to be shorter than those in isolation
            goal = max(1.0, (period_s - compute_s) / jobs.alone_s[job])
        if effect > 0.0 and w.tries[job] == 1:
            felt = FELT_BEFORE * jobs.felt[job] + FELT_NOW * abs(goal / old - 1.0) / effect
            jobs.felt[job] = min(1.0, max(LEAST_FELT, felt))
        near = alone or abs(goal - old) <= tolerance * old
        update_rows(jobs, rows, c, own, job, goal if near else old + damping * (goal - old))
        moved = abs(jobs.stretch[job] / jobs.reported[job] - 1.0)
        if moved > tolerance or (alone and moved > 0.0):
            jobs.reported[job] = jobs.stretch[job]
            w.touched[job] = True
            tail = disturb(jobs, rows, w, job, own.link, own.busy_s, moved, tolerance, tail)
        if not near and (w.tries[job] > 1 or REST * abs(goal - old) > tolerance * old):
            tail = push(w, job, tail)
    return given_up
