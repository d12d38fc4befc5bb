"""Failures of nodes, links and leaves: how often, of what, and what jobs lose."""

from __future__ import annotations

import numpy as np
import pytest
from preemption_helpers import jobs, runs_of, simulate
from queue_helpers import Mask

from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.gpu_cluster import GpuFabric, Nics, gpu_cluster
from netsim.topologies.registry import make_topology
from queuesim.metrics import interruption_totals, wait_s
from queuesim.parameters import Failures
from queuesim.queue_setup import QueueSetup
from queuesim.result import FAILED
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.failures import DAY_S, Failure, check_failures, draw_failures
from queuesim.site.outages import Outage
from queuesim.site.rules import Rules


class Drawn:
    """A generator that gives these numbers; each gap is its mean, each unit the last one."""

    def __init__(self, *numbers: float) -> None:
        self.numbers, self.counts = list(numbers), list[int]()

    def exponential(self, mean: float) -> float:
        return mean

    def random(self) -> float:
        return self.numbers.pop(0)

    def integers(self, count: int) -> int:
        self.counts.append(count)
        return count - 1


@pytest.mark.parametrize(
    ("rates", "gap_s", "numbers", "hit", "counts"),
    [
        # 16 nodes, 8 leaves with 2 each, 16 links: 16 + 16 + 8 failures a day
        ((1.0, 2.0, 0.5), 2160.0, (0.39, 0.41, 0.79, 0.81), (1, 2, 2, 1), [16, 8, 8, 16]),
        # a kind of rate 0 never fails
        ((0.0, 2.0, 0.0), 5400.0, (0.0, 0.99), (2, 2), [8, 8]),
        ((0.0, 0.0, 4.0), 1350.0, (0.0, 0.99), (1, 1), [16, 16]),
    ],
)
def test_failures_by_hand(rates, gap_s, numbers, hit, counts):
    """The mean gap is a day over all failures of a day; a kind's share is its part of these."""
    failures, rng = Failures(*rates, repair_s=600.0), Drawn(*numbers)
    assert failures
    drawn = draw_failures(failures, make_topology("fattree", {"radix": 4}), rng)  # type: ignore[arg-type]
    for number, (n_nodes, failure) in enumerate(zip(hit, drawn, strict=False), 1):
        assert failure.start_s == pytest.approx(number * gap_s)
        assert failure.end_s == pytest.approx(number * gap_s + 600.0)
        assert np.flatnonzero(failure.nodes).tolist() == [14, 15][-n_nodes:]
    assert rng.counts == counts
    assert not Failures(repair_s=600.0)


def test_a_leaf_of_gpus_fails_with_all_its_servers() -> None:
    """Also a server with its GPUs, and a link with one; a leaf of a rail has a GPU a server."""
    units = {"leaf": 8, "node": 4, "link": 1}
    for fabric, per_leaf in (("leaf", 8), ("rail", 2)):
        topology = gpu_cluster(
            8, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=2, fabric=fabric)
        )
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
    topology = gpu_cluster(
        8, gpus_per_node=4, nics=Nics(planes=2), fabric=GpuFabric(nodes_per_leaf=2)
    )
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


def test_a_job_waits_for_the_repair_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """One node fails at 10 and at 20 s, for 5 s each; of 30 s of work nothing is saved.

    Two failures in a row are as many as there may be.
    """
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_FAILURES", 2)
    rules = Rules(failures=Failures(per_node_day=1.0))
    rng = np.random.default_rng(1)
    run = QueueSetup(jobs([0], [30], [1]), Mask(1), rng=rng, rules=rules).by_events()
    node = np.array([True])
    run.failures = iter([Failure(10.0, 15.0, node), Failure(20.0, 25.0, node)])  # type: ignore[attr-defined]
    run.run()
    result = run.result()
    assert runs_of(result) == [[(0, 10), (15, 20), (25, 55)]]
    assert result.reports["queue_rules"]["requeued"] == 2
    assert result.reports["queue_rules"]["failed_jobs"] == 0
    assert result.reports["interruptions"]["failures"] == 2


