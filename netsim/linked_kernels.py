"""Kernels that only kernels call: not turned into machine code of their own.

Numba optimises each function with all that it calls and translates the result for the machine. Of a
chain of kernels that call each other only the outermost is ever executed, so the others are kept as
they are linked into it, and all is optimised once, there. That takes a fifth off the time that the
packet kernels take to compile.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary

_KIND = "linked"
_unserialize: Any = JITCodeLibrary._unserialize


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel as its callers link it, in place of Numba's optimised one."""

    def _optimize_final_module(self) -> None:
        """Leave it to the outermost kernel."""

    def _finalize_final_module(self) -> None:
        """Do what Numba's does but hand it over to be executed."""
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> LinkedLibrary:
        """What is told, by `set_env`, where the objects are that code refers to."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: it is not executed, and has no address."""

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return what Numba's cache stores; there is no object code."""
        name, _, bitcode = self.serialize_using_bitcode()
        return name, _KIND, bitcode


def _read(codegen: Any, state: tuple[str, str, Any]) -> Any:
    """Return a library from what Numba's cache has stored."""
    name, kind, data = state
    if kind != _KIND:
        return _unserialize(codegen, state)
    library = LinkedLibrary(codegen, name)
    library._final_module = llvm.parse_bitcode(data)
    library._finalize_final_module()
    return library


JITCodeLibrary._unserialize = staticmethod(_read)
