"""Traces in GOAL, the text format of LogGOPSim and Schedgen."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from pathlib import Path

import numpy as np

from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.traffic import Program
from patterns.build import build_program, make_messages

_OPERATION = re.compile(
    r"(?:(?P<label>\w+)\s*:\s*)?"
    r"(?:(?P<kind>send|recv)\s+(?P<size>\d+)b?\s+(?P<way>to|from)\s+(?P<peer>\d+)"
    r"(?:\s+tag\s+(?P<tag>\d+))?|calc\s+(?P<time>\d+))"
    r"(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?"
)
_REQUIRES = re.compile(r"(\w+)\s+(requires|irequires)\s+(\w+)")
_NS = 1e-9


@dataclass
class _Op:
    """One operation of a rank, and what it needs: (number of the other, complete or started)."""

    line: int
    kind: str
    value: int  # bytes, or nanoseconds of a calc
    peer: int = -1
    tag: int = 0
    needs: list[tuple[int, bool]] = field(default_factory=list)


@dataclass
class _Rank:
    """A rank's operations in order, placed into steps."""

    compute_s: list[float]
    sends: list[tuple[_Op, int]]
    waits: list[tuple[_Op, int]]


def read_goal(path: str | Path) -> Program:
    """Read a GOAL trace; see `parse_goal`.

    Raises
    ------
    NetcosimError
        A file that cannot be read (binary GOAL cannot), and what `parse_goal` refuses.
    """
    return parse_goal(read_text(path), str(path))


