"""Contention of one job on its links while all others are fixed: compiled.

A job is computed in a workspace: the rows of its links are copied there once, in the order of its
list of links, and written back when the job is done. So the loops over its links read arrays
sequentially, and the compiler can vectorize them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import HOT_KERNEL

SPARE = 0.2
"""Least spare part of a link in the waits: jobs that wait send less, unlike in an open queue."""
USE, SLOW = 0, 1
INPUTS, PACKET = 0, 1
TINY = 1e-12
USED, WORK, MET, SPREAD, MOST, HUNGER, HUNGRIEST, SUMS = 0, 1, 2, 3, 4, 5, 6, 8


class LinkRows(NamedTuple):
    """A link's jobs in its row.

    ``job``: who it is, and ``place``: the link's index in the job's list; ``moving``: use of the
    link while the job communicates, and slow; ``fixed``: inputs and packet_s. ``sums``: over the
    row, of mean use (use times the share of time in which the job communicates), mean use times
    packet_s, use times `duty_without` (what another job meets), the variance of that,
    inputs times packet_s, and the largest use an input, which is that of the job in place
    ``HUNGRIEST``; padded to a cache line.
    """

    n_jobs: NDArray[np.int32]
    job: NDArray[np.uint32]
    place: NDArray[np.uint32]
    moving: NDArray[np.float64]
    fixed: NDArray[np.float64]
    sums: NDArray[np.float64]


class Workspace(NamedTuple):
    """Per link of one job: sums of its row, and the resulting contention.

    ``crowd``: see `crowd_of`; ``most_s``: the longest wait for the others; ``left``: what they
    leave of the link while one of them communicates; ``mine``: whether the job is the hungriest;
    ``alone``: indices of links that no other job uses; ``special``: of those that need special
    treatment; ``served``, ``reached``: of its steps, as in `message_times`.
    """

    used: NDArray[np.float64]
    work: NDArray[np.float64]
    met: NDArray[np.float64]
    spread: NDArray[np.float64]
    hunger: NDArray[np.float64]
    crowd: NDArray[np.float64]
    most_s: NDArray[np.float64]
    left: NDArray[np.float64]
    slow: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    new: NDArray[np.float64]
    mine: NDArray[np.bool_]
    alone: NDArray[np.uint32]
    special: NDArray[np.uint32]
    served: NDArray[np.float64]
    reached: NDArray[np.float64]


class Own(NamedTuple):
    """A job's list of links, its places in their rows, and what it does there."""

    link: NDArray[np.uint32]
    place: NDArray[np.uint32]
    busy_s: NDArray[np.float64]
    inputs: NDArray[np.float64]
    packet_s: NDArray[np.float64]
    use: NDArray[np.float64]


@njit(**HOT_KERNEL)
def crowd_of(n_jobs):  # type: ignore[no-untyped-def]
    """Return the part of a job's slowdown left on a link of ``n_jobs`` when one of them is away."""
    return max(0.0, (n_jobs - 2.0) / max(1.0, n_jobs - 1.0))


@njit(**HOT_KERNEL)
def duty_without(stretch, pause, crowd):  # type: ignore[no-untyped-def]
    """Return the probability that a job communicates when another, independent one begins to.

    The arrival theorem of closed queueing networks: who arrives sees the others as they are
    without it. So it is the share of time for a stretch without the other's part.
    """
    without = 1.0 + (stretch - 1.0) * crowd
    return without / (pause + without)


