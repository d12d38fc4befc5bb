"""All-to-all in the rows of a 3D process grid, one dimension after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import build_program, join
from patterns.entry import Pattern
from patterns.exchange import Order, group_all_to_all, n_exchange_steps
from patterns.grid import Grid3D, check_grid, cubic_grid, rows_along


def sub_a2a(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    grid: Grid3D = None,
    dimension_bytes: Annotated[
        Sequence[int] | None, "bytes along x, y, z, instead of M; 0 skips one", Ge(0)
    ] = None,
    order: Order = "pairwise",
) -> Program:
    """Build the sub-communicator all-to-all of the Chatterbug suite: along x, then y, then z.

    As cubic as the rank count allows if ``grid`` is left out; x is fastest. ``message_bytes`` is
    for each pair of a row (reference: 1 MiB), or ``dimension_bytes`` for pairs along x, y and z; 0
    skips a dimension (Pollard et al. use two dimensions in simulation and all three on the
    machine). For the orders see `patterns.exchange.group_all_to_all`. Large messages go pairwise in
    trace-driven simulators and in MPI libraries.
    """
    sides = cubic_grid(n_ranks, 3) if grid is None else check_grid(grid, n_ranks, 3)
    sizes = [message_bytes] * 3 if dimension_bytes is None else [int(b) for b in dimension_bytes]
    if len(sizes) != 3:
        raise NetcosimError(f"sub-a2a: dimension_bytes = {sizes}; 3 sizes are needed")
    parts = []
    n_steps = 0
    for dim, size in enumerate(sizes):
        steps = n_exchange_steps(sides[dim], order)
        if size:
            parts.append(group_all_to_all(rows_along(sides, dim), size, n_steps, order))
            n_steps += steps
    return build_program(n_ranks, n_steps, join(parts), iterations)


PATTERN = Pattern(
    "sub-a2a",
    "all-to-all in the rows of a 3D grid: along x, then y, then z; M bytes a pair",
    sub_a2a,
)
