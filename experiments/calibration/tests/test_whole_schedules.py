"""Schedules sent entirely by packets: closed forms, and a second way to send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcosim as nc
from alloc.nodes import NodePolicy, Nodes
from alloc.policy import Placement, Request
from cosim.network.job_network import JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.situation import Situation
from experiments.calibration.sent_schedules import SentRunTimes, SentSchedule
from experiments.calibration.whole_schedules import (
    CASES,
    METRICS,
    MODELS,
    SENT,
    content,
    effects,
    points,
)
from experiments.kit.papers import Options
from netcosim.runs.points import replaced
from netsim.errors import NetcosimError
from netsim.plugins import load_plugin, using
from queuesim.result import PlacementArrays, QueueResult
from workloads.job import bare_jobs

RING = ("torus", {"dims": [4], "concentration": 2}, "dimension-order")
"""Four routers with nodes 2r and 2r + 1: jobs on nodes 0, 2 and 1, 3 share one cable."""
SMALL = {
    "dragonfly": (("dragonfly", {"p": 2, "a": 2, "g": 5}, "minimal"), ["rdn", "simple"]),
    "fat-tree": (("fattree", {"radix": 4}, "d-mod-k"), ["random", "jigsaw"]),
}
"""Machines of 20 and 16 nodes, and policies."""


class Given(NodePolicy):
    """Nodes by job id."""

    name, description = "given", "for the test"
    counts_only = False
    nodes: dict[int, Sequence[int]]

    def _choose(self, request: Request) -> Nodes | None:
        return np.array(self.nodes[request.job_id])

    def _select(self, n_nodes: int) -> Nodes:
        raise NotImplementedError


def network(
    machine: tuple[str, dict[str, Any], str], fraction: float, *, message_bytes: int = 100_000
) -> JobNetwork:
    family, parameters, routing = machine
    return JobNetwork(
        nc.SharedNetwork(
            nc.make_routing(nc.make_topology(family, parameters), routing), task_mapping="in-order"
        ),
        CommunicationMix([PatternShare("shift", 1.0, fraction, fraction)]),
        [nc.Communication("shift", message_bytes)],
    )


def send(
    on: JobNetwork,
    nodes: Sequence[Sequence[int]],
    run_time_s: Sequence[float],
    *,
    reference: Sequence[Sequence[int]] | None = None,
    submit_s: Sequence[float] | None = None,
    noise: float = 0.1,
) -> QueueResult:
    """Jobs 1, 2, ... on given nodes; the reference's are the same by default."""
    n = len(nodes)
    jobs = bare_jobs(
        "given",
        submit_s=np.zeros(n) if submit_s is None else np.array(submit_s),
        run_time_s=np.array(run_time_s),
        n_nodes=np.array([len(own) for own in nodes]),
        requested_s=np.full(n, 10.0),
    )
    policy = Given(on.shared.routing.topology, np.random.default_rng(1))
    policy.nodes = {k + 1: own for k, own in enumerate(nodes)}
    known = PlacementArrays.from_placements([
        Placement(k + 1, np.array(own, np.int32), np.empty(0, np.int32))
        for k, own in enumerate(nodes if reference is None else reference)
    ])  # fmt: skip
    return nc.simulate_queue(
        jobs,
        policy,
        run_time_model=SentSchedule(on, known, noise),
        rng=np.random.default_rng(1),
        keep_placements=True,
    )


def run_times_s(result: QueueResult) -> Any:
    return result.end_s - result.start_s


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_an_isolated_job_on_the_reference_nodes_runs_as_logged(noise: float) -> None:
    """An iteration of 100 us at f = 0.4 is 250 us, so 10.1 ms are 40 iterations; rounding of
    pauses to 0.1 us is 0.04 % at most."""
    result = send(network(RING, 0.4), [[0, 2]], [0.0101], noise=noise)
    assert run_times_s(result) == pytest.approx([0.0101], rel=4e-4)


