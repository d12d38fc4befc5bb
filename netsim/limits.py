"""What is too large to be tried: asked before anything is allocated, told in one line."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from netsim.errors import NetcosimError

MAX_INDEX = 2**31 - 1
"""Nodes, links and messages are numbered with 32 bits."""

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def memory_bytes() -> int:
    """Memory that this process can have at most: the machine's, or less where a limit is set.

    What the machine has and not what happens to be free: the same request gets the same answer.
    """
    most = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        most.append(soft)
    # no such file on this system, or "max"
    with contextlib.suppress(OSError, ValueError):
        most.append(int(_CGROUP_LIMIT.read_text()))
    return min(most)


def need_memory(where: str, wanted: int) -> None:
    """Raise NetcosimError if ``wanted`` bytes are more than the machine has.

    Parameters
    ----------
    where : str
        What is asked for, with the key and the size that it leads to.
    wanted : int
        An estimate; whole numbers of any size, so that it cannot overflow.

    Raises
    ------
    NetcosimError
    """
    most = memory_bytes()
    if wanted > most:
        raise NetcosimError(
            f"{where}: about {shown_bytes(wanted)} of memory needed; this machine gives "
            f"{shown_bytes(most)}"
        )


def shown(number: int) -> str:
    """A whole number for a message; beyond 10^15 its power of ten alone."""
    if abs(number) < 10**15:
        return f"{number:,}"
    digits = int(abs(number).bit_length() * 0.30103)
    return f"{'-' if number < 0 else ''}about 10^{digits}"


def shown_bytes(number: int) -> str:
    """Bytes for a message, in GB from a tenth of one on."""
    return f"{shown(number // 10**9)} GB" if number >= 10**10 else f"{number / 1e9:.1f} GB"
