"""Which jobs packets judge at a change, what those that wait have, and how old that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from test_coupled_flow import job_network, one_cable
from test_coupled_packets import long_messages

from alloc.policy import Request
from alloc.registry import make_policy
from cosim.network import isolated_loops
from cosim.network.communication import Communication, remember, rounded_s
from cosim.network.ensemble import Ensemble
from cosim.network.isolated_loops import (
    IsolatedLoop,
    loop_isolated,
    loop_together,
    n_starts,
    period_error,
    wanted_s,
)
from cosim.network.job_network import JobLoads
from cosim.network.loops import LoopTimes
from cosim.network.placed_job import PlacedJob, SharedNetwork
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.packet_ages import PacketAges, describe_ages
from cosim.run_times.packet_judge import PacketRecord, cost_s
from cosim.run_times.stretches import PacketStretches
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.graph import graph
from netsim.topology import Topology


def situation(nodes: Sequence[int], share: int = 0, fraction: float = 0.5) -> Situation:
    return Situation(share, np.array(nodes, np.int32).tobytes(), fraction)


def stretches_on(
    topology: Topology, budget_s: float = 600.0, n_jobs: int | None = None
) -> PacketStretches:
    network = long_messages(job_network(make_routing(topology)))
    return PacketStretches(
        JobLoads(network), PacketBudget(budget_s=budget_s), PacketRecord(), n_jobs
    )


def test_a_start_judges_only_those_that_share_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cables in line, a-b-c-d: A over the first two, B over the last two, C over the last.

    D on the first meets A alone: both are judged, beside B, which shares links with A. C is not
    simulated, though A and C are connected through B. When D leaves, A has the neighbours that it
    had before and is looked up; with another D it is judged again.
    """
    wires = nx.path_graph(["a", "b", "c", "d"])
    nx.set_node_attributes(wires, 3, "nodes")
    live = stretches_on(graph(wires))
    simulated: list[tuple[int, int]] = []

    def judged(group: Sequence[Situation], beside: Sequence[Situation] = ()) -> tuple[float, ...]:
        simulated.append((len(group), len(beside)))
        return tuple(1.5 for _ in group)

    monkeypatch.setattr(live.judge, "judge", judged)
    for job, nodes in enumerate([(0, 6), (3, 9), (7, 10)]):
        live.start(job, situation(nodes))
    assert live.settle() == {0: 2.0, 1: 2.0, 2: 2.0}
    live.start(3, situation((1, 4)))
    assert live.settle() == {3: 2.0}
    live.end(3)
    live.settle()
    assert (simulated, live.judge.record.n_looked_up) == ([(3, 0), (2, 1)], 1)
    live.start(4, situation((1, 4), fraction=0.4))
    live.settle()
    live.end(4)
    live.end(1)
    # A and C are alone now
    assert live.settle() == {0: 1.0, 2: 1.0}
    assert simulated == [(3, 0), (2, 1), (2, 1)]


def test_what_waits_has_what_packets_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets have seen twice the extra time of flows, 1.5 for 1.25. Then the budget is spent, and
    a third job comes: flows have 1.6 now for all, so it has 1 + 2 * 0.6, and the others
    1.5 (1.6 / 1.25)^(1/2). The budget of a tenth of the jobs is a tenth of it."""
    live = stretches_on(one_cable(), 10.0, n_jobs=10)
    by_flow = {2: 1.25, 3: 1.6}
    monkeypatch.setattr(live, "_by_flow", lambda job: by_flow[len(live._jobs)])
    monkeypatch.setattr(live.judge, "judge", lambda group, beside: (1.5,) * len(group))
    for job in (0, 1):
        live.start(job, situation((job, job + 3)))
    live.judge.record.spent_s = 1.9
    assert live.settle(0.0) == {0: 2.0, 1: 2.0}
    live.judge.record.spent_s = 3.0
    live.start(2, situation((2, 5)))
    found = live.settle(100.0)
    kept = 1.5 * (1.6 / 1.25) ** 0.5
    assert [1 + 0.5 * (found[job] - 1) for job in range(3)] == pytest.approx([kept, kept, 2.2])
    assert live.judge.record.n_waited == 1
    # 50 s later the third ends: the situation of the first two is known again, as who is alone
    live.end(2)
    live.settle(150.0)
    live.end(1)
    assert live.settle(200.0) == {0: 1.0}
    # what packets have said of a job is over once it is alone: the next neighbour is estimated
    by_flow[2] = 1.6
    live.judge.record.spent_s = 10.0
    live.start(3, situation((2, 5)))
    found = live.settle(200.0)
    assert [1 + 0.5 * (found[job] - 1) for job in (0, 3)] == pytest.approx([2.2, 2.2])
    live.end(3)
    assert live.settle(200.0) == {0: 1.0}
    live.end(0)
    live.settle(300.0)
    ages = live.report()["packet_ages"]
    # 2 jobs for 100 s, 3 and 2 for 50 s each, 1 for 100 s; two were 0 to 50 s old, one had none
    shares = {"present": 400 / 550, "to_10_min": 100 / 550, "none": 50 / 550}
    assert {k: ages[k] for k in shares} == pytest.approx(shares)
    assert live._jobs == {}
    assert live._waiting == set()


def test_who_is_judged_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two groups that wait the one with a new job goes first, then the budget is spent."""
    wires = nx.Graph()
    for k in range(2):
        wires.add_node(2 * k, nodes=3)
        wires.add_node(2 * k + 1, nodes=3)
        wires.add_edge(2 * k, 2 * k + 1)
    wires.add_edge(1, 2)
    live = stretches_on(graph(wires), 1.0)
    order: list[tuple[Situation, ...]] = []

    def judged(group: Sequence[Situation], beside: Sequence[Situation] = ()) -> tuple[float, ...]:
        order.append(tuple(group))
        return tuple(1.1 for _ in group)

    monkeypatch.setattr(live.judge, "judge", judged)
    jobs = {k: situation(at) for k, at in enumerate([(0, 3), (1, 4), (2, 5), (6, 9)])}
    new = situation((7, 10), fraction=0.9)
    for job, found in jobs.items():
        live.start(job, found)
    live.settle()
    order.clear()
    live.end(2)
    live.start(4, new)
    live.settle()
    assert order == [(jobs[3], new), (jobs[0], jobs[1])]


