# mypy: allow-untyped-defs, allow-untyped-calls
"""A rank's own sends: when all have left the node, and when a group that loops begins again.

The rules are those of docs/end-points.md, "Own sends" and "Groups that loop". Only what sets timers
and lists ranks runs where no step waits for sends and no group loops (`tracks` of
`netsim.packet.tables.SCALARS`).
``a`` is the run's `Arrays`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_wheel import heap_push
from netsim.packet.tables import SENDS


@njit(**HOT_KERNEL)
def add_timer(a, key, tick):
    """Wake a rank's processor at ``tick``, or end a send of rank ``key + n_streams``."""
    heap_push(a.timers, a.sc[0].n_timers, tick, np.int64(key))
    a.sc[0].n_timers += 1


@njit(**PLAIN_KERNEL, inline="always")
def make_ready(a, r):
    """Put a rank at the end of the list of those that may continue ("Order")."""
    sc = a.sc[0]
    row_of(a.ranks, r).ready_next = -1
    if sc.ready_head < 0:
        sc.ready_head = r
    else:
        row_of(a.ranks, sc.ready_tail).ready_next = r
    sc.ready_tail = r


@njit(**HOT_KERNEL)
def is_over(sc, ends, now, until):
    """Return whether a run ends before tick ``now``."""
    if ends is not None and sc.loops and sc.unfinished == 0 and now > sc.end:
        return True
    return now > until


@njit(**INNER_KERNEL)
def send_posted(a, m, local):
    """Count a message among the sends of its rank that are not complete."""
    track = row_of(a.ends.tracks, a.ends.sender[m])
    track.uncounted += 1
    if not local:
        track.unsent += row_of(a.messages, m).parts_left if a.sc[0].n_messages > 0 else 1


@njit(**INNER_KERNEL)
def send_leaves(a, part, tick):
    """Have a rank notice that the last packet of a part will have left its node at ``tick``."""
    # Invariant: a port has one such timer at a time, for its next packet starts when this one ends
    # and no start is set ahead. So ports add one row each to the heap.
    sc = a.sc[0]
    if sc.n_messages > 0:
        if 0 <= sc.request <= part // sc.n_messages:
            return  # a request or a clear-to-send is no send of the program
        part %= sc.n_messages
    r = a.ends.sender[part]
    if row_of(a.ends.tracks, r).waits:
        add_timer(a, r - sc.n_streams, tick)


@njit(**INNER_KERNEL)
def add_sends(a, r, s):
    """Count the sends of a rank toward step ``s``, which waits for them, if all have left."""
    track = row_of(a.ends.tracks, r)
    if track.waits and a.ends.step_waits[s] and track.unsent == 0:
        row_of(a.steps, s).arrived += SENDS


@njit(**INNER_KERNEL)
def send_left(a, r):
    """Process a part that has left its node; the rank may leave the step that waits for it."""
    a.sc[0].end = a.sc[0].now
    row_of(a.ends.tracks, r).unsent -= 1
    rank = row_of(a.ranks, r)
    if rank.waits:
        add_sends(a, r, rank.step)
        step = row_of(a.steps, rank.step)
        if step.arrived >= step.need:
            rank.waits = 0
            make_ready(a, r)


@njit(**INNER_KERNEL)
def send_counted(a, m):
    """Process that a message has been counted; its sender may begin its next round."""
    r = np.int64(a.ends.sender[m])
    track = row_of(a.ends.tracks, r)
    track.uncounted -= 1
    rank = row_of(a.ranks, r)
    between = rank.step == rank.step_end and rank.finish < 0
    if track.first >= 0 and track.uncounted == 0 and between:
        if begin_round(a, r):
            # it does not begin here, as another rank may be posting its sends
            rank.must_begin = 0
            track.again = 1
            make_ready(a, r)
        else:
            rank.finish = a.sc[0].now


@njit(**INNER_KERNEL)
def begins_again(a, r):
    """Return whether a rank that may continue does so with its next round."""
    track = row_of(a.ends.tracks, r)
    again = track.again
    track.again = 0
    row_of(a.ranks, r).must_begin |= again
    return again != 0


@njit(**INNER_KERNEL)
def leave_step(a, r):
    """Keep what has come for the next round of a step that a rank of a group that loops leaves."""
    if row_of(a.ends.tracks, r).first >= 0:
        step = row_of(a.steps, row_of(a.ranks, r).step)
        step.arrived -= step.need


@njit(**INNER_KERNEL)
def program_ends(a, r):
    """Return whether a rank is done after its last step; if not, it begins again when it may."""
    sc = a.sc[0]
    track = row_of(a.ends.tracks, r)
    if track.first < 0:
        sc.unfinished -= 1
        return True
    row_of(a.ranks, r).kind = 0
    return track.uncounted == 0 and not begin_round(a, r)


@njit(**INNER_KERNEL)
def begin_round(a, r):
    """Begin the program of a rank again; return whether it does: not if it took no time."""
    # Invariant: all messages that it sent have been counted, so their rows are in no list.
    sc = a.sc[0]
    rank = row_of(a.ranks, r)
    track = row_of(a.ends.tracks, r)
    if track.began == sc.now:
        return False  # it would do so for ever in this tick
    track.began = sc.now
    rank.step = track.first
    rank.must_begin = 1
    begin = np.int64(row_of(a.steps, track.first).first_send)
    end = np.int64(row_of(a.steps, rank.step_end).first_send)
    stride = sc.n_messages if sc.n_messages > 0 else max(1, len(a.messages))
    for first in range(0, len(a.messages), stride):
        for m in range(first + begin, first + end):
            row_of(a.messages, m).packets_left = row_of(a.ends.fresh, m).packets_left
            row_of(a.messages, m).parts_left = row_of(a.ends.fresh, m).parts_left
    return True
