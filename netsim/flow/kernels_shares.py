"""What a job finds on its links, and leaves there, while nobody else moves: compiled.

A job is worked out on a desk: what the rows say of its links is fetched once, in the order
of its list of links, and brought back when the job is done. So the loops over its links read
one array after another, and the compiler works out several links at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import HOT_KERNEL

SPARE = 0.2
"""Least spare part of a link in the waits: jobs that wait send less, unlike in an open queue."""
AVOID = 0.3
"""How far jobs come to use a link in turn: from 0, at random, to 1, whenever there is room."""
USE, SLOW = 0, 1
INPUTS, PACKET = 0, 1
USED, WORK, FEEDS, MOST, HUNGER, HUNGRIEST, SUMS = 0, 1, 2, 3, 4, 5, 8


class Rows(NamedTuple):
    """A link's jobs in its row.

    ``job``: who it is, and ``place``: where in the job's list the link stands; ``moving``: use and
    slow of each, ``fixed``: inputs and packet_s. ``sums``: over the row, of use, use times
    packet_s, inputs, inputs times packet_s, and the largest use an input, which is that of the
    job in place ``HUNGRIEST``; padded to a cache line.
    """

    n_jobs: NDArray[np.int32]
    job: NDArray[np.uint32]
    place: NDArray[np.uint32]
    moving: NDArray[np.float64]
    fixed: NDArray[np.float64]
    sums: NDArray[np.float64]


class Desk(NamedTuple):
    """Of the links of one job: sums of their rows, and what it finds there.

    ``most_s``: the longest wait for the others; ``mine``: whether the job is the hungriest;
    ``alone``: places of links that nobody else uses; ``special``: of those that need a closer look;
    ``served``, ``reached``: of its steps, as in `message_times`.
    """

    used: NDArray[np.float64]
    work: NDArray[np.float64]
    hunger: NDArray[np.float64]
    most_s: NDArray[np.float64]
    level: NDArray[np.float64]
    slow: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    new: NDArray[np.float64]
    mine: NDArray[np.bool_]
    alone: NDArray[np.uint32]
    special: NDArray[np.uint32]
    served: NDArray[np.float64]
    reached: NDArray[np.float64]


class Own(NamedTuple):
    """A job's list of links, its places in their rows, and what it does there.

    ``part``: of a message, how much takes the link while the rest takes other links; 1 where
    packets do not choose.
    """

    link: NDArray[np.uint32]
    place: NDArray[np.uint32]
    busy_s: NDArray[np.float64]
    inputs: NDArray[np.float64]
    packet_s: NDArray[np.float64]
    use: NDArray[np.float64]
    part: NDArray[np.float64]


@njit(**HOT_KERNEL)
def add_up(rows, link):  # type: ignore[no-untyped-def]
    """Work out the sums of a link's row."""
    used = work = feeds = most = hunger = 0.0
    who = -1
    moving, fixed, sums = rows.moving[link], rows.fixed[link], rows.sums[link]
    for at in range(rows.n_jobs[link]):
        use, inputs, packet_s = moving[at, USE], fixed[at, INPUTS], fixed[at, PACKET]
        used += use
        work += use * packet_s
        feeds += inputs
        most += inputs * packet_s
        if use > hunger * inputs:
            hunger, who = use / inputs, at
    sums[USED], sums[WORK], sums[FEEDS], sums[MOST] = used, work, feeds, most
    sums[HUNGER], sums[HUNGRIEST] = hunger, who


@njit(**HOT_KERNEL)
def fetch(rows, desk, own):  # type: ignore[no-untyped-def]
    """Lay the sums of the job's links on the desk; returns how many links it has for itself."""
    n_alone = 0
    for i in range(len(own.link)):
        link = own.link[i]
        sums = rows.sums[link]
        desk.used[i], desk.work[i], desk.hunger[i] = sums[USED], sums[WORK], sums[HUNGER]
        desk.most_s[i] = max(0.0, sums[MOST] - own.inputs[i] * own.packet_s[i])
        desk.mine[i] = sums[HUNGRIEST] == own.place[i]
        desk.alone[n_alone] = i
        n_alone += rows.n_jobs[link] < 2
    return n_alone


@njit(**HOT_KERNEL)
def bring_back(rows, desk, own):  # type: ignore[no-untyped-def]
    """Put what has changed on the desk into the rows of the links."""
    for i in range(len(own.link)):
        sums, moving = rows.sums[own.link[i]], rows.moving[own.link[i], own.place[i]]
        sums[USED], sums[WORK] = desk.used[i], desk.work[i]
        moving[USE], moving[SLOW] = own.use[i], desk.slow[i]


