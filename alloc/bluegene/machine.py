"""A Blue Gene machine: midplanes, the partitions of its scheduler, and their wires.

Blue Gene jobs run on partitions out of a fixed menu. Two partitions *conflict*, and can
never be booted together, if they share a midplane or any wire (Tang et al., section II).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.topologies.torus import torus
from netsim.topology import Topology

Mask = NDArray[np.bool_]

MIDPLANE_NODES = 512
NOT_IN_2009 = ("MESH", "SPLIT")
"""Name prefixes of Intrepid's entries that may be later than its log."""


@dataclass(frozen=True)
class MidplanePartition:
    """An entry of the menu."""

    name: str
    midplanes: tuple[int, ...]
    """Ascending."""
    shape: tuple[int, ...]
    """Extents in midplanes."""
    wires: frozenset[str]

    @property
    def kind(self) -> str:
        """The first word of the name if it is one of letters ("ANL", "MESH", ...), else ""."""
        word, dash, _ = self.name.partition("-")
        return word if dash and word.isalpha() else ""


@dataclass(frozen=True, eq=False)
class BlueGene:
    """A machine with its menu."""

    name: str
    dims: tuple[int, ...]
    """Lengths of the torus in midplanes; midplanes are numbered with the last changing fastest."""
    midplane_names: tuple[str, ...]
    """By number."""
    partitions: tuple[MidplanePartition, ...]
    """In name order, which is the order in which a scheduler tries them."""
    midplane_nodes: int = MIDPLANE_NODES
    """Nodes a midplane."""

    def __post_init__(self) -> None:
        names = [p.name for p in self.partitions]
        if not names:
            raise NetcosimError(f"machine {self.name}: the partition menu is empty")
        if names != sorted(set(names)):
            raise NetcosimError(f"machine {self.name}: partition names must be sorted and differ")
        if len(self.midplane_names) != int(np.prod(self.dims)):
            raise NetcosimError(
                f"machine {self.name}: {len(self.midplane_names)} midplane names for "
                f"{self.dims} midplanes"
            )
        for partition in self.partitions:
            if not partition.midplanes or partition.midplanes[-1] >= len(self.midplane_names):
                raise NetcosimError(
                    f"partition {partition.name}: midplanes {partition.midplanes}; allowed are "
                    f"0 to {len(self.midplane_names) - 1}"
                )

    @property
    def n_midplanes(self) -> int:
        """Midplanes of the machine."""
        return len(self.midplane_names)

    @property
    def n_nodes(self) -> int:
        """Nodes of the machine."""
        return self.n_midplanes * self.midplane_nodes

    def index(self, name: str) -> int:
        """Return the place of a partition in the menu; NetcosimError for an unknown name."""
        for i, partition in enumerate(self.partitions):
            if partition.name == name:
                return i
        raise NetcosimError(f"machine {self.name}: no partition {name!r} on the menu")

    def occupancy(self) -> Mask:
        """Return which midplanes each partition has, (partitions, midplanes)."""
        occupied = np.zeros((len(self.partitions), self.n_midplanes), dtype=np.bool_)
        for i, partition in enumerate(self.partitions):
            occupied[i, list(partition.midplanes)] = True
        return occupied

    def wire_conflicts(self) -> Mask:
        """Return which partitions share a wire, (partitions, partitions); True on the diagonal."""
        number: dict[str, int] = {}
        for partition in self.partitions:
            for wire in partition.wires:
                number.setdefault(wire, len(number))
        uses = np.zeros((len(self.partitions), len(number)), dtype=np.float32)
        for i, partition in enumerate(self.partitions):
            uses[i, [number[wire] for wire in partition.wires]] = 1.0
        return np.asarray(uses @ uses.T > 0) | np.eye(len(self.partitions), dtype=np.bool_)

    def conflicts(self) -> Mask:
        """Return which partitions share a midplane or a wire; True on the diagonal."""
        has = self.occupancy().astype(np.float32)
        return np.asarray(has @ has.T > 0) | self.wire_conflicts()

    def contained(self) -> Mask:
        """Return a square mask, True at [i, j] if partition j lies within i (and i within i)."""
        has = self.occupancy().astype(np.float32)
        return np.asarray(has @ has.T >= has.sum(axis=1)[None, :])

    def without(self, *kinds: str) -> BlueGene:
        """Return the machine without the menu entries of these kinds ("MESH", "SPLIT", ...)."""
        kept = tuple(p for p in self.partitions if p.kind not in kinds)
        return BlueGene(self.name, self.dims, self.midplane_names, kept, self.midplane_nodes)

    def topology(self) -> Topology:
        """Return a torus of the midplanes, each one a router with its nodes, for the queue."""
        return torus(self.dims, concentration=self.midplane_nodes, name=self.name)


def rack_pairs(machine: BlueGene) -> list[int]:
    """Return the paired partition of each on a machine of racks (Intrepid); -1 for none.

    512 nodes: the rack's other midplane. 1K: the adjacent rack; 2K: 2 racks on or back; 4K:
    4 racks on or back; each with a partition of the same kind there.
    """
    place = {name: i for i, name in enumerate(machine.midplane_names)}
    known = {(p.kind, p.midplanes): i for i, p in enumerate(machine.partitions)}
    pairs = []
    for partition in machine.partitions:
        n = len(partition.midplanes)
        moved = []
        for midplane in partition.midplanes if n in (1, 2, 4, 8) else ():
            name = machine.midplane_names[midplane]
            row, rack, half = int(name[1]), int(name[2]), int(name[-1])
            other = f"R{row}{rack ^ (n // 2)}-M{half ^ (n == 1)}"
            moved.append(place.get(other, -1))
        pair = known.get((partition.kind, tuple(sorted(moved))), -1)
        apart = pair >= 0 and not set(moved) & set(partition.midplanes)
        pairs.append(pair if apart else -1)
    return pairs


def union_pairs(machine: BlueGene) -> list[int]:
    """Return the paired partition of each: the other half of a larger one on the menu; -1 for none.

    Closeness of partitions is "derived from shared component membership in larger
    partitions" (Tang et al., section IV). In name order each partition that has no pair yet
    gets the first one of its size and kind with which it makes up a larger one.
    """
    sets = [frozenset(p.midplanes) for p in machine.partitions]
    known: dict[frozenset[int], list[int]] = {}
    for i, midplanes in enumerate(sets):
        known.setdefault(midplanes, []).append(i)
    around: dict[tuple[int, int], list[frozenset[int]]] = {}
    for midplanes in sets:
        for midplane in midplanes:
            around.setdefault((len(midplanes), midplane), []).append(midplanes)
    pairs = [-1] * len(sets)
    for i, mine in enumerate(sets):
        if pairs[i] >= 0:
            continue
        kind = machine.partitions[i].kind
        for union in around.get((2 * len(mine), min(mine)), []):
            if not mine < union:
                continue
            others = [
                j
                for j in known.get(union - mine, [])
                if pairs[j] < 0 and machine.partitions[j].kind == kind
            ]
            if others:
                pairs[i], pairs[others[0]] = others[0], i
                break
    return pairs


def pairs_of(machine: BlueGene) -> list[int]:
    """Return the paired partition of each, -1 for none; by racks where midplanes are named
    Rxy-Mz."""
    names: Sequence[str] = machine.midplane_names
    racks = all(len(n) == 6 and n[0] == "R" and n[3:5] == "-M" for n in names)
    return rack_pairs(machine) if racks else union_pairs(machine)
