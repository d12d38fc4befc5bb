"""Small Blue Gene machines and policies on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alloc.bluegene.cobalt import Cobalt
from alloc.bluegene.intrepid import intrepid, partition_wires
from alloc.bluegene.machine import BlueGene, MidplanePartition
from alloc.policy import Placement, Request

NAMES = intrepid().midplane_names
PLACE = {name: i for i, name in enumerate(NAMES)}


def part(name: str, *midplanes: str) -> MidplanePartition:
    """A partition of Intrepid with its wires."""
    where = tuple(sorted(PLACE[m] for m in midplanes))
    return MidplanePartition(name, where, (len(where),), partition_wires(set(midplanes)))


def rack(number: int) -> tuple[str, str]:
    return f"R0{number}-M0", f"R0{number}-M1"


def intrepid_with(partitions: Sequence[MidplanePartition]) -> BlueGene:
    menu = tuple(sorted(partitions, key=lambda p: p.name))
    return BlueGene("part of intrepid", (5, 4, 4), NAMES, menu)


def four_midplanes() -> BlueGene:
    """Midplanes a, b, c, d of one node; partitions A, B, C, D, AB, CD, ABCD; no wires."""
    menu: Mapping[str, tuple[int, ...]] = {
        "A": (0,),
        "AB": (0, 1),
        "ABCD": (0, 1, 2, 3),
        "B": (1,),
        "C": (2,),
        "CD": (2, 3),
        "D": (3,),
    }
    parts = tuple(MidplanePartition(n, m, (len(m),), frozenset()) for n, m in sorted(menu.items()))
    return BlueGene("four", (4,), ("a", "b", "c", "d"), parts, midplane_nodes=1)


def on(machine: BlueGene, policy: type[Cobalt] = Cobalt) -> Cobalt:
    return policy(machine.topology(), np.random.default_rng(1), machine)


def run_on(policy: Cobalt, partition: str, request: Request) -> Placement:
    """Start a job on a partition of one's own choice."""
    wanted = np.zeros(len(policy.machine.partitions), dtype=bool)
    wanted[policy.machine.index(partition)] = True
    policy.only(wanted)
    placement = policy.allocate(request)
    policy.only(None)
    assert placement is not None
    assert where(policy, placement) == partition
    return placement


def where(policy: Cobalt, placement: Placement | None) -> str:
    assert placement is not None
    return policy.machine.partitions[policy.running[placement.job_id]].name
