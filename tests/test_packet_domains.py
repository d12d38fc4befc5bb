"""How a machine is cut into domains for threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from routing_machines import on_every_routing, small_machines

from experiments.validation.reference.decisions import choose_of
from netsim.packet.build import build_arrays, choose_clock
from netsim.packet.build_domains import lookahead
from netsim.packet.crossbar.build import with_crossbars
from netsim.packet.domains import make_domains, router_load, router_row
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.torus import torus
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.registry import make_pattern


def even(topology: Topology) -> np.ndarray:
    return np.ones(topology.n_routers)


@pytest.mark.parametrize("topology", small_machines(), ids=lambda t: t.name)
def test_every_router_is_in_one_domain_and_links_follow_their_ends(topology: Topology) -> None:
    for n in (1, 2, 3, 5):
        domains = make_domains(topology, even(topology), n)
        assert domains.n == min(n, topology.n_routers)
        assert set(domains.router) <= set(range(domains.n))
        # a node is where its first router is, with all of its ports
        of_node = np.repeat(domains.router[topology.node_router], topology.rails)
        of = np.concatenate([of_node, domains.router])
        np.testing.assert_array_equal(domains.link_from, of[topology.link_src])
        np.testing.assert_array_equal(domains.link_to, of[topology.link_dst])
    np.testing.assert_array_equal(np.sort(router_row(topology)), np.arange(topology.n_routers))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_dragonfly_is_cut_between_its_groups_where_their_wires_are_longer(n: int) -> None:
    topology = dragonfly(2, 8, 33, links=GroupLinks(local_latency_s=10e-9))
    domains = make_domains(topology, even(topology), n)
    groups = domains.router.reshape(33, 8)
    assert np.all(groups == groups[:, :1])
    share = np.bincount(domains.router, minlength=n) / topology.n_routers
    assert np.all(np.abs(share - 1 / n) <= 1 / 33 + 1e-9)


def test_a_cut_goes_through_long_wires_where_it_can() -> None:
    """A row of 64 routers is cut in the middle, or beside it if the wires there are longer."""
    topology = torus((64,), wrap=False)
    latency = np.full(topology.n_links, 1e-8)
    between = np.sort(np.stack([topology.link_src, topology.link_dst]), axis=0) - topology.n_ports
    longer = (between[0] == 30) & (between[1] == 31)
    latency[longer] = 1e-6
    far = Topology(**{**vars(topology), "link_latency_s": latency})
    load = even(far)
    first = np.flatnonzero(make_domains(far, load, 2).router)[0]
    assert first == 31
    assert np.flatnonzero(make_domains(topology, load, 2).router)[0] == 32
    load[:31] = 0.1  # too far from even
    assert np.flatnonzero(make_domains(far, load, 2).router)[0] > 31


def test_a_torus_is_cut_into_slabs() -> None:
    topology = torus((8, 4, 4))
    domains = make_domains(topology, even(topology), 4)
    slabs = domains.router.reshape(8, 16)
    assert np.all(slabs == slabs[:, :1])
    assert slabs[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_fat_trees_pods_stay_whole() -> None:
    """With their leaves go the nodes; core switches are nobody's and go where they balance."""
    topology = fat_tree(8)
    domains = make_domains(topology, even(topology), 2)
    pods = domains.router[topology.node_router].reshape(8, -1)
    assert np.all(pods == pods[:, :1])
    assert pods[:, 0].tolist() == [0] * 4 + [1] * 4
    # links between a leaf and its pod's switches never cross
    ends = topology.link_kind[domains.border_links]
    assert {topology.kinds[k] for k in np.unique(ends)} <= {"up2", "down2", "up", "down"}


def test_load_is_where_the_packets_are() -> None:
    """All jobs in the first groups: the cut lies among them."""
    topology = dragonfly(2, 4, 9)
    nodes = np.arange(16)
    jobs = combine([make_pattern("all-to-all", 16, 5000, 1, np.random.default_rng(1))], [nodes])
    load = router_load(topology, jobs, 1000)
    assert load[:8].min() > 2 * load[8:].max()
    # 15 messages of 5 packets out of and into each of two nodes; a share of what is on its way
    assert load[0] - load[-1] == pytest.approx(2 * 2 * 15 * 5)
    shares = np.bincount(make_domains(topology, load, 2).router, load)
    assert shares.max() < 0.6 * load.sum()


