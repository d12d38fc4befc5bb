"""Least blocking, SL and PF on hand-worked machines."""

from __future__ import annotations

import numpy as np
import pytest
from bluegene_helpers import four_midplanes, intrepid_with, on, part, rack, run_on, where

from alloc.bluegene.cobalt import Cobalt, CobaltCombo, CobaltPaired, CobaltSimilar
from alloc.bluegene.intrepid import intrepid
from alloc.bluegene.machine import BlueGene
from alloc.policy import Request
from netsim.errors import NetcosimError
from netsim.topologies.torus import torus


def row_of_fig_2() -> BlueGene:
    """Tang et al., Fig. 2 (a): what its text names of one row of racks."""
    return intrepid_with(
        [
            part("P1", *rack(0), *rack(2)),
            part("P2", *rack(4), *rack(5)),
            part("block R6 R7", *rack(6), *rack(7)),
            part("horizontal M0 R1 R3", "R01-M0", "R03-M0"),
            part("horizontal M0 R7 R1", "R07-M0", "R01-M0"),
            part("horizontal M1 R1 R3", "R01-M1", "R03-M1"),
            part("horizontal M1 R7 R1", "R07-M1", "R01-M1"),
            *(part(f"vertical R{r}", *rack(r)) for r in (1, 3, 6, 7)),
        ]
    )


def test_least_blocking_on_fig_2() -> None:
    machine = row_of_fig_2()
    policy = on(machine)
    run_on(policy, "P1", Request(1, 2048))
    run_on(policy, "P2", Request(2, 2048))
    idle = [p.name for p, free in zip(machine.partitions, policy.idle, strict=True) if free]
    assert "vertical R1" not in idle  # P1 has the wires
    assert "vertical R3" not in idle
    names = [n for n in idle if n != "block R6 R7"]
    scores = policy.scores(np.array([machine.index(n) for n in names]))
    # R6 and R7 break the 1x1x4 block and each other's loop; R7 also two horizontal ones.
    # R7-R1 breaks the block, R7 and R1-R3; R1-R3 only R7-R1 on the same loop.
    assert dict(zip(names, scores.tolist(), strict=True)) == {
        "horizontal M0 R1 R3": 1,
        "horizontal M0 R7 R1": 3,
        "horizontal M1 R1 R3": 1,
        "horizontal M1 R7 R1": 3,
        "vertical R6": 2,
        "vertical R7": 4,
    }
    assert where(policy, policy.allocate(Request(3, 1000))) == "horizontal M0 R1 R3"
    assert where(policy, policy.allocate(Request(4, 2048))) == "block R6 R7"


@pytest.mark.parametrize(
    ("kind", "end_s", "expected"),
    [
        (Cobalt, 100.0, "R0M1"),
        (CobaltSimilar, 100.0, "R2M0"),
        (CobaltCombo, 100.0, "R2M0"),
        (CobaltSimilar, 160.0, "R3M1"),
        (CobaltSimilar, 20.0, "R0M1"),
        (CobaltSimilar, None, "R0M1"),
    ],
)
def test_similar_length_on_fig_3(kind: type[Cobalt], end_s: float | None, expected: str) -> None:
    """Fig. 3: job a ends soon on R0M0, c as late as e on R2M1, f last on R3M0."""
    racks = [part(f"R{r}", *rack(r)) for r in range(4)]
    halves = [part(f"R{r}M{h}", f"R0{r}-M{h}") for r in range(4) for h in (0, 1)]
    policy = on(intrepid_with([*racks, *halves]), kind)
    run_on(policy, "R0M0", Request(1, 512, 30.0))
    run_on(policy, "R1M0", Request(2, 512, 60.0))
    run_on(policy, "R1M1", Request(3, 512, 60.0))
    run_on(policy, "R2M1", Request(4, 512, 105.0))
    run_on(policy, "R3M0", Request(5, 512, 200.0))
    assert where(policy, policy.allocate(Request(6, 512, end_s))) == expected