def test_a_job_begins_again_on_another_node_at_once() -> None:
    """Node 0 of two fails at 10 s, and again at 20 s, when the job is on node 1."""
    rules = Rules(failures=Failures(per_node_day=1.0))
    rng = np.random.default_rng(1)
    run = QueueSetup(jobs([0], [30], [1]), Mask(2), rng=rng, rules=rules).by_events()
    node = np.array([True, False])
    run.failures = iter([Failure(10.0, 15.0, node), Failure(20.0, 25.0, node)])  # type: ignore[attr-defined]
    run.run()
    assert runs_of(run.result()) == [[(0, 10), (10, 40)]]


def test_half_a_second_before_its_end_a_job_has_saved_the_rest() -> None:
    """Of 2 s with a checkpoint each half a second, it has 0.5 s left at 1.5 s."""
    rules = Rules(
        outages=(Outage(1.5, 4.0, "0", "failure"),), requeues=True, checkpoints=Checkpoints(0.5)
    )
    result = simulate(jobs([0], [2], [1]), Mask(1), rules, "fcfs")
    assert runs_of(result) == [[(0, 1.5), (4, 4.5)]]


def test_a_failure_voids_what_was_promised_on_its_nodes() -> None:
    """Job 2 needs all 4 nodes, free at 10 s; job 3 (15 s) would delay it at 2 s.

    At 5 s an idle node fails until 30 s: then job 3 ends long before job 2 can begin.
    """
    outage = Outage(5.0, 30.0, "3", "failure")
    workload = jobs([0, 1, 2], [10, 5, 15], [2, 4, 1])
    result = simulate(workload, Mask(4), Rules(outages=(outage,)), "fcfs")
    assert result.start_s.tolist() == [0, 30, 5]


def test_a_job_whose_node_fails_is_over_unless_it_is_requeued() -> None:
    outage = Outage(5.0, 8.0, "0", "failure")
    ended = simulate(jobs([0], [30], [1]), Mask(1), Rules(outages=(outage,)), "fcfs")
    assert ended.end_s.tolist() == [5]
    assert ended.outcome.tolist() == [FAILED]
    counts = {"failed_jobs": 1, "cut_jobs": 0, "never_run_jobs": 0, "requeued": 0}
    assert ended.reports["queue_rules"].items() >= counts.items()
    rules = Rules(outages=(outage,), requeues=True)
    again = simulate(jobs([0], [30], [1]), Mask(1), rules, "fcfs")
    assert runs_of(again) == [[(0, 5), (8, 38)]]
    assert again.reports["interruptions"]["failures"] == 1
    assert wait_s(again).tolist() == [3]
    counts = {"failed_jobs": 0, "cut_jobs": 0, "never_run_jobs": 0, "requeued": 1}
    assert again.reports["queue_rules"].items() >= counts.items()


def test_a_job_that_ends_as_its_node_fails_has_ended_and_others_have_not() -> None:
    """Both nodes fail at 5 s. Job 1 is done then; job 2 has 5 of its 10 s left."""
    rules = Rules(outages=(Outage(5.0, 8.0, "0-1", "failure"),))
    result = simulate(jobs([0, 0], [5, 10], [1, 1]), Mask(2), rules, "fcfs")
    assert result.end_s.tolist() == [5, 5]
    assert result.outcome.tolist() == [0, FAILED]


