"""From the operations of a GOAL trace to the steps of a program."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import Messages, build_program, make_messages

_NS = 1e-9
OVERLAPS = {
    "refuse": "the trace is refused",
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
    needs: list[tuple[int, bool]] = field(default_factory=list)


@dataclass(frozen=True)
class Places:
    """Names of the positions in a trace for errors.

    Attributes
    ----------
    name : str
        Of the file.
    unit : str
        "line" or "operation".
    """

    name: str
    unit: str = "line"

    def at(self, place: int) -> str:
        """Return the begin of a message: ``name:17``."""
        return (
            f"{self.name}:{place}" if self.unit == "line" else f"{self.name}, {self.unit} {place}"
        )


@dataclass(frozen=True, eq=False)
class Trace:
    """A GOAL trace in steps.

    Attributes
    ----------
    n_steps : (n_ranks,) int64
    messages : Messages
    compute_s : (all steps,) float64
    """

    n_steps: NDArray[np.int64]
    messages: Messages
    compute_s: NDArray[np.float64]

    @property
    def n_ranks(self) -> int:
        """Ranks of the trace."""
        return len(self.n_steps)

    def program(
        self, n_ranks: int, iterations: int = 1, scale: float = 1.0, *, compute: bool = True
    ) -> Program:
        """Return the program of so many ranks; those beyond the trace's have nothing to do.

        Parameters
        ----------
        n_ranks : int
            At least the trace's.
        iterations : int
        scale : float
            Messages are so many times as long, in whole bytes and at least 1.
        compute : bool
            Whether calculations take their time.
        """
        m, more = self.messages, n_ranks - self.n_ranks
        if more < 0:
            raise NetcosimError(
                f"a trace of {self.n_ranks} ranks does not fit on a job of {n_ranks}; every rank "
                "of it needs one of the job's"
            )
        n_bytes = m.n_bytes
        if scale != 1.0:
            n_bytes = np.maximum(1, np.rint(n_bytes * scale)).astype(np.int64)
        steps = np.concatenate([self.n_steps, np.ones(more, dtype=np.int64)])
        compute_s = np.concatenate([self.compute_s, np.zeros(more)])
        messages = make_messages(m.src, m.src_step, m.dst, m.dst_step, n_bytes)
        return build_program(n_ranks, steps, messages, iterations, compute_s if compute else 0.0)


@dataclass
class _Rank:
    """A rank's operations in order, placed into steps."""

    compute_s: list[float]
    sends: list[tuple[Op, int]]
    waits: list[tuple[Op, int]]


def trace_of(ops_of_ranks: list[list[Op]], places: Places, overlap: str = "refuse") -> Trace:
    """Return the steps of a trace.

    A `Program` waits for *all* receives of a step before it continues. So a calculation or
    send must need every receive that the rank waits for before it; if it could start
    earlier, the trace is refused, or the operation waits for them (``overlap``).

    Parameters
    ----------
    ops_of_ranks : list of list of Op
    places : Places
    overlap : str
        A key of `OVERLAPS`.

    Raises
    ------
    NetcosimError
        The place and: a cycle of requirements, a send without receive or the reverse, an
        operation that does not fit; with "serialise", ranks that wait for each other for ever.
    """
    ranks = [_place(ops, places, overlap) for ops in ops_of_ranks]
    waiting: dict[tuple[int, int, int], list[tuple[Op, int]]] = defaultdict(list)
    for dst, rank in enumerate(ranks):
        for op, step in reversed(rank.waits):
            waiting[op.peer, dst, op.tag].append((op, step))
    columns: list[tuple[int, int, int, int, int]] = []
    for src, rank in enumerate(ranks):
        for op, step in rank.sends:
            queue = waiting[src, op.peer, op.tag]
            if not queue:
                raise NetcosimError(
                    f"{places.at(op.place)}: rank {op.peer} has no receive for this send of rank "
                    f"{src} with tag {op.tag}"
                )
            receive, receive_step = queue.pop()
            if receive.value != op.value:
                raise NetcosimError(
                    f"{places.at(op.place)}: {op.value} bytes are sent, but {places.unit} "
                    f"{receive.place} receives {receive.value}"
                )
            columns.append((src, step, op.peer, receive_step, max(1, op.value)))
    for (src, dst, tag), queue in waiting.items():
        if queue:
            raise NetcosimError(
                f"{places.at(queue[-1][0].place)}: rank {src} has no send for this receive of rank "
                f"{dst} with tag {tag}"
            )
    table = np.array(columns, dtype=np.int64).reshape(-1, 5)
    trace = Trace(
        np.array([len(r.compute_s) for r in ranks], dtype=np.int64),
        make_messages(*table.T),
        np.concatenate([np.array(r.compute_s) for r in ranks]),
    )
    if overlap == "serialise":
        _check_end(trace, places)
    return trace