def test_two_jobs_that_half_use_a_cable() -> None:
    """Packets that take turns on a link: a job at f = 0.5 beside one of f = 0.5 communicates 1.5
    times as long (mean-value analysis without the job itself), so it runs 1.25 times as long."""
    result = send(network(RING, 0.5), [[0, 2], [1, 3]], [0.4, 0.4], noise=0.5)
    assert run_times_s(result) / 0.4 == pytest.approx([1.25, 1.25], abs=0.01)


def test_only_the_time_that_jobs_overlap_is_longer() -> None:
    """The second job begins when half of the first is done: 5 ms alone, then both at 1.25 until
    the second's 2.5 ms of work have taken 3.125 ms; the first's other 2.5 ms are alone again."""
    on = network(RING, 0.5)
    result = send(on, [[0, 2], [1, 3]], [0.01, 0.0025], submit_s=[0.0, 0.005])
    assert result.end_s == pytest.approx([0.01 + 0.000625, 0.005 + 0.003125], abs=0.0003)


def test_worse_nodes_than_the_reference_gave_it_lengthen_a_job() -> None:
    """Ranks 0 and 1 exchange 100 kB: 100 us on one router, 400 us over a cable of a quarter of the
    bandwidth. At f = 0.5 they compute for 100 us between, so a run takes 500 / 200 as long."""
    ring = ("torus", {"dims": [4], "concentration": 2, "link_bandwidth_Bps": 250_000_000}, RING[2])
    result = send(network(ring, 0.5), [[0, 2]], [0.02], reference=[[0, 1]])
    assert run_times_s(result) / 0.02 == pytest.approx([2.5], rel=0.02)


def small_queue(case: str, policy: str) -> tuple[JobNetwork, QueueResult]:
    """Ten jobs of 2 to 8 nodes, most of them beside others; the first nodes are the reference."""
    machine, _ = SMALL[case]
    on = network(machine, 0.4, message_bytes=40_000)
    rng = np.random.default_rng(5)
    n_nodes = rng.integers(2, 9, 10)
    jobs = bare_jobs(
        "small",
        submit_s=np.cumsum(rng.exponential(0.001, 10)),
        run_time_s=rng.uniform(0.004, 0.008, 10),
        n_nodes=n_nodes,
        requested_s=np.full(10, 0.02),
    )
    topology = on.shared.routing.topology
    first = [
        Placement(k + 1, np.arange(n, dtype=np.int32), np.empty(0, np.int32))
        for k, n in enumerate(n_nodes.tolist())
    ]
    return on, nc.simulate_queue(
        jobs,
        nc.make_policy(topology, policy, np.random.default_rng(2)),
        run_time_model=SentSchedule(on, PlacementArrays.from_placements(first), 0.0),
        rng=np.random.default_rng(3),
        keep_placements=True,
    )


@pytest.mark.parametrize(
    ("case", "policy"), [(case, policy) for case, (_, names) in SMALL.items() for policy in names]
)
def test_the_schedule_sent_at_once_has_the_same_ends(case: str, policy: str) -> None:
    """All jobs from their starts in one ensemble; those of a policy that isolates one by one."""
    on, result = small_queue(case, policy)
    jobs, placed = result.workload, []
    for k, (n, run_time_s) in enumerate(zip(jobs.n_nodes, jobs.run_time_s, strict=True)):
        first = Situation(0, np.arange(n, dtype=np.int32).tobytes(), 0.4)
        loop = on.loads.isolated.of(first, 1.0)
        assert loop is not None
        assert result.placements is not None
        repeats = round(run_time_s / loop.period_s)
        compute_s = loop.job.compute_s + run_time_s / repeats - loop.period_s
        own = result.placements.placement(k, k + 1)
        placed.append(
            nc.PlacedJob(
                k + 1,
                loop.job.communication,
                own.nodes[:n],
                own if policy == "jigsaw" else None,
                repeats,
                1e-7 * round(1e7 * compute_s),
                1e-7 * np.ceil(1e7 * result.start_s[k]),
            )
        )
    together = [[job] for job in placed] if policy == "jigsaw" else [placed]
    found = [nc.Ensemble(on.shared, group).packets().time_s for group in together]
    start_s = np.array([job.start_s for job in placed])
    assert result.end_s == pytest.approx(start_s + np.concatenate(found), abs=1e-9)
    assert policy == "jigsaw" or (run_times_s(result) / jobs.run_time_s).mean() > 1.02


