"""Three-dimensional FFT on pencils: forward and backward transposes."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.traffic import Program
from patterns.build import build_program, join
from patterns.entry import Pattern
from patterns.exchange import group_all_to_all
from patterns.grid import divisors

BYTES_PER_VALUE = 16
"""One complex number in double precision."""

N_FFT_PHASES = 6
"""One-dimensional transforms an iteration: three forward, three backward."""


def pencil_rows(n_ranks: int, rows: int) -> int:
    """Return the divisor of ``n_ranks`` nearest to ``rows``, the smaller one on ties."""
    return min(divisors(n_ranks), key=lambda d: (abs(d - rows), d))


def _split(n: int, parts: int) -> NDArray[np.int64]:
    """Split n cells over parts; the first n mod parts have one more."""
    return n // parts + (np.arange(parts) < n % parts).astype(np.int64)


def fft3d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    rows: Annotated[int, "rows of ranks; the nearest divisor is taken", Ge(1)] = 4,
    cells: Annotated[int, "cells along a side of the cube", Ge(1)] = 100,
    compute: Annotated[bool, "whether the ranks compute"] = True,
    compute_ns_per_cell: Annotated[
        float, "compute time of all ranks a cell, in nanoseconds", Ge(0)
    ] = 7.0,
) -> Program:
    """Build a forward and backward 3D FFT of ``cells``^3 real cells on ``rows`` rows of ranks.

    The ember FFT3D motif of SST with the parameters of the Level-Spread paper. Rank ``c * rows +
    r`` is in column c and row r; if ``rows`` does not divide ``n_ranks``, the nearest divisor is
    taken (the smaller one on ties). An iteration is: compute, all-to-all in the column (``rows``
    ranks, consecutive numbers), compute, all-to-all in the row (``n_ranks / rows`` ranks), compute,
    all-to-all in the row, compute, all-to-all in the column, compute. It computes
    ``compute_ns_per_cell * cells**3 / n_ranks`` ns on each rank, in six equal parts (the six
    one-dimensional transforms; the split is netsim's own choice). Real input, so ``cells/2 + 1``
    complex planes travel; they fix the sizes in place of ``message_bytes``. Cells that do not
    divide evenly give the first ranks one more; a pair with nothing to exchange sends nothing. The
    backward transposes are the forward ones with sender and receiver swapped.
    """
    n_rows = pencil_rows(n_ranks, rows)
    n_cols = n_ranks // n_rows
    x_row, y_row = _split(cells // 2 + 1, n_rows), _split(cells, n_rows)
    y_col, z_col = _split(cells, n_cols), _split(cells, n_cols)
    ranks = np.arange(n_ranks, dtype=np.int64).reshape(n_cols, n_rows)
    # [column, sending row, receiving row] and [row, sending column, receiving column]
    column = BYTES_PER_VALUE * z_col[:, None, None] * y_row[None, :, None] * x_row[None, None, :]
    row = BYTES_PER_VALUE * x_row[:, None, None] * z_col[None, :, None] * y_col[None, None, :]
    phases = (
        (ranks, column),
        (ranks.T, row),
        (ranks.T, row.swapaxes(1, 2)),
        (ranks, column.swapaxes(1, 2)),
    )
    share_s = 1e-9 * compute_ns_per_cell * cells**3 / n_ranks / N_FFT_PHASES if compute else 0.0
    compute_s: list[float] = []
    parts = []
    for (members, sizes), n_transforms in zip(phases, (1, 1, 2, 1), strict=True):
        compute_s.append(n_transforms * share_s)
        parts.append(group_all_to_all(members, sizes, first_step=len(compute_s)))
        compute_s += [0.0] * (members.shape[1] - 1)
    compute_s.append(share_s)
    return build_program(n_ranks, len(compute_s), join(parts), iterations, compute_s)


PATTERN = Pattern(
    "fft3d",
    "3D FFT on pencils: forward and backward transposes; the cells fix the sizes, not M",
    fft3d,
)
