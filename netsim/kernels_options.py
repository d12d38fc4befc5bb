# mypy: allow-untyped-calls
"""Compile options of kernels; imported by all of them, for it sets where they are kept.

A kernel is compiled for every combination of types that it is called with, and a plain 0 or False
has a type of its own, even where it is only a variable's first value: write ``np.int64(0)`` there,
and one integer type for one quantity.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.caching import CacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime.nrt import rtsys

from netsim.kernel_cache import KernelLocator

_load: Any = FunctionCache.load_overload
_save: Any = FunctionCache.save_overload
_unserialize: Any = JITCodeLibrary._unserialize


def _load_kernel(cache: Any, sig: Any, target_context: Any) -> Any:
    """Load a compiled function; of a kernel, without Numba's registries of what it can compile.

    They take 0.3 s, with SciPy's linear algebra; compiling a kernel that is not found loads them.
    """
    if not isinstance(cache._impl.locator, KernelLocator):
        return _load(cache, sig, target_context)
    rtsys.initialize(target_context)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(sig, target_context)


def _save_kernel(cache: Any, sig: Any, data: Any) -> None:
    """Save a compiled function; a kernel in a file whose name no other process gives.

    Numba numbers the files of a function's signatures. Two processes that save two signatures at
    once take the same number, and one signature would later be loaded with the other's code.
    """
    locator = cache._impl.locator
    if isinstance(locator, KernelLocator):
        cache._cache_file._data_name_pattern = locator.data_files(cache._impl.filename_base)
    _save(cache, sig, data)


class _LinkedLibrary(JITCodeLibrary):
    """The code of a kernel that only kernels call, as it is linked into them.

    Numba optimises each function with all that it calls, and translates that for the machine. Of
    kernels that call each other only the outermost is executed, and all are optimised there, once:
    the kernels of netcosim compile in two thirds of the time.
    """

    _KIND = "linked"

    def _optimize_final_module(self) -> None:
        """Leave it to the outermost kernel."""

    def _finalize_final_module(self) -> None:
        """Do what Numba's does, but have nothing translated."""
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> _LinkedLibrary:
        """What Numba gives the addresses of objects that the code refers to (`set_env`)."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: what is not translated has no address to keep."""

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return what Numba's cache stores."""
        name, _, bitcode = self.serialize_using_bitcode()
        return name, self._KIND, bitcode

    @staticmethod
    def _unserialize(codegen: Any, state: tuple[str, str, Any]) -> Any:
        """Return a library, of any kind, from what Numba's cache has stored."""
        name, kind, data = state
        if kind != _LinkedLibrary._KIND:
            return _unserialize(codegen, state)
        library = _LinkedLibrary(codegen, name)
        library._final_module = binding.parse_bitcode(data)
        library._finalize_final_module()
        return library


class _LinkedCompiler(Compiler):
    """Numba's compiler with a `_LinkedLibrary`."""

    def define_pipelines(self) -> Any:
        """Return Numba's passes."""
        state = self.state
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


# Numba's variable NUMBA_CACHE_LOCATOR_CLASSES would do it too, but a child process that lacks
# netcosim would fail on it.
if KernelLocator not in CacheImpl._locator_classes:
    CacheImpl._locator_classes.insert(0, KernelLocator)
    # a version of Numba without these parts of its own loads kernels with the registries
    if {"_load_overload", "_guard_against_spurious_io_errors"} <= set(dir(FunctionCache)):
        FunctionCache.load_overload = _load_kernel  # type: ignore[method-assign]
    FunctionCache.save_overload = _save_kernel  # type: ignore[method-assign]
    JITCodeLibrary._unserialize = _LinkedLibrary._unserialize  # type: ignore[method-assign]

KERNEL: dict[str, Any] = {"cache": True, "_nrt": True}
"""Use as ``@njit(**KERNEL)``: the plain options, for kernels that allocate or return arrays.

``_nrt`` is the default, but for kernels that others call without it.
"""

PLAIN_KERNEL: dict[str, Any] = KERNEL | {"error_model": "numpy", "_nrt": False}
"""Use as ``@njit(**PLAIN_KERNEL)``.

``_nrt=False`` leaves out Numba's reference counts: a kernel that reads arrays out of
NamedTuples otherwise counts every array of the tuple on every call (measured: a route took
100 to 220 ns instead of 15 to 65). Such a kernel must not allocate or return arrays, and
integer division by zero is not noticed (``error_model="numpy"``).
"""

_INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _LinkedCompiler,
}

INNER_KERNEL: dict[str, Any] = PLAIN_KERNEL | _INNER
"""For kernels that only kernels call: nothing is compiled to call them from Python.

What takes arrays in NamedTuples apart for such a call takes longer to compile than many a kernel.
Called from Python it ends the process. It must not print, raise an error with values, use object
mode or call kernels in a circle: Numba sets what these need in translated code alone.
"""

FINITE_KERNEL: dict[str, Any] = INNER_KERNEL | {"fastmath": {"nnan", "ninf", "nsz"}}
"""For those whose numbers are all finite: minima and maxima of vectors, with equal results."""

INNER_ALLOCATING_KERNEL: dict[str, Any] = KERNEL | _INNER
"""For kernels that only kernels call and that allocate arrays."""

HOT_KERNEL: dict[str, Any] = INNER_KERNEL | {"forceinline": True}
"""For kernels that other kernels call once per packet and hop: no call is left of them."""
