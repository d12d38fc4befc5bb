# mypy: allow-untyped-defs, allow-untyped-calls
"""Ranks: begin steps, post sends, count arrivals, continue.

The rules, with their numbers, are those of docs/end-points.md, "Ranks", where no other section is
named.

What is called a rank here is a stream of one: streams of a rank are on one node, which is all that
they have in common. ``a`` is the run's `Arrays`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_links import leave_at_once
from netsim.packet.kernels_memory import prefetch, row_of
from netsim.packet.kernels_queues import post_control
from netsim.packet.kernels_sends import (
    add_sends,
    add_timer,
    begins_again,
    leave_step,
    make_ready,
    program_ends,
    send_counted,
    send_left,
    send_posted,
)
from netsim.packet.kernels_wheel import CACHED_LINKS, add_start, heap_pop
from netsim.packet.tables import KIND_SHIFT

# what a rank's processor does
IDLE, START, COMPUTE, SEND, RECEIVE = range(5)


class RankMode(NamedTuple):
    """For what a run's kernels of ranks are compiled: what is None leaves no trace in them.

    Attributes
    ----------
    in_parts : int64 or None
        None where every message is one part on the only rail.
    at_once : int64 or None
        Not 0 for a message that may start when it is posted; it waits for phase 5 otherwise, as all
        do for None.
    border : Border or None
        See `netsim.packet.kernels_engine.run`.
    """

    in_parts: int | None
    at_once: int | np.int64 | None
    border: Any


@njit(**HOT_KERNEL)
def count(a, ends, m):
    """Count a message toward its step; a rank that waited for it is put on the list."""
    message = row_of(a.messages, m)
    step = row_of(a.steps, message.step)
    step.arrived += 1
    rank = row_of(a.ranks, message.rank)
    if rank.waits and rank.step == message.step and step.arrived >= step.need:
        # It does not continue here, as another rank may be posting its sends: `run_ready` follows.
        rank.waits = 0
        make_ready(a, message.rank)
    if ends is not None and a.sc[0].tracks:
        send_counted(a, m)


@njit(**INNER_KERNEL)
def queue_receive(a, m):
    """Queue a message whose receipt costs time for its rank's processor (rule 3)."""
    message = row_of(a.messages, m)
    r = np.int64(message.rank)
    rank = row_of(a.ranks, r)
    message.next = -1
    if rank.recv_head < 0:
        rank.recv_head = m
    else:
        row_of(a.messages, rank.recv_tail).next = m
    rank.recv_tail = m
    if rank.cpu == IDLE and not rank.must_begin:
        start_receive(a, r)


@njit(**INNER_KERNEL)
def start_receive(a, r):
    """Start the receipt of the first queued arrival on the free processor."""
    rank = row_of(a.ranks, r)
    rank.cpu = RECEIVE
    add_timer(a, r, a.sc[0].now + a.recv_cost[rank.recv_head])


@njit(**PLAIN_KERNEL, inline="always")
def deliver(a, m):
    """Process a message that has arrived entirely at its receiver's node."""
    if a.sc[0].records:
        a.message_finish[m] = a.sc[0].now
    if a.sc[0].has_recv_cost and a.recv_cost[m] > 0:
        queue_receive(a, m)
    else:
        count(a, a.ends, m)


@njit(**HOT_KERNEL)
def post(a, ends, mode, m, node):
    """Put message ``m`` into a queue of its node, or hand it over if the receiver is local."""
    sc = a.sc[0]
    if sc.records:
        a.message_post[m] = sc.now
    message = row_of(a.messages, m)
    if mode.in_parts is None:
        # the only port of a node has its number
        local = message.to_port == node
    else:
        local = row_of(a.ranks, message.rank).node == node
    if ends is not None and sc.tracks:
        send_posted(a, m, local)
    if local:
        deliver(a, m)
    else:
        post_away(a, mode.in_parts, mode.at_once, mode.border, m, node)


@njit(**HOT_KERNEL)
def post_away(a, in_parts, at_once, border, m, node):
    """Post a message to another node."""
    # Numba leaves out what depends on an argument that is None, not on a field
    if in_parts is not None:
        post_in_parts(a, m)
    elif at_once is None or at_once == 0 or not leave_at_once(border, a, m, node):
        post_part(a, a.ends, m, node)


@njit(**HOT_KERNEL)
def arrive(a, in_parts, part):
    """Process a message, or a part of one, all of whose packets have arrived."""
    if in_parts is None:
        deliver(a, part)
    else:
        part_arrived(a, part)


