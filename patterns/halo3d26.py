"""Halo exchange with all 26 neighbours of a 3D grid."""

from __future__ import annotations

from netsim.traffic import Program
from patterns.build import check_common
from patterns.entry import Pattern
from patterns.grid import Grid3D, check_grid, motif_grid_3d
from patterns.halo import halo_program, offsets, scaled_bytes
from patterns.halo3d import FACE_BYTES_AT_1000

EDGE_BYTES_AT_1000 = 128
CORNER_BYTES_AT_1000 = 8


def halo3d26(n_ranks: int, message_bytes: int, iterations: int = 1, grid: Grid3D = None) -> Program:
    """Build exchanges over up to 6 faces, 12 edges and 8 corners; not periodic.

    With ``message_bytes`` of M, faces, edges and corners have 2.048 M, 0.128 M and 0.008 M bytes
    (2048, 128 and 8 at M = 1000: 16^3 cells of 8 bytes in the Level-Spread paper), at least 1. The
    grid is `patterns.grid.motif_grid_3d` if left out.
    """
    check_common(n_ranks, message_bytes, iterations)
    sides = motif_grid_3d(n_ranks) if grid is None else check_grid(grid, n_ranks, 3)
    sizes = (FACE_BYTES_AT_1000, EDGE_BYTES_AT_1000, CORNER_BYTES_AT_1000)
    kinds = [(offsets(3, k + 1), scaled_bytes(b, message_bytes)) for k, b in enumerate(sizes)]
    return halo_program(sides, kinds, iterations)


PATTERN = Pattern(
    "halo3d26",
    "exchange with 26 neighbours in 3D: faces 2.048 M, edges 0.128 M, corners 0.008 M bytes",
    halo3d26,
)
