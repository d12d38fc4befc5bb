"""Small-set expansion: links that leave a set, over all links that touch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from netsim.analysis.torus import check_dims, isoperimetric_cuboid
from netsim.errors import NetcosimError


def expansion_of_cut(cut: float, size: int, degree: float) -> float:
    """Expansion of a set of ``size`` routers of a regular network (equation 1 of the paper).

    The degree times the size is twice the inside plus the cut; the expansion is the cut over
    inside plus cut.
    """
    return 2 * cut / (degree * size + cut)


def small_set_expansion(cuts: Mapping[int, float] | np.ndarray, degree: float, size: int) -> float:
    """h_t: the least expansion of a set of at most t routers of a regular network.

    Parameters
    ----------
    cuts : (at least size + 1,) array or mapping from size to cut
        The fewest links that leave a set of each size (`hypercube_cuts`, `hyperx_cuts`,
        `torus_cuts`). Sizes that a mapping lacks are passed over.
    degree : float
        Cables of every router.
    size : int
        t.

    Raises
    ------
    NetcosimError
        A size below 1 or beyond the cuts.
    """
    known = dict(cuts) if isinstance(cuts, Mapping) else dict(enumerate(cuts.tolist()))
    largest = None if isinstance(cuts, Mapping) else max(known)
    if size < 1 or (largest is not None and size > largest):
        raise NetcosimError(f"size = {size}; allowed: 1 to {largest or 'any'}")
    return min(expansion_of_cut(cut, s, degree) for s, cut in known.items() if 1 <= s <= size)


def torus_degree(dims: Sequence[int], *, double_links_for_two: bool = True) -> int:
    """Cables of every router of a torus."""
    twos = 2 if double_links_for_two else 1
    return sum(0 if d == 1 else twos if d == 2 else 2 for d in check_dims(dims))


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
