"""Intrepid's partitions and wires, by the wiring rule.

Blue Gene/P, 40 racks in 5 rows of 8, two midplanes a rack: 5 x 4 x 4 midplanes. Z is the
loop through the four midplanes of an even/odd rack pair, Y the loop through racks 0-2-6-4
(and 1-3-7-5) of a row, X a graph of split cables between the rows. A torus shorter than its
loop takes the whole loop; a mesh takes only the cables between its midplanes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, pairwise, permutations

from alloc.bluegene.machine import NOT_IN_2009, BlueGene, MidplanePartition
from netsim.errors import NetcosimError

DIMS = (5, 4, 4)
ROWS, RACKS = 5, 8
ROW_CABLES = ((0, 1), (0, 2), (1, 0), (2, 3), (2, 4), (3, 1), (3, 2), (4, 3))
"""Directed X cables between rows; one from and to every midplane of a row."""
SAME_HALF = (4, 3)
"""The one X cable that does not cross from midplane 0 to 1."""
Y_LOOP = (0, 2, 6, 4)
"""Even racks of a row along Y; the odd ones are each one further."""
REVERSED_ROWS = (1, 2)
"""Rows whose Z loops run in the other direction."""

Box = tuple[str, tuple[int, ...], tuple[int, int]]
"""Kind, rows, first and last rack."""


def midplane_name(row: int, rack: int, half: int) -> str:
    """Return the name of a midplane: "R23-M1" in row 2, rack 3, half 1."""
    return f"R{row}{rack}-M{half}"


def _z_loop(row: int, rack_pair: int) -> list[str]:
    even, odd = 2 * rack_pair, 2 * rack_pair + 1
    loop = [(even, 0), (even, 1), (odd, 1), (odd, 0)]
    if row in REVERSED_ROWS:
        loop = [loop[0], *reversed(loop[1:])]
    return [midplane_name(row, rack, half) for rack, half in loop]


def _cable(axis: str, tail: str, head: str) -> str:
    return f"{axis}_{tail}{axis}_{head}"


def _loop_cables(axis: str, loop: list[str], used: set[str], mesh: bool) -> set[str]:
    """Return the cables of a loop that a partition takes which has the midplanes ``used``."""
    own = [name for name in loop if name in used]
    if len(own) < 2:
        return set()
    steps = zip(loop, [*loop[1:], loop[0]], strict=True)
    if mesh and len(own) < len(loop):
        return {_cable(axis, a, b) for a, b in steps if a in used and b in used}
    return {_cable(axis, a, b) for a, b in steps}


def _row_cables(rows: frozenset[int]) -> list[tuple[int, int]]:
    """Return the X cables of a torus over these rows: of a ring with the fewest other rows."""
    if len(rows) < 2:
        return []
    others = [row for row in range(ROWS) if row not in rows]
    for extra in range(len(others) + 1):
        for more in combinations(others, extra):
            ring = sorted(rows | set(more))
            for tour in permutations(ring[1:]):
                stops = (ring[0], *tour, ring[0])
                if all(step in ROW_CABLES for step in pairwise(stops)):
                    return [(a, b) for a, b in ROW_CABLES if a in ring and b in ring]
    raise NetcosimError(f"no X cables make a ring over rows {sorted(rows)}")


def partition_wires(midplanes: set[str], *, mesh: bool = False) -> frozenset[str]:
    """Return all wires of a partition: the ports of its midplanes (by name) and the cables.

    ``mesh``: a mesh where the partition does not fill its loop; it uses ports only along its
    dimensions that are longer than 1.
    """
    rows = frozenset(int(name[1]) for name in midplanes)
    wires: dict[str, set[str]] = {"X": set(), "Y": set(), "Z": set()}
    for row in rows:
        for pair in range(RACKS // 2):
            wires["Z"] |= _loop_cables("Z", _z_loop(row, pair), midplanes, mesh)
        for odd in (0, 1):
            for half in (0, 1):
                loop = [midplane_name(row, rack + odd, half) for rack in Y_LOOP]
                wires["Y"] |= _loop_cables("Y", loop, midplanes, mesh)
    columns = {(int(name[2]), int(name[-1])) for name in midplanes}
    for a, b in _row_cables(rows):
        for rack, half in columns:
            other_half = half if (a, b) == SAME_HALF else 1 - half
            wires["X"].add(
                _cable("X", midplane_name(a, rack, half), midplane_name(b, rack, other_half))
            )
    axes = [axis for axis in "XYZ" if wires[axis] or not mesh]
    ports = {f"{name}{axis}_{name}" for name in midplanes for axis in axes}
    ports |= {f"{axis}_{name}{name}" for name in midplanes for axis in axes}
    return frozenset(ports.union(*wires.values()))


def _boxes() -> list[Box]:
    """Return every entry of one rack and more, but the diagonal one."""
    boxes: list[Box] = []
    for row in range(ROWS):
        boxes += [(kind, (row,), (k, k)) for k in range(RACKS) for kind in ("ANL", "MESH")]
        boxes += [("ANL", (row,), (k, k + 1)) for k in range(0, RACKS, 2)]
        starts = (0, 2, 4) if row in (0, 1) else (0, 4)
        boxes += [("ANL", (row,), (k, k + 3)) for k in starts]
        boxes += [("MESH", (row,), (k, k + 3)) for k in (0, 4)]
        boxes.append(("ANL", (row,), (0, 7)))
    boxes += [("ANL", (0, 1), (k, k + 1)) for k in range(0, RACKS, 2)]
    boxes += [("ANL", (0, 1), (k, k + 3)) for k in (0, 2, 4)]
    boxes += [("MESH", (3,), (2, 3)), ("SPLIT", (2, 3), (0, 1))]
    rows = ((0, 1), (2, 3), (3, 4), (2, 4), (2, 3, 4), (0, 1, 2, 3), (1, 2, 3, 4), (0, 1, 2, 3, 4))
    return [*boxes, *(("ANL", some, (0, 7)) for some in rows)]


def _name(kind: str, rows: tuple[int, ...], first: int, last: int, nodes: int) -> str:
    a, b = f"R{rows[0]}{first}", f"R{rows[-1]}{last}"
    if rows == (2, 4):
        return f"{kind}-R2{first}-R2{last}-R4{first}-R4{last}-{nodes}"
    if kind == "SPLIT":
        return f"{kind}-R2{first}-R2{last}-R3{first}-R3{last}-{nodes}"
    return f"{kind}-{a}-{nodes}" if a == b else f"{kind}-{a}-{b}-{nodes}"


@lru_cache(maxsize=2)
def intrepid(*, later_entries: bool = False) -> BlueGene:
    """Build Intrepid with its menu.

    ``later_entries``: also those named MESH and SPLIT, which are in a menu of 2013 and may be later
    than the log of 2009.
    """
    # by number: row (X), place along the Y loop, place along the Z loop
    loops = (_z_loop(row, rack // 2) for row in range(ROWS) for rack in Y_LOOP)
    names = tuple(name for loop in loops for name in loop)
    place = {name: i for i, name in enumerate(names)}

    def entry(name: str, midplanes: list[str], shape: tuple[int, ...]) -> MidplanePartition:
        mesh = name.startswith("MESH")
        wires = partition_wires(set(midplanes), mesh=mesh)
        return MidplanePartition(name, tuple(sorted(place[m] for m in midplanes)), shape, wires)

    partitions = [entry(f"ANL-{m}-512", [m], (1, 1, 1)) for m in names]
    partitions += [entry(f"MESH-{m}-512", [m], (1, 1, 1)) for m in ("R33-M0", "R40-M0")]
    diagonal = ["R00-M0", "R01-M1"]
    partitions.append(entry("ANL-R00-M0-R01-M1-1024", diagonal, (1, 1, 2)))
    for kind, rows, (first, last) in _boxes():
        midplanes = [
            midplane_name(row, rack, half)
            for row in rows
            for rack in range(first, last + 1)
            for half in (0, 1)
        ]
        racks = last - first + 1
        shape = (len(rows), max(1, racks // 2), 2 if racks == 1 else 4)
        name = _name(kind, rows, first, last, 512 * len(midplanes))
        partitions.append(entry(name, midplanes, shape))
    menu = tuple(sorted(partitions, key=lambda p: p.name))
    machine = BlueGene("intrepid", DIMS, names, menu)
    return machine if later_entries else machine.without(*NOT_IN_2009)
