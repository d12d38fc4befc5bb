# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""What threads that run one kernel side by side need: atomic words, and a barrier.

A word is an element of an int64 array. What a thread wrote before `release` is seen by whoever
has read the new value with `acquire`.
"""

from __future__ import annotations

import ctypes

from numba import config, njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from netsim.kernels_options import INNER_KERNEL

LINE = 8
"""Words of a cache line: what different threads write stands in different ones."""

ARRIVED, ROUND, ABORT = 0, LINE, 2 * LINE
BARRIER_WORDS = 3 * LINE

SPINS = 400
"""Looks at a word before a waiting thread lets others have the core."""

try:
    ctypes.CDLL(None).sched_yield  # noqa: B018 - asked whether it is there
    HAS_YIELD = True
except (AttributeError, OSError, TypeError):
    HAS_YIELD = False

_sched_yield = types.ExternalFunction("sched_yield", types.int32())

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    from threading import Lock

    _lock = Lock()

    def acquire(words, i):
        """The word, read."""
        return words[i]

    def release(words, i, value):
        """Write a word."""
        words[i] = value

    def add(words, i, value):
        """Add to a word; returns what it was before."""
        with _lock:
            before = words[i]
            words[i] = before + value
        return before

    def give_way():
        """Let another thread have the core."""

else:

    def _address(context, builder, signature, args):
        data = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.gep(data, [args[1]])

    @intrinsic
    def acquire(typingctx, words, i):
        """The word, read; nothing that comes later is read before it."""

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

    @intrinsic
    def add(typingctx, words, i, value):
        """Add to a word; returns what it was before."""

        def codegen(context, builder, signature, args):
            at = _address(context, builder, signature, args)
            return builder.atomic_rmw("add", at, args[2], "acq_rel")

        return types.int64(words, types.int64, types.int64), codegen

    if HAS_YIELD:

        @njit(**INNER_KERNEL)
        def give_way():
            """Let another thread have the core."""
            _sched_yield()

    else:

        @njit(**INNER_KERNEL)
        def give_way():
            """Nothing, where there is no such call."""


@njit(**INNER_KERNEL)
def wait_for_all(words, n):
    """Wait until ``n`` threads have come here; False if one of them never will (ABORT).

    ``words`` are BARRIER_WORDS zeros at first. Nobody comes back before all have come, and then
    the words are ready for the next time.
    """
    turn = acquire(words, ROUND)
    if add(words, ARRIVED, 1) + 1 == n:
        release(words, ARRIVED, 0)
        release(words, ROUND, turn + 1)
        return True
    looks = 0
    while acquire(words, ROUND) == turn:
        looks += 1
        if looks > SPINS:
            if acquire(words, ABORT) != 0:
                return False
            give_way()
    return True
