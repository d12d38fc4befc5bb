"""Hashed and sprayed flows: loads of up-links, polarisation, and the same paths in all engines."""

from __future__ import annotations

import numpy as np
import pytest

from netsim.errors import NetcosimError
from netsim.flow.job_load import path_link_bytes
from netsim.flow.paths import flow_paths, walk_view
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import xgft
from netsim.topologies.gpu_cluster import GpuFabric, Nics, gpu_cluster
from netsim.traffic import combine
from patterns.registry import make_pattern


def uplink_loads(routing: Routing, seed: int, flows: int) -> np.ndarray:
    """Flows on each up-link of the first leaf, if each node sends to one of the other leaf."""
    topology = routing.topology
    src = np.arange(flows)
    paths = flow_paths(routing, src, flows + src, seed=seed, view=walk_view(routing))
    load = path_link_bytes(paths, np.ones(flows), topology.n_links)
    return load[topology.shape.first_up1 :][:flows]


@pytest.mark.parametrize(
    ("uplinks", "queue_pairs", "ratio"),
    [
        (8, 1, 2.60),
        (8, 4, 1.76),
        (8, 16, 1.37),
        (16, 1, 3.08),
        (16, 4, 1.97),
        (16, 16, 1.46),
        (64, 1, 3.98),
        (64, 4, 2.34),
        (64, 16, 1.63),
    ],
)
def test_load_of_the_fullest_up_link_at_one_flow_an_up_link(uplinks, queue_pairs, ratio):
    """Monte Carlo of balls into bins (FIELD_NOTES 15), mean over many seeds."""
    tree = xgft(uplinks, 2, w2=uplinks, levels=2)
    routing = make_routing(tree, "ecmp", {"queue_pairs": queue_pairs})
    loads = [uplink_loads(routing, seed, uplinks) for seed in range(24_000 // uplinks)]
    assert np.sum(loads, axis=1) == pytest.approx(uplinks)
    assert np.mean(np.max(loads, axis=1)) == pytest.approx(ratio, rel=0.02)


def test_a_flow_keeps_its_path_and_queue_pairs_have_paths_of_their_own():
    tree = xgft(8, 2, w2=8, levels=2)
    one, four = (make_routing(tree, "ecmp", {"queue_pairs": n}) for n in (1, 4))
    for seed in range(20):
        each = [flow_paths(one, [0], [8], size, seed=seed).links for size in (1.0, 1e9)]
        assert np.array_equal(*each)
        assert len(each[0]) == 4
        split = flow_paths(four, [0], [8], seed=seed)
        assert set(split.weights.tolist()) <= {0.25, 0.5, 0.75, 1.0}
        up = tree.kind_mask("up1")[split.links]
        assert split.weights[up].sum() == 1.0


def test_one_hash_seed_on_both_tiers_polarises():
    """Leaves and spines of 8 up-links: each spine sends all flows to one core of its 8."""
    cluster = gpu_cluster(
        nodes=16, gpus_per_node=8, fabric=GpuFabric(nodes_per_leaf=8, nodes_per_pod=8)
    )
    src = np.arange(64)
    used = {}
    for seeds in ("same", "different"):
        routing = make_routing(cluster, "ecmp", {"hash_seeds": seeds})
        paths = flow_paths(routing, src, 64 + src, seed=3)
        up = np.unique(paths.links[cluster.kind_mask("spine-up")[paths.links]])
        spines = np.unique(cluster.link_src[up])
        used[seeds] = len(up) / len(spines)
    assert used["same"] == 1
    assert used["different"] > 3


@pytest.mark.parametrize("queue_pairs", [1, 4])
def test_packets_and_flows_take_the_same_links(queue_pairs):
    cluster = gpu_cluster(
        nodes=8, gpus_per_node=4, nics=Nics(planes=2), fabric=GpuFabric(nodes_per_leaf=2)
    )
    routing = make_routing(cluster, "ecmp", {"queue_pairs": queue_pairs})
    program = make_pattern("all-to-all", 32, 4096 * 16, 1, np.random.default_rng(0))
    traffic = combine([program], [np.arange(32)])
    config = PacketConfig(packet_bytes=4096)
    done = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    seed = int(np.random.default_rng(5).integers(2**63))
    paths = flow_paths(routing, program.send_src(), program.send_dst, seed=seed)
    load = path_link_bytes(paths, program.send_bytes.astype(float), cluster.n_links)
    assert load.tolist() == done.link_bytes.tolist()


def test_sprayed_packets_spread_over_all_up_links():
    tree = xgft(4, 2, w2=4, levels=2)
    program = make_pattern("all-to-all", 8, 1 << 20, 1, np.random.default_rng(0))
    traffic = combine([program], [np.arange(8)])
    config = PacketConfig(packet_bytes=4096)
    up = tree.kind_mask("up1")
    spread = {}
    for name in ("spray", "ecmp"):
        routing = make_routing(tree, name)
        done = simulate_packets(routing, traffic, config, np.random.default_rng(0))
        spread[name] = done.link_bytes[up].max() / done.link_bytes[up].mean()
    assert spread["spray"] < 1.06 < 1.2 < spread["ecmp"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"queue_pairs": 0}, "queue_pairs = 0"), ({"hash_seeds": "one"}, "hash_seeds = 'one'")],
)
def test_parameters_that_do_not_fit_are_refused(parameters, words):
    with pytest.raises(NetcosimError, match=words):
        make_routing(xgft(2, 2, levels=2), "ecmp", parameters)
