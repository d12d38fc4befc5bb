"""Compile options for kernels that allocate nothing."""

from __future__ import annotations

from typing import Any

PLAIN_KERNEL: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
"""Use as ``@njit(**PLAIN_KERNEL)``.

``_nrt=False`` leaves out Numba's reference counts: a kernel that reads arrays out of
NamedTuples otherwise counts every array of the tuple on every call (measured: a route took
100 to 220 ns instead of 15 to 65). Such a kernel must not allocate or return arrays, and
integer division by zero is not noticed (``error_model="numpy"``).
"""

INNER_KERNEL: dict[str, Any] = PLAIN_KERNEL | {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""For kernels that only kernels call: nothing is compiled to call them from Python.

What takes arrays in NamedTuples apart for such a call takes longer to compile than many a kernel.
"""

HOT_KERNEL: dict[str, Any] = INNER_KERNEL | {"forceinline": True}
"""For kernels that other kernels call once per packet and hop: no call is left of them."""
