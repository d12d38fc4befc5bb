"""What messages put on links in each step, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import PLAIN_KERNEL


@njit(**PLAIN_KERNEL)
def step_loads(ptr, column, parts, pair, step, n_bytes, loads):  # type: ignore[no-untyped-def]
    """Bytes in every step; ``loads``: (n_steps, columns), ``column``: of each link of a path."""
    for m in range(len(pair)):
        for e in range(ptr[pair[m]], ptr[pair[m] + 1]):
            loads[step[m], column[e]] += n_bytes[m] * parts[e]


@njit(**PLAIN_KERNEL)
def link_inputs(ptr, links, column, width, pair, step, src, link_src, link_dst, codes):  # type: ignore[no-untyped-def]
    """Number (step, column, link before it) for all messages into ``codes``; returns how many."""
    n, n_links = 0, np.int64(len(link_src))
    for m in range(len(pair)):
        begin, end = ptr[pair[m]], ptr[pair[m] + 1]
        for e in range(begin, end):
            base = (step[m] * width + column[e]) * n_links
            first = True
            for other in range(begin, end):
                if link_dst[links[other]] == link_src[links[e]]:
                    codes[n] = base + links[other]
                    n += 1
                    first = False
            if first:
                codes[n] = base + src[m]
                n += 1
    return n