@njit(**HOT_KERNEL)
def add_up(jobs, rows, link):  # type: ignore[no-untyped-def]
    """Work out the sums of a link's row.

    Invariant: every row's sums are those of its jobs' present stretches and of its present number
    of jobs, on which `duty_without` depends.
    """
    used = work = met = spread = most = hunger = 0.0
    who = -1
    moving, fixed, sums = rows.moving[link], rows.fixed[link], rows.sums[link]
    crowd = crowd_of(rows.n_jobs[link])
    for at in range(rows.n_jobs[link]):
        use, inputs, packet_s = moving[at, USE], fixed[at, INPUTS], fixed[at, PACKET]
        job = rows.job[link, at]
        stretch, pause = jobs.stretch[job], jobs.pause[job]
        mean = use * stretch / (pause + stretch)
        felt = use * duty_without(stretch, pause, crowd)
        used += mean
        work += mean * packet_s
        met += felt
        spread += felt * (use - felt)
        most += inputs * packet_s
        if use > hunger * inputs:
            hunger, who = use / inputs, at
    sums[USED], sums[WORK], sums[MET], sums[SPREAD] = used, work, met, spread
    sums[MOST], sums[HUNGER], sums[HUNGRIEST] = most, hunger, who


@njit(**HOT_KERNEL)
def fetch(rows, workspace, own):  # type: ignore[no-untyped-def]
    """Copy the sums of the job's links into the workspace; return how many links no other job
    uses."""
    n_alone = 0
    for i in range(len(own.link)):
        link = own.link[i]
        sums = rows.sums[link]
        workspace.used[i], workspace.work[i] = sums[USED], sums[WORK]
        workspace.met[i], workspace.spread[i] = sums[MET], sums[SPREAD]
        workspace.hunger[i] = sums[HUNGER]
        workspace.crowd[i] = crowd_of(rows.n_jobs[link])
        workspace.most_s[i] = max(0.0, sums[MOST] - own.inputs[i] * own.packet_s[i])
        workspace.mine[i] = sums[HUNGRIEST] == own.place[i]
        workspace.alone[n_alone] = i
        n_alone += rows.n_jobs[link] < 2
    return n_alone


@njit(**HOT_KERNEL)
def write_back(rows, workspace, own):  # type: ignore[no-untyped-def]
    """Write the changes in the workspace back to the rows of the links."""
    for i in range(len(own.link)):
        sums, moving = rows.sums[own.link[i]], rows.moving[own.link[i], own.place[i]]
        sums[USED], sums[WORK] = workspace.used[i], workspace.work[i]
        sums[MET], sums[SPREAD] = workspace.met[i], workspace.spread[i]
        moving[USE], moving[SLOW] = own.use[i], workspace.slow[i]


@njit(**HOT_KERNEL)
def fair_slowness(jobs, rows, link, me, inputs, met, left):  # type: ignore[no-untyped-def]
    """Return how much slower a link is if no other job gets more than its fair share by inputs.

    Who is looked at one by one here is also seen without this very job: of a neighbour's
    slowdown the job's part is that of what its other neighbours meet. ``met`` is of all jobs.
    """
    slow = 1.0
    moving, fixed = rows.moving[link], rows.fixed[link]
    crowd = crowd_of(rows.n_jobs[link])
    job = rows.job[link, me]
    mine = moving[me, USE] * duty_without(jobs.stretch[job], jobs.pause[job], crowd)
    for at in range(rows.n_jobs[link]):
        if at != me:
            job = rows.job[link, at]
            stretch, pause, use = jobs.stretch[job], jobs.pause[job], moving[at, USE]
            others = met - use * duty_without(stretch, pause, crowd)
            without_me = max(0.0, 1.0 - mine / max(TINY, others))
            fair = fixed[at, INPUTS] / inputs
            more = use / left if use < fair * left else fair
            slow += duty_without(stretch, pause, without_me) * more
    return slow


