"""Time of a job's iteration from the contention on its links, compiled.

A job's record is contiguous in two pools, integers and floats. Integers: counts
(`RANKS` to `LENGTHS`); its links and its places in their rows; rank_ptr, step_ptr; the lengths of
paths, shortest first, and how many messages have each; then the messages by the length of their
path, so that loops over a path have known bounds: their numbers, and the links of their paths as
indices in the job's list of links. Floats: scale and the most that a link can slow the job; per
link busy_s, inputs, packet_s and its use now; per message its floor, the isolated time of its
slowest link, and its latency; per entry of a path its isolated time and its weight in the wait.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL

RANKS, STEPS, MESSAGES, ENTRIES, LENGTHS, COUNTS = 0, 1, 2, 3, 4, 5
SCALE, MOST_SLOW, HEAD = 0, 1, 2
PER_LINK, PER_MESSAGE = 4, 3
ZERO, ONE = np.uint64(0), np.uint64(1)
"""Numba looks at every signed index whether it counts from the end."""
GIVEN = 4
"""Counts at the head of a load's integers: ranks, steps, messages, entries."""


def record_size(n_links: int, n_ints: int, n_floats: int) -> tuple[int, int]:
    """Return the most integers and floats of the record of such a load; linear, for sums."""
    return 2 * n_links + 3 * n_ints, PER_LINK * n_links + 2 * n_floats


@njit(**HOT_KERNEL)
def write_record(load, ints, floats):  # type: ignore[no-untyped-def]
    """Write a load's record; the places in rows and the uses come later."""
    links, given, values = load.links, load.ints, load.floats
    n, n_ranks, n_steps = len(links), given[0], given[1]
    n_messages, n_entries = given[2], given[3]
    step_ptr = given[GIVEN + n_ranks + 1 :]
    message_ptr = step_ptr[n_steps + 1 :]
    way = message_ptr[n_messages + 1 :]
    floor, latency = values[HEAD:], values[HEAD + n_messages :]
    alone_s = values[HEAD + 2 * n_messages :]
    floats[SCALE], floats[MOST_SLOW] = values[0], values[1]
    for i in range(n):
        ints[COUNTS + i] = links[i]
        floats[HEAD + i], floats[HEAD + n + i] = load.busy_s[i], load.inputs[i]
        floats[HEAD + 2 * n + i] = load.packet_s[i]
    rest = ints[COUNTS + 2 * n :]
    for r in range(n_ranks + 1):
        rest[r] = given[GIVEN + r]
    lengths = rest[n_ranks + 1 :]
    n_lengths = count_lengths(message_ptr, n_messages, lengths)
    ints[RANKS], ints[STEPS], ints[MESSAGES] = n_ranks, n_steps, n_messages
    ints[ENTRIES], ints[LENGTHS] = n_entries, n_lengths
    steps = lengths[2 * n_lengths :]
    new_way = steps[n_messages:]
    messages = floats[HEAD + PER_LINK * n :]
    entries = messages[PER_MESSAGE * n_messages :]
    k = at = 0
    for j in range(n_lengths):
        for step in range(n_steps):
            for m in range(step_ptr[step], step_ptr[step + 1]):
                if message_ptr[m + 1] - message_ptr[m] != lengths[2 * j]:
                    continue
                calm = floor[m]
                for e in range(message_ptr[m], message_ptr[m + 1]):
                    new_way[at] = way[e]
                    entries[at], entries[n_entries + at] = alone_s[e], alone_s[n_entries + e]
                    calm = max(calm, alone_s[e])
                    at += 1
                steps[k] = step
                messages[k], messages[n_messages + k] = floor[m], calm
                messages[2 * n_messages + k] = latency[m]
                k += 1


@njit(**HOT_KERNEL)
def count_lengths(message_ptr, n_messages, lengths):  # type: ignore[no-untyped-def]
    """Write the lengths of paths and how many messages have each; return how many lengths there
    are."""
    n = done = 0
    length = -1
    while done < n_messages:
        longer, many = -1, 0
        for m in range(n_messages):
            size = message_ptr[m + 1] - message_ptr[m]
            if size > length and (longer < 0 or size < longer):
                longer, many = size, 0
            many += size == longer
        length = longer
        lengths[2 * n], lengths[2 * n + 1] = length, many
        done += many
        n += 1
    return n


@njit(**HOT_KERNEL)
def message_times(ints, floats, n, slow, wait_s, served, reached):  # type: ignore[no-untyped-def]
    """Compute when each step's messages arrive, by shares only and with waits.

    A message is delayed by its slowest link, or by waits on its path, whichever is longer.
    """
    n_messages, n_entries = ints[MESSAGES], ints[ENTRIES]
    lengths = ints[COUNTS + 2 * n + ints[RANKS] + 1 :]
    steps = lengths[2 * ints[LENGTHS] :]
    way = steps[n_messages:]
    floor = floats[HEAD + PER_LINK * n :]
    calm, latency = floor[n_messages:], floor[2 * n_messages :]
    alone_s = floor[PER_MESSAGE * n_messages :]
    weight = alone_s[n_entries:]
    for s in range(ints[STEPS]):
        served[s] = reached[s] = 0.0
    k = at = ZERO
    for j in range(ints[LENGTHS]):
        length = lengths[2 * j]
        for _ in range(lengths[2 * j + 1]):
            slowed, wait = floor[k], 0.0
            for _ in range(length):
                link = way[at]
                slowed = max(slowed, alone_s[at] * slow[link])
                wait += weight[at] * wait_s[link]
                at += ONE
            step = steps[k]
            served[step] = max(served[step], slowed + latency[k])
            reached[step] = max(reached[step], max(slowed, calm[k] + wait) + latency[k])
            k += ONE


@njit(**INNER_KERNEL)
def job_time(jobs, job, workspace):  # type: ignore[no-untyped-def]
    """Return the time of one iteration at ``slow`` and ``wait_s`` of the job's links.

    What waits add to a rank is passed on to others, the more the more steps there are: of ``k``
    steps a rank, 1 / k of it stays with the rank, and the rest is the mean of all ranks.
    """
    slow, served, reached = workspace.slow, workspace.served, workspace.reached
    n = jobs.n_links[job]
    ints, floats = jobs.ints[jobs.int_begin[job] :], jobs.floats[jobs.float_begin[job] :]
    message_times(ints, floats, n, slow, workspace.wait_s, served, reached)
    n_ranks, n_steps = ints[RANKS], ints[STEPS]
    rank_ptr = ints[COUNTS + 2 * n :]
    own_part = n_ranks / n_steps if n_ranks > 0 else 1.0
    longest = waits = 0.0
    for r in range(n_ranks):
        total = waited = 0.0
        for s in range(rank_ptr[r], rank_ptr[r + 1]):
            total += served[s]
            waited += reached[s] - served[s]
        longest = max(longest, total + waited * own_part)
        waits += waited
    if n_ranks > 0:
        longest += waits / n_ranks * (1.0 - own_part)
    longest *= floats[SCALE]
    busy_s = floats[HEAD:]
    for i in range(n):
        longest = max(longest, busy_s[i] * slow[i])
    return longest
