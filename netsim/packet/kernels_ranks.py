# mypy: allow-untyped-defs, allow-untyped-calls
"""Ranks: begin steps, post sends, count arrivals, continue (docs/packet-model.md, "Ranks").

What is called a rank here is a stream of one: streams of a rank are on one node, which is all that
they have in common. ``pr`` is the `RankArrays` view of the run's arrays.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_links import leave_at_once
from netsim.packet.kernels_memory import prefetch
from netsim.packet.kernels_wheel import add_start, heap_push
from netsim.packet.tables import (
    ARRIVED,
    BEGAN,
    BEGIN,
    CLASS,
    CLASS_SHIFT,
    CPU,
    END,
    EXPOSED,
    FINISH,
    FIRST_SEND,
    FREE_AT,
    HAS_COMPUTE,
    HAS_RECV_COST,
    KIND,
    KIND_SHIFT,
    L_BITS,
    M_BITS,
    M_FROM,
    M_LEFT,
    M_NEXT,
    M_PARTS,
    M_RANK,
    M_STEP,
    M_TO,
    N_BITS,
    N_MESSAGES,
    N_NODES,
    N_TIMERS,
    NEED,
    NIC_COUNT,
    NIC_HEAD,
    NIC_SENT,
    NIC_TAIL,
    NODE,
    NOW,
    PARKED,
    R_BITS,
    READY_HEAD,
    READY_NEXT,
    READY_TAIL,
    RECORD,
    RECV_HEAD,
    RECV_TAIL,
    REQUEST,
    S_BITS,
    SEND_OVERHEAD,
    SENDING,
    STEP,
    STEP_END,
    VCS,
    VSHIFT,
    WAIT,
    RankArrays,
)

# what a rank's processor does
IDLE, START, COMPUTE, SEND, RECEIVE = range(5)


@njit(**PLAIN_KERNEL, inline="always")
def rank_arrays(a, in_parts, network, border):
    """Return the `RankArrays` of a run."""
    return RankArrays(
        a.sc, a.ranks, a.messages, a.steps, a.compute, a.recv_cost, a.message_post,
        a.message_finish, a.timers, a.nodes, a.links, a.events, in_parts, network, border,
    )  # fmt: skip


@njit(**INNER_KERNEL)
def add_timer(pr, rank, tick):
    """Wake a rank's processor at ``tick``."""
    heap_push(pr.timers, pr.sc[N_TIMERS], tick, np.int64(rank))
    pr.sc[N_TIMERS] += 1


@njit(**PLAIN_KERNEL, inline="always")
def count(sc, ranks, messages, steps, m):
    """Count a message toward its step; a rank that waited for it is put on the list."""
    message = np.uint64(m) << M_BITS
    s = messages[message + M_STEP]
    step = np.uint64(s) << S_BITS
    steps[step + ARRIVED] += 1
    r = messages[message + M_RANK]
    rank = np.uint64(r) << R_BITS
    if (
        ranks[rank + WAIT]
        and ranks[rank + STEP] == s
        and steps[step + ARRIVED] >= steps[step + NEED]
    ):
        # It does not continue here, as another rank may be posting its sends: `run_ready` follows.
        ranks[rank + WAIT] = 0
        ranks[rank + READY_NEXT] = -1
        if sc[READY_HEAD] < 0:
            sc[READY_HEAD] = r
        else:
            ranks[(np.uint64(sc[READY_TAIL]) << R_BITS) + READY_NEXT] = r
        sc[READY_TAIL] = r


@njit(**INNER_KERNEL)
def queue_receive(pr, m):
    """Queue a message whose receipt costs time for its rank's processor."""
    message = np.uint64(m) << M_BITS
    ranks = pr.ranks
    messages = pr.messages
    r = messages[message + M_RANK]
    rank = np.uint64(r) << R_BITS
    messages[message + M_NEXT] = -1
    if ranks[rank + RECV_HEAD] < 0:
        ranks[rank + RECV_HEAD] = m
    else:
        messages[(np.uint64(ranks[rank + RECV_TAIL]) << M_BITS) + M_NEXT] = m
    ranks[rank + RECV_TAIL] = m
    if ranks[rank + CPU] == IDLE and not ranks[rank + BEGIN]:
        start_receive(pr, r)


