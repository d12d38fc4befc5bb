"""Bisection of tori and meshes, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from netsim.errors import NetcosimError


def check_dims(dims: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths as a tuple."""
    lengths = tuple(int(d) for d in dims)
    if not lengths or min(lengths) < 1:
        raise NetcosimError(f"torus dims = {lengths}; at least one length, each at least 1")
    return lengths


@cache
def _halves(lines: tuple[tuple[int, int], ...]) -> int:
    """Return the least cut over (length, cables cut a line): cut one dimension in the middle.

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
    """Return the cables between two halves of a torus or mesh whose sizes differ by at most 1.

    An even dimension of length L is cut by 2 N / L cables with rings (Chen et al., SC 2012), by N /
    L in a mesh. An odd one leaves a middle layer that is halved in turn: 2 (or 1) times the sum
    over the dimensions, longest first, of the product of all shorter ones up to the first even one
    (Aroca and Fernandez Anta, IEEE TPDS 25, 2014). Where rings and paths are mixed, it is the
    minimum over all orders of dimensions.
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
    """Return the bisection of a cuboid in a torus or mesh, with rings where it covers them."""
    lengths = check_dims(dims)
    inside = check_dims(extents)
    rings = (wrap,) * len(lengths) if isinstance(wrap, bool) else tuple(wrap)
    if len(inside) != len(lengths) or any(a > d for a, d in zip(inside, lengths, strict=True)):
        raise NetcosimError(f"cuboid {inside} does not fit into the torus {lengths}")
    closed = [ring and a == d for a, d, ring in zip(inside, lengths, rings, strict=True)]
    return torus_bisection(inside, wrap=closed, double_links_for_two=double_links_for_two)
