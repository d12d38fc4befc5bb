"""Bisection of tori, meshes and Blue Gene partitions, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from netsim.errors import NetcosimError

MIDPLANE_BGQ = (4, 4, 4, 4, 2)
"""Nodes of a Blue Gene/Q midplane; the fifth dimension never leaves it."""


def check_dims(dims: Sequence[int]) -> tuple[int, ...]:
    """The lengths as a tuple.

    Raises
    ------
    NetcosimError
        No dimension, or a length below 1.
    """
    lengths = tuple(int(d) for d in dims)
    if not lengths or min(lengths) < 1:
        raise NetcosimError(f"torus dims = {lengths}; at least one length, each at least 1")
    return lengths


@cache
def _halves(lines: tuple[tuple[int, int], ...]) -> int:
    """Least cut over (length, cables cut a line): cut one dimension in the middle.

    An odd length leaves a middle layer, which is cut in two itself.
    """
    best: int | None = None
    for i, (length, cables) in enumerate(lines):
        others = lines[:i] + lines[i + 1 :]
        cut = cables * math.prod(o[0] for o in others)
        if length % 2 and others:
            cut += _halves(others)
        best = cut if best is None else min(best, cut)
    return best or 0


def torus_bisection(
    dims: Sequence[int],
    *,
    wrap: bool | Sequence[bool] = True,
    double_links_for_two: bool = True,
) -> int:
    """Cables between two halves (of sizes that differ by one at most) of a torus or mesh.

    An even dimension of length L with rings: 2 N / L cables (Chen et al., SC 2012), in a mesh
    N / L. An odd one leaves a middle layer that is halved in turn; so 2 (or 1) times the
    sum over the dimensions, longest first, of the product of all shorter ones,
    up to the first even one (Aroca and Fernandez Anta, IEEE TPDS 25, 2014). Where
    rings and paths are mixed, the least over all orders of dimensions.

    Parameters
    ----------
    dims : sequence of int
    wrap : bool or sequence of bool
        Whether each dimension is a ring.
    double_links_for_two : bool
        Whether a ring of length 2 has two cables.

    Returns
    -------
    int
        Cables, 0 for one router.

    Raises
    ------
    NetcosimError
        No dimension, a length below 1, too few values in ``wrap``.
    """
    lengths = check_dims(dims)
    rings = (wrap,) * len(lengths) if isinstance(wrap, bool) else tuple(wrap)
    if len(rings) != len(lengths):
        raise NetcosimError(f"wrap has {len(rings)} values for {len(lengths)} dimensions")
    lines = tuple(
        sorted(
            (d, 2 if ring and (d > 2 or double_links_for_two) else 1)
            for d, ring in zip(lengths, rings, strict=True)
            if d > 1
        )
    )
    return _halves(lines) if lines else 0


def cuboid_bisection(
    dims: Sequence[int],
    extents: Sequence[int],
    *,
    wrap: bool | Sequence[bool] = True,
    double_links_for_two: bool = True,
) -> int:
    """Internal bisection of a cuboid of a torus or mesh, with rings where it covers one.

    Parameters
    ----------
    dims, extents : sequence of int
        Of the network and of the cuboid in it.
    wrap, double_links_for_two
        Of the network, as in `torus_bisection`.

    Raises
    ------
    NetcosimError
        A cuboid that does not fit.
    """
    lengths = check_dims(dims)
    inside = check_dims(extents)
    rings = (wrap,) * len(lengths) if isinstance(wrap, bool) else tuple(wrap)
    if len(inside) != len(lengths) or any(a > d for a, d in zip(inside, lengths, strict=True)):
        raise NetcosimError(f"cuboid {inside} does not fit into the torus {lengths}")
    closed = [ring and a == d for a, d, ring in zip(inside, lengths, rings, strict=True)]
    return torus_bisection(inside, wrap=closed, double_links_for_two=double_links_for_two)


def partition_dims(midplanes: Sequence[int]) -> tuple[int, ...]:
    """Lengths in nodes of a partition of whole midplanes.

    Dimensions of the midplane beyond those of the partition stay as they are.

    Raises
    ------
    NetcosimError
        More dimensions than the midplane has, a length below 1.
    """
    lengths = check_dims(midplanes)
    if len(lengths) > len(MIDPLANE_BGQ):
        raise NetcosimError(
            f"partition {lengths} has more dimensions than a midplane, {len(MIDPLANE_BGQ)}"
        )
    ones = (1,) * (len(MIDPLANE_BGQ) - len(lengths))
    return tuple(a * m for a, m in zip(lengths + ones, MIDPLANE_BGQ, strict=True))


def partition_bisection(midplanes: Sequence[int]) -> int:
    """Internal bisection, in links, of a Blue Gene partition: 2 N / L.

    A partition is a torus in every dimension, whatever part of the machine it covers.

    Parameters
    ----------
    midplanes : sequence of int
        Its lengths in midplanes.
    """
    return torus_bisection(partition_dims(midplanes))


def geometries(dims: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Cuboids of ``size`` midplanes that fit, longest dimension first, each up to rotation.

    The best bisection comes first: least longest dimension, then least second, and so on
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
    """The geometry of ``size`` midplanes with the greatest bisection; None if none fits."""
    found = geometries(dims, size)
    return found[0] if found else None


def worst_geometry(dims: Sequence[int], size: int) -> tuple[int, ...] | None:
    """The geometry of ``size`` midplanes with the least bisection; None if none fits."""
    found = geometries(dims, size)
    return found[-1] if found else None


def possible_sizes(dims: Sequence[int]) -> list[int]:
    """Midplane counts for which a cuboid exists, ascending."""
    sizes = {1}
    for d in check_dims(dims):
        sizes = {s * a for s in sizes for a in range(1, d + 1)}
    return sorted(sizes)
