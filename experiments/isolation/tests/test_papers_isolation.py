"""When isolation pays: arithmetic by hand, what all studies share, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cosim.measuring.pairs import run_time_reduction
from cosim.network.communication import Communication
from experiments.isolation.cells import break_even
from experiments.isolation.paper import PAPER
from experiments.kit.logs import LOGS_VARIABLE
from experiments.kit.papers import Options
from experiments.kit.study_mix import study_mix
from netsim.errors import NetcosimError
from queuesim.assumed import SCENARIOS
from queuesim.statistics import mean_of_snapshots


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv(LOGS_VARIABLE, raising=False)


def test_run_times_from_communication_times():
    """30 % of the time communicating, in two thirds of the time: a tenth less."""
    assert run_time_reduction(2 / 3, 0.3) == pytest.approx(0.1)
    assert run_time_reduction(1.5, 0.2) == pytest.approx(-0.1)


def test_random_draws_are_the_scenarios_own():
    """V2 at 512 nodes: bins 0-10, 10-20, 10-30 %, the upper ends; Random: 0, 5, 15, 30 %."""
    evenly = (np.arange(12) + 0.5) / 12
    found = {name: SCENARIOS[name].reduction(np.full(12, 512), evenly) for name in SCENARIOS}
    np.testing.assert_allclose(np.sort(found["V2"]), np.repeat([0.1, 0.2, 0.3], 4))
    np.testing.assert_allclose(np.sort(found["Random"]), np.repeat([0, 0.05, 0.15, 0.3], 3))


def test_means_and_intervals_of_snapshots():
    rng = np.random.default_rng(1)
    weights = [1, 1, 2, 4, 1, 1]
    found = mean_of_snapshots([1, 3, 5, 9, 2, 3], weights, [0, 0, 1, 2, 3, 4], rng)
    assert found.value == pytest.approx(55 / 10)
    assert found.low <= found.value <= found.high
    alike = mean_of_snapshots([1, 3] * 5, np.ones(10), np.repeat(np.arange(5), 2), rng)
    assert tuple(alike) == pytest.approx((2, 2, 2))


def test_break_even_by_hand():
    assert break_even([0, 5, 10], [1.2, 1.1, 0.9]) == pytest.approx(7.5)
    assert break_even([0, 5, 10], [0.9, 0.8, 0.75]) == pytest.approx(-5)
    assert break_even([0, 5], [1.2, 1.1]) == pytest.approx(10)
    assert np.isnan(break_even([0, 5], [1.2, 1.2]))


def test_patterns_send_what_is_asked():
    for entry in study_mix(node_bytes=100_000):
        for n in (27, 64):
            said = Communication(
                entry["pattern"], rank_bytes=entry["node_bytes"], parameters=entry["parameters"]
            )
            program = said.program(n, np.random.default_rng(0))
            assert program.total_bytes / n == pytest.approx(100_000, rel=0.2), (said, n)


def test_what_is_not_there_is_told():
    with pytest.raises(NetcosimError, match="none of this figure's job logs is there"):
        PAPER.figures["placement"].points(Options())
    with pytest.raises(NetcosimError, match="--routing: the routing is a factor"):
        PAPER.check(Options(routings=("d-mod-k",)))
    with pytest.raises(NetcosimError, match="setting"):
        PAPER.check(Options(settings={"colour": "red"}))
