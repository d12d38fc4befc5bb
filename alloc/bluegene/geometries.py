"""Partitions of whole midplanes: their lengths, shapes and bisection, in closed form."""

from __future__ import annotations

from collections.abc import Sequence

from netsim.analysis.bisection import check_dims, torus_bisection
from netsim.errors import NetcosimError

MIDPLANE_BGQ = (4, 4, 4, 4, 2)
"""Nodes of a Blue Gene/Q midplane; the fifth dimension never leaves it."""


def partition_dims(midplanes: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths, in nodes, of a partition of entire midplanes.

    Dimensions of the midplane beyond those of the partition stay as they are.
    """
    lengths = check_dims(midplanes)
    if len(lengths) > len(MIDPLANE_BGQ):
        raise NetcosimError(
            f"partition {lengths} has more dimensions than a midplane, {len(MIDPLANE_BGQ)}"
        )
    ones = (1,) * (len(MIDPLANE_BGQ) - len(lengths))
    return tuple(a * m for a, m in zip(lengths + ones, MIDPLANE_BGQ, strict=True))


def partition_bisection(midplanes: Sequence[int]) -> int:
    """Return the internal bisection, in links, of a Blue Gene partition: 2 N / L.

    A partition is a torus in every dimension, whatever part of the machine it covers.
    """
    return torus_bisection(partition_dims(midplanes))


def geometries(dims: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return the cuboids of ``size`` midplanes that fit, longest edge first, each up to rotation.

    The best bisection is first: the shortest longest edge, then the shortest second, and so on
    (Corollary 3.4).
    """
    lengths = sorted(check_dims(dims), reverse=True)
    found: list[tuple[int, ...]] = []

    def extend(head: tuple[int, ...], rest: int) -> None:
        if len(head) == len(lengths):
            if rest == 1:
                found.append(head)
            return
        top = min(lengths[len(head)], rest, head[-1] if head else rest)
        for a in range(1, top + 1):
            if rest % a == 0:
                extend((*head, a), rest // a)

    extend((), size)
    return sorted(found)


def best_geometry(dims: Sequence[int], size: int) -> tuple[int, ...] | None:
    """Return the geometry of ``size`` midplanes with the greatest bisection; None if none fits."""
    found = geometries(dims, size)
    return found[0] if found else None


def possible_sizes(dims: Sequence[int]) -> list[int]:
    """Return the midplane counts for which a cuboid exists, ascending."""
    sizes = {1}
    for d in check_dims(dims):
        sizes = {s * a for s in sizes for a in range(1, d + 1)}
    return sorted(sizes)