@njit(**INNER_KERNEL)
def start_receive(pr, r):
    """Start the receipt of the first queued arrival on the free processor."""
    rank = np.uint64(r) << R_BITS
    pr.ranks[rank + CPU] = RECEIVE
    add_timer(pr, r, pr.sc[NOW] + pr.recv_cost[pr.ranks[rank + RECV_HEAD]])


@njit(**PLAIN_KERNEL, inline="always")
def deliver(pr, m):
    """Process a message that has arrived entirely at its receiver's node."""
    if pr.sc[RECORD]:
        pr.message_finish[m] = pr.sc[NOW]
    if pr.sc[HAS_RECV_COST] and pr.recv_cost[m] > 0:
        queue_receive(pr, m)
    else:
        count(pr.sc, pr.ranks, pr.messages, pr.steps, m)


@njit(**PLAIN_KERNEL, inline="always")
def post(pr, m, node):
    """Put message ``m`` into a queue of its node, or hand it over if the receiver is local."""
    sc = pr.sc
    if sc[RECORD]:
        pr.message_post[m] = sc[NOW]
    row = np.uint64(m) << M_BITS
    if pr.in_parts is None:
        # the only port of a node has its number
        local = pr.messages[row + M_TO] == node
    else:
        local = pr.ranks[(np.uint64(pr.messages[row + M_RANK]) << R_BITS) + NODE] == node
    if local:
        deliver(pr, m)
    else:
        post_away(pr, pr.in_parts, pr.network, pr.border, m, node)


@njit(**HOT_KERNEL)
def post_away(pr, in_parts, network, border, m, node):
    """Post a message to another node."""
    # Numba leaves out what depends on an argument that is None, not on a field
    if in_parts is not None:
        post_in_parts(pr, m)
    elif network is None or not leave_at_once(border, network, m, node):
        post_part(pr, m, node)


@njit(**HOT_KERNEL)
def arrive(pr, in_parts, part):
    """Process a message, or a part of one, all of whose packets have arrived."""
    if in_parts is None:
        deliver(pr, part)
    else:
        part_arrived(pr, part)


@njit(**PLAIN_KERNEL, inline="always")
def post_part(pr, part, port):
    """Put a part into a port's queue."""
    sc = pr.sc
    nodes = pr.nodes
    messages = pr.messages
    row = np.uint64(part) << M_BITS
    link = np.uint64(port) << L_BITS
    rank_class = np.int64(0)
    if sc[VSHIFT] > sc[CLASS_SHIFT]:
        rank_class = pr.ranks[(np.uint64(messages[row + M_RANK]) << R_BITS) + CLASS]
    nic = np.uint64(rank_class * sc[N_NODES] + port) << N_BITS
    # Invariant: a part is in one list at a time (a port's queue, a rank's arrivals, parked
    # requests), for all of them run through its one M_NEXT.
    messages[row + M_NEXT] = -1
    if nodes[nic + NIC_HEAD] < 0:
        nodes[nic + NIC_HEAD] = part
        nodes[nic + NIC_SENT] = 0
        nodes[nic + NIC_COUNT] = messages[row + M_LEFT]
        pr.links[link + VCS] |= np.int64(1) << (rank_class << sc[CLASS_SHIFT])
        tick = max(sc[NOW], pr.links[link + FREE_AT])
        add_start(sc, pr.links, pr.events, port, tick)
    else:
        messages[(np.uint64(nodes[nic + NIC_TAIL]) << M_BITS) + M_NEXT] = part
    nodes[nic + NIC_TAIL] = part


@njit(**INNER_KERNEL)
def post_part_of_several(pr, part):
    """Put a part into its own port's queue; compiled once, separately from the common path."""
    post_part(pr, part, np.int64(pr.messages[(np.uint64(part) << M_BITS) + M_FROM]))


@njit(**INNER_KERNEL)
def post_in_parts(pr, m):
    """Post all parts of a message, or its request if it goes by rendezvous."""
    n = pr.sc[N_MESSAGES]
    request = pr.sc[REQUEST]
    if request >= 0 and pr.messages[(np.uint64(m + request * n) << M_BITS) + M_LEFT] > 0:
        post_part_of_several(pr, m + request * n)
    else:
        post_data(pr, m)


