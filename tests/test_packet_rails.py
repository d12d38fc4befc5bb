"""Messages over several ports of a node, in both packet engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packet_cases import ENGINES, GBPS, L, R, Send, Step, config
from packet_cases import traffic as traffic_of

from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig, PacketResult
from netsim.packet.rails import first_rail, place_on_node
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topology import Ports, RouterLinks, build_topology

SHORT = 2 * L + R
"""Latency of a way over one router."""


def ring(
    port_router: list[int], rails: int, *, node_Bps: int = GBPS, n_routers: int = 1
) -> Routing:
    """Routers in a ring of cables of 1 GB/s, ports where they are said to be."""
    here = np.arange(n_routers if n_routers > 2 else n_routers - 1)
    there = (here + 1) % n_routers
    topology = build_topology(
        family="graph",
        name="ring",
        shape=None,
        n_routers=n_routers,
        ports=Ports(
            router=np.array(port_router), bandwidth_Bps=node_Bps, latency_s=L * 1e-12, rails=rails
        ),
        links=RouterLinks(
            src=np.concatenate([here, there]),
            dst=np.concatenate([there, here]),
            kind=np.zeros(2 * len(here), dtype=int),
            kinds=("cable",),
            bandwidth_Bps=GBPS,
            latency_s=L * 1e-12,
        ),
    )
    return make_routing(topology, "shortest-path")


@pytest.fixture(params=ENGINES)
def run(request):
    engine = ENGINES[request.param]

    def simulate(routing: Routing, traffic, packets: PacketConfig) -> PacketResult:
        return engine(routing, traffic, packets, np.random.default_rng(0))

    return simulate


@pytest.mark.parametrize(("rails", "packets_behind"), [(1, 10), (2, 5), (4, 3), (16, 1)])
def test_a_striped_message_takes_the_time_of_its_longest_part(run, rails, packets_behind):
    """Ten packets of 1000 ns over R rails: ceil(10 / R) of them, one after the other."""
    done = run(ring([0] * 2 * rails, rails), traffic_of([Step([Send(1, 10_000)])], [Step(need=1)]),
               config())  # fmt: skip
    assert done.message_finish_ps.tolist() == [SHORT + packets_behind * 1_000_000]
    assert done.link_packets[:rails].sum() == 10
    assert done.link_packets[:rails].max() == packets_behind


def test_only_the_last_packet_of_a_striped_message_is_shorter(run):
    """Packets of 1000, 1000, 1000 and 500 bytes on two rails, two on each.

    The fourth is the last of the second rail's part: that part has 1500 bytes.
    """
    done = run(ring([0] * 4, 2), traffic_of([Step([Send(1, 3500)])], [Step(need=1)]), config())
    assert done.link_bytes[:2].tolist() == [2000, 1500]
    assert done.message_finish_ps.tolist() == [SHORT + 2_000_000]


@pytest.mark.parametrize("policy", ["round-robin", "pinned"])
def test_a_message_on_one_rail_takes_as_long_as_with_one_rail(run, policy):
    packets = replace(config(), rail_policy=policy)
    done = run(ring([0] * 8, 4), traffic_of([Step([Send(1, 10_000)])], [Step(need=1)]), packets)
    assert done.message_finish_ps.tolist() == [SHORT + 10_000_000]
    assert done.link_packets.tolist() == [10, 0, 0, 0] + [0] * 8 + [10, 0, 0, 0]


def test_messages_take_the_rails_in_turn_local_ones_counted(run):
    """Rank 0 sends five messages, the second to a rank of its own node; two rails."""
    sends = [Send(1, 1000), Send(2, 1000), Send(1, 2000), Send(1, 3000), Send(1, 4000)]
    traffic = traffic_of([Step(sends)], [Step(need=4)], [Step(need=1)], nodes=[0, 1, 0])
    done = run(ring([0] * 4, 2), traffic, replace(config(), rail_policy="round-robin"))
    assert done.link_packets[:2].tolist() == [1 + 2 + 4, 3]
    assert done.link_packets[6:8].tolist() == [1 + 2 + 4, 3]


def test_ranks_of_a_node_have_rails_of_their_own(run):
    """Three ranks a node on two rails: ranks 0 and 2 share rail 0."""
    ranks = [[Step([Send(r + 3, 1000 * (r + 1))])] for r in range(3)]
    traffic = traffic_of(*ranks, *([Step(need=1)] for _ in range(3)), nodes=[0, 0, 0, 1, 1, 1])
    done = run(ring([0] * 4, 2), traffic, replace(config(), rail_policy="pinned"))
    assert done.link_packets[:2].tolist() == [1 + 3, 2]


def test_a_rail_goes_to_the_same_port_of_the_receiver(run):
    """Port r of node n hangs on router r: a rail's packets never leave their router."""
    done = run(ring([0, 1, 2, 0, 1, 2], 3, n_routers=3),
               traffic_of([Step([Send(1, 7000)])], [Step(need=1)]), config())  # fmt: skip
    assert done.link_packets[12:].sum() == 0
    assert done.link_packets[9:12].tolist() == [3, 2, 2]


def test_the_order_of_ranks_on_a_node_is_that_of_their_group():
    traffic = traffic_of(*([Step()] for _ in range(6)), nodes=[5, 2, 5, 2, 2, 5])
    assert place_on_node(traffic).tolist() == [0, 0, 1, 1, 2, 2]
    two_groups = replace(traffic, rank_group=np.array([0, 0, 0, 1, 1, 1]), start_s=np.zeros(2))
    assert place_on_node(two_groups).tolist() == [0, 0, 1, 0, 1, 0]
    on_one_node = replace(two_groups, rank_node=np.zeros(6, dtype=np.int32))
    assert place_on_node(on_one_node).tolist() == [0, 1, 2, 0, 1, 2]


def test_a_job_takes_the_rails_that_it_takes_alone():
    """The numbers of messages begin anew with each rank."""
    ranks = [[Step([Send(1, 1), Send(1, 1), Send(1, 1)])], [Step([Send(0, 1)]), Step([Send(0, 1)])]]
    traffic = traffic_of(*ranks)
    assert first_rail(traffic, 2, "striped").tolist() == [0, 1, 0, 0, 1]


def test_an_unknown_policy_is_refused():
    with pytest.raises(NetcosimError, match="unknown rail_policy 'stripes'; did you mean striped"):
        PacketConfig(rail_policy="stripes")
