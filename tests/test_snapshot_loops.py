"""Loops of a snapshot's jobs: by hand on one cable, and against loops that last for long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosim.measuring import snapshot_loops
from cosim.measuring.snapshot_loops import (
    groups_that_meet,
    isolated_loop,
    isolated_period,
    loops_together,
    united,
)
from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.isolated_loops import IsolatedLoop, loop_together
from cosim.network.loops import LoopTimes
from netsim.packet.model import to_ps
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

LINK_BPS = 5 * 10**9
SWAP = Communication(
    "bisection-pairing", rank_bytes=500_000, parameters={"rounds": 1, "warmup_rounds": 0}
)
"""Two nodes send each other 500,000 bytes: 0.1 ms."""
TREE = make_topology("fattree", {"radix": 4, "bandwidth_Bps": LINK_BPS})
DRAGONFLY = make_topology("dragonfly", {"p": 2, "a": 2, "g": 5})


def tree_network(seed: int = 1, routing: str = "d-mod-k") -> SharedNetwork:
    return SharedNetwork(make_routing(TREE, routing), task_mapping="in-order", seed=seed)


def swap(job_id: int, *nodes: int) -> PlacedJob:
    return PlacedJob(job_id, SWAP, np.array(nodes))


def loop_of(network: SharedNetwork, job: PlacedJob, fraction: float) -> IsolatedLoop:
    loop = isolated_loop(network, job, fraction, 0)
    assert loop is not None
    return loop


def test_an_isolated_job_of_a_fifth_computes_four_fifths() -> None:
    """0.1 ms of communication, a fifth of the period: 0.4 ms of computing in 0.5 ms."""
    loop = loop_of(tree_network(), swap(1, 0, 4), 0.2)
    assert loop.job.compute_s == pytest.approx(0.4e-3, rel=0.02)
    assert loop.period_s == pytest.approx(0.5e-3, rel=0.02)
    assert loop.comm_s / loop.period_s == pytest.approx(0.2, abs=1e-4)
    assert isolated_loop(tree_network(), PlacedJob(1, SWAP, np.array([3])), 0.2, 0) is None


def test_an_isolated_job_is_sent_twice() -> None:
    """Its second iteration is timed, and no third has begun."""
    network = SharedNetwork(make_routing(DRAGONFLY, "minimal"), seed=2)
    job = PlacedJob(3, Communication("all-to-all", 20_000), np.arange(1, 20, 2))
    once = Ensemble(network, [job]).packets()
    job = replace(job, compute_s=2 * float(once.time_s[0]))
    period_s, run = isolated_period(network, job, 0)
    assert run.iterations.tolist() == [2]
    assert run.packets.packet_hops == 2 * once.packets.packet_hops
    long = Ensemble(network, [job]).watched(20 * period_s, 1)
    assert period_s == pytest.approx(float(np.diff(long.ends_ps[0]).mean()) / 1e12, rel=0.03)


def test_a_search_goes_on_where_communication_is_far_from_what_was_assumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Forty times the least is within a factor of two of the second assumption."""
    runs: list[float] = []

    def counting(network: SharedNetwork, job: PlacedJob, stream: int) -> tuple[float, LoopTimes]:
        runs.append(job.compute_s)
        return isolated_period(network, job, stream)

    monkeypatch.setattr(snapshot_loops, "isolated_period", counting)
    near = loop_of(tree_network(), swap(1, 0, 4), 0.25)
    assert len(runs) == 1
    runs.clear()
    monkeypatch.setattr(snapshot_loops, "USUAL", 40)
    far = loop_of(tree_network(), swap(1, 0, 4), 0.25)
    assert len(runs) == 2
    assert runs[0] == pytest.approx(40 * 0.3e-3, rel=0.02)
    assert far.period_s == pytest.approx(near.period_s, rel=1e-6)


