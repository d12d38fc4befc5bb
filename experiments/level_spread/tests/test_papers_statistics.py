"""Bootstrap intervals and quadrants, by hand-worked cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.kit.bootstrap import bootstrap_mean, bootstrap_ratio
from experiments.kit.claims import Claim, claims_frame
from experiments.kit.dragonfly_workloads.measures import QUADRANTS, dots_of, quadrant, reductions
from experiments.level_spread.random_workloads import means
from netsim.errors import NetcosimError
from queuesim.statistics import (
    Interval,
    drawn_means,
    interval,
    mean_of_snapshots,
    resamples,
    t_interval,
    t_of_snapshots,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_bootstrap_of_a_normal_sample_is_the_normal_interval() -> None:
    x = rng().normal(10, 2, 400)
    found = bootstrap_mean(x, rng(), 4000)
    half = 1.96 * x.std() / np.sqrt(len(x))
    assert found.value == pytest.approx(x.mean())
    assert found.high - found.value == pytest.approx(half, rel=0.1)
    assert found.value - found.low == pytest.approx(half, rel=0.1)


def test_an_interval_has_its_level_between_its_ends() -> None:
    """Of 0, 1, ..., 1000 the middle 95 % lie from 25 to 975, the middle 90 % from 50 to 950."""
    drawn = rng().permutation(1001).astype(float)
    assert interval(7, drawn, 9) == pytest.approx((7, 25, 975))
    assert interval(7, drawn, 9, 0.90) == pytest.approx((7, 50, 950))


@pytest.mark.parametrize(("n", "ones"), [(400, 200), (300, 60)])
def test_bootstrap_of_a_coin_is_the_binomial(n: int, ones: int) -> None:
    """The mean of n draws out of n samples of which k are 1 is binomial(n, k / n) / n: its
    2.5 % and 97.5 % quantiles, to one count (those of 90 % lie 2 to 4 counts further in)."""
    x = np.repeat([1.0, 0.0], [ones, n - ones])
    low, high = stats.binom.ppf([0.025, 0.975], n, ones / n) / n
    found = [bootstrap_mean(x, rng(), 20_000), bootstrap_ratio(x, np.ones(n), rng(), 20_000)]
    for one in found:
        assert isinstance(one, Interval)
        assert one.value == pytest.approx(ones / n)
        assert one.low == pytest.approx(low, abs=1.01 / n)
        assert one.high == pytest.approx(high, abs=1.01 / n)


def test_bootstrap_ratio_draws_pairs() -> None:
    y = rng().exponential(1, 30)
    # Where every pair has the ratio 3, no resample can have another.
    assert bootstrap_ratio(3 * y, y, rng()) == pytest.approx((3, 3, 3))
    assert bootstrap_ratio([1, 1], [1, 3], rng()).value == 0.5


def test_resamples_and_their_means_by_hand() -> None:
    """All of three samples; snapshots of weights 3 and 1, with means 2 and 10."""
    rng = np.random.default_rng(1)
    assert set(np.unique(resamples(3, rng))) == {0, 1, 2}
    means = drawn_means([2.0, 10.0], [3.0, 1.0], [0, 1], rng).drawn
    assert set(np.unique(means)) == {2.0, (3 * 2 + 10) / 4, 10.0}
    # t of 4 degrees, 2.776, times the root of 2.5 / 5
    half = 2.776445 * np.sqrt(2.5 / 5)
    assert t_interval([1, 2, 3, 4, 5]) == pytest.approx((3, 3 - half, 3 + half))


def test_bootstrap_mistakes() -> None:
    with pytest.raises(NetcosimError, match="pairs"):
        bootstrap_ratio([1, 2], [1], rng())
    with pytest.raises(NetcosimError, match="no samples"):
        bootstrap_mean([], rng())


DOTS = pd.DataFrame(
    {
        "workload": [0, 0, 0, 1, 1, 1],
        "x": [2.0, 0.5, 0.5, 4.0, 1.0, 2.0],
        "y": [2.0, 0.5, 2.0, 0.8, 3.0, 4.0],
    }
)


def test_quadrants_by_hand() -> None:
    at = quadrant(DOTS)
    assert [QUADRANTS[i] for i in at] == [
        "reference better",
        "other better",
        "other better small",
        "other better large",
        "tie",
        "reference better",
    ]
    found = means(DOTS)
    assert found["reference better (%)"].value == pytest.approx(100 / 3)
    assert sum(found[f"{name} (%)"].value for name in QUADRANTS) == pytest.approx(100)
    # "other better" is one of three dots of workload 0 and none of workload 1.
    assert found["other better (%)"].value == pytest.approx(100 / 6)
    assert np.isnan(found["other better (%)"].low), "two workloads are too few for an interval"


def test_reductions_by_hand() -> None:
    assert reductions(DOTS)[0] == pytest.approx([50, 50])
    assert reductions(DOTS)[1] == pytest.approx([-100, -100])
    assert reductions(DOTS)[3] == pytest.approx([75, -25])
    mean = (50 - 100 - 25 + 25 + 100 / 3 + 62.5) / 6
    assert means(DOTS)["mean reduction (%)"].value == pytest.approx(mean)


def test_dots_from_times() -> None:
    times = pd.DataFrame(
        [
            {"routing": "minimal", "workload": w, "policy": p, "kind": k, "t": t}
            for w, p, k, t in (
                (3, "a", "small", 1.0),
                (3, "a", "large", 10.0),
                (3, "b", "small", 2.0),
                (3, "b", "large", 5.0),
                (1, "b", "small", 6.0),
                (1, "b", "large", 4.0),
                (1, "a", "small", 3.0),
                (1, "a", "large", 8.0),
            )
        ]
    )
    dots = dots_of(times, "t", "a").set_index("workload")
    assert dots.loc[3, ["policy", "x", "y"]].tolist() == ["b", 2.0, 0.5]
    assert dots.loc[1, ["policy", "x", "y"]].tolist() == ["b", 2.0, 0.5]
    assert len(dots) == 2


def test_claims_show_ratio_and_verdict() -> None:
    frame = claims_frame(
        [
            Claim("a", "Fig. 1", True, "near", "", 4.0, 5.0),
            Claim("b", "Fig. 1", False, "near", "", 0.0, 5.0),
        ]
    )
    assert frame["ratio"].iloc[0] == 1.25
    assert pd.isna(frame["ratio"].iloc[1])
    assert frame["verdict"].tolist() == ["holds", "differs"]


@pytest.mark.parametrize("n", [1, 2, 4, 5, 6])
def test_fewer_than_five_samples_have_no_interval(n: int) -> None:
    """Each function of the package that makes an interval keeps to the same least number."""
    rng = np.random.default_rng(1)
    x, one = np.arange(1.0, n + 1), np.ones(n)
    where = np.arange(n)
    for found in (
        bootstrap_mean(x, rng),
        bootstrap_ratio(x, one, rng),
        mean_of_snapshots(x, one, where, rng),
        t_of_snapshots(x, one, where),
        t_interval(x),
    ):
        assert found.value == pytest.approx(x.mean())
        ends = [found.low, found.high]
        if n < 5:
            assert np.isnan(ends).all()
        else:
            assert ends[0] < found.value < ends[1]


def test_few_jobs_seen_often_have_no_interval() -> None:
    """Two jobs at 20 instants: drawn again they look certain, but two jobs are no sample."""
    value, snapshot = np.tile([0.9, 0.91], 20), np.repeat(np.arange(20), 2)
    rng = np.random.default_rng(1)
    for n_jobs, known in ((2, False), (4, False), (5, True)):
        job = np.arange(40) % n_jobs
        for found in (
            mean_of_snapshots(value, 1, snapshot, rng, job=job),
            t_of_snapshots(value, 1, snapshot, job=job),
        ):
            assert np.isfinite([found.low, found.high]).all() == known


def test_no_interval_reaches_beyond_what_is_possible() -> None:
    """Waits of 1 to 360 s: Student's interval begins below 0, where no mean wait can be."""
    waits = [1.0, 2.0, 3.0, 4.0, 360.0]
    plain = t_interval(waits)
    cut = plain.within(least=0.0)
    assert plain.low < 0
    assert cut == (plain.value, 0.0, plain.high)
    off = t_of_snapshots([99.0, 99.5, 10.0, 99.0, 98.0, 99.9], 1, np.arange(6), most=100.0)
    assert off.high == 100.0
    unknown = t_interval(waits[:4]).within(least=0.0)
    assert np.isnan([unknown.low, unknown.high]).all()
