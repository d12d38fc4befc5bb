"""The steady measure by hand: two jobs that never stop, against closed forms.

A job alone sends for c and computes for p. Two of them on one link share it packet by packet, so
who begins while the other sends is late by what is left of that: begun d apart, both take c - d
longer an iteration, and stay d apart; begun further apart than c they never meet.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import stdtrit
from two_jobs import FIRST, SECOND, exchange, sides_of

from cosim.measuring.snapshots import Study
from cosim.measuring.steady import (
    Steadying,
    SteadyRules,
    SteadySnapshot,
    times_longer,
)
from cosim.measuring.steady_measure import Steady, _seen
from cosim.measuring.tasks import SerialExecutor
from cosim.network.communication import rounded_s
from cosim.network.ensemble import SharedNetwork
from cosim.network.loops import LEAST_COUNTED, LoopTimes, means_s
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netsim.packet.model import PS_PER_S
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from netsim.topologies.registry import make_topology
from queuesim.statistics import batch_half_width, t_of_snapshots, t_quantile

LINK_BPS = 10**9
NODE_BYTES = 100_000
SWAP = exchange(NODE_BYTES)
NEAR = 0.03
"""Packets that take turns, and heads on the wires: so much beside the closed form."""

RING = {0: 10.0, 2: 10.0, 1: 30.0, 3: 30.0}
"""When single nodes come free on a ring of four routers of two nodes: the jobs get nodes 0, 2 and
1, 3, and both cross the cable from router 0 to router 1, both ways."""
APART = {0: 10.0, 1: 10.0, 2: 30.0, 3: 30.0}
"""Each job on the two nodes of one router: no cable is shared."""


def study(
    tmp_path: Path,
    *,
    fraction: float = 1.0,
    seed: int = 1,
    free: dict[int, float] = RING,
    tree: bool = False,
    policies: tuple[str, ...] = (),
    second_nodes: int = 2,
) -> Study:
    """A snapshot of two jobs that exchange, the first of two nodes."""
    machine = (
        fat_tree(4, bandwidth_Bps=LINK_BPS)
        if tree
        else make_topology(
            "torus",
            {
                "dims": [4],
                "concentration": 2,
                "link_bandwidth_Bps": LINK_BPS,
                "node_bandwidth_Bps": LINK_BPS,
            },
        )
    )
    network = SharedNetwork(make_routing(machine), task_mapping="in-order", seed=seed)
    sides = sides_of(tmp_path, network, free, (2, second_nodes), ("baseline", *policies))
    n = len(sides["baseline"].schedule.workload)
    return Study(sides, "baseline", [SWAP], np.zeros(n, int), np.full(n, fraction), 1)


def seen(found: Study, rules: SteadyRules) -> SteadySnapshot:
    watched = Steadying(found, rules)
    [number] = found.numbers
    running = found.running(found.reference, number)
    return watched.snapshot(number, watched.running(running))


def longer(found: SteadySnapshot) -> np.ndarray:
    """How much longer an iteration is than alone, in units of its communication alone."""
    return (found.mean_s["baseline"] - found.alone_s["baseline"]) / found.once_s


def apart_s(found: SteadySnapshot, seed: int) -> float:
    """How much later the second job begins than the first."""
    u = [np.random.default_rng([seed, job, 1]).random() for job in (FIRST, SECOND)]
    starts = rounded_s(np.array(u) * (found.once_s + found.compute_s))
    return float(starts[1] - starts[0])


def test_two_jobs_that_send_all_the_time_take_twice_as_long(tmp_path: Path) -> None:
    found = seen(study(tmp_path), SteadyRules(noise=0.0))
    assert found.compute_s.tolist() == [0, 0]
    np.testing.assert_allclose(longer(found), 1, rtol=NEAR)


def test_in_step_two_jobs_meet_in_every_iteration(tmp_path: Path) -> None:
    """Locked, each sends while the other does: an iteration is 2 c + p, at any share."""
    for fraction in (0.2, 0.5, 0.8):
        found = seen(study(tmp_path, fraction=fraction), SteadyRules(noise=0.0, phases="locked"))
        np.testing.assert_allclose(longer(found), 1, rtol=NEAR)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_two_periodic_jobs_stay_as_far_apart_as_they_began(tmp_path: Path, fraction: float) -> None:
    met = 0
    for seed in range(12):
        found = seen(study(tmp_path, fraction=fraction, seed=seed), SteadyRules(noise=0.0))
        once_s, compute_s = float(found.once_s[0]), float(found.compute_s[0])
        late_s = abs(apart_s(found, seed))
        # begun d after the other, or before its next iteration; both are 2 c - d + p long then
        before_s = once_s + compute_s - late_s
        overlap_s = max(once_s - late_s, once_s - before_s, 0.0)
        np.testing.assert_allclose(longer(found), overlap_s / once_s, atol=NEAR)
        met += overlap_s > 0
    assert met >= 2


def test_jobs_that_drift_meet_as_often_as_chance_has_it(tmp_path: Path) -> None:
    """Noise makes all distances d alike likely: c - d for d < c, on either side, over the period
    c + p. So an iteration is longer by about c f, and the run time by f squared."""
    rules = SteadyRules(noise=0.5, least_iterations=256, most_iterations=1024, precision=1e-4)
    fraction = 0.3
    extra = [
        float(longer(seen(study(tmp_path, fraction=fraction, seed=seed), rules)).mean())
        for seed in range(3)
    ]
    assert np.mean(extra) == pytest.approx(fraction, rel=0.1)


def test_alone_there_is_no_bias(tmp_path: Path) -> None:
    """On cables of their own, with chance in starts and computing: as alone, to the picosecond."""
    for noise in (0.0, 0.3):
        found = seen(study(tmp_path, fraction=0.3, free=APART), SteadyRules(noise=noise))
        assert found.mean_s["baseline"].tolist() == found.alone_s["baseline"].tolist()


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.9])
def test_the_share_of_time_alone_is_what_was_asked_for(tmp_path: Path, fraction: float) -> None:
    found = seen(study(tmp_path, fraction=fraction), SteadyRules(noise=0.0, phases="locked"))
    alone = found.alone_s["baseline"]
    assert 1 - found.compute_s / alone == pytest.approx([fraction, fraction], rel=0.01)


@pytest.mark.parametrize("fraction", [0.1, 0.3])
def test_the_share_among_the_others_is_what_was_asked_for(tmp_path: Path, fraction: float) -> None:
    """In step, communication takes 2 c: computing has to be twice as long as by the share alone."""
    rules = SteadyRules(noise=0.0, phases="locked")
    found = seen(study(tmp_path, fraction=fraction), replace(rules, share="contended"))
    by_alone = seen(study(tmp_path, fraction=fraction), rules)
    there = found.mean_s["baseline"]
    assert 1 - found.compute_s / there == pytest.approx([fraction, fraction], rel=0.05)
    np.testing.assert_allclose(found.compute_s, 2 * by_alone.compute_s, rtol=0.05)


def test_the_drive_rate_is_a_share_of_the_link(tmp_path: Path) -> None:
    """Bytes over bandwidth, of the period alone."""
    found = seen(
        study(tmp_path, fraction=0.25), SteadyRules(noise=0.0, share="drive", phases="locked")
    )
    assert found.link_s.tolist() == [NODE_BYTES / LINK_BPS] * 2
    alone = found.alone_s["baseline"]
    assert found.link_s / alone == pytest.approx([0.25, 0.25], rel=0.01)


def test_isolated_jobs_run_as_alone(tmp_path: Path) -> None:
    """On a tree one way of the exchange shares a link; Jigsaw takes that off."""
    free = {0: 10.0, 4: 10.0, 1: 30.0, 6: 30.0}
    whole_study = study(tmp_path, free=free, tree=True, policies=("jigsaw",))
    found = Steady(phases="locked").measure(
        whole_study, lambda: np.random.default_rng(1), SerialExecutor()
    )
    rows = found.tables["pairs"]
    assert len(rows) == 2
    for row in rows:
        assert row["policy_s"] == row["policy_alone_s"]
        assert row["stretch"] > 1.5
        assert row["interference_ratio"] == pytest.approx(1 / row["stretch"])  # type: ignore[operator]
    [told] = found.tables["steady"]
    assert told["taken_off_percent_low"] is None  # one snapshot
    [shares] = found.tables["steady_shares"]
    assert shares["share_alone"] == pytest.approx(1)


def test_longer_until_means_hold_still(tmp_path: Path) -> None:
    """A wanted precision is reached by more iterations, and no more than allowed."""
    rules = SteadyRules(noise=0.5, least_iterations=32, most_iterations=2048)
    counts, halves = [], []
    for precision in (0.5, 0.02):
        watched = seen(study(tmp_path, fraction=0.4), replace(rules, precision=precision))
        counts.append(int(watched.iterations.min()))
        halves.append(float(watched.half_width.mean()))
    assert counts[1] > counts[0]
    assert halves[1] <= 0.02 < halves[0]
    capped = seen(study(tmp_path, fraction=0.4), replace(rules, precision=1e-6, most_iterations=64))
    assert capped.iterations.max() <= 64


class KnownHalfWidths(Steadying):
    """The first job's mean is known to 4 %, the second's to 1 %, however long they run."""

    def half_widths(self, run: LoopTimes) -> np.ndarray:
        return np.array([0.04, 0.01])


def test_precision_is_that_of_the_mean_by_nodes(tmp_path: Path) -> None:
    """2 nodes at 4 % and 6 at 1 %: 1.75 %, where the mean of both jobs is 2.5 %."""
    free = {0: 10.0, 2: 10.0} | dict.fromkeys((1, 3, 4, 5, 6, 7), 30.0)
    found = study(tmp_path, fraction=0.4, free=free, second_nodes=6)
    [number] = found.numbers
    running = found.running(found.reference, number)
    counts = {}
    for precision in (1.0, 0.018, 0.017):
        rules = SteadyRules(noise=0.0, phases="locked", precision=precision, most_iterations=64)
        watched = KnownHalfWidths(found, rules)
        snapshot = watched.snapshot(number, watched.running(running))
        counts[precision] = int(snapshot.iterations.min())
    assert counts[1.0] == counts[0.018] < counts[0.017]
    table = _seen(found, [replace(snapshot, half_width=np.array([0.04, 0.01]))])
    assert table["half_width_percent"] == pytest.approx(1.75)
    half_known = _seen(found, [replace(snapshot, half_width=np.array([np.nan, 0.01]))])
    assert half_known["half_width_percent"] == pytest.approx(1.0)
    assert half_known["half_width_not_known"] == 1


def test_the_duty_of_a_pair_is_the_share_of_its_isolated_time(tmp_path: Path) -> None:
    """However much longer an iteration is among the others, and though it is on other nodes."""
    free = {0: 10.0, 4: 10.0, 1: 30.0, 6: 30.0}
    shared = study(tmp_path, fraction=0.3, free=free, tree=True, policies=("jigsaw",))
    watched = Steadying(shared, SteadyRules(noise=0.0, phases="locked"))
    [number] = shared.numbers
    running = shared.running(shared.reference, number)
    pairs = watched.pairs(watched.snapshot(number, watched.running(running)))
    assert len(pairs) == 2
    for pair in pairs:
        assert pair.reference_s > 1.1 * pair.reference_alone_s
        assert pair.duty == pytest.approx(0.3, rel=0.01)


def test_means_leave_the_first_iterations_out() -> None:
    ends = [np.array([5, 6, 7, 8, 18]), np.array([10, 14, 30, 40, 50])]
    # of four the first is left out; of five one, too
    assert means_s(ends, np.array([4, 5]), 0.25).tolist() == [1e-12, 1e-11]


def test_batch_means_have_student_s_half_width() -> None:
    """Sixteen samples, two a batch: the means' deviation over the root of eight, by t of seven."""
    x = np.random.default_rng(1).normal(5, 2, 16)
    means = x.reshape(8, 2).mean(axis=1)
    assert batch_half_width(x) == pytest.approx(2.364624 * means.std(ddof=1) / 8**0.5, rel=1e-6)
    assert np.isnan(batch_half_width(x[:15]))


