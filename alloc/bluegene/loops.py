"""Machines of plain loops: every line of midplanes along a dimension is one loop of cables.

As Y and Z on Intrepid: a partition longer than 1 along a dimension takes all cables of every
line that it crosses there. Blue Gene/Q is wired so in all its dimensions (our reading: what is
published on Mira, JUQUEEN and Sequoia names geometries, not cables).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from alloc.bluegene.intrepid import DIMS as INTREPID
from alloc.bluegene.intrepid import intrepid
from alloc.bluegene.machine import MIDPLANE_NODES, BlueGene, MidplanePartition
from alloc.bluegene.menus import MIRA, Geometry, partition_menu
from alloc.torus.geometry import balanced
from netsim.errors import NetcosimError
from netsim.topology import Topology

MOST_PARTITIONS = 6000


def _wires(
    dims: Sequence[int], corner: Sequence[int], extents: Sequence[int], wrap: Sequence[bool]
) -> frozenset[str]:
    """Return the cables "axis:line:place" of a box."""
    wires = set()
    spans = [range(c, c + e) for c, e in zip(corner, extents, strict=True)]
    for axis, (length, extent) in enumerate(zip(dims, extents, strict=True)):
        if extent < 2:
            continue
        places = range(length) if wrap[axis] else range(corner[axis], corner[axis] + extent - 1)
        for line in product(*(span for i, span in enumerate(spans) if i != axis)):
            where = ".".join(map(str, line))
            wires |= {f"{axis}:{where}:{place}" for place in places}
    return frozenset(wires)


def loop_machine(
    name: str,
    dims: Sequence[int],
    geometries: Sequence[Geometry] | None = None,
    *,
    wrap: Sequence[bool] | None = None,
    midplane_nodes: int = MIDPLANE_NODES,
) -> BlueGene:
    """Return a machine of loops, of so many midplanes in each dimension.

    Each of the ``geometries`` (longest dimension first) is placed in those orientations that take
    the fewest cables; by default every cuboid in every orientation. Boxes do not wrap around. In
    dimensions without ``wrap`` partitions take only the cables between their midplanes.
    """
    dims = tuple(dims)
    rings = (True,) * len(dims) if wrap is None else tuple(wrap)
    if geometries is None:
        count = prod(d * (d + 1) // 2 for d in dims)
        if count > MOST_PARTITIONS:
            raise NetcosimError(
                f"machine {name}: {count} cuboids in {'x'.join(map(str, dims))}; at most "
                f"{MOST_PARTITIONS} partitions: give a menu"
            )
    wanted = None if geometries is None else {balanced(g) for g in geometries}
    by_geometry: dict[Geometry, dict[Geometry, int]] = {}
    for extents in product(*(range(1, d + 1) for d in dims)):
        if wanted is None or balanced(extents) in wanted:
            cables = len(_wires(dims, (0,) * len(dims), extents, rings))
            by_geometry.setdefault(balanced(extents), {})[extents] = cables
    missing = set() if wanted is None else wanted - set(by_geometry)
    if missing:
        raise NetcosimError(f"machine {name}: geometry {min(missing)} does not fit into {dims}")
    numbers = np.arange(prod(dims)).reshape(dims)
    partitions = []
    for shapes in by_geometry.values():
        least = min(shapes.values())
        for extents, cables in shapes.items():
            if wanted is not None and cables > least:
                continue
            for corner in product(*(range(d - e + 1) for d, e in zip(dims, extents, strict=True))):
                box = numbers[tuple(slice(c, c + e) for c, e in zip(corner, extents, strict=True))]
                nodes = box.size * midplane_nodes
                at, shape = ".".join(map(str, corner)), "x".join(map(str, extents))
                partitions.append(
                    MidplanePartition(
                        f"BOX-{nodes:06d}-{shape}-at-{at}",
                        tuple(int(m) for m in np.sort(box.ravel())),
                        extents,
                        _wires(dims, corner, extents, rings),
                    )
                )
    names = tuple(".".join(map(str, at)) for at in np.ndindex(*dims))
    menu = tuple(sorted(partitions, key=lambda p: p.name))
    return BlueGene(name, dims, names, menu, midplane_nodes)


@lru_cache(maxsize=8)
def _machine(dims: tuple[int, ...], wrap: tuple[bool, ...], nodes: int) -> BlueGene:
    if dims == INTREPID and nodes == MIDPLANE_NODES:
        return intrepid()
    menu = partition_menu("mira-current").geometries if balanced(dims) == MIRA else None
    label = "mira" if menu else "torus"
    return loop_machine(label, dims, menu, wrap=wrap, midplane_nodes=nodes)


def machine_for(topology: Topology) -> BlueGene:
    """Return the machine of a torus of midplanes.

    Each router is a midplane: 5 x 4 x 4 with 512 nodes each is Intrepid, Mira's dimensions in any
    order have Mira's menu, any other torus every cuboid.
    """
    if topology.family != "torus":
        raise NetcosimError(f"partition menus are for the torus; {topology.name} is none")
    shape = topology.shape
    return _machine(tuple(shape.dims), tuple(shape.wrap), int(shape.concentration))
