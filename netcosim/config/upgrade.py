"""Configs of version 0.2 for this version: keys renamed where they are, unread ones left out.

The text is changed in place, so that comments and order stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcosim.config.errors import MOVED_KEYS
from netcosim.config.fields import shown_key
from netcosim.config.load import any_points_of, errors_name, parse_toml, points_of
from netcosim.config.unread import unread_keys
from netsim.units import short_name

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|#[^\n]*|[^\S\n]+|[A-Za-z0-9_-]+|.",
    re.DOTALL,
)
_NEEDED = ("pattern", "gateways")
"""Keys without which their table is none."""
_COUPLED = ("coupled-flow", "coupled-packets")
_GONE = ("tolerance", "audit", "max_simulations")
"""Keys of ``[queue.coupled]`` that no model has any more: packets judge within a budget."""


@dataclass(frozen=True)
class _KeyEntry:
    """A key and its value, or the head of a table."""

    path: tuple[str, ...]
    """Tables in lists have a number."""
    own: tuple[str, ...]
    """The parts that are written here."""
    start: int
    key_end: int
    end: int


def upgraded(text: str, path: Path) -> tuple[str, list[str]]:
    """Return the text of a config of version 0.2 for this version, and a line on each change."""
    text, lines = _renamed(text, parse_toml(text, path))
    with errors_name(path):
        points = any_points_of(parse_toml(text, path), path.parent)
        unread = {shown_key(one.key): one.why for one in unread_keys(points)}
        text = _without(text, [tuple(key.split(".")) for key in unread])
        points_of(parse_toml(text, path), path.parent)
    lines += [f"{key} is left out, as nothing reads it: {why}" for key, why in unread.items()]
    return text, lines


def _renamed(text: str, raw: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the text with the keys of this version, and a line on each that it has."""
    queue = raw.get("queue")
    models = queue.get("run_time_model") if isinstance(queue, Mapping) else None
    coupled = [n for n in _COUPLED if n in (models if isinstance(models, list) else [models])]
    moved = {**MOVED_KEYS, "queue.coupled": f"queue.{(coupled or _COUPLED)[-1]}"}
    lines, shared, packets, gone = {}, "", [], []
    for entry in reversed(list(_entries(text))):
        first = int(entry.path[0] == "reference")
        before = len(entry.path) - len(entry.own)
        if entry.path == ("queue", "coupled", "runtime_reference"):
            shared = text[entry.key_end : entry.end]
        elif entry.path[:2] == ("queue", "coupled") and coupled == [_COUPLED[0]]:
            packets += [("queue", _COUPLED[0], key) for key in entry.path[2:]]
        elif entry.path[first : first + 2] == ("queue", "coupled") and entry.path[-1] in _GONE:
            gone.append((*entry.path[:first], "queue", (coupled or _COUPLED)[-1], entry.path[-1]))
        for count in range(max(before, first) + 1, len(entry.path) + 1):
            old = ".".join(entry.path[first:count])
            if old in moved:
                new = (*entry.path[:first], *moved[old].split("."), *entry.path[count:])
                text = text[: entry.start] + ".".join(new[before:]) + text[entry.key_end :]
                lines[old] = f"{old} is {moved[old]}"
    if len(coupled) > 1 and shared:
        text += f"\n[queue.{coupled[0]}]\nruntime_reference{shared}\n"
    for old, name in moved.items():  # the keys of sweep.zip are texts
        text = re.sub(rf"([\"']){re.escape(old)}(?=[\"'.])", rf"\1{name}", text)
    for path in packets:
        key = ".".join(path)
        lines[key] = f"{key} is left out, as {_COUPLED[0]} sends no packets"
    for left_out in gone:
        key = ".".join(left_out)
        lines[key] = f"{key} is left out: packets judge within queue.{_COUPLED[1]}.budget"
    return _without(text, packets + gone), list(lines.values())