def test_a_past_that_later_jobs_change_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    send = SentRunTimes._send
    monkeypatch.setattr(
        SentRunTimes, "_send", lambda own, jobs: [t + 0.001 * len(jobs) for t in send(own, jobs)]
    )
    with pytest.raises(NetcosimError, match=r"job \d+ has ended at .* the packets of later jobs"):
        small_queue("dragonfly", "simple")


@pytest.mark.parametrize("case", ["dragonfly-minimal", "torus"])
def test_coupled_packets_agree_on_small_schedules(case: str) -> None:
    """Jobs that all start at once have the nodes of the pilot run, so locality is the same."""
    n_nodes = np.array([20, 6, 14, 9, 12])
    jobs = bare_jobs(
        "at once",
        submit_s=np.zeros(5),
        run_time_s=np.full(5, 0.05),
        n_nodes=n_nodes,
        requested_s=np.full(5, 0.1),
    )
    ratio = []
    for model in (SENT, "coupled-packets"):
        config = replaced(content(case, model, 3), {"queue.policies": ["random"]})
        with using([load_plugin("experiments.calibration.sent_schedules")]):
            [result] = nc.run_cosim(nc.config_from(config), jobs=jobs).schedules.values()
        assert not result.start_s.any()
        ratio.append(run_times_s(result) / jobs.run_time_s)
    sent, judged = ratio
    assert sent.max() > 1.04
    assert judged == pytest.approx(sent, abs=0.03)
    assert np.abs(judged - sent).mean() < 0.015


def test_effects_of_a_hand_worked_schedule() -> None:
    """Two jobs, submitted at 0 and 10, on the reference and under another policy.

    Reference: run times 20 and 40, waits 0 and 10, so means 30, 5, 35 and a makespan of 60.
    """
    case, (reference, other, _) = "torus", CASES["torus"]["policies"]
    times = {
        (SENT, reference): [(0, 20), (20, 60)],
        (SENT, other): [(0, 20), (10, 38)],
        ("coupled-flow", reference): [(0, 20), (20, 60)],
        ("coupled-flow", other): [(0, 20), (20, 57)],
    }
    rows = [
        {"case": case, "log": 1, "run_time_model": model, "policy": policy, "job": job + 1}
        | {"start_us": start, "end_us": end}
        for (model, policy), jobs in times.items()
        for job, (start, end) in enumerate(jobs)
    ]
    jobs = pd.DataFrame({"case": case, "log": 1, "job": [1, 2], "submit_us": [0, 10]})
    found = effects(pd.DataFrame(rows), jobs).loc[(case, 1, other)]
    sent = [found[metric, SENT] for metric in METRICS]
    assert sent == pytest.approx([-20.0, -100.0, 100 * (24 / 35 - 1), 100 * (38 / 60 - 1)])
    assert found["run_time", "coupled-flow"] == pytest.approx(-5.0)


def test_full_scale_is_at_least_sixteen_schedules() -> None:
    full = [p for p in points(Options()) if p["run_time_model"] == SENT]
    assert sum(len(CASES[p["case"]]["policies"]) for p in full) >= 16
    assert {p["run_time_model"] for p in points(Options())} == set(MODELS)
    assert len(points(Options(routings=("ugal-l",)))) == len(points(Options())) / 4
