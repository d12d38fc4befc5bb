"""Time of a job's iterations from the contention on its links, compiled.

A job's record is contiguous in two pools, integers and floats. Integers: counts (`RANKS` to
`ENTRIES`); its links, its places in their rows, and whether a message that is followed goes over
them; then as in `MessageLoad` rank_ptr, step_ptr,
the order of the steps, the number of each in its stream, who waits for each message, whether it is
a single packet, message_ptr, and the links of paths as indices in the job's list of links. Floats:
scale, the most that a link can slow the job, packets of a train and of a buffer, the part of waits
that counts; per link busy_s, inputs, packet_s
and its use now; per step its computing; per message its floor and its latency; per entry of a path
its isolated time and its weight in the wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import FINITE_KERNEL, HOT_KERNEL, INNER_KERNEL

RANKS, STEPS, MESSAGES, ENTRIES, COUNTS = 0, 1, 2, 3, 4
SCALE, MOST_SLOW, TRAIN, BUFFER, FELT, HEAD = 0, 1, 2, 3, 4, 5
INTS_PER_LINK, PER_LINK = 3, 4
SETS = 8
"""Sets of phases of the neighbours: each iteration has one of them."""
GOLDEN = 0.6180339887498949
"""Multiples of it are even in the unit interval, however many."""
DRAWS, MOST_ROUNDS = 64, 4
"""Jobs of few messages repeat the sets until they have sent so many in each, or so often."""
WARM_UP = 2
"""Iterations before those that count."""


class Run(NamedTuple):
    """Scratch space of a job's iterations.

    ``took``, ``serve``: time of each message, and for how long its slowest link serves it, in each
    set (messages * SETS); ``done``: when the last message of each chain has come through; ``hold``:
    for how long each step keeps its port, in each set; ``posted``, ``gate``: of each step, when it
    posts, and when the last message has arrived that it waits for; ``ready``, ``port``, ``after``:
    of each stream, when it begins an iteration, when its port is free, and when the last message
    has arrived that its next iteration waits for; ``stream``: that of each step.
    """

    took: NDArray[np.float64]
    serve: NDArray[np.float64]
    done: NDArray[np.float64]
    hold: NDArray[np.float64]
    posted: NDArray[np.float64]
    gate: NDArray[np.float64]
    ready: NDArray[np.float64]
    port: NDArray[np.float64]
    after: NDArray[np.float64]
    stream: NDArray[np.int64]


class MessageParts(NamedTuple):
    """Views of a job's record."""

    rank_ptr: NDArray[np.uint32]
    step_ptr: NDArray[np.uint32]
    order: NDArray[np.uint32]
    waiter: NDArray[np.uint32]
    chain: NDArray[np.uint32]
    single: NDArray[np.uint32]
    message_ptr: NDArray[np.uint32]
    way: NDArray[np.uint32]
    compute_s: NDArray[np.float64]
    floor_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    alone_s: NDArray[np.float64]
    weight: NDArray[np.float64]
    own_s: NDArray[np.float64]


def record_size(n_links: int, n_ints: int, n_floats: int) -> tuple[int, int]:
    """Return the integers and floats of the record of such a load; linear, for sums."""
    return INTS_PER_LINK * n_links + n_ints, PER_LINK * n_links + n_floats


@njit(**HOT_KERNEL)
def write_record(load, ints, floats):  # type: ignore[no-untyped-def]
    """Write a load's record; the places in rows and the uses come later."""
    n = len(load.links)
    for i in range(COUNTS):
        ints[i] = load.ints[i]
    for i in range(COUNTS, len(load.ints)):
        ints[INTS_PER_LINK * n + i] = load.ints[i]
    for i in range(HEAD):
        floats[i] = load.floats[i]
    for i in range(HEAD, len(load.floats)):
        floats[PER_LINK * n + i] = load.floats[i]
    for i in range(n):
        ints[COUNTS + i], ints[COUNTS + 2 * n + i] = load.links[i], 0
        floats[HEAD + i], floats[HEAD + n + i] = load.busy_s[i], load.inputs[i]
        floats[HEAD + 2 * n + i] = load.packet_s[i]
    for link in parts_of(ints, floats, n).way[: ints[ENTRIES]]:
        ints[COUNTS + 2 * n + link] = 1


@njit(**HOT_KERNEL)
def parts_of(ints, floats, n):  # type: ignore[no-untyped-def]
    """Return the parts of a record of a job with ``n`` links."""
    n_ranks, n_steps = np.int64(ints[RANKS]), np.int64(ints[STEPS])
    n_messages, n_entries = np.int64(ints[MESSAGES]), np.int64(ints[ENTRIES])
    rank_ptr = ints[COUNTS + INTS_PER_LINK * n :]
    step_ptr = rank_ptr[n_ranks + 1 :]
    order = step_ptr[n_steps + 1 :]
    waiter = order[n_steps:]
    chain = waiter[n_messages:]
    single = chain[n_messages:]
    message_ptr = single[n_messages:]
    compute_s = floats[HEAD + PER_LINK * n :]
    floor_s = compute_s[n_steps:]
    latency_s = floor_s[n_messages:]
    alone_s = latency_s[n_messages:]
    return MessageParts(
        rank_ptr[: n_ranks + 1],
        step_ptr[: n_steps + 1],
        order[:n_steps],
        waiter[:n_messages],
        chain[:n_messages],
        single[:n_messages],
        message_ptr[: n_messages + 1],
        message_ptr[n_messages + 1 :],
        compute_s[:n_steps],
        floor_s[:n_messages],
        latency_s[:n_messages],
        alone_s[:n_entries],
        alone_s[n_entries : 2 * n_entries],
        alone_s[2 * n_entries :],
    )


