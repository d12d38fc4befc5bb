"""Edge-isoperimetric bounds: the fewest links that leave a set of routers, by theorem.

Torus: Oltchik and Schwartz, "Network Partitioning and Avoidable Contention", Theorem 3.1 and its
lemmas. Lengths of 2 come in two forms. With two cables between the routers (Blue Gene/Q:
``double_links_for_two``) a dimension of length 2 is a ring like any other and the theorem
holds as printed. With one cable (the torus *graph*) a set that covers one of two layers pays 1
link a router there, not 2; the theorem is then applied to the other dimensions for every
number of covered lengths of 2.

Hypercube: Harper (1964). HyperX, a product of cliques: Lindsey (1964). Any graph: Fiedler (1973).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netsim.analysis.bisection import check_dims
from netsim.analysis.graph import _fiedler
from netsim.errors import NetcosimError


class Cuboid(NamedTuple):
    """A cuboid and the links that leave it.

    Attributes
    ----------
    extents : tuple of int
        Edge lengths, in the order of the torus's dimensions.
    links : int
        Cables between the cuboid and the rest.
    """

    extents: tuple[int, ...]
    links: int


def cuboids_of_size(dims: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Every cuboid of exactly ``size`` routers that fits, in lexicographic order."""
    lengths = check_dims(dims)
    room = math.prod(lengths[1:])
    for first in range(1, min(lengths[0], size) + 1):
        rest = size // first
        if size % first or rest > room:
            continue
        if len(lengths) == 1:
            yield (first,)
        else:
            for others in cuboids_of_size(lengths[1:], rest):
                yield (first, *others)


