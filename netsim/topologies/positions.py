"""Positions of routers in a drawing of a machine: rings of groups, rows of levels, grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.topologies.domains import MACHINE, Hierarchy
from netsim.topology import Topology

LANDSCAPE = 1.5
"""Width over height that grids come near to: that of a page's column."""

RING_RADIUS, RING_DEPTH, CORE_RADIUS = 0.365, 0.115, 0.15
"""Of a ring of groups: its middle, what a group reaches outwards and inwards, what lies inside."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of a machine's routers in a drawing."""

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    """x, y: (n_routers,) float32. From the left and from the top, in 0 to 1. No two routers share a
    place."""
    group: NDArray[np.int32]
    """(n_routers,) int32. Index into ``group_names``: routers that are drawn together."""
    group_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(self.x) == len(self.y) == len(self.group):
            raise NetcosimError(
                f"layout: {len(self.x)} x, {len(self.y)} y and {len(self.group)} groups; "
                "one of each for every router"
            )
        for name in ("x", "y"):
            column = getattr(self, name)
            if not np.all((column >= 0) & (column <= 1)):
                raise NetcosimError(f"layout: {name} has a place outside of 0 to 1")
        if len(self.group) and not 0 <= self.group.min() <= self.group.max() < len(
            self.group_names
        ):
            raise NetcosimError(
                f"layout: groups {self.group.min()} to {self.group.max()}; "
                f"{len(self.group_names)} have a name"
            )


def layout(x: ArrayLike, y: ArrayLike, group: ArrayLike, names: Sequence[str]) -> Layout:
    """Build a `Layout` of columns of any kind, which cannot be written to."""
    across, down = np.array(x, dtype=np.float32), np.array(y, dtype=np.float32)
    together = np.array(group, dtype=np.int32)
    for column in (across, down, together):
        column.flags.writeable = False
    return Layout(across, down, together, tuple(names))


def numbered(what: str, count: int) -> tuple[str, ...]:
    """Return the names of domains that have none of their own: "pod 0", "pod 1", ..."""
    return tuple(f"{what} {i}" for i in range(count))


