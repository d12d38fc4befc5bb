"""From lists of messages, each with the steps it belongs to, to a Program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, need_memory, shown
from netsim.traffic import Program


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of one iteration; steps are numbered from 0 at each rank."""

    src: NDArray[np.int64]
    src_step: NDArray[np.int64]
    """(m,) int64. Step of the sender in which the message is posted. Messages of one step are
    posted in the order of the arrays."""
    dst: NDArray[np.int64]
    """src, dst: (m,) int64. Sending and receiving rank."""
    dst_step: NDArray[np.int64]
    """(m,) int64. Step of the receiver that the message counts toward."""
    n_bytes: NDArray[np.int64]
    """(m,) int64. At least 1; 0 for a signal between streams of a rank."""

    def __len__(self) -> int:
        return len(self.src)

    def later(self, steps: int) -> Messages:
        """Return the messages so many steps later."""
        return replace(self, src_step=self.src_step + steps, dst_step=self.dst_step + steps)


def in_order_of(needs: Sequence[Sequence[int]]) -> list[int]:
    """Return numbers so that each comes after those that it needs, else ascending.

    Those that wait for themselves in a cycle are left out.
    """
    left, after = [len(one) for one in needs], list[list[int]]([] for _ in needs)
    for i, one in enumerate(needs):
        for j in one:
            after[j].append(i)
    ready, order = [i for i, n in enumerate(left) if n == 0], list[int]()
    while ready:
        order.append(heappop(ready))
        for j in after[order[-1]]:
            left[j] -= 1
            if left[j] == 0:
                heappush(ready, j)
    return order


def make_messages(
    src: ArrayLike, src_step: ArrayLike, dst: ArrayLike, dst_step: ArrayLike, n_bytes: ArrayLike
) -> Messages:
    """Build messages from arrays that broadcast against each other, flattened in C order."""
    columns = np.broadcast_arrays(src, src_step, dst, dst_step, n_bytes)
    a, b, c, d, e = (np.ascontiguousarray(x, dtype=np.int64).reshape(-1) for x in columns)
    return Messages(a, b, c, d, e)


def select(messages: Messages, keep: NDArray[np.bool_]) -> Messages:
    """Return the messages where ``keep`` is true."""
    m = messages
    return Messages(m.src[keep], m.src_step[keep], m.dst[keep], m.dst_step[keep], m.n_bytes[keep])


def join(parts: Sequence[Messages]) -> Messages:
    """Return all messages of several lists, in that order."""
    if not parts:
        return make_messages([], [], [], [], [])
    columns = (field.name for field in fields(Messages))
    return Messages(*(np.concatenate([getattr(p, name) for p in parts]) for name in columns))


MESSAGE_BYTES = 200
"""For each message of a program that is built and joined with others.

Building by itself took 104 at the peak for an all-to-all and 114 for a halo3d26."""
STEP_BYTES = 80
"""The same for each step of each rank."""


def need_messages(n_messages: int, n_steps: int, given: str) -> None:
    """Refuse a program that cannot be numbered or held, before it is made.

    The messages and steps are those of all ranks and iterations, in whole numbers, which do not
    overflow; ``given`` are the parameters that make so many.
    """
    size = f"pattern: {given} makes {shown(n_messages)} messages in {shown(n_steps)} steps"
    if max(n_messages, n_steps) > MAX_INDEX:
        raise NetcosimError(f"{size}; at most {MAX_INDEX:,} can be numbered")
    need_memory(size, n_messages * MESSAGE_BYTES + n_steps * STEP_BYTES)


def build_program(
    n_ranks: int,
    n_steps: int | NDArray[np.int64],
    messages: Messages,
    iterations: int = 1,
    compute_s: ArrayLike = 0.0,
    wait: bool = True,
    *,
    stream_ptr: NDArray[np.int64] | None = None,
    kinds: tuple[str, ...] = (),
    step_kind: ArrayLike = 0,
) -> Program:
    """Make the Program in which every rank repeats its steps ``iterations`` times.

    Steps, of all ranks or of each, and messages are those of one iteration. ``compute_s`` is
    computing before the sends: of all steps, of each if all ranks have the same steps, or of each
    step of each rank. ``step_kind`` has the same shapes. With ``wait`` a step waits for all
    messages that name it.

    ``stream_ptr`` is the first stream of each rank. Messages, steps and times are then those of
    streams, numbered through, where they are those of ranks without it.
    """
    n_streams = n_ranks if stream_ptr is None else int(stream_ptr[-1])
    per_rank = np.broadcast_to(np.asarray(n_steps, dtype=np.int64), (n_streams,))
    step_ptr = np.concatenate(([0], np.cumsum(per_rank)))
    total = int(step_ptr[-1])
    _need_repeated(n_ranks, len(messages), total, iterations)
    sender, receiver, dst, n_bytes = _in_order(messages, step_ptr)
    sends = np.bincount(sender, minlength=total)
    need = np.bincount(receiver, minlength=total) if wait else np.zeros(total)
    if stream_ptr is not None:
        dst = np.repeat(np.arange(n_ranks), np.diff(stream_ptr))[dst]
    once = Program(
        n_ranks=n_ranks,
        step_ptr=step_ptr,
        compute_s=_of_steps(np.asarray(compute_s, dtype=np.float64), n_streams, total),
        recv_need=need.astype(np.int32),
        send_ptr=np.concatenate(([0], np.cumsum(sends))).astype(np.int64),
        send_dst=dst.astype(np.int32),
        send_bytes=n_bytes,
        send_step=receiver.astype(np.int32),
        stream_ptr=stream_ptr,
        kinds=kinds,
        step_kind=_of_steps(np.asarray(step_kind, np.int8), n_streams, total) if kinds else None,
    )
    return repeated(once, iterations)


