"""The fluid model of jobs that iterate: closed forms, and a second implementation."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from scipy.optimize import linprog

from cosim.network.periodic import (
    JobGroup,
    NetworkPlan,
    PeriodicJob,
    _speeds,
    iteration_times_s,
)
from netsim.errors import NetcosimError


def job(
    lead_s: float, comm_s: float, hidden_s: float = 0.0, gpus: int = 1, **use: float
) -> PeriodicJob:
    """A job on links named l0, l1, ..., each with the part of its bandwidth that it uses."""
    links = np.array([int(name[1:]) for name in use])
    return PeriodicJob(lead_s, comm_s, hidden_s, links, np.array(list(use.values())) * comm_s, gpus)


def times(
    jobs: list[PeriodicJob],
    priority: list[int] | None = None,
    start_s: list[float] | None = None,
    pace_s: list[float] | None = None,
    periods: int = 50,
) -> np.ndarray:
    n = len(jobs)
    plan = NetworkPlan(
        np.array(priority or [0] * n),
        np.array(start_s or [0.0] * n),
        np.array(pace_s or [0.0] * n),
    )
    return iteration_times_s(JobGroup.of(jobs), plan, np.random.default_rng(1), periods=periods)


@pytest.mark.parametrize(
    ("priority", "expected", "percent"), [([1, 0], [4, 4], 37.5), ([0, 1], [6, 2], 41.7)]
)
def test_gpu_utilisation_of_crux_by_which_job_has_priority(priority, expected, percent):
    """Cao et al., SIGCOMM 2024, example 1: 2 s + 2 s beside 1 s + 1 s on one link."""
    found = times([job(2, 2, l0=1), job(1, 1, l0=1)], priority)
    assert found == pytest.approx(expected)
    assert round(100 * float(np.mean([2, 1] / found)), 1) == percent


def test_jobs_that_fill_each_others_pauses_do_not_slow_each_other():
    pair = [job(1, 1, l0=1), job(1, 1, l0=1)]
    assert times(pair, start_s=[0.0, 1.0]) == pytest.approx([2, 2])
    # in phase they share the link, and stay in phase for ever
    assert times(pair, start_s=[0.0, 0.0]) == pytest.approx([3, 3])


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.5, 0.9])
def test_jobs_that_want_a_link_for_more_than_all_the_time_are_bounded_by_it(phase):
    """The second one sends in the pauses of 0.5 s: 0.5 s in one, 0.3 s in the next one."""
    pair = [job(0.5, 1, l0=1), job(0.4, 0.8, l0=1)]
    first = times(pair, [1, 0], [0.0, phase], periods=400)
    assert first == pytest.approx([1.5, 3.0])
    alike = times(pair, [0, 0], [0.0, phase], periods=400)
    assert 0.9 < float(np.sum([1, 0.8] / alike)) <= 1.0 + 1e-9


def test_communication_beside_computing_has_slack():
    """1 s of communication beside 2 s of computing, behind a job that sends half of the time."""
    hidden = job(1, 1, 2, l0=1)
    assert hidden.iteration_s == 3
    assert times([hidden, job(1, 1, l0=1)], [0, 1]) == pytest.approx([3, 2])


def test_gates_keep_compatible_jobs_interleaved_where_iterations_differ():
    """Without a gate the shorter one runs into the other; 2.0 s beside 1.9 s."""
    pair = [job(1, 1, l0=1), job(0.95, 0.95, l0=1)]
    gated = times(pair, start_s=[0.0, 1.05], pace_s=[2.0, 2.0])
    assert gated == pytest.approx([2, 2])
    assert np.all(times(pair, start_s=[0.0, 1.05]) > [2.05, 1.95])


def test_priorities_that_leave_nothing_stop_a_job():
    found = times([job(0, 1, l0=1), job(1, 1, l0=1)], [1, 0])
    assert found[0] == pytest.approx(1.0)
    assert np.isinf(found[1])


def test_only_links_that_can_be_overloaded_count_and_equal_ones_once():
    group = JobGroup.of(
        [job(1, 1, l0=0.6, l1=0.5, l2=0.6, l7=1), job(1, 1, l0=0.6, l1=0.5, l2=0.6)]
    )
    assert group.n_links == 1
    assert group.use.tolist() == [0.6, 0.6]
    elsewhere = JobGroup.of([job(1, 1, l3=0.6, l4=0.5), job(1, 1, l3=0.6, l4=0.5)])
    assert elsewhere.key() == group.key()


def test_a_link_that_no_job_uses_more_than_another_one_does_not_count():
    """Of four links l1 is covered by l0, and l3 has room for all."""
    uses = ((0.5, 0.5, 0.6, 0.7), (0.5, 0.5, 0.3, 0.1), (0.5, 0.4, 0.2, 0.1))
    jobs = [job(1, 1, l0=a, l1=b, l2=c, l3=d) for a, b, c, d in uses]
    group = JobGroup.of(jobs)
    assert group.use.reshape(3, 2).tolist() == [[0.5, 0.6], [0.5, 0.3], [0.5, 0.2]]


@pytest.mark.parametrize(("done", "speed"), [(4, 2 / 6), (3, 1 / 2), (2, 0), (1, 0)])
def test_iterations_count_from_the_first_end_that_is_not_before_the_warm_up(done, speed):
    """Ends at 1, 2, 4 and 8 s of which the last ones are done; from 2 s on they count."""
    ends_s = np.array([[1.0, 2.0, 4.0, 8.0]])
    ends_s[0, done:] = np.inf
    assert _speeds(ends_s, np.array([done]), 2.0) == pytest.approx([speed])


@pytest.mark.parametrize("busy", [1.5, -0.1])
def test_a_link_is_not_busy_for_longer_than_communication(busy):
    with pytest.raises(NetcosimError, match="busy_s has"):
        PeriodicJob(1.0, 1.0, 0.0, np.array([0]), np.array([busy]))


def test_a_rounding_error_more_than_communication_is_as_long():
    PeriodicJob(1.0, 1.0, 0.0, np.array([0]), np.array([1 + 1e-10]))


# A second implementation: rates by linear programmes, events from a heap


def lp(wanted: np.ndarray, left: np.ndarray, low: np.ndarray, high: np.ndarray, of: list[int]):
    """Return the largest speed that all of these can have at least, and the one that one can."""
    n = wanted.shape[1]
    floor = np.zeros((len(of), n + 1))
    floor[range(len(of)), of], floor[:, n] = -1.0, 1.0
    rows = np.vstack([np.hstack([wanted, np.zeros((len(wanted), 1))]), floor])
    bounds = [*zip(low, high, strict=True), (0.0, 1.0)]
    goal = np.append(np.zeros(n), -1.0)
    done = linprog(goal, A_ub=rows, b_ub=np.append(left, np.zeros(len(of))), bounds=bounds)
    assert done.status == 0
    return -float(done.fun)


def max_min_by_lp(wanted: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Max-min fair speeds by linear programmes: who cannot have more than the floor stops there."""
    n = wanted.shape[1]
    low, high = np.zeros(n), np.ones(n)
    free = list(range(n))
    while free:
        floor = lp(wanted, left, low, high, free)
        low[free] = np.minimum(floor, 1.0) - 1e-10
        stopped = [j for j in free if lp(wanted, left, low, high, [j]) < floor + 1e-7]
        assert stopped
        high[stopped] = low[stopped] = floor
        free = [j for j in free if j not in stopped]
        low[list(set(range(n)) - set(free))] -= 1e-12
    return high