def _check_end(trace: Trace, places: Places) -> None:
    """Run the steps without time: every rank must come to its end."""
    m = trace.messages
    ptr = np.concatenate([[0], np.cumsum(trace.n_steps)])
    sender, receiver = (ptr[m.src] + m.src_step), (ptr[m.dst] + m.dst_step)
    need = np.bincount(receiver, minlength=int(ptr[-1])).tolist()
    by_step: list[list[int]] = [[] for _ in need]
    for step, target in zip(sender.tolist(), receiver.tolist(), strict=True):
        by_step[step].append(target)
    owner = np.repeat(np.arange(trace.n_ranks), trace.n_steps).tolist()
    at, end = ptr[:-1].tolist(), ptr[1:].tolist()
    posted = [False] * len(need)
    ready = deque(range(trace.n_ranks))
    while ready:
        rank = ready.popleft()
        while at[rank] < end[rank]:
            step = at[rank]
            if not posted[step]:
                posted[step] = True
                for target in by_step[step]:
                    need[target] -= 1
                    if target == at[owner[target]] and posted[target]:
                        ready.append(owner[target])
            if need[step]:
                break
            at[rank] += 1
    stuck = [rank for rank in range(trace.n_ranks) if at[rank] < end[rank]]
    if stuck:
        raise NetcosimError(
            f'{places.name}: overlap = "serialise" makes {len(stuck)} ranks wait for each other '
            f"for ever, rank {stuck[0]} first; the trace needs what runs side by side"
        )


def _order(ops: list[Op], places: Places) -> list[int]:
    """Return the operations so that each comes after what it needs, else as in the text."""
    left = [len(op.needs) for op in ops]
    after: list[list[int]] = [[] for _ in ops]
    for i, op in enumerate(ops):
        for j, _ in op.needs:
            after[j].append(i)
    ready = [i for i, n in enumerate(left) if n == 0]
    heapify(ready)
    order = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in after[i]:
            left[j] -= 1
            if left[j] == 0:
                heappush(ready, j)
    if len(order) < len(ops):
        stuck = next(i for i, n in enumerate(left) if n)
        raise NetcosimError(
            f"{places.at(ops[stuck].place)}: this operation waits for itself in a cycle"
        )
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
    if overlap == "refuse":
        _check_fit(ops, order, level, wait_level, n_levels, places)
    placed = _Rank([], [], [])
    by_level: list[list[int]] = [[] for _ in range(n_levels)]
    waited: list[list[int]] = [[] for _ in range(n_levels)]
    for i in order:
        by_level[level[i]].append(i)
        if ops[i].kind == "recv":
            waited[wait_level[i]].append(i)
    for k in range(n_levels):
        placed.compute_s.append(0.0)
        sent = False
        for i in by_level[k]:
            if ops[i].kind == "calc":
                if sent:
                    placed.compute_s.append(0.0)
                    sent = False
                placed.compute_s[-1] += ops[i].value * _NS
            elif ops[i].kind == "send":
                placed.sends.append((ops[i], len(placed.compute_s) - 1))
                sent = True
        placed.waits += [(ops[i], len(placed.compute_s) - 1) for i in waited[k]]
    place = {id(ops[i]): position for position, i in enumerate(order)}
    placed.waits.sort(key=lambda wait: place[id(wait[0])])
    return placed


def _check_fit(
    ops: list[Op],
    order: list[int],
    level: list[int],
    wait_level: list[int],
    n_levels: int,
    places: Places,
) -> None:
    """Refuse an operation that would wait for a receive which it does not need.

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
            other = min(members[base[i]] - known, key=lambda j: ops[j].place)
            raise NetcosimError(
                f"{places.at(ops[i].place)}: this {ops[i].kind} may start before the receive of "
                f"{places.unit} {ops[other].place} is complete; a rank here waits for all receives "
                'before it continues, so it must require that one too, or overlap = "serialise" be '
                "given"
            )
