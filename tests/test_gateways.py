"""Background I/O to gateways, and nodes that drive less than their link, by closed forms.

A link that two streams want serves both packet by packet. Whoever sends all the time over a link
of which I/O takes a share d gets 1 - d of it: its iteration is 1 / (1 - d) as long.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples
from two_jobs import exchange, sides_of

from alloc.nodes import NodePolicy, Nodes
from alloc.policy import Request
from alloc.registry import make_policy
from cosim.measuring.snapshots import Study
from cosim.measuring.steady import Steadying, SteadySnapshot
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.gateways import GatewayIo, keep_off
from cosim.parameters import SteadyRules
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from patterns.registry import make_pattern

LINK_BPS = 10**9
SWAP = exchange(100_000)
RULES = SteadyRules(noise=0.0, phases="locked", least_iterations=64)


def ring() -> Topology:
    speeds = {"link_bandwidth_Bps": LINK_BPS, "node_bandwidth_Bps": LINK_BPS}
    return make_topology("torus", {"dims": [4], "concentration": 2, **speeds})


def study(
    tmp_path: Path,
    topology: Topology,
    free: dict[int, float],
    sizes: tuple[int, ...],
    *,
    io: GatewayIo | None = None,
    policies: tuple[str, ...] = ("baseline",),
) -> Study:
    """Jobs of these sizes, one after the other on the nodes that come free at these times."""
    network = SharedNetwork(make_routing(topology), task_mapping="in-order", seed=1)
    all_free = dict.fromkeys(range(topology.n_nodes), 5000.0) | free
    sides = sides_of(tmp_path, network, all_free, sizes, policies)
    n = len(sides[policies[0]].schedule.workload)
    zeros, ones = np.zeros(n, int), np.ones(n)
    return Study(sides, policies[0], [SWAP], zeros, ones, 1, io=io)


def seen(found: Study, rules: SteadyRules = RULES) -> SteadySnapshot:
    snapshot = Steadying(found, rules).watched(0)
    assert snapshot is not None
    return snapshot


def longer(found: SteadySnapshot, name: str = "baseline") -> np.ndarray:
    return found.mean_s[name] / found.alone_s[name]


def gateway(node: int, drive: float, message_bytes: int = 20_000) -> GatewayIo:
    return GatewayIo(np.array([node], dtype=np.int32), drive, message_bytes)


def network(topology: Topology) -> SharedNetwork:
    return SharedNetwork(make_routing(topology), task_mapping="random", seed=1)


@pytest.mark.parametrize(("drive", "writers"), [(1.0, 1), (0.5, 1), (0.1, 1), (0.1, 2), (0.1, 4)])
def test_a_node_keeps_its_link_busy_for_the_share_asked_for(drive: float, writers: int) -> None:
    """Of T a write, one every T / d; several nodes at one gateway take longer and pause less."""
    machine = network(ring())
    job = gateway(7, drive).of_job(machine, 5, np.arange(writers))
    ends = Ensemble(machine, [job]).loops(0.01).ends_ps[0]
    hop_s = 2e-6
    assert np.diff(ends).mean() / 1e12 == pytest.approx(20_000 / LINK_BPS / drive, abs=hop_s)


def test_a_full_gateway_slows_those_that_write() -> None:
    """Six nodes that would each fill half of the gateway's link get a sixth each."""
    machine = network(ring())
    job = gateway(7, 0.5).of_job(machine, 5, np.arange(6))
    ends = Ensemble(machine, [job]).loops(0.01).ends_ps[0]
    assert np.diff(ends).mean() / 1e12 == pytest.approx(6 * 20_000 / LINK_BPS, rel=0.02)


@pytest.mark.parametrize("drive", [0.05, 0.1])
def test_io_that_crosses_a_jobs_cable_takes_its_share(drive: float) -> None:
    """A write of T takes 2 T among an exchange that never ends, every T / d + T: 1 + d."""
    machine = replace(network(ring()), task_mapping="in-order")
    job = PlacedJob(1, SWAP, np.array([0, 2]))
    crossing = gateway(3, drive).of_job(machine, 5, np.array([1]))
    both = Ensemble(machine, [job, crossing]).loops(0.05)
    alone = Ensemble(machine, [job]).loops(0.05)
    assert both.time_s[0] / alone.time_s[0] == pytest.approx(1 + drive, rel=0.005)


