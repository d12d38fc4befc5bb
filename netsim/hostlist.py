"""Lists of host names as Slurm writes them: ``n[001-016,020],login1``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import need_memory, shown

MAX_HOSTS = 10_000_000
"""More names than any machine has: a longer list is an error."""

MAX_DIGITS = 18
"""Digits of a number in a host name that is expanded; a longer one is kept as text."""

_LAST_DIGITS = re.compile(r"(?<![0-9])[0-9]{1,18}(?=[^0-9]*$)")


def expand(text: str) -> list[str]:
    """Return the host names of a list, in its order.

    Numbers in brackets keep their width (``n[08-10]`` is n08, n09, n10). Brackets may be
    anywhere and several times; the last changes fastest.

    Examples
    --------
    >>> from netsim.hostlist import compress, expand
    >>> expand("n[08-10,20],r[1-2]c[0-1]")
    ['n08', 'n09', 'n10', 'n20', 'r1c0', 'r1c1', 'r2c0', 'r2c1']
    >>> compress(["n08", "n09", "n10", "login"])
    'n[08-10],login'
    """
    hosts: list[str] = []
    for count, pieces in _counted(text):
        # before a name is generated: a bracket of a few characters may expand to gigabytes
        need_memory(f"host list {_short(text)}: {count:,} hosts", count * _HOST_BYTES)
        parts = [_numbers(piece) if isinstance(piece, list) else [piece] for piece in pieces]
        hosts += ["".join(names) for names in product(*parts)]
    return hosts


def count_hosts(text: str) -> int:
    """Return how many names `expand` would give, without making them.

    Examples
    --------
    >>> from netsim.hostlist import count_hosts
    >>> count_hosts("n[08-10,20],r[1-2]c[0-1]")
    8
    """
    count = 0
    for count, _ in _counted(text):  # noqa: B007
        pass
    return count


_HOST_BYTES = 100
"""Memory of a name in a list."""

_Ranges = list[tuple[int, range]]
"""Width and numbers of each part of a bracket."""


def _counted(text: str) -> Iterator[tuple[int, list[str | _Ranges]]]:
    """Yield each item's plain pieces and brackets, after the number of hosts up to its end."""
    count = 0
    for item in _items(text):
        pieces = [_bracket(text, p) if p[:1] == "[" else p for p in _pieces(item)]
        brackets = [piece for piece in pieces if isinstance(piece, list)]
        count += prod(sum(len(numbers) for _, numbers in bracket) for bracket in brackets)
        if count > MAX_HOSTS:
            raise NetcosimError(f"host list {_short(text)}: more than {MAX_HOSTS:,} hosts")
        yield count, pieces


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _items(text: str) -> list[str]:
    """Return the list cut at the commas outside brackets; empty items are left out."""
    items, start, depth = [], 0, 0
    for i, c in enumerate(text):
        depth += {"[": 1, "]": -1}.get(c, 0)
        if depth not in (0, 1):
            raise NetcosimError(f"host list {_short(text)}: brackets do not match")
        if c == "," and not depth:
            items.append(text[start:i])
            start = i + 1
    if depth:
        raise NetcosimError(f"host list {_short(text)}: a bracket is not closed")
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def _pieces(item: str) -> list[str]:
    """Split an item into plain text and brackets, in their order."""
    return [piece for piece in re.split(r"(\[[^\]]*\])", item) if piece]


def _numbers(bracket: _Ranges) -> list[str]:
    return [f"{n:0{width}d}" for width, numbers in bracket for n in numbers]


def _bracket(text: str, bracket: str) -> _Ranges:
    """Return the ranges of "[08-10,20]"."""
    found: _Ranges = []
    for part in bracket[1:-1].split(","):
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
            raise NetcosimError(f"host list {_short(text)}: {part!r} is no number and no range")
        if max(len(first), len(last)) > MAX_DIGITS:
            raise NetcosimError(f"host list {_short(text)}: a number of over {MAX_DIGITS} digits")
        if int(last) < int(first):
            raise NetcosimError(f"host list {_short(text)}: range {part!r} runs backwards")
        count = int(last) - int(first) + 1
        if count > MAX_HOSTS:
            raise NetcosimError(
                f"host list {_short(text)}: range {part!r} has {shown(count)} hosts"
            )
        found.append((len(first), range(int(first), int(last) + 1)))
    return found


def compress(hosts: Iterable[str]) -> str:
    """Return a list that `expand` turns into these names again, in the same order.

    Consecutive names that differ only in their last number share a bracket; runs of
    numbers become ranges.
    """
    found: list[str] = []
    head, tail, numbers = "", "", list[str]()

    def close() -> None:
        if len(numbers) == 1:
            found.append(f"{head}{numbers[0]}{tail}")
        elif numbers:
            found.append(f"{head}[{_ranges(numbers)}]{tail}")

    for host in hosts:
        if not host or re.search(r"[\s,\[\]]", host):
            raise NetcosimError(f"host name {host!r}: it is not allowed in a host list")
        at = _LAST_DIGITS.search(host)
        if at is None:
            close()
            numbers = []
            found.append(host)
            continue
        here = host[: at.start()], host[at.end() :]
        if numbers and here == (head, tail):
            numbers.append(at.group())
            continue
        close()
        (head, tail), numbers = here, [at.group()]
    close()
    return ",".join(found)


def _ranges(numbers: Sequence[str]) -> str:
    """Format numbers as ranges of consecutive ones of equal width: 08-10,20."""
    parts: list[list[str]] = []
    for number in numbers:
        if parts:
            last = parts[-1][-1]
            follows = int(number) == int(last) + 1
            # as `expand` would write the number that comes after the first of the range
            if follows and number == f"{int(number):0{len(parts[-1][0])}d}":
                parts[-1] = [parts[-1][0], number]
                continue
        parts.append([number])
    return ",".join("-".join(part) for part in parts)


def places_of(names: Sequence[str], known: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each name among the known ones; -1 for one that is not there.

    Names are compared as written, then without what follows the first dot and without case, as
    a log may have ``N001`` where the machine has ``n001.cluster.example``. A short name that
    fits several known ones fits none.
    """
    exact = {name: i for i, name in enumerate(known)}
    short: dict[str, int] = {}
    for i, name in enumerate(known):
        key = _short_name(name)
        short[key] = -1 if key in short else i
    found = [exact[name] if name in exact else short.get(_short_name(name), -1) for name in names]
    return np.array(found, dtype=np.int64)


def _short_name(name: str) -> str:
    return name.split(".", 1)[0].lower()