@njit(**HOT_KERNEL)
def contention(jobs, rows, workspace, own, n_alone, job, most_slow):  # type: ignore[no-untyped-def]
    """Compute the contention on the job's links: by how much they are slower, and the waits.

    A neighbour that communicates takes its use of what it and the others leave of the link, at most
    its fair share by inputs, with the probability of `duty_without`. A packet waits for the packets
    of others: M/D/1 at their mean use, and never for more than one packet of each input.
    """
    n = len(own.link)
    stretch, pause = jobs.stretch[job], jobs.pause[job]
    share = stretch / (pause + stretch)
    use, inputs, packet_s = own.use, own.inputs, own.packet_s
    left, slow, wait_s, used = workspace.left, workspace.slow, workspace.wait_s, workspace.used
    met, spread, crowd = workspace.met, workspace.spread, workspace.crowd
    work, most_s = workspace.work, workspace.most_s
    for i in range(n):
        felt = use[i] * duty_without(stretch, pause, crowd[i])
        others = max(0.0, met[i] - felt)
        apart = max(0.0, spread[i] - felt * (use[i] - felt))
        left[i] = 1.0 - others - apart / max(TINY, others)
        slow[i] = min(most_slow, 1.0 + others / max(TINY, left[i]))
        busy = max(0.0, used[i] - use[i] * share)
        queue = max(0.0, work[i] - use[i] * share * packet_s[i])
        wait_s[i] = min(most_s[i], queue / (2.0 * max(SPARE, 1.0 - busy - use[i])))
    n_special, special, hunger = 0, workspace.special, workspace.hunger
    for i in range(n):
        special[n_special] = i
        n_special += hunger[i] * inputs[i] > left[i]
    for k in range(n_special):
        i = special[k]
        link, place = own.link[i], own.place[i]
        rows.moving[link, place, USE] = use[i]
        fair = fair_slowness(jobs, rows, link, place, inputs[i], met[i], left[i])
        slow[i] = min(most_slow, fair)
    for k in range(n_alone):
        slow[workspace.alone[k]], wait_s[workspace.alone[k]] = 1.0, 0.0


@njit(**HOT_KERNEL)
def update_rows(jobs, rows, workspace, own, job, new_stretch):  # type: ignore[no-untyped-def]
    """Note a job's new stretch, and what it uses of its links at that."""
    n = len(own.link)
    use, new, inputs, packet_s = own.use, workspace.new, own.inputs, own.packet_s
    used, work, hunger, mine = workspace.used, workspace.work, workspace.hunger, workspace.mine
    met, spread, crowd = workspace.met, workspace.spread, workspace.crowd
    busy_s = own.busy_s
    old_stretch, pause = jobs.stretch[job], jobs.pause[job]
    period_s = jobs.alone_s[job] * new_stretch
    old_share, new_share = old_stretch / (pause + old_stretch), new_stretch / (pause + new_stretch)
    jobs.stretch[job] = new_stretch
    for i in range(n):
        new[i] = busy_s[i] / period_s
        more = new[i] * new_share - use[i] * old_share
        used[i] += more
        work[i] += more * packet_s[i]
        old_felt = use[i] * duty_without(old_stretch, pause, crowd[i])
        new_felt = new[i] * duty_without(new_stretch, pause, crowd[i])
        met[i] += new_felt - old_felt
        spread[i] += new_felt * (new[i] - new_felt) - old_felt * (use[i] - old_felt)
    n_special, special = 0, workspace.special
    for i in range(n):
        special[n_special] = i
        n_special += (mine[i] & (new[i] < use[i])) | (new[i] > hunger[i] * inputs[i])
    for k in range(n_special):
        i = special[k]
        link, place = own.link[i], own.place[i]
        sums = rows.sums[link]
        if mine[i] and new[i] < use[i]:
            rows.moving[link, place, USE] = new[i]
            add_up(jobs, rows, link)
            used[i], work[i], hunger[i] = sums[USED], sums[WORK], sums[HUNGER]
            met[i], spread[i] = sums[MET], sums[SPREAD]
            mine[i] = sums[HUNGRIEST] == place
        else:
            hunger[i] = sums[HUNGER] = new[i] / inputs[i]
            sums[HUNGRIEST], mine[i] = place, True
    for i in range(n):
        use[i] = new[i]