def test_load_of_messages_of_all_sizes_is_that_of_their_packets() -> None:
    topology, rng = dragonfly(2, 4, 9), np.random.default_rng(2)
    pattern = make_pattern("all-to-all", 16, 5000, 1, rng)
    jobs = combine([pattern, pattern], [rng.permutation(72)[:16], np.arange(40, 56)])
    program = jobs.program
    sizes = rng.integers(1, 9000, program.n_messages)
    jobs = replace(jobs, program=replace(program, send_bytes=sizes))
    expected = np.zeros(topology.n_routers)
    for ends in (program.send_src(), program.send_dst):
        np.add.at(expected, topology.node_router[jobs.rank_node[ends]], -(-sizes // 1000))
    load = router_load(topology, jobs, 1000)
    np.testing.assert_allclose(load - load[-1], expected - expected[-1])


@pytest.mark.parametrize(
    ("router_s", "more", "ahead_ps"),
    [
        # a packet of 1000 B is on a link for 80 ns, and crosses a crossbar of speed-up 2 in 40 ns
        (100e-9, {}, 500_000 + 80_000),
        (50e-9, {}, 500_000 + 50_000),
        (100e-9, {"router": "input-queued", "crossbar_speedup": 2.0}, 500_000 + 40_000),
    ],
)
def test_domains_look_ahead_by_the_wires_that_join_them(router_s, more, ahead_ps) -> None:
    """Wires of 500 ns between groups; those in a group, of 10 ns, join no two domains."""
    topology = dragonfly(
        1,
        2,
        4,
        links=GroupLinks(
            node_latency_s=10e-9,
            local_latency_s=10e-9,
            global_latency_s=500e-9,
            node_bandwidth_Bps=12_500_000_000,
            local_bandwidth_Bps=12_500_000_000,
            global_bandwidth_Bps=12_500_000_000,
        ),
    )
    routing = make_routing(topology, "minimal")
    pattern = make_pattern("all-to-all", 8, 1000, 1, np.random.default_rng(1))
    traffic = combine([pattern], [np.arange(8)])
    config = PacketConfig(packet_bytes=1000, router_latency_s=router_s, **more)
    clock = choose_clock(topology, traffic, config, None)
    arrays, crossbar = build_arrays(routing, traffic, config, clock, 1, False), None
    if config.input_queued:
        arrays, crossbar = with_crossbars(arrays, routing, config, clock)
    domains = make_domains(topology, even(topology), 2)
    assert domains.router.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert lookahead(domains, topology, arrays, crossbar) * clock.tick_ps == ahead_ps


@on_every_routing
def test_routings_that_can_be_split_look_at_their_own_routers_links_alone(routing: Routing) -> None:
    """Walk packets through a view that notes what is looked at."""
    topology = routing.topology
    looked: set[int] = set()

    class Seen:
        """Whatever is asked of a link, noted."""

        def _ask(self, link: int) -> int:
            looked.add(int(topology.link_src[link]) - topology.n_ports)
            return link * key % 20_000

        def load(self, link: int) -> int:
            return self._ask(link)

        def room(self, link: int, vc: int) -> int:
            return self._ask(link)

        def queued(self, link: int) -> int:
            return self._ask(link)

        def used(self, link: int) -> int:
            return self._ask(link)

        def queue_bytes(self, link: int, vc: int) -> int:
            return self._ask(link)

        def queue_free(self, link: int, vc: int) -> int:
            return self._ask(link)

    view, rng, far = Seen(), np.random.default_rng(2), False
    for _ in range(300):
        src, dst = rng.integers(0, topology.n_ports, 2)
        src = int(src) // topology.rails * topology.rails + int(dst) % topology.rails
        router, state = int(topology.port_router[src]), 0
        for _ in range(30):
            looked.clear()
            key = int(rng.integers(0, 2**63))
            hop = choose_of(routing)(view, router, int(dst), state, key, 1000)
            far = far or bool(looked - {router})
            if hop.link < topology.first_router_link:
                break
            router, state = int(topology.link_dst[hop.link]) - topology.n_ports, hop.state
    assert routing.looks_far or not far
    if routing.looks_far and topology.n_nodes > 8:
        assert far
