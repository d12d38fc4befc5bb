"""Up ports by chance and by load: who is drawn how often, and what that does to traffic."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from test_routing_kernels import ArrayView

from experiments.kit.load_latency import Window
from experiments.kit.load_networks import CYCLE_S, NETWORKS, packet_config
from experiments.kit.offered import offered_load
from experiments.validation.reference.decisions import choose_of
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.routing.kernels_random import packet_key
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree, xgft
from netsim.traffic import combine
from patterns.registry import make_pattern

UP = 5


def taken(name: str, loads: list[int], n: int = 6000) -> list[float]:
    """Share of packets that take each of the up ports of leaf 0, of these loads."""
    topology = xgft(2, 3, 2, UP, 2)
    routing, shape = make_routing(topology, name), topology.shape
    waiting = np.zeros(topology.n_links, dtype=np.int64)
    waiting[[shape.leaf_up(0, i) for i in range(UP)]] = loads
    empty = np.zeros((topology.n_links, 1))
    view = ArrayView(0, np.zeros(topology.n_links), waiting, empty, empty)
    keys = (int(packet_key(np.uint64(1), np.int64(i), np.int64(0), np.int64(0))) for i in range(n))
    count = Counter(choose_of(routing)(view, 0, 11, 0, key, 1).link for key in keys)
    return [count[shape.leaf_up(0, i)] / n for i in range(UP)]


@pytest.mark.parametrize(
    ("name", "loads", "shares"),
    [
        ("d-mod-k", [9, 9, 9, 9, 9], [0, 1, 0, 0, 0]),
        # one of those alike, wherever they stand, idle or not
        ("adaptive", [0, 0, 0, 0, 0], [1 / 5] * 5),
        ("adaptive", [0, 0, 9, 0, 9], [1 / 3, 1 / 3, 0, 1 / 3, 0]),
        ("adaptive", [7, 9, 7, 9, 9], [1 / 2, 0, 1 / 2, 0, 0]),
        ("adaptive", [3, 2, 1, 2, 3], [0, 0, 1, 0, 0]),
        # of the pairs of five ports, those in which a port is the less loaded
        ("two-choice", [5, 4, 3, 2, 1], [0, 1 / 10, 2 / 10, 3 / 10, 4 / 10]),
        ("two-choice", [0, 0, 0, 0, 0], [1 / 5] * 5),
        ("two-choice", [1, 0, 1, 1, 1], [3 / 20, 2 / 5, 3 / 20, 3 / 20, 3 / 20]),
        ("random-up", [0, 9, 99, 999, 0], [1 / 5] * 5),
    ],
)
def test_up_ports_are_drawn_as_told(name: str, loads: list[int], shares: list[float]) -> None:
    """Within five standard deviations."""
    for share, expected in zip(taken(name, loads), shares, strict=True):
        assert share == pytest.approx(expected, abs=5 * (expected * (1 - expected) / 6000) ** 0.5)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("d-mod-k", 4.9, 6.2),
        ("adaptive", 1.2, 1.5),
        ("two-choice", 1.2, 1.45),
        ("random-up", 1.25, 1.5),
    ],
)
def test_a_permutation_of_long_messages_ends_soon_where_ties_are_broken_by_chance(name, low, high):
    """1024 nodes, 200 kB each, over a node's time to send them. With ties towards the D-mod-k
    port "adaptive" took 2.2 to 2.3 times as long: all leaves chose alike in step."""
    topology = fat_tree(16)
    ideal_s = 200_000 / int(topology.link_bandwidth_Bps[0])
    for seed in range(2):
        program = make_pattern("permutation", 1024, 200_000, 1, np.random.default_rng(seed))
        run = combine([program], [np.arange(1024)])
        rng = np.random.default_rng(seed)
        got = simulate_packets(make_routing(topology, name), run, PacketConfig(), rng)
        assert low < got.end_ps / PS_PER_S / ideal_s < high


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("d-mod-k", 0.55, 0.7),
        ("adaptive", 0.91, 0.945),
        ("two-choice", 0.935, 0.955),
        ("random-up", 0.935, 0.955),
    ],
)
def test_accepted_load_of_permutations(name: str, low: float, high: float) -> None:
    """Mean of four permutations of 64 nodes at 0.95. Ties towards the D-mod-k port gave 0.88."""
    routing = make_routing(NETWORKS["fattree-64"].build(), name)
    window = Window(*(cycles * CYCLE_S for cycles in (8000, 8000, 10)))
    accepted = [
        offered_load(
            routing, "permutation", 0.95, window, packet_config(32), rng, cycle_s=CYCLE_S
        ).accepted
        for rng in map(np.random.default_rng, range(4))
    ]
    assert low < np.mean(accepted) < high