def parse_goal(text: str, name: str = "goal") -> Program:
    """The program of a GOAL text (Hoefler, Siebert and Lumsdaine, ICPP 2009).

    ::

        num_ranks 2
        rank 0 { l1: calc 100; l2: send 8b to 1 tag 3; l2 requires l1 }
        rank 1 { l1: recv 8b from 0 tag 3; l2: calc 50; l2 requires l1 }

    One statement a line, or several parted by semicolons; ``//``, ``#`` and ``/* */`` comments.
    A ``calc`` is in nanoseconds. A message of 0 bytes is sent as 1 byte. The k-th
    send of a rank to another with some tag meets that rank's k-th receive of them.
    Operations of a rank that could run in any order run in the order of the text, on one
    processor. A send is complete when it is posted.

    A `Program` waits for *all* receives of a step before it goes on. So a calculation or
    send must need every receive that the rank waits for before it; if it could start
    earlier, the trace does not fit and is refused.

    Parameters
    ----------
    text : str
    name : str
        Stands before the line number in errors.

    Raises
    ------
    NetcosimError
        ``name:line`` and: a statement that is none, an unknown or repeated label, a rank
        outside ``num_ranks`` or given twice, a second processor or NIC, a cycle of
        requirements, a send without receive or the reverse, an operation that does not fit.
    """
    ranks = [_place(ops, name) for ops in _parse(text, name)]
    n_steps = np.array([len(r.compute_s) for r in ranks], dtype=np.int64)
    waiting: dict[tuple[int, int, int], list[tuple[_Op, int]]] = defaultdict(list)
    for dst, rank in enumerate(ranks):
        for op, step in reversed(rank.waits):
            waiting[op.peer, dst, op.tag].append((op, step))
    columns: list[tuple[int, int, int, int, int]] = []
    for src, rank in enumerate(ranks):
        for op, step in rank.sends:
            queue = waiting[src, op.peer, op.tag]
            if not queue:
                raise NetcosimError(
                    f"{name}:{op.line}: rank {op.peer} has no receive for this send of rank {src} "
                    f"with tag {op.tag}"
                )
            receive, receive_step = queue.pop()
            if receive.value != op.value:
                raise NetcosimError(
                    f"{name}:{op.line}: {op.value} bytes are sent, but line {receive.line} "
                    f"receives {receive.value}"
                )
            columns.append((src, step, op.peer, receive_step, max(1, op.value)))
    for (src, dst, tag), queue in waiting.items():
        if queue:
            raise NetcosimError(
                f"{name}:{queue[-1][0].line}: rank {src} has no send for this receive of rank "
                f"{dst} with tag {tag}"
            )
    table = np.array(columns, dtype=np.int64).reshape(-1, 5)
    compute_s = np.concatenate([np.array(r.compute_s) for r in ranks])
    return build_program(len(ranks), n_steps, make_messages(*table.T), compute_s=compute_s)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """(line number, statement or brace) without comments."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match.group().count("\n")

    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.DOTALL)
    for number, line in enumerate(text.split("\n"), start=1):
        for part in re.split(r"([{};])", re.split(r"//|#", line)[0]):
            statement = part.strip()
            if statement and statement != ";":
                yield number, statement


def _parse(text: str, name: str) -> list[list[_Op]]:
    """The operations of each rank."""
    ranks: list[list[_Op] | None] | None = None
    current: int | None = None
    opened = False
    labels: dict[str, int] = {}
    links: list[tuple[int, str, bool, str]] = []
    number = 0
    for number, statement in _statements(text):
        where = f"{name}:{number}"
        if ranks is None:
            match = re.fullmatch(r"num_ranks\s+(\d+)", statement)
            if not match or int(match.group(1)) < 1:
                raise NetcosimError(f"{where}: {statement!r}; 'num_ranks N' must come first")
            ranks = [None] * int(match.group(1))
        elif current is None:
            match = re.fullmatch(r"rank\s+(\d+)", statement)
            if not match:
                raise NetcosimError(f"{where}: {statement!r}; 'rank R {{' is expected")
            current = int(match.group(1))
            if current >= len(ranks):
                raise NetcosimError(f"{where}: rank {current}; num_ranks is {len(ranks)}")
            if ranks[current] is not None:
                raise NetcosimError(f"{where}: rank {current} is given twice")
            ranks[current], labels, links = [], {}, []
        elif not opened:
            if statement != "{":
                raise NetcosimError(f"{where}: {statement!r}; '{{' is expected")
            opened = True
        elif statement == "}":
            _link(ranks[current] or [], labels, links, name)
            current, opened = None, False
        elif match := _REQUIRES.fullmatch(statement):
            links.append((number, match.group(1), match.group(2) == "requires", match.group(3)))
        else:
            own = ranks[current]
            assert own is not None
            label, op = _operation(statement, number, where, len(ranks))
            if label in labels:
                raise NetcosimError(f"{where}: label {label!r} is used twice in rank {current}")
            if label is not None:
                labels[label] = len(own)
            own.append(op)
    if ranks is None or current is not None:
        what = "'num_ranks N' is missing" if ranks is None else f"rank {current} is not closed"
        raise NetcosimError(f"{name}:{max(number, 1)}: the text ends, but {what}")
    return [ops or [] for ops in ranks]


def _operation(statement: str, line: int, where: str, n_ranks: int) -> tuple[str | None, _Op]:
    """Label and operation of a statement."""
    match = _OPERATION.fullmatch(statement)
    if not match or (
        match["kind"] and match["way"] != {"send": "to", "recv": "from"}[match["kind"]]
    ):
        raise NetcosimError(
            f"{where}: {statement!r} is not understood; 'send Nb to R tag T', 'recv Nb from R tag "
            "T', 'calc N' or 'a requires b' are"
        )
    if int(match["cpu"] or 0) or int(match["nic"] or 0):
        raise NetcosimError(f"{where}: {statement!r}; a rank has one processor and one NIC, 0")
    if match["kind"] is None:
        return match["label"], _Op(line, "calc", int(match["time"]))
    peer = int(match["peer"])
    if peer >= n_ranks:
        raise NetcosimError(f"{where}: rank {peer}; num_ranks is {n_ranks}")
    return match["label"], _Op(
        line, match["kind"], int(match["size"]), peer, int(match["tag"] or 0)
    )


def _link(
    ops: list[_Op], labels: dict[str, int], links: list[tuple[int, str, bool, str]], name: str
) -> None:
    """Enter the requirements of a rank into its operations."""
    for line, later, complete, earlier in links:
        for label in (later, earlier):
            if label not in labels:
                raise NetcosimError(f"{name}:{line}: no operation has the label {label!r}")
        ops[labels[later]].needs.append((labels[earlier], complete))


def _order(ops: list[_Op], name: str) -> list[int]:
    """The operations so that each comes after what it needs, else as in the text."""
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
        raise NetcosimError(f"{name}:{ops[stuck].line}: this operation waits for itself in a cycle")
    return order


def _place(ops: list[_Op], name: str) -> _Rank:
    """Put a rank's operations into steps.

    The level of an operation is the number of receives, one after the other, that it
    must see complete. Operations of a level run together; each receive is waited for as
    late as the first operation that needs it allows.
    """
    order = _order(ops, name)
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
    _check_fit(ops, order, level, wait_level, n_levels, name)
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
    ops: list[_Op],
    order: list[int],
    level: list[int],
    wait_level: list[int],
    n_levels: int,
    name: str,
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
            other = min(members[base[i]] - known, key=lambda j: ops[j].line)
            raise NetcosimError(
                f"{name}:{ops[i].line}: this {ops[i].kind} may start before the receive of line "
                f"{ops[other].line} is complete; a rank here waits for all receives before it goes "
                "on, so it must require that one too"
            )
