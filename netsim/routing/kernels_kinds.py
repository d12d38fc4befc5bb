# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Kernels compiled with the code of some routings alone, by the class of the routing's tables."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from netsim.kernels_options import HOT_KERNEL
from netsim.routing.tables import RouteTables

_OPTIONS: Any = {name: option for name, option in HOT_KERNEL.items() if name != "cache"}


def compiled_by_tables(any_tables: Any, kinds: dict[type[RouteTables], Any]) -> None:
    """Compile calls of ``any_tables`` as the function of the class of ``rt``, its first argument.

    For a class that ``kinds`` lacks, and in plain Python, it is itself. So Numba sees neither the
    code of other routings nor what that calls.
    """

    @overload(any_tables, jit_options=_OPTIONS, strict=False)
    def chosen(rt, *others):
        return kinds.get(rt.instance_class, any_tables)
