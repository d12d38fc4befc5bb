"""Files of servers with GPUs: their ports and switches, and the same machine built twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.flow.paths import flow_paths
from netsim.hierarchy import hierarchy_of
from netsim.layout import layout_of
from netsim.routing.registry import make_routing
from netsim.topologies.cables import cables
from netsim.topologies.family import EqualLinks
from netsim.topologies.gpu_cluster import GpuFabric, gpu_cluster
from netsim.topologies.topology_conf import Uplinks, topology_conf
from netsim.topology import Topology
from queuesim.observables.locality import locality
from queuesim.queue import simulate_queue
from workloads.job import bare_jobs

TREE = """\
SwitchName=leaf1 Nodes=n[1-4]
SwitchName=leaf2 Nodes=n[5-8]
SwitchName=spine Switches=leaf[1-2]
"""
BLOCKS = """\
BlockName=b1 Nodes=n[1-2]
BlockName=b2 Nodes=n[3-4]
BlockName=b3 Nodes=n[5-6]
BlockSizes=2,4
"""
NIC = 50 * 10**9


def file_of(folder: Path, text: str, name: str = "topology.conf") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def kinds_of_path(topology: Topology, src: int, dst: int) -> list[str]:
    paths = flow_paths(make_routing(topology, "ecmp"), [src], [dst])
    return [topology.kinds[kind] for kind in topology.link_kind[paths.links]]


def test_a_tree_of_servers_is_a_leaf_spine_cluster_of_gpus(tmp_path: Path) -> None:
    """Up-links: 4 servers of 8 NICs, 4:1, are 8; `gpu_cluster` builds as many, to 8 spines."""
    made = topology_conf(
        file_of(tmp_path, TREE),
        gpus_per_node=8,
        up=Uplinks(taper=0.25),
        links=EqualLinks(node_bandwidth_Bps=NIC, link_bandwidth_Bps=NIC),
    )
    other = gpu_cluster(8, fabric=GpuFabric(fabric="leaf", nodes_per_leaf=4, oversubscription=4.0))
    assert made.n_nodes == other.n_nodes == 64
    assert made.rails == other.rails == 2
    assert made.node_names[:2] == ("n1:0", "n1:1")
    assert np.array_equal(made.scale_up, other.scale_up)
    for kinds in (("injection", "injection"), ("up", "leaf-up"), ("scale-up-injection",) * 2):
        mine, known = (
            sorted(t.link_bandwidth_Bps[t.kind_mask(kind)].tolist())
            for t, kind in zip((made, other), kinds, strict=True)
        )
        assert mine == known
    ours, theirs = hierarchy_of(made), hierarchy_of(other)
    assert ours.counts == theirs.counts == (1, 2, 8)
    assert np.array_equal(ours.domain, theirs.domain)
    assert kinds_of_path(made, 0, 7) == ["scale-up-injection", "scale-up-ejection"]
    assert kinds_of_path(made, 0, 8) == ["injection", "ejection"]
    assert kinds_of_path(made, 0, 63) == ["injection", "up", "down", "ejection"]
    assert made.shape.gpus_per_node == 8
    # switches of the servers stand in a row below the leaves
    row = dict(zip(made.shape.switches, layout_of(made).y.tolist(), strict=True))
    assert row["n1 scale-up"] == row["n8 scale-up"] > row["leaf1"] == row["leaf2"] > row["spine"]


def test_ports_of_a_server_are_dealt_to_its_gpus(tmp_path: Path) -> None:
    """Two rails and four GPUs: GPUs 0 and 1 share the port on the first, at half its speed."""
    rows = ["a,b,bandwidth", *(f"n{i},rail{r},{NIC}" for i in range(2) for r in range(2))]
    rows += [f"rail{r},spine,{NIC}" for r in range(2)]
    text = "\n".join(rows).replace(str(NIC), "400 Gbit/s")
    made = cables(file_of(tmp_path, text, "c.csv"), nodes="n[0-1]", gpus_per_node=4)
    nics = made.port_router.reshape(8, 2)[:, 1]
    assert [made.shape.switches[i] for i in nics] == 2 * ["rail0", "rail0", "rail1", "rail1"]
    assert set(made.link_bandwidth_Bps[made.kind_mask("injection")]) == {NIC // 2}
    two_each = cables(file_of(tmp_path, text, "c.csv"), nodes="n[0-1]", gpus_per_node=1)
    assert two_each.rails == 3
    with pytest.raises(NetcosimError, match="servers have 2 ports, which 3 GPUs cannot share"):
        cables(file_of(tmp_path, text, "c.csv"), nodes="n[0-1]", gpus_per_node=3)


def test_blocks_of_servers_count_gpus(tmp_path: Path) -> None:
    made = topology_conf(file_of(tmp_path, BLOCKS), gpus_per_node=4)
    found = hierarchy_of(made)
    assert found.levels == ("machine", "block-4", "block", "node")
    assert found.counts == (1, 2, 3, 6)
    assert made.shape.block_sizes == (8, 16)


def test_locality_counts_switches_and_not_servers() -> None:
    machine = gpu_cluster(4, gpus_per_node=2, fabric=GpuFabric(nodes_per_leaf=2))
    policy = make_policy(machine, "baseline", np.random.default_rng(1))
    jobs = bare_jobs(
        "two",
        submit_s=np.zeros(2),
        run_time_s=np.ones(2),
        n_nodes=np.array([2, 6], dtype=np.int32),
        requested_s=np.ones(2),
    )
    schedule = simulate_queue(jobs, policy, rng=np.random.default_rng(1), keep_placements=True)
    found = locality(schedule)
    assert found.levels == ("segment",)
    assert found.spanned.tolist() == [[1, 2]]
