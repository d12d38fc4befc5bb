"""Unstructured mesh: each rank sends to a few random ranks near it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.traffic import Program
from patterns.build import build_program, make_messages, need_messages
from patterns.entry import Pattern
from patterns.grid import Grid3D, check_grid, coordinates, cubic_grid, ranks_at


def unstructured_mesh(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    grid: Grid3D = None,
    min_degree: Annotated[int, "least number of neighbours", Ge(0)] = 6,
    max_degree: Annotated[int, "upper end of the degrees, not reached", Ge(0)] = 12,
    neighborhood: Annotated[int, "upper end of the distance, not reached", Ge(1)] = 3,
) -> Program:
    """Return the unstructured mesh of the Chatterbug suite; one step an iteration.

    On a periodic 3D grid, as cubic as the rank count allows if left out, each rank draws a degree
    in ``[min_degree, max_degree)`` (``min_degree`` if they are equal) and for each neighbour and
    dimension a random sign times an integer in ``[0, neighborhood)``. Repeated neighbours and
    oneself are kept. The graph is directed, drawn once, and the same in all iterations; a rank
    waits for all that is sent to it, 1 MiB a message in the suite. The suite has no default
    degrees; those here are netcosim's.
    """
    if min_degree > max_degree:
        raise NetcosimError(
            f"unstructured-mesh: min_degree = {min_degree}; must be at most max_degree = "
            f"{max_degree}"
        )
    given = f"max_degree = {shown(max_degree)} on {n_ranks} ranks"
    need_messages(n_ranks * max_degree * iterations, n_ranks * iterations, given)
    sides = cubic_grid(n_ranks, 3) if grid is None else check_grid(grid, n_ranks, 3)
    degree = rng.integers(min_degree, max(max_degree, min_degree + 1), n_ranks)
    src = np.repeat(np.arange(n_ranks), degree)
    sign = 1 - 2 * rng.integers(0, 2, (len(src), 3))
    offset = sign * rng.integers(0, neighborhood, (len(src), 3))
    dst = ranks_at(coordinates(sides)[src] + offset, sides)
    return build_program(n_ranks, 1, make_messages(src, 0, dst, 0, message_bytes), iterations)


PATTERN = Pattern(
    "unstructured-mesh",
    "M bytes to each of a few random ranks nearby in a periodic 3D grid",
    unstructured_mesh,
)
