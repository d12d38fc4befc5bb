"""Common parts of the halo exchanges: neighbours on an open (not periodic) grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from netsim.errors import need_name
from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import build_program, join, make_messages
from patterns.grid import coordinates, ranks_at

EXCHANGES = ("at-once", "by-dimension")
Exchange = Annotated[str, "with all neighbours at once or along x, then y, ...", OneOf(EXCHANGES)]


def offsets(n_dims: int, n_nonzero: int) -> NDArray[np.int64]:
    """Return neighbour offsets in -1, 0, 1 with ``n_nonzero`` nonzero entries, (k, n_dims).

    The first dimension comes first, the lower neighbour before the upper.
    """
    cube = np.stack(np.meshgrid(*[[-1, 0, 1]] * n_dims, indexing="ij"), axis=-1)
    rows = cube.reshape(-1, n_dims)
    rows = rows[np.count_nonzero(rows, axis=1) == n_nonzero]
    return np.array(sorted(rows.tolist(), key=lambda o: ([v == 0 for v in o], o)), dtype=np.int64)


def halo_program(
    grid: Sequence[int],
    offset_bytes: Sequence[tuple[NDArray[np.int64], int]],
    iterations: int,
    exchange: str = "at-once",
) -> Program:
    """Build exchanges with every neighbour that exists, first dimension fastest, not periodic.

    ``offset_bytes`` has neighbour offsets and the bytes of a message to them. Exchanges: at-once:
    one step an iteration with all sends and one wait for all. by-dimension: one step a dimension;
    only for offsets along one dimension.
    """
    need_name("halo exchange", exchange, EXCHANGES)
    at = coordinates(grid)
    n_ranks = len(at)
    by_dimension = exchange == "by-dimension"
    parts = []
    for shifts, n_bytes in offset_bytes:
        there = at + shifts[:, np.newaxis]
        which, src = np.nonzero(np.all((there >= 0) & (there < np.asarray(grid)), axis=2))
        step = np.argmax(shifts != 0, axis=1)[which] if by_dimension else 0
        parts.append(make_messages(src, step, ranks_at(there[which, src], grid), step, n_bytes))
    return build_program(n_ranks, len(grid) if by_dimension else 1, join(parts), iterations)


def scaled_bytes(at_1000: int, message_bytes: int) -> int:
    """Return the bytes in proportion to M, given those at M = 1000; at least 1."""
    return max(1, round(at_1000 * message_bytes / 1000))