def test_a_queue_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run in e^10 is as long as the job."""
    monkeypatch.setattr("queuesim.site.ruled_run.MOST_FAILURES", 50)
    rules = Rules(failures=Failures(per_node_day=10 * DAY_S / 8e5, repair_s=1.0))
    with pytest.raises(NetcosimError, match="50 failures in a row in which no job ended"):
        simulate(jobs([0], [1e5], [8]), Mask(8), rules, "fcfs")


HOPELESS = [
    # a failure every 0.864 s, 100 s of repair
    (Failures(1e5, repair_s=100.0), Checkpoints(), "a node fails every 0.864 s and its repair"),
    # 8 nodes x 8.64 a day: every 1,250 s; restart and 900 s of the interval
    (
        Failures(8.64, repair_s=1.0),
        Checkpoints(900.0, restart_s=13_500.0),
        r"job 1 on 8 nodes fails every 1\.25e\+03 s and needs 1\.44e\+04 s to proceed",
    ),
    (Failures(1.0), Checkpoints(restart_s=1e12), r"needs 1e\+12 s to proceed"),
]


@pytest.mark.parametrize(("failures", "checkpoints", "message"), HOPELESS)
def test_failures_under_which_no_job_would_end_are_refused_before_the_run(
    failures: Failures, checkpoints: Checkpoints, message: str
) -> None:
    rules = Rules(failures=failures, checkpoints=checkpoints)
    with pytest.raises(NetcosimError, match=message):
        simulate(jobs([0], [5e3], [8]), Mask(8), rules, "fcfs")


def test_a_job_that_would_write_all_the_time_is_refused() -> None:
    """An hour after each second of work; after 3.6 s it works for a thousandth of the time."""
    with pytest.raises(NetcosimError) as found:
        Checkpoints(1.0, 3600.0)
    assert str(found.value) == (
        "queue.checkpoint: write = 3600 s is more than 1,000 times interval = 1 s, so jobs would "
        "hardly work; raise interval"
    )
    assert Checkpoints(3.6, 3600.0).planned(3.6, restarts=False).checkpoint_s == 0
    assert Checkpoints(None, 3600.0).write_s == 3600.0


def test_what_a_job_needs_between_failures_has_a_limit() -> None:
    """11.5 failures in the mean: 1,250 s x 11.5 = 14,375 s = 800 s + 100 s + 13,475 s.

    A node fails every 10,000 s and the job has 8, or a leaf every 1,250 s. It works, saves, and
    restarts.
    """
    topology = Mask(8).topology
    one = jobs([0], [5e3], [8])
    for rates in ({"per_node_day": 8.64}, {"per_leaf_day": 69.12}):
        failures = Failures(**rates, repair_s=1.0)
        check_failures(failures, Checkpoints(800.0, 100.0, 13_474.0), one, topology)
        with pytest.raises(NetcosimError, match="hardly ever end"):
            check_failures(failures, Checkpoints(800.0, 100.0, 13_476.0), one, topology)


def test_the_failures_of_a_long_log_are_counted_beforehand() -> None:
    """8 nodes that fail every 8.64 s do so 926,000 times in a million seconds."""
    topology = Mask(8).topology
    given = Failures(1e4, repair_s=1.0), Checkpoints()
    check_failures(*given, jobs([0, 1e6], [1.0, 1.0], [1, 1]), topology)
    with pytest.raises(NetcosimError, match=r"about 1,851,8\d\d failures in the 23.1 days"):
        check_failures(*given, jobs([0, 2e6], [1.0, 1.0], [1, 1]), topology)
    # while one job runs that saves each 0.5 s: (e^0.0579 - 1) / 0.0579 = 1.0295 times as long
    with pytest.raises(NetcosimError, match=r"about 1,906,\d\d\d failures"):
        check_failures(given[0], Checkpoints(0.5), jobs([0], [2e6], [1]), topology)


def test_the_time_of_the_jobs_counts_checkpoints_and_repeated_work() -> None:
    """A node fails every 1,000 s and saves 100 s of work in 1,000 s: e - 1 times as long a piece.

    Ten pieces take 17,183 s, in which the 8 nodes fail 137 times.
    """
    given = Failures(86.4, repair_s=1.0), Checkpoints(100.0, 900.0), jobs([0], [1e3], [1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("queuesim.site.failures.MOST_FAILURES", 137)
        with pytest.raises(NetcosimError, match=r"about 137 failures in the 0\.199 days"):
            check_failures(*given, Mask(8).topology)
        patch.setattr("queuesim.site.failures.MOST_FAILURES", 138)
        check_failures(*given, Mask(8).topology)


def test_a_rate_that_is_hardly_above_0_brings_no_failure() -> None:
    assert not list(draw_failures(Failures(1e-320), Mask(8).topology, np.random.default_rng(1)))


def test_the_gpus_of_a_server_fail_together_beforehand_too() -> None:
    """A job of 100,000 s on the 4 GPUs of one server meets 9 failures in the mean, not 36.

    Of 11.5 and more one job in 100,000 would end.
    """
    topology = gpu_cluster(8, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=2))
    one = jobs([0], [1e5], [4])
    check_failures(Failures(9 * 86_400 / 1e5, repair_s=1.0), Checkpoints(), one, topology)
    with pytest.raises(NetcosimError, match="hardly ever end"):
        check_failures(Failures(12 * 86_400 / 1e5, repair_s=1.0), Checkpoints(), one, topology)
