"""Cobalt's drains and windows by hand, and what no schedule may break."""

from __future__ import annotations

import numpy as np
import pytest
from bluegene_helpers import four_midplanes, on
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Mask, make_workload
from selection import examples

from alloc.bluegene.cobalt import Cobalt, CobaltCombo, CobaltPaired, CobaltSimilar
from alloc.bluegene.machine import BlueGene, MidplanePartition
from experiments.kit.blue_gene import blue_gene
from netsim.errors import NetcosimError
from queuesim.bluegene.backfill import CobaltBackfill
from queuesim.estimates import Actual, EstimateModel
from queuesim.machine import Machine
from queuesim.queue import simulate_queue
from queuesim.registry import find_order
from queuesim.result import QueueResult
from queuesim.waiting import make_queue
from workloads.job import Workload

KINDS = (Cobalt, CobaltSimilar, CobaltPaired, CobaltCombo)


def simulate(
    workload: Workload,
    policy: Cobalt,
    order: str = "fcfs",
    estimates: EstimateModel | None = None,
    backfill: str = "cobalt",
) -> QueueResult:
    return simulate_queue(
        workload,
        policy,
        order=order,
        backfill=backfill,
        window=None,
        rng=np.random.default_rng(1),
        estimates=estimates,
        keep_placements=True,
    )


def nodes_of(result: QueueResult, job: int) -> list[int]:
    assert result.placements is not None
    return result.placements.placement(job, job).nodes.tolist()


def test_hand_worked_drain() -> None:
    # A: 1 until 1000, CD: 2 until 2000. Job 3 (two nodes) drains AB, free at 1000, so B is barred:
    # job 4 (2000 s) waits though B is idle, job 5 (900 s) fits into B's window.
    workload = make_workload([0, 0, 1, 1, 2], [1000, 2000, 500, 2000, 900], [1, 2, 2, 1, 1])
    result = simulate(workload, on(four_midplanes()))
    assert result.start_s.tolist() == [0, 0, 1000, 1500, 2]
    assert [nodes_of(result, job) for job in range(5)] == [[0], [2, 3], [0, 1], [0], [1]]
    assert result.promised_s[2] == 1000


def test_the_drain_is_the_partition_that_is_free_first() -> None:
    # A: 1 until 2000, CD: 2 until 1000. Job 3 (two nodes) drains CD and not AB, which stands before
    # it on the menu: B is not barred, and job 4 starts there at once, though it runs for long.
    workload = make_workload([0, 0, 1, 1], [2000, 1000, 500, 5000], [1, 2, 2, 1])
    result = simulate(workload, on(four_midplanes()))
    assert result.promised_s[2] == 1000
    assert result.start_s.tolist() == [0, 0, 1000, 1]
    assert [nodes_of(result, job) for job in range(4)] == [[0], [2, 3], [2, 3], [1]]


def test_a_busy_partition_ends_in_five_minutes_at_least() -> None:
    # Job 1 runs past its walltime of 1000 s. At 1001 AB, which job 3 drains, is thought to be
    # free at 1301: a job of 300 s fits into B, one of 301 s does not.
    for requested, start in ((300, 1001), (301, 1300)):
        workload = make_workload(
            [0, 0, 1, 1001],
            [1100, 5000, 200, requested],
            [1, 2, 2, 1],
            [1000, 5000, 200, requested],
        )
        result = simulate(workload, on(four_midplanes()))
        assert result.start_s[3] == start
        assert result.start_s[2] == (1301 if start == 1001 else 1100)


def test_free_times() -> None:
    # While job 1 runs on A: AB and ABCD wait for it; B and CD would hold them up; D and C too.
    workload = make_workload([0, 1], [1000, 10], [1, 4])
    seen: list[list[float]] = []

    machine = Machine(workload, on(four_midplanes()))
    backfill = CobaltBackfill(
        machine, make_queue(find_order("fcfs"), workload, 2), None, lambda job: None
    )
    seen.append(backfill.free_times(0.0).tolist())
    machine.allocate(0, 0.0)
    seen.append(backfill.free_times(1.0).tolist())
    seen.append(backfill.free_times(900.0).tolist())
    assert seen == [[0.0] * 7, [1000.0] * 7, [1200.0] * 7]


def test_an_idle_partition_that_holds_nobody_up_has_no_window() -> None:
    """Two midplanes without a partition of both: B is free now, whatever runs on A."""
    parts = tuple(MidplanePartition(name, (k,), (1,), frozenset()) for k, name in enumerate("AB"))
    apart = BlueGene("two", (2,), ("a", "b"), parts, 1)
    machine = Machine(make_workload([0], [1000], [1]), on(apart))
    queue = make_queue(find_order("fcfs"), make_workload([0], [1000], [1]), 2)
    backfill = CobaltBackfill(machine, queue, None, lambda job: None)
    machine.allocate(0, 0.0)
    assert backfill.free_times(7.0).tolist() == [1000.0, 7.0]


