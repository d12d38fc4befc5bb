"""Laws that every allocation policy keeps, on random histories."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from alloc_helpers import CASES, MACHINES, fresh, histories, shared_nodes, snapshot
from hypothesis import given
from hypothesis import strategies as st
from selection import examples, first_of_each

from alloc.isolation import shared_links
from alloc.policy import Placement, Policy, Request
from alloc.registry import POLICIES, make_policy, policies_for
from netsim.errors import NetcosimError
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue
from workloads.synthetic import laas_workload

CUBOIDS = {"cuboid-best", "cuboid-worst", "menu", "menu-proposed", "contention-aware"}
BLUE_GENE = {"cobalt", "cobalt-sl", "cobalt-pf", "cobalt-combo"}
ROUNDS_UP = {"laas", "laas-coded", "first-fit-cuboid", "tpu-slices"} | CUBOIDS | BLUE_GENE
SOME = examples(10)

ONCE = first_of_each(CASES, lambda case: case[0], lambda case: case[1])


def check_placement(machine, name, n_nodes, placement, busy):
    nodes = placement.nodes.tolist()
    assert len(set(nodes)) == len(nodes)
    assert not busy & set(nodes)
    assert min(nodes) >= 0
    assert max(nodes) < MACHINES[machine].n_nodes
    if name in ROUNDS_UP:
        assert len(nodes) >= n_nodes
    else:
        assert len(nodes) == n_nodes


@pytest.mark.parametrize(("machine", "name"), ONCE)
@SOME
@given(events=histories())
def test_random_history(machine, name, events):
    topology, policy = MACHINES[machine], fresh(machine, name)
    empty = snapshot(policy)
    running: list[Placement] = []
    for job_id, (release, fraction, which) in enumerate(events):
        busy = {int(v) for p in running for v in p.nodes}
        assert policy.n_free == topology.n_nodes - len(busy)
        if release and running:
            policy.release(running.pop(which % len(running)))
            continue
        n_nodes = max(1, round(fraction * topology.n_nodes))
        before = snapshot(policy)
        fits = n_nodes <= policy.n_free
        placement = policy.allocate(Request(job_id, n_nodes))
        if policy.counts_only:
            assert (placement is not None) == fits
        if placement is None:
            assert snapshot(policy) == before
            assert running, "a size that fits the empty machine must be placed on it"
            continue
        check_placement(machine, name, n_nodes, placement, busy)
        if release:
            policy.release(placement)
            after = snapshot(policy)
            before.pop("rng"), after.pop("rng")
            assert after == before
            placement = policy.allocate(Request(job_id, n_nodes))
        running.append(placement)
        if policy.isolates:
            assert shared_links(topology, running) == []
        assert shared_nodes(running) == []
    for placement in running:
        policy.release(placement)
    after = snapshot(policy)
    after.pop("rng"), empty.pop("rng")
    assert after == empty


@pytest.mark.parametrize(("machine", "name"), ONCE)
@examples(6)
@given(events=histories(), held=st.booleans())
def test_what_is_ruled_out_cannot_be_placed(machine, name, events, held):
    topology, policy = MACHINES[machine], fresh(machine, name)
    rng, link_Bps = np.random.default_rng(len(events)), float(topology.link_bandwidth_Bps.max())
    running: list[Placement] = []
    for job_id, (release, fraction, which) in enumerate(events):
        if release and running:
            policy.release(running.pop(which % len(running)))
        n_nodes = max(1, round(fraction * topology.n_nodes / 2))
        need_Bps = link_Bps * rng.integers(1, 5) / 8
        placement = policy.allocate(Request(job_id, n_nodes, bandwidth_Bps=need_Bps))
        running += [] if placement is None else [placement]
    head = policy.clone().allocate(Request(998, 1)) if held else None
    if head is not None:
        policy.hold(head)
    sizes = np.arange(1, topology.n_nodes + 1)
    # more needs than `alloc.fattree.lc_s.MAX_LEVELS`
    needs_Bps = rng.permutation(np.linspace(0.1, 1.0, len(sizes)) * link_Bps)
    out = ~policy.may_place(sizes, needs_Bps)
    for n_nodes, need_Bps in zip(sizes[out].tolist(), needs_Bps[out].tolist(), strict=True):
        assert policy.allocate(Request(999, n_nodes, bandwidth_Bps=need_Bps)) is None


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        # two leaves a pod: two nodes of a pod, or whole leaves, of which there are none
        ("jigsaw", {1, 2}),
        ("laas", {1, 2}),
        # one node of each of eight leaves
        *((name, set(range(1, 9))) for name in ("lc", "lc-s")),
        # one on a leaf; two of a pod are too few for more than a leaf; all for more than a pod
        ("ta", {1, 5, 6, 7, 8}),
    ],
)
def test_possible_sizes_by_hand(name, possible):
    """16 nodes, two a leaf, four a pod: one of each leaf is free."""
    policy = make_policy(fat_tree(4), name, np.random.default_rng(1))
    request = partial(Request, n_nodes=1, bandwidth_Bps=1.0)
    jobs = [policy.allocate(request(job_id)) for job_id in range(16)]
    for job in sorted(jobs, key=lambda job: job.nodes[0])[::2]:
        policy.release(job)
    sizes = np.arange(1, 17)
    assert set(sizes[policy.may_place(sizes, np.ones(16))].tolist()) == possible
    if name != "lc":
        return
    # each leaf keeps one up-link, to the other L2 switch than its neighbour in the pod
    policy._free.up[:] = [1, 2] * 4
    assert set(sizes[policy.may_place(sizes)].tolist()) == {1, 2, 3, 4}  # a leaf of each pod
    policy._free.up[:] = 3
    policy._free.spine[:] = 0
    assert set(sizes[policy.may_place(sizes)].tolist()) == {1, 2}  # within a pod


def test_possible_sizes_by_need_by_hand():
    """All links are half used; 80 % of them may be, so that 30 % are left for a job over leaves."""
    topology = fat_tree(4)
    policy = make_policy(topology, "lc-s", np.random.default_rng(1))
    link_Bps = float(topology.link_bandwidth_Bps[0])
    policy._used[:] = int(0.5 * link_Bps)
    needs_Bps = np.array([0.2, 0.29, 0.31]) * link_Bps
    for n_nodes, possible in ((2, [True] * 3), (3, [True, True, False]), (16, [True, True, False])):
        assert policy.may_place(np.full(3, n_nodes), needs_Bps).tolist() == possible


@pytest.mark.parametrize("name", ["jigsaw", "laas", "lc", "lc-s", "ta"])
def test_full_queues_are_equal_without_bounds(name, monkeypatch):
    """All wait at once; the plain search tries more sizes, and places the same."""
    topology, calls, schedules = fat_tree(6), [], []
    kind = POLICIES[name]
    allocate = kind.allocate
    jobs = laas_workload(150, 5, np.random.default_rng(3), requested_factor=(1.0, 3.0))
    needs_Bps = np.random.default_rng(4).choice([1e8, 3e8, 6e8], 150)
    monkeypatch.setattr(kind, "allocate", lambda self, one: calls.append(1) or allocate(self, one))
    for bounded in (True, False):
        if not bounded:
            monkeypatch.setattr(kind, "may_place", Policy.may_place)
        calls.clear()
        rng = np.random.default_rng(1)
        found = simulate_queue(
            jobs,
            make_policy(topology, name, rng),
            rng=rng,
            backfill="easy-retest",
            bandwidth_Bps=needs_Bps,
            keep_placements=True,
        )
        schedules.append((found, len(calls)))
    (bounded, few), (plain, many) = schedules
    for column in ("start_s", "promised_s", "event_job", "allocated_nodes"):
        assert np.array_equal(getattr(bounded, column), getattr(plain, column), equal_nan=True)
    assert np.array_equal(bounded.placements.nodes, plain.placements.nodes)
    assert np.array_equal(bounded.placements.links, plain.placements.links)
    assert few < many


@pytest.mark.parametrize(("machine", "name"), ONCE)
@SOME
@given(events=histories())
def test_same_seed_same_placements_and_clones_go_on_alike(machine, name, events):
    a, b = fresh(machine, name, 7), fresh(machine, name, 7)
    for job_id, (release, fraction, _) in enumerate(events):
        request = Request(job_id, max(1, round(fraction * MACHINES[machine].n_nodes)))
        if release:
            twin = a.clone()
            assert snapshot(twin) == snapshot(a)
            other = twin.allocate(request)
        pa, pb = a.allocate(request), b.allocate(request)
        assert (pa is None) == (pb is None)
        if pa is not None and pb is not None:
            assert pa.nodes.tolist() == pb.nodes.tolist()
            assert pa.links.tolist() == pb.links.tolist()
        if release:
            assert (other is None) == (pa is None)
            if other is not None and pa is not None:
                assert other.nodes.tolist() == pa.nodes.tolist()


@pytest.mark.parametrize(("machine", "name"), ONCE)
@SOME
@given(events=histories(), later=histories(8))
def test_hold_is_respected(machine, name, events, later):
    """EASY's use: the head's place is found on a clone with some jobs gone, and held."""
    topology, policy = MACHINES[machine], fresh(machine, name)
    running: list[Placement] = []
    for job_id, (_, fraction, _) in enumerate(events):
        placement = policy.allocate(Request(job_id, max(1, round(fraction * topology.n_nodes))))
        if placement is not None:
            running.append(placement)
    gone, stay = running[::2], running[1::2]
    twin = policy.clone()
    for placement in gone:
        twin.release(placement)
    size = max(1, round(later[0][1] * topology.n_nodes))
    head = twin.allocate(Request(999, size))
    if head is None:
        return
    free_before = policy.n_free
    loose = snapshot(policy)
    policy.hold(head)
    with pytest.raises(NetcosimError, match="another hold"):
        policy.hold(head)
    held = set(head.nodes.tolist())
    busy = {int(v) for p in running for v in p.nodes}
    assert policy.n_free == topology.n_nodes - len(held | busy)
    backfilled = []
    for job_id, (release, fraction, _) in enumerate(later, start=1000):
        if release and gone:
            policy.release(gone.pop())
        placement = policy.allocate(Request(job_id, max(1, round(fraction * topology.n_nodes))))
        if placement is not None:
            assert not held & set(placement.nodes.tolist())
            backfilled.append(placement)
    if policy.isolates:
        assert shared_links(topology, [*stay, *backfilled, head]) == []
    if not backfilled and len(gone) == len(running[::2]):
        policy.unhold()
        after = snapshot(policy)
        after.pop("rng"), loose.pop("rng")
        assert after == loose
        assert policy.n_free == free_before


@pytest.mark.parametrize(("machine", "name"), ONCE)
def test_every_size_fits_the_empty_machine(machine, name):
    topology = MACHINES[machine]
    for n_nodes in range(1, topology.n_nodes + 1):
        policy = fresh(machine, name)
        if policy.fits_empty(n_nodes):
            placement = policy.allocate(Request(1, n_nodes))
            assert placement is not None
            check_placement(machine, name, n_nodes, placement, set())
    assert not policy.fits_empty(0)
    assert not policy.fits_empty(topology.n_nodes + 1)
    assert policy.fits_empty(1)
    assert policy.fits_empty(topology.n_nodes)


@pytest.mark.parametrize(("machine", "name"), ONCE)
def test_no_nodes_and_second_releases_are_refused_and_each_placement_is_given_back(machine, name):
    """Partitions of a Blue Gene are known by their job; of others, a job may have two."""
    policy = fresh(machine, name)
    with pytest.raises(NetcosimError, match="at least 1"):
        policy.allocate(Request(5, 0))
    first, n_free = policy.allocate(Request(5, 1)), policy.n_free
    if name in BLUE_GENE:
        with pytest.raises(NetcosimError, match="job 5 is placed already"):
            policy.allocate(Request(5, 1))
    else:
        second = policy.allocate(Request(5, 1))
        assert not set(first.nodes.tolist()) & set(second.nodes.tolist())
        policy.release(second)
    assert policy.n_free == n_free
    policy.release(first)
    assert policy.n_free == MACHINES[machine].n_nodes
    with pytest.raises(NetcosimError, match="not busy"):
        policy.release(first)


def test_registry_lists_what_is_valid_for_the_family():
    rng = np.random.default_rng(0)
    with pytest.raises(NetcosimError, match=r"level-spread.*rrr"):
        make_policy(MACHINES["dragonfly"], "nope", rng)
    with pytest.raises(NetcosimError) as caught:
        make_policy(MACHINES["torus"], "level-spread", rng)
    assert "baseline" in str(caught.value)
    assert "rrr" not in str(caught.value)
    for name, entry in POLICIES.items():
        assert entry.name == name
        assert entry.description
        assert "\n" not in entry.description
    assert {"baseline", "random"} <= set(policies_for("graph"))
