"""Designs, screening, surfaces and Sobol indices against closed forms and SALib's own code."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cosim.isolation.design import METHODS, Design, Factor, most_confounded
from cosim.isolation.surface import (
    _terms,
    drawn_surfaces,
    fit_surface,
    index_rows,
    raw_first_order,
    screened,
)
from experiments.isolation.cells import percent_off
from netsim.errors import NetcosimError

THREE = [Factor(f"x{i}", -np.pi, np.pi) for i in (1, 2, 3)]


def ishigami(places, a=7.0, b=0.1):
    x = -np.pi + 2 * np.pi * places
    return np.sin(x[:, 0]) + a * np.sin(x[:, 1]) ** 2 + b * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices(a=7.0, b=0.1):
    """Ishigami and Homma 1990: first and total order."""
    one, two = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8
    third = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = one + two + third
    return np.array([one, two, 0]) / whole, np.array([one + third, two, third]) / whole


def sobol_g(places, a):
    return np.prod((np.abs(4 * places - 2) + a) / (1 + a), axis=1)


def sobol_g_indices(a):
    own = 1 / (3 * (1 + a) ** 2)
    whole = np.prod(1 + own) - 1
    return own / whole, own * np.prod(1 + own) / (1 + own) / whole


def test_ishigami_first_and_total_order():
    places = Design("sobol-sequence", 256, 1, THREE).places()
    response = ishigami(places)
    surface = fit_surface(THREE, places, response, degree=7)
    first, total = ishigami_indices()
    assert surface.r2 > 0.98
    np.testing.assert_allclose(surface.indices()[0], first, atol=0.02)
    np.testing.assert_allclose(surface.indices()[1], total, atol=0.02)
    raw = np.array(raw_first_order(THREE, places, response))
    np.testing.assert_allclose(raw[:, 0], first, atol=0.06)


def test_sobol_g_with_intervals_that_hold_it():
    a = np.array([0.5, 3.0, 9.0, 99.0])
    factors = [Factor(f"g{i}") for i in range(4)]
    places = Design("latin-hypercube", 200, 3, factors).places()
    response = sobol_g(places, a)
    surface = fit_surface(factors, places, response, degree=4)
    rows = index_rows(surface, drawn_surfaces(surface, places, response), places, response)
    first, total = sobol_g_indices(a)
    for row, of_first, of_total in zip(rows, first, total, strict=True):
        # kinks at the middle are no polynomials: the surface misses a few per cent
        assert row["first"] == pytest.approx(of_first, abs=0.04)
        assert row["total"] == pytest.approx(of_total, abs=0.04)
        assert row["first_low"] <= row["first"] + 0.02
        assert row["total_high"] >= row["total"] - 0.02
        assert row["cross_validated_r2"] == surface.r2 > 0.9


def test_a_linear_function_with_noise_levels_and_an_interaction():
    """Variances by hand: a range of b has b^2 / 12, levels their own, a product the product."""
    rng = np.random.default_rng(5)
    factors = [Factor("a"), Factor("b"), Factor("c", levels=("p", "q", "r")), Factor("idle")]
    places = Design("sobol-sequence", 256, 2, factors).places()
    level = np.array([-1.0, 0.0, 2.5])[np.minimum((places[:, 2] * 3).astype(int), 2)]
    clean = 6 * places[:, 0] + 2 * places[:, 1] + level
    clean = clean + 8 * (places[:, 0] - 0.5) * (places[:, 1] - 0.5)
    response = clean + rng.normal(0, 0.8, len(clean))
    parts = np.array([36 / 12, 4 / 12, np.var([-1.0, 0.0, 2.5]), 0.0])
    both = 64 / 144
    whole = parts.sum() + both
    surface = fit_surface(factors, places, response)
    first, total = surface.indices()
    np.testing.assert_allclose(first, parts / whole, atol=0.05)
    np.testing.assert_allclose(total, (parts + np.array([both, both, 0, 0])) / whole, atol=0.05)
    # the error of points left out is that of the noise, and R2 what noise leaves
    assert surface.rmse == pytest.approx(0.8, rel=0.15)
    assert surface.r2 == pytest.approx(1 - 0.64 / (whole + 0.64), abs=0.05)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_terms_are_all_products_up_to_a_total_degree(degree):
    """C(k + d, d) - 1 products of k ranges; a contrast of levels counts as one degree."""
    for k in (2, 3, 5):
        terms = _terms([Factor(f"x{i}") for i in range(k)], degree)
        assert len(terms) == len(set(terms)) == math.comb(k + degree, degree) - 1
        degrees = [sum(n + 1 for _, n in term) for term in terms]
        assert (min(degrees), max(degrees)) == (1, degree)
    # one factor of three levels: alone 2, beside products of the ranges one degree lower
    mixed_terms = _terms([Factor("x"), Factor("y"), Factor("c", levels=("p", "q", "r"))], degree)
    ranges = math.comb(2 + degree, degree) - 1
    assert len(mixed_terms) == ranges + 2 * math.comb(2 + degree - 1, degree - 1)


def test_a_surface_holds_what_its_degree_holds_and_no_more():
    """x y^2 is of degree 3: exact there, and what is left of it at degree 2 is its variance."""
    places = Design("sobol-sequence", 256, 1, THREE).places()
    x, y = (2 * places[:, i] - 1 for i in (0, 1))
    response = x * y**2
    assert fit_surface(THREE, places, response, degree=3).rmse < 1e-9
    # the best of degree 2 is x / 3: of variance 1/15 that leaves 1/15 - 1/27
    lower = fit_surface(THREE, places, response, degree=2)
    assert lower.rmse**2 == pytest.approx(1 / 15 - 1 / 27, rel=0.1)


def test_noise_alone_gives_a_surface_that_tells_nothing():
    places = Design("latin-hypercube", 120, 4, THREE).places()
    response = np.random.default_rng(8).normal(size=120)
    assert fit_surface(THREE, places, response).r2 < 0.1


def test_the_surface_has_the_indices_that_saltellis_sampling_finds():
    from SALib.analyze import sobol as analyze
    from SALib.sample import sobol as sample

    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[0, 1]] * 3}
    places = Design("sobol-sequence", 128, 1, THREE).places()
    surface = fit_surface(THREE, places, ishigami(places), degree=5)
    x = sample.sample(problem, 1024, calc_second_order=False, seed=1)
    found = analyze.analyze(problem, surface.at(x), calc_second_order=False, seed=1)
    np.testing.assert_allclose(surface.indices()[0], found["S1"], atol=0.02)
    np.testing.assert_allclose(surface.indices()[1], found["ST"], atol=0.02)


def test_morris_has_the_effects_of_salib_and_leaves_broken_trajectories_out():
    from SALib.analyze import morris

    design = Design("morris", 12, 7, THREE)
    places = design.places()
    response = ishigami(places)
    problem = {"num_vars": 3, "names": ["x1", "x2", "x3"], "bounds": [[0, 1]] * 3}
    found = morris.analyze(problem, places, response, num_levels=4)
    ours = screened(THREE, places, response)
    np.testing.assert_allclose([e.mu_star for e in ours], found["mu_star"])
    np.testing.assert_allclose([e.sigma for e in ours], found["sigma"])
    holed = response.copy()
    holed[5] = np.nan
    again = screened(THREE, np.delete(places, range(4, 8), 0), np.delete(response, range(4, 8)))
    assert screened(THREE, places, holed) == again
    assert again[0].trajectories == 11


def test_morris_of_a_plane_is_its_slopes():
    places = Design("morris", 5, 1, THREE).places()
    for effect, slope in zip(
        screened(THREE, places, places @ np.array([3.0, -2.0, 0.0])), (3, -2, 0), strict=True
    ):
        assert effect.mu == pytest.approx(slope)
        assert effect.sigma == pytest.approx(0, abs=1e-9)
        assert effect.mu_star_low == pytest.approx(abs(slope))


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_has_one_design_and_more_of_a_sequence_only_adds(method):
    one = Design(method, 8, 3, THREE).places()
    assert np.array_equal(one, Design(method, 8, 3, THREE).places())
    assert not np.array_equal(one, Design(method, 8, 4, THREE).places())
    assert ((one >= 0) & (one <= 1)).all()
    more = Design(method, 16, 3, THREE).places()
    assert np.array_equal(more[: len(one)], one) == (method != "latin-hypercube")


def mixed(k):
    """Ranges and factors of 3 to 7 levels in turn."""
    return [
        Factor(f"x{i}", levels=tuple("abcdefg"[: 3 + i % 5]) if i % 2 else ()) for i in range(k)
    ]


def refusal(design):
    """Why a design has no places; empty if it has."""
    try:
        design.places()
    except NetcosimError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("method", ["sobol-sequence", "latin-hypercube"])
@pytest.mark.parametrize("n", [16, 100, 256])
@pytest.mark.parametrize("k", [2, 4, 12, 20])
def test_a_design_is_balanced_or_refused(method, n, k):
    """Cramer's V of every pair, by SciPy's own code, below what random designs of the size have."""
    from scipy.stats import chi2
    from scipy.stats.contingency import association, crosstab

    pairs = k * (k - 1) // 2
    design = Design(method, n, 2, mixed(k))
    if told := refusal(design):
        assert method == "sobol-sequence"
        assert k >= 12
        assert "are confounded: Cramer's V 0." in told
        assert 'set method = "latin-hypercube"' in told
        return
    factors, places = design.factors, design.places()
    for i in range(k):
        for j in range(i):
            one, other = (factors[x].strata(places[:, x]) for x in (i, j))
            table = crosstab(one, other).count
            freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
            bound = chi2.isf(1e-4 / pairs, freedom) / n / (min(table.shape) - 1)
            assert association(table, method="cramer") <= bound**0.5, (i, j)


def test_the_rows_number_is_the_stratum_of_a_sobol_sequence():
    """The draw that was: row modulo 8 beside five levels of the first factor, V = 0.70."""
    factors = [Factor("placement", levels=tuple("abcde")), *(Factor(f"x{i}") for i in range(3))]
    design = Design("sobol-sequence", 256, 1, factors)
    columns = design.strata(design.places())
    assert most_confounded(columns) is None
    pair = most_confounded({**columns, "chance": np.arange(256) % 8})
    assert {pair.one, pair.other} == {"placement", "chance"}
    assert pair.cramers_v == pytest.approx(0.70, abs=0.01)
    assert pair.bound < 0.35


def test_few_random_designs_are_taken_for_confounded_and_all_equal_columns_are():
    rng = np.random.default_rng(3)
    for n in (12, 40, 300):
        found = [
            most_confounded({str(i): rng.integers(0, 2 + i, n) for i in range(6)})
            for _ in range(200)
        ]
        assert sum(pair is not None for pair in found) <= 1
    column = rng.integers(0, 4, n)
    pair = most_confounded({"a": column, "b": rng.permutation(column), "c": 7 - 2 * column})
    assert (pair.one, pair.other) == ("a", "c")
    assert pair.cramers_v == pytest.approx(1.0)
    # a full factorial is independent; one value tells nothing apart
    grid = np.indices((4, 5)).reshape(2, -1)
    assert most_confounded({"a": grid[0], "b": grid[1], "c": np.zeros(20, dtype=int)}) is None


@pytest.mark.parametrize(
    ("samples", "factors", "told"),
    [
        (0, THREE, "samples = 0; must be 1 to 100,000"),
        (100_001, THREE, "samples = 100001; must be 1 to"),
        (4, THREE[:1], "1 factors; a design needs two or more"),
        (4, [*THREE, THREE[0]], "a factor is listed twice"),
    ],
)
def test_a_design_refuses(samples, factors, told):
    with pytest.raises(NetcosimError, match=told):
        Design("latin-hypercube", samples, 1, factors)
    assert len(Design("latin-hypercube", 1, 1, THREE).places()) == 1


def test_what_a_scenario_takes_off_is_by_node_hours_of_jobs_of_several_nodes():
    """5 % of jobs above 4 nodes: 8 nodes x 3 h of 8 x 3 + 2 x 6 node-hours; one node counts not."""
    off = {name: percent_off(name, [1, 2, 8], [100.0, 6.0, 3.0]) for name in ("none", "5%", "20%")}
    assert off["5%"] == pytest.approx(5 * 24 / 36)
    assert off["20%"] == pytest.approx(4 * off["5%"])
    assert off["none"] == 0


def test_a_factor_has_values_by_place():
    log = Factor("bytes", 16, 4096, log=True, is_integer=True)
    assert [log.value(u) for u in (0, 0.25, 0.5, 1)] == [16, 64, 256, 4096]
    # the nearest whole number, not the one below
    assert [Factor("n", 1, 4, is_integer=True).value(u) for u in (0.16, 0.17, 0.9)] == [1, 2, 4]
    assert [Factor("r", levels=("a", "b", "c")).label(u) for u in (0, 0.34, 0.67, 1)] == [*"abcc"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"low": 2, "high": 1}, "factor x: low 2, high 1; low must be below high"),
        ({"low": 0, "high": 1, "log": True}, "factor x: log needs low above 0, got 0"),
        ({"levels": ("a",)}, "factor x: one level; it needs two or more"),
    ],
)
def test_a_factor_refuses(given, told):
    with pytest.raises(NetcosimError, match=told):
        Factor("x", **given)
