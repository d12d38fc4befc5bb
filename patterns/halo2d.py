"""Halo exchange with the 4 nearest neighbours of a 2D grid."""

from __future__ import annotations

from collections.abc import Sequence

from netsim.traffic import Program
from patterns.build import check_common
from patterns.grid import check_grid, motif_grid_2d
from patterns.halo import halo_program, offsets


def halo2d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Sequence[int] | None = None,
    exchange: str = "at-once",
) -> Program:
    """Each rank exchanges ``message_bytes`` with up to 4 neighbours; not periodic.

    Parameters
    ----------
    n_ranks, message_bytes, iterations : int
    grid : (x, y), optional
        As square as the rank count allows if left out (`patterns.grid.motif_grid_2d`).
    exchange : {"at-once", "by-dimension"}
        See `patterns.halo.halo_program`.

    Raises
    ------
    NetcosimError
        A number below 1, a grid that does not fit, an unknown exchange.
    """
    check_common(n_ranks, message_bytes, iterations)
    sides = motif_grid_2d(n_ranks) if grid is None else check_grid(grid, n_ranks, 2)
    return halo_program(sides, [(offsets(2, 1), message_bytes)], iterations, exchange)
