"""Jobs whose messages share links, compiled: shares and waits on links, then a job's time.

A job's record lies in two pools, integers and floats, with offsets of its own, so that it can be
moved. Integers: counts of ranks, steps, messages, entries; then rank_ptr, step_ptr, message_ptr
and the entries' links (as places in the job's list of links). Floats: scale and the most that a
link can slow the job; then per message its floor and latency; per entry its time alone and
its weight in the message's wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL

SPARE = 0.2
"""Least spare part of a link in the waits: jobs that wait send less, unlike in an open queue."""
AVOID = 0.3
"""How far jobs come to use a link in turn: from 0, at random, to 1, whenever there is room."""
INNER, CALM = 3, 10.0
DAMPING = 0.7
COUNTS, HEAD = 4, 2
USE, INPUTS, PACKET = 0, 1, 2
USED, WORK, FEEDS, MOST, HUNGER = 0, 1, 2, 3, 4


class Jobs(NamedTuple):
    """Jobs in slots; a link's jobs in its row.

    ``row_at``: where in the link's row the job stands; ``row_place``: where in the job's list the
    link stands; ``row_values``: use, inputs and packet_s again, side by side. ``sums``: over the
    row, of use, use times packet_s, inputs, inputs times packet_s, and the largest use an input,
    which is that of the job in place ``hungriest``.
    """

    link_begin: NDArray[np.int64]
    link_end: NDArray[np.int64]
    int_begin: NDArray[np.int64]
    float_begin: NDArray[np.int64]
    link: NDArray[np.int32]
    busy_s: NDArray[np.float64]
    inputs: NDArray[np.float64]
    packet_s: NDArray[np.float64]
    row_at: NDArray[np.int32]
    slow: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    ints: NDArray[np.int32]
    floats: NDArray[np.float64]
    alone_s: NDArray[np.float64]
    stretch: NDArray[np.float64]
    told: NDArray[np.float64]
    row_count: NDArray[np.int32]
    row_job: NDArray[np.int32]
    row_place: NDArray[np.int32]
    row_values: NDArray[np.float64]
    sums: NDArray[np.float64]
    hungriest: NDArray[np.int32]


class Work(NamedTuple):
    """Jobs that wait to be worked out again, first in first out, and what the others felt since."""

    queue: NDArray[np.int32]
    queued: NDArray[np.bool_]
    touched: NDArray[np.bool_]
    tries: NDArray[np.int32]
    unrest: NDArray[np.float64]
    effect: NDArray[np.float64]
    felt: NDArray[np.int32]


@njit(**HOT_KERNEL)
def add_up(b, link):  # type: ignore[no-untyped-def]
    """Work out the sums of a link's row."""
    used = work = feeds = most = hunger = 0.0
    who = -1
    for at in range(b.row_count[link]):
        use, inputs = b.row_values[link, at, USE], b.row_values[link, at, INPUTS]
        packet_s = b.row_values[link, at, PACKET]
        used += use
        work += use * packet_s
        feeds += inputs
        most += inputs * packet_s
        if use > hunger * inputs:
            hunger, who = use / inputs, at
    b.sums[link, USED], b.sums[link, WORK] = used, work
    b.sums[link, FEEDS], b.sums[link, MOST] = feeds, most
    b.sums[link, HUNGER], b.hungriest[link] = hunger, who


@njit(**HOT_KERNEL)
def use_link(b, job, i):  # type: ignore[no-untyped-def]
    """Note what a job uses of a link at its stretch."""
    link, me = b.link[i], b.row_at[i]
    use = b.busy_s[i] / (b.alone_s[job] * b.stretch[job])
    more = use - b.row_values[link, me, USE]
    b.row_values[link, me, USE] = use
    if b.hungriest[link] == me and more < 0.0:
        add_up(b, link)
        return
    b.sums[link, USED] += more
    b.sums[link, WORK] += more * b.packet_s[i]
    if use > b.sums[link, HUNGER] * b.inputs[i]:
        b.sums[link, HUNGER], b.hungriest[link] = use / b.inputs[i], me


@njit(**PLAIN_KERNEL)
def insert(b, job):  # type: ignore[no-untyped-def]
    """Enter a job in the rows of its links, which have room."""
    begin = b.link_begin[job]
    for i in range(begin, b.link_end[job]):
        link = b.link[i]
        at = b.row_count[link]
        b.row_job[link, at] = job
        b.row_place[link, at] = i - begin
        b.row_at[i] = at
        b.row_values[link, at, USE] = b.busy_s[i] / (b.alone_s[job] * b.stretch[job])
        b.row_values[link, at, INPUTS] = b.inputs[i]
        b.row_values[link, at, PACKET] = b.packet_s[i]
        b.row_count[link] = at + 1
        add_up(b, link)


@njit(**PLAIN_KERNEL)
def delete(b, job):  # type: ignore[no-untyped-def]
    """Take a job out of the rows of its links."""
    for i in range(b.link_begin[job], b.link_end[job]):
        link = b.link[i]
        last, at = b.row_count[link] - 1, b.row_at[i]
        other, place = b.row_job[link, last], b.row_place[link, last]
        b.row_job[link, at], b.row_place[link, at] = other, place
        for k in range(3):
            b.row_values[link, at, k] = b.row_values[link, last, k]
        b.row_at[b.link_begin[other] + place] = at
        b.row_count[link] = last
        add_up(b, link)


