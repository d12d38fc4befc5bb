"""Partitions, dependencies, outages and cuts: against a plain second queue, and their laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Contiguous, HeldMask, Mask, Pairs, make_workload
from ruled_reference import PlainJob, PlainRules
from selection import examples

from netsim.errors import ModelWarning
from queuesim.parameters import Partition
from queuesim.queue import simulate_queue
from queuesim.result import CUT, FAILED, NEVER_RUN, QueueResult
from queuesim.site.outages import Outage
from queuesim.site.rules import Rules
from workloads.details import Dependencies, JobDetails, Labels
from workloads.job import Workload
from workloads.transform import select

N = 8
KINDS = ("after", "afterok", "afterany", "afternotok")
OUTCOME = {"completed": 0, "cut": CUT, "failed": FAILED, "never": NEVER_RUN}


def simulate(workload: Workload, policy: Mask, rules: Rules, **choices: object) -> QueueResult:
    return simulate_queue(
        workload,
        policy,
        rules=rules,
        rng=np.random.default_rng(3),
        keep_placements=True,
        **choices,  # type: ignore[arg-type]
    )


def with_details(workload: Workload, **details: object) -> Workload:
    return replace(workload, details=JobDetails(**details))  # type: ignore[arg-type]


@st.composite
def jobs_of(
    draw: st.DrawFn, *, late: bool = True, depend: bool = True, endless: bool = False
) -> Workload:
    n = draw(st.integers(1, 16))
    times = st.lists(st.integers(1, 12), min_size=n, max_size=n)
    run = draw(times)
    asked = draw(times) if late else [r + draw(st.integers(0, 4)) for r in run]
    if endless and draw(st.booleans()):
        asked = [np.inf if draw(st.booleans()) else a for a in asked]
    submit = sorted(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)))
    workload = make_workload(submit, run, draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)),
                             asked)  # fmt: skip
    waits = []
    for job in range(n):
        pairs = []
        if depend and job and draw(st.booleans()):
            # mostly on earlier jobs; 99 is of none in the log
            pairs = draw(
                st.lists(
                    st.tuples(st.sampled_from(KINDS), st.sampled_from([*range(1, job + 1), 99])),
                    max_size=2,
                )
            )
        waits.append(pairs)
    letters = st.lists(st.sampled_from("ab"), min_size=n, max_size=n)
    think = st.lists(st.sampled_from([np.nan, 0.0, 1.0, 5.0]), min_size=n, max_size=n)
    return with_details(
        workload,
        partition=Labels.of(draw(letters)),
        account=Labels.of(["a", *draw(letters)[1:]]),
        dependency=Dependencies.of(waits) if depend else None,
        think_s=np.array(draw(think)) if depend else None,
    )


def partitions_of(overlap: bool, priority: int) -> tuple[Partition, ...]:
    first = "0-5" if overlap else "0-3"
    return (
        Partition("a", nodes=first, priority=float(priority)),
        Partition("b", nodes="4-7" if not overlap else "2-7"),
    )


@st.composite
def outages_of(draw: st.DrawFn, kinds: Sequence[str] = ("reservation", "failure")) -> list[Outage]:
    found = []
    for _ in range(draw(st.integers(0, 3))):
        start, first = draw(st.integers(0, 25)), draw(st.integers(0, N - 1))
        kind = draw(st.sampled_from(kinds))
        account = draw(st.sampled_from(["", "a"])) if kind == "reservation" else ""
        last = min(N - 1, first + draw(st.integers(0, 3)))
        end = start + draw(st.integers(1, 10))
        found.append(Outage(float(start), float(end), f"{first}-{last}", kind, account=account))
    return found


def plain_jobs(workload: Workload, several: bool) -> list[PlainJob]:
    details, index = workload.details, {int(k): i for i, k in enumerate(workload.job_id)}
    return [
        PlainJob(
            float(workload.submit_s[j]),
            float(workload.run_time_s[j]),
            float(workload.requested_s[j]),
            int(workload.n_nodes[j]),
            "ab".index(str(details.partition[j])) if several else 0,
            str(details.account[j]),
            []
            if details.dependency is None
            else [(kind, index[k]) for kind, k in details.dependency[j] if k in index],
            0.0 if details.think_s is None else float(np.nan_to_num(details.think_s[j])),
        )
        for j in range(len(workload))
    ]


PARTITIONS = [(), partitions_of(False, 0), partitions_of(True, 0), partitions_of(True, 1)]


@pytest.mark.parametrize("backfill", ["easy", "none"])
@pytest.mark.parametrize("kind", [Mask, Contiguous])
@examples(60)
@given(data=st.data())
def test_same_schedule_as_a_plain_queue(backfill, kind, data):
    workload = data.draw(jobs_of(endless=True))
    partitions = data.draw(st.sampled_from(PARTITIONS))
    outages = data.draw(outages_of())
    requeue, grace = data.draw(st.booleans()), data.draw(st.sampled_from([None, 0.0, 2.0]))
    rules = Rules(grace or 0.0, True, partitions, tuple(outages), requeue)
    overrun = "keep" if grace is None else "cut"
    found = simulate(workload, kind(N), rules, backfill=backfill, overrun=overrun)

    def find(usable: set[int], n_nodes: int) -> list[int] | None:
        mask = np.isin(np.arange(N), list(usable))
        nodes = kind(N).find(mask, n_nodes)
        return None if nodes is None else nodes.tolist()

    plain = PlainRules(
        plain_jobs(workload, bool(partitions)), N, find, partitions, outages,
        backfill=backfill, requeue=requeue, grace=grace,
    )  # fmt: skip
    expected = plain.run()
    assert found.outcome.tolist() == [OUTCOME[job.outcome] for job in expected]
    for name in ("start", "end", "eligible"):
        told = [np.nan if j.outcome == "never" else getattr(j, name) for j in expected]
        assert np.array_equal(getattr(found, f"{name}_s"), told, equal_nan=True)
    check_laws(found, rules)


def check_laws(result: QueueResult, rules: Rules) -> None:
    """What must hold of any schedule, whatever found it."""
    workload, kept = result.workload, result.placements
    assert kept is not None
    ran = np.flatnonzero(result.outcome != NEVER_RUN)
    nodes = {int(j): set(kept.placement(int(j), 0).nodes.tolist()) for j in ran}
    index = {int(k): i for i, k in enumerate(workload.job_id)}
    start, end = result.start_s, result.end_s
    assert np.all(start[ran] >= workload.submit_s[ran])
    for i in nodes:
        for j in nodes:
            if i < j and start[i] < end[j] and start[j] < end[i]:
                assert nodes[i].isdisjoint(nodes[j])
    masks = {p.name: set(range(*_ends(p.nodes))) for p in rules.partitions}
    for j, mine in nodes.items():
        if rules.partitions:
            assert mine <= masks[str(workload.details.partition[j])]
        for outage in rules.outages:
            if mine.isdisjoint(range(*_ends(outage.nodes))):
                continue
            if outage.kind == "failure":
                assert end[j] <= outage.start_s or start[j] >= outage.end_s
            elif outage.account != workload.details.account[j]:
                asked_end = start[j] + workload.requested_s[j]
                assert asked_end <= outage.start_s or start[j] >= outage.end_s
        if workload.details.dependency is None:
            continue
        for kind, number in workload.details.dependency[j]:
            if number not in index or not rules.has_dependencies:
                continue
            k = index[number]
            if kind == "after" and k in nodes and not rules.requeues:
                assert start[j] >= start[k]
            elif kind != "after" and k in nodes:
                assert start[j] >= end[k]
                assert kind == "afterany" or (result.outcome[k] == 0) == (kind == "afterok")


def _ends(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last) + 1


SAME = ("start_s", "end_s", "overran", "outcome", "allocated_nodes", "promised_s", "event_s",
        "event_job", "event_is_start")  # fmt: skip


def assert_same(one: QueueResult, other: QueueResult) -> None:
    for name in SAME:
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name in SAME[:7])
    assert np.array_equal(one.placements.nodes, other.placements.nodes)
    assert one.first_blocked_s == other.first_blocked_s or np.isnan(one.first_blocked_s)


def test_a_think_time_passes_before_the_job_is_submitted() -> None:
    """Job 1 ends at 100 s; job 2 follows it after 30 s, job 3 after half a second.

    Job 4, submitted at 200 s, follows it after 5 s.
    """
    jobs = make_workload([0, 0, 0, 200], [100, 50, 5, 10], [4, 4, 4, 4], [200, 100, 5, 10])
    jobs = with_details(
        jobs,
        dependency=Dependencies.of([[], *[[("afterany", 1)]] * 3]),
        think_s=np.array([np.nan, 30.0, 0.5, 5.0]),
    )
    found = simulate(jobs, Mask(N), Rules(has_dependencies=True))
    assert found.start_s.tolist() == [0, 130, 100.5, 200]


def test_dependencies_of_a_log_without_any_are_reported() -> None:
    jobs = make_workload([0], [100], [4], [200])
    with pytest.warns(ModelWarning, match='dependencies = "keep": no job of'):
        simulate(jobs, Mask(N), Rules(has_dependencies=True))


@examples(80)
@given(
    workload=jobs_of(depend=False),
    kind=st.sampled_from([HeldMask, Contiguous, Pairs]),
    backfill=st.sampled_from(["easy", "none"]),
    order=st.sampled_from(["fcfs", "wfp", "smallest"]),
    window=st.sampled_from([None, 2]),
)
def test_rules_that_bar_nothing_are_the_plain_queue(backfill, order, window, workload, kind):
    plain = simulate(workload, kind(N), Rules(), backfill=backfill, order=order, window=window)
    later = Outage(1e6, 2e6, "0-3", "reservation")
    everywhere = Partition("all", nodes="0-7", max_nodes=8, max_walltime_s=100.0)
    for rules in (
        Rules(has_dependencies=True),
        Rules(partitions=(everywhere,)),
        Rules(outages=(later,)),
        Rules(grace_s=5.0, requeues=True, partitions=(everywhere,), outages=(later,)),
    ):
        ruled = simulate(workload, kind(N), rules, backfill=backfill, order=order, window=window)
        assert_same(ruled, plain)


def test_a_job_that_ends_late_after_the_shadow_time_ends_a_partitions_reservation() -> None:
    """The example of `test_queue_easy`, in a partition of all nodes."""
    work = make_workload(
        [0, 0, 0, 5, 6, 7],
        [160, 300, 1000, 10, 500, 500],
        [2, 3, 2, 4, 2, 1],
        [150, 100, 1000, 10, 500, 500],
    )
    rules = Rules(partitions=(Partition("all", nodes="0-7"),))
    assert simulate(work, HeldMask(N), rules).start_s.tolist() == [0, 0, 0, 300, 310, 160]


def test_a_higher_priority_takes_reserved_nodes() -> None:
    """Partition a (nodes 0 to 3) has priority over b (all nodes).

    The third job, of seven nodes, is promised 100 on nodes 0 to 6; the fourth starts on node 7. At
    30 a job of a takes nodes 0 and 1 until 230, which voids the promise. So the last, on node 6
    until 131, delays nobody.
    """
    work = make_workload([0, 0, 1, 2, 30, 31], [20, 100, 10, 500, 200, 100], [2, 4, 7, 1, 2, 1])
    work = with_details(work, partition=Labels.of(["a", "b", "b", "b", "a", "b"]))
    rules = Rules(
        partitions=(Partition("a", nodes="0-3", priority=1.0), Partition("b", nodes="0-7"))
    )
    assert simulate(work, HeldMask(N), rules).start_s.tolist() == [0, 0, 230, 2, 30, 31]


@pytest.mark.parametrize(("walltime_s", "start_s"), [(10, 0.0), (11, 15.0)])
def test_a_job_may_end_when_a_reservation_begins(walltime_s: int, start_s: float) -> None:
    """All nodes are reserved from 10 to 15 s; a job of 10 s fits before, one of 11 s does not."""
    work = make_workload([0], [5], [N], [walltime_s])
    rules = Rules(outages=(Outage(10.0, 15.0, "0-7", "reservation"),))
    assert simulate(work, Mask(N), rules).start_s.tolist() == [start_s]


@pytest.mark.parametrize("backfill", ["easy", "none"])
@examples(60)
@given(workload=jobs_of(late=False, depend=False))
def test_disjoint_partitions_are_machines_of_their_own(backfill: str, workload: Workload) -> None:
    # A job past its walltime counts as ending now, whenever a pass asks: here none is.
    both = simulate(workload, Contiguous(N), Rules(partitions=partitions_of(False, 1)),
                    backfill=backfill)  # fmt: skip
    for name in "ab":
        mine = np.array([workload.details.partition[j] == name for j in range(len(workload))])
        if mine.any():
            alone = replace(select(workload, mine), details=JobDetails())
            own = simulate(alone, Contiguous(N // 2), Rules(), backfill=backfill)
            assert np.array_equal(both.start_s[mine], own.start_s)
            assert np.array_equal(both.promised_s[mine], own.promised_s, equal_nan=True)


@pytest.mark.parametrize("kind", [Mask, Contiguous])
@examples(60)
@given(workload=jobs_of(late=False, depend=False, endless=True), overlap=st.booleans(),
       outages=outages_of(("reservation",)), priority=st.integers(0, 1))  # fmt: skip
def test_nobody_delays_a_head(kind, workload, overlap, outages, priority):
    # Walltimes hold and nothing fails: a promise to a head of the highest priority is kept.
    rules = Rules(partitions=partitions_of(overlap, priority), outages=tuple(outages))
    result = simulate(workload, kind(N), rules)
    first = np.array([workload.details.partition[j] == "a" for j in range(len(workload))])
    promised = ~np.isnan(result.promised_s) & (first | (priority == 0))
    assert np.all(result.start_s[promised] <= result.promised_s[promised])
