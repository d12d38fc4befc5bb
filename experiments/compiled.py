"""Which kernels the cache of this version holds: one empty file a part marks them."""

from __future__ import annotations

from pathlib import Path

from netsim.kernel_cache import use_kernel_cache

PACKETS, FLOWS, POLICY_SEARCH = "packets", "flows", "policies"
PARTS = (PACKETS, FLOWS, POLICY_SEARCH)
"""The kernels that take long to compile."""


def is_compiled(part: str) -> bool:
    """Whether all kernels of a part have been compiled.

    Files of Numba's do not tell: a few are there as soon as a module is imported.
    """
    return _mark(part).exists()


def mark_compiled(part: str) -> None:
    """Note that the cache holds a part's kernels; one that cannot be written holds none."""
    mark = _mark(part)
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:
        pass


def _mark(part: str) -> Path:
    return use_kernel_cache() / f"compiled-{part}"
