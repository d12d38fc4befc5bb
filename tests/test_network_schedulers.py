"""Network schedulers: closed examples, laws, and schedules searched exhaustively."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from test_periodic_jobs import job

from cosim.network.periodic import JobGroup, NetworkPlan, iteration_times_s
from cosim.network_schedulers import cassini, crux
from cosim.registry import NETWORK_SCHEDULERS
from experiments.network_schedulers.optimum import compatibility, drawn_jobs
from netsim.traffic import PRIORITIES


@pytest.mark.parametrize("name", NETWORK_SCHEDULERS)
@pytest.mark.parametrize("case", range(5))
def test_a_plan_fits_its_group_and_depends_on_nothing_else(name, case):
    group = JobGroup.of(drawn_jobs(np.random.default_rng(case), 12, 6))
    plan, again = (
        NETWORK_SCHEDULERS[name]().plan(group, np.random.default_rng(3)) for _ in range(2)
    )
    n = len(group.jobs)
    assert plan.priority.shape == plan.start_s.shape == plan.pace_s.shape == (n,)
    assert plan.priority.min() >= 0
    assert plan.priority.max() < PRIORITIES
    for one, other in zip(vars(plan).values(), vars(again).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    # a period is rounded up to the grid of the shortest one
    gated = plan.pace_s > 0
    late = plan.pace_s[gated] / group.iteration_s[gated] - 1
    assert np.all((late > -1e-9) & (late < 1 / cassini.GRID))
    assert np.array_equal(gated, ~np.isnan(plan.start_s))


# Crux


def test_cruxs_example_needs_the_correction_factor():
    """Equal intensities, 10 GPUs each; the short iteration first gives 41.7 instead of 37.5 %."""
    group = JobGroup.of([job(2, 2, gpus=10, l0=1), job(1, 1, gpus=10, l0=1)])
    assert [crux.intensity(one) for one in group.jobs] == [10, 10]
    assert crux.corrected(group) == pytest.approx([10, 15])
    plan = crux.Crux().plan(group, np.random.default_rng(0))
    assert plan.priority[1] > plan.priority[0]
    found = iteration_times_s(group, plan, np.random.default_rng(0))
    assert round(100 * float(np.mean([2, 1] / found)), 1) == 41.7


@pytest.mark.parametrize(
    ("one", "reference", "factor"),
    [
        # iterations of 3 and 6 s if it is first, of 5 and 5 s if not: (1/3 - 1/5) 1 / (1/5 - 1/6) 3
        (job(2, 1, l0=1), job(2, 3, l0=1), 4 / 3),
        # its communication has slack beside its computing, and costs the other 1 s in 3
        (job(1, 1, 2, l0=1), job(1, 1, l0=1), 0),
        # 4 and 2 s either way: after the first one they do not meet
        (job(3, 1, l0=1), job(1, 1, l0=1), 1),
        # 1.3 and 3.9 s if it is first, two of it in 3.9 s if not: the other has slack
        (job(1, 0.3, l0=1), job(1, 2, 2.9, l0=1), np.inf),
    ],
)
@pytest.mark.parametrize("more", [(), (job(80, 8, l0=1),)])
def test_a_factor_is_what_a_job_gains_by_priority_over_what_the_reference_loses(
    one, reference, factor, more
):
    """Of the job with the largest share of communication, wherever it is and however long."""
    found = crux.corrected(JobGroup.of([one, reference, *more]))[:2]
    lead_s, comm_s = reference.lead_s, reference.comm_s
    assert found == pytest.approx([factor * one.lead_s / one.comm_s, lead_s / comm_s])


def test_the_job_of_higher_intensity_goes_first_where_iterations_are_alike():
    three = [job(1, 1, gpus=n, l0=1) for n in (8, 64, 16)]
    assert crux.Crux().path_order(three) == [1, 2, 0]
    group = JobGroup.of([job(1, 1, gpus=8, l0=1), job(1, 1, gpus=64, l0=1)])
    assert np.diff(crux.Crux().plan(group, np.random.default_rng(0)).priority) > 0


@pytest.mark.parametrize("seed", range(20))
def test_compression_keeps_the_order_of_jobs_in_conflict(seed):
    rng = np.random.default_rng(seed)
    n, levels = 12, int(rng.integers(2, 9))
    wanted = rng.random(n)
    cost = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    cost += cost.T
    level = crux.compressed(wanted, cost, levels, rng)
    assert level.min() >= 0
    assert level.max() < levels
    first, second = np.nonzero(cost * (wanted[:, None] > wanted[None, :]))
    assert np.all(level[first] <= level[second])
    # never worse than the order of priorities alone
    by_priority = np.argsort(-wanted)
    loss = cost[level[:, None] == level].sum() / 2
    assert loss <= crux._cut(cost[np.ix_(by_priority, by_priority)], levels)[0] + 1e-9


def test_jobs_in_conflict_lose_the_larger_of_their_intensities():
    """Three jobs, the last one on a link of its own."""
    group = JobGroup.of([job(1, 1, l0=1, l1=0.9), job(1, 1, l0=1), job(1, 1, l1=0.9)])
    weight = np.array([2.0, 5.0, 3.0])
    assert crux.conflicts(group, weight).tolist() == [[0, 5, 3], [5, 0, 0], [3, 0, 0]]


def test_of_nine_jobs_on_a_link_the_two_of_least_intensity_share_a_priority(monkeypatch):
    """Places by the corrected intensity, losses by the plain one: GPUs over 1 s each."""
    gpus = [7, 9, 8, 2, 1, 6, 5, 4, 3]
    group = JobGroup.of([job(1, 1, gpus=n, l0=1) for n in gpus])
    monkeypatch.setattr(crux, "corrected", lambda group: np.arange(9.0)[::-1])
    plan = crux.Crux().plan(group, np.random.default_rng(0))
    # neighbours lose 9, 9, 8, 2, 6, ...: jobs 3 and 4 go together
    assert plan.priority.tolist() == [7, 6, 5, 4, 4, 3, 2, 1, 0]


def test_two_pairs_of_jobs_need_two_levels_and_another_order():
    """Jobs 0 and 1, 2 and 3 are in conflict: by priority alone one of the pairs is cut nowhere."""
    cost = np.zeros((4, 4))
    cost[[0, 1, 2, 3], [1, 0, 3, 2]] = 1.0
    level = crux.compressed(np.array([4.0, 3, 2, 1]), cost, 2, np.random.default_rng(0))
    assert level.tolist() == [0, 1, 0, 1]
    # the first of equals is first
    assert crux.compressed(np.ones(2), 1 - np.eye(2), 2, np.random.default_rng(0)).tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize("seed", range(5))
def test_an_order_is_cut_at_the_least_loss(seed):
    """Of all ways to cut eight places into three levels."""
    rng = np.random.default_rng(seed)
    cost = np.triu(rng.random((8, 8)), 1)
    cost += cost.T

    def loss(level: np.ndarray) -> float:
        return float(cost[level[:, None] == level[None, :]].sum() / 2)

    cuts = itertools.combinations_with_replacement(range(9), 2)
    best = min(loss(np.searchsorted(cut, np.arange(8), side="right")) for cut in cuts)
    found, level = crux._cut(cost, 3)
    assert found == pytest.approx(best)
    assert loss(level) == pytest.approx(best)


# CASSINI


def test_the_score_is_one_less_the_mean_excess():
    """Two jobs that each send for 2/3 of the same time want a third of it too much."""
    group = JobGroup.of([job(0.5, 1, l0=1), job(0.5, 1, l0=1)])
    assert compatibility(group, np.random.default_rng(0)) == pytest.approx(2 / 3)
    halves = JobGroup.of([job(1, 1, l0=1), job(1, 1, l0=0.5)])
    assert compatibility(halves, np.random.default_rng(0)) == pytest.approx(1.0)


def test_iterations_of_different_lengths_go_around_their_common_multiple():
    """1 s in 3 s beside 1 s in 2 s: in 6 s they want two and three, and meet for one at least."""
    times_s = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    found = cassini.circle(times_s, np.ones(2), 2.0 / cassini.GRID)
    assert found is not None
    assert found.demand.shape[1] * found.step_s == pytest.approx(6.0)
    assert (found.demand.sum(axis=1) * found.step_s) == pytest.approx([2, 3])
    shift = cassini.best_shifts(found, np.zeros(2, dtype=np.int64), np.ones(2, dtype=bool))
    assert found.score(shift) == pytest.approx(5 / 6)
    assert cassini.circle(times_s * [[1], [1.01]], np.ones(2), 2.0 / 997) is None


def test_a_period_of_whole_units_is_not_rounded_up():
    """In floats 0.1 + 0.2 s are a little more than 24 units of 0.0125 s; 0.301 s are more."""
    times_s = np.array([[0.1, 0.2, 0.0], [0.1, 0.201, 0.0]])
    assert times_s[0, :2].sum() / 0.0125 > 24
    assert cassini.periods_in(times_s, 0.0125).tolist() == [24, 25]


def test_jobs_are_placed_around_a_circle_in_turn_and_moved_again():
    """Iterations of 1 s: A sends from 0 to 1/4, B from 3/8 to 5/8, C for a half from its begin.

    C fits nowhere: least of it, an eighth, meets B from 1/2 to 1. Then B has 1/4 to 1/2 to itself,
    if it begins at 1/4 - 3/8 + 1 = 7/8. If B is the first one, nothing is moved after C.
    """
    a, b, c = (0.0, 0.25, 1.0), (0.375, 0.25, 0.625), (0.0, 0.5, 1.0)
    for order, shifts, score in (([a, b, c], [0, 63, 36], 1), ([b, a, c], [0, 0, 36], 7 / 8)):
        found = cassini.circle(np.array(order), np.ones(3), 1 / cassini.GRID)
        assert found is not None
        shift = cassini.best_shifts(found, np.zeros(3, dtype=np.int64), np.ones(3, dtype=bool))
        assert shift.tolist() == shifts
        assert found.score(shift) == pytest.approx(score)


@pytest.mark.parametrize(
    ("units", "turns"),
    [([24, 32], 4), ([24, 24 * 24], 24), ([25, 24 * 24], None), ([24, 97], None)],
)
def test_a_circle_of_more_than_24_turns_of_the_shortest_iteration_is_none(units, turns):
    times_s = np.array([(n / 4, 3 * n / 4, 0) for n in units])
    found = cassini.circle(times_s, np.ones(2), 1.0)
    assert (found is None) == (turns is None)
    if found is not None:
        assert found.demand.shape[1] == turns * 24 * cassini.ANGLES // cassini.GRID


@pytest.mark.parametrize(("comm_s", "shifted"), [(0.04, False), (0.2, True)])
def test_a_shift_has_to_gain_more_than_rounded_periods_lose(comm_s, shifted):
    """1 s beside 1.96 s, which becomes 48 of 24ths: 2 s, 2.04 % later.

    The first one sends for half of the time. Of what the second one sends half meets that, in the
    mean: an excess of 0.5 x 0.04 / 2 = 1 %, or of 5 %, which shifts avoid.
    """
    group = JobGroup.of([job(0.5, 0.5, l0=1), job(1.96 - comm_s, comm_s, l0=1)])
    plan = cassini.Cassini().plan(group, np.random.default_rng(0))
    assert plan.pace_s.tolist() == pytest.approx([1, 2] if shifted else [0, 0])
    assert np.isnan(plan.start_s).tolist() == [not shifted] * 2


def test_slack_beside_computing_is_part_of_the_period():
    """0.2 s of computing, 0.5 s of communication beside 0.8 s: an iteration of 1 s."""
    assert cassini.periods_in(np.array([[0.2, 0.5, 0.8], [0.2, 0.9, 0.8]]), 0.1).tolist() == [
        10,
        11,
    ]


@pytest.mark.parametrize(
    ("jobs", "order", "parts"),
    [
        # jobs 0 and 1 share two links, of which they want 1.7 and 1.6, jobs 1 and 2 one: 1.8
        (
            (job(1, 1, l0=1, l1=0.6), job(1, 1, l0=0.7, l1=1, l2=0.9), job(1, 1, l2=0.9)),
            [[1, 2], [0, 1]],
            [[0.9, 0.9], [1.0, 0.7]],
        ),
        # 1.9 and 1.6, and 1.4
        (
            (job(1, 1, l0=0.9, l1=1), job(1, 1, l0=1, l1=0.6, l2=0.7), job(1, 1, l2=0.7)),
            [[0, 1], [1, 2]],
            [[0.9, 1.0], [0.7, 0.7]],
        ),
    ],
)
def test_links_are_visited_from_the_worst_on_each_set_of_jobs_once(jobs, order, parts):
    group = JobGroup.of(jobs)
    found = cassini.Cassini()._links(group, 2 / cassini.GRID, np.random.default_rng(0), 0.0)
    assert [users.tolist() for users, _ in found] == order
    assert [one.demand.max(axis=1).round(9).tolist() for _, one in found] == parts


@pytest.mark.parametrize("half_s", [1, 3])
def test_a_chain_of_links_shifts_each_job_once_and_all_of_them_fit(half_s):
    """Jobs 0 and 1 share a link, 1 and 2 another one, 2 and 3 a third; each sends half the time."""
    links = ({"l0": 1}, {"l0": 1, "l1": 1}, {"l1": 1, "l2": 1}, {"l2": 1})
    chain = [job(half_s, half_s, **used) for used in links]
    group = JobGroup.of(chain)
    plan = cassini.Cassini().plan(group, np.random.default_rng(0))
    times_s = iteration_times_s(group, plan, np.random.default_rng(1))
    assert times_s == pytest.approx([2 * half_s] * 4)
    random = iteration_times_s(group, NetworkPlan.without(4), np.random.default_rng(1))
    assert random.mean() > 2.2 * half_s


def test_the_walk_goes_on_where_it_has_been_before_it_begins_anew():
    """Jobs 0 and 1, then 2 and 3 share the worst links; 1 and 3 share one that is less loaded.

    From the first link the walk has to come to that one: begun anew, jobs 1 and 3 would both be
    the second ones of their links and begin together.
    """
    chain = [
        job(1, 1, l0=1),
        job(1, 1, l0=1, l1=0.9),
        job(1, 1, l2=0.95),
        job(1, 1, l2=0.95, l1=0.9),
    ]
    group = JobGroup.of(chain)
    plan = cassini.Cassini().plan(group, np.random.default_rng(0))
    assert iteration_times_s(group, plan, np.random.default_rng(1)) == pytest.approx([2] * 4)


def test_the_walk_goes_on_after_a_link_of_jobs_that_are_fixed():
    """Each two of jobs 0, 1 and 2 share a link, so that the third link has nothing left to shift.

    Jobs 3 and 4 share the least loaded one, the last, and send a third of their 3 s each.
    """
    three = [job(2, 1, l0=1, l2=1), job(2, 1, l0=1, l1=1), job(2, 1, l1=1, l2=1)]
    group = JobGroup.of([*three, job(2, 1, l3=0.9), job(2, 1, l3=0.9)])
    plan = cassini.Cassini().plan(group, np.random.default_rng(0))
    assert plan.pace_s.tolist() == [3] * 5
    found = iteration_times_s(group, plan, np.random.default_rng(1))
    assert found[3:] == pytest.approx([3, 3])


def test_jobs_that_nothing_can_align_are_left_alone():
    """Iterations of 1 s and 1.37 s meet in any phase."""
    group = JobGroup.of([job(0.5, 0.5, l0=1), job(0.685, 0.685, l0=1)])
    plan = cassini.Cassini().plan(group, np.random.default_rng(0))
    assert np.isnan(plan.start_s).all()
    assert not plan.pace_s.any()
