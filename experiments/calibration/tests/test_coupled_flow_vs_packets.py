"""The comparison of both levels, where their answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from test_coupled_flow import job_network, one_cable
from test_coupled_packets import LONG, long_messages

from alloc.registry import make_policy
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.packet_judge import level_errors
from experiments.calibration.flow_levels import compare_mix, random_mix
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree


@pytest.mark.parametrize(("fraction", "slowdown"), [(1.0, 3.0), (0.5, 1.6)])
def test_three_jobs_on_one_cable(fraction: float, slowdown: float) -> None:
    """Each fills the cable while it communicates, always or for half of its time.

    Then two find each other there for 1/2: s = 1.5, so for 1.5 / 2.5 = 0.6 of the time. The third
    has s = 1 + 2 * 0.6, which is 1.6 of its run time.
    """
    network = long_messages(job_network(make_routing(one_cable())))
    jobs = [Situation(k, np.array([k, k + 3], np.int32).tobytes(), fraction) for k in range(3)]
    found = compare_mix(network, jobs, LONG)
    np.testing.assert_allclose(found.flow, slowdown, rtol=0.05)
    np.testing.assert_allclose(found.packet, slowdown, rtol=0.05)
    assert found.share.tolist() == [0, 1, 2]
    assert found.n_nodes.tolist() == [2, 2, 2]
    assert found.shares.tolist() == [True] * 3


def test_jobs_on_leaves_of_their_own_are_one_at_both_levels() -> None:
    network = job_network(make_routing(fat_tree(4)))
    jobs = [Situation(k, np.array([2 * k, 2 * k + 1], np.int32).tobytes()) for k in range(3)]
    found = compare_mix(network, jobs, PacketBudget())
    assert found.flow.tolist() == found.packet.tolist() == [1.0, 1.0, 1.0]
    assert found.shares.tolist() == [False] * 3


def test_who_has_a_cable_for_itself_shares_nothing() -> None:
    network = long_messages(job_network(make_routing(one_cable())))
    found = compare_mix(
        network, [Situation(0, np.array([0, 3], np.int32).tobytes())], PacketBudget()
    )
    assert found.shares.tolist() == [False]


def test_summary_numbers() -> None:
    flow, packet = np.array([1.0, 1.1, 1.2, 1.3]), np.ones(4)
    assert level_errors(flow, packet)["error_p50"] == pytest.approx(0.15)
    assert level_errors(flow, packet)["error_p90"] == pytest.approx(0.27)
    assert level_errors(flow, np.arange(1.0, 5.0))["rank_correlation"] == pytest.approx(1)


def test_mixes_fill_the_machine_without_overlap() -> None:
    topology = fat_tree(6)
    network = job_network(make_routing(topology))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        policy = make_policy(topology, "random", rng)
        jobs = random_mix(network, policy, rng, largest=20, fill=0.8)
        nodes = np.concatenate([np.frombuffer(job.nodes, np.int32) for job in jobs])
        assert len(np.unique(nodes)) == len(nodes)
        assert len(nodes) > 0.5 * topology.n_nodes
        assert all(2 <= job.n_nodes <= 20 for job in jobs)
        # the job that makes the share full is the last
        assert len(nodes) - jobs[-1].n_nodes < 0.8 * topology.n_nodes
        rng = np.random.default_rng(seed)
        few = random_mix(network, make_policy(topology, "random", rng), rng, largest=5, fill=0.2)
        placed = [job.n_nodes for job in few]
        assert sum(placed[:-1]) < 0.2 * topology.n_nodes <= sum(placed)
