"""GPU clusters: which ports and links messages take, and their times, in all engines."""

from __future__ import annotations

import numpy as np
import pytest
from packet_cases import ENGINES, Send, Step, traffic

from netsim.errors import NetcosimError
from netsim.flow.job_load import job_link_load
from netsim.flow.job_routes import JobRoutes
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.parameters import call
from netsim.routing.registry import make_routing
from netsim.topologies.gpu_cluster import GpuFabric, gpu_cluster
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.registry import make_pattern

NIC, NVLINK = 50 * 10**9, 450 * 10**9
PACKETS = PacketConfig(packet_bytes=4096, buffer_bytes=1 << 18, router_latency_s=100e-9)


def small(**given: object) -> Topology:
    """Two pods of two nodes of four GPUs, spines between them."""
    params = {"nodes": 4, "gpus_per_node": 4, "nodes_per_leaf": 2, "spines": 2, **given}
    machine: Topology = call(gpu_cluster, params)
    return machine


def kinds_used(t: Topology, src: int, dst: int) -> list[str]:
    paths = flow_paths(make_routing(t), [src], [dst])
    return [t.kinds[t.link_kind[link]] for link in paths.links]


SCALE_UP = ["scale-up-injection", "scale-up-ejection"]
LEAF = ["injection", "ejection"]
SPINE = ["injection", "leaf-up", "leaf-down", "ejection"]
CORE = ["injection", "leaf-up", "spine-up", "spine-down", "leaf-down", "ejection"]
RELAY = ["injection", "relay", "scale-up-ejection"]


@pytest.mark.parametrize(
    ("params", "dst", "kinds"),
    [
        ({}, 3, SCALE_UP),
        ({}, 4, LEAF),
        ({}, 5, SPINE),
        ({}, 8, SPINE),
        ({"scale_up_domain": 8}, 7, SCALE_UP),
        ({"fabric": "leaf"}, 5, LEAF),
        ({"fabric": "leaf"}, 9, SPINE),
        ({"nodes_per_pod": 2}, 5, SPINE),
        ({"nodes_per_pod": 2}, 8, CORE),
        ({"fabric": "rail-only"}, 4, LEAF),
        ({"fabric": "rail-only"}, 5, RELAY),
        ({"fabric": "rail-only"}, 8, SPINE),
        ({"fabric": "rail-only"}, 9, [*SPINE[:-1], *RELAY[1:]]),
        ({"fabric": "rail-only", "nodes_per_pod": 2}, 8, CORE),
    ],
)
def test_a_message_crosses_the_scale_up_switch_or_its_nics_fabric(params, dst, kinds):
    assert kinds_used(small(**params), 0, dst) == kinds


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("dst", "links", "bandwidth_Bps", "wire_s", "hops"),
    [(3, 2, NVLINK, 25e-9, 1), (4, 2, NIC, 500e-9, 1), (5, 4, NIC, 500e-9, 3)],
    ids=["in a domain", "on a rail", "across rails"],
)
def test_one_message_takes_its_bytes_over_the_bandwidth_and_its_latencies(
    engine, dst, links, bandwidth_Bps, wire_s, hops
):
    n = 100
    ranks = [[Step([Send(1, n * 4096)])], [Step(need=1)]]
    t = small()
    sent = combine([traffic(*ranks).program], [np.array([0, dst])])
    done = ENGINES[engine](make_routing(t), sent, PACKETS, np.random.default_rng(0))
    expected = n * 4096 / bandwidth_Bps + links * wire_s + hops * 100e-9
    assert done.message_finish_ps[0] == pytest.approx(expected * 1e12, abs=n)


@pytest.mark.parametrize("planes", [1, 2])
def test_scale_up_and_nic_messages_of_a_gpu_do_not_delay_each_other(planes):
    size = 4096 * 90
    t = small(planes=planes)
    routing = make_routing(t)
    finish = []
    for sends in ([4], [1], [4, 1]):
        ranks = [[Step([Send(i + 1, size) for i in range(len(sends))])]]
        ranks += [[Step(need=1)] for _ in sends]
        sent = combine([traffic(*ranks).program], [np.array([0, *sends])])
        done = simulate_packets(routing, sent, PACKETS, np.random.default_rng(0))
        finish.append(done.message_finish_ps.tolist())
    assert finish[2] == [*finish[0], *finish[1]]


def test_each_rail_of_a_rail_fabric_has_an_all_to_all_at_the_rate_of_the_nics():
    t = gpu_cluster(nodes=8, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=4))
    n, size = 8, 1 << 20
    rails = [np.arange(8) * 4 + rail for rail in range(4)]
    program = make_pattern("all-to-all", n, size, 1, np.random.default_rng(0))
    load = job_link_load(
        make_routing(t), program.send_src(), program.send_dst, program.send_bytes, rails[0]
    )
    assert load.isolated_bound_s == pytest.approx((n - 1) * size / NIC)
    done = simulate_packets(
        make_routing(t, "adaptive-shortest-path"),
        combine([program] * 4, rails),
        PACKETS,
        np.random.default_rng(0),
    )
    assert done.group_finish_ps.max() < 1.15e12 * (n - 1) * size / NIC


