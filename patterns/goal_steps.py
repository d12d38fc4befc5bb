"""From the operations of a GOAL trace to the steps of a program."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import Messages, build_program, in_order_of, make_messages

_NS = 1e-9
OVERLAPS = {
    "streams": "they run side by side, calculations of a processor one after the other",
    "serialise": "they run one after the other, each after all that was to be received by then",
}
"""What becomes of operations of a rank that GOAL lets run side by side."""


@dataclass(slots=True)
class Op:
    """One operation of a rank, and what it needs: (number of the other, complete or started).

    ``place`` is its line, or its number where there are no lines.
    """

    place: int
    kind: str
    value: int  # bytes, or nanoseconds of a calc
    peer: int = -1
    tag: int = 0
    cpu: int = 0
    needs: list[tuple[int, bool]] = field(default_factory=list)


@dataclass(frozen=True)
class Places:
    """Names of the positions in a trace for errors."""

    name: str
    """Of the file."""
    unit: str = "line"
    """Either "line" or "operation"."""

    def at(self, place: int) -> str:
        """Return the begin of a message: ``name:17``."""
        return f"{self.name}{':' if self.unit == 'line' else f', {self.unit} '}{place}"


@dataclass(frozen=True, eq=False)
class Trace:
    """A GOAL trace in steps."""

    stream_ptr: NDArray[np.int64]
    """(n_ranks+1,) int64. First stream of each rank."""
    n_steps: NDArray[np.int64]
    """(n_streams,) int64."""
    messages: Messages
    """Between streams, signals among them."""
    compute_s: NDArray[np.float64]
    """(all steps,) float64."""

    @property
    def n_ranks(self) -> int:
        """Ranks of the trace."""
        return len(self.stream_ptr) - 1

    def program(
        self, n_ranks: int, iterations: int = 1, scale: float = 1.0, *, compute: bool = True
    ) -> Program:
        """Return the program of so many ranks; those beyond the trace's have nothing to do.

        Messages are ``scale`` times as long, in whole bytes and at least 1. Without ``compute``,
        calculations take no time.
        """
        m, more = self.messages, n_ranks - self.n_ranks
        n_bytes = m.n_bytes
        if scale != 1.0:
            n_bytes = np.maximum(n_bytes > 0, np.rint(n_bytes * scale)).astype(np.int64)
        steps = np.concatenate([self.n_steps, np.ones(more, dtype=np.int64)])
        compute_s = np.concatenate([self.compute_s, np.zeros(more)])
        messages = make_messages(m.src, m.src_step, m.dst, m.dst_step, n_bytes)
        stream_ptr = None
        if len(self.n_steps) > self.n_ranks:
            stream_ptr = np.append(self.stream_ptr, self.stream_ptr[-1] + 1 + np.arange(more))
        seconds = compute_s if compute else 0.0
        return build_program(n_ranks, steps, messages, iterations, seconds, stream_ptr=stream_ptr)


_Place = tuple[int, int]
"""A stream of a rank, and a step of it."""


@dataclass
class _Rank:
    """A rank's operations in order, placed into steps of streams."""

    compute_s: list[list[float]] = field(default_factory=list)
    sends: list[tuple[Op, _Place]] = field(default_factory=list)
    waits: list[tuple[Op, _Place]] = field(default_factory=list)
    signals: list[tuple[_Place, _Place]] = field(default_factory=list)

    def step(self, stream: int, seconds: float = 0.0) -> _Place:
        """Add a step to a stream."""
        self.compute_s[stream].append(seconds)
        return stream, len(self.compute_s[stream]) - 1


