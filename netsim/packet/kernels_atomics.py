# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Atomic words for threads that run one kernel in parallel, with acquire and release order.

A word is an element of an int64 array. What a thread wrote before `release` is visible to every
thread that has read the new value with `acquire`.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from numba import config, njit, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from netsim.kernels_options import INNER_KERNEL

SPINS = 400
"""Looks at a word before a waiting thread lets others have the core."""

_ = cpu_target.target_context  # without it no symbol of this process is known
HAS_YIELD = llvm.address_of_symbol("sched_yield") is not None

_sched_yield = types.ExternalFunction("sched_yield", types.int32())

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def acquire(words, i):
        """Return the word, read."""
        return words[i]

    def release(words, i, value):
        """Write a word."""
        words[i] = value

    def cpu_pause():
        """Yield the core to another thread."""

else:

    def _address(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.gep(data, [args[1]])

    @intrinsic
    def acquire(typingctx, words, i):
        """Return the word, read; nothing that comes later is read before it."""

        def codegen(context, builder, signature, args):
            return builder.load_atomic(_address(context, builder, signature, args), "acquire", 8)

        return types.int64(words, types.int64), codegen

    @intrinsic
    def release(typingctx, words, i, value):
        """Write a word; all that comes before is written before it."""

        def codegen(context, builder, signature, args):
            at = _address(context, builder, signature, args)
            builder.store_atomic(args[2], at, "release", 8)
            return context.get_dummy_value()

        return types.void(words, types.int64, types.int64), codegen

    if HAS_YIELD:

        @njit(**INNER_KERNEL)
        def cpu_pause():
            """Yield the core to another thread."""
            _sched_yield()

    else:

        @njit(**INNER_KERNEL)
        def cpu_pause():
            """Do nothing where there is no such call."""


@njit(**INNER_KERNEL)
def wait_for(words, i, value, stop):
    """Wait until a word has a value; False if another thread gave up (``stop``, one word)."""
    looks = 0
    while acquire(words, i) != value:
        looks += 1
        if looks > SPINS:
            if acquire(stop, 0) != 0:
                return False
            cpu_pause()
    return True