@njit(**HOT_KERNEL)
def post_part(a, ends, part, port):
    """Put a part into a port's queue."""
    sc = a.sc[0]
    message = row_of(a.messages, part)
    link_row = row_of(a.links, port)
    priority_class = np.int64(0)
    if sc.vshift > sc.class_shift:
        priority_class = row_of(a.ranks, message.rank).priority_class
    queue = row_of(a.nodes, priority_class * sc.n_nodes + port)
    # Invariant: a part is in one list at a time (a port's queue, a rank's arrivals, parked
    # requests), for all of them run through its one ``next``.
    message.next = -1
    is_first = queue.head < 0
    if ends is not None and sc.control_first and part >= sc.request * sc.n_messages:
        is_first = post_control(a, part, priority_class * sc.n_nodes + port)
        if is_first:
            link_row.waiting_vcs |= np.int64(1) << (priority_class << sc.class_shift)
    elif is_first:
        queue.head = part
        queue.sent = 0
        queue.count = message.packets_left
        queue.tail = part
        link_row.waiting_vcs |= np.int64(1) << (priority_class << sc.class_shift)
    else:
        row_of(a.messages, queue.tail).next = part
        queue.tail = part
    # "Congestion control": where flows are paced, the parts before it may all have to wait
    if is_first or sc.until < 0:
        add_start(sc, link_row, a.events, port, max(sc.now, link_row.free_at))


@njit(**INNER_KERNEL)
def post_part_of_several(a, part):
    """Put a part into its own port's queue; compiled once, separately from the common path."""
    post_part(a, a.ends, part, np.int64(row_of(a.messages, part).from_port))


@njit(**INNER_KERNEL)
def post_in_parts(a, m):
    """Post all parts of a message, or its request if it goes by rendezvous ("Rendezvous", 1)."""
    n = a.sc[0].n_messages
    request = a.sc[0].request
    if request >= 0 and row_of(a.messages, m + request * n).packets_left > 0:
        post_part_of_several(a, m + request * n)
    else:
        post_data(a, m)


@njit(**INNER_KERNEL)
def post_data(a, m):
    """Post all parts of a message."""
    n = a.sc[0].n_messages
    for part in range(np.int64(row_of(a.messages, m).parts_left)):
        post_part_of_several(a, m + part * n)


@njit(**INNER_KERNEL)
def part_arrived(a, part):
    """Process a complete part: count it, or continue the rendezvous ("Rendezvous", 2 and 3)."""
    n = a.sc[0].n_messages
    request = a.sc[0].request
    number = part // n
    m = part - number * n
    message = row_of(a.messages, m)
    if request < 0 or number < request:
        message.parts_left -= 1
        if message.parts_left == 0:
            deliver(a, m)
    elif number > request:
        post_data(a, m)
    elif step_has_begun(row_of(a.ranks, message.rank), message.step):
        post_part_of_several(a, part + n)
    else:
        step = row_of(a.steps, message.step)
        parked = row_of(a.messages, part)
        if step.parked < 0:
            parked.next = part
        else:
            last = row_of(a.messages, step.parked)
            parked.next = last.next
            last.next = part
        step.parked = part


@njit(**INNER_KERNEL)
def step_has_begun(rank, s):
    """Return whether a rank has begun a step: its receives are posted."""
    if rank.step != s:
        return rank.step > s
    return rank.cpu != START and not rank.must_begin


@njit(**INNER_KERNEL)
def clear_parked(a, s):
    """Send a clear-to-send for every request that has waited for a step that begins."""
    n = a.sc[0].n_messages
    step = row_of(a.steps, s)
    last = np.int64(step.parked)
    if last < 0:
        return
    step.parked = -1
    part = last
    while True:
        part = np.int64(row_of(a.messages, part).next)
        post_part_of_several(a, part + n)
        if part == last:
            return


@njit(**HOT_KERNEL)
def begin_or_end(a, ends, r, rank):
    """Schedule the step that a rank is at, or end the program after the last."""
    if rank.step < rank.step_end:
        rank.must_begin = 1
    elif ends is None or not a.sc[0].tracks or program_ends(a, r):
        rank.finish = a.sc[0].now


@njit(**HOT_KERNEL)
def next_step(a, ends, r, rank):
    """Finish the current step: schedule the next one, or end the program (rules 2 and 4)."""
    sc = a.sc[0]
    if ends is not None and sc.tracks:
        leave_step(a, r)
    if rank.kind > 0:
        rank.exposed[np.uint64(rank.kind - 1)] += sc.now - rank.began
    rank.step += 1
    begin_or_end(a, ends, r, rank)


@njit(**HOT_KERNEL)
def run_rank(a, mode, r, posting, sent):
    """Use a free processor until it has to wait or is busy for a time.

    With ``posting`` the present step's sends are next, from message ``sent`` on if it is not below
    0: the processor has worked on that one.
    """
    node = row_of(a.ranks, r).node
    while posting or begins_to_send(a, a.ends, mode.in_parts, r):
        if not post_sends(a, a.ends, mode, r, node, sent):
            return
        posting, sent = False, np.int64(-1)