def _need_repeated(n_ranks: int, n_messages: int, n_steps: int, iterations: int) -> None:
    given = f"iterations = {shown(iterations)} (rounds among them) on {n_ranks} ranks"
    need_messages(n_messages * iterations, n_steps * iterations, given)


def _in_order(messages: Messages, step_ptr: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return steps of senders and receivers, numbered through, receivers and bytes, as sent."""
    sender = step_ptr[messages.src] + messages.src_step
    receiver = step_ptr[messages.dst] + messages.dst_step
    dst, n_bytes = messages.dst, messages.n_bytes
    if len(sender) > 1 and np.any(sender[1:] < sender[:-1]):
        order = np.argsort(sender, kind="stable")
        return sender[order], receiver[order], dst[order], n_bytes[order]
    return sender, receiver, dst, n_bytes


def repeated(once: Program, iterations: int) -> Program:
    """Return the program in which each stream repeats its steps, one iteration after the other."""
    if iterations == 1:
        return once
    _need_repeated(once.n_ranks, once.n_messages, once.n_steps, iterations)
    first_send = once.send_ptr[once.step_ptr]
    step, sent = _places(once.step_ptr, iterations), _places(first_send, iterations)
    iteration = np.tile(np.arange(iterations, dtype=np.int32), once.n_streams)
    iteration = np.repeat(iteration, np.repeat(np.diff(first_send), iterations))
    # a message of iteration k counts toward its step of the receiver's iteration k
    to, first_step = once.send_stream(), once.step_ptr.astype(np.int32)
    in_first = once.send_step + first_step[to] * np.int32(iterations - 1)
    return replace(
        once,
        step_ptr=once.step_ptr * iterations,
        compute_s=once.compute_s[step],
        recv_need=once.recv_need[step],
        send_ptr=np.concatenate(([0], np.cumsum(np.diff(once.send_ptr)[step]))),
        send_dst=once.send_dst[sent],
        send_bytes=once.send_bytes[sent],
        send_step=in_first[sent] + iteration * np.diff(first_step)[to][sent],
        step_kind=None if once.step_kind is None else once.step_kind[step],
        step_waits_sends=None if once.step_waits_sends is None else once.step_waits_sends[step],
    )


def _places(ptr: NDArray[np.int64], iterations: int) -> NDArray[np.int64]:
    """Return the places from each pointer to the next, each so many times in a row."""
    size: NDArray[np.int64] = np.repeat(np.diff(ptr), iterations)
    first = np.repeat(ptr[:-1], iterations)
    places: NDArray[np.int64] = np.repeat(first - (np.cumsum(size) - size), size)
    places += np.arange(len(places))
    return places


def waiting_for_sends(program: Program) -> Program:
    """Return the program with every step also waiting for its rank's own sends; NICs do not."""
    if program.nic_stream is None:
        waits = np.ones(program.n_steps, dtype=np.bool_)
    else:
        waits = np.repeat(~program.nic_stream, np.diff(program.step_ptr))
    return replace(program, step_waits_sends=waits)


NOTICE_BYTES = 8
"""Of the request of a get, and of the answer to a put."""


def build_one_sided(
    n_ranks: int, n_steps: int, operations: Messages, is_get: bool, iterations: int = 1
) -> Program:
    """Make the Program of puts or gets, which the NIC of the target answers without a processor.

    The NIC of a rank has a stream for each rank that accesses it, which answers in order.
    Operations go from origin to target; ``dst_step`` is the step of the origin that waits for the
    answer.
    """
    o = operations
    pairs, pair_of = np.unique(o.dst * n_ranks + o.src, return_inverse=True)
    count = np.bincount(pair_of)
    target = pairs // n_ranks
    stream_ptr = np.concatenate(([0], np.cumsum(1 + np.bincount(target, minlength=n_ranks))))
    # Invariant: pairs are in the order of targets, and the first stream of a rank is its own
    nic = np.arange(len(pairs)) + target + 1
    place = np.empty(len(o), dtype=np.int64)
    place[np.lexsort((o.src_step, pair_of))] = np.arange(len(o)) - np.repeat(
        np.cumsum(count) - count, count
    )
    origin, answering = stream_ptr[o.src], nic[pair_of]
    there, back = (NOTICE_BYTES, o.n_bytes) if is_get else (o.n_bytes, NOTICE_BYTES)
    # a step sends before it waits: the step after that of a request answers it
    requests = make_messages(origin, o.src_step, answering, place, there)
    answers = make_messages(answering, place + 1, origin, o.dst_step, back)
    steps = np.full(stream_ptr[-1], n_steps)
    steps[nic] = count + 1
    is_nic = np.zeros(stream_ptr[-1], dtype=np.bool_)
    is_nic[nic] = True
    messages = join([requests, answers])
    program = build_program(n_ranks, steps, messages, iterations, stream_ptr=stream_ptr)
    return replace(program, nic_stream=is_nic)


def _of_steps(values: NDArray[Any], n_streams: int, n_steps: int) -> NDArray[Any]:
    """Return one value for each of all steps."""
    if values.ndim == 0:
        return np.full(n_steps, values)
    if len(values) != n_steps:
        values = np.tile(values, n_streams)
    if len(values) != n_steps:
        raise NetcosimError(f"pattern: {len(values)} compute times for {n_steps} steps")
    return values.copy()