@njit(**HOT_KERNEL)
def fair_level(b, link, me, n, mine, level):  # type: ignore[no-untyped-def]
    """Level of a link to which one job takes all it can get, and the others what they use."""
    satisfied, count = -1, 0
    while count > satisfied:
        satisfied = count
        left, weight, count = 1.0, mine, 0
        for at in range(n):
            if at != me:
                use, inputs = b.row_values[link, at, USE], b.row_values[link, at, INPUTS]
                if use <= level * inputs:
                    left -= use
                    count += 1
                else:
                    weight += inputs
        level = left / weight
    return level


@njit(**HOT_KERNEL)
def look_at_link(b, job, i):  # type: ignore[no-untyped-def]
    """What the others leave the job of a link: how much slower it is, and the wait for them.

    While the job uses the link it has what is left of it, or its fair share by inputs if that
    is more (water-filling). A packet waits for the packets of others: M/D/1, and never for
    more than one packet of each input.
    """
    link, me = b.link[i], b.row_at[i]
    n = b.row_count[link]
    b.slow[i], b.wait_s[i] = 1.0, 0.0
    if n < 2:
        return
    mine, own = b.inputs[i], b.row_values[link, me, USE]
    used = max(0.0, b.sums[link, USED] - own)
    level = (1.0 - used) / mine
    if b.sums[link, HUNGER] > level:
        level = fair_level(b, link, me, n, mine, 1.0 / b.sums[link, FEEDS])
    free = level * mine
    # jobs of like rhythm partly come to use the link in turn: they meet less than by chance
    apart = 1.0 - (1.0 - AVOID) * (1.0 - free)
    if own >= free:
        b.slow[i] = 1.0 / free
    elif own <= free * apart:
        b.slow[i] = 1.0 / apart
    else:
        b.slow[i] = (1.0 - AVOID * free / own) / ((1.0 - AVOID) * free)
    b.slow[i] = min(b.floats[b.float_begin[job] + 1], b.slow[i])
    work = max(0.0, b.sums[link, WORK] - own * b.packet_s[i])
    most = max(0.0, b.sums[link, MOST] - mine * b.packet_s[i])
    b.wait_s[i] = min(most, work / (2.0 * max(SPARE, 1.0 - used - own)))


@njit(**HOT_KERNEL)
def job_time(b, job):  # type: ignore[no-untyped-def]
    """Time of one iteration at the ``slow`` and ``wait_s`` of the job's links.

    A message is held up by its slowest link, or by waits on its way, whichever is worse. What waits
    add is passed on from rank to rank: the more steps, the nearer it is to the mean of all.
    """
    begin = b.link_begin[job]
    ints, floats = b.int_begin[job], b.float_begin[job]
    n_ranks, n_steps = b.ints[ints], b.ints[ints + 1]
    n_messages, n_entries = b.ints[ints + 2], b.ints[ints + 3]
    rank_ptr = ints + COUNTS
    step_ptr = rank_ptr + n_ranks + 1
    message_ptr = step_ptr + n_steps + 1
    entry_link = message_ptr + n_messages + 1
    floor = floats + HEAD
    latency = floor + n_messages
    entry_s = latency + n_messages
    entry_wait = entry_s + n_entries
    longest = waits = most_waits = 0.0
    for r in range(n_ranks):
        total = waited = 0.0
        for s in range(b.ints[rank_ptr + r], b.ints[rank_ptr + r + 1]):
            step = served = 0.0
            for m in range(b.ints[step_ptr + s], b.ints[step_ptr + s + 1]):
                slowed = calm = b.floats[floor + m]
                wait = 0.0
                for e in range(b.ints[message_ptr + m], b.ints[message_ptr + m + 1]):
                    i = begin + b.ints[entry_link + e]
                    alone = b.floats[entry_s + e]
                    slowed = max(slowed, alone * b.slow[i])
                    calm = max(calm, alone)
                    wait += b.floats[entry_wait + e] * b.wait_s[i]
                served = max(served, slowed + b.floats[latency + m])
                step = max(step, max(slowed, calm + wait) + b.floats[latency + m])
            total += served
            waited += step - served
        longest = max(longest, total)
        waits += waited
        most_waits = max(most_waits, waited)
    if n_ranks > 0:
        mean = waits / n_ranks
        longest += mean + (most_waits - mean) * n_ranks / n_steps
    longest *= b.floats[floats]
    for i in range(begin, b.link_end[job]):
        longest = max(longest, b.busy_s[i] * b.slow[i])
    return longest


@njit(**PLAIN_KERNEL)
def settle_alone(b, job):  # type: ignore[no-untyped-def]
    """Time of a job alone."""
    for i in range(b.link_begin[job], b.link_end[job]):
        b.slow[i] = 1.0
        b.wait_s[i] = 0.0
    alone_s = job_time(b, job)
    b.alone_s[job] = alone_s
    b.stretch[job] = 1.0
    b.told[job] = 1.0


