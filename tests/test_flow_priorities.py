"""Flows of several priorities: each shares what the higher ones leave."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.validation.reference.flows import (
    dense,
    reference_finish,
    reference_rates_by_priority,
)
from netsim.errors import NetcosimError
from netsim.flow.maxmin import flow_finish_times, max_min_rates
from netsim.flow.paths import FlowPaths


def paths_of(rows: list[list[int]]) -> FlowPaths:
    ptr = np.cumsum([0] + [len(row) for row in rows])
    return FlowPaths(ptr, np.concatenate([np.array(row, dtype=np.int32) for row in rows]))


def random_flows(number: int) -> tuple[FlowPaths, np.ndarray, np.ndarray, np.ndarray]:
    """Paths, some of them split; capacities, weights and priorities."""
    rng = np.random.default_rng(number)
    n_links, n = 8, 20
    paths = paths_of([rng.choice(n_links, rng.integers(1, 4), False).tolist() for _ in range(n)])
    if number % 2:
        paths = paths._replace(weights=rng.choice([0.25, 0.5, 1.0], len(paths.links)))
    return paths, rng.uniform(1, 4, n_links), rng.uniform(0.5, 2, n), rng.integers(0, 4, n) * 1.0


def test_rates_of_three_priorities_on_two_links():
    """Links of 10 and 4. The highest takes its 4 of the second; the next two share 6 of the first.

    The lowest has nothing on the first link, and alone on the third, of 7, it has all.
    """
    paths = paths_of([[0, 1], [0], [0], [0], [2]])
    rates = max_min_rates(*paths[:2], [10.0, 4.0, 7.0], flow_priority=[7, 3, 3, 0, 0])
    assert rates.tolist() == [4.0, 3.0, 3.0, 0.0, 7.0]


def test_finishes_on_one_link():
    """Of a link of 1 each priority ends when all of it and above are through."""
    paths = paths_of([[0], [0], [0]])
    finish = flow_finish_times(paths, [1.0, 2.0, 4.0], [1.0], [0, 0, 1.0], flow_priority=[1, 0, 2])
    assert finish == pytest.approx([1.0, 7.0, 5.0])


@pytest.mark.parametrize("number", range(12))
def test_rates_are_those_of_the_plain_solver(number):
    paths, capacity, weight, priority = random_flows(number)
    rates = max_min_rates(
        *paths[:2], capacity, paths[2], flow_weight=weight, flow_priority=priority
    )
    carried = dense(paths.ptr, paths.links, len(capacity), paths.weights)
    plain = reference_rates_by_priority(carried, capacity, weight, priority)
    np.testing.assert_allclose(rates, plain, rtol=1e-9, atol=1e-9)
    assert np.count_nonzero(rates == 0) > 0


@pytest.mark.parametrize("number", range(12))
def test_finishes_are_those_of_the_plain_solver(number):
    paths, capacity, weight, priority = random_flows(number)
    rng = np.random.default_rng(100 + number)
    amount, start = rng.uniform(1, 5, 20), rng.choice([0.0, 0.5, 2.0], 20)
    finish = flow_finish_times(
        paths, amount, capacity, start, flow_weight=weight, flow_priority=priority
    )
    carried = dense(paths.ptr, paths.links, len(capacity), paths.weights)
    plain = reference_finish(carried, capacity, amount, start, weight, priority)
    np.testing.assert_allclose(finish, plain, rtol=1e-7)


def test_short_flows_end_at_a_late_hour():
    """Their times are below the resolution of the clock then."""
    paths = paths_of([[0], [0]])
    finish = flow_finish_times(paths, [1e-9, 1e-9], [1.0], [0.0, 1e9], flow_priority=[0, 1])
    assert finish.tolist() == [1e-9, 1e9]


def test_a_negative_priority_is_refused():
    with pytest.raises(NetcosimError, match="flow_priority = -1"):
        max_min_rates(*paths_of([[0]])[:2], [1.0], flow_priority=[-1])