def trace_of(ops_of_ranks: list[list[Op]], places: Places, overlap: str = "streams") -> Trace:
    """Return the steps of a trace.

    A stream of a `Program` waits for *all* receives of a step before it continues. A rank whose
    calculations and sends need every receive that is waited for before them has one stream. Where
    some could start earlier, it has several, or these wait, too (``overlap``, a key of `OVERLAPS`).
    """
    ranks = [_place(ops, places, overlap) for ops in ops_of_ranks]
    begin = np.concatenate([[0], np.cumsum([len(rank.compute_s) for rank in ranks])]).astype(int)
    waiting: dict[tuple[int, int, int], list[tuple[Op, _Place]]] = defaultdict(list)
    for dst, rank in enumerate(ranks):
        for op, place in reversed(rank.waits):
            waiting[op.peer, dst, op.tag].append((op, place))
    columns: list[tuple[int, int, int, int, int]] = []
    for src, rank in enumerate(ranks):
        for op, (stream, step) in rank.sends:
            queue = waiting[src, op.peer, op.tag]
            if not queue:
                raise NetcosimError(
                    f"{places.at(op.place)}: rank {op.peer} has no receive for this send of rank "
                    f"{src} with tag {op.tag}"
                )
            receive, (other, its_step) = queue.pop()
            if receive.value != op.value:
                raise NetcosimError(
                    f"{places.at(op.place)}: {op.value} bytes are sent, but {places.unit} "
                    f"{receive.place} receives {receive.value}"
                )
            n_bytes = max(1, op.value)
            columns.append((begin[src] + stream, step, begin[op.peer] + other, its_step, n_bytes))
        # after the sends of a step, which they signal the end of
        for (stream, step), (other, its_step) in rank.signals:
            columns.append((begin[src] + stream, step, begin[src] + other, its_step, 0))
    for (src, dst, tag), queue in waiting.items():
        if queue:
            raise NetcosimError(
                f"{places.at(queue[-1][0].place)}: rank {src} has no send for this receive of rank "
                f"{dst} with tag {tag}"
            )
    table = np.array(columns, dtype=np.int64).reshape(-1, 5)
    streams = [steps for rank in ranks for steps in rank.compute_s]
    trace = Trace(
        begin,
        np.array([len(steps) for steps in streams], dtype=np.int64),
        make_messages(*table.T),
        np.concatenate([np.array(steps) for steps in streams]),
    )
    if overlap == "serialise" or len(streams) > len(ranks):
        _check_end(trace, places, overlap)
    return trace


def _check_end(trace: Trace, places: Places, overlap: str) -> None:
    """Run the steps without time: every stream must come to its end."""
    m = trace.messages
    ptr = np.concatenate([[0], np.cumsum(trace.n_steps)])
    sender, receiver = (ptr[m.src] + m.src_step), (ptr[m.dst] + m.dst_step)
    need = np.bincount(receiver, minlength=int(ptr[-1])).tolist()
    by_step: list[list[int]] = [[] for _ in need]
    for step, target in zip(sender.tolist(), receiver.tolist(), strict=True):
        by_step[step].append(target)
    owner = np.repeat(np.arange(len(trace.n_steps)), trace.n_steps).tolist()
    at, end = ptr[:-1].tolist(), ptr[1:].tolist()
    posted = [False] * len(need)
    ready = deque(range(len(at)))
    while ready:
        stream = ready.popleft()
        while at[stream] < end[stream]:
            step = at[stream]
            if not posted[step]:
                posted[step] = True
                for target in by_step[step]:
                    need[target] -= 1
                    if target == at[owner[target]] and posted[target]:
                        ready.append(owner[target])
            if need[step]:
                break
            at[stream] += 1
    ranks = np.repeat(np.arange(trace.n_ranks), np.diff(trace.stream_ptr)).tolist()
    stuck = sorted({r for r, a, e in zip(ranks, at, end, strict=True) if a < e})
    if stuck:
        raise NetcosimError(
            f'{places.name}: overlap = "{overlap}" makes {len(stuck)} ranks wait for each other '
            f"for ever, rank {stuck[0]} first; {_STUCK[overlap]}"
        )


_STUCK = {
    "serialise": "the trace needs what runs side by side",
    "streams": "calculations of a processor run in the order of the trace; give them others (cpu)",
}


def _order(ops: list[Op], places: Places) -> list[int]:
    """Return the operations so that each comes after what it needs, else as in the text."""
    order = in_order_of([[j for j, _ in op.needs] for op in ops])
    if len(order) < len(ops):
        first = min(set(range(len(ops))).difference(order))
        where = places.at(ops[first].place)
        raise NetcosimError(f"{where}: this operation waits for itself in a cycle")
    return order


