"""Messages that are posted at given times and wait for nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.traffic import Traffic, combine
from patterns.build import build_program, make_messages


def posted_messages(
    n_nodes: int,
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    message_bytes: ArrayLike,
    start_s: NDArray[np.floating],
) -> Traffic:
    """Build traffic of one rank a node; message i is posted at start_s[i] and keeps its number.

    The messages are sorted by source, and of one source by time.
    """
    count = np.bincount(src, minlength=n_nodes)
    number = np.arange(len(src)) - (np.cumsum(count) - count)[src]
    gap_s = np.where(number == 0, start_s, np.diff(start_s, prepend=0.0))
    n_steps = (count + 1).astype(np.int64)  # the empty step at the end is what messages name
    compute_s = np.zeros(int(n_steps.sum()))
    compute_s[np.arange(len(src)) + src] = gap_s
    messages = make_messages(src, number, dst, count[dst], message_bytes)
    program = build_program(n_nodes, n_steps, messages, compute_s=compute_s, wait=False)
    return combine([program], [np.arange(n_nodes)])