@pytest.mark.parametrize("drive", [0.05, 0.1])
def test_a_jobs_own_io_waits_and_takes_its_turn(tmp_path: Path, drive: float) -> None:
    """Nodes 0 and 2 exchange S = 5 M all the time and write M to node 3 beside node 2. A write
    waits on its node's link for half an S in the mean: one every T (1 / d + 2.5)."""
    found = seen(study(tmp_path, ring(), {0: 10.0, 2: 10.0}, (2,), io=gateway(3, drive)))
    share = 1 / (1 / drive + 2.5)
    assert longer(found)[0] == pytest.approx(1 / (1 - share), abs=0.015)
    off = seen(study(tmp_path, ring(), {0: 10.0, 2: 10.0}, (2,)))
    assert longer(off).tolist() == [1]
    assert off.alone_s["baseline"][0] == pytest.approx(found.alone_s["baseline"][0], rel=1e-6)


@pytest.mark.parametrize("drive", [0.01, 0.02])
def test_what_others_write_crosses_an_isolated_jobs_links(tmp_path: Path, drive: float) -> None:
    """Jigsaw's jobs on nodes 1, 2 and 4, 5, 6 of a tree; node 0, beside node 1, is the gateway.
    Four nodes write over the one cable on which the first job's node 1 hears from node 2."""
    tree = fat_tree(4, bandwidth_Bps=LINK_BPS)
    free = {1: 10.0, 2: 10.0, 3: 30.0, 4: 30.0, 5: 30.0, 6: 30.0}
    both = ("baseline", "jigsaw")
    found = seen(study(tmp_path, tree, free, (2, 3), io=gateway(0, drive), policies=both))
    assert longer(found, "jigsaw")[0] == pytest.approx(1 / (1 - 4 * drive), abs=0.01)
    # the second is met by what its own nodes write
    assert 1 < longer(found, "jigsaw")[1] < 1 + 1.5 * drive
    quiet = seen(study(tmp_path, tree, free, (2, 3), policies=both))
    assert longer(quiet, "jigsaw").tolist() == [1, 1]


def test_at_half_drive_two_jobs_on_one_cable_do_not_meet(tmp_path: Path) -> None:
    """Each way of the cable has room for both; at full drive they take twice as long."""
    free = {0: 10.0, 4: 10.0, 1: 30.0, 6: 30.0}
    stretches = []
    for drive in (1.0, 0.5):
        tree = fat_tree(4, bandwidth_Bps=LINK_BPS, node_bandwidth_Bps=int(drive * LINK_BPS))
        found = seen(study(tmp_path, tree, free, (2, 2)))
        assert found.link_s.tolist() == [100_000 / LINK_BPS / drive] * 2
        stretches.append(longer(found))
    np.testing.assert_allclose(stretches[0], 2, rtol=0.05)
    np.testing.assert_allclose(stretches[1], 1, rtol=0.03)


def test_the_speed_to_nodes_is_a_key_beside_radix() -> None:
    said = {"family": "fattree", "radix": 4, "bandwidth": "5 GB/s", "node_bandwidth": "2 GB/s"}
    other = {"workload": {"synthetic": {"n_jobs": 3}}, "queue": {"policies": ["random"]}}
    machine = config_from({"machine": said, **other}).machine.parameters
    assert machine["node_bandwidth_Bps"] == 2 * 10**9
    topology = make_topology("fattree", machine)
    ends = topology.link_bandwidth_Bps[: topology.first_router_link]
    assert set(ends.tolist()) == {2 * 10**9}
    assert set(topology.link_bandwidth_Bps[topology.first_router_link :].tolist()) == {5 * 10**9}


