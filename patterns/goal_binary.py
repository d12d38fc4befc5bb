"""Binary GOAL: what ``txt2bin`` of LogGOPSim and ATLAHS writes.

Little-endian, without padding. A head: a number that marks the format (64 bits), ranks (32 bits),
highest processor and NIC (8 bits each), and for each rank where its part begins and ends, counted
from behind the mark (64 bits each). A rank's part: how many operations, how many that need nothing,
the numbers of these (32 bits each), the operations (`_OPERATION`), and the operations that need
others: each operation has the positions in this list of those that need it complete or started.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from patterns.goal_steps import Op

MARK = 4223
_HEAD = struct.Struct("<QIBB")
_AFTER_MARK = 8
_OPERATION = np.dtype(
    [
        ("needs", "<u4"),
        ("kind", "u1"),
        ("peer", "<u4"),
        ("value", "<u8"),
        ("tag", "<u4"),
        ("cpu", "u1"),
        ("nic", "u1"),
        ("complete_count", "<u4"),
        ("complete_first", "<u4"),
        ("started_count", "<u4"),
        ("started_first", "<u4"),
    ]
)
_KINDS = {1: "send", 2: "recv", 3: "calc"}
_ANY = 2**32 - 1
_MOST = 10**18
_OP_BYTES = 400

Rows = NDArray[Any]


def is_binary(raw: bytes | bytearray) -> bool:
    """Return whether a file begins as binary GOAL does."""
    return len(raw) >= 8 and int.from_bytes(raw[:8], "little") == MARK


def operations_in(raw: bytes | bytearray, name: str) -> list[list[Op]]:
    """Return the operations of every rank, whose ``place`` is their number in the rank, from 0."""
    if len(raw) < _HEAD.size:
        raise NetcosimError(f"{name}: the binary GOAL file ends in its head")
    _, n_ranks, _, _ = _HEAD.unpack_from(raw)
    if n_ranks < 1 or _HEAD.size + 16 * n_ranks > len(raw):
        raise NetcosimError(
            f"{name}: a binary GOAL file of {len(raw):,} bytes has no room for {n_ranks:,} ranks"
        )
    table = np.frombuffer(raw, dtype="<u8", count=2 * n_ranks, offset=_HEAD.size).reshape(-1, 2)
    need_memory(f"{name}: the operations", len(raw) // _OPERATION.itemsize * _OP_BYTES)
    found = []
    for rank, (begin, end) in enumerate(table.tolist()):
        where = f"{name}, rank {rank}"
        if not begin <= end <= len(raw) - _AFTER_MARK:
            raise NetcosimError(f"{where}: bytes {begin} to {end} of a file of {len(raw):,} bytes")
        part = memoryview(raw)[_AFTER_MARK + begin : _AFTER_MARK + end]
        found.append(_rank(part, where, n_ranks))
    return found


def _rank(part: memoryview, where: str, n_ranks: int) -> list[Op]:
    """Return the operations of one rank."""
    if len(part) < 8:
        raise NetcosimError(f"{where}: cut off")
    n_ops, n_roots = struct.unpack_from("<II", part)
    at = 8 + 4 * n_roots
    end = at + n_ops * _OPERATION.itemsize
    if end > len(part):
        raise NetcosimError(f"{where}: {len(part):,} bytes have no room for {n_ops:,} operations")
    rows = np.frombuffer(part[at:end], dtype=_OPERATION)
    needed_by = np.frombuffer(part[end : end + (len(part) - end) // 4 * 4], dtype="<u4")
    _check(rows, where, n_ranks)
    ops = [
        Op(i, _KINDS[kind], value, peer if kind < 3 else -1, tag, cpu)
        for i, (kind, value, peer, tag, cpu) in enumerate(
            rows[["kind", "value", "peer", "tag", "cpu"]].tolist()
        )
    ]
    for how, complete in (("complete", True), ("started", False)):
        first = rows[f"{how}_first"].astype(np.int64)
        count = rows[f"{how}_count"].astype(np.int64)
        wrong = np.flatnonzero((count > 0) & (first + count > len(needed_by)))
        if len(wrong):
            raise NetcosimError(f"{where}, operation {wrong[0]}: more need it than the file has")
        for i in np.flatnonzero(count).tolist():
            for later in needed_by[first[i] : first[i] + count[i]].tolist():
                if later >= n_ops:
                    raise NetcosimError(f"{where}, operation {i}: operation {later} of {n_ops}")
                ops[later].needs.append((i, complete))
    for i, (op, needs) in enumerate(zip(ops, rows["needs"].tolist(), strict=True)):
        if len(op.needs) != needs:
            raise NetcosimError(f"{where}, operation {i}: needs {needs}, found {len(op.needs)}")
    return ops


def _check(rows: Rows, where: str, n_ranks: int) -> None:
    """Check that every operation is valid."""
    talks = rows["kind"] < 3
    for problem, wrong in (
        ("of no known kind", ~np.isin(rows["kind"], list(_KINDS))),
        ("receives from any rank or with any tag, which is not known here",
         talks & ((rows["peer"] == _ANY) | (rows["tag"] == _ANY))),
        (f"its rank is not one of {n_ranks}", talks & (rows["peer"] >= n_ranks)),
        ("too large", rows["value"] > _MOST),
    ):  # fmt: skip
        if wrong.any():
            raise NetcosimError(f"{where}, operation {int(np.argmax(wrong))}: {problem}")
