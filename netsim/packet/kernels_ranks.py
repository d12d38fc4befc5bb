# mypy: allow-untyped-defs, allow-untyped-calls
"""Ranks: begin steps, post sends, count arrivals, go on (docs/packet-model.md, "Ranks").

``pr`` is the `RankArrays` view of the run's arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import PLAIN_KERNEL
from netsim.packet.kernels_wheel import add_try, heap_push
from netsim.packet.tables import (
    ARRIVED,
    BEGIN,
    CPU,
    END,
    FINISH,
    FIRST_SEND,
    FREE_AT,
    HAS_COMPUTE,
    HAS_RECV_COST,
    M_LEFT,
    M_NEXT,
    M_RANK,
    M_STEP,
    N_TIMERS,
    NEED,
    NIC_COUNT,
    NIC_HEAD,
    NIC_SENT,
    NIC_TAIL,
    NODE,
    NOW,
    READY_HEAD,
    READY_NEXT,
    READY_TAIL,
    RECORD,
    RECV_HEAD,
    RECV_TAIL,
    SEND_OVERHEAD,
    SENDING,
    STEP,
    STEP_END,
    WAIT,
)

I64 = NDArray[np.int64]

# what a rank's processor does
IDLE, START, COMPUTE, SEND, RECEIVE = range(5)


class RankArrays(NamedTuple):
    """The arrays that ranks need, names as in `netsim.packet.tables.Arrays`."""

    sc: I64
    ranks: I64
    messages: NDArray[np.int32]
    steps: NDArray[np.int32]
    compute: I64
    recv_cost: I64
    message_post: I64
    message_finish: I64
    timers: I64
    nodes: I64
    links: I64
    wheel: NDArray[np.int32]
    occupied: NDArray[np.uint64]
    far: I64


@njit(**PLAIN_KERNEL)
def add_timer(pr, rank, tick):
    """Wake a rank's processor at ``tick``."""
    heap_push(pr.timers, pr.sc[N_TIMERS], tick, np.int64(rank))
    pr.sc[N_TIMERS] += 1


@njit(**PLAIN_KERNEL, inline="always")
def count(sc, ranks, messages, steps, m):
    """Count a message toward its step; a rank that waited for it goes on the list."""
    s = messages[m, M_STEP]
    steps[s, ARRIVED] += 1
    r = messages[m, M_RANK]
    if ranks[r, WAIT] and ranks[r, STEP] == s and steps[s, ARRIVED] >= steps[s, NEED]:
        ranks[r, WAIT] = 0
        ranks[r, READY_NEXT] = -1
        if sc[READY_HEAD] < 0:
            sc[READY_HEAD] = r
        else:
            ranks[sc[READY_TAIL], READY_NEXT] = r
        sc[READY_TAIL] = r


@njit(**PLAIN_KERNEL)
def queue_receive(pr, m):
    """A message whose receipt costs time waits for its rank's processor."""
    ranks = pr.ranks
    messages = pr.messages
    r = messages[m, M_RANK]
    messages[m, M_NEXT] = -1
    if ranks[r, RECV_HEAD] < 0:
        ranks[r, RECV_HEAD] = m
    else:
        messages[ranks[r, RECV_TAIL], M_NEXT] = m
    ranks[r, RECV_TAIL] = m
    if ranks[r, CPU] == IDLE and not ranks[r, BEGIN]:
        start_receive(pr, r)


@njit(**PLAIN_KERNEL)
def start_receive(pr, r):
    """The free processor takes the first queued arrival."""
    pr.ranks[r, CPU] = RECEIVE
    add_timer(pr, r, pr.sc[NOW] + pr.recv_cost[pr.ranks[r, RECV_HEAD]])


@njit(**PLAIN_KERNEL, inline="always")
def deliver(pr, m):
    """A message has arrived whole at its receiver's node."""
    if pr.sc[RECORD]:
        pr.message_finish[m] = pr.sc[NOW]
    if pr.sc[HAS_RECV_COST] and pr.recv_cost[m] > 0:
        queue_receive(pr, m)
    else:
        count(pr.sc, pr.ranks, pr.messages, pr.steps, m)


@njit(**PLAIN_KERNEL, inline="always")
def post(pr, m, node):
    """Put message ``m`` into the node's queue, or hand it over if the receiver is local."""
    sc = pr.sc
    nodes = pr.nodes
    messages = pr.messages
    now = sc[NOW]
    if sc[RECORD]:
        pr.message_post[m] = now
    if pr.ranks[messages[m, M_RANK], NODE] == node:
        deliver(pr, m)
    else:
        messages[m, M_NEXT] = -1
        if nodes[node, NIC_HEAD] < 0:
            nodes[node, NIC_HEAD] = m
            nodes[node, NIC_SENT] = 0
            nodes[node, NIC_COUNT] = messages[m, M_LEFT]
            tick = max(now, pr.links[node, FREE_AT])
            add_try(sc, pr.links, pr.wheel, pr.occupied, pr.far, node, tick)
        else:
            messages[nodes[node, NIC_TAIL], M_NEXT] = m
        nodes[node, NIC_TAIL] = m


