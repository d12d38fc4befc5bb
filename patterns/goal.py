"""Traces in GOAL, the format of LogGOPSim, Schedgen and ATLAHS, as text or binary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Gt

from netsim.errors import NetcosimError
from netsim.files import check_file, read_bytes
from netsim.limits import need_memory, shown
from netsim.parameters import NamesFile, OneOf
from netsim.text_numbers import need_whole
from netsim.traffic import Program
from patterns.entry import Pattern
from patterns.goal_binary import is_binary, operations_in
from patterns.goal_steps import OVERLAPS, Op, Places, Trace, trace_of

_OPERATION = re.compile(
    r"(?:(?P<label>\w+)\s*:\s*)?"
    r"(?:(?P<kind>send|recv)\s+(?P<size>[0-9]+)b?\s+(?P<way>to|from)\s+(?P<peer>[0-9]+)"
    r"(?:\s+tag\s+(?P<tag>[0-9]+))?|calc\s+(?P<time>[0-9]+))"
    r"(?:\s+cpu\s+(?P<cpu>[0-9]+))?(?:\s+nic\s+(?P<nic>[0-9]+))?"
)
_REQUIRES = re.compile(r"(\w+)\s+(requires|irequires)\s+(\w+)")
TEXT_BYTES = 40
"""Of each character of a trace as text, from its operation to its message."""
RANK_BYTES = 500
"""Of a rank that has nothing to do, from its line to its place in a program."""


def goal(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    file: Annotated[str, "the trace, text or binary", NamesFile],
    scale: Annotated[float, "messages are so many times as long as in the trace", Gt(0)] = 1.0,
    compute: Annotated[bool, "whether the trace's calculations take their time"] = True,
    overlap: Annotated[
        str, "operations of a rank that the trace lets run side by side", OneOf(OVERLAPS)
    ] = "streams",
) -> Program:
    """Build the program of a GOAL trace: rank r of the trace, with its sizes, is that of the job.

    Further ranks of the job are idle. Each rank goes through its part ``iterations`` times.
    """
    return read_trace(file, overlap).program(n_ranks, iterations, scale, compute=compute)


def _ranks(file: str, overlap: str = "streams", **others: object) -> int:
    return read_trace(file, overlap).n_ranks


def _used(n_ranks: int, **parameters: Any) -> int:
    found = _ranks(**parameters)
    return found if n_ranks >= found else 0


PATTERN = Pattern(
    "goal",
    "what the ranks of a GOAL trace (file) do, with its sizes, not M; a job's others are idle",
    goal,
    _ranks,
    _used,
)


def read_trace(path: str | Path, overlap: str = "streams") -> Trace:
    """Read a GOAL trace, text (`_parse`) or binary (`patterns.goal_binary`), gzipped or not.

    The last few that were read are kept; a file that has changed is read again.
    """
    check_file(path)
    found = Path(path).stat()
    return _read(str(path), overlap, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read(path: str, overlap: str, mtime_ns: int, size: int) -> Trace:
    raw = read_bytes(path)
    if is_binary(raw):
        places = Places(path, "operation")
        return trace_of(operations_in(raw, path), places, overlap)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NetcosimError(
            f"{path}: neither binary GOAL nor text (no UTF-8 at byte {error.start})"
        ) from None
    return trace_of(_parse(text, path), Places(path), overlap)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, statement or brace) without comments."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match.group().count("\n")

    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.DOTALL)
    for number, line in enumerate(text.split("\n"), start=1):
        for part in re.split(r"([{};])", re.split(r"//|#", line)[0]):
            statement = part.strip()
            if statement and statement != ";":
                yield number, statement


def _parse(text: str, name: str) -> list[list[Op]]:
    """Return the operations of each rank of a GOAL text (Hoefler et al., ICPP 2009).

    ::

        num_ranks 2 rank 0 { l1: calc 100; l2: send 8b to 1 tag 3; l2 requires l1 } rank 1 { l1:
        recv 8b from 0 tag 3; l2: calc 50; l2 requires l1 }

    A ``calc`` is in nanoseconds. A message of 0 bytes is sent as 1 byte. The k-th send of a rank to
    another with some tag meets that rank's k-th receive of them. Calculations that could run in any
    order run in the order of the text on each ``cpu``. A send is complete when it is posted; the
    network's rail policy chooses its port, not ``nic``.
    """
    need_memory(f"{name}: a text of {len(text):,} characters", len(text) * TEXT_BYTES)
    ranks: list[list[Op] | None] | None = None
    current: int | None = None
    opened = False
    labels: dict[str, int] = {}
    links: list[tuple[int, str, bool, str]] = []
    number = 0
    for number, statement in _statements(text):
        where = f"{name}:{number}"
        if ranks is None:
            ranks = [None] * _n_ranks(statement, where)
        elif current is None:
            match = re.fullmatch(r"rank\s+([0-9]+)", statement)
            if not match:
                raise NetcosimError(f"{where}: {statement!r}; 'rank R {{' is expected")
            current = need_whole(where, "rank", match.group(1))
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


def _n_ranks(statement: str, where: str) -> int:
    """Return the number of ranks, with which a text begins."""
    match = re.fullmatch(r"num_ranks\s+([0-9]+)", statement)
    if not match or match.group(1).strip("0") == "":
        raise NetcosimError(f"{where}: {statement!r}; 'num_ranks N' must come first")
    n_ranks = need_whole(where, "num_ranks", match.group(1))
    need_memory(f"{where}: num_ranks {shown(n_ranks)}", n_ranks * RANK_BYTES)
    return n_ranks


def _operation(statement: str, line: int, where: str, n_ranks: int) -> tuple[str | None, Op]:
    """Parse the label and operation of a statement."""
    match = _OPERATION.fullmatch(statement)
    if not match or (
        match["kind"] and match["way"] != {"send": "to", "recv": "from"}[match["kind"]]
    ):
        raise NetcosimError(
            f"{where}: {statement[:200]!r} is not understood; 'send Nb to R tag T', 'recv Nb from "
            "R tag T', 'calc N' or 'a requires b' are"
        )
    keys = ("size", "peer", "tag", "time", "cpu")
    given = {key: need_whole(where, key, match[key] or "0") for key in keys}
    if match["kind"] is None:
        return match["label"], Op(line, "calc", given["time"], cpu=given["cpu"])
    if given["peer"] >= n_ranks:
        raise NetcosimError(f"{where}: rank {given['peer']}; num_ranks is {n_ranks}")
    op = Op(line, match["kind"], given["size"], given["peer"], given["tag"], given["cpu"])
    return match["label"], op


def _link(
    ops: list[Op], labels: dict[str, int], links: list[tuple[int, str, bool, str]], name: str
) -> None:
    """Add the requirements of a rank to its operations."""
    for line, later, complete, earlier in links:
        for label in (later, earlier):
            if label not in labels:
                raise NetcosimError(f"{name}:{line}: no operation has the label {label!r}")
        ops[labels[later]].needs.append((labels[earlier], complete))
