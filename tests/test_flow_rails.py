"""The flow level of nodes with several ports and of rendezvous, beside packets."""

from __future__ import annotations

import numpy as np
import pytest
from packet_cases import Send, Step, program

from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.loops import least_iteration_s
from netsim.errors import NetcosimError
from netsim.flow.job_messages import job_messages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.message_load import message_load
from netsim.flow.message_network import MessageNetwork
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly

FAST = 10**11
"""Links between routers that limit nothing."""


def machine(rails: int):
    return dragonfly(
        2, 4, 3, rails=rails, links=GroupLinks(local_bandwidth_Bps=FAST, global_bandwidth_Bps=FAST)
    )


def alone_s(routing, sent, nodes, packets: PacketConfig) -> float:
    network: MessageNetwork[int] = MessageNetwork(routing.topology.n_links)
    load = message_load(JobRoutes(routing), job_messages(sent, 1, packets), nodes, packets)
    network.change([(0, load)], [])
    return network.alone_s(0)


def pair(size: int):
    return program([Step([Send(1, size)])], [Step(need=1)])


@pytest.mark.parametrize("rails", [1, 2, 4])
def test_a_message_takes_its_node_s_links_all_at_once(rails):
    """8 MB at 1 GB/s a port; the latency of the way is below a microsecond."""
    took = alone_s(make_routing(machine(rails)), pair(8_000_000), np.array([0, 5]), PacketConfig())
    assert took == pytest.approx(8e-3 / rails, rel=1e-3)


def test_a_rendezvous_pays_the_way_three_times():
    routing, nodes = make_routing(machine(1)), np.array([0, 20], dtype=np.int32)
    both_ways = program([Step([Send(1, 8000)], need=1)], [Step([Send(0, 8000)], need=1)])
    eager, above = (
        alone_s(routing, both_ways, nodes, PacketConfig(eager_limit_bytes=limit))
        for limit in (8000, 7999)
    )
    latency_s = eager - 8e-6
    assert latency_s > 100e-9
    assert above - eager == pytest.approx(2 * latency_s)


def test_what_keeps_to_a_rail_is_told_by_packets_alone():
    packets = PacketConfig(rail_policy="pinned")
    with pytest.raises(NetcosimError, match="rail_policy = 'pinned' on 2 ports a node"):
        alone_s(make_routing(machine(2)), pair(8000), np.array([0, 5]), packets)
    assert alone_s(make_routing(machine(1)), pair(8000), np.array([0, 5]), packets) > 0


@pytest.mark.parametrize(
    ("policy", "ports", "at_once"),
    [("striped", 2, 2), ("round-robin", 2, 1), ("pinned", 1, 1)],
)
def test_flows_of_jobs_take_the_rails_of_their_messages(policy, ports, at_once):
    """One rank a node and a message to each other, one a step: pinned, the second port lies idle,
    and in turn, one port does while the other sends, which flows (all at once) cannot see."""
    network = SharedNetwork(
        make_routing(machine(2)), PacketConfig(rail_policy=policy), task_mapping="in-order"
    )
    said = Communication("all-to-all", message_bytes=100_000)
    job = PlacedJob(1, said, np.arange(9))
    ensemble = Ensemble(network, [job])
    bound_s = 8 * 1e5 / 1e9 / ports
    assert ensemble.flows().bound_s[0] == pytest.approx(bound_s, rel=1e-6)
    assert ensemble.flow_finishes_s([1.0])[0] == pytest.approx(bound_s, rel=0.2)
    steps_s = 8 * 1e5 / 1e9 / at_once
    assert steps_s < ensemble.packets().time_s[0] < 1.1 * steps_s
    least = least_iteration_s(machine(2), network.program(job, 1), np.arange(9, dtype=np.int32))
    assert least == pytest.approx(8 * 1e5 / 2e9)