def test_student_s_interval_covers_what_it_says() -> None:
    """Of six snapshots of independent jobs, in 95 of 100 draws."""
    rng, inside = np.random.default_rng(3), 0
    for _ in range(400):
        x = rng.normal(1.0, 1.0, 6)
        found = t_of_snapshots(x, 1.0, np.arange(6))
        inside += found.low <= 1 <= found.high
    # snapshots that look alike by chance widen it
    assert 0.93 <= inside / 400 <= 0.99


def test_snapshots_that_are_alike_count_for_less() -> None:
    """Pairs of equal snapshots: the interval is wider than that of as many independent ones."""
    rng = np.random.default_rng(5)
    x = np.repeat(rng.normal(size=8), 2)
    alike = t_of_snapshots(x, 1.0, np.arange(16))
    mixed = t_of_snapshots(rng.permutation(x), 1.0, np.arange(16))
    assert alike.value == pytest.approx(mixed.value)
    assert alike.high - alike.low > 1.3 * (mixed.high - mixed.low)
    assert np.isnan(t_of_snapshots(x[:4], 1.0, np.arange(4)).low)


def test_weights_count_in_student_s_interval() -> None:
    """Equal snapshots of unequal weight: the weighted mean, and no scatter left."""
    values, weights = np.array([1.0, 3] * 5), np.array([3.0, 1] * 5)
    found = t_of_snapshots(values, weights, np.repeat(np.arange(5), 2))
    assert found == pytest.approx((1.5, 1.5, 1.5))
    assert t_quantile(0.95, 3) == pytest.approx(3.182446, rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 4, 5.5, 9, 37.25, 199, 10_000])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