def test_a_job_starts_where_the_window_is_long_enough() -> None:
    # From 10 on B runs until 1000 and D until 3000; job 5 (four nodes) drains all. A's window ends
    # at 1000, when AB may begin, C's at 3000: job 6 (2000 s) goes to C, though A stands before it.
    run = [10, 1000, 10, 3000, 500, 2000]
    result = simulate(
        make_workload([0, 0, 0, 0, 1, 2], run, [1, 1, 1, 1, 4, 1]), on(four_midplanes())
    )
    assert [nodes_of(result, job) for job in range(4)] == [[0], [1], [2], [3]]
    assert result.start_s[5] == 10
    assert nodes_of(result, 5) == [2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["fcfs", "wfp"])
def test_one_partition_is_lindleys_recursion(kind: type[Cobalt], order: str) -> None:
    only = BlueGene("one", (1,), ("a",), (MidplanePartition("A", (0,), (1,), frozenset()),), 1)
    rng = np.random.default_rng(3)
    gaps, run = rng.integers(1, 15, 40), rng.integers(1, 12, 40)
    submit = np.cumsum(gaps)
    workload = make_workload(submit.tolist(), run.tolist(), [1] * 40)
    result = simulate(workload, on(only, kind), order)
    if order == "fcfs":
        wait = [0]
        for k in range(39):
            wait.append(max(0, wait[k] + int(run[k]) - int(gaps[k + 1])))
        assert (result.start_s - submit).tolist() == wait
    # Any order keeps the server busy: the same busy time.
    idle = np.sort(result.start_s)[1:] - np.sort(result.end_s)[:-1]
    assert (idle >= 0).all()


def test_partner_starts_with_the_lead() -> None:
    # All wait until 10. Then job 2 (100 s) leads on A and brings job 5 (90 s) onto B, before job 3,
    # which is longer, and job 4, which is further off.
    menu = four_midplanes()
    workload = make_workload([0, 1, 1, 1, 1], [10, 100, 150, 50, 90], [4, 1, 1, 1, 1])
    plain = simulate(workload, on(menu, Cobalt))
    assert plain.start_s.tolist() == [0, 10, 10, 10, 10]
    pairs = simulate(workload, on(menu, CobaltPaired))
    assert nodes_of(plain, 2) == [1]  # the first of the best in name order, in queue order
    assert nodes_of(pairs, 1) == [0]
    assert nodes_of(pairs, 4) == [1]  # 90 s beside 100 s
    assert pairs.start_s[4] == 10
    # The actual times turn it round: 100 s asked for, and 90, 50 run.
    other = make_workload([0, 1, 1, 1], [10, 100, 90, 50], [4, 1, 1, 1], [10, 100, 100, 100])
    assert nodes_of(simulate(other, on(menu, CobaltPaired)), 2) == [1]
    swapped = make_workload([0, 1, 1, 1], [10, 60, 90, 50], [4, 1, 1, 1], [10, 100, 100, 100])
    assert nodes_of(simulate(swapped, on(menu, CobaltPaired)), 2) == [1]
    told = simulate(swapped, on(menu, CobaltPaired), estimates=Actual())
    assert nodes_of(told, 3) == [1]


@examples(12)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    order=st.sampled_from(["fcfs", "wfp"]),
    machine=st.sampled_from(["intrepid", "intrepid-2013", "mira", "mira-proposed"]),
    backfill=st.sampled_from(["cobalt", "cobalt", "easy", "none", "conservative"]),
)
def test_no_two_running_partitions_conflict(seed, kind, order, machine, backfill):
    rng = np.random.default_rng(seed)
    chosen = blue_gene(machine)
    n = 60
    sizes = np.minimum(512 * 2 ** rng.integers(0, 7, n) - rng.integers(0, 2, n), 32_768)
    requested = rng.integers(60, 4000, n)
    run = np.maximum(1, requested * rng.uniform(0.1, 1.2, n))
    submit = np.sort(rng.integers(0, 8000, n))
    workload = make_workload(submit, run, sizes, requested)
    result = simulate(workload, on(chosen, kind), order, backfill=backfill)
    assert np.isfinite(result.start_s).all()
    assert (result.start_s >= submit).all()
    assert (result.allocated_nodes >= sizes).all()
    kept = result.placements
    assert kept is not None
    by_midplanes: dict[tuple[int, ...], list[frozenset[str]]] = {}
    for partition in chosen.partitions:
        by_midplanes.setdefault(partition.midplanes, []).append(partition.wires)
    for job in range(n):
        mine = set((kept.placement(job, job).nodes // 512).tolist())
        begins = (result.start_s <= result.start_s[job]) & (result.end_s > result.start_s[job])
        for other in np.flatnonzero(begins):
            if other == job:
                continue
            theirs = set((kept.placement(int(other), 0).nodes // 512).tolist())
            assert not mine & theirs
            # A menu may have a torus and a mesh on the same midplanes: one choice must do.
            assert any(
                not a & b
                for a in by_midplanes[tuple(sorted(mine))]
                for b in by_midplanes[tuple(sorted(theirs))]
            )


def test_needs_a_menu() -> None:
    workload = make_workload([0], [1], [1])
    with pytest.raises(NetcosimError, match="backfill 'cobalt' needs a partition menu"):
        simulate_queue(workload, Mask(4), backfill="cobalt", rng=np.random.default_rng(1))
