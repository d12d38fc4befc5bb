"""Laws of placement on GPU clusters, on random histories; `full` runs 400 of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import hierarchy_reference as plain
import numpy as np
import pytest
from alloc_helpers import snapshot

import netcosim as nc
from alloc.policy import Policy, Request
from alloc.registry import POLICIES, make_policy
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.gpu_cluster import GpuFabric, ScaleUp, gpu_cluster
from netsim.topologies.torus import torus
from netsim.topology import Topology

HISTORIES = [100, pytest.param(400, marks=pytest.mark.full)]
EVENTS = 12

GPUS = gpu_cluster(16, gpus_per_node=2, fabric=GpuFabric(nodes_per_leaf=2, nodes_per_pod=8))
"""2 pods of 4 segments of 2 nodes of 2 GPUs."""
RACKS = gpu_cluster(
    12, gpus_per_node=2, scale_up=ScaleUp(scale_up_domain=6), fabric=GpuFabric(nodes_per_leaf=6)
)
"""4 scale-up domains of 3 nodes of 2 GPUs."""
ROWS = hierarchy_of(GPUS).domain.tolist()


def policy_of(topology: Topology, name: str, **parameters: object) -> Policy:
    return make_policy(topology, name, np.random.default_rng(1), parameters)


def free_of(policy: Policy) -> set[int]:
    return set(np.flatnonzero(policy._free).tolist())  # type: ignore[attr-defined]


def placements(
    policy: Policy, histories: int, seed: int
) -> Iterator[tuple[set[int], int, list[int] | None]]:
    """Free nodes, size and result of each request; at the end everything is free again."""
    rng = np.random.default_rng(seed)
    n_nodes, empty = policy.topology.n_nodes, snapshot(policy)
    for _ in range(histories):
        running = []
        mean = n_nodes * rng.choice([0.03, 0.1, 0.25])
        for job, leaves in enumerate(rng.random(EVENTS) < 0.35):
            if leaves and running:
                policy.release(running.pop(rng.integers(len(running))))
                continue
            size = min(n_nodes, 1 + int(rng.exponential(mean)))
            free = free_of(policy)
            placement = policy.allocate(Request(job, size))
            yield free, size, None if placement is None else placement.nodes.tolist()
            if placement is not None:
                running.append(placement)
        for placement in running:
            policy.release(placement)
        # buddies merge: nothing is left of the history
        after = snapshot(policy)
        assert {k: v for k, v in after.items() if k not in ("rng", "_back")} == {
            k: v for k, v in empty.items() if k not in ("rng", "_back")
        }


@pytest.mark.parametrize("histories", HISTORIES)
def test_hived_splits_no_cell_that_need_not_be(histories: int) -> None:
    for free, size, nodes in placements(policy_of(GPUS, "hived"), histories, 1):
        fewest = plain.fewest_splits(ROWS, free, size)
        assert (nodes is None) == (fewest is None)
        if nodes is not None:
            assert len(nodes) == size
            assert nodes == sorted(nodes)
            assert plain.split_cells(ROWS, free, set(nodes)) == fewest


def test_hived_takes_the_container_whose_rest_splits_no_entire_cell() -> None:
    """Twelve GPUs: a segment of 2 nodes of 4, and a node. Pod 0 has two entire segments, pod 1 one.

    Pod 0 has fewer free GPUs, 16 of 18, but would split its second segment. In pod 1 there is
    segment 3, a node and 3 GPUs of segment 4, and 3 GPUs of segment 5.
    """
    machine = gpu_cluster(12, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=2, nodes_per_pod=6))
    policy = policy_of(machine, "hived")
    policy.take(1, np.array([*range(16, 24), *range(39, 45)]))  # type: ignore[attr-defined]
    placement = policy.allocate(Request(2, 12))
    assert placement is not None
    assert placement.nodes.tolist() == [*range(24, 36)]


@pytest.mark.parametrize("histories", HISTORIES)
@pytest.mark.parametrize("segment", [2, 4])
def test_segments_lie_in_one_domain_each(histories: int, segment: int) -> None:
    policy = policy_of(RACKS, "segment", segment=segment, level="domain")
    domain = hierarchy_of(RACKS).domain[2]
    for free, size, nodes in placements(policy, histories, 2):
        # servers that are entirely free, for jobs that need one or more
        usable = free if size < 2 else {v for v in free if {v, v ^ 1} <= free}
        expected = plain.segment(domain.tolist(), usable, size, segment)
        assert (nodes is None) == (expected is None)
        if nodes is not None:
            assert len(nodes) == size
            for first in range(0, size, segment):
                assert len(set(domain[nodes[first : first + segment]])) == 1
            if size > 2:
                assert nodes == expected


@pytest.mark.parametrize("histories", HISTORIES)
def test_balanced_differs_by_at_most_one_node_a_leaf_where_possible(histories: int) -> None:
    leaf = hierarchy_of(GPUS).domain[2]
    for free, size, nodes in placements(policy_of(GPUS, "balanced"), histories, 3):
        if nodes is None:
            continue
        # of entirely free nodes, by one of their two GPUs
        usable = {v // 2 for v in free if {v, v ^ 1} <= free}
        parts = Counter(leaf[2 * v] for v in {gpu // 2 for gpu in nodes})
        if size > 2:
            fewest = plain.balanced(leaf[::2].tolist(), usable, -(-size // 2))
            if fewest is not None:
                assert len(parts) == fewest
                assert max(parts.values()) - min(parts.values()) <= 1
        assert len(nodes) == len(set(nodes)) == size
        assert set(nodes) <= free


ON_SERVERS = sorted(name for name, p in POLICIES.items() if not p.families and not p.replays)


@pytest.mark.parametrize("name", ON_SERVERS)
def test_any_policy_keeps_small_jobs_to_a_server_and_gives_large_ones_entire_servers(name):
    wide = gpu_cluster(12, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=3, nodes_per_pod=6))
    policy = policy_of(wide, name)
    placed = 0
    for free, size, nodes in placements(policy, 30, 4):
        room = Counter(gpu // 4 for gpu in free)
        if nodes is None:
            continue
        placed += 1
        servers = Counter(gpu // 4 for gpu in nodes)
        assert len(servers) == -(-size // 4)
        if size <= 4:
            # best fit among the servers with enough free GPUs
            tight = min(n for n in room.values() if n >= size)
            assert name == "hived" or room[next(iter(servers))] == tight
        elif name != "hived":
            assert all(room[server] == 4 for server in servers)
        # ranks of a server stay together
        assert sum(a // 4 != b // 4 for a, b in pairwise(nodes)) == (len(servers) - 1)
    assert placed > 50


def test_a_job_of_a_part_of_a_server_waits_for_one_and_fills_gaps_first() -> None:
    cluster = gpu_cluster(3, gpus_per_node=4)
    policy = policy_of(cluster, "baseline")
    assert not policy.counts_only
    assert policy_of(torus((6,)), "baseline").counts_only
    taken = [policy.allocate(Request(k, n)) for k, n in enumerate((3, 2, 4, 1, 1))]
    assert [p.nodes.tolist() for p in taken if p] == [[0, 1, 2], [4, 5], [8, 9, 10, 11], [3], [6]]
    # one GPU is free, then three on two servers
    assert policy.allocate(Request(9, 2)) is None
    policy.release(taken[3])
    policy.release(taken[4])
    assert policy.n_free == 3
    assert policy.allocate(Request(9, 3)) is None
    placement = policy.allocate(Request(9, 2))
    assert placement is not None
    assert placement.nodes.tolist() == [6, 7]


def test_levels_of_switches_hold_servers() -> None:
    """Slurm's leaf is a leaf switch on a GPU cluster, not the server."""
    cluster = gpu_cluster(8, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=2, nodes_per_pod=4))
    policy = policy_of(cluster, "slurm-tree")
    assert policy.hierarchy.levels == ("machine", "pod", "segment")  # type: ignore[attr-defined]
    one = policy.allocate(Request(1, 4))
    two = policy.allocate(Request(2, 8))
    assert one is not None and two is not None  # noqa: PT018
    # the leaf with one free server stays as it is, and the next has both
    assert (one.nodes[0], two.nodes[0]) == (0, 8)


