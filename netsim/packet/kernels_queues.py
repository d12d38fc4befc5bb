# mypy: allow-untyped-defs, allow-untyped-calls
"""Queues of ports in which parts pass others (docs/packet-model.md, docs/end-points.md).

A part that is not at the head has in ``sent`` how many of its packets have been sent. Nothing here
runs where the parts of a port are sent one after the other. ``a`` is the run's `Arrays`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL
from netsim.packet.kernels_memory import row_of


@njit(**INNER_KERNEL)
def set_head(a, q, part):
    """Make a part, or none (-1), the head of queue ``q``."""
    queue = row_of(a.nodes, q)
    queue.head = part
    if part >= 0:
        queue.sent = a.ends.sent[part]
        # some of its packets may have arrived
        queue.count = row_of(a.ends.fresh, part).packets_left


@njit(**INNER_KERNEL)
def post_control(a, part, q):
    """Put a request or a clear-to-send before a queue's data; return whether it is the head."""
    # Invariant: such parts are the first ones of a queue, in the order in which they were posted.
    queue = row_of(a.nodes, q)
    before = a.ends.control_tail[q]
    a.ends.control_tail[q] = part
    message = row_of(a.messages, part)
    if before >= 0:
        message.next = row_of(a.messages, before).next
        row_of(a.messages, before).next = part
        if queue.tail == before:
            queue.tail = part
        return False
    message.next = queue.head
    if queue.head < 0:
        queue.tail = part
    else:
        a.ends.sent[queue.head] = queue.sent
    set_head(a, q, part)
    return True


@njit(**INNER_KERNEL)
def resume_next(a, q, part, sent, is_last):
    """Return the head of a queue after a packet of its head: the next part in turn, -1 for none."""
    queue = row_of(a.nodes, q)
    message = row_of(a.messages, part)
    a.ends.sent[part] = 0 if is_last else sent
    after = np.int64(message.next)
    if is_last:
        if a.ends.control_tail[q] == part:
            a.ends.control_tail[q] = -1
    else:
        # behind the next port_messages - 1 parts
        at = part
        for _ in range(a.sc[0].port_messages - 1):
            if row_of(a.messages, at).next < 0:
                break
            at = np.int64(row_of(a.messages, at).next)
        if at == part:
            after = part
        else:
            message.next = row_of(a.messages, at).next
            row_of(a.messages, at).next = part
            if queue.tail == at:
                queue.tail = part
    set_head(a, q, after)
    return after
