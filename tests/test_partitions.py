"""Partitions by hand: which nodes, whose jobs, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from queue_helpers import Contiguous, Mask, flat_machine, make_workload

from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from queuesim.parameters import Partition
from queuesim.queue import simulate_queue
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.outages import Outage
from queuesim.site.partitions import node_mask, partition_of_jobs, refused_by
from queuesim.site.rules import Rules
from workloads.details import JobDetails, Labels
from workloads.job import Workload

OUTAGES = (Outage(5.0, 9.0, "0", "failure"),)


def jobs_in(labels: list[str | None], run: list[float] | None = None) -> Workload:
    n = len(labels)
    workload = make_workload([0] * n, run or [1] * n, [2] * n)
    return replace(workload, details=JobDetails(partition=Labels.of(labels)))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [("0-2, 5", [0, 1, 2, 5]), ("all", list(range(8))), (" all ", list(range(8))), ("7", [7])],
)
def test_nodes_by_number(text: str, nodes: list[int]) -> None:
    assert np.flatnonzero(node_mask(text, flat_machine(8), "here")).tolist() == nodes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("8", "here: "),
        ("", "here: "),
        ("3-1", "here: "),
        ("1,1", "names a node twice"),
        ("n[1", "here: "),
    ],
)
def test_nodes_that_cannot_be(text: str, told: str) -> None:
    with pytest.raises(NetcosimError, match=told) as caught:
        node_mask(text, flat_machine(8), "here")
    assert str(caught.value).startswith("here: ")


def test_names_are_its_own_and_the_logs_each_once() -> None:
    assert Partition("a", log_names=" x,, y ,a,x").names == ("a", "x", "y")
    assert Partition().names == ("all",)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (
            (Partition("a"), Partition("b", log_names="x, a")),
            "partition 'b': the name 'a' belongs to 'a' already",
        ),
        (
            (Partition("a", log_names="x"), Partition("b", log_names="x")),
            "partition 'b': the name 'x' belongs to 'a' already",
        ),
        (
            (Partition("a", default=True), Partition("b"), Partition("c", default=True)),
            "partitions a and c: one can be the default",
        ),
    ],
)
def test_partitions_that_do_not_go_together(parts: tuple[Partition, ...], told: str) -> None:
    with pytest.raises(NetcosimError) as caught:
        Rules(partitions=parts)
    assert str(caught.value) == told
    Rules(partitions=(Partition("a", default=True), Partition("b", log_names="x")))


def test_jobs_go_to_the_partition_that_has_their_name_or_to_the_default() -> None:
    parts = (Partition("a"), Partition("b", log_names="y,z"), Partition("c", default=True))
    jobs = jobs_in(["z", "a", None, "c", "other", "b"])
    assert partition_of_jobs(jobs, parts).tolist() == [1, 0, 2, 2, 2, 1]
    # a single partition takes all, whatever they are called
    assert partition_of_jobs(jobs, (Partition("only"),)).tolist() == [0] * 6
    assert partition_of_jobs(jobs, ()).tolist() == [0] * 6
    bare = make_workload([0, 0], [1, 1], [1, 1])
    assert partition_of_jobs(bare, parts).tolist() == [2, 2]


def test_a_job_of_no_partition_is_told() -> None:
    parts = (Partition("a"), Partition("b"))
    with pytest.raises(NetcosimError) as caught:
        partition_of_jobs(jobs_in(["a", "q", "b", "q"]), parts)
    assert str(caught.value) == ("test: job 2 (2 such jobs): unknown partition 'q'; valid: a, b")
    told = r"job 1 \(2 such jobs\): the log names no partition; give one of a, b the key default"
    with pytest.raises(NetcosimError, match=told):
        partition_of_jobs(make_workload([0, 0], [1, 1], [1, 1]), parts)


def test_limits_are_allowed_themselves() -> None:
    """Jobs at the limit go in, those above do not; another partition's limit does not count."""
    jobs = jobs_in(["a", "a", "b", "b"], [10, 11, 11, 11])
    jobs = replace(jobs, n_nodes=np.array([9, 9, 4, 5], dtype=np.int32))
    parts = (Partition("a", max_walltime_s=10.0), Partition("b", max_nodes=4))
    found = refused_by(jobs, parts)
    assert {reason: mask.tolist() for reason, mask in found.items()} == {
        "walltime above 10 s, partition a": [False, True, False, False],
        "more than 4 nodes, partition b": [False, False, False, True],
    }
    # what keeps nobody out is not told
    assert refused_by(jobs, (Partition("all", max_nodes=9, max_walltime_s=11.0),)) == {}
    assert refused_by(jobs, ()) == {}


