"""Failures of nodes, links and leaves: how often, of what, and what jobs lose."""

from __future__ import annotations

import numpy as np
import pytest
from preemption_helpers import jobs, runs_of, simulate
from queue_helpers import Mask

from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.gpu_cluster import gpu_cluster
from netsim.topologies.registry import make_topology
from queuesim.metrics import interruption_totals
from queuesim.queue_setup import QueueSetup
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.failures import DAY_S, Failures, draw_failures
from queuesim.site.rules import Rules


def test_a_leaf_of_gpus_fails_with_all_its_servers() -> None:
    """Also a server with its GPUs, and a link with one; a leaf of a rail has a GPU a server."""
    units = {"leaf": 8, "node": 4, "link": 1}
    for fabric, per_leaf in (("leaf", 8), ("rail", 2)):
        topology = gpu_cluster(8, gpus_per_node=4, nodes_per_leaf=2, fabric=fabric)
        for part, n_gpus in (units | {"leaf": per_leaf}).items():
            failures = Failures(**{f"per_{part}_day": 1.0})
            drawn = draw_failures(failures, topology, np.random.default_rng(1))
            for failure, _ in zip(drawn, range(20), strict=False):
                gpus = np.flatnonzero(failure.nodes)
                assert len(gpus) == n_gpus
                assert np.unique(gpus // (4 if part == "node" else 8)).size == 1
                if fabric == "rail" and part == "leaf":
                    assert np.unique(gpus % 4).size == 1


@pytest.mark.parametrize("part", ["leaf", "link"])
def test_a_node_with_several_links_keeps_the_others(part: str) -> None:
    topology = gpu_cluster(8, gpus_per_node=4, nodes_per_leaf=2, planes=2)
    failures = Failures(**{f"per_{part}_day": 1.0})
    with pytest.raises(NetcosimError, match=f"per_{part}_day: nodes of .* have 2 links, and keep"):
        next(draw_failures(failures, topology, np.random.default_rng(1)))


@pytest.mark.parametrize(("part", "n_units"), [("node", 128), ("link", 128), ("leaf", 32)])
def test_failures_come_as_often_as_they_should(part: str, n_units: int) -> None:
    """Poisson: the count within four standard deviations, and all units alike."""
    topology = make_topology("fattree", {"radix": 8})
    rate, n_days = 0.02, 400
    failures, width = Failures(**{f"per_{part}_day": rate}), 128 // n_units
    drawn = []
    for one in draw_failures(failures, topology, np.random.default_rng(3)):
        if one.start_s > n_days * DAY_S:
            break
        drawn.append(one)
    expected = n_units * rate * n_days
    assert abs(len(drawn) - expected) < 4 * np.sqrt(expected)
    gaps = np.diff([one.start_s for one in drawn])
    assert gaps.mean() / gaps.std() == pytest.approx(1.0, abs=4 / np.sqrt(expected))
    hit = np.sum([one.nodes for one in drawn], axis=0)
    assert {int(one.nodes.sum()) for one in drawn} == {width}
    units = hit.reshape(n_units, width)
    assert np.all(units == units[:, :1])
    # chi-squared of n - 1 degrees: mean n - 1, deviation sqrt(2 n)
    chi = float(np.sum((units[:, 0] - len(drawn) / n_units) ** 2) / (len(drawn) / n_units))
    assert abs(chi - (n_units - 1)) < 4 * np.sqrt(2 * n_units)


class Given:
    """A generator of given uniform numbers; gaps are as long as their mean, units the last ones."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = iter(numbers)

    def random(self) -> float:
        return next(self.numbers)

    def exponential(self, mean: float) -> float:
        return mean

    def integers(self, n: int) -> int:
        return n - 1


def test_failures_of_servers_leaves_and_links_by_hand() -> None:
    """4 servers of 2 GPUs once a day, 2 leaves 4 times, 8 links every other day: 4 + 8 + 4 a day.

    So one every 5,400 s, of a server below 0.25, of a leaf below 0.75, else of a link.
    """
    topology = gpu_cluster(4, gpus_per_node=2, nodes_per_leaf=2, fabric="leaf")
    failures = Failures(per_node_day=1.0, per_leaf_day=4.0, per_link_day=0.5, repair_s=100.0)
    rng = Given(0.249, 0.25, 0.749, 0.75)
    drawn = draw_failures(failures, topology, rng)  # type: ignore[arg-type]
    found = [next(drawn) for _ in range(4)]
    assert [one.start_s for one in found] == pytest.approx([5400, 10800, 16200, 21600])
    assert [one.end_s - one.start_s for one in found] == pytest.approx([100] * 4)
    gpus = [np.flatnonzero(one.nodes).tolist() for one in found]
    assert gpus == [[6, 7], [4, 5, 6, 7], [4, 5, 6, 7], [7]]


def test_all_policies_see_the_same_failures() -> None:
    """Also with other jobs, and in another process: they depend on the generator alone."""
    topology = make_topology("fattree", {"radix": 4})
    rules = Rules(
        failures=Failures(30.0, 20.0, 20.0, repair_s=600.0),
        checkpoints=Checkpoints(100.0),
    )
    n = 40
    workload = jobs([float(100 * k) for k in range(n)], [500.0] * n, [1 + k % 9 for k in range(n)])
    seen, results = [], []
    for name in ("baseline", "random", "jigsaw", "baseline"):
        policy = make_policy(topology, name, np.random.default_rng(2))
        setup = QueueSetup(workload, policy, rules=rules, rng=np.random.default_rng(9))
        run = setup.by_events()
        run.run()
        assert run.access is not None
        seen.append([(w.start_s, w.end_s, w.nodes.tolist()) for w in run.access.windows])
        results.append(run.result())
        assert results[-1].spent is not None
        assert results[-1].spent.failed.sum() > 5
        assert np.all(results[-1].outcome == 0)
    least = min(map(len, seen))
    assert least > 20
    assert all(one[:least] == seen[0][:least] for one in seen)
    assert runs_of(results[0]) == runs_of(results[3])


@pytest.mark.parametrize(("rate", "interval_s"), [(0.02, 3600.0), (0.02, 900.0), (0.06, 1800.0)])
def test_effective_training_time_meets_its_closed_form(rate: float, interval_s: float) -> None:
    """A job on all 64 nodes of a machine, for about 1,000 failures.

    The closed form is of the first order in x = failures in an interval; what it leaves out is of
    the order x^2.
    """
    n, work_s = 64, 1000 * DAY_S / (64 * rate)
    checkpoints = Checkpoints(interval_s, 60.0, 300.0)
    rules = Rules(failures=Failures(per_node_day=rate, repair_s=1.0), checkpoints=checkpoints)
    result = simulate(jobs([0], [work_s], [n]), Mask(n), rules, "fcfs")
    assert result.spent is not None
    failed = int(result.spent.failed[0])
    totals = interruption_totals(result.spent, result.workload.n_nodes)
    share = totals["effective_training_time"]
    restarts = n * rate / DAY_S * (checkpoints.restart_s + interval_s / 2)
    expected = (1 - restarts) / (1 + checkpoints.write_s / interval_s)
    assert share == pytest.approx(expected, abs=0.003)
    assert share != pytest.approx(1.0, abs=0.01)
    # lost: half an interval a failure
    assert result.spent.lost_s[0] / failed == pytest.approx(interval_s / 2, rel=0.1)


def test_a_queue_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_INTERRUPTIONS", 50)
    rules = Rules(failures=Failures(per_node_day=1000.0, repair_s=1.0))
    with pytest.raises(NetcosimError, match="50 interruptions in a row in which no job ended"):
        simulate(jobs([0], [1e5], [8]), Mask(8), rules, "fcfs")