def test_ages_are_counted_by_class() -> None:
    """A job waits from 100 s on: 600 s up to 10 min old, 3,000 s up to 1 h, the rest older."""
    ages = PacketAges()
    for now_s, waiting in ((0.0, {}), (100.0, {1: True}), (500.0, {1: True}), (4000.0, {1: True})):
        ages.pass_time(now_s, 1)
        ages.wait(now_s, waiting)
    ages.pass_time(5000.0, 1)
    shares = {"to_10_min": 0.12, "to_1_h": 0.6, "older": 0.26, "none": 0.0}
    found = ages.summary()
    assert {k: found[k] for k in shares} == pytest.approx(shares)
    assert describe_ages({"cpu_s": 30.0, "budget_s": 600.0, **found}) == (
        "of job time rest 2 % on packets of the present situation, 12 % on packets of one up to 10 "
        "min old, 60 % on up to 1 h, 26 % on older (CPU time 30 s of 10 min, "
        "queue.coupled-packets.budget)"
    )
    assert PacketAges().summary()["present"] == 1.0


def test_cpu_time_is_counted_in_hops() -> None:
    assert cost_s(0) == pytest.approx(0.004)
    assert cost_s(10_000_000) == pytest.approx(1.004)
    assert cost_s(10_000_000, 2048) == cost_s(10_000_000)
    assert cost_s(10_000_000, 4 * 2048) == pytest.approx(2.004)


def test_random_starts_by_number_and_likeness() -> None:
    """All for two or three; half, rounded up, for up to seven of which two are alike; else one."""
    assert [n_starts(periods, 3) for periods in ([1], [1, 9], [1, 1, 1])] == [1, 3, 3]
    apart = [1.2**k for k in range(8)]
    assert [n_starts(apart[:n], 3) for n in (4, 7, 8)] == [1, 1, 1]
    assert [n_starts([1.05, *apart[:n]], 3) for n in (3, 6, 7)] == [2, 2, 1]


def test_jobs_that_seldom_communicate_are_watched_for_fewer_periods() -> None:
    """Six periods from a share of a quarter on, then in proportion, but three at least."""
    network = long_messages(job_network(make_routing(one_cable())))
    job = PlacedJob(1, network.communications[0], np.array([0, 3]))

    def loop(fraction: float, period_s: float) -> IsolatedLoop:
        return IsolatedLoop(replace(job, compute_s=(1 - fraction) * period_s), period_s)

    assert wanted_s([loop(0.5, 1.0)], 6) == pytest.approx(6.0)
    assert wanted_s([loop(0.2, 1.0)], 6) == pytest.approx(4.8)
    assert wanted_s([loop(0.01, 1.0), loop(0.5, 0.2)], 6) == pytest.approx(3.0)
    assert wanted_s([loop(0.01, 1.0), loop(0.5, 0.8)], 6) == pytest.approx(4.8)


