"""Halo exchanges: with the neighbours on an open (not periodic) grid of 2 or 3 dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import build_program, join, make_messages
from patterns.entry import Pattern
from patterns.grid import Grid3D, check_grid, coordinates, motif_grid_2d, motif_grid_3d, ranks_at

EXCHANGES = ("at-once", "by-dimension")
Exchange = Annotated[str, "with all neighbours at once or along x, then y, ...", OneOf(EXCHANGES)]
FACE_AT_1000, EDGE_AT_1000, CORNER_AT_1000 = 2048, 128, 8
"""Bytes at M = 1000, as in the Level-Spread paper: of 16^3 cells of 8 bytes."""


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


def halo2d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Annotated[
        Sequence[int] | None, "sides x, y; as square as possible if left out", Ge(1)
    ] = None,
    exchange: Exchange = "at-once",
) -> Program:
    """Build exchanges of ``message_bytes`` with up to 4 neighbours; not periodic.

    The grid is as square as the rank count allows if left out (`patterns.grid.motif_grid_2d`).
    """
    sides = motif_grid_2d(n_ranks) if grid is None else check_grid(grid, n_ranks, 2)
    return halo_program(sides, [(offsets(2, 1), message_bytes)], iterations, exchange)


def halo3d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Grid3D = None,
    exchange: Exchange = "at-once",
) -> Program:
    """Build exchanges of a face with up to 6 neighbours; not periodic.

    With ``message_bytes`` of M a face has 2.048 M bytes. The grid is `patterns.grid.motif_grid_3d`
    if left out.
    """
    sides = motif_grid_3d(n_ranks) if grid is None else check_grid(grid, n_ranks, 3)
    face = scaled_bytes(FACE_AT_1000, message_bytes)
    return halo_program(sides, [(offsets(3, 1), face)], iterations, exchange)


def halo3d26(n_ranks: int, message_bytes: int, iterations: int = 1, grid: Grid3D = None) -> Program:
    """Build exchanges over up to 6 faces, 12 edges and 8 corners; not periodic.

    With ``message_bytes`` of M these have 2.048 M, 0.128 M and 0.008 M bytes, at least 1. The grid
    is `patterns.grid.motif_grid_3d` if left out.
    """
    sides = motif_grid_3d(n_ranks) if grid is None else check_grid(grid, n_ranks, 3)
    sizes = (FACE_AT_1000, EDGE_AT_1000, CORNER_AT_1000)
    kinds = [(offsets(3, k + 1), scaled_bytes(b, message_bytes)) for k, b in enumerate(sizes)]
    return halo_program(sides, kinds, iterations)


PATTERNS = (
    Pattern("halo2d", "exchange of M bytes with 4 neighbours in 2D, not periodic", halo2d),
    Pattern(
        "halo3d", "exchange of faces of 2.048 M bytes with 6 neighbours in 3D, not periodic", halo3d
    ),
    Pattern(
        "halo3d26",
        "exchange with 26 neighbours in 3D: faces 2.048 M, edges 0.128 M, corners 0.008 M bytes",
        halo3d26,
    ),
)