def test_quantiles_of_student_s_t_are_those_of_scipy(level: float, freedom: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(stdtrit(freedom, (1 + level) / 2), rel=1e-9)


def test_a_config_asks_for_it() -> None:
    content = {
        "machine": {"family": "fattree", "radix": 4},
        "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 4}},
        "queue": {"policies": ["baseline", "jigsaw"], "run_time_model": "measured"},
        "communication": {"mix": [{"pattern": "all-to-all", "message_bytes": "4 KB"}]},
        "run": {"snapshots": 4, "measure": "steady", "steady": {"least_iterations": 8}},
    }
    result = run_cosim(config_from(content))
    assert result.measurement is not None
    [row] = result.measurement.tables["steady"]
    assert row["interference_ratio"] <= 1  # type: ignore[operator]
    assert row["taken_off_percent"] >= 0  # type: ignore[operator]
    found = result.measured["jigsaw"]
    assert found.alone_s is not None
    assert np.array_equal(found.time_s, found.alone_s)


@pytest.mark.parametrize(
    ("half", "precision", "most", "times"),
    [
        (0.03, 0.02, 16, 2),  # 2.25 times as long, to the power of two below
        (0.05, 0.02, 16, 4),
        (0.08, 0.02, 16, 16),
        (0.08, 0.02, 8, 8),
        (0.021, 0.02, 16, 2),
        (np.nan, 0.02, 16, 2),
        (9.0, 0.02, 3.9, 2),
    ],
)
def test_half_widths_fall_with_the_root_of_the_time(
    half: float, precision: float, most: float, times: int
) -> None:
    assert times_longer(half, precision, most) == times


def test_a_job_that_is_slow_alone_is_watched_until_it_has_iterations(tmp_path: Path) -> None:
    """On a policy's nodes a job may take many times as long alone as on the reference's."""
    watched = Steadying(study(tmp_path), SteadyRules(noise=0.0))
    jobs = watched.placed("baseline", [8], np.zeros(1))
    [ends] = watched._alone("baseline", jobs, 1e-9, 0)
    assert len(ends) >= LEAST_COUNTED
    [longer] = watched._alone("baseline", jobs, 100 * float(ends[-1]) / PS_PER_S, 0)
    assert np.array_equal(longer[: len(ends)], ends)
