# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Rows of tables, and hints to the processor to fetch one that will be needed in a moment."""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from netsim.kernels_options import PLAIN_KERNEL


@njit(**PLAIN_KERNEL, inline="always")
def row_of(table, index):
    """Return a row of a table, a reference; an unsigned index has no check for negative ones."""
    return table[np.uint64(index)]


if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def prefetch(array, index):
        """Do nothing, in plain Python."""

else:

    @intrinsic
    def prefetch(typingctx, array, index):
        """Prefetch the first cache line of ``array[index]`` (one dimension, no bounds check)."""

        def codegen(context, builder, signature, args):
            data = make_array(signature.args[0])(context, builder, args[0]).data
            address = builder.bitcast(builder.gep(data, [args[1]]), cgutils.voidptr_t)
            i32 = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, i32, i32, i32])
            hint = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
            # for writing, to be kept near, data
            builder.call(hint, [address, i32(1), i32(3), i32(1)])
            return context.get_dummy_value()

        return types.void(array, index), codegen