@njit(**INNER_KERNEL)
def post_data(pr, m):
    """Post all parts of a message."""
    n = pr.sc[N_MESSAGES]
    for part in range(np.int64(pr.messages[(np.uint64(m) << M_BITS) + M_PARTS])):
        post_part_of_several(pr, m + part * n)


@njit(**INNER_KERNEL)
def part_arrived(pr, part):
    """Process a complete part: count it, or continue the rendezvous."""
    n = pr.sc[N_MESSAGES]
    request = pr.sc[REQUEST]
    number = part // n
    m = part - number * n
    message = np.uint64(m) << M_BITS
    messages = pr.messages
    if request < 0 or number < request:
        messages[message + M_PARTS] -= 1
        if messages[message + M_PARTS] == 0:
            deliver(pr, m)
    elif number > request:
        post_data(pr, m)
    elif step_has_begun(pr.ranks, messages[message + M_RANK], messages[message + M_STEP]):
        post_part_of_several(pr, part + n)
    else:
        row = np.uint64(part) << M_BITS
        step = (np.uint64(messages[message + M_STEP]) << S_BITS) + PARKED
        last = np.int64(pr.steps[step])
        if last < 0:
            messages[row + M_NEXT] = part
        else:
            end = (np.uint64(last) << M_BITS) + M_NEXT
            messages[row + M_NEXT] = messages[end]
            messages[end] = part
        pr.steps[step] = part


@njit(**INNER_KERNEL)
def step_has_begun(ranks, r, s):
    """Return whether a rank has begun a step: its receives are posted."""
    rank = np.uint64(r) << R_BITS
    if ranks[rank + STEP] != s:
        return ranks[rank + STEP] > s
    return ranks[rank + CPU] != START and not ranks[rank + BEGIN]


@njit(**INNER_KERNEL)
def clear_parked(pr, s):
    """Send a clear-to-send for every request that has waited for a step that begins."""
    n = pr.sc[N_MESSAGES]
    step = (np.uint64(s) << S_BITS) + PARKED
    last = np.int64(pr.steps[step])
    if last < 0:
        return
    pr.steps[step] = -1
    part = last
    while True:
        part = np.int64(pr.messages[(np.uint64(part) << M_BITS) + M_NEXT])
        post_part_of_several(pr, part + n)
        if part == last:
            return


@njit(**PLAIN_KERNEL, inline="always")
def next_step(sc, ranks, r):
    """Finish the current step: schedule the next one, or end the program."""
    rank = np.uint64(r) << R_BITS
    if ranks[rank + KIND] > 0:
        column = EXPOSED + np.uint64(ranks[rank + KIND] - 1)
        ranks[rank + column] += sc[NOW] - ranks[rank + BEGAN]
    s = ranks[rank + STEP] + 1
    ranks[rank + STEP] = s
    if s == ranks[rank + STEP_END]:
        ranks[rank + FINISH] = sc[NOW]
    else:
        ranks[rank + BEGIN] = 1


@njit(**PLAIN_KERNEL, inline="always")
def leave_or_wait(sc, ranks, steps, r):
    """Leave a step whose sends are posted if its messages are here, else wait."""
    rank = np.uint64(r) << R_BITS
    s = ranks[rank + STEP]
    step = np.uint64(s) << S_BITS
    if steps[step + ARRIVED] >= steps[step + NEED]:
        next_step(sc, ranks, r)
    else:
        ranks[rank + WAIT] = 1


@njit(**HOT_KERNEL)
def run_rank(pr, r, posting, sent):
    """Use a free processor until it has to wait or is busy for a time.

    With ``posting`` the present step's sends are next, from message ``sent`` on if it is not below
    0: the processor has worked on that one.
    """
    rank = np.uint64(r) << R_BITS
    node = pr.ranks[rank + NODE]
    while posting or begins_to_send(pr, pr.in_parts, r):
        if not post_sends(pr, r, node, sent):
            return
        posting, sent = False, np.int64(-1)


