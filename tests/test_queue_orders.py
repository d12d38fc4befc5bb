"""Orders by priority, fair share and several factors: closed forms and laws."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Mask, made, make_workload
from selection import examples

from netsim.errors import NetcosimError
from queuesim.ordering.fair_share import FAIR_SHARE, ByUsage
from queuesim.ordering.multifactor import MULTIFACTOR, WeightedFactors
from queuesim.ordering.orders import OrderContext
from queuesim.ordering.usage import Usage, history_usage
from queuesim.parameters import FairShare, Multifactor, Partition
from queuesim.queue import simulate_queue
from queuesim.registry import BACKFILLS
from queuesim.result import QueueResult
from queuesim.site.rules import Rules
from workloads.details import JobDetails, Labels
from workloads.job import Workload

N = 8


def simulate(workload: Workload, order: object, **choices: object) -> QueueResult:
    return simulate_queue(
        workload, Mask(N), order=order, rng=np.random.default_rng(3), **choices  # type: ignore
    )  # fmt: skip


@st.composite
def owned_jobs(draw: st.DrawFn, users: int = 3) -> Workload:
    n = draw(st.integers(1, 20))
    numbers = st.lists(st.integers(1, 12), min_size=n, max_size=n)
    workload = make_workload(
        sorted(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))),
        draw(numbers),
        draw(st.lists(st.integers(1, N), min_size=n, max_size=n)),
        draw(numbers),
    )
    user = draw(st.lists(st.integers(0, users - 1), min_size=n, max_size=n))
    priority = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    return replace(
        workload, user=np.array(user, dtype=np.int32), details=JobDetails(priority=priority)
    )


KINDS = [name for name in BACKFILLS if name not in ("cobalt", "as-logged")]


def same(one: QueueResult, other: QueueResult) -> bool:
    return np.array_equal(one.start_s, other.start_s) and np.array_equal(one.end_s, other.end_s)


@pytest.mark.parametrize("backfill", KINDS)
@examples(25)
@given(workload=owned_jobs(users=1), half_life=st.sampled_from([1.0, 50.0, 1e12]))
def test_fair_share_of_one_user_is_first_come_first_served(backfill, workload, half_life):
    first = simulate(workload, "fcfs", backfill=backfill)
    shared = made(FAIR_SHARE, FairShare(half_life_s=half_life))
    assert same(simulate(workload, shared, backfill=backfill), first)
    several = Multifactor(age_weight=0.0, fair_share_weight=5.0, half_life_s=half_life)
    assert same(simulate(workload, made(MULTIFACTOR, several), backfill=backfill), first)


@pytest.mark.parametrize("backfill", KINDS)
@examples(25)
@given(workload=owned_jobs())
def test_factors_alone_are_the_orders_that_they_name(backfill: str, workload: Workload) -> None:
    def weighed(**weights: float) -> QueueResult:
        # ages count in full later than any job waits here
        order = made(MULTIFACTOR, Multifactor(**{"age_weight": 0.0, **weights}))  # type: ignore
        return simulate(workload, order, backfill=backfill)

    age = weighed(age_weight=1.0)
    assert same(age, simulate(workload, "fcfs", backfill=backfill))
    assert same(weighed(size_weight=1.0), simulate(workload, "largest", backfill=backfill))
    # a priority that falls with the walltime is "shortest"; equal ones are "fcfs"
    told = JobDetails(priority=-workload.requested_s)
    by_column = simulate(replace(workload, details=told), "priority", backfill=backfill)
    assert same(by_column, simulate(workload, "shortest", backfill=backfill))
    equal = replace(workload, details=JobDetails(priority=np.zeros(len(workload))))
    assert same(simulate(equal, "priority", backfill=backfill), age)


def test_jobs_without_a_priority_come_last() -> None:
    workload = make_workload([0, 1, 1, 1], [5, 5, 5, 5], [8, 8, 8, 8])
    priority = np.array([0.0, np.nan, 1.0, 2.0])
    workload = replace(workload, details=JobDetails(priority=priority))
    assert simulate(workload, "priority").start_s.tolist() == [0, 15, 10, 5]
    with pytest.raises(NetcosimError, match="order 'priority': the log has no priorities"):
        simulate(make_workload([0], [1], [1]), "priority")


def test_hand_worked_fair_share() -> None:
    # User 0 has the machine for 10 s. Then user 1, who has used nothing, goes before the two
    # that user 0 sent earlier; afterwards 1 has 80 node-seconds fresh, 0 has 80 half faded.
    workload = make_workload([0, 1, 2, 3, 4], [10, 10, 10, 10, 10], [8, 8, 8, 8, 8])
    workload = replace(workload, user=np.array([0, 0, 0, 1, 1], dtype=np.int32))
    order = made(FAIR_SHARE, FairShare(half_life_s=10.0))
    assert simulate(workload, order).start_s.tolist() == [0, 20, 40, 10, 30]
    # with a half-life of a year both have used the same at 20: the earlier job goes first
    order = made(FAIR_SHARE, FairShare(half_life_s=3e7))
    assert simulate(workload, order).start_s.tolist() == [0, 20, 40, 10, 30]


@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9), st.integers(1, 40)), max_size=8),
    half_life=st.sampled_from([3.0, 40.0, 1e9]),
)
def test_usage_is_the_integral_of_what_faded(steps, half_life):
    # jobs (owner, nodes, length), each begun when half of the one before is over
    usage, now, runs = Usage(3, half_life), 0.0, []
    events: list[tuple[float, int, int]] = []
    for owner, nodes, length in steps:
        runs.append((owner, nodes, now, now + length))
        events += [(now, owner, nodes), (now + length, owner, -nodes)]
        now += length / 2
    for time, owner, nodes in sorted(events):
        usage.changes(owner, nodes, time)
    end = max((run[3] for run in runs), default=0.0) + 5.0
    fades = log(2) / half_life
    expected = np.zeros(3)
    for owner, nodes, begin, stop in runs:
        expected[owner] += (
            nodes * (exp(-fades * (end - stop)) - exp(-fades * (end - begin))) / fades
        )
    assert usage.at(end) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_history_counts_as_if_it_had_been_simulated() -> None:
    past = make_workload([0, 5], [10, 20], [2, 3])
    past = replace(past, user=np.array([4, 7], dtype=np.int32), wait_s=np.array([0.0, 5.0]))
    owner, node_s = history_usage(past, "user", [7, 4], 10.0)
    usage = Usage(2, 10.0)
    for owner_now, nodes, time in ((1, 2, 0.0), (0, 3, 10.0), (1, -2, 10.0), (0, -3, 30.0)):
        if time <= 10.0 or nodes < 0:
            usage.changes(owner_now, nodes, time)
    found = np.zeros(2)
    np.add.at(found, owner, node_s)
    assert found == pytest.approx(usage.at(30.0))
    # and it decides who is first: user 7 used more and later
    jobs = make_workload([0, 1, 1], [5, 5, 5], [8, 8, 8])
    jobs = replace(jobs, user=np.array([4, 7, 4], dtype=np.int32))
    order = made(FAIR_SHARE, FairShare(half_life_s=1e6), OrderContext(lambda: past))
    assert simulate(jobs, order).start_s.tolist() == [0, 5, 10]
    heavy = replace(past, n_nodes=np.array([2, 300], dtype=np.int32))
    order = made(FAIR_SHARE, FairShare(half_life_s=1e6), OrderContext(lambda: heavy))
    assert simulate(jobs, order).start_s.tolist() == [0, 10, 5]


def test_earlier_usage_of_an_owner_adds_up() -> None:
    usage = Usage(2, 10.0)
    usage.add(np.array([1, 1]), np.array([3.0, 4.0]))
    assert usage.at(0.0).tolist() == [0, 7]
    # half of it, and 2 nodes for 10 s: 2 x 10 / ln 2 x (1 - 1 / 2)
    usage.changes(0, 2, 0.0)
    assert usage.at(10.0) == pytest.approx([10 / log(2), 3.5])


def test_owners_that_are_not_known_are_one() -> None:
    """They have used 3,000 node-seconds, user 7 none: so job 3 goes before job 2."""
    past = make_workload([0, 0], [10, 10], [300, 1])
    past = replace(past, user=np.array([-1, 4], dtype=np.int32), wait_s=np.zeros(2))
    jobs = make_workload([0, 1, 1], [5, 5, 5], [8, 8, 8])
    jobs = replace(jobs, user=np.array([8, -1, 7], dtype=np.int32))
    order = made(FAIR_SHARE, FairShare(half_life_s=1e6), OrderContext(lambda: past))
    assert simulate(jobs, order).start_s.tolist() == [0, 10, 5]


@pytest.mark.parametrize(("half_life_s", "starts"), [(1e6, [0, 10, 5]), (100.0, [0, 5, 10])])
def test_what_was_used_long_ago_fades_with_the_half_life(half_life_s, starts):
    """User 4 used 80 node-seconds a thousand seconds before user 7 used 20."""
    past = make_workload([0, 1000], [10, 10], [8, 2])
    past = replace(past, user=np.array([4, 7], dtype=np.int32), wait_s=np.zeros(2))
    jobs = make_workload([0, 1, 1], [5, 5, 5], [8, 8, 8])
    jobs = replace(jobs, user=np.array([9, 4, 7], dtype=np.int32))
    order = made(FAIR_SHARE, FairShare(half_life_s=half_life_s), OrderContext(lambda: past))
    assert simulate(jobs, order).start_s.tolist() == starts


def test_partitions_priority_comes_before_the_order_and_its_factor_within() -> None:
    # 1 in "low" comes first, but "high" goes before it; with factors alone the weight decides.
    workload = make_workload([0, 1, 2], [5, 5, 5], [8, 8, 8])
    labels = Labels.of(["low", "low", "high"])
    workload = replace(workload, details=JobDetails(partition=labels))
    tiers = (Partition("low"), Partition("high", priority=1.0))
    rules = Rules(partitions=tiers)
    for order in ("fcfs", "wfp", MULTIFACTOR):
        assert simulate(workload, order, rules=rules).start_s.tolist() == [0, 10, 5]
    factors = (Partition("low"), Partition("high", factor=1.0))
    context, rules = OrderContext(partitions=factors), Rules(partitions=factors)
    weighed = made(MULTIFACTOR, Multifactor(partition_weight=1.0), context)
    assert simulate(workload, weighed, rules=rules).start_s.tolist() == [0, 10, 5]
    assert simulate(workload, "fcfs", rules=rules).start_s.tolist() == [0, 5, 10]


def test_a_log_without_owners_is_refused() -> None:
    workload = make_workload([0], [1], [1])
    for by in ("user", "account", "project"):
        with pytest.raises(NetcosimError, match=f"fair share by {by}: the log has no {by}"):
            simulate(workload, made(FAIR_SHARE, FairShare(by=by)))


@pytest.mark.parametrize(
    ("max_age_s", "starts"),
    [
        # at 20 s both count as old: 1 + 0.05 for the first, 1 + 0.1 for the larger one
        (10.0, [0, 25, 20]),
        # 20 of 40 s and 15 of 40 s: 0.55 and 0.475
        (40.0, [0, 20, 25]),
    ],
)
def test_an_age_counts_up_to_max_age(max_age_s: float, starts: list[int]) -> None:
    workload = make_workload([0, 0, 5], [20, 5, 5], [8, 4, 8])
    weights = Multifactor(age_weight=1.0, size_weight=0.1, max_age_s=max_age_s)
    assert simulate(workload, made(MULTIFACTOR, weights)).start_s.tolist() == starts


def test_the_factors_of_a_job_by_hand() -> None:
    """Age 30 of 120 s, 2 of 8 nodes, a partition's 0.5, and all that was used is its owner's."""
    workload = make_workload([0, 60], [5, 5], [8, 2])
    partition = Labels.of(["slow", "fast"])
    user = np.array([3, 7], dtype=np.int32)
    workload = replace(workload, user=user, details=JobDetails(partition=partition))
    parts = (Partition("fast", factor=0.5), Partition("slow", factor=0.25))
    weights = Multifactor(
        age_weight=1000.0,
        size_weight=100.0,
        partition_weight=10.0,
        fair_share_weight=1.0,
        max_age_s=120.0,
    )
    factors = WeightedFactors(workload, weights, OrderContext(partitions=parts))
    jobs = np.array([0, 1])
    # nobody has used anything: 2^0
    assert factors.score(jobs, 90.0) == pytest.approx([750 + 100 + 2.5 + 1, 250 + 25 + 5 + 1])
    factors.started(1, 90.0)
    # of two owners with half each, one has used all: 2^(-1 / 0.5)
    assert factors.score(jobs, 120.0) == pytest.approx([1000 + 100 + 2.5 + 1, 500 + 25 + 5 + 0.25])
    factors.ended(1, 120.0)
    factors.started(0, 120.0)
    # 60 node-seconds each, since the second's job is over: both have their share
    assert factors.score(jobs, 127.5) == pytest.approx([1102.5 + 0.5, 562.5 + 30 + 0.5], rel=1e-6)


def test_a_job_over_its_fair_share_is_halved_for_each_share() -> None:
    """Slurm's 2^(-use / share) with a third each: half of all use is one share and a half."""
    workload = make_workload([0] * 3, [10] * 3, [2, 2, 4])
    workload = replace(workload, user=np.array([5, 6, 7], dtype=np.int32))
    used = ByUsage(workload, FairShare(half_life_s=1e9), None)
    jobs = np.arange(3)
    assert used.factor(jobs, 0.0).tolist() == [1, 1, 1]
    for change, now_s in ((used.started, 0.0), (used.ended, 10.0)):
        for job in (0, 1):
            change(job, now_s)
    assert used.factor(jobs, 20.0) == pytest.approx([2**-1.5, 2**-1.5, 1.0])
    assert used.score(jobs, 20.0) == pytest.approx([-20.0, -20.0, 0.0], rel=1e-6)
    used.started(2, 20.0)
    # 20, 20 and 40 node-seconds: a quarter, a quarter and a half
    assert used.factor(jobs, 30.0) == pytest.approx([2**-0.75, 2**-0.75, 2**-1.5])