@njit(**HOT_KERNEL)
def fair_level(rows, link, me, mine):  # type: ignore[no-untyped-def]
    """Level of a link to which one job takes all it can get, and the others what they use."""
    level = 1.0 / rows.sums[link, FEEDS]
    moving, fixed = rows.moving[link], rows.fixed[link]
    satisfied, count = -1, 0
    while count > satisfied:
        satisfied = count
        left, weight, count = 1.0, mine, 0
        for at in range(rows.n_jobs[link]):
            use, inputs = moving[at, USE], fixed[at, INPUTS]
            little = (use <= level * inputs) & (at != me)
            left -= use if little else 0.0
            weight += 0.0 if little | (at == me) else inputs
            count += little
        level = left / weight
    return level


@njit(**HOT_KERNEL)
def taken_apart(free):  # type: ignore[no-untyped-def]
    """What others take of a link from jobs of like rhythm, which partly come to use it in turn."""
    return (1.0 - AVOID) * (1.0 - free)


@njit(**HOT_KERNEL)
def pooled(slow, part):  # type: ignore[no-untyped-def]
    """Return how much slower a link is whose packets may take other links instead.

    The ``part`` of a message that is routed over the link goes at 1 / slow of its rate, the rest
    at its full rate over other links, and packets move from one to the other until all end at once:
    the rates add up.
    """
    return 1.0 / (1.0 - part + part / slow) if part < 1.0 else slow


@njit(**HOT_KERNEL)
def look(rows, desk, own, n_alone, most_slow):  # type: ignore[no-untyped-def]
    """What the others leave the job of its links: how much slower they are, and the waits.

    While the job uses a link it has what is left of it, or its fair share by inputs if that
    is more (water-filling). A packet waits for the packets of others: M/D/1, and never for
    more than one packet of each input.
    """
    n = len(own.link)
    use, inputs, packet_s, part = own.use, own.inputs, own.packet_s, own.part
    level, slow, wait_s, used = desk.level, desk.slow, desk.wait_s, desk.used
    work, most_s = desk.work, desk.most_s
    for i in range(n):
        others = max(0.0, used[i] - use[i])
        queue = max(0.0, work[i] - use[i] * packet_s[i])
        level[i] = (1.0 - others) / inputs[i]
        slow[i] = min(most_slow, 1.0 / (1.0 - part[i] * taken_apart(level[i] * inputs[i])))
        wait_s[i] = min(most_s[i], queue / (2.0 * max(SPARE, 1.0 - others - use[i])))
    n_special, special, hunger = 0, desk.special, desk.hunger
    for i in range(n):
        free = level[i] * inputs[i]
        busy = (use[i] > free * (1.0 - taken_apart(free))) | (use[i] >= free)
        special[n_special] = i
        n_special += busy | (hunger[i] > level[i])
    for k in range(n_special):
        i = special[k]
        if hunger[i] > level[i]:
            level[i] = fair_level(rows, own.link[i], own.place[i], inputs[i])
        slow[i] = min(most_slow, pooled(slowness(use[i], level[i] * inputs[i]), part[i]))
    for k in range(n_alone):
        slow[desk.alone[k]], wait_s[desk.alone[k]] = 1.0, 0.0


@njit(**HOT_KERNEL)
def slowness(use, free):  # type: ignore[no-untyped-def]
    """How much slower a link is of which a part is free, to a job that uses a part of its time."""
    apart = 1.0 - taken_apart(free)
    if use >= free:
        return 1.0 / free
    if use <= free * apart:
        return 1.0 / apart
    return (1.0 - AVOID * free / use) / ((1.0 - AVOID) * free)


@njit(**HOT_KERNEL)
def take(rows, desk, own, period_s):  # type: ignore[no-untyped-def]
    """Note what the job uses of its links when an iteration takes so long."""
    n = len(own.link)
    use, new, inputs, packet_s = own.use, desk.new, own.inputs, own.packet_s
    used, work, hunger, mine = desk.used, desk.work, desk.hunger, desk.mine
    busy_s = own.busy_s
    for i in range(n):
        new[i] = busy_s[i] / period_s
        more = new[i] - use[i]
        used[i] += more
        work[i] += more * packet_s[i]
    n_special, special = 0, desk.special
    for i in range(n):
        special[n_special] = i
        n_special += (mine[i] & (new[i] < use[i])) | (new[i] > hunger[i] * inputs[i])
    for k in range(n_special):
        i = special[k]
        link, place = own.link[i], own.place[i]
        sums = rows.sums[link]
        if mine[i] and new[i] < use[i]:
            rows.moving[link, place, USE] = new[i]
            add_up(rows, link)
            used[i], work[i], hunger[i] = sums[USED], sums[WORK], sums[HUNGER]
            mine[i] = sums[HUNGRIEST] == place
        else:
            hunger[i] = sums[HUNGER] = new[i] / inputs[i]
            sums[HUNGRIEST], mine[i] = place, True
    for i in range(n):
        use[i] = new[i]