@njit(**HOT_KERNEL)
def begins_to_send(pr, in_parts, r):
    """Begin what a free processor does next; False unless it is to post a step's sends."""
    rank = np.uint64(r) << R_BITS
    sc = pr.sc
    ranks = pr.ranks
    if ranks[rank + RECV_HEAD] >= 0:
        start_receive(pr, r)
        return False
    if not ranks[rank + BEGIN]:
        ranks[rank + CPU] = IDLE
        return False
    ranks[rank + BEGIN] = 0
    s = ranks[rank + STEP]
    if in_parts is not None:  # noqa: SIM102 - left out of what is compiled for None
        if sc[REQUEST] >= 0:
            clear_parked(pr, s)
    if sc[HAS_COMPUTE]:
        kind = pr.compute[s] >> KIND_SHIFT
        ranks[rank + KIND], ranks[rank + BEGAN] = kind, sc[NOW]
        ticks = pr.compute[s] - (kind << KIND_SHIFT)
        if ticks > 0:
            ranks[rank + CPU] = COMPUTE
            add_timer(pr, r, sc[NOW] + ticks)
            return False
    return True


@njit(**INNER_KERNEL)
def run_rank_apart(pr, r, posting, sent):
    """Call `run_rank` where that is rare, so that it is not compiled into the caller."""
    run_rank(pr, r, posting, sent)


@njit(**HOT_KERNEL)
def post_sends(pr, r, node, sent):
    """Post the sends of the present step, from ``sent`` on if that is not below 0.

    If sends cost time, the first other one that is no signal occupies the processor: False then.
    """
    rank = np.uint64(r) << R_BITS
    sc = pr.sc
    s = pr.ranks[rank + STEP]
    first = np.int64(pr.steps[(np.uint64(s) << S_BITS) + FIRST_SEND]) if sent < 0 else sent
    last = np.int64(pr.steps[((s + 1) << S_BITS) + FIRST_SEND])
    # the processor counts as busy while it posts: a local answer must not start work on it
    pr.ranks[rank + CPU] = SEND
    overhead = sc[SEND_OVERHEAD]
    # what this rank will need when it continues
    prefetch(pr.messages, np.uint64(last + 1) << M_BITS)
    prefetch(pr.steps, np.uint64(s + 4) << S_BITS)
    for m in range(first, last):
        if overhead > 0 and m != sent and pr.messages[(np.uint64(m) << M_BITS) + M_LEFT] > 0:
            pr.ranks[rank + SENDING] = m
            add_timer(pr, r, sc[NOW] + overhead)
            return False
        post(pr, m, node)
    leave_or_wait(sc, pr.ranks, pr.steps, r)
    return True


@njit(**INNER_KERNEL)
def on_timer(pr, r):
    """Continue rank ``r``, whose processor has finished its operation."""
    rank = np.uint64(r) << R_BITS
    sc = pr.sc
    ranks = pr.ranks
    sc[END] = sc[NOW]
    doing = ranks[rank + CPU]
    sent = np.int64(-1)
    if doing == START:
        if ranks[rank + STEP] == ranks[rank + STEP_END]:
            ranks[rank + FINISH] = sc[NOW]
        else:
            ranks[rank + BEGIN] = 1
    elif doing == SEND:
        sent = ranks[rank + SENDING]
    elif doing == RECEIVE:
        m = ranks[rank + RECV_HEAD]
        ranks[rank + RECV_HEAD] = pr.messages[(np.uint64(m) << M_BITS) + M_NEXT]
        count(sc, ranks, pr.messages, pr.steps, m)
    run_rank_apart(pr, r, doing in (COMPUTE, SEND), sent)
    while sc[READY_HEAD] >= 0:
        r = first_ready(sc, ranks)
        if r >= 0:
            run_rank_apart(pr, r, False, np.int64(-1))


@njit(**HOT_KERNEL)
def first_ready(sc, ranks):
    """Take the first of the ranks that may continue; -1 if its processor is busy."""
    r = sc[READY_HEAD]
    rank = np.uint64(r) << R_BITS
    sc[READY_HEAD] = ranks[rank + READY_NEXT]
    next_step(sc, ranks, r)
    return r if ranks[rank + CPU] == IDLE else np.int64(-1)


@njit(**HOT_KERNEL)
def run_ready(pr):
    """Process the list of ranks that may continue, first in, first out."""
    while pr.sc[READY_HEAD] >= 0:
        r = first_ready(pr.sc, pr.ranks)
        if r >= 0:
            run_rank(pr, r, False, np.int64(-1))