def _place(ops: list[Op], places: Places, overlap: str) -> _Rank:
    """Put a rank's operations into steps.

    The level of an operation is the number of receives, one after the other, that it
    must see complete. Operations of a level run together; each receive is waited for as
    late as the first operation that needs it allows.
    """
    order = _order(ops, places)
    level = [0] * len(ops)
    for i in order:
        for j, complete in ops[i].needs:
            level[i] = max(level[i], level[j] + (complete and ops[j].kind == "recv"))
    n_levels = max(level, default=0) + 1
    wait_level = [n_levels - 1] * len(ops)
    for i, op in enumerate(ops):
        for j, complete in op.needs:
            if complete:
                wait_level[j] = min(wait_level[j], level[i] - 1)
    if overlap == "streams" and (
        len({op.cpu for op in ops if op.kind != "recv"}) > 1
        or not _fits_one_stream(ops, order, level, wait_level, n_levels)
    ):
        return _place_in_streams(ops, order)
    placed = _Rank([[]])
    by_level: list[list[int]] = [[] for _ in range(n_levels)]
    waited: list[list[int]] = [[] for _ in range(n_levels)]
    for i in order:
        by_level[level[i]].append(i)
        if ops[i].kind == "recv":
            waited[wait_level[i]].append(i)
    for k in range(n_levels):
        step, sent = placed.step(0), False
        for i in by_level[k]:
            if ops[i].kind == "calc":
                if sent:
                    step, sent = placed.step(0), False
                placed.compute_s[0][-1] += ops[i].value * _NS
            elif ops[i].kind == "send":
                placed.sends.append((ops[i], step))
                sent = True
        placed.waits += [(ops[i], step) for i in waited[k]]
    place = {id(ops[i]): position for position, i in enumerate(order)}
    placed.waits.sort(key=lambda wait: place[id(wait[0])])
    return placed


def _fits_one_stream(
    ops: list[Op], order: list[int], level: list[int], wait_level: list[int], n_levels: int
) -> bool:
    """Return whether no operation would wait for a receive which it does not need.

    Each operation carries ``base``: it needs all receives of the wait levels below, and
    a small set of further receives that it needs.
    """
    members: list[set[int]] = [set() for _ in range(n_levels)]
    for i, op in enumerate(ops):
        if op.kind == "recv":
            members[wait_level[i]].add(i)
    base = [0] * len(ops)
    further: list[set[int]] = [set() for _ in ops]
    for i in order:
        needs = ops[i].needs
        base[i] = max((base[j] for j, _ in needs), default=0)
        known = {j for j, complete in needs if complete and ops[j].kind == "recv"}
        known.update(*(further[j] for j, _ in needs))
        while base[i] < n_levels and members[base[i]] <= known:
            base[i] += 1
        further[i] = {j for j in known if wait_level[j] >= base[i]}
        if ops[i].kind != "recv" and base[i] < level[i]:
            return False
    return True


_POSTS = -1


def _streams_of(ops: list[Op], order: list[int]) -> list[int]:
    """Return the stream of each operation, such that none waits for one that it does not need.

    A processor's calculations are a stream, and so are the sends that need nothing, for a send
    takes no time. Other sends and receives follow an operation that they need, if it is the last
    of its stream so far; else they begin a new stream. Only what waits for nothing else may follow
    in a shared stream.
    """
    stream = [-1] * len(ops)
    last: list[int] = []
    """Of each stream, its last operation."""
    shared: dict[int, int] = {}
    """Stream of each processor, and of sends that need nothing."""
    for i in order:
        op, found = ops[i], len(last)
        if op.kind == "calc":
            found = shared.setdefault(op.cpu, found)
        elif op.kind == "send" and not op.needs:
            found = shared.setdefault(_POSTS, found)
        else:
            only = op.kind == "send" and len(op.needs) == 1
            for j, complete in op.needs:
                if complete and last[stream[j]] == j and (only or stream[j] not in shared.values()):
                    found = stream[j]
                    break
        if found == len(last):
            last.append(i)
        last[found] = i
        stream[i] = found
    return stream


def _place_in_streams(ops: list[Op], order: list[int]) -> _Rank:
    """Put a rank's operations into steps of several streams, with signals between them."""
    stream = _streams_of(ops, order)
    awaited = {
        need for i, op in enumerate(ops) for need in op.needs if stream[need[0]] != stream[i]
    }
    placed = _Rank([[] for _ in range(max(stream) + 1)])
    signals_of: dict[tuple[int, bool], _Place] = {}
    """The step that signals the end (True) or begin of an operation."""
    for i in order:
        op, mine = ops[i], stream[i]
        outside = [need for need in op.needs if stream[need[0]] != mine]
        if outside:
            wait = placed.step(mine)
            placed.signals += [(signals_of[need], wait) for need in outside]
        if op.kind == "calc":
            if (i, False) in awaited:
                signals_of[i, False] = placed.step(mine)
            signals_of[i, True] = placed.step(mine, op.value * _NS)
            continue
        signals_of[i, False] = signals_of[i, True] = step = placed.step(mine)
        if op.kind == "send":
            placed.sends.append((op, step))
        else:
            placed.waits.append((op, step))
            if (i, True) in awaited:
                signals_of[i, True] = placed.step(mine)
    return placed
