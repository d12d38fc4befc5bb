"""What the queue remembers of failed attempts changes no schedule: plain queues try every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from alloc_helpers import CASES, MACHINES
from queue_helpers import Contiguous, Pairs, PlainEasy, PlainRetest, make_workload
from selection import first_of_each, first_only

from alloc.policy import Policy, Request
from alloc.registry import POLICIES, make_policy
from netsim.topologies.fattree import fat_tree
from netsim.topologies.torus import torus
from queuesim.compiled.by_count import run_by_count
from queuesim.queue import simulate_queue
from queuesim.queue_setup import QueueSetup
from workloads.job import Workload

SCHEDULES = 300
"""Random schedules of each kind of machine; without the rule on what to forget 1 % differ."""

FAT_TREE = fat_tree(4)
TORUS = torus((4, 2, 2))


def registered(name: str) -> Callable[[], Policy]:
    topology = FAT_TREE if "fattree" in POLICIES[name].families else TORUS
    return lambda: make_policy(topology, name, np.random.default_rng(0))


MADE: dict[str, Callable[[], Policy]] = {
    "contiguous": lambda: Contiguous(16),
    "pairs": lambda: Pairs(16),
    **{
        name: registered(name)
        for name in ("ta", "laas", "jigsaw", "lc", "first-fit-cuboid", "cuboid-best", "menu")
    },
}

COMPILED = [name for name in MADE if name in POLICIES and POLICIES[name].has_kernel_state]


def random_workload(rng: np.random.Generator, policy: Policy) -> Workload:
    """Many short and some long jobs at once; walltimes that hold, or that do not."""
    n = int(rng.integers(8, 26))
    run = rng.integers(1, 15, n)
    asked = np.maximum(run + rng.integers(-2, 12, n), 1)
    sizes = [k for k in range(1, 13) if policy.fits_empty(k)]
    submit = np.sort(rng.integers(0, 25, n)) if rng.random() < 0.7 else np.zeros(n)
    return make_workload(submit, run, rng.choice(sizes, n), asked)


@pytest.mark.parametrize("name", first_only(MADE))
@pytest.mark.parametrize(
    ("backfill", "plain"),
    [("easy", PlainEasy), pytest.param("easy-retest", PlainRetest, marks=pytest.mark.full)],
)
def test_same_schedule_as_a_queue_that_remembers_nothing(name, backfill, plain):
    rng = np.random.default_rng(7)
    make = MADE[name]
    schedules = SCHEDULES if name in ("contiguous", "pairs") else SCHEDULES // 5
    differ = []
    for k in range(schedules):
        workload = random_workload(rng, make())
        window = [None, 5, 50][k % 3]
        fast = simulate_queue(
            workload, make(), backfill=backfill, window=window, rng=np.random.default_rng(1)
        )
        slow = plain(workload, make(), "fcfs", len(workload) if window is None else window).run()
        if not np.array_equal(fast.start_s, slow):
            differ.append(k)
        if name in COMPILED and backfill == "easy":
            setup = QueueSetup(workload, make(), window=window, rng=np.random.default_rng(1))
            compiled = run_by_count(setup)
            assert compiled is not None
            np.testing.assert_array_equal(compiled.start_s, slow)
    assert differ == []


@pytest.mark.parametrize(
    ("machine", "name"),
    first_of_each(
        [(machine, name) for machine, name in CASES if not POLICIES[name].counts_only],
        lambda case: case[0],
    ),
)
def test_what_fails_goes_on_failing_until_something_is_released(machine: str, name: str) -> None:
    """`Policy.allocate`'s promise, on which the queue does not ask again."""
    rng = np.random.default_rng(3)
    topology = MACHINES[machine]
    bandwidth = 5e8 if name == "lc-s" else None
    checked = 0
    for seed in range(2):
        policy = make_policy(topology, name, np.random.default_rng(seed))
        sizes = [n for n in range(1, topology.n_nodes + 1) if policy.fits_empty(n)]
        running, failing = [], set()
        for job in range(60):
            if running and rng.random() < 0.45:
                policy.release(running.pop(rng.integers(len(running))))
                failing = None
                continue
            if not failing:
                failing = those_that_fail(policy, sizes, bandwidth)
            size = int(rng.choice(sizes[: max(1, len(sizes) // 3)]))
            placement = policy.allocate(Request(job, size, 100.0, bandwidth))
            if placement is not None:
                running.append(placement)
                checked += len(failing)
                assert those_that_fail(policy, failing, bandwidth) == failing
    assert checked > 30


def those_that_fail(policy: Policy, sizes: Iterable[int], bandwidth_Bps: float | None) -> set[int]:
    """Return the sizes that cannot be placed now; a failure changes nothing."""
    found, twin = set(), policy.clone()
    for n_nodes in sizes:
        if twin.allocate(Request(10**6, n_nodes, 100.0, bandwidth_Bps)) is None:
            found.add(n_nodes)
        else:
            twin = policy.clone()
    return found