@njit(**HOT_KERNEL)
def push(w, job, tail):  # type: ignore[no-untyped-def]
    """Put a job at the end of the queue unless it is there."""
    if w.queued[job]:
        return tail
    w.queued[job] = True
    w.queue[tail] = job
    return tail + 1 if tail + 1 < len(w.queue) else 0


@njit(**PLAIN_KERNEL)
def disturb(b, w, job, part, tolerance, tail):  # type: ignore[no-untyped-def]
    """Queue the neighbours that feel it when ``part`` of a job's use of its links comes or goes.

    A link of which another takes ``u`` more is slower by about ``u`` times the slowness squared,
    for the part of its time for which the neighbour uses it. The largest such effect adds up
    with those of other changes until the neighbour looks again.
    """
    n = 0
    for i in range(b.link_begin[job], b.link_end[job]):
        link, me = b.link[i], b.row_at[i]
        more = part * b.row_values[link, me, USE]
        for at in range(b.row_count[link]):
            if at == me:
                continue
            other = b.row_job[link, at]
            if w.effect[other] < 0.0:
                w.effect[other] = 0.0
                w.felt[n] = other
                n += 1
            slow = b.slow[b.link_begin[other] + b.row_place[link, at]]
            w.effect[other] = max(w.effect[other], more * slow * slow * b.row_values[link, at, USE])
    for k in range(n):
        other = w.felt[k]
        w.unrest[other] += w.effect[other]
        w.effect[other] = -1.0
        if w.unrest[other] > tolerance:
            tail = push(w, other, tail)
    return tail


@njit(**PLAIN_KERNEL)
def leave(b, w, leaving, tolerance, tail):  # type: ignore[no-untyped-def]
    """Delete jobs; neighbours that feel it are queued. Returns the tail of the queue."""
    for k in range(len(leaving)):
        tail = disturb(b, w, leaving[k], 1.0, tolerance, tail)
        delete(b, leaving[k])
    return tail


@njit(**PLAIN_KERNEL)
def solve(b, w, coming, tail, tolerance, max_tries):  # type: ignore[no-untyped-def]
    """Work out the coming and the queued jobs and all that they move; marks whose stretch changed.

    A job tells its neighbours when it has moved by more than the tolerance since it last did.
    Returns how many jobs were given up at ``max_tries``.
    """
    for k in range(len(coming)):
        tail = push(w, coming[k], tail)
    for k in range(len(coming)):
        tail = disturb(b, w, coming[k], 1.0, tolerance, tail)
    head = given_up = 0
    size = len(w.queue)
    while head != tail:
        job = w.queue[head]
        head = head + 1 if head + 1 < size else 0
        w.queued[job] = False
        w.unrest[job] = 0.0
        begin, end = b.link_begin[job], b.link_end[job]
        if begin == end:
            continue  # has left
        if w.tries[job] >= max_tries:
            given_up += 1
            continue
        w.tries[job] += 1
        # smaller steps where it goes to and fro
        damping = DAMPING * min(1.0, CALM / w.tries[job])
        near = False
        for _ in range(INNER):
            for i in range(begin, end):
                look_at_link(b, job, i)
            old = b.stretch[job]
            # ways among others may by luck be shorter than those alone
            goal = max(1.0, job_time(b, job) / b.alone_s[job])
            near = abs(goal - old) <= tolerance * old
            b.stretch[job] = goal if near else old + damping * (goal - old)
            if b.stretch[job] != old:
                for i in range(begin, end):
                    use_link(b, job, i)
            if near:
                break
        moved = abs(b.stretch[job] / b.told[job] - 1.0)
        if moved > tolerance:
            b.told[job] = b.stretch[job]
            w.touched[job] = True
            tail = disturb(b, w, job, moved, tolerance, tail)
        if not near:
            tail = push(w, job, tail)
    return given_up


@njit(**PLAIN_KERNEL)
def step_loads(ptr, column, parts, pair, step, n_bytes, loads):  # type: ignore[no-untyped-def]
    """Bytes in every step; ``loads``: (n_steps, columns), ``column``: of each link of a path."""
    for m in range(len(pair)):
        for e in range(ptr[pair[m]], ptr[pair[m] + 1]):
            loads[step[m], column[e]] += n_bytes[m] * parts[e]


@njit(**PLAIN_KERNEL)
def link_inputs(ptr, links, column, width, pair, step, src, link_src, link_dst, codes):  # type: ignore[no-untyped-def]
    """Number (step, column, link before it) for all messages into ``codes``; returns how many."""
    n, n_links = 0, np.int64(len(link_src))
    for m in range(len(pair)):
        begin, end = ptr[pair[m]], ptr[pair[m] + 1]
        for e in range(begin, end):
            base = (step[m] * width + column[e]) * n_links
            first = True
            for other in range(begin, end):
                if link_dst[links[other]] == link_src[links[e]]:
                    codes[n] = base + links[other]
                    n += 1
                    first = False
            if first:
                codes[n] = base + src[m]
                n += 1
    return n
