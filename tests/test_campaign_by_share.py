"""The measure "stretch" by share: two jobs on one cable, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from two_jobs import FIRST, SECOND, exchange, sides_of

from alloc.registry import make_policy
from cosim.measuring.campaign import Stretch
from cosim.measuring.snapshots import Measurements, Study
from cosim.measuring.stretching import IsolatedBaselines, stretches
from cosim.measuring.tasks import SerialExecutor
from cosim.network.communication import ALWAYS, BY_SHARE
from cosim.network.ensemble import SharedNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.run_times.measured_times import Measured
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree

LINK_BPS = 5 * 10**9
SEND_S = 256 * 1024 / LINK_BPS
NEAR = 0.03
"""Heads on the wires, and packets that take turns: so much beside the closed form."""
SWAP = exchange(256 * 1024)
TREE = fat_tree(4, bandwidth_Bps=LINK_BPS, taper=0.5)
SHARED = {0: 10.0, 2: 10.0, 1: 30.0, 3: 30.0}
"""When single nodes come free: the first job gets 0 and 2, the second 1 and 3. Their two leaves
have one cable each."""
APART = {0: 10.0, 2: 10.0, 4: 30.0, 6: 30.0}
"""The second gets nodes of two other leaves."""


def study(tmp_path, fractions, *, together=BY_SHARE, seed=1, free=SHARED, policies=("baseline",)):
    """One snapshot of two jobs of two nodes that exchange, on a tree of 16 nodes (leaves of 2)."""
    network = SharedNetwork(make_routing(TREE, "d-mod-k"), task_mapping="in-order", seed=seed)
    sides = sides_of(tmp_path, network, free, policies=policies)
    jobs = sides[policies[0]].schedule.workload
    fraction = np.zeros(len(jobs))
    fraction[np.searchsorted(jobs.job_id, [FIRST, SECOND])] = fractions
    share = np.zeros(len(jobs), dtype=np.int64)
    return Study(sides, policies[0], [SWAP], share, fraction, 1, together=together)


def of_all(found: Study) -> dict[str, Measurements]:
    side = found.sides[found.reference]
    baselines = IsolatedBaselines(side.network, found.communications, found.by_share)
    return stretches(found, baselines, SerialExecutor())


def measured(found: Study) -> Measurements:
    return of_all(found)[found.reference]


@pytest.mark.parametrize("fractions", [(0.3, 0.3), (0.5, 0.5), (0.2, 0.5)])
def test_two_jobs_on_one_cable_are_slowed_by_the_product_of_their_fractions(tmp_path, fractions):
    """The arrival theorem: communication takes 1 + f' as long, where f' is the other's fraction in
    isolation, so a run takes 1 - f + f (1 + f') = 1 + f f' as long; all at once, 2."""
    runs = [measured(study(tmp_path, fractions, seed=seed)) for seed in range(30)]
    slowdown = np.mean([run.stretch for run in runs], axis=0)
    np.testing.assert_allclose(slowdown, 1 + fractions[0] * fractions[1], rtol=NEAR)
    stretch = np.mean([run.communicating.stretch for run in runs], axis=0)
    np.testing.assert_allclose(stretch, 1 + np.array(fractions[::-1]), rtol=0.06)
    always = measured(study(tmp_path, fractions, together=ALWAYS))
    np.testing.assert_allclose(always.stretch, 2, rtol=NEAR)
    assert always.communicating is always


def test_computing_is_that_of_the_yardstick_and_one_share_of_the_period(tmp_path):
    """An isolated period is t / f: t (1 / f - 1) of computing and t of communication."""
    found = measured(study(tmp_path, (0.2, 0.5), free=APART))
    np.testing.assert_allclose(found.baseline_s, SEND_S / np.array([0.2, 0.5]), rtol=0.01)
    np.testing.assert_allclose(found.compute_s, SEND_S * np.array([4.0, 1.0]), rtol=0.01)
    np.testing.assert_allclose(found.stretch, 1, rtol=0.005)


def test_jobs_compute_as_long_under_all_policies(tmp_path):
    """As their isolated times on the reference's nodes say, wherever another policy puts them."""
    found = study(tmp_path, (0.2, 0.5), policies=("baseline", "slurm-tree"))
    mine, other = (found.sides[name].placed(8, SWAP).nodes for name in found.sides)
    assert not np.array_equal(mine, other)
    baseline, tree = of_all(found).values()
    np.testing.assert_array_equal(tree.compute_s, baseline.compute_s)
    np.testing.assert_array_equal(tree.baseline_s, baseline.baseline_s)
    alone = measured(study(tmp_path, (0.2, 0.5)))
    np.testing.assert_array_equal(tree.compute_s, alone.compute_s)


def test_a_job_without_communication_is_on_no_link(tmp_path):
    found = measured(study(tmp_path, (0.4, 0.0)))
    assert found.job.tolist() == [8]
    np.testing.assert_allclose(found.stretch, 1, rtol=0.005)


def test_few_jobs_are_averaged_over_random_starts(tmp_path):
    """Two jobs of equal period keep their phases, so one start gives anything from 1 to 1.5."""
    spread = [measured(study(tmp_path, (0.5, 0.5), seed=s)).stretch[0] for s in range(12)]
    # uniform phases: variance f (2 f^2 / 3 - f^3), a quarter of it for the mean of four
    expected = np.sqrt((2 * 0.5**3 / 3 - 0.5**4) / 4)
    assert np.std(spread, ddof=1) == pytest.approx(expected, rel=0.6)


def test_the_run_time_model_does_not_count_the_fraction_again(tmp_path):
    """A table of whole runs scales a run time by its ratio; one of communication, a part of it."""
    for together, counted in ((BY_SHARE, 1.0), (ALWAYS, 0.4)):
        found = study(tmp_path, (0.4, 0.4), together=together, policies=("baseline", "slurm-tree"))
        table = Stretch().measure(found, lambda: np.random.default_rng(1), SerialExecutor()).table
        assert table.of_run_times == (together == BY_SHARE)
        table = replace(table, rows=tuple(replace(r, ratio=0.8) for r in table.rows))
        table = replace(table, rows=tuple(replace(r, ratio_low=None) for r in table.rows))
        table = replace(table, rows=tuple(replace(r, ratio_high=None) for r in table.rows))
        mix = CommunicationMix([PatternShare("bisection-pairing", 1.0, 0.4, 0.4)])
        jobs = found.sides["baseline"].schedule.workload
        policy = make_policy(TREE, "slurm-tree", np.random.default_rng(0))
        times = Measured(table, mix).prepare(jobs, policy, np.random.default_rng(0))
        work_s = [times.work_s(job) for job in range(len(jobs))]
        factor = np.where(jobs.n_nodes > 1, 1 - counted * 0.2, 1.0)
        np.testing.assert_allclose(work_s, factor * jobs.run_time_s)
