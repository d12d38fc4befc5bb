"""Compiled: a heap of pairs, and the waiting jobs as bits in blocks of 64 ranks.

Rank r of the queue waits if bit r % 64 of block r // 64 is set. ``fewest`` and ``shortest_s``
are lower bounds on the nodes and the requested times of the jobs that wait in a block. A removal
leaves them as they are; a search that visits all jobs of a block makes them exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import popcount
from netsim.kernels_options import INNER_KERNEL

Rows = NDArray[Any]
"""A structured array: rows of BLOCK, PAIR or the like."""
State = Any
"""One row of `queuesim.compiled.kernels_queue.STATE`."""


BLOCK = np.dtype([("bits", np.int64), ("fewest", np.int64), ("shortest_s", np.float64)], align=True)
"""64 ranks of the queue; see the module's text."""

PAIR = np.dtype([("key", np.float64), ("tie", np.int64)], align=True)
"""An entry of a heap, in which none is smaller than the first; the caller keeps their number.

Ties are different for all entries, so that they leave in one order only.
"""


@njit(**INNER_KERNEL)
def heap_push(heap: Rows, size: int, key: float, tie: int) -> None:
    """Add a pair to a heap of ``size``."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        above = heap[parent].key
        if above < key or (above == key and heap[parent].tie < tie):
            break
        heap[i].key = above
        heap[i].tie = heap[parent].tie
        i = parent
    heap[i].key = key
    heap[i].tie = tie


@njit(**INNER_KERNEL)
def heap_sift(heap: Rows, size: int, i: int) -> None:
    """Move the pair at position ``i`` down to where it belongs."""
    key, tie = heap[i].key, heap[i].tie
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            heap[other].key < heap[child].key
            or (heap[other].key == heap[child].key and heap[other].tie < heap[child].tie)
        ):
            child = other
        if key < heap[child].key or (key == heap[child].key and tie < heap[child].tie):
            break
        heap[i].key = heap[child].key
        heap[i].tie = heap[child].tie
        i = child
    heap[i].key = key
    heap[i].tie = tie


@njit(**INNER_KERNEL)
def heap_pop(heap: Rows, size: int) -> None:
    """Remove the first pair of a heap of ``size``."""
    heap[0].key = heap[size - 1].key
    heap[0].tie = heap[size - 1].tie
    heap_sift(heap, size - 1, 0)


@njit(**INNER_KERNEL)
def rank_of(block: int, bit: int) -> int:
    """Return the rank of a word's single bit."""
    return (block << 6) + popcount(bit - 1)


@njit(**INNER_KERNEL)
def add_waiting(s: State, blocks: Rows, rank: int, nodes: int, requested_s: float) -> None:
    """Put a job into the queue."""
    block = rank >> 6
    if blocks[block].bits == 0 or nodes < blocks[block].fewest:
        blocks[block].fewest = nodes
    if blocks[block].bits == 0 or requested_s < blocks[block].shortest_s:
        blocks[block].shortest_s = requested_s
    blocks[block].bits |= 1 << (rank & 63)
    s.first_block = block if s.n_waiting == 0 else min(s.first_block, block)
    s.end_block = max(s.end_block, block + 1)
    s.n_waiting += 1


@njit(**INNER_KERNEL)
def remove_waiting(s: State, blocks: Rows, rank: int) -> None:
    """Remove a job from the queue."""
    blocks[rank >> 6].bits &= ~(1 << (rank & 63))
    s.n_waiting -= 1


@njit(**INNER_KERNEL)
def first_waiting(s: State, blocks: Rows) -> int:
    """Return the smallest rank that waits; the queue is not empty."""
    # Invariant: no block before first_block has a bit set.
    while blocks[s.first_block].bits == 0:
        s.first_block += 1
    word = blocks[s.first_block].bits
    return rank_of(s.first_block, word & -word)


@njit(**INNER_KERNEL)
def is_in_front(s: State, blocks: Rows, rank: int, depth: int) -> bool:
    """Return whether fewer than ``depth`` jobs wait before this rank."""
    if s.n_waiting < depth:
        return True
    found, block = 0, s.first_block
    while found < depth and block < rank >> 6:
        found += popcount(blocks[block].bits)
        block += 1
    if found < depth and block == rank >> 6:
        found += popcount(blocks[block].bits & ((1 << (rank & 63)) - 1))
    return found < depth


@njit(**INNER_KERNEL)
def list_waiting(s: State, blocks: Rows, listed: Rows, depth: int) -> int:
    """Write the first ``depth`` ranks that wait, ascending; how many there are."""
    n, block = 0, s.first_block
    wanted = min(depth, s.n_waiting)
    while n < wanted:
        word = blocks[block].bits
        while word != 0 and n < wanted:
            bit = word & -word
            word ^= bit
            listed[n].rank = rank_of(block, bit)
            n += 1
        block += 1
    return n
