"""Limits of size, checked before anything is allocated and reported in one line."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from netsim.errors import NetcosimError

MAX_INDEX = 2**31 - 1
"""Nodes, links and messages are numbered with 32 bits."""

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def memory_bytes() -> int:
    """Return the memory of the machine, or this process's limit if that is lower.

    See `free_bytes` for the memory that is free at present.
    """
    most = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        most.append(soft)
    return min([*most, *(limit for limit, _ in _control_groups())])


def free_bytes() -> int:
    """Return the available memory: unused memory, or what control groups have left.

    Swap does not count. Where the system does not report it, all memory counts as free.
    """
    found = [memory_bytes()]
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = (_PROC / "meminfo").read_text(encoding="ascii")
        rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        found.append(int(rows["MemAvailable"].split()[0]) * 1024)
    return min([*found, *(limit - used for limit, used in _control_groups())])


def _control_groups() -> list[tuple[int, int]]:
    """Return limit and use of each control group that limits the memory of this process.

    Version 2 has one tree of groups, version 1 one of its own for memory; a group above counts,
    too, and in a container the tree may begin at the group itself.
    """
    found = []
    with contextlib.suppress(OSError):
        for line in (_PROC / "self" / "cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" and not controllers:
                root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                root = _CGROUPS / "memory"
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            else:
                continue
            own = root / path.lstrip("/")
            groups = [own, *own.parents][: len(own.parts) - len(root.parts) + 1]
            found += [read for group in groups if (read := _group(group, *names)) is not None]
    return found


def _group(group: Path, limit: str, use: str, dropped: str) -> tuple[int, int] | None:
    """Return a group's limit and its use without reclaimable pages; None without a limit."""
    # no such file in this group, or "max"
    try:
        most, used = int((group / limit).read_text()), int((group / use).read_text())
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == dropped:
                used -= int(value)
    return most, max(used, 0)


def need_memory(where: str, wanted: int) -> None:
    """Raise NetcosimError if ``wanted`` bytes are more than the machine has, or has left.

    ``where`` is what is requested, with the key and the resulting size. ``wanted`` is an estimate,
    of any size, so that it cannot overflow.
    """
    if wanted < _ALWAYS_THERE:
        return
    most = memory_bytes()
    if wanted > most:
        raise NetcosimError(
            f"{where}: about {shown_bytes(wanted)} of memory needed; this machine gives "
            f"{shown_bytes(most)}"
        )
    free = free_bytes()
    if wanted > free:
        raise NetcosimError(
            f"{where}: about {shown_bytes(wanted)} of memory needed; of this machine's "
            f"{shown_bytes(most)} only {shown_bytes(max(free, 0))} are free now"
        )


_ALWAYS_THERE = 1 << 26
"""Bytes below which available memory is not checked, which takes a millisecond."""


def shown(number: int) -> str:
    """Format an integer for a message; beyond 10^15 only its power of ten."""
    if abs(number) < 10**15:
        return f"{number:,}"
    digits = int(abs(number).bit_length() * 0.30103)
    return f"{'-' if number < 0 else ''}about 10^{digits}"


def shown_bytes(number: int) -> str:
    """Return the bytes for a message, in GB from a tenth of one on."""
    return f"{shown(number // 10**9)} GB" if number >= 10**10 else f"{number / 1e9:.1f} GB"
