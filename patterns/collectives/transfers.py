"""Transfers of a collective, and how larger collectives are built from smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patterns.build import Messages, make_messages, need_messages

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Transfers:
    """Parts of a buffer that ranks send each other in steps; independent of its size.

    The buffer is cut into ``n_units`` parts that differ by one byte at most. A rank sends what it
    has of a range of units when it posts the message, and has used what it received by the end of
    the step in which it waits for it. What arrives is added up or replaces what is there,
    according to the collective.
    """

    n_steps: int
    n_units: int
    src: IntArray
    src_step: IntArray
    dst: IntArray
    dst_step: IntArray
    """src, src_step, dst, dst_step: (m,) int64. As in `patterns.build.Messages`."""
    first: IntArray
    last: IntArray
    """first, last: (m,) int64. The message carries the units ``first .. last - 1``."""

    def __len__(self) -> int:
        return len(self.src)

    def n_bytes(self, buffer_bytes: int) -> IntArray:
        """Return the bytes of each message for a buffer of this size, at least 1, (m,) int64.

        Unit u begins at byte ``floor(u buffer_bytes / n_units)``.
        """
        share, rest = divmod(buffer_bytes, self.n_units)

        def begin(unit: IntArray) -> IntArray:
            return unit * share + unit * rest // self.n_units

        n_bytes: IntArray = np.maximum(1, begin(self.last) - begin(self.first))
        return n_bytes


def make_transfers(
    n_steps: int,
    n_units: int,
    src: ArrayLike,
    src_step: ArrayLike,
    dst: ArrayLike,
    dst_step: ArrayLike,
    units: tuple[ArrayLike, ArrayLike],
) -> Transfers:
    """Build transfers from arrays that broadcast together; ``units`` is (first, last)."""
    columns = np.broadcast_arrays(src, src_step, dst, dst_step, *units)
    flat = [np.ascontiguousarray(x, dtype=np.int64).reshape(-1) for x in columns]
    return Transfers(n_steps, n_units, *flat)


def join(n_steps: int, n_units: int, parts: Sequence[Transfers]) -> Transfers:
    """Return all transfers of several lists, whose steps and units are already those given."""
    columns = [(t.src, t.src_step, t.dst, t.dst_step, t.first, t.last) for t in parts]
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
    return Transfers(n_steps, n_units, *joined)


def reverse(t: Transfers) -> Transfers:
    """Return the transfers backwards in time, each from its receiver to its sender.

    A reduction to some ranks becomes a distribution from them: a reduce-scatter an all-gather.
    """
    end = t.n_steps - 1
    return Transfers(
        t.n_steps,
        t.n_units,
        src=t.dst[::-1],
        src_step=end - t.dst_step[::-1],
        dst=t.src[::-1],
        dst_step=end - t.src_step[::-1],
        first=t.first[::-1],
        last=t.last[::-1],
    )


def then(*parts: Transfers) -> Transfers:
    """Return the transfers of several collectives on one buffer, one after the other."""
    begin, shifted = 0, []
    for t in parts:
        shifted.append(replace(t, src_step=t.src_step + begin, dst_step=t.dst_step + begin))
        begin += t.n_steps
    return join(begin, parts[0].n_units, shifted)


def interleave(parts: Sequence[Transfers], chunks: int, lag: int | None = None) -> Transfers:
    """Run several collectives of one shape side by side, each on its own parts of the buffer.

    Turns are all parts with their first chunk, then the second, ...: step s of turn q is step ``s
    lag + q``. A message is waited for just before the first step that may need it. By default
    ``lag`` is all turns: each step comes for all chunks, then the next one, and as many messages of
    a rank are under way. With as many as there are parts a chunk is one step behind the chunk
    before it. Parts in which a rank has different roles need that: it would otherwise wait in each
    turn for ranks that wait in the turn before.
    """
    turns, n_steps, n_units = [*parts] * chunks, parts[0].n_steps, parts[0].n_units
    n, lag = len(turns), lag or len(turns)
    end = (n_steps - 1) * lag + n if n_steps else 0
    need_messages(n * len(parts[0]), end, f"a collective in {n} parts")
    return join(
        end,
        n_units * n,
        [
            replace(
                t,
                src_step=t.src_step * lag + q,
                dst_step=np.minimum((t.dst_step + 1) * lag + q, end) - 1,
                first=t.first + q * n_units,
                last=t.last + q * n_units,
            )
            for q, t in enumerate(turns)
        ],
    )


def pipeline(phases: Sequence[Transfers], chunks: int) -> Transfers:
    """Send a buffer chunk by chunk through phases that each follow the one before.

    While chunk j is in a phase, chunk j + 1 is in the phase before it. A rank goes to the next
    phases when all of its messages in the present ones have arrived.
    """
    slot, n_units = max(t.n_steps for t in phases), phases[0].n_units
    n_slots = chunks + len(phases) - 1
    n_messages = chunks * sum(map(len, phases))
    need_messages(n_messages, n_slots * slot, f"a collective in {chunks} chunks")
    parts = []
    for j in range(chunks):
        for f, t in enumerate(phases):
            waits = np.where(t.dst_step == t.n_steps - 1, slot - 1, t.dst_step)
            parts.append(
                replace(
                    t,
                    src_step=t.src_step + (j + f) * slot,
                    dst_step=waits + (j + f) * slot,
                    first=t.first + j * n_units,
                    last=t.last + j * n_units,
                )
            )
    return join(n_slots * slot, n_units * chunks, parts)


def in_groups(
    t: Transfers, members: IntArray, n_units: int, first_unit: ArrayLike = 0, stretch: int = 1
) -> Transfers:
    """Run a collective in each of several groups at once: rank ``members[g, i]`` is its rank i.

    The larger buffer has ``n_units``; that of a group begins at ``first_unit``, and has ``stretch``
    units for each unit of the collective.
    """
    begin = np.asarray(first_unit, dtype=np.int64)[..., None]
    return make_transfers(
        t.n_steps,
        n_units,
        members[:, t.src],
        t.src_step,
        members[:, t.dst],
        t.dst_step,
        (begin + stretch * t.first, begin + stretch * t.last),
    )


def to_messages(
    t: Transfers, members: IntArray, n_bytes: IntArray, first_step: int = 0
) -> Messages:
    """Return the messages of (n_groups, p) ranks; ``n_bytes`` of each transfer."""
    return make_messages(
        members[:, t.src],
        t.src_step + first_step,
        members[:, t.dst],
        t.dst_step + first_step,
        n_bytes,
    )