def test_a_partition_without_a_pair_has_no_neighbours_end() -> None:
    """The job on the last partition of the menu is nobody's neighbour, whenever it ends."""
    menu = [part("R0", *rack(0)), part("R0M0", "R00-M0"), part("R0M1", "R00-M1")]
    menu += [part("A", "R02-M0"), part("Z", "R03-M1")]
    policy = on(intrepid_with(menu), CobaltSimilar)
    run_on(policy, "R0M1", Request(1, 512, 50.0))
    run_on(policy, "Z", Request(2, 512, 100.0))
    assert where(policy, policy.allocate(Request(3, 512, 100.0))) == "R0M0"


def test_ties_without_neighbour_go_by_name() -> None:
    # R00-M0 stands in one more partition than R00-M1: the diagonal one of 1K.
    policy = on(intrepid(), CobaltSimilar)
    assert where(policy, policy.allocate(Request(1, 512, 10.0))) == "ANL-R00-M1-512"


def test_smallest_defined_size() -> None:
    policy = on(intrepid())
    assert len(policy.allocate(Request(1, 1)).nodes) == 512  # type: ignore[union-attr]
    assert len(policy.allocate(Request(2, 20_000)).nodes) == 24_576  # type: ignore[union-attr]
    assert not policy.fits_empty(40_961)
    assert policy.n_free == 40_960 - 512 - 24_576


def test_partner() -> None:
    """Algorithm 2: same size class, not longer than the lead job, nearest to it."""
    policy = on(intrepid(), CobaltPaired)
    lead = Request(1, 512, 100.0)
    assert policy.fill_partner is not Cobalt.fill_partner
    run_on(policy, "ANL-R12-M0-512", lead)
    waiting = [
        Request(2, 1024, 100.0),
        Request(3, 512, 101.0),
        Request(4, 512, 80.0),
        Request(5, 300, 100.0),  # may end with the lead job
        Request(6, 512, 100.0),
    ]
    found = policy.fill_partner(lead, waiting)
    assert found is not None
    assert found[0] == 3
    assert where(policy, found[1]) == "ANL-R12-M1-512"
    again = policy.fill_partner(lead, waiting[:3])
    assert again is None  # the paired midplane is taken
    assert policy.pairs
    plain = on(intrepid())
    plain.allocate(lead)
    assert not plain.pairs
    assert plain.fill_partner(lead, waiting) is None


@pytest.mark.parametrize(
    ("lead", "nodes", "partner"),
    [
        ("ANL-R20-1024", 1024, None),  # one Z loop for both racks
        ("ANL-R20-R21-2048", 2048, "ANL-R22-R23-2048"),
        ("ANL-R20-R23-4096", 4096, None),  # Y loops
        ("ANL-R20-R27-8192", 8192, None),
    ],
)
def test_where_pairs_can_run(lead: str, nodes: int, partner: str | None) -> None:
    policy = on(intrepid(), CobaltPaired)
    request = Request(1, nodes, 100.0)
    run_on(policy, lead, request)
    found = policy.fill_partner(request, [Request(2, nodes, 50.0)])
    assert (None if found is None else where(policy, found[1])) == partner


def test_hold_takes_wires_too() -> None:
    policy = on(intrepid())
    placement = run_on(policy, "ANL-R20-1024", Request(1, 1024))
    policy.release(placement)
    policy.hold(placement)
    for job in range(2, 22):
        found = policy.allocate(Request(job, 1024))
        if found is not None:
            assert where(policy, found) not in ("ANL-R20-1024", "ANL-R21-1024")
    policy.unhold()
    assert where(policy, policy.allocate(Request(30, 1024))) == "ANL-R20-1024"


def test_a_machine_of_other_nodes_is_refused() -> None:
    with pytest.raises(NetcosimError, match="machine four has 4 nodes"):
        Cobalt(torus((3, 2)), np.random.default_rng(1), four_midplanes())
