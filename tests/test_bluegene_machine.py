"""Menus and wires of Blue Gene machines, against Intrepid's own files and by hand."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from alloc.bluegene.files import read_machine
from alloc.bluegene.intrepid import intrepid, partition_wires
from alloc.bluegene.loops import loop_machine, machine_for
from alloc.bluegene.machine import BlueGene, pairs_of
from experiments.kit.blue_gene import blue_gene
from netsim.errors import NetcosimError
from netsim.topologies.torus import torus

FULL = intrepid(later_entries=True)


def most_at_once(machine: BlueGene, nodes: int, kind: str) -> int:
    """Largest number of partitions of a size and kind that run together."""
    conflicts = machine.conflicts()
    mine = [
        i
        for i, p in enumerate(machine.partitions)
        if len(p.midplanes) * 512 == nodes and p.kind == kind
    ]
    own = np.triu(conflicts[np.ix_(mine, mine)], 1)
    rows = np.zeros((int(own.sum()), len(mine)))
    for row, (i, j) in zip(rows, np.argwhere(own), strict=True):
        row[[i, j]] = 1
    limits = [LinearConstraint(rows, ub=1)] if len(rows) else []
    n = len(mine)
    found = milp(-np.ones(n), constraints=limits, integrality=np.ones(n), bounds=Bounds(0, 1))
    return round(-found.fun)


def test_intrepid_equals_its_files(shared_dir: Path) -> None:
    folder = shared_dir / "machines"
    menu, wires = folder / "intrepid_menu.csv", folder / "intrepid_wires.json.gz"
    read = read_machine(menu, wires, midplane_names=FULL.midplane_names, dims=FULL.dims)
    assert len(read.partitions) == 227
    assert FULL.partitions == read.partitions
    known = json.loads(gzip.decompress(wires.read_bytes()))
    occupancy = FULL.occupancy().astype(int)
    by_wire = FULL.wire_conflicts() & (occupancy @ occupancy.T == 0)
    for i, partition in enumerate(FULL.partitions):
        names = [FULL.partitions[j].name for j in np.flatnonzero(by_wire[i])]
        assert sorted(names) == sorted(known[partition.name]["wire_conflicts"])
    with menu.open(newline="") as file:
        for row in csv.DictReader(file):
            found = FULL.partitions[FULL.index(row["name"])].wires
            assert len(found) == int(row["all_wires"])
            for axis in "XYZ":
                cables = [w for w in found if w.count(f"{axis}_") == 2]
                assert len(cables) == int(row[f"{axis.lower()}_cables"])


@pytest.mark.parametrize(
    ("nodes", "kind", "most"),
    [
        (512, "ANL", 80),
        (1024, "ANL", 20),
        (1024, "MESH", 40),
        (2048, "ANL", 20),
        (4096, "ANL", 7),
        (4096, "MESH", 10),
        (8192, "ANL", 5),
        (16384, "ANL", 2),
        (32768, "ANL", 1),
    ],
)
def test_most_partitions_at_once(nodes: int, kind: str, most: int) -> None:
    assert most_at_once(FULL, nodes, kind) == most


def test_mesh_and_split_are_a_choice() -> None:
    assert {p.kind for p in FULL.partitions} == {"ANL", "MESH", "SPLIT"}
    assert {p.kind for p in intrepid().partitions} == {"ANL"}
    assert len(blue_gene("intrepid-2013").partitions) == 227


def test_row_wiring_of_fig_2() -> None:
    """Tang et al., section II-A: what the partition on R0 and R2 leaves possible."""
    first = partition_wires({"R00-M0", "R00-M1", "R02-M0", "R02-M1"})

    def blocked(*midplanes: str) -> bool:
        return bool(first & partition_wires(set(midplanes)))

    assert blocked("R01-M0", "R01-M1")
    assert not blocked("R01-M0", "R03-M0")
    assert not blocked("R01-M1", "R05-M1")
    assert blocked("R04-M0", "R06-M0")
    assert not blocked("R04-M0", "R04-M1", "R05-M0", "R05-M1")


def test_pairs() -> None:
    pairs = pairs_of(FULL)

    def pair(name: str) -> str | None:
        other = pairs[FULL.index(name)]
        return None if other < 0 else FULL.partitions[other].name

    assert pair("ANL-R23-M0-512") == "ANL-R23-M1-512"
    assert pair("ANL-R23-1024") == "ANL-R22-1024"
    assert pair("MESH-R22-1024") == "MESH-R23-1024"
    assert pair("ANL-R24-R25-2048") == "ANL-R26-R27-2048"
    assert pair("ANL-R30-R33-4096") == "ANL-R34-R37-4096"
    assert pair("ANL-R02-R05-4096") is None
    assert pair("ANL-R00-R07-8192") is None
    assert all(pairs[p] == i for i, p in enumerate(pairs) if p >= 0)
    mira = blue_gene("mira")
    halves = pairs_of(mira)
    for i, partition in enumerate(mira.partitions):
        if len(partition.midplanes) == 1:
            other = halves[i]
            assert halves[other] == i
            both = tuple(sorted(partition.midplanes + mira.partitions[other].midplanes))
            assert any(p.midplanes == both for p in mira.partitions)


def test_loops_by_hand() -> None:
    ring = loop_machine("ring", (4,), [(1,), (2,), (4,)], midplane_nodes=1)
    assert [p.midplanes for p in ring.partitions] == [
        *((k,) for k in range(4)),
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 1, 2, 3),
    ]
    clash = ring.conflicts()
    assert clash[4, 6]  # both need the whole loop
    assert not clash[4, 2]
    line = loop_machine("line", (4,), [(2,)], wrap=(False,), midplane_nodes=1)
    assert not line.conflicts()[0, 2]


def test_mira_menu() -> None:
    mira = blue_gene("mira")
    sizes = [len(p.midplanes) for p in mira.partitions]
    # In the fewest cables: pairs along the loops of 2, lines of 4 along either loop of 4.
    counts = {n: sizes.count(n) for n in sorted(set(sizes))}
    assert counts == {1: 96, 2: 48, 4: 48, 8: 24, 16: 6, 24: 8, 32: 3, 48: 2, 64: 2, 96: 1}
    assert most_at_once(mira, 1024, "BOX") == 48
    assert most_at_once(mira, 2048, "BOX") == 24


def test_machine_for_a_topology() -> None:
    assert machine_for(torus((5, 4, 4), concentration=512)).name == "intrepid"
    assert machine_for(torus((4, 2, 4, 3))).name == "mira"
    every = machine_for(torus((3, 2)))
    assert len(every.partitions) == 6 * 3
    with pytest.raises(NetcosimError, match="give a menu"):
        machine_for(torus((16, 16, 16)))


def test_files(tmp_path: Path) -> None:
    menu, wires = tmp_path / "mine.csv", tmp_path / "wires.json"
    menu.write_text("name,midplanes,shape\nAB,a b,2\nA,a,1\nB,b,1\nC,c,1\n")
    wires.write_text(json.dumps({n: {"wires": [n[0]]} for n in ("AB", "A", "B", "C")}))
    machine = read_machine(menu, wires)
    assert [p.name for p in machine.partitions] == ["A", "AB", "B", "C"]
    assert machine.conflicts().astype(int).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 0, 0, 1],
    ]
    menu.write_text("name,midplanes,shape\nAB,a b,3\n")
    with pytest.raises(NetcosimError, match="shape '3' for 2 midplanes"):
        read_machine(menu)
    menu.write_text("name,midplanes\nAB,a b\n")
    with pytest.raises(NetcosimError, match=r"mine.csv:1: no column 'shape'"):
        read_machine(menu)
    menu.write_text("name,midplanes,shape\nAB,a b,2\nD,d,1\n")
    with pytest.raises(NetcosimError, match="no wires for partition D"):
        read_machine(menu, wires)
    wires.write_text("[]")
    with pytest.raises(NetcosimError, match="not JSON of name"):
        read_machine(menu, wires)
    with pytest.raises(NetcosimError, match="unknown Blue Gene machine 'mire'"):
        blue_gene("mire")