class Plain:
    """Jobs by events, each of which ends a phase of one job."""

    def __init__(self, jobs, priority, start_s, pace_s):
        self.jobs, self.priority, self.pace_s = jobs, priority, pace_s
        self.links = sorted({int(k) for one in jobs for k in one.links})
        self.wanted = np.zeros((len(self.links), len(jobs)))
        for j, one in enumerate(jobs):
            for k, busy_s in zip(one.links, one.busy_s, strict=True):
                self.wanted[self.links.index(int(k)), j] = busy_s / one.comm_s
        self.known: dict[frozenset[int], dict[int, float]] = {}
        self.start_s = start_s

    def speeds(self, sending: frozenset[int]) -> dict[int, float]:
        if sending not in self.known:
            left, found = np.ones(len(self.links)), {}
            for level in sorted({self.priority[j] for j in sending}, reverse=True):
                mine = sorted(j for j in sending if self.priority[j] == level)
                speed = max_min_by_lp(self.wanted[:, mine], left)
                left = np.maximum(left - self.wanted[:, mine] @ speed, 0)
                found |= dict(zip(mine, speed.tolist(), strict=True))
            self.known[sending] = found
        return self.known[sending]

    def ends(self, until_s: float) -> list[list[float]]:
        jobs, ends = self.jobs, [[] for _ in self.jobs]
        alarms = [
            (s + one.lead_s, j, "send")
            for j, (s, one) in enumerate(zip(self.start_s, jobs, strict=True))
        ]
        heapq.heapify(alarms)
        begin = list(self.start_s)
        left: dict[int, float] = {}
        half_done: set[int] = set()
        now = 0.0

        def half(j: int) -> None:
            """Communication or the computing beside it has ended."""
            if j not in half_done:
                half_done.add(j)
                return
            half_done.remove(j)
            ends[j].append(now)
            begin[j] = max(now, begin[j] + self.pace_s[j])
            heapq.heappush(alarms, (begin[j] + jobs[j].lead_s, j, "send"))

        while True:
            speed = self.speeds(frozenset(left))
            finish = min(
                ((now + left[j] / v, j) for j, v in speed.items() if v > 1e-9),
                default=(np.inf, -1),
            )
            following = min(finish[0], alarms[0][0] if alarms else np.inf)
            if following >= until_s:
                return ends
            for j, v in speed.items():
                left[j] -= v * (following - now)
            now = following
            if following == finish[0]:
                del left[finish[1]]
                half(finish[1])
            else:
                _, j, what = heapq.heappop(alarms)
                if what == "send":
                    left[j] = jobs[j].comm_s
                    heapq.heappush(alarms, (now + jobs[j].hidden_s, j, "hidden"))
                else:
                    half(j)