def test_jobs_begin_with_communication_at_random_moments() -> None:
    """From 0 to a period less half a communication; the computing that follows is drawn."""
    network = tree_network()
    loop = loop_of(network, swap(7, 0, 4), 0.5)
    starts = []
    for draw in range(400):
        job = snapshot_loops._from_phase(network, loop, 4 * draw, 0)
        starts.append(job.start_s / loop.period_s)
        later_s = np.array(network.computing_s(replace(job, communicates_first=False), 3))
        later_s[0] = 0.0
        np.testing.assert_array_equal(network.computing_s(job, 3), later_s)
    assert np.mean(np.array(starts) == 0) == pytest.approx(0.25, abs=0.07)
    assert max(starts) < 0.75
    assert np.mean(starts) == pytest.approx(0.75**2 / 2, abs=0.03)


def test_loops_end_a_communication_after_the_longest_period() -> None:
    """Whatever the phases: 0.5 and 0.1 ms of the job that communicates for a fifth."""
    for seed in (1, 2):
        network = tree_network(seed)
        jobs = [(swap(1, 0, 4), 0.2), (swap(2, 1, 5), 0.5)]
        loops = [loop_of(network, *one) for one in jobs]
        period_s, run = loops_together(network, loops)
        assert run.packets.end_ps == to_ps(loops[0].period_s + loops[0].comm_s)
        assert run.packets.end_ps == pytest.approx(0.6e9, rel=0.02)
        assert (run.iterations >= [1, 2]).all()
        assert (period_s >= [0.4999 * 1e-3, 0.1999 * 1e-3]).all()


def test_periods_are_those_of_loops_that_last_for_long() -> None:
    """The mean over draws agrees with the plain way: 40 periods of the longest job."""
    network = SharedNetwork(make_routing(DRAGONFLY, "minimal"), seed=5)
    sends = Communication("all-to-all", 20_000)
    nodes = np.random.default_rng(3).permutation(20)
    jobs = [
        (PlacedJob(1, sends, nodes[:4]), 0.4),
        (PlacedJob(2, sends, nodes[4:10]), 0.3),
        (PlacedJob(3, sends, nodes[10:18]), 0.5),
    ]
    loops = [loop_of(network, *one) for one in jobs]
    alone_s = np.array([loop.period_s for loop in loops])
    short = np.mean([loops_together(network, loops, draw=4 * k)[0] for k in range(60)], axis=0)
    plain = np.mean([loop_together(network, loops, 40, draw=4 * k)[0] for k in range(6)], axis=0)
    assert (plain > 1.02 * alone_s).any()
    np.testing.assert_allclose(short / alone_s, plain / alone_s, rtol=0.03)


def test_jobs_that_share_no_link_are_simulated_apart() -> None:
    """On leaves of their own two jobs never meet; across the tree they do, on some routings."""
    network = tree_network()
    pairs = [swap(1, 0, 1), swap(2, 2, 3), swap(3, 0, 2)]
    loops = [loop_of(network, job, 0.3) for job in pairs]
    assert groups_that_meet(network, loops[:2], False) == [[0], [1]]
    assert groups_that_meet(network, loops, False) == [[0, 1, 2]]
    assert groups_that_meet(network, loops, True) == [[0], [1], [2]]
    adaptive = tree_network(routing="adaptive")
    assert groups_that_meet(adaptive, loops[:2], False) == [[0, 1]]
    both_s, both = loops_together(network, loops[:2], least=2)
    apart_s = [loops_together(network, [loop])[0][0] for loop in loops[:2]]
    np.testing.assert_allclose(both_s, apart_s, rtol=1e-6)
    assert (both.iterations >= 2).all()


def test_links_of_shorter_groups_are_scaled_to_the_longest() -> None:
    """300 packets in 10 ps are 600 in 20 ps."""
    network = tree_network()
    _, run = isolated_period(network, swap(1, 0, 4), 0)
    short = replace(run.packets, end_ps=10, link_packets=np.array([300, 0, 1]))
    long = replace(run.packets, end_ps=20, link_packets=np.array([0, 7, 1]))
    found = united([short, long])
    assert found.end_ps == 20
    assert found.link_packets.tolist() == [600, 7, 3]
    assert united([short]) is short