def places(group: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each member's place in its group, in order, and the members that the group has.

    Examples
    --------
    >>> place, size = places([0, 1, 0, 0])
    >>> place.tolist(), size.tolist()
    ([0, 0, 1, 2], [3, 1, 3, 3])
    """
    group = np.asarray(group, dtype=np.int64)
    sizes = np.bincount(group, minlength=1)
    order = np.argsort(group, kind="stable")
    place = np.empty(len(group), dtype=np.int64)
    place[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place, sizes[group]


def oval(place: NDArray[np.int64], size: NDArray[np.int64]) -> tuple[ArrayLike, ArrayLike]:
    """Place members around an oval, so that every link between two is visible; one in the middle.

    Returned are the places along the ring and outwards, in -1 to 1, for `ring_of_groups`.
    """
    share = place / size
    # even steps outwards and back, so that none crowd at the ends of a slim oval
    out = 2 * np.abs(1 - 2 * share) - 1
    along = np.where(share < 0.5, 1.0, -1.0) * np.sqrt(np.maximum(0.0, 1 - out**2))
    several = size > 1
    return np.where(several, along, 0.0), np.where(several, out, 0.0)


def ring_of_groups(
    group: ArrayLike, along: ArrayLike, out: ArrayLike, names: Sequence[str]
) -> Layout:
    """Return the groups around a ring, clockwise from the top, each in a sector of its own.

    A router's place in its group is in -1 to 1: clockwise along the ring, and outwards.
    """
    group, along, out = np.asarray(group), np.asarray(along), np.asarray(out)
    if len(names) == 1:
        return layout(0.5 + 0.45 * along, 0.5 - 0.45 * out, group, names)
    # no wider than deep where there is room for more, and a gap between neighbours
    half = min(0.68 * math.pi / len(names), 1.2 * RING_DEPTH / RING_RADIUS)
    angle = 2 * np.pi * group / len(names) + half * along
    radius = RING_RADIUS + RING_DEPTH * out
    return layout(0.5 + radius * np.sin(angle), 0.5 - radius * np.cos(angle), group, names)


def grid(dims: Sequence[int]) -> Layout:
    """Place planes of the last two dimensions as grids side by side, nested above three.

    The last dimension is fastest. Those of length 1 do not show; a single one is drawn as a ring.

    Examples
    --------
    >>> planes = grid([2, 2, 2])
    >>> planes.group.tolist(), planes.group_names
    ([0, 0, 0, 0, 1, 1, 1, 1], ('plane 0', 'plane 1'))
    """
    n = math.prod(dims)
    long = [length for length in dims if length > 1]
    if len(long) < 2:
        return ring_of_groups(np.zeros(n), *oval(*places(np.zeros(n))), (MACHINE,))
    coords = np.stack(np.unravel_index(np.arange(n), long))
    wide, high = (-1, -2) if long[-1] >= long[-2] else (-2, -1)
    x, y = coords[wide].astype(np.float64), coords[high].astype(np.float64)
    width, height = float(long[wide]), float(long[high])
    for level, coord in enumerate(reversed(coords[:-2]), 1):
        length = int(coord.max()) + 1
        gap = float(level)
        columns = min(range(length, 0, -1), key=_Squareness(length, width + gap, height + gap))
        row, column = np.divmod(coord, columns)
        # alternating directions, so that neighbours are adjacent at the ends of rows as well
        column = np.where(row % 2 == 1, columns - 1 - column, column)
        x += column * (width + gap)
        y += row * (height + gap)
        width = columns * (width + gap) - gap
        height = -(-length // columns) * (height + gap) - gap
    planes = n // (long[-1] * long[-2])
    names = numbered("plane", planes) if planes > 1 else (MACHINE,)
    plane = np.arange(n) // (long[-1] * long[-2])
    return layout((x + 0.5) / width, (y + 0.5) / height, plane, names)


@dataclass(frozen=True)
class _Squareness:
    """Deviation of blocks in columns from the aspect ratio of a page."""

    blocks: int
    width: float
    height: float

    def __call__(self, columns: int) -> float:
        rows = -(-self.blocks // columns)
        return abs(math.log(columns * self.width / (rows * self.height) / LANDSCAPE))


def rows_of_levels(
    height: ArrayLike, band: ArrayLike, names: Sequence[str], above: Sequence[str] = ()
) -> Layout:
    """Place levels as rows, leaves at the bottom, with a domain's routers side by side in a band.

    Leaves have height 0. Routers of band -1 belong to none: those have the whole width, a row a
    level. ``names`` are those of the bands, ``above`` those of the levels that have routers in no
    band, from the lowest: each is a group.

    Examples
    --------
    Two pods of two leaves and one switch, and a spine above them:

    >>> rows = rows_of_levels([0, 0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 1, -1], ["a", "b"], ["top"])
    >>> rows.group.tolist(), rows.group_names
    ([0, 0, 1, 1, 0, 1, 2], ('a', 'b', 'top'))
    """
    height, band = np.asarray(height, dtype=np.int64), np.asarray(band, dtype=np.int64)
    levels, free = int(height.max()) + 1, band < 0
    row = np.where(free, band.max(initial=0) + 1, band) * levels + height
    place, size = places(row)
    # a free row must not fall on a row of the bands
    lines, line = np.unique(np.stack([height, free]), axis=1, return_inverse=True)
    y = 1 - (np.ravel(line) + 0.25) / (lines.shape[1] - 0.5)
    width = np.zeros(max(len(names), 1))
    np.maximum.at(width, band[~free], size[~free].astype(np.float64))
    gap = 0.0 if len(names) < 2 else 1.0
    ends = np.cumsum(width + gap)
    left = ends - width - gap / 2
    share = (place + 0.5) / size
    x = np.where(free, share, (left[band] + share * width[band]) / max(ends[-1], 1.0))
    alone, which = np.unique(height[free], return_inverse=True)
    if len(alone) != len(above):
        raise NetcosimError(
            f"layout: {len(above)} names for the {len(alone)} levels that belong to no band"
        )
    group = band.copy()
    group[free] = len(names) + which
    return layout(x, y, group, (*names, *above))


def by_domains(topology: Topology, hierarchy: Hierarchy) -> Layout:
    """Place the widest domains of any machine around a ring, routers without nodes inside.

    If the nodes have no domains but routers, all routers are on one ring.
    """
    n = topology.n_routers
    first = np.full(n, topology.n_nodes, dtype=np.int64)
    owner = np.arange(topology.n_ports) // topology.rails
    np.minimum.at(first, topology.port_router, owner)
    alone = first == topology.n_nodes
    domain = np.zeros(n, dtype=np.int64)
    if len(hierarchy.levels) > 2:
        domain[~alone] = hierarchy.domain[1][first[~alone]]
        names = [hierarchy.name(1, i) for i in range(hierarchy.counts[1])]
    else:
        names = [MACHINE]
    # in the order of their nodes, which puts neighbours side by side
    order = np.lexsort([np.arange(n), first])
    order = order[~alone[order]]
    along, out = np.zeros(n), np.zeros(n)
    along[order], out[order] = oval(*places(domain[order]))
    ring = ring_of_groups(domain, along, out, names)
    if not alone.any():
        return ring
    x, y = np.array(ring.x), np.array(ring.y)
    inner = CORE_RADIUS if len(names) > 1 else 0.25
    side, up = oval(*places(np.zeros(int(alone.sum()))))
    x[alone] = 0.5 + inner * np.asarray(side)
    y[alone] = 0.5 - inner * np.asarray(up)
    group = np.where(alone, len(names), domain)
    return layout(x, y, group, (*names, "without nodes"))
