"""What a log says beside sizes and times: it stays with its job, whatever is done to the jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from queue_helpers import Mask
from selection import examples

from queuesim.queue import fitting
from workloads import transform
from workloads.details import DEPENDENCY_KINDS, Dependencies, JobDetails, Labels, NodeLists
from workloads.job import Workload, bare_jobs


@dataclass(frozen=True)
class Plain:
    """A job's details as plain values."""

    partition: str | None
    nodes: tuple[str, ...]
    priority: float
    dependency: tuple[tuple[str, int], ...]
    fraction: float


WORDS = st.one_of(st.none(), st.sampled_from(["batch", "debug", "gpu"]))
PLAIN = st.builds(
    Plain,
    WORDS,
    st.lists(st.sampled_from([f"n{i}" for i in range(6)]), unique=True, max_size=4).map(tuple),
    st.integers(-3, 3).map(float),
    st.lists(st.tuples(st.sampled_from(DEPENDENCY_KINDS), st.integers(1, 9)), max_size=2).map(
        tuple
    ),
    st.sampled_from([0.0, 0.25, 1.0]),
)


def details(jobs: list[Plain]) -> JobDetails:
    """The same as columns."""
    return JobDetails(
        partition=Labels.of(job.partition for job in jobs),
        node_list=NodeLists.of([job.nodes for job in jobs]),
        priority=np.array([job.priority for job in jobs]),
        dependency=Dependencies.of([job.dependency for job in jobs]),
        communication_fraction=np.array([job.fraction for job in jobs]),
    )


def plain(found: JobDetails, job: int) -> Plain:
    """One job of the columns."""
    assert found.partition is not None
    assert found.node_list is not None
    assert found.priority is not None
    assert found.dependency is not None
    assert found.communication_fraction is not None
    return Plain(
        found.partition[job],
        tuple(found.node_list.names[i] for i in found.node_list[job]),
        float(found.priority[job]),
        tuple(found.dependency[job]),
        float(found.communication_fraction[job]),
    )


def workload(jobs: list[Plain], n_nodes: list[int] | None = None) -> Workload:
    """A job each second; its run time is its number, so that a job is known again."""
    n = len(jobs)
    time_s = np.arange(1, n + 1, dtype=np.float64)
    nodes = np.array([1 + k % 5 for k in range(n)] if n_nodes is None else n_nodes)
    made = bare_jobs("made", submit_s=time_s, run_time_s=time_s, n_nodes=nodes, requested_s=time_s)
    return replace(made, details=details(jobs))


@examples(50)
@given(st.lists(PLAIN, max_size=8), st.data())
def test_take_is_a_list_of_jobs(jobs: list[Plain], data: st.DataObject) -> None:
    columns = details(jobs)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(jobs), max_size=len(jobs))))
    some = columns.take(mask.astype(bool))
    assert [plain(some, k) for k in range(int(mask.sum()))] == [
        job for job, kept in zip(jobs, mask, strict=True) if kept
    ]
    order = data.draw(st.lists(st.integers(0, max(len(jobs) - 1, 0)), max_size=12 * bool(jobs)))
    other = columns.take(np.array(order, dtype=np.int64))
    assert [plain(other, k) for k in range(len(order))] == [jobs[k] for k in order]


TRANSFORMS: dict[str, Callable[[Workload], Workload]] = {
    "select": lambda jobs: transform.select(jobs, np.arange(len(jobs))[::-1]),
    "scale_arrivals": lambda jobs: transform.scale_arrivals(jobs, 0.5),
    "all_at_zero": transform.all_at_zero,
    "from_zero": transform.from_zero,
    "scale_sizes": lambda jobs: transform.scale_sizes(jobs, 2),
    "round_sizes": lambda jobs: transform.round_sizes(jobs, (2, 4)),
    "drop_larger": lambda jobs: transform.drop_larger(jobs, 3),
    "drop_shorter": lambda jobs: transform.drop_shorter(jobs, 3.5),
    "time_window": lambda jobs: transform.time_window(jobs, 2, 6),
    "head": lambda jobs: transform.head(jobs, 3),
    "drop": lambda jobs: transform.drop(jobs, jobs.run_time_s % 2 == 0, "even"),
    "refuse_empty": lambda jobs: transform.refuse_empty(jobs, jobs),
    "refuse_larger": lambda jobs: transform.refuse_larger(jobs, 1000),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_details_stay_with_their_job(name: str) -> None:
    rng = np.random.default_rng(3)
    jobs = [
        Plain(
            rng.choice(["batch", "debug"]),
            tuple(f"n{i}" for i in range(1 + k % 5)),
            float(k),
            (("afterok", k),),
            k / 10,
        )
        for k in range(9)
    ]
    before = workload(jobs)
    after = TRANSFORMS[name](before)
    assert len(after)
    for k in range(len(after)):
        number = int(after.run_time_s[k]) - 1
        told = jobs[number]
        if after.n_nodes[k] != before.n_nodes[number]:
            # it never ran with that size on any nodes
            told = replace(told, nodes=())
        assert plain(after.details, k) == told


def test_every_transform_is_looked_at() -> None:
    public = {
        name
        for name, value in vars(transform).items()
        if callable(value) and value.__module__ == transform.__name__ and name[0] != "_"
    }
    assert public == set(TRANSFORMS)


def test_jobs_that_never_fit_take_their_details_with_them() -> None:
    jobs = [Plain("batch", (), 0.0, (), k / 10) for k in range(4)]
    left = fitting(workload(jobs, [1, 5, 2, 3]), Mask(4))
    assert [plain(left.details, k).fraction for k in range(3)] == [0, 0.2, 0.3]


def test_what_is_carried_is_counted() -> None:
    found = JobDetails(
        account=Labels.of(["a", None, "", "a"]),
        node_list=NodeLists.of([["x", "y"], [], ["x"], []]),
        dependency=Dependencies.of([[], [], [("after", 1)], []]),
        bytes_per_node_s=np.array([np.nan, 1, 2, 0]),
    )
    assert found.carried() == {
        "account": 2,
        "node_list": 2,
        "dependency": 1,
        "bytes_per_node_s": 3,
    }
    assert JobDetails().carried() == {}
    assert (found.account and found.account.names) == ("a",)
