"""Halo exchange with the 6 nearest neighbours of a 3D grid."""

from __future__ import annotations

from netsim.traffic import Program
from patterns.build import check_common
from patterns.entry import Pattern
from patterns.grid import Grid3D, check_grid, motif_grid_3d
from patterns.halo import Exchange, halo_program, offsets, scaled_bytes

FACE_BYTES_AT_1000 = 2048
"""A face of 16 x 16 cells of 8 bytes, the Level-Spread paper's face at M = 1000."""


def halo3d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Grid3D = None,
    exchange: Exchange = "at-once",
) -> Program:
    """Build exchanges of a face with up to 6 neighbours (`patterns.halo`); not periodic.

    With ``message_bytes`` of M a face has 2.048 M bytes (2048 at M = 1000, as in the Level-Spread
    paper). The grid is `patterns.grid.motif_grid_3d` if left out.
    """
    check_common(n_ranks, message_bytes, iterations)
    sides = motif_grid_3d(n_ranks) if grid is None else check_grid(grid, n_ranks, 3)
    face = scaled_bytes(FACE_BYTES_AT_1000, message_bytes)
    return halo_program(sides, [(offsets(3, 1), face)], iterations, exchange)


PATTERN = Pattern(
    "halo3d",
    "exchange of faces of 2.048 M bytes with 6 neighbours in 3D, not periodic",
    halo3d,
)
