"""An episode by hand: rewards from times, observations from what runs and waits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log1p

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

from alloc.registry import make_policy
from netsim.hierarchy import hierarchy_of
from netsim.topologies.registry import make_topology
from queuesim.decide import Choice
from queuesim.deciders import LargestThatFits
from queuesim.learning.episode import LONGEST_S, REWARDS, Domains, Episode, View, log_time
from queuesim.queue_setup import QueueSetup
from workloads.details import JobDetails, Labels
from workloads.job import Workload

DRAGONFLY = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})
N = DRAGONFLY.n_nodes
MONTH = log1p(30 * 86400)


def episode_of(
    workload: Workload, reward: str = "bounded-slowdown", depth: int = 3, level: int = 1
) -> Episode:
    policy = make_policy(DRAGONFLY, "simple", np.random.default_rng(0))
    rng = np.random.default_rng(0)
    run = QueueSetup(workload, policy, rng=rng, keep_placements=True).by_events()
    n = len(workload)
    labels = Labels(np.arange(n, dtype=np.int32), tuple(map(str, range(n))))
    details = JobDetails(pattern=labels, communication_fraction=np.linspace(0.2, 0.4, n))
    view = View(Domains(DRAGONFLY, level), replace(workload, details=details), depth)
    return Episode(run, view, REWARDS[reward][0](run))


def play(episode: Episode) -> list[float]:
    """Start what fits, first come first served; what each wait has gained."""
    gained = []
    while episode.forward():
        while True in episode.fits:
            assert episode.start(Choice(episode.waiting[episode.fits.index(True)]))
            if not episode.needs_decision():
                break
        gained.append(episode.reward_since_last())
    return [*gained, episode.reward_since_last()]


FOUR = make_workload([0, 0, 5, 35], [30, 2, 2, 100], [N, 1, 4, N])
"""The first has the machine until 30; the others wait 30, 25 and 0 s."""


@pytest.mark.parametrize(
    ("reward", "total"),
    [
        # run times count as 10 s at least: 30 / 30, 32 / 10, 27 / 10, 100 / 100
        ("bounded-slowdown", -(1 + 3.2 + 2.7 + 1) / 4),
        ("bounded-stretch", -(1 + 3.2 + 2.7 + 1) / 4),
        ("turnaround", -(30 + 32 + 27 + 100) / 4 / 3600),
        ("communication", 0.0),
        ("utilisation", (30 * N + 2 + 8 + 100 * N) / (135 * N)),
    ],
)
def test_rewards_by_hand(reward: str, total: float) -> None:
    assert sum(play(episode_of(FOUR, reward))) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("reward", sorted(REWARDS))
def test_rewards_do_not_depend_on_when_the_first_job_comes(reward: str) -> None:
    later = replace(FOUR, submit_s=FOUR.submit_s + 4000)
    first, second = (sum(play(episode_of(jobs, reward))) for jobs in (FOUR, later))
    assert first == pytest.approx(second, rel=1e-9)


def test_nobody_gains_from_a_job_that_is_faster_than_10_s() -> None:
    """2 s without a wait count as a slowdown of 1, not of 0.2."""
    for reward in ("bounded-slowdown", "bounded-stretch"):
        episode = episode_of(make_workload([0], [2], [1]), reward)
        assert sum(play(episode)) == -1.0


def test_a_gain_is_told_once() -> None:
    gained = play(episode_of(FOUR, "turnaround"))
    # decisions at 0, at 30 and at 35; all jobs have ended by then but the last
    assert [round(-4 * 3600 * gain) for gain in gained] == [0, 30, 32 + 27, 100]


def test_times_are_seen_by_their_logarithm() -> None:
    assert LONGEST_S == 30 * 86400
    assert log_time(np.array([-5.0, 0.0, 3600.0, 30 * 86400, 1e9])) == pytest.approx(
        [0, 0, log1p(3600) / MONTH, 1, 1]
    )


def test_the_next_promised_end_is_seen() -> None:
    """Of three running jobs that end at 500, 50 and 90, as promised: 50."""
    workload = make_workload([0, 0, 0, 10, 60], [400] * 5, [8, 8, 8, 8, 8], [500, 50, 90, 7, 7])
    episode = episode_of(workload)
    assert episode.forward()
    # nothing runs: as far off as can be
    assert episode.observation()["machine"][2] == 1.0
    for job in (0, 1, 2):
        episode.start(Choice(job))
    assert episode.forward()
    now_s = 10.0
    machine = episode.observation()["machine"]
    assert machine[2] == pytest.approx(log1p(50 - now_s) / MONTH, rel=1e-6)
    assert machine[0] == pytest.approx((N - 24) / N)
    assert machine[3] == pytest.approx(now_s / 86400)
    assert episode.forward()
    # one is past its promised end
    assert episode.observation()["machine"][2] == 0.0


def test_a_waiting_job_is_seen_with_all_that_is_known_of_it() -> None:
    day = 86400.0
    submit = [0, day + 100, day + 160, day + 160, day + 160]
    workload = make_workload(submit, [day + 500, 9, 9, 9, 9], [36, 20, 4, 5, 40], [600.0] * 5)
    episode = episode_of(workload)
    assert episode.forward()
    episode.start(Choice(0))
    # the one of 20 nodes does not fit alone, so nothing is to be decided before 160 s of the day
    assert episode.forward()
    seen = episode.observation()
    # of the four that wait three are seen
    assert episode.waiting == [1, 2, 3]
    assert episode.fits == [False, True, False]
    # size, walltime, waited, pattern, communication, fits, there
    asked = log1p(600) / MONTH
    expected = [
        [0.5, asked, log1p(60) / MONTH, 0.4, 0.25, 0, 1],
        [0.1, asked, 0, 0.6, 0.3, 1, 1],
        [0.125, asked, 0, 0.8, 0.35, 0, 1],
    ]
    np.testing.assert_allclose(seen["jobs"], expected, rtol=1e-6)
    assert seen["machine"].tolist() == pytest.approx([0.1, 4 / 5, 0, 160 / day], rel=1e-5)
    assert seen["domains"][:, 0].tolist() == [0, 0, 0, 0, 0.5]
    assert episode.free_nodes().tolist() == [0, 0, 0, 0, 4]


def test_a_full_machine_asks_nothing_and_the_end_is_zeros() -> None:
    workload = make_workload([0, 5, 7], [30, 3, 4], [N, 1, 1])
    episode = episode_of(workload)
    times = []
    while episode.forward():
        point = episode.point
        assert point is not None
        times.append(point.now_s)
        for job, fits in zip(list(episode.waiting), list(episode.fits), strict=True):
            if fits:
                episode.start(Choice(job))
    # no decision at 5 nor at 7
    assert times == [0, 30]
    assert episode.point is None
    assert (episode.waiting, episode.fits) == ([], [])
    for values in episode.observation().values():
        assert not values.any()


def test_waiting_is_of_use_while_something_will_happen() -> None:
    workload = make_workload([0, 0, 50], [10, 10, 10], [4, 4, 4])
    episode = episode_of(workload)
    assert episode.forward()
    assert episode.may_wait  # one is still to come
    episode.start(Choice(0))
    assert episode.may_wait
    for _ in range(10):
        if not episode.forward() or not episode.may_wait:
            break
    # all have come, none runs, two wait
    assert episode.waiting == [1, 2]
    uses = [episode.may_wait]
    episode.start(Choice(1))
    assert [*uses, episode.may_wait] == [False, True]


def test_who_decides_names_the_job_that_is_asked_for() -> None:
    workload = make_workload([0, 0, 0], [10, 10, 10], [4, 30, 20])
    plain = episode_of(workload)
    episode = Episode(plain.run, plain.view, plain.reward, LargestThatFits())
    assert episode.forward()
    assert episode.offered == 1
    episode.start(Choice(1))
    assert episode.needs_decision()
    assert episode.offered == 0  # 20 nodes do not fit into the 10 that are left
    episode.start(Choice(0))
    assert not episode.needs_decision()
    assert episode.offered is None


@pytest.mark.parametrize("level", [0, 1, 2, 9])
def test_links_of_a_domain_are_those_that_leave_its_routers(level: int) -> None:
    """Mean and largest use by a plain loop over all links; above 1 counts as busy."""
    domains = Domains(DRAGONFLY, level)
    hierarchy = hierarchy_of(DRAGONFLY)
    row = hierarchy.domain[min(level, len(hierarchy.levels) - 1)]
    assert domains.n == len(set(row.tolist()))
    assert domains.nodes.tolist() == np.bincount(row).tolist()
    use = np.random.default_rng(1).uniform(0, 1.2, DRAGONFLY.n_links)
    table = np.zeros((domains.n, 3), dtype=np.float32)
    domains.add_link_use(table, use)
    of_router = {int(r): int(row[v]) for v, r in enumerate(DRAGONFLY.node_router)}
    mine: dict[int, list[float]] = {}
    for link in range(DRAGONFLY.first_router_link, DRAGONFLY.n_links):
        router = int(DRAGONFLY.link_src[link]) - DRAGONFLY.n_ports
        mine.setdefault(of_router[router], []).append(min(float(use[link]), 1.0))
    for domain, busy in mine.items():
        assert table[domain].tolist() == pytest.approx([0, np.mean(busy), max(busy)], rel=1e-6)
    assert len(mine) == domains.n


def test_links_of_spines_belong_to_no_domain() -> None:
    """Only the leaves' own links up are seen, all alike busy here; the spines' are not."""
    tree = make_topology("fattree", {"radix": 4, "levels": 2})
    domains = Domains(tree, 1)
    use = np.zeros(tree.n_links)
    leaves = set(tree.node_router.tolist())
    for link in range(tree.first_router_link, tree.n_links):
        use[link] = 0.25 if int(tree.link_src[link]) - tree.n_ports in leaves else 1.0
    table = np.zeros((domains.n, 3), dtype=np.float32)
    domains.add_link_use(table, use)
    assert table[:, 1:].tolist() == [[0.25, 0.25]] * domains.n


def test_a_run_without_placements_is_refused() -> None:
    workload = make_workload([0], [10], [1])
    run = QueueSetup(workload, Mask(N), rng=np.random.default_rng(0)).by_events()
    reward = REWARDS["turnaround"][0](run)
    view = View(Domains(DRAGONFLY, 1), workload, 2)
    episode = Episode(run, view, reward)
    assert episode.forward()
    episode.start(Choice(0))
    with pytest.raises(AssertionError, match="keeps placements"):
        episode.observation()


def test_observations_follow_every_start_and_end() -> None:
    """Free nodes of the domains sum to the machine's at each decision of a random history."""
    rng = np.random.default_rng(4)
    workload = make_workload(
        np.sort(rng.integers(0, 300, 40)).tolist(),
        rng.integers(1, 90, 40).tolist(),
        rng.integers(1, 25, 40).tolist(),
    )
    episode = episode_of(workload)
    free = []
    while episode.forward():
        assert episode.point is not None
        free.append(episode.point.n_free)
        assert episode.free_nodes().sum() == episode.point.n_free
        if rng.random() < 0.7:
            episode.start(Choice(episode.waiting[episode.fits.index(True)]))
            assert episode.free_nodes().sum() == episode.point.n_free
        if not episode.may_wait:
            episode.start(Choice(episode.waiting[0]))
    assert len({a - b for a, b in pairwise(free)}) > 5
