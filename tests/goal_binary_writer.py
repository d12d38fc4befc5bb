"""Writes binary GOAL from GOAL text as ``txt2bin`` does: plain, field by field."""

from __future__ import annotations

import re
import struct

_KINDS = {"send": 1, "recv": 2, "calc": 3}


def to_binary(text: str) -> bytes:
    """Text of one statement a line, without comments."""
    ranks: list[list[tuple[str, list[int]]]] = []
    edges: list[list[tuple[int, int, bool]]] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        words = line.replace(":", " : ").split()
        if not words or words[0] in ("num_ranks", "}"):
            continue
        if words[0] == "rank":
            ranks.append([])
            edges.append([])
            labels = {}
        elif "requires" in line:
            later, how, earlier = words
            edges[-1].append((labels[later], labels[earlier], how == "requires"))
        else:
            if ":" in words:
                labels[words[0]] = len(ranks[-1])
                words = words[2:]
            given = {k: int(v) for k, v in re.findall(r"(to|from|tag|cpu|nic) (\d+)", line)}
            peer = given.get("to", given.get("from", 0))
            size = int(words[1].rstrip("b"))
            last = [given.get(key, 0) for key in ("tag", "cpu", "nic")]
            ranks[-1].append((words[0], [peer, size, *last]))
    parts = [_part(ops, some) for ops, some in zip(ranks, edges, strict=True)]
    at = 6 + 16 * len(parts)
    table = b""
    for part in parts:
        table += struct.pack("<QQ", at, at + len(part))
        at += len(part)
    return struct.pack("<QIBB", 4223, len(parts), 0, 0) + table + b"".join(parts)


def _part(ops: list[tuple[str, list[int]]], edges: list[tuple[int, int, bool]]) -> bytes:
    needs = [sum(later == i for later, _, _ in edges) for i in range(len(ops))]
    roots = [i for i, n in enumerate(needs) if n == 0]
    rows, appendix = b"", []
    for i, (kind, (peer, size, tag, cpu, nic)) in enumerate(ops):
        rows += struct.pack("<IBIQIBB", needs[i], _KINDS[kind], peer, size, tag, cpu, nic)
        for complete in (True, False):
            mine = [later for later, earlier, how in edges if earlier == i and how == complete]
            rows += struct.pack("<II", len(mine), len(appendix))
            appendix += mine
    head = struct.pack(f"<II{len(roots)}I", len(ops), len(roots), *roots)
    return head + rows + struct.pack(f"<{len(appendix)}I", *appendix)
