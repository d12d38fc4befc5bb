"""Halo exchange with the 4 nearest neighbours of a 2D grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from annotated_types import Ge

from netsim.traffic import Program
from patterns.build import check_common
from patterns.entry import Pattern
from patterns.grid import check_grid, motif_grid_2d
from patterns.halo import Exchange, halo_program, offsets


def halo2d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Annotated[
        Sequence[int] | None, "sides x, y; as square as possible if left out", Ge(1)
    ] = None,
    exchange: Exchange = "at-once",
) -> Program:
    """Build exchanges of ``message_bytes`` with up to 4 neighbours (`patterns.halo`); not periodic.

    The grid is as square as the rank count allows if left out (`patterns.grid.motif_grid_2d`).
    """
    check_common(n_ranks, message_bytes, iterations)
    sides = motif_grid_2d(n_ranks) if grid is None else check_grid(grid, n_ranks, 2)
    return halo_program(sides, [(offsets(2, 1), message_bytes)], iterations, exchange)


PATTERN = Pattern(
    "halo2d",
    "exchange of M bytes with 4 neighbours in 2D, not periodic",
    halo2d,
)
