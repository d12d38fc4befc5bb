"""Face exchange with the 8 neighbours of a periodic 4D grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import build_program, make_messages
from patterns.entry import Pattern
from patterns.grid import check_grid, coordinates, cubic_grid, ranks_at

BYTES_PER_VALUE = 8


def stencil4d(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Annotated[
        Sequence[int] | None, "sides x, y, z, t; from the rank count if left out", Ge(1)
    ] = None,
    points: Annotated[
        Sequence[int] | None, "points a rank along x, y, z, t, instead of M", Ge(1)
    ] = None,
    variables: Annotated[int, "8-byte values a point", Ge(1)] = 1,
) -> Program:
    """Return the stencil4d of the Chatterbug suite: one face to each of 8 neighbours, one wait.

    Periodic in every dimension; as cubic as the rank count allows if ``grid`` is left out, x
    fastest. A side of 1 or 2 gives messages to oneself or two to the same neighbour; they are kept,
    as in the original. ``message_bytes`` is a face (reference: 10 MiB in simulation), unless
    ``points``, those of a rank along each side, are given: the face across x then has ``by * bz *
    bt * variables * 8`` bytes, and so on, for so many 8-byte variables a point.
    """
    sides = cubic_grid(n_ranks, 4) if grid is None else check_grid(grid, n_ranks, 4)
    faces = np.full(4, message_bytes, dtype=np.int64)
    if points is not None:
        block = np.array([int(p) for p in points], dtype=np.int64)
        if block.shape != (4,):
            raise NetcosimError(f"stencil4d: points = {block.tolist()}; 4 numbers are needed")
        faces = BYTES_PER_VALUE * variables * (np.prod(block) // block)
    at = coordinates(sides)
    shifts = np.repeat(np.eye(4, dtype=np.int64), 2, axis=0)
    shifts[::2] *= -1
    dst = ranks_at(at[:, None, :] + shifts[None, :, :], sides)
    src = np.arange(n_ranks)[:, None]
    return build_program(
        n_ranks, 1, make_messages(src, 0, dst, 0, np.repeat(faces, 2)[None, :]), iterations
    )


PATTERN = Pattern(
    "stencil4d",
    "exchange of faces of M bytes with 8 neighbours in 4D, periodic",
    stencil4d,
)