def test_the_job_with_the_longest_period_is_measured_less_often() -> None:
    """3.3 of its six periods where the others then have had eight.

    Beside one of 1 s, one of 3 s has 9.9 s, which is more than 8 s, and one of 2 s has 8 s. Of two
    of 1 s each has six."""
    network = long_messages(job_network(make_routing(one_cable())))
    job = PlacedJob(1, network.communications[0], np.array([0, 3]))

    def until_s(*periods_s: float) -> float:
        loops = [IsolatedLoop(replace(job, compute_s=0.5 * p), p) for p in periods_s]
        return wanted_s(loops, 6, 0.55)

    assert until_s(1.0, 3.0, 0.1) == pytest.approx(9.9)
    assert until_s(1.0, 2.0) == pytest.approx(8.0)
    assert until_s(1.0, 1.0) == pytest.approx(6.0)
    assert until_s(1.0) == pytest.approx(3.3)


def looped(*ends_s: Sequence[float]) -> LoopTimes:
    ends_ps = tuple(np.array(ends, dtype=np.float64) * 1e12 for ends in ends_s)
    ends = tuple(np.rint(each).astype(np.int64) for each in ends_ps)
    count = np.array([len(each) for each in ends])
    none: Any = None
    return LoopTimes(np.zeros(len(ends)), count, none, ends)


def test_the_error_of_mean_periods_by_hand() -> None:
    """Periods of 1 and 1.2: variance 0.02, of their mean 0.01; over the mean, 1.1, it is 0.1 / 1.1.

    With a job of one counted period of 3, twice its isolated 1.5: its variance is the other's,
    0.02. The mean of 1.1 and 2 has (0.01 + 0.02) / 4.
    """
    network = long_messages(job_network(make_routing(one_cable())))
    job = PlacedJob(1, network.communications[0], np.array([0, 3]))
    one = looped([5, 6, 7.2])
    assert period_error(network.shared, [job], one, [1.0]) == pytest.approx(0.1 / 1.1)
    assert period_error(network.shared, [job], one, [9.0]) == pytest.approx(0.1 / 1.1)
    two = looped([5, 6, 7.2], [1, 4])
    wanted = np.sqrt(0.03) / 2 / ((1.1 + 2) / 2)
    assert period_error(network.shared, [job, job], two, [1.0, 1.5]) == pytest.approx(wanted)
    assert period_error(network.shared, [job], looped([1, 4]), [1.0]) == np.inf
    assert period_error(network.shared, [job], looped([5, 6, 7, 8]), [1.0]) == 0
    # noise of computing is no scatter: iterations of drawn computing and 0.25 s are all alike
    noisy = replace(job, compute_s=1.0, compute_noise=0.1)
    drawn = network.shared.computing_s(noisy, 5)
    ends = np.cumsum(np.broadcast_to(drawn, 5) + 0.25)
    assert np.ptp(drawn) > 0
    assert period_error(network.shared, [noisy], looped(ends), [1.25]) < 1e-6


def test_simulations_end_where_periods_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look decides by its error."""
    network = long_messages(job_network(make_routing(one_cable()))).shared
    job = PlacedJob(
        7, long_messages(job_network(make_routing(one_cable()))).communications[0], np.array([0, 3])
    )
    once_s = float(Ensemble(network, [job]).packets().time_s[0])
    job = replace(job, compute_s=once_s)
    runs: list[tuple[float, int]] = []
    watched = Ensemble.watched
    # a message of 300 kB has more packets than this
    monkeypatch.setattr(isolated_loops, "FEW_PACKETS", 100)

    def counting(self: Ensemble, until_s: float, n: int, **options: int) -> LoopTimes:
        runs.append((until_s / once_s, options.get("least", 4)))
        return watched(self, until_s, n, **options)

    long = Ensemble(network, [job]).watched(40 * once_s, 1)
    monkeypatch.setattr(Ensemble, "watched", counting)
    period_s, drift_s, _ = loop_isolated(network, job, 2 * once_s, 1)
    assert drift_s == 0
    assert runs == [(pytest.approx(6.6), 3)]
    assert period_s == pytest.approx(float(np.diff(long.ends_ps[0]).mean()) / 1e12, rel=1e-12)
    runs.clear()
    loop = IsolatedLoop(job, period_s)
    loop_together(network, [loop, loop], 6)
    assert len(runs) == 1
    # fixed routes: within 2 thousandths of the period
    for error, n_looks in ((0.0019, 1), (0.0021, 2)):
        monkeypatch.setattr(isolated_loops, "period_error", lambda *_, error=error: error)
        runs.clear()
        loop_isolated(network, job, period_s, 1)
        assert len(runs) == n_looks
    # looks at few packets take longer than what they save
    monkeypatch.setattr(isolated_loops, "FEW_PACKETS", 1000)
    runs.clear()
    loop_isolated(network, job, period_s, 1)
    assert [until * once_s / period_s for until, _ in runs] == pytest.approx([6.0])


def test_looks_at_many_packets_count_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four iterations three count, however long the job was expected to take.

    On one cable all are alike, so that the look decides; errors above 2 thousandths do not.
    """
    network = long_messages(job_network(make_routing(one_cable())))
    job = PlacedJob(7, network.communications[0], np.array([0, 3]), compute_s=1e-3)
    long = Ensemble(network.shared, [job]).watched(0.1, 1)
    sent: list[object] = []
    loops = Ensemble.loops

    def noted(self: Ensemble, until_s: float, **options: Any) -> LoopTimes:
        run = loops(self, until_s, **options)
        sent.append(options.get("most") and int(run.iterations[0]))
        return run

    monkeypatch.setattr(Ensemble, "loops", noted)
    monkeypatch.setattr(isolated_loops, "MANY_PACKETS", 100)
    period_s, *_ = loop_isolated(network.shared, job, 0.05, 1)
    assert period_s == pytest.approx(long.time_s[0], rel=1e-3)
    assert sent == [4]
    # iterations that do not end in time are watched until they do
    loop_isolated(network.shared, job, float(long.time_s[0]) / 3, 1)
    assert sent[:3] == [4, 2, None]
    for error, n_runs in ((0.0019, 1), (0.0021, 2)):
        monkeypatch.setattr(isolated_loops, "period_error", lambda *_, error=error: error)
        sent.clear()
        loop_isolated(network.shared, job, 0.05, 1)
        assert sent == [4, None][:n_runs]