def cuboid_links(
    dims: Sequence[int], extents: Sequence[int], *, double_links_for_two: bool = True
) -> int:
    """Cables that leave a cuboid of a torus.

    A dimension that the cuboid covers gives none, another gives two for each line of
    routers in it (one, if its length is 2 and there is one cable).

    Raises
    ------
    NetcosimError
        A cuboid that does not fit.
    """
    lengths = check_dims(dims)
    if len(extents) != len(lengths) or any(
        not 1 <= a <= d for a, d in zip(extents, lengths, strict=True)
    ):
        raise NetcosimError(f"cuboid {tuple(extents)} does not fit into the torus {lengths}")
    volume, links = math.prod(extents), 0
    for a, d in zip(extents, lengths, strict=True):
        if a < d:
            links += (2 if d > 2 or double_links_for_two else 1) * (volume // a)
    return links


def _check_size(dims: tuple[int, ...], size: int) -> None:
    if not 1 <= size <= math.prod(dims) // 2:
        raise NetcosimError(
            f"size = {size}; allowed: 1 to half of the torus, {math.prod(dims) // 2} routers"
        )


def _theorem(dims: tuple[int, ...], size: float) -> float:
    """Equation (3); dims in any order."""
    ascending = sorted(dims)
    n = len(dims)
    return min(
        2.0 * (n - r) * math.pow(math.prod(ascending[:r]) * size ** (n - r - 1), 1 / (n - r))
        for r in range(n)
    )


def cuboid_bound(dims: Sequence[int], size: int, *, double_links_for_two: bool = True) -> float:
    """Theorem 3.1: no cuboid of ``size`` routers has fewer links to the rest.

    Parameters
    ----------
    dims : sequence of int
        Lengths of the torus; those of 1 are passed over.
    size : int
        At most half of the torus.
    double_links_for_two : bool
        See the module.

    Returns
    -------
    float
        Cables. For arbitrary sets of routers the paper conjectures it.

    Raises
    ------
    NetcosimError
        A size out of range.
    """
    lengths = check_dims(dims)
    _check_size(lengths, size)
    real = tuple(d for d in lengths if d > 1)
    longer = tuple(d for d in real if d > 2)
    twos = len(real) - len(longer)
    if double_links_for_two or not twos:
        return _theorem(real, size)
    if not longer:
        return float(hypercube_cut(twos, size))
    bounds = []
    for open_twos in range(twos + 1):
        # A cuboid that leaves `open_twos` lengths of 2 uncovered covers the others; what it
        # has in the longer dimensions is a cuboid of this size.
        inner = size / 2 ** (twos - open_twos)
        if inner == math.prod(longer):
            bounds.append(float(open_twos * size))
        elif 1 <= inner < math.prod(longer):
            layers = 2 ** (twos - open_twos)
            bounds.append(open_twos * size + layers * _theorem(longer, inner))
    return min(bounds)


def theorem_cuboids(dims: Sequence[int], size: int) -> list[Cuboid]:
    """The cuboids S_r of Lemma 3.2 that are whole: the shortest r dimensions, and a cube.

    With two cables in lengths of 2, as in Blue Gene/Q. Equal cuboids are given once.

    Raises
    ------
    NetcosimError
        A size out of range.
    """
    lengths = check_dims(dims)
    _check_size(lengths, size)
    order = sorted(range(len(lengths)), key=lambda d: lengths[d])
    found: dict[tuple[int, ...], Cuboid] = {}
    for r in range(len(lengths)):
        covered, open_dims = order[:r], order[r:]
        k = math.prod(lengths[d] for d in covered)
        side = round((size / k) ** (1 / len(open_dims)))
        if k * side ** len(open_dims) != size or side > lengths[open_dims[0]]:
            continue
        extents = list(lengths)
        for d in open_dims:
            extents[d] = side
        shape = tuple(extents)
        found.setdefault(shape, Cuboid(shape, cuboid_links(lengths, shape)))
    return list(found.values())


def isoperimetric_cuboid(
    dims: Sequence[int], size: int, *, double_links_for_two: bool = True
) -> Cuboid | None:
    """The cuboid of ``size`` routers with the fewest links to the rest, by trying all.

    Ties: the first in lexicographic order. None if no cuboid has that size.
    """
    lengths = check_dims(dims)
    best: Cuboid | None = None
    for extents in cuboids_of_size(lengths, size):
        links = cuboid_links(lengths, extents, double_links_for_two=double_links_for_two)
        if best is None or links < best.links:
            best = Cuboid(extents, links)
    return best


def torus_cuts(
    dims: Sequence[int], largest: int, *, double_links_for_two: bool = True
) -> dict[int, int]:
    """The fewest links that leave a cuboid of each size up to ``largest``.

    Sizes that no cuboid has are not there.
    """
    cuts = {}
    for size in range(1, largest + 1):
        found = isoperimetric_cuboid(dims, size, double_links_for_two=double_links_for_two)
        if found is not None:
            cuts[size] = found.links
    return cuts


def small_set_expansion(cuts: Mapping[int, float], degree: float, size: int) -> float:
    """Return the least expansion of a set of at most ``size`` routers of a regular network.

    The expansion of a set is the cut over all links that touch it: ``degree`` times its size is
    twice the links inside plus the cut (equation 1 of the paper). ``cuts`` maps sizes to the
    fewest links that leave a set of that size.
    """
    return min(2 * cut / (degree * s + cut) for s, cut in cuts.items() if 1 <= s <= size)


def hypercube_cuts(dimension: int) -> NDArray[np.int64]:
    """(2^dimension + 1,) int64: the fewest cables that leave a set of each size.

    Harper: the routers 0 .. t-1, read as binary numbers, are an optimal set of t; router i
    has as many cables to smaller ones as it has ones.

    Raises
    ------
    NetcosimError
        A dimension outside 1 .. 26.
    """
    if not 1 <= dimension <= 26:
        raise NetcosimError(f"hypercube dimension = {dimension}; allowed: 1 to 26")
    ones = np.zeros(1, dtype=np.int64)
    for _ in range(dimension):
        ones = np.concatenate([ones, ones + 1])
    sizes = np.arange(2**dimension + 1, dtype=np.int64)
    inside = np.concatenate([[0], np.cumsum(ones)])
    return np.asarray(dimension * sizes - 2 * inside)


def hypercube_cut(dimension: int, size: int) -> int:
    """The fewest cables that leave ``size`` routers of a hypercube (Harper, 1964).

    Raises
    ------
    NetcosimError
        A dimension below 1, a size outside 0 .. 2^dimension.
    """
    if dimension < 1 or not 0 <= size <= 1 << dimension:
        raise NetcosimError(
            f"hypercube dimension = {dimension}, size = {size}; "
            "at least 1, and 0 to 2^dimension are needed"
        )

    def inside(t: int, d: int) -> int:
        # The first t numbers: a whole half (if t is in the upper half) and the rest, each
        # of whose members has one cable into the half.
        if t <= 1:
            return 0
        half = 1 << (d - 1)
        if t <= half:
            return inside(t, d - 1)
        return (d - 1) * half // 2 + inside(t - half, d - 1) + (t - half)

    return dimension * size - 2 * inside(size, dimension)


def hyperx_cuts(dims: Sequence[int]) -> NDArray[np.int64]:
    """(n + 1,) int64: the fewest cables that leave a set of each size, all cables equal.

    Lindsey: routers in lexicographic order with the largest clique filled first, then
    copies of it along the next largest, are optimal at every size. The router with
    digits (x_1, x_2, ...) has x_1 + x_2 + ... cables to routers before it.

    Parameters
    ----------
    dims : sequence of int
        Clique sizes.

    Raises
    ------
    NetcosimError
        No dimension, or a length below 1.
    """
    lengths = sorted(check_dims(dims), reverse=True)
    before = np.zeros(1, dtype=np.int64)
    for length in lengths:
        before = (np.arange(length, dtype=np.int64)[:, None] + before).ravel()
    sizes = np.arange(len(before) + 1, dtype=np.int64)
    inside = np.concatenate([[0], np.cumsum(before)])
    return np.asarray(sum(d - 1 for d in lengths) * sizes - 2 * inside)


def spectral_bound(graph: sparse.csr_array, size: int) -> float:
    """No set of ``size`` routers has less weight to the rest.

    The second eigenvalue of the Laplacian times t (n - t) / n (Fiedler, 1973; the set's
    indicator vector in the Rayleigh quotient).
    """
    n, vector = int(graph.shape[0]), _fiedler(graph)
    second = vector @ (graph.sum(axis=1) * vector - graph @ vector) / (vector @ vector)
    return float(second) * size * (n - size) / n