@njit(**HOT_KERNEL)
def mixed(a, b):  # type: ignore[no-untyped-def]
    """Return a hash of two numbers, uint64."""
    x = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(**HOT_KERNEL)
def unit(x):  # type: ignore[no-untyped-def]
    """Return a hash as a number of [0, 1)."""
    return np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(**FINITE_KERNEL)
def message_times(p, buffer, felt, packet_s, slow, wait_s, run, more_s):  # type: ignore[no-untyped-def]
    """Compute how long each message takes in each set of phases, and each step its port.

    A message is as late as its slowest link makes it, or as its packets wait, whichever is longer.
    Of a single packet only the isolated time is computed; its waits are drawn in each iteration.
    """
    for step in range(len(p.order)):
        for q in range(SETS):
            more_s[q] = run.hold[step * SETS + q] = 0.0
        for m in range(p.step_ptr[step], p.step_ptr[step + 1]):
            begin, stop = np.int64(p.message_ptr[m]), np.int64(p.message_ptr[m + 1])
            calm = p.floor_s[m]
            for e in range(begin, stop):
                calm = max(calm, p.alone_s[e])
            for q in range(SETS):
                shared, late, blocked, wait, serve, room = calm, 0.0, 0.0, 0.0, 0.0, 0.0
                for e in range(begin, stop):
                    slower = slow[p.way[e], q]
                    shared = max(shared, p.alone_s[e] * slower)
                    serve = max(serve, p.own_s[e] * (1.0 if p.single[m] else slower))
                    # a part of the packets needs that part of the link's rate only
                    extra = p.own_s[e] * max(0.0, slower - felt / p.weight[e])
                    late = max(late, extra)
                    # what buffers before the link hold does not keep the port
                    room += buffer * packet_s[p.way[e]]
                    blocked = max(blocked, extra - room)
                    wait += p.weight[e] * wait_s[p.way[e], q]
                late += more_s[q]
                more_s[q] += blocked
                at = step * SETS + q
                run.hold[at] = max(run.hold[at], calm + more_s[q], shared - room)
                run.serve[m * SETS + q] = serve
                run.took[m * SETS + q] = (
                    calm if p.single[m] else max(shared, calm + max(late, wait))
                )


@njit(**INNER_KERNEL)
def drawn_wait_s(p, m, q, key, k, met, wait_s):  # type: ignore[no-untyped-def]
    """Return the waits of a single packet: at each link none, or uniform with the link's mean."""
    total = 0.0
    for e in range(p.message_ptr[m], p.message_ptr[m + 1]):
        mean = wait_s[p.way[e], q]
        if mean > 0.0:
            busy = min(1.0, met[p.way[e], q])
            u = unit(mixed(key, e)) + k * GOLDEN
            u -= np.floor(u)
            if u < busy:
                total += p.weight[e] * 2.0 * mean * u / (busy * busy)
    return total


@njit(**INNER_KERNEL)
def period_of(p, run, pause_s, key, met, wait_s, contended):  # type: ignore[no-untyped-def]
    """Return the mean period of a job's iterations, and the time of the first one.

    A stream posts a step when it has left the one before and all messages that the step waits for
    have arrived; its messages begin when its port is free.
    """
    n_ranks, n_steps = len(p.rank_ptr) - 1, len(p.order)
    for rank in range(n_ranks):
        run.ready[rank] = run.port[rank] = run.after[rank] = 0.0
        for own in range(p.rank_ptr[rank], p.rank_ptr[rank + 1]):
            run.stream[own], run.gate[own] = rank, 0.0
    for m in range(len(p.chain)):
        run.done[m] = 0.0
    last = warm = first_s = 0.0
    count = SETS * min(MOST_ROUNDS, max(1, DRAWS // max(1, len(p.chain))))
    for k in range(WARM_UP + count):
        q = k % SETS
        for o in range(n_steps):
            step = np.int64(p.order[o])
            r = run.stream[step]
            if step == p.rank_ptr[r]:
                now = run.ready[r]
            else:
                now = run.posted[step - 1]
            now = max(now, run.gate[step]) + p.compute_s[step]
            run.posted[step], run.gate[step] = now, 0.0
            begin = max(now, run.port[r])
            run.port[r] = begin + run.hold[step * SETS + q]
            for m in range(p.step_ptr[step], p.step_ptr[step + 1]):
                took = run.took[m * SETS + q]
                if contended and p.single[m]:
                    took += drawn_wait_s(p, m, q, key, k, met, wait_s)
                chain, service = np.int64(p.chain[m]), run.serve[m * SETS + q]
                run.done[chain] = max(begin + took, run.done[chain] + service)
                arrival = run.done[chain] + p.latency_s[m]
                last = max(last, arrival)
                waiter = np.int64(p.waiter[m])
                if waiter < n_steps:
                    run.gate[waiter] = max(run.gate[waiter], arrival)
                elif waiter < n_steps + n_ranks:
                    run.after[waiter - n_steps] = max(run.after[waiter - n_steps], arrival)
        for rank in range(n_ranks):
            over = max(run.posted[p.rank_ptr[rank + 1] - 1], run.after[rank])
            run.ready[rank], run.after[rank] = over + pause_s, 0.0
        if k == 0:
            first_s = last
        if k == WARM_UP - 1:
            warm = last
    return (last - warm) / count, first_s