def test_ranks_drift_apart_until_their_messages_no_longer_meet() -> None:
    """A shift of 27 ranks of which some share links: six periods are a fifth too long for them."""
    topology = dragonfly(2, 4, 9)
    network = SharedNetwork(make_routing(topology, "minimal"), task_mapping="in-order")
    policy = make_policy(topology, "level-spread", np.random.default_rng(1))
    placement = policy.allocate(Request(1, 27))
    assert placement is not None
    job = PlacedJob(1, Communication("shift", 65536), placement.nodes[:27])
    once_s = float(Ensemble(network, [job]).packets().time_s[0])
    job = replace(job, compute_s=float(rounded_s(5 * once_s)))
    period_s, drift_s, _ = loop_isolated(network, job, 6 * once_s, 1)
    ends_ps = Ensemble(network, [job]).watched(1200 * once_s, 1).ends_ps[0]
    long_s = float(np.diff(ends_ps[100:]).mean()) / 1e12
    assert period_s - job.compute_s > 1.2 * (long_s - job.compute_s)
    assert abs(period_s + drift_s - long_s) < (period_s - long_s) / 3
    # of 48 periods those after half of them
    settled_ps = Ensemble(network, [job]).watched(48 * period_s, 1, stream=1).ends_ps[0]
    late_s = float(np.diff(settled_ps[len(settled_ps) // 2 - 1 :]).mean()) / 1e12
    assert period_s + drift_s == pytest.approx(late_s, rel=1e-9)


def test_the_oldest_of_too_many_values_is_forgotten() -> None:
    known: dict[int, int] = {}
    for k in range(4):
        assert remember(known, k, k * k, 3) == k * k
    assert known == {1: 1, 2: 4, 3: 9}


def test_starts_of_four_draws_are_spread_evenly() -> None:
    """A job of turn 1 moves by a half, a quarter and three quarters of its period from the first
    draw to the next ones, one of turn 0 stays."""
    network = long_messages(job_network(make_routing(one_cable()))).shared
    job = PlacedJob(
        7, long_messages(job_network(make_routing(one_cable()))).communications[0], np.array([0, 3])
    )
    loop = IsolatedLoop(replace(job, compute_s=0.5), 1.0)
    for turn in (0, 1, 2):
        starts = [loop.started(network, draw, turn).start_s for draw in range(5)]
        for draw in range(4):
            moved = (starts[draw] - starts[0]) % 1.0
            by = turn * (0, 0.5, 0.25, 0.75)[draw] % 1.0
            assert min(moved, 1 - moved) == pytest.approx(min(by, 1 - by), abs=1e-6)
        assert starts[4] != starts[0]
    noise = {network.computing_s(loop.started(network, draw), 3).tobytes() for draw in range(4)}
    assert len(noise) == 4
    nodes = [network.rank_node(loop.started(network, draw)).tolist() for draw in range(4)]
    assert nodes == [network.rank_node(job).tolist()] * 4