@pytest.mark.parametrize("fabric", ["rail", "leaf", "rail-only"])
def test_bytes_on_links_are_the_same_in_packets_and_flows(fabric):
    t = small(fabric=fabric)
    routing = make_routing(t)
    n = t.n_nodes
    program = make_pattern("all-to-all", n, 8192, 1, np.random.default_rng(0))
    nodes = np.arange(n)
    done = simulate_packets(routing, combine([program], [nodes]), PACKETS, np.random.default_rng(0))
    load = job_link_load(routing, program.send_src(), program.send_dst, program.send_bytes, nodes)
    flows = np.zeros(t.n_links)
    flows[load.links] = load.link_bytes
    assert done.link_bytes.tolist() == flows.tolist()
    relayed = done.link_bytes[t.kind_mask("relay")].sum()
    assert (relayed > 0) == (fabric == "rail-only")


def test_gpus_that_share_a_nic_have_their_part_and_planes_theirs():
    t = small(nics_per_node=2, planes=2)
    assert set(t.link_bandwidth_Bps[t.kind_mask("injection")].tolist()) == {NIC // 4}
    assert t.rails == 3
    assert t.n_rails == 2
    s = t.shape
    leaf = s.leaf(np.arange(s.n_gpus)[:, None], np.arange(2))
    assert np.array_equal(t.port_router.reshape(-1, 3)[:, 1:], leaf)
    assert len(np.unique(leaf)) == s.sizes[1] == 16


def test_oversubscription_divides_the_up_links():
    t = gpu_cluster(
        nodes=32,
        fabric=GpuFabric(
            nodes_per_leaf=8, nodes_per_pod=16, oversubscription=2, core_oversubscription=4
        ),
    )
    assert t.shape.sizes == (32, 32, 2 * 4, 4 * 4)
    up = {kind: t.link_bandwidth_Bps[t.kind_mask(kind)].sum() for kind in t.kinds}
    assert up["injection"] == 2 * up["leaf-up"] == 8 * up["spine-up"]


@pytest.mark.parametrize(
    ("params", "sizes"),
    [
        # 2 GPUs a leaf over 1.5: 1.33; 3 leaves a spine over 2: 1.5; 3 pods, of 3, 3 and 1 leaves
        ({"oversubscription": 1.5, "core_oversubscription": 2}, (14, 7, 3 * 2, 2 * 2)),
        # the same leaf with a NIC of twice the bandwidth a GPU, over links of a NIC: 2.67
        ({"oversubscription": 1.5, "nics_per_node": 2}, (14, 7, 3 * 3, 3 * 3)),
        # the 4 GPUs of a segment on one leaf; on one a rail; rails with spines of their own
        ({"gpus_per_node": 2, "fabric": "leaf"}, (14, 7, 3 * 4, 4 * 3)),
        ({"gpus_per_node": 2}, (14, 14, 3 * 2, 2 * 6)),
        ({"gpus_per_node": 2, "fabric": "rail-only"}, (14, 14, 3 * 2 * 2, 2 * 2 * 3)),
        # domains of 3 nodes in segments of 3: 5 of each, of which the last has two nodes
        ({"scale_up_domain": 3, "nodes_per_leaf": 3}, (5, 5, 3 * 3, 3 * 2)),
        # pods of a leaf each have spines as well; one leaf in all has none
        ({"nodes_per_leaf": 7, "nodes_per_pod": 7}, (14, 2, 2 * 7, 7 * 1)),
        ({"nodes_per_leaf": 14, "nodes_per_pod": 14}, (14, 1, 0, 0)),
        ({"nodes_per_leaf": 20, "nodes_per_pod": 40}, (14, 1, 0, 0)),
        ({"nodes_per_leaf": 8, "nodes_per_pod": 14}, (14, 2, 8, 0)),
    ],
)
def test_up_links_are_rounded_up_and_last_segments_and_pods_may_be_smaller(params, sizes):
    """14 nodes of a GPU in segments of 2 and pods of 6: switches, leaves, spines, cores."""
    given = {"nodes": 14, "gpus_per_node": 1, "nodes_per_leaf": 2, "nodes_per_pod": 6}
    t = call(gpu_cluster, given | {"fabric_bandwidth_Bps": NIC} | params)
    assert t.shape.sizes == sizes
    # every leaf and spine has its up-links, to the spines and cores of its own pod and position
    for level, (low, high) in enumerate((t.shape.leaf_links(), t.shape.spine_links())):
        assert len(low) == len(set(zip(low.tolist(), high.tolist(), strict=True)))
        assert len(np.unique(low)) == sizes[1 + level] * bool(sizes[2 + level])
        assert len(np.unique(high)) == sizes[2 + level]


@pytest.mark.parametrize(
    ("params", "node_Bps"),
    [
        # of 4 GPUs and NICs of 50 GB/s
        ({"nics_per_node": 16}, 4 * NIC),
        ({"nics_per_node": 6}, 3 * NIC // 2),
        ({"nics_per_node": 1}, NIC // 4),
        ({"nics_per_node": 8, "planes": 4}, NIC // 2),
    ],
)
def test_several_nics_of_a_gpu_are_one_of_their_bandwidth(params, node_Bps):
    t = small(**params, fabric_bandwidth_Bps=10**9, fabric_latency_s=3e-6, nodes_per_pod=2)
    for kind in t.kinds:
        links = t.kind_mask(kind)
        to_node = kind in ("injection", "ejection", "relay")
        expected = NVLINK if "scale-up" in kind else node_Bps if to_node else 10**9
        assert set(t.link_bandwidth_Bps[links].tolist()) == {expected}, kind
        wire_s = 25e-9 if "scale-up" in kind else 500e-9 if to_node else 3e-6
        assert set(t.link_latency_s[links].tolist()) == {wire_s}, kind


def test_each_plane_has_spines_and_cores_of_its_own():
    """GPU 0 to GPU 12, from pod to pod over 2 planes: 6 links each, none of them shared."""
    t = small(planes=2, nodes_per_pod=2)
    paths = flow_paths(make_routing(t), [0], [12])
    links = paths.links.tolist()
    assert len(set(links)) == len(links) == 2 * len(CORE)
    ends = {int(t.link_src[i]) for i in links} | {int(t.link_dst[i]) for i in links}
    # ports of either end, two leaves, two spines and a core, twice
    assert len(ends) == 2 * (2 + 2 + 2 + 1)


def test_one_cable_joins_each_further_plane_with_the_first():
    """Leaves of GPU 0: router 4 in plane 0, behind 4 scale-up switches, and 12 in plane 1."""
    low, high = small(planes=2).shape.relays()
    assert (low.tolist(), high.tolist()) == ([0, 1, 2, 3, 4], [4, 4, 8, 8, 12])


@pytest.mark.parametrize(("domain", "first_gpus"), [(4, [0, 4, 8, 12]), (8, [0, 8])])
def test_one_cable_joins_each_scale_up_domain_with_a_leaf(domain, first_gpus):
    """Of four nodes of four GPUs; a domain may be two nodes. Its first GPU's leaf has the cable."""
    t = small(scale_up_domain=domain)
    links = t.kind_mask("relay")
    ends = np.stack([t.link_src[links], t.link_dst[links]]) - t.n_ports
    leaf = t.port_router[2 * np.array(first_gpus) + 1]
    low = np.arange(len(first_gpus))
    both = {*zip(low.tolist(), leaf.tolist(), strict=True)}
    assert {*map(tuple, ends.T.tolist())} == both | {(b, a) for a, b in both}
    assert ends.shape == (2, 2 * len(first_gpus))


def test_the_flow_model_of_running_jobs_takes_the_ports_of_the_packets():
    t = small()
    routes = JobRoutes(make_routing(t))
    links, n_bytes, _ = routes.of(
        np.array([0, 0, 0]), np.array([1, 4, 5]), np.array([10.0, 20.0, 30.0]), np.arange(3)
    )
    assert [t.kinds[t.link_kind[link]] for link in links] == ["leaf-up", "leaf-down"]
    assert n_bytes.tolist() == [30.0, 30.0]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"scale_up_domain": 6}, "scale_up_domain = 6; it must be a multiple of gpus_per_node, 4"),
        ({"scale_up_domain": 8, "nodes_per_leaf": 1}, "nodes_per_leaf = 1; it must be a multiple"),
        ({"nodes_per_pod": 3}, "nodes_per_pod = 3; it must be a multiple of nodes_per_leaf, 2"),
        ({"fabric": "rail-only", "planes": 2}, "planes = 2; a rail-only fabric has 1"),
        ({"fabric": "torus"}, "fabric = 'torus'; valid: rail, leaf, rail-only"),
        ({"nodes": 0}, "nodes = 0"),
        ({"nodes_per_leaf": 0}, "nodes_per_leaf = 0"),
        ({"nodes_per_pod": 0}, "nodes_per_pod = 0"),
        ({"nics_per_node": 0}, "nics_per_node = 0"),
        # both ways: two ports of each of 4e9 GPUs, and at most as many relays, of one leaf
        (
            {"nodes": 10**9, "nodes_per_leaf": 10**9, "fabric": "leaf"},
            "makes 4,000,000,000 nodes and 24,000,000,000 links; at most",
        ),
        # in two pods of a leaf: 2 x 2 cables to spines and 4 x 1 to cores more, both ways
        (
            {"nodes": 10**9, "nodes_per_leaf": 5 * 10**8, "nodes_per_pod": 5 * 10**8}
            | {"fabric": "leaf"},
            "nodes and 24,000,000,016 links; at most",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params, words):
    with pytest.raises(NetcosimError, match=words):
        small(**params)
