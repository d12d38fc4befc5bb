"""Running jobs at flow level: ways that know of the others' load, in closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from queue_helpers import make_workload
from selection import first_only
from test_coupled_flow import Given, run

from alloc.policy import Placement, Policy
from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_network import JobLoads, JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.running_jobs import RunningJobs
from cosim.network.situation import Situation
from cosim.run_times.coupled import CoupledFlow, LiveRunTimes
from netsim.routing.registry import make_routing
from netsim.topologies.torus import torus
from netsim.topology import Topology


def square(concentration: int = 2) -> Topology:
    """A torus of 5 x 5 routers of two nodes each; node 2 r and 2 r + 1 are router r's."""
    return torus((5, 5), concentration=concentration)


ALONG = (0, 10)
"""Nodes of two neighbours, whose exchange fills the links between them, both ways."""
CORNER = (1, 13)
"""Nodes at two corners of a square; the first sends to the second, on two ways."""


def long_jobs(routing: str, concentration: int = 2) -> JobNetwork:
    """Share 0 exchanges, share 1 sends from its first node."""
    names = ("all-to-all", "broadcast")
    return JobNetwork(
        SharedNetwork(make_routing(square(concentration), routing), task_mapping="in-order"),
        CommunicationMix([PatternShare(name, 1.0, 0.5, 0.5) for name in names]),
        [Communication(name, 10**7) for name in names],
    )


def situation(share: int, nodes: tuple[int, ...]) -> Situation:
    return Situation(share, np.array(nodes, np.int32).tobytes())


JOBS = (situation(0, ALONG), situation(1, CORNER))


def started(loads: JobLoads) -> RunningJobs:
    jobs = RunningJobs(loads)
    jobs.change({k: (job, loads.load(job)) for k, job in enumerate(JOBS)}, [])
    return jobs


def test_by_dimension_order_both_take_twice_as_long() -> None:
    jobs = started(JobLoads(long_jobs("dimension-order")))
    assert [jobs.stretch(k) for k in (0, 1)] == pytest.approx([2, 2], rel=0.02)


def test_who_can_goes_round_the_other_corner() -> None:
    """Alone the corner sends half its bytes either way, so each would have half of the link.

    With the neighbours at half speed the side looks half full: a quarter of the bytes goes there
    and three quarters go by the free side. The neighbours have the rest, a stretch of 4 / 3.
    """
    loads = JobLoads(long_jobs("minimal-adaptive"))
    side = loads.load(JOBS[0]).links
    alone = loads.load(JOBS[1])
    assert alone.busy_s[np.isin(alone.links, side)].tolist() == [0.005]
    jobs = started(loads)
    assert [jobs.stretch(k) for k in (0, 1)] == pytest.approx([4 / 3, 1], rel=0.02)
    assert sorted(jobs.network.others_busy_s(0)[side] / jobs.network.alone_s(0)) == pytest.approx(
        [0, 1 / 3], rel=0.02
    )


@pytest.mark.parametrize("fraction", [0.2, 0.5])
def test_the_side_looks_as_full_as_it_is_on_average(fraction: float) -> None:
    """The neighbours, slowed by s, use it for a share 1 / (p + s) of the time.

    The job's own use, thinned by its fraction too, is not among it.
    """
    loads = JobLoads(long_jobs("minimal-adaptive"))
    jobs = RunningJobs(loads)
    both = [job._replace(fraction=fraction) for job in JOBS]
    jobs.change({k: (job, loads.load(job)) for k, job in enumerate(both)}, [])
    use = jobs.network.others_busy_s(1) / (jobs.network.alone_s(1) * jobs.stretch(1))
    there = 1 / ((1 - fraction) / fraction + jobs.stretch(0))
    assert use[loads.load(JOBS[0]).links] == pytest.approx([there, there], rel=0.02)


def test_ways_are_found_again_when_others_leave() -> None:
    """The neighbours end: what is left has the ways and the time that it has alone."""
    loads = JobLoads(long_jobs("minimal-adaptive"))
    jobs = started(loads)
    assert jobs.change({}, [1]) == [0]
    assert jobs.stretch(0) == pytest.approx(1.0, abs=0.015)  # changes below that are not told
    assert (jobs.stretch(1), 1 in jobs) == (1.0, False)


def test_large_jobs_look_at_their_start_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosim.network.running_jobs._MOST_PAIRS", 0)
    loads = JobLoads(long_jobs("minimal-adaptive"))
    jobs = started(loads)
    assert [jobs.stretch(k) for k in (0, 1)] == pytest.approx([4 / 3, 1], rel=0.02)
    before = loads.load(JOBS[1]).busy_s
    jobs.change({}, [0])
    # it keeps the quarter and three quarters that it has chosen
    kept = jobs.network.load(1).busy_s
    assert sorted(kept) != sorted(before)


