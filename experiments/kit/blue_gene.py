"""Blue Gene machines by name, with the partition menus that they had."""

from __future__ import annotations

from functools import lru_cache

from alloc.bluegene.intrepid import intrepid
from alloc.bluegene.loops import loop_machine
from alloc.bluegene.machine import BlueGene
from alloc.bluegene.menus import partition_menu
from netsim.errors import NetcosimError

MIRA_DIMS = (2, 3, 4, 4)
"""Mira in midplanes, in the order of Blue Gene/Q's dimensions A, B, C, D."""
MACHINES: dict[str, str] = {
    "intrepid": "Intrepid, 80 midplanes: the menu without its MESH and SPLIT entries",
    "intrepid-2013": "Intrepid with all 227 entries of the menu of 2013",
    "mira": "Mira, 96 midplanes: the geometries it had",
    "mira-proposed": "Mira with the best geometry of each size",
}


@lru_cache(maxsize=8)
def blue_gene(name: str) -> BlueGene:
    """Return a machine by name; NetcosimError for one that is not in `MACHINES`."""
    if name.startswith("intrepid") and name in MACHINES:
        return intrepid(later_entries=name == "intrepid-2013")
    if name in MACHINES:
        menu = partition_menu("mira-current" if name == "mira" else name)
        return loop_machine(name, MIRA_DIMS, menu.geometries)
    raise NetcosimError(f"unknown Blue Gene machine {name!r}; known: {', '.join(MACHINES)}")
