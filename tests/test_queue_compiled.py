"""The compiled queue against the run event by event: every column of a result, to the bit."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alloc_helpers import CASES, MACHINES
from queue_helpers import Mask, Pairs, make_workload

from alloc.fattree.jigsaw import Jigsaw
from alloc.policy import Placement, Policy, Request
from alloc.registry import POLICIES, make_policy
from netsim.errors import NetcosimError
from queuesim.assumed import Assumed
from queuesim.compiled import by_count, choice
from queuesim.compiled.by_count import run_by_count
from queuesim.decide import Easy
from queuesim.estimates import Adjusted
from queuesim.ordering.orders import Order
from queuesim.queue import run_queue, simulate_queue
from queuesim.queue_setup import QueueSetup
from queuesim.registry import ORDERS
from queuesim.result import PlacementArrays, QueueResult
from queuesim.runtime import AsLogged
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.failures import Failures
from queuesim.site.outages import Outage
from queuesim.site.partitions import Partition
from queuesim.site.preemption import PreemptionKeys
from queuesim.site.quotas import QuotaKeys
from queuesim.site.rules import Rules
from workloads.details import JobDetails
from workloads.job import Workload
from workloads.swf import read_swf
from workloads.transform import from_zero, select

FULL = pytest.mark.full
LAAS = pytest.param("laas", marks=FULL)
SCORED = Order(
    "area-by-wait",
    "many ties",
    score=lambda work, jobs, now_s: np.floor((now_s - work.submit_s[jobs]) / work.n_nodes[jobs]),
)
COMPILED_ORDERS = [ORDERS[name] for name in ("fcfs", "shortest", "smallest", "largest", "wfp")]
BY_COUNT = [
    (m, name)
    for m, name in CASES
    if make_policy(MACHINES[m], name, np.random.default_rng(0)).counts_only
]
PLACING = [(m, name) for m, name in CASES if POLICIES[name].has_kernel_state]
PAIRS = list(product([*COMPILED_ORDERS, SCORED], choice.COMPILED_BACKFILLS))


def assert_equal(one: Any, other: Any) -> None:
    """Compare all fields but measured times; arrays with their types, and nan as a value."""
    for name in (f.name for f in fields(one) if f.name not in ("wall_s", "scheduling_s")):
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, PlacementArrays):
            assert_equal(a, b)
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, name
            np.testing.assert_array_equal(a, b, name)
        else:
            assert a is b or a == b or (np.isnan(a) and np.isnan(b)), name


def both(workload: Workload, policies: tuple[Policy, Policy], **choices: Any) -> QueueResult:
    """Return the result, after both ways have given it."""
    setups = [
        QueueSetup(workload, policy, rng=np.random.default_rng(3), **choices) for policy in policies
    ]
    compiled = run_by_count(setups[0])
    run = setups[1].by_events()
    run.run()
    by_events = run.result()
    assert compiled is not None
    assert_equal(compiled, by_events)
    assert policies[0].n_free == policies[1].n_free
    assert policies[0].rng.bit_generator.state == policies[1].rng.bit_generator.state
    return compiled


def masks(n_nodes: int) -> tuple[Mask, Mask]:
    """Two machines of their own with one topology."""
    one, other = Mask(n_nodes), Mask(n_nodes)
    other.topology = one.topology
    return one, other


def random_jobs(rng: np.random.Generator, n_nodes: int) -> Workload:
    """Few different times, so that most of them are equal to others; jobs as large as all nodes.

    Some in fractions that are no binary ones, on a clock that begins before or long after 0, where
    the shortest jobs take no time at all.
    """
    n = int(rng.integers(1, 60))
    unit = rng.choice([1.0, 0.1, 1 / 3])
    begin = rng.choice([0.0, -7.3, 0.7, 1e9])
    submit = np.zeros(n) if rng.random() < 0.2 else np.sort(rng.integers(0, 60, n)) * unit
    run = rng.integers(1, 15, n) * unit
    run[rng.random(n) < 0.1] = 1e-9
    asked = np.maximum(run + rng.integers(-4, 12, n) * unit, unit)
    asked[rng.random(n) < rng.choice([0.0, 0.0, 0.1, 0.8])] = np.inf
    size = np.minimum(rng.geometric(rng.choice([0.1, 0.5]), n), n_nodes)
    size[rng.random(n) < 0.1] = n_nodes
    return make_workload(begin + submit, run, size, asked)


@pytest.mark.parametrize("k", [0, *(pytest.param(k, marks=pytest.mark.full) for k in range(1, 4))])
def test_random_queues_are_equal_to_the_bit(k: int) -> None:
    """Every order, backfilling and policy in turn: 150 queues, 600 in the full tier."""
    rng = np.random.default_rng(k)
    promised = blocked = late = 0
    for i in range(150):
        machine, name = BY_COUNT[(151 * k + i) % len(BY_COUNT)]
        topology = MACHINES[machine]
        policies = [make_policy(topology, name, np.random.default_rng(i)) for _ in range(2)]
        order, backfill = PAIRS[(7 * k + i) % len(PAIRS)]
        result = both(
            random_jobs(rng, topology.n_nodes),
            (policies[0], policies[1]),
            order=order,
            backfill=backfill,
            window=[None, None, 0, 1, 3, 50][int(rng.integers(6))],
            reservations=[None, 0, 1, 2][i // 2 % 4] if backfill == "conservative" else None,
            overrun=("keep", "cut")[int(rng.integers(2))],
            run_time_model=Assumed("20%", speeds_up=(name,)) if i % 3 == 0 else None,
            estimates=Adjusted() if i % 5 == 0 else None,
            keep_placements=i % 4 != 0,
        )
        promised += int((~np.isnan(result.promised_s)).sum())
        blocked += int(~np.isnan(result.first_blocked_s))
        late += int(result.overran.sum())
    assert min(promised, blocked, late) > 50


@pytest.mark.parametrize("k", [0, *(pytest.param(k, marks=pytest.mark.full) for k in range(1, 3))])
@pytest.mark.parametrize("name", ["jigsaw", "ta", "lc-s", pytest.param("lc", marks=FULL), LAAS])
def test_random_queues_on_links_are_equal_to_the_bit(name: str, k: int, monkeypatch: Any) -> None:
    """Policies whose search is in the kernel: what jobs get, and when, on nearly full machines."""
    monkeypatch.setattr(by_count, "PASSES_KEPT", 2)
    rng = np.random.default_rng(k)
    machines = [machine for machine, policy in PLACING if policy == name]
    pairs = [
        (o, backfill) for o, backfill in PAIRS if o.static_key and backfill in ("none", "easy")
    ]
    promised = failed = 0
    for i in range(60):
        topology = MACHINES[machines[i % len(machines)]]
        policies = [make_policy(topology, name, np.random.default_rng(0)) for _ in range(2)]
        sizes = [n for n in range(1, topology.n_nodes + 1) if policies[0].fits_empty(n)]
        jobs = random_jobs(rng, sizes[-1] // 2)
        jobs = replace(jobs, n_nodes=np.array(sizes, dtype=np.int32)[jobs.n_nodes - 1])
        order, backfill = pairs[(7 * k + i) % len(pairs)]
        link_Bps = float(topology.link_bandwidth_Bps.max())
        needs_Bps = rng.choice([0.1, 0.25, 0.3, 0.55], len(jobs)) * link_Bps
        if i % 7 == 0:  # more than `alloc.fattree.kernels_places.MAX_NEEDS`
            needs_Bps = rng.uniform(0.05, 0.8, len(jobs)) * link_Bps
        result = both(
            jobs,
            (policies[0], policies[1]),
            order=order,
            backfill=backfill,
            window=[None, None, 0, 1, 3, 50][int(rng.integers(6))],
            overrun=("keep", "cut")[int(rng.integers(2))],
            bandwidth_Bps=needs_Bps if i % 5 else None,
            keep_placements=i % 4 != 0,
        )
        promised += int((~np.isnan(result.promised_s)).sum())
        failed += int(~np.isnan(result.first_blocked_s))
        assert result.scheduling_s.sum() > 0
    assert min(promised, failed) > 20


def test_a_subclass_has_no_state_in_the_kernel_unless_it_says_so() -> None:
    class Other(Jigsaw):
        name = "other"

    jobs = make_workload(*(np.ones((3, choice.least_jobs(Jigsaw)), dtype=int)))
    for kind, why in ((Jigsaw, ""), (Other, "policy 'other' places by more than the number")):
        policy = kind(MACHINES["fattree-6"], np.random.default_rng(0))
        setup = QueueSetup(jobs, policy, rng=np.random.default_rng(0))
        assert setup.why_by_events.startswith(why)
        assert bool(setup.why_by_events) == bool(why)


@pytest.mark.parametrize(
    ("order", "backfill"), PAIRS, ids=lambda v: v if type(v) is str else v.name
)
def test_many_wait_at_once(order: Order, backfill: str) -> None:
    """More than one block of 64 ranks, at one time and one after the other."""
    rng = np.random.default_rng(5)
    n = 140
    for submit in (np.zeros(n), np.sort(rng.integers(0, 420, n))):
        run = rng.integers(1, 100, n)
        asked = np.maximum(run + rng.integers(-9, 80, n), 1)
        workload = make_workload(submit, run, rng.choice([1, 2, 3, 8, 30, 31], n), asked)
        for window in (None, 70):
            both(workload, masks(32), order=order, backfill=backfill, window=window)


def test_a_queue_in_which_nothing_moves_is_left_to_the_reference(monkeypatch: Any) -> None:
    """Nodes that a policy has given away before are missing for the largest job for ever."""
    monkeypatch.setattr(choice, "LEAST_JOBS", 0)
    for backfill, message in (("easy", "nothing moves"), ("conservative", "even with every")):
        policy = Mask(8)
        policy.free[0] = False
        with pytest.raises(NetcosimError, match=message):
            simulate_queue(
                make_workload([0, 1], [5, 5], [2, 8]),
                policy,
                backfill=backfill,
                rng=np.random.default_rng(0),
            )


PART = Partition("a", "0-3", default=True)


class Drawn(AsLogged):
    name = "drawn"
    fixed = False


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({}, ""),
        ({"order": "wfp", "backfill": "conservative", "overrun": "cut"}, ""),
        *(({"backfill": name}, "") for name in ("none", "easy", "easy-retest", "conservative")),
        *(
            ({"rules": rules} | more, "the queue has partitions, dependencies, outages, failures,")
            for rules, more in (
                (Rules(grace_s=1.0), {"overrun": "cut"}),
                (Rules(has_dependencies=True), {}),
                (Rules(partitions=(PART,)), {}),
                (Rules(outages=(Outage(0.0, 1.0, "0", "reservation"),)), {}),
                (Rules(failures=Failures(per_leaf_day=1.0)), {}),
                (Rules(preemption=PreemptionKeys("order")), {"order": "priority"}),
                (Rules(quotas=QuotaKeys(["0: 2"], "user")), {}),
                (Rules(checkpoints=Checkpoints(10.0)), {}),
                (Rules(checkpoints=Checkpoints(restart_s=5.0)), {}),
            )
        ),
        ({"n_jobs": -1}, "it has fewer than 4,000 jobs"),
        ({"n_jobs": -1, "repeats": 2}, ""),
        ({"backfill": Easy()}, "decider 'easy' chooses the jobs"),
        ({"run_time_model": Drawn()}, "run-time model 'drawn' may change run times while jobs run"),
        ({"order": SCORED}, ""),
        ({"order": "fair-share"}, "order 'fair-share' depends on what has run"),
        ({"backfill": "as-logged"}, "backfill 'as-logged' has no compiled pass"),
        ({"counts_only": False}, "policy 'mask' places by more than the number of free nodes"),
        ({"pairs": True}, "policy 'mask' places by more than the number of free nodes"),
        ({"relents_after_s": 5.0}, "policy 'mask' places by more than the number of free nodes"),
    ],
)
def test_what_runs_by_events_says_why(choices: dict[str, Any], why: str) -> None:
    """One reason each; without it the queue is compiled."""
    n_jobs = choice.LEAST_JOBS + choices.get("n_jobs", 0)
    jobs = make_workload(*(np.ones((3, n_jobs), dtype=int)))
    details = JobDetails(priority=np.ones(n_jobs))
    zeros = np.zeros(n_jobs)
    jobs = replace(jobs, details=details, user=zeros.astype(np.int32), wait_s=zeros)
    policy = Mask(8)
    for name in ("counts_only", "pairs", "relents_after_s"):
        setattr(policy, name, choices.get(name, getattr(policy, name)))
    names = ("order", "backfill", "overrun", "rules", "run_time_model", "repeats")
    given = {name: choices[name] for name in names if name in choices}
    setup = QueueSetup(jobs, policy, rng=np.random.default_rng(0), **given)
    assert setup.why_by_events.startswith(why)
    assert bool(setup.why_by_events) == bool(why)


def test_small_queues_are_compiled_when_a_process_has_queued_many_jobs(monkeypatch: Any) -> None:
    """Three queues of 4 jobs: the third has the last of ten; conservative ones count apart."""
    monkeypatch.setattr(choice, "LEAST_JOBS", 10)
    jobs = make_workload([0, 1, 2, 3], [5, 5, 5, 5], [2, 8, 2, 4])
    policies = masks(8)

    def setup_of(policy: Policy, backfill: str = "easy") -> QueueSetup:
        return QueueSetup(jobs, policy, backfill=backfill, rng=np.random.default_rng(0))

    backfills = ("easy", "easy", "conservative", "easy", "none")
    kinds = [setup_of(policies[0], backfill).is_compiled() for backfill in backfills]
    assert kinds == [False, False, False, True, True]
    assert setup_of(policies[0]).why_by_events == "it has fewer than 10 jobs"
    compiled = run_queue(setup_of(policies[0]))
    monkeypatch.setattr(choice, "LEAST_JOBS", 100)
    assert_equal(compiled, run_queue(setup_of(policies[1])))


def test_a_score_may_be_minus_infinity() -> None:
    """Job 2 of 4 nodes waits until 50 s; jobs 3 and 4 have the smallest score, and end before."""
    order = Order(
        "last", "one node comes last",
        score=lambda work, jobs, now_s: np.where(work.n_nodes[jobs] == 1, -np.inf, 1.0),
    )  # fmt: skip
    jobs = make_workload([0, 1, 2, 2], [50, 5, 5, 7], [3, 4, 1, 1])
    for backfill, starts in {
        "none": [0, 50, 55, 55],
        "easy": [0, 50, 2, 7],
        "conservative": [0, 50, 2, 7],
    }.items():
        found = both(jobs, masks(4), order=order, backfill=backfill)
        assert found.start_s.tolist() == starts


class Noted(Mask):
    """Notes the promised ends that it receives."""

    def __init__(self, n_nodes: int) -> None:
        super().__init__(n_nodes)
        self.ends_s: list[float] = []

    def allocate(self, request: Request) -> Placement | None:
        self.ends_s.append(request.end_s)
        return super().allocate(request)


def test_a_policy_is_called_for_each_start_with_what_has_ended() -> None:
    """Job 1 runs 50 of 100 s; so job 2, at 60 s for 80 s, is expected to end at 60 + 40 s.

    It takes 20 s, a quarter: job 3, at 90 s for 100 s, is expected after 37.5 s, the mean.
    """
    jobs = make_workload([0, 60, 90], [50, 20, 10], [1, 2, 3], [100, 80, 100])
    policies = [Noted(4) for _ in range(3)]
    policies[1].topology = policies[0].topology
    both(jobs, (policies[0], policies[1]), estimates=Adjusted())
    # by events and compiled
    for policy in policies[:2]:
        assert policy.ends_s == [100.0, 100.0, 127.5]
        assert policy.calls == [1, 2, 3]
    rng = np.random.default_rng(0)
    run_by_count(QueueSetup(jobs, policies[2], rng=rng, only_times=True))
    assert policies[2].calls == []


def test_a_policy_that_does_not_place_by_count_is_refused() -> None:
    class Rounding(Pairs):
        counts_only = True

    setup = QueueSetup(make_workload([0], [5], [3]), Rounding(4), rng=np.random.default_rng(0))
    with pytest.raises(NetcosimError, match="any free nodes will do, but job 1 of 3 nodes got 4"):
        run_by_count(setup)


def test_what_jobs_need_of_links_is_in_the_result() -> None:
    needs_Bps = np.array([1e9, 2e9])
    found = both(make_workload([0, 1], [5, 5], [2, 3]), masks(4), bandwidth_Bps=needs_Bps)
    assert found.needs_Bps is not None
    assert found.needs_Bps.tolist() == [1e9, 2e9]


def test_progress_is_shown_as_by_events() -> None:
    shown: list[list[tuple[int, int]]] = [[], []]
    workload = make_workload(np.arange(2500), np.ones(2500), np.ones(2500, dtype=int))
    for told, compiled in zip(shown, (True, False), strict=True):
        setup = QueueSetup(
            workload,
            Mask(4),
            rng=np.random.default_rng(0),
            progress=lambda done, n, told=told: told.append((done, n)),  # type: ignore[misc]
        )
        if compiled:
            run_by_count(setup)
        else:
            setup.by_events().run()
    assert shown[0] == shown[1]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("log", "n_nodes", "n_jobs"),
    [
        ("KTH-SP2-1996-2.1-cln", 100, 1500),
        pytest.param("LLNL-Thunder-2007-1.1-cln", 1024, 3000, marks=pytest.mark.full),
    ],
)
def test_logs_are_equal_to_the_bit(shared_dir: Path, log: str, n_nodes: int, n_jobs: int) -> None:
    jobs = from_zero(read_swf(shared_dir / "traces" / f"{log}.swf.gz"))
    jobs = select(jobs, (np.arange(len(jobs)) < n_jobs) & (jobs.n_nodes <= n_nodes))
    at_once = replace(jobs, submit_s=np.zeros(len(jobs)))
    for workload, choices in (
        (jobs, {"overrun": "cut"}),
        (jobs, {"order": "shortest", "window": 50}),
        (jobs, {"order": "wfp", "window": 10}),
        (jobs, {"backfill": "conservative", "window": 20}),
        (at_once, {"window": 50}),
    ):
        both(workload, masks(n_nodes), **choices)


def test_a_window_of_more_jobs_than_a_number_holds_is_all() -> None:
    workload = make_workload([0] * 6, [5, 3, 9, 2, 4, 1], [3, 2, 4, 1, 2, 3], [6, 4, 9, 3, 5, 2])
    found = [
        run_queue(
            QueueSetup(
                workload, Mask(4), window=window, rng=np.random.default_rng(1), repeats=repeats
            )
        )
        for window, repeats in ((10**30, 10_000), (None, 10_000), (10**30, 1))
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].start_s, other.start_s)