def crowd(loads: JobLoads, first: tuple[Situation, ...]) -> tuple[RunningJobs, list[int]]:
    """Some jobs, and then two pairs that together overfill one side: who has changed."""
    jobs = RunningJobs(loads)
    for k, job in enumerate(first):
        jobs.change({k: (job, loads.load(job))}, [])
    pairs = [situation(0, nodes) for nodes in ((0, 15), (2, 17))]
    return jobs, jobs.change({10 + k: (job, loads.load(job)) for k, job in enumerate(pairs)}, [])


@pytest.mark.parametrize(("most_pairs", "stays"), [(8192, False), (0, True)])
def test_who_is_slowed_looks_again(
    monkeypatch: pytest.MonkeyPatch, most_pairs: int, stays: bool
) -> None:
    """Three nodes a router. Two pairs leave a job a third of a side of which it wants a half.

    It is slowed by 1.5 then, looks again, and takes the free side; too large a job does not look.
    (Without the bound of 2 on what a link can do, under which half a job's bytes cost it nothing.)
    """
    monkeypatch.setattr("netsim.flow.job_routes._DETOUR", np.inf)
    monkeypatch.setattr("cosim.network.running_jobs._MOST_PAIRS", most_pairs)
    loads = JobLoads(long_jobs("minimal-adaptive", concentration=3))
    corner = situation(1, (1, 19))
    jobs, changed = crowd(loads, (corner,))
    assert {10, 11, *([0] if stays else [])} <= set(changed)
    assert jobs.stretch(0) == pytest.approx(1.5 if stays else 1.0, rel=0.02)


@pytest.mark.parametrize("seed", first_only(range(4)))
def test_all_whose_stretch_changes_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loads = JobLoads(long_jobs("minimal-adaptive", concentration=3))
    jobs, free, there = RunningJobs(loads), rng.permutation(75).tolist(), {}
    for number in range(12):
        gone = [k for k in there if rng.random() < 0.2]
        for k in gone:
            free += there.pop(k)
        size = int(rng.integers(2, 9))
        nodes, free = free[:size], free[size:]
        before = {k: jobs.stretch(k) for k in there}
        job = situation(int(rng.integers(2)), tuple(nodes))
        load = loads.load(job)
        there[number] = nodes
        changed = jobs.change({number: (job, load)} if len(load.links) else {}, gone)
        assert len(set(changed)) == len(changed)
        assert {k for k, old in before.items() if jobs.stretch(k) != old} <= set(changed)


class Fixed(Policy):
    """Each job on nodes of its own."""

    name = "fixed"
    description = "given nodes"
    places = (ALONG, CORNER)

    @property
    def n_free(self) -> int:
        return self.topology.n_nodes

    def allocate(self, request):
        return Placement(request.job_id, np.array(self.places[request.job_id - 1], np.int32))

    def release(self, placement):
        pass

    def hold(self, placement):
        pass

    def unhold(self):
        pass

    def clone(self):
        return self


def test_a_queue_whose_jobs_can_avoid_each_other() -> None:
    """Half of the time is communication, alone.

    By dimension order the messages of the first that share a link take twice as long, those the
    other way do not: a stretch of 1.5, a rate of 0.8. The corner job always sends. Of 25 ms it has
    half of the link for 20: a rate of 0.6. So 12.5 s, and then 12.5 s more for 20 - 7.5.
    Minimal-adaptive: the corner job sends a quarter of its bytes along the side, so it leaves
    3 / 4 of it for half of the time: a stretch of 1 + (4 / 3 - 1) / 2 and 10 * 13 / 12 s.
    """
    ways = {"dimension-order": [12.5, 25], "minimal-adaptive": [10 * 13 / 12, 20]}
    for routing, ends in ways.items():
        network = long_jobs(routing)
        policy = Fixed(network.shared.routing.topology, np.random.default_rng(0))
        live = CoupledFlow(network).prepare(
            make_workload([0, 0], [10, 20], [2, 2]), policy, np.random.default_rng(5)
        )
        assert isinstance(live, LiveRunTimes)
        live._share[:] = [0, 1]
        result = run(Given(live), make_workload([0, 0], [10, 20], [2, 2]), policy)
        assert result.end_s == pytest.approx(ends, rel=0.02)


def test_jobs_that_do_not_communicate_slow_nobody() -> None:
    network = long_jobs("dimension-order")
    policy = Fixed(network.shared.routing.topology, np.random.default_rng(0))
    jobs = make_workload([0, 0], [10, 20], [2, 2])
    for fractions, ends in (([0.5, 0.5], [12.5, 25]), ([0.5, 0.0], [10, 20])):
        live = CoupledFlow(network).prepare(jobs, policy, np.random.default_rng(5))
        assert isinstance(live, LiveRunTimes)
        live._share[:], live._fraction[:] = [0, 1], fractions
        assert run(Given(live), jobs, policy).end_s == pytest.approx(ends, rel=0.02)