@njit(**PLAIN_KERNEL, inline="always")
def next_step(sc, ranks, r):
    """Leave the present step: ask for the next one, or be done."""
    s = ranks[r, STEP] + 1
    ranks[r, STEP] = s
    if s == ranks[r, STEP_END]:
        ranks[r, FINISH] = sc[NOW]
    else:
        ranks[r, BEGIN] = 1


@njit(**PLAIN_KERNEL, inline="always")
def leave_or_wait(sc, ranks, steps, r):
    """All sends are posted: leave the step if its messages are here, else wait."""
    s = ranks[r, STEP]
    if steps[s, ARRIVED] >= steps[s, NEED]:
        next_step(sc, ranks, r)
    else:
        ranks[r, WAIT] = 1


@njit(**PLAIN_KERNEL)
def run_rank(pr, r):
    """Use a free processor until it has to wait or is busy for a time."""
    sc = pr.sc
    ranks = pr.ranks
    node = ranks[r, NODE]
    while True:
        if ranks[r, RECV_HEAD] >= 0:
            start_receive(pr, r)
            return
        if not ranks[r, BEGIN]:
            ranks[r, CPU] = IDLE
            return
        ranks[r, BEGIN] = 0
        s = ranks[r, STEP]
        if sc[HAS_COMPUTE] and pr.compute[s] > 0:
            ranks[r, CPU] = COMPUTE
            add_timer(pr, r, sc[NOW] + pr.compute[s])
            return
        if not post_sends(pr, r, node):
            return


@njit(**PLAIN_KERNEL)
def post_sends(pr, r, node):
    """Post the sends of the present step. False if the processor stays busy with them."""
    sc = pr.sc
    s = pr.ranks[r, STEP]
    first = np.int64(pr.steps[s, FIRST_SEND])
    last = np.int64(pr.steps[s + 1, FIRST_SEND])
    # the processor counts as busy while it posts: a local answer must not start work on it
    pr.ranks[r, CPU] = SEND
    if sc[SEND_OVERHEAD] > 0 and first < last:
        pr.ranks[r, SENDING] = first
        add_timer(pr, r, sc[NOW] + sc[SEND_OVERHEAD])
        return False
    for m in range(first, last):
        post(pr, m, node)
    leave_or_wait(sc, pr.ranks, pr.steps, r)
    return True


@njit(**PLAIN_KERNEL)
def on_timer(pr, r):
    """The processor of rank ``r`` has done what it was at."""
    sc = pr.sc
    ranks = pr.ranks
    sc[END] = sc[NOW]
    node = ranks[r, NODE]
    doing = ranks[r, CPU]
    if doing == START:
        if ranks[r, STEP] == ranks[r, STEP_END]:
            ranks[r, FINISH] = sc[NOW]
        else:
            ranks[r, BEGIN] = 1
    elif doing == COMPUTE:
        if not post_sends(pr, r, node):
            return
    elif doing == SEND:
        m = ranks[r, SENDING]
        post(pr, m, node)
        if m + 1 < pr.steps[ranks[r, STEP] + 1, FIRST_SEND]:
            ranks[r, SENDING] = m + 1
            add_timer(pr, r, sc[NOW] + sc[SEND_OVERHEAD])
            return
        leave_or_wait(sc, ranks, pr.steps, r)
    else:  # RECEIVE
        m = ranks[r, RECV_HEAD]
        ranks[r, RECV_HEAD] = pr.messages[m, M_NEXT]
        s = pr.messages[m, M_STEP]
        pr.steps[s, ARRIVED] += 1
        if ranks[r, WAIT] and ranks[r, STEP] == s and pr.steps[s, ARRIVED] >= pr.steps[s, NEED]:
            ranks[r, WAIT] = 0
            next_step(sc, ranks, r)
    run_rank(pr, r)


@njit(**PLAIN_KERNEL)
def run_ready(pr):
    """Work off the list of ranks that may go on, first in, first out."""
    sc = pr.sc
    ranks = pr.ranks
    while sc[READY_HEAD] >= 0:
        r = sc[READY_HEAD]
        sc[READY_HEAD] = ranks[r, READY_NEXT]
        next_step(sc, ranks, r)
        if ranks[r, CPU] == IDLE:
            run_rank(pr, r)
