"""Communication fractions from distributions: moments and correlations in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cosim.network.mix import CommunicationMix, PatternShare
from netcosim.config.errors import ConfigError
from netcosim.config.load import config_from
from netcosim.runs.draws import Draws
from netsim.errors import NetcosimError
from workloads.job import Workload, bare_jobs
from workloads.shares.distributions import (
    BetaFractions,
    Fractions,
    QuantileFractions,
    UniformFractions,
    make_fractions,
)
from workloads.shares.law import FractionLaw, untied, with_rank_correlation

N = 20_000
TABLE = QuantileFractions(((0.0, 0.05), (0.25, 0.1), (0.5, 0.3), (0.9, 0.6), (1.0, 0.95)))
EVERY: list[Fractions] = [
    UniformFractions(0.3, 0.1),
    UniformFractions(0.5, float(1 / np.sqrt(12))),
    BetaFractions(0.3, 0.15),
    BetaFractions(0.1, 0.25),
    TABLE,
]


def sized(nodes: np.ndarray) -> Workload:
    one = np.ones(len(nodes))
    sizes = nodes.astype(np.int32)
    return bare_jobs("made", submit_s=one, run_time_s=one, n_nodes=sizes, requested_s=one)


@pytest.mark.parametrize("fractions", EVERY, ids=lambda f: f.description)
def test_moments_are_those_asked_for(fractions: Fractions) -> None:
    """The integral over the inverse, by the midpoint rule, is the mean; so of the square."""
    u = (np.arange(200_000) + 0.5) / 200_000
    values = fractions.quantile(u)
    assert values.min() >= 0
    assert values.max() <= 1
    assert np.all(np.diff(values) >= 0)
    assert values.mean() == pytest.approx(fractions.mean, abs=1e-5)
    assert values.std() == pytest.approx(fractions.spread, abs=1e-4)


def test_beta_is_that_of_scipy() -> None:
    """m = 0.3, s = 0.15: k = 0.21 / 0.0225 - 1 = 25/3, so a = 2.5 and b = 35/6."""
    u = np.linspace(0.01, 0.99, 25)
    expected = stats.beta(2.5, 35 / 6).ppf(u)
    assert BetaFractions(0.3, 0.15).quantile(u) == pytest.approx(expected)
    assert np.all(BetaFractions(0.3, 0.0).quantile(u) == 0.3)


def test_a_table_is_straight_between_its_points() -> None:
    assert TABLE.quantile(np.array([0.0, 0.125, 0.5, 0.7, 1.0])) == pytest.approx(
        [0.05, 0.075, 0.3, 0.45, 0.95]
    )


@given(st.floats(-1, 1), st.integers(0, 2**32 - 1))
def test_ranks_correlate_as_asked_and_values_stay_uniform(rho: float, seed: int) -> None:
    """Spearman's estimate of n pairs has a standard error below 1.5 / sqrt(n) (normal pairs)."""
    rng = np.random.default_rng(seed)
    n = 4000
    sizes = rng.permutation(n)
    u = with_rank_correlation(rng.random(n), sizes, rng.random(n), rho)
    assert stats.spearmanr(u, sizes).statistic == pytest.approx(rho, abs=6.5 / np.sqrt(n))
    # Kolmogorov's bound at 1e-8, for independent values; correlation with ranks only narrows it
    assert stats.kstest(u, "uniform").statistic < 3.1 / np.sqrt(n)


@pytest.mark.parametrize("sign", [1, -1])
def test_full_correlation_is_the_order_of_sizes(sign: int) -> None:
    rng = np.random.default_rng(1)
    sizes, n = rng.permutation(500), 500
    u = with_rank_correlation(rng.random(n), sizes, rng.random(n), float(sign))
    expected = (sizes + 0.5) / n
    assert u == pytest.approx(expected if sign > 0 else 1 - expected)


