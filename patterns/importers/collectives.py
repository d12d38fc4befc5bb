"""Sends and receives of each rank of an MPI collective, by the project's own patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from netsim.traffic import Program
from patterns.all_to_all import all_to_all
from patterns.broadcast import broadcast
from patterns.build import build_program, join, make_messages
from patterns.collective import allreduce_recursive_doubling, collective

Sizes = Sequence[tuple[int, int]]
"""(bytes sent, bytes received) of each rank, as recorded."""
Step = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
"""What a rank sends, then waits for: (other rank, bytes) each."""


def barrier(n_ranks: int, message_bytes: int) -> Program:
    """Build a dissemination barrier: in round k, r sends to r + 2^k (Hensgen et al., 1988)."""
    rank = np.arange(n_ranks, dtype=np.int64)
    rounds = (n_ranks - 1).bit_length()
    parts = [make_messages(rank, k, (rank + (1 << k)) % n_ranks, k, 1) for k in range(rounds)]
    return build_program(n_ranks, rounds, join(parts))


def allgather(n_ranks: int, message_bytes: int) -> Program:
    """Build a ring all-gather: in n - 1 rounds each rank passes its latest block on."""
    return collective(n_ranks, n_ranks * message_bytes, 1, "all-gather", "ring", chunks=1)


def bcast(n_ranks: int, message_bytes: int) -> Program:
    """Return a binomial tree down from rank 0."""
    return broadcast(n_ranks, message_bytes, algorithm="binomial")


def reduce(n_ranks: int, message_bytes: int) -> Program:
    """Return the binomial tree of `bcast` upwards: a rank waits for its children, then sends to its
    parent.

    Adding up takes no time.
    """
    down = bcast(n_ranks, message_bytes)
    messages = make_messages(down.send_dst, 1, down.send_src(), 0, message_bytes)
    return build_program(n_ranks, 2, messages)


def _block(sizes: Sizes) -> int:
    """Return the bytes of one block where each rank counts one for every rank, its own among them.

    With ``MPI_IN_PLACE`` its own is not counted, which shows only where the sum does not divide.
    """
    total, n = max(max(pair) for pair in sizes), len(sizes)
    return total // n if total % n == 0 else total // max(1, n - 1)


EXPANDED: dict[str, tuple[Callable[[int, int], Program], Callable[[Sizes], int]]] = {
    "barrier": (barrier, lambda sizes: 1),
    "bcast": (bcast, lambda sizes: max(received for _, received in sizes)),
    "reduce": (reduce, lambda sizes: max(sent for sent, _ in sizes)),
    "allreduce": (allreduce_recursive_doubling, _block),
    "allgather": (allgather, _block),
    "alltoall": (all_to_all, _block),
}
"""Each supported collective: its senders and receivers, and bytes from the Score-P records."""


@lru_cache(maxsize=64)
def steps_of(name: str, n_ranks: int, message_bytes: int) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of every rank, at least 2, of a collective of `EXPANDED` with root 0.

    ``message_bytes`` are those of one block; 0 is sent as 1 byte.
    """
    program = EXPANDED[name][0](n_ranks, max(1, message_bytes))
    receives: list[list[tuple[int, int]]] = [[] for _ in range(program.n_steps)]
    for src, step, size in zip(
        program.send_src().tolist(),
        program.send_step.tolist(),
        program.send_bytes.tolist(),
        strict=True,
    ):
        receives[step].append((src, size))
    sends = list(zip(program.send_dst.tolist(), program.send_bytes.tolist(), strict=True))
    ptr = program.send_ptr.tolist()
    steps = [
        (tuple(sends[ptr[k] : ptr[k + 1]]), tuple(receives[k])) for k in range(program.n_steps)
    ]
    first = program.step_ptr.tolist()
    return tuple(tuple(steps[first[r] : first[r + 1]]) for r in range(n_ranks))
