"""Bootstrap intervals and quadrants, by hand-worked cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.level_spread.quadrants import (
    QUADRANTS,
    dots_of,
    mean_reduction,
    quadrant,
    reductions,
    shares,
)
from netsim.errors import NetcosimError
from queuesim.statistics import (
    Interval,
    bootstrap_mean,
    bootstrap_ratio,
    interval,
    mean_of_snapshots,
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
    at = quadrant(DOTS["x"].to_numpy(), DOTS["y"].to_numpy())
    assert [QUADRANTS[i] for i in at] == [
        "reference better",
        "other better",
        "other better small",
        "other better large",
        "tie",
        "reference better",
    ]
    found = shares(DOTS, rng())
    assert found["reference better"].value == pytest.approx(100 / 3)
    assert sum(share.value for share in found.values()) == pytest.approx(100)
    # "other better" is one of three dots of workload 0 and none of workload 1.
    assert found["other better"].low == 0
    assert found["other better"].high == pytest.approx(100 / 3)


def test_reductions_by_hand() -> None:
    assert reductions(DOTS)[0] == pytest.approx([50, 50])
    assert reductions(DOTS)[1] == pytest.approx([-100, -100])
    assert reductions(DOTS)[3] == pytest.approx([75, -25])
    mean = (50 - 100 - 25 + 25 + 100 / 3 + 62.5) / 6
    assert mean_reduction(DOTS, rng()).value == pytest.approx(mean)


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


def test_one_sample_has_no_interval() -> None:
    """Drawn again and again it is always the same; a width of zero would look like certainty."""
    rng = np.random.default_rng(1)
    for found in (
        bootstrap_mean([3.0], rng),
        bootstrap_ratio([3.0], [1.0], rng),
        mean_of_snapshots([2.0, 4.0], [1.0, 1.0], [7, 7], rng),
    ):
        assert found.value == 3.0
        assert np.isnan([found.low, found.high]).all()
    assert mean_of_snapshots([2.0, 4.0], [1.0, 1.0], [7, 8], rng).low == 2.0