def test_equal_sizes_take_from_the_correlation_what_is_said() -> None:
    """Two sizes of half the jobs each: average ranks keep sqrt(3/4) of the spread of ranks."""
    rng = np.random.default_rng(3)
    sizes = np.repeat([4, 64], N // 2)
    assert untied(sizes) == pytest.approx(np.sqrt(0.75), abs=1e-6)
    assert (untied(np.arange(9)), untied(np.full(9, 2))) == (1, 0)
    u = with_rank_correlation(rng.random(N), sizes, rng.random(N), 0.5)
    found = stats.spearmanr(u, sizes).statistic
    assert found == pytest.approx(0.5 * untied(sizes), abs=0.02)
    assert stats.kstest(u, "uniform").statistic < 3.1 / np.sqrt(N)


def test_no_correlation_is_the_draw_without_one_and_single_nodes_do_not_count() -> None:
    rng = np.random.default_rng(4)
    nodes = rng.integers(1, 50, N)
    law = FractionLaw(TABLE)
    u, ties = rng.random(N), rng.random(N)
    plain = law.draw(u, ties, nodes)
    assert np.array_equal(plain, TABLE.quantile(u))
    with_sizes = FractionLaw(TABLE, 0.8).draw(u, ties, nodes)
    alone = nodes == 1
    assert np.array_equal(with_sizes[alone], plain[alone])
    assert stats.ks_2samp(with_sizes[~alone], plain[~alone]).pvalue > 1e-6


def test_a_mix_draws_patterns_as_without_a_law_and_a_log_is_taken_at_its_word() -> None:
    shares = [PatternShare("a", 3.0, 0.0, 0.5), PatternShare("b", 1.0, 0.9, 0.9)]
    jobs = sized(np.random.default_rng(5).integers(1, 100, N))
    which, _ = CommunicationMix(shares).draw(jobs, np.random.default_rng(6))
    mix = CommunicationMix(shares, FractionLaw(BetaFractions(0.3, 0.15), 0.6))
    again, fraction = mix.draw(jobs, np.random.default_rng(6))
    assert np.array_equal(which, again)
    assert fraction.mean() == pytest.approx(0.3, abs=5 * 0.15 / np.sqrt(N))
    several = jobs.n_nodes > 1
    found = stats.spearmanr(fraction[several], jobs.n_nodes[several]).statistic
    assert found == pytest.approx(0.6, abs=0.03)


def content(**fraction: Any) -> dict[str, Any]:
    return {
        "machine": {"family": "fattree", "radix": 4},
        "workload": {"synthetic": {"n_jobs": 50, "mean_nodes": 4}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "communication": {"mix": [{"pattern": "halo3d"}], "fraction": fraction},
    }


STEPS = {"distribution": "quantiles", "quantiles": [0.0, 0.2, 0.9]}
BETA = {"distribution": "beta", "mean": 0.3, "spread": 0.1}


def test_a_config_keeps_what_it_says_and_shares_its_draws() -> None:
    """Points that differ in a distribution alone draw the same jobs the same patterns."""
    config = config_from(content(**BETA))
    told = config.resolved()
    assert told["communication"]["fraction"] == BETA | {"size_correlation": 0.0}
    assert "communication_fraction" not in told["communication"]["mix"][0]
    assert config_from(told) == config
    other = config_from(content(**BETA | {"mean": 0.1, "size_correlation": -0.5})).resolved()
    for purpose in ("jobs", "packets", "workload", "policy"):
        draws = [Draws(one).rng(purpose).random() for one in (told, other)]
        assert draws[0] == draws[1]


def test_quantiles_are_evenly_spaced_if_nothing_is_said() -> None:
    law = config_from(content(**STEPS)).communication.law()
    assert law is not None
    assert law.fractions == QuantileFractions(((0.0, 0.0), (0.5, 0.2), (1.0, 0.9)))
    moved = config_from(content(**STEPS, at=[0.0, 0.1, 1.0])).communication.law()
    assert moved is not None
    assert moved.fractions.mean == pytest.approx(0.1 * 0.1 + 0.9 * 0.55)


def test_a_config_without_the_section_says_nothing_of_it() -> None:
    plain = content()
    del plain["communication"]["fraction"]
    told = config_from(plain).resolved()["communication"]
    assert set(told) == {"mix", "ranks_per_node", "task_mapping"}
    assert told["mix"][0]["communication_fraction"] == [0.3, 0.3]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"distribution": "beta", "mean": 0.3}, 'spread is needed by distribution = "beta"'),
        (BETA | {"quantiles": [0, 1]}, "quantiles is no key of"),
        (BETA | {"at": [0, 1]}, "2 shares of jobs for 0 quantiles"),
        (BETA | {"spread": 0.46}, "have a spread below 0.4583"),
        (BETA | {"distribution": "uniform", "spread": 0.2}, "up to a spread of 0.1732"),
        (STEPS | {"at": [0.1, 0.5, 1]}, "begin at 0 and end at 1"),
        (STEPS | {"quantiles": [0, 0.5, 0.2]}, "must not fall"),
        (STEPS | {"at": [0, 0, 1]}, "must rise"),
        (STEPS | {"at": [0, 1]}, "2 shares of jobs for 3 quantiles"),
        ({"mean": 0.3}, "distribution is needed; valid: uniform, beta, quantiles"),
        ({"distribution": "normal"}, "unknown distribution 'normal'"),
        (BETA | {"size_correlation": 1.5}, "must be at most 1"),
    ],
)
def test_what_a_config_may_not_say(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=r"communication\.fraction") as raised:
        config_from(content(**given))
    assert told in str(raised.value)


def test_entries_do_not_say_it_too() -> None:
    both = content(**BETA)
    both["communication"]["mix"][0]["communication_fraction"] = 0.4
    with pytest.raises(ConfigError, match=r"mix\.0\.communication_fraction conflicts with"):
        config_from(both)


def test_laws_and_distributions_by_hand_are_checked_too() -> None:
    with pytest.raises(NetcosimError, match="from -1 to 1"):
        FractionLaw(TABLE, 2.0)
    with pytest.raises(NetcosimError, match=r"mean 1\.5"):
        make_fractions("beta", 1.5, 0.1)
    with pytest.raises(NetcosimError, match="at least 0"):
        make_fractions("beta", 0.5, -0.1)