@examples(25)
@given(
    gateways=st.sets(st.integers(0, 15), min_size=1, max_size=6),
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=12),
    name=st.sampled_from(["baseline", "random", "longest-idle", "slurm-tree", "jigsaw", "laas"]),
)
def test_no_job_gets_a_gateway(gateways: set[int], sizes: list[int], name: str) -> None:
    policy = make_policy(fat_tree(4), name, np.random.default_rng(1))
    keep_off(policy, np.array(sorted(gateways)))
    assert policy.n_free == 16 - len(gateways)
    for k, size in enumerate(sizes):
        placement = policy.allocate(Request(k, size))
        if placement is not None:
            assert not gateways & set(placement.nodes.tolist())
        if policy.counts_only:
            assert (placement is None) == (sum(sizes[: k + 1]) > 16 - len(gateways))
        if placement is None:
            break


def content(**io: object) -> dict[str, object]:
    said = {"pattern": "all-to-all", "node_bytes": 65536, "communication_fraction": 0.5}
    return {
        "machine": {"family": "fattree", "radix": 4},
        "workload": {
            "synthetic": {"n_jobs": 30, "mean_nodes": 4},
            "all_at_zero": True,
            "larger_jobs": "drop",
        },
        "queue": {"policies": ["random", "jigsaw"], "run_time_model": "as-logged"},
        "communication": {"mix": [said], **({"io": io} if io else {})},
        "run": {"measure": "steady", "snapshots": 2, "steady": {"precision": 0.1}},
    }


def test_a_config_names_gateways() -> None:
    """Jobs keep off them, send what they sent, and isolated ones are met by what others write."""
    quiet = run_cosim(config_from(content()))
    found = run_cosim(config_from(content(gateways="0,9", drive=0.05)))
    assert found.measurement is not None
    for schedule in found.schedules.values():
        assert schedule.placements is not None
        assert not {0, 9} & set(schedule.placements.nodes.tolist())
    rows = [row for row in found.measurement.tables["pairs"] if row["policy"] == "jigsaw"]
    assert np.mean([row["policy_s"] / row["policy_alone_s"] for row in rows]) > 1.01  # type: ignore[operator]
    drawn = dict(zip(quiet.workload.job_id.tolist(), quiet.share.tolist(), strict=True))
    again = dict(zip(found.workload.job_id.tolist(), found.share.tolist(), strict=True))
    assert again == {job: drawn[job] for job in again}
    assert "io" not in config_from(content()).resolved()["communication"]


@pytest.mark.parametrize(
    ("io", "told"),
    [
        ({"gateways": "16"}, "16"),
        ({"gateways": "all"}, "some nodes must be left to jobs"),
        ({"drive": 0.1}, "communication.io.gateways"),
        ({"gateways": "0", "drive": 0.0}, "drive"),
        ({"gateways": "0", "message_bytes": 0}, "message_bytes"),
    ],
)
def test_what_is_refused(io: dict[str, object], told: str) -> None:
    with pytest.raises(NetcosimError, match=re.escape(told)) as caught:
        run_cosim(config_from(content(**io)))
    assert "\n" not in str(caught.value)


def test_no_other_measure_has_io() -> None:
    other = {**content(gateways="0"), "run": {"measure": "stretch", "snapshots": 1}}
    with pytest.raises(NetcosimError, match="steady"):
        config_from(other)


class InPairs(NodePolicy):
    """Gives two nodes to a job of one."""

    name = "in-pairs"
    description = "two at a time"

    def _select(self, n_nodes: int) -> Nodes:
        return np.flatnonzero(self._free)[: 2 * n_nodes]


def test_a_policy_of_whole_blocks_cannot_keep_off_nodes() -> None:
    with pytest.raises(NetcosimError, match="'in-pairs' gives whole blocks"):
        keep_off(InPairs(fat_tree(4), np.random.default_rng(1)), np.array([5]))


def test_the_pattern_by_hand() -> None:
    program = make_pattern("gateways", 5, 100, 1, np.random.default_rng(0), {"gateways": 2})
    sent = sorted(zip(program.send_src(), program.send_dst, program.send_bytes, strict=True))
    assert sent == [(0, 3, 100), (1, 4, 100), (2, 3, 100), (3, 0, 8), (3, 2, 8), (4, 1, 8)]