def test_a_job_is_left_out_by_size_or_shape_of_its_own_partition() -> None:
    """Partition a is nodes 0, 1, 4 and 5, and b nodes 6 to 9.

    By runs of free nodes, a holds 2 and not 3, and b holds 4; jobs of 5 are more than b has.
    """
    sizes, names = [2, 3, 4, 3, 4, 5], [*"aaabbb"]
    workload = replace(
        make_workload([0] * 6, [1] * 6, sizes), details=JobDetails(partition=Labels.of(names))
    )
    parts = (Partition("a", nodes="0-1, 4-5"), Partition("b", nodes="6-9"))
    never = Rules(partitions=parts).unfit(workload, Contiguous(10))
    assert [reason for reason, jobs in never.items() if jobs.any()] == [
        "never fits its partition under contiguous"
    ]
    assert never["never fits its partition under contiguous"].tolist() == [0, 1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("rules", "interrupts"),
    [
        (Rules(), False),
        (Rules(outages=OUTAGES), False),
        (Rules(requeues=True), False),
        (Rules(outages=OUTAGES, requeues=True), True),
        (Rules(checkpoints=Checkpoints(1.0)), True),
        (Rules(checkpoints=Checkpoints(restart_s=1.0)), True),
    ],
)
def test_outages_interrupt_jobs_only_where_they_send_them_back(rules, interrupts):
    assert rules.interrupts == interrupts


def test_a_job_without_a_walltime_has_the_limit_of_its_partition() -> None:
    """As in Slurm; a partition without a limit gives none."""
    jobs = jobs_in(["a", "a", "b", "b"], [np.inf, 7, np.inf, 11])
    parts = (Partition("a", max_walltime_s=10.0), Partition("b"))
    assert refused_by(jobs, parts) == {}
    assert Rules(partitions=parts).limited(jobs).requested_s.tolist() == [10, 7, np.inf, 11]
    assert Rules().limited(jobs) is jobs
    # a job that asks for more than the limit does so beside one without a walltime, too
    asks_more = jobs_in(["a", "a"], [np.inf, 11])
    assert Rules(partitions=parts).limited(asks_more).requested_s.tolist() == [10, 11]
    # 4 nodes. A: 3 nodes, ends at 1, is promised to end at 20. B needs 4. C (1 node, 20 s) comes at
    # 0.5: it would end at 20.5 and waits. Without the limit it starts, and B waits for its end.
    jobs = make_workload([0, 0, 0.5], [1, 5, 10], [3, 4, 1], [np.inf, 5, 20])
    for longest_s, starts in ((20.0, [0, 1, 6]), (None, [0, 10.5, 0.5])):
        rules = Rules(partitions=(Partition("all", max_walltime_s=longest_s),))
        result = simulate_queue(jobs, Mask(4), rules=rules, rng=np.random.default_rng(1))
        assert result.start_s.tolist() == starts


def test_a_shared_partition_is_refused() -> None:
    with pytest.raises(NetcosimError, match="partition 'p': shared = true"):
        Partition("p", shared=True)
    for wrong in ({"factor": 1.1}, {"factor": -0.1}, {"max_nodes": 0}, {"max_walltime_s": 0.0}):
        with pytest.raises(NetcosimError, match="partition 'p'"):
            Partition("p", **wrong)
    assert Partition("p", factor=1.0, max_nodes=1).factor == 1.0


def test_a_host_list_names_nodes_by_the_machines_own_names() -> None:
    """Without names of its own a machine has no host to name."""
    with pytest.raises(NetcosimError, match="here: "):
        node_mask("rack[1-2]", make_topology("torus", {"dims": [4]}), "here")