# TPU slices


CHIPS = torus((8, 8, 8))


def cubes(nodes: list[int]) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(c // 4 for c in np.unravel_index(nodes, (8, 8, 8))), strict=True))


@pytest.mark.parametrize("optical", [False, True])
@pytest.mark.parametrize("histories", [10, pytest.param(200, marks=pytest.mark.full)])
def test_slices_are_aligned_cuboids_or_entire_cubes(histories: int, optical: bool) -> None:
    policy = policy_of(CHIPS, "tpu-slices", optical=optical)
    for free, size, nodes in placements(policy, histories, 5):
        entire = sum(n == 64 for n in cubes(sorted(free)).values()) if free else 0
        if nodes is None:
            assert entire < -(-size // 64) or (size > 64 and not optical)
            continue
        assert set(nodes) <= free
        used = cubes(nodes)
        if size > 32:
            assert set(used.values()) == {64}
            corner = np.array(list(used))
            if not optical:
                # cubes of a ring of two are neighbours both ways: any cuboid of them
                assert np.prod([len(set(axis)) for axis in corner.T]) == len(used)
            else:
                assert len(used) == -(-size // 64)
        else:
            assert len(nodes) == 1 << (size - 1).bit_length()
            assert len(used) == 1
            at = np.array(np.unravel_index(nodes, (8, 8, 8)))
            edges = at.max(axis=1) - at.min(axis=1) + 1
            assert edges.prod() == len(nodes)
            assert np.all(at.min(axis=1) % edges == 0)


@pytest.mark.parametrize(
    ("chips", "edges"), [(4, (1, 2, 2)), (8, (2, 2, 2)), (16, (2, 2, 4)), (32, (2, 4, 4))]
)
def test_published_small_slices(chips: int, edges: tuple[int, ...]) -> None:
    """Shapes of TPU v4 slices of less than a cube, up to their orientation (Jouppi et al.)."""
    placement = policy_of(CHIPS, "tpu-slices").allocate(Request(1, chips))
    assert placement is not None
    at = np.array(np.unravel_index(placement.nodes, (8, 8, 8)))
    assert tuple((at.max(axis=1) - at.min(axis=1) + 1).tolist()) == edges


def test_optical_switches_join_cubes_that_are_no_cuboid() -> None:
    """Of 8 cubes the two at opposite corners are free: 128 chips need the switches."""
    corner = np.stack(np.unravel_index(np.arange(512), (8, 8, 8))) // 4
    apart = np.flatnonzero((corner == corner[0]).all(axis=0))
    for optical in (False, True):
        policy = policy_of(CHIPS, "tpu-slices", optical=optical)
        policy.take(1, np.setdiff1d(np.arange(512), apart))  # type: ignore[attr-defined]
        placement = policy.allocate(Request(2, 128))
        assert (placement is not None) == optical


def test_what_is_refused() -> None:
    with pytest.raises(NetcosimError, match="segment = 3; it must be a multiple of the 2 GPUs"):
        policy_of(RACKS, "segment", segment=3)
    with pytest.raises(NetcosimError, match="unknown level"):
        policy_of(RACKS, "segment", level="rack")
    assert not policy_of(RACKS, "segment", segment=10, level="domain").fits_empty(20)
    pairs = policy_of(RACKS, "segment", segment=2)
    assert [pairs.fits_empty(n) for n in (0, 1, 24, 25)] == [False, True, True, False]
    assert nc.make_policy(CHIPS, "tpu-slices", np.random.default_rng(0)).fits_empty(512)


def test_replay_takes_the_gpus_of_the_log_whatever_their_servers() -> None:
    policy = policy_of(GPUS, "replay")
    policy.take(1, np.array([0]))  # type: ignore[attr-defined]
    given = np.array([7, 4], dtype=np.int32)
    placement = policy.allocate(Request(2, 2, nodes=given))
    assert placement is not None
    assert placement.nodes.tolist() == [7, 4]