@pytest.mark.parametrize("seed", range(8))
def test_iterations_equal_those_of_a_second_implementation(seed):
    rng = np.random.default_rng([7, seed])
    n, n_links = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    jobs = []
    for _ in range(n):
        lead_s, comm_s, hidden_s = rng.uniform([0, 0.2, 0], [2, 2, 2])
        links = np.flatnonzero(rng.random(n_links) < 0.7)
        links = links if len(links) else np.array([0])
        busy_s = rng.uniform(0.2, 1.0, len(links)) * comm_s
        jobs.append(PeriodicJob(lead_s, comm_s, hidden_s, links, busy_s))
    priority = rng.integers(0, 3, n) * (seed % 2)
    start_s = rng.uniform(0, 2, n)
    pace_s = rng.uniform(0, 3, n) * (rng.random(n) < 0.3)
    group = JobGroup.of(jobs)
    found = iteration_times_s(
        group, NetworkPlan(priority, start_s, pace_s), np.random.default_rng(0), periods=12
    )
    until_s = 12 * float(np.maximum(group.iteration_s, pace_s).max())
    plain = Plain(jobs, priority.tolist(), start_s.tolist(), pace_s.tolist()).ends(until_s)
    expected = []
    for ends in plain:
        counted = [end for end in ends if end >= 0.2 * until_s]
        expected.append((counted[-1] - counted[0]) / (len(counted) - 1))
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_same_generator_gives_the_same_bits():
    group = JobGroup.of([job(1, 1, l0=1), job(1.1, 0.8, l0=1)])
    plan = NetworkPlan.without(2)
    found = [iteration_times_s(group, plan, np.random.default_rng(5)) for _ in range(2)]
    assert found[0].tolist() == found[1].tolist()