def _without(text: str, paths: Iterable[tuple[str, ...]]) -> str:
    """Return the text without some keys, and without tables that are left empty by that."""
    entries = list(_entries(text))
    tables = {path[:-1] if path[-1] in _NEEDED else path for path in paths}
    gone = {e for e in entries if any(e.path[:n] in tables for n in range(1, len(e.path) + 1))}
    for entry in sorted(entries, key=lambda e: -len(e.path)):
        inside = {e for e in entries if e != entry and e.path[: len(entry.path)] == entry.path}
        gone |= {entry} if inside and inside <= gone else set()
    for entry in sorted(gone, key=lambda e: -e.start):
        if any(e != entry and e.start <= entry.start and entry.end <= e.end for e in gone):
            continue
        line, end = text.rfind("\n", 0, entry.start) + 1, (text + "\n").index("\n", entry.end)
        before, after = text[line : entry.start], text[entry.end : end]
        if not before.strip(" \t[") and (not after.strip() or after.strip().startswith("#")):
            text = text[:line] + text[end + 1 :]
            continue
        rest = text[entry.end :].lstrip()
        head = text[: entry.start]
        if rest.startswith(","):
            text = head + rest[1:].lstrip()
        else:
            text = head.rstrip().removesuffix(",") + text[entry.end :]
    return text


def _entries(text: str) -> list[_KeyEntry]:
    """Return the keys and heads of a valid TOML text, each after those that are in its value."""
    reader, counts = _Reader(text), Counter[tuple[str, ...]]()
    table: tuple[str, ...] = ()
    reader.skip("\n")
    while reader.tokens:
        if reader.tokens[-1][0] != "[":
            reader.pair(table)
        else:
            reader.skip("[")
            own, start, key_end = reader.key()
            is_list = text[key_end:].lstrip().startswith("]]")
            table = ()
            for count, part in enumerate(own, 1):
                table = (*table, part)
                if is_list and count == len(own):
                    counts[table] += 1
                if table in counts:
                    table = (*table, str(counts[table] - 1))
            end = reader.tokens[-1].end() + is_list
            reader.skip("]")
            reader.entries.append(_KeyEntry(table, own, start, key_end, end))
        reader.skip("\n")
    return reader.entries


class _Reader:
    """Reads keys and values from the tokens of a text, the next of which is the last one here."""

    def __init__(self, text: str) -> None:
        tokens = [t for t in _TOKEN.finditer(text) if t[0][0] != "#"]
        self.tokens = [t for t in reversed(tokens) if t[0] == "\n" or t[0].strip()]
        self.entries: list[_KeyEntry] = []

    def skip(self, *words: str) -> None:
        """Go on to the next token that is none of these."""
        while self.tokens and self.tokens[-1][0] in words:
            self.tokens.pop()

    def key(self) -> tuple[tuple[str, ...], int, int]:
        """Read a key, up to what follows it; return where it starts and ends."""
        start, parts = self.tokens[-1].start(), []
        while self.tokens[-1][0] not in ("=", "]"):
            end = self.tokens[-1].end()
            word = self.tokens.pop()[0]
            parts += [] if word == "." else [word.strip("\"'")]
        return tuple(map(short_name, parts)), start, end

    def value(self, path: tuple[str, ...]) -> int:
        """Read a value; return where it ends."""
        first = self.tokens.pop()
        if first[0] not in ("{", "["):
            end = first.end()
            while self.tokens and self.tokens[-1][0] not in (",", "]", "}", "\n"):
                end = self.tokens.pop().end()
            return end
        number = 0
        self.skip("\n", ",")
        while self.tokens[-1][0] not in ("}", "]"):
            if first[0] == "{":
                self.pair(path)
            else:
                self.value((*path, str(number)))
                number += 1
            self.skip("\n", ",")
        return self.tokens.pop().end()

    def pair(self, table: tuple[str, ...]) -> None:
        """Read a key and its value."""
        own, start, key_end = self.key()
        self.tokens.pop()
        path = (*table, *own)
        self.entries.append(_KeyEntry(path, own, start, key_end, self.value(path)))
