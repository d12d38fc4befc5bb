"""Iterations of jobs that share links, as fluid: an event where a phase of a job ends.

Between two events nothing changes: a job computes, or communicates at a part of its full speed, or
waits for the other of the two. Speeds are max-min fair over the jobs of one priority, which share
what higher priorities leave of the links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, KERNEL

FULL = 1e-12
"""Part of a link, or of a job's communication, that is nothing."""

COMPUTING, SENDING, FINISHING = 0, 1, 2
"""Phases: before communication; during it; after it, while computing beside it goes on."""


class Links(NamedTuple):
    """Job j uses the part ``use[i]`` of ``link[i]`` for i in ``ptr[j] .. ptr[j+1]-1``; the other
    two, one a link, are what is left of it and what wants it."""

    ptr: NDArray[np.int64]
    link: NDArray[np.int64]
    use: NDArray[np.float64]
    left: NDArray[np.float64]
    load: NDArray[np.float64]


@njit(**KERNEL)
def components(ptr, link, n_links):  # type: ignore[no-untyped-def]
    """Return for each job the first one that it shares links with, directly or through others."""
    first, user = np.arange(len(ptr) - 1), np.full(n_links, -1, np.int64)
    for j in range(len(first)):
        for i in range(ptr[j], ptr[j + 1]):
            if user[link[i]] < 0:
                user[link[i]] = j
            a, b = first[user[link[i]]], first[j]
            if a != b:
                for k in range(max(a, b), j + 1):
                    if first[k] == max(a, b):
                        first[k] = min(a, b)
    return first


@njit(**KERNEL)
def undominated(rows, order):  # type: ignore[no-untyped-def]
    """Return which rows to keep: in order, those that no row kept before reaches everywhere."""
    n = rows.shape[1]
    kept, n_kept = np.empty(len(rows), np.int64), 0
    keep = np.zeros(len(rows), np.bool_)
    for i in order:
        keep[i] = True
        for k in range(n_kept):
            j = 0
            while j < n and rows[kept[k], j] >= rows[i, j]:
                j += 1
            if j == n:
                keep[i] = False
                break
        if keep[i]:
            kept[n_kept] = i
            n_kept += 1
    return keep


@njit(**INNER_ALLOCATING_KERNEL)
def set_speeds(sending, level, links, speed):  # type: ignore[no-untyped-def]
    """Set the speeds of the sending jobs: each level, from 0 on, fills what is left of the links.

    Invariant: at a link that stops jobs nothing is left for the levels below.
    """
    ptr, link, use, left, load = links
    left[:] = 1.0
    for now in range(level.max() + 1):
        rising = 0
        for j in range(len(speed)):
            if level[j] == now:
                speed[j] = -1.0 if sending[j] else 0.0
                rising += sending[j]
        reached = 0.0
        while rising > 0:
            load[:] = 0.0
            for j in range(len(speed)):
                if level[j] == now and speed[j] < 0:
                    for i in range(ptr[j], ptr[j + 1]):
                        load[link[i]] += use[i]
            rise = 1.0 - reached
            for k in range(len(left)):
                if load[k] > 0 and left[k] < rise * load[k]:
                    rise = left[k] / load[k]
            reached += rise
            for k in range(len(left)):
                if load[k] > 0:
                    left[k] -= rise * load[k]
                    if left[k] < FULL:
                        left[k] = 0.0
            for j in range(len(speed)):
                if level[j] == now and speed[j] < 0:
                    stopped = reached >= 1.0 - FULL
                    for i in range(ptr[j], ptr[j + 1]):
                        stopped |= left[link[i]] == 0.0
                    if stopped:
                        speed[j] = reached
                        rising -= 1


@njit(**KERNEL)
def iterate(times, pace_s, start_s, level, links, until_s, ends):  # type: ignore[no-untyped-def]
    """Run all jobs until a moment and return how many iterations each has completed.

    ``times`` has rows of computing before communication, communication at full speed and computing
    beside it; ``ends`` gets the ends of the first iterations of each job. An iteration begins when
    the one before has ended, and not before ``pace_s`` after its begin.
    """
    n = len(start_s)
    done = np.zeros(n, np.int64)
    phase = np.zeros(n, np.int8)
    sending = np.zeros(n, np.bool_)
    begin = start_s.copy()
    # the end of computing, before communication and beside it
    computed = start_s + times[:, 0]
    remaining, speed, now = np.zeros(n), np.zeros(n), 0.0
    while True:
        following = until_s
        for j in range(n):
            if phase[j] == SENDING:
                if speed[j] > 0:
                    following = min(following, now + remaining[j] / speed[j])
            else:
                following = min(following, computed[j])
        step = following - now
        now = following
        if now >= until_s:
            return done
        changed = False
        for j in range(n):
            if phase[j] == SENDING:
                remaining[j] -= speed[j] * step
                # what is left may be too little to move the clock
                if remaining[j] > FULL * times[j, 1] and (
                    speed[j] == 0 or now + remaining[j] / speed[j] > now
                ):
                    continue
                phase[j], sending[j], changed = FINISHING, False, True
            if phase[j] == FINISHING and computed[j] <= now * (1 + FULL):
                if done[j] < ends.shape[1]:
                    ends[j, done[j]] = now
                done[j] += 1
                begin[j] = max(now, begin[j] + pace_s[j])
                computed[j] = begin[j] + times[j, 0]
                phase[j] = COMPUTING
            if phase[j] == COMPUTING and computed[j] <= now * (1 + FULL):
                phase[j], sending[j], changed = SENDING, True, True
                remaining[j] = times[j, 1]
                computed[j] = now + times[j, 2]
        if changed:
            set_speeds(sending, level, links, speed)