@njit(**HOT_KERNEL)
def begins_to_send(a, ends, in_parts, r):
    """Begin what a free processor does next; False unless it is to post a step's sends."""
    rank = row_of(a.ranks, r)
    sc = a.sc[0]
    # rule 3: a queued arrival precedes the next step
    if rank.recv_head >= 0:
        start_receive(a, r)
        return False
    if not rank.must_begin:
        rank.cpu = IDLE
        return False
    rank.must_begin = 0
    s = rank.step
    if in_parts is not None and sc.request >= 0:
        clear_parked(a, s)
    if sc.has_compute:
        rank.kind = a.compute[s] >> KIND_SHIFT
        rank.began = sc.now
        ticks = a.compute[s] - (rank.kind << KIND_SHIFT)
        if ends is not None and sc.has_starts:
            ticks += max(0, ends.step_start[s] - sc.now)
        if ticks > 0:
            rank.cpu = COMPUTE
            add_timer(a, r, sc.now + ticks)
            return False
    return True


@njit(**HOT_KERNEL)
def post_sends(a, ends, mode, r, node, sent):
    """Post the sends of the present step, from ``sent`` on if that is not below 0 (rule 1).

    The first other one that costs time occupies the processor: False then.
    """
    rank = row_of(a.ranks, r)
    sc = a.sc[0]
    s = rank.step
    first = np.int64(row_of(a.steps, s).first_send) if sent < 0 else sent
    last = np.int64(row_of(a.steps, s + 1).first_send)
    # the processor counts as busy while it posts: a local answer must not start work on it
    rank.cpu = SEND
    # what this rank will need when it continues
    prefetch(a.messages, np.uint64(last + 1))
    prefetch(a.steps, np.uint64(s + 4))
    for m in range(first, last):
        if sc.has_send_cost and m != sent and a.send_cost[m] > 0:
            rank.sending = m
            add_timer(a, r, sc.now + a.send_cost[m])
            return False
        post(a, ends, mode, m, node)
    # rule 2: it leaves the step if the messages for it have been counted
    step = row_of(a.steps, s)
    if ends is not None and sc.tracks:
        add_sends(a, r, s)
    if step.arrived >= step.need:
        next_step(a, ends, r, rank)
    else:
        rank.waits = 1
    return True


@njit(**HOT_KERNEL)
def on_timer(a, ends, r):
    """Finish the operation of a processor; return the arguments of `run_rank` that follow."""
    sc = a.sc[0]
    rank = row_of(a.ranks, r)
    sc.end = sc.now
    finished = rank.cpu
    sent = np.int64(-1)
    if finished == START:
        if ends is not None and sc.tracks:
            row_of(ends.tracks, r).began = sc.now
        begin_or_end(a, ends, r, rank)
    elif finished == SEND:
        sent = rank.sending
    elif finished == RECEIVE:
        m = rank.recv_head
        rank.recv_head = row_of(a.messages, m).next
        count(a, ends, m)
    return finished in (COMPUTE, SEND), sent


@njit(**HOT_KERNEL)
def next_ready(a, ends):
    """Take the first of the listed ranks that may continue and is not busy; -1 for none."""
    sc = a.sc[0]
    while sc.ready_head >= 0:
        r = sc.ready_head
        rank = row_of(a.ranks, r)
        sc.ready_head = rank.ready_next
        if ends is None or not sc.tracks or not begins_again(a, r):
            next_step(a, ends, r, rank)
        if rank.cpu == IDLE:
            return r
    return np.int64(-1)


@njit(**HOT_KERNEL)
def run_ready(a, mode):
    """Process the list of ranks that may continue, first in, first out ("Order")."""
    r = next_ready(a, a.ends)
    while r >= 0:
        run_rank(a, mode, r, False, np.int64(-1))
        r = next_ready(a, a.ends)


@njit(**INNER_KERNEL)
def fetch_timers(sc, timers, ranks, steps, links, channels, messages):
    """Fetch, step by step, what the ranks will need that continue next.

    Before a timer is the first of its heap, it is one of the next two.
    """
    for i in range(1, min(sc.n_timers, 3)):
        prefetch(ranks, np.uint64(max(np.int64(0), row_of(timers, i).key)))
    # where no timer is left, its last entry is still there
    rank = row_of(ranks, max(np.int64(0), row_of(timers, 0).key))
    prefetch(links, np.uint64(rank.node))
    prefetch(channels, np.uint64(rank.node << sc.vshift))
    prefetch(messages, np.uint64(row_of(steps, rank.step).first_send))


@njit(**HOT_KERNEL)
def rank_phase(a, ends, mode, now):
    """Run phase 2 ("Order"): sends that have left, then ranks whose time has come, by number."""
    sc = a.sc[0]
    timer = row_of(a.timers, 0)
    while sc.n_timers > 0 and timer.tick == now:
        r = timer.key
        heap_pop(a.timers, sc.n_timers)
        sc.n_timers -= 1
        if sc.n_links > CACHED_LINKS and timer.tick != now:
            fetch_timers(sc, a.timers, a.ranks, a.steps, a.links, a.channels, a.messages)
        posting, sent = False, np.int64(-1)
        if ends is not None and r < 0:
            send_left(a, r + sc.n_streams)
            r = next_ready(a, ends)
        else:
            posting, sent = on_timer(a, ends, r)
        while r >= 0:
            run_rank(a, mode, r, posting, sent)
            posting, sent = False, np.int64(-1)
            r = next_ready(a, ends)
