"""Freed memory: kept by the process for the next large arrays, or returned to the system.

glibc returns each freed array of more than 32 MB at once. Clearing new pages for the next one takes
nearly as long as simulating a queue in them. Other C libraries are left alone.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
"""Parameters of mallopt(3)."""
_LARGEST_BYTES = 32 << 20
"""The largest threshold that glibc accepts: above it, each array has a mapping of its own."""
_MAPPINGS = 65536
"""Most mappings by default."""


def keep_freed_memory() -> None:
    """Keep freed memory in this process from now on."""
    if (libc := _glibc()) is not None:
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, -1)


def return_freed_memory() -> None:
    """Return freed memory to the system, now and from now on."""
    if (libc := _glibc()) is not None:
        # A parameter that has been set no longer adapts: these are the ends of its adaptation.
        libc.mallopt(_MMAP_MAX, _MAPPINGS)
        libc.mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_BYTES)
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """Return the C library of this process if it is glibc."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "gnu_get_libc_version") else None
