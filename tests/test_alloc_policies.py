"""Laws that every allocation policy keeps, on random histories."""

from __future__ import annotations

import numpy as np
import pytest
from alloc_helpers import CASES, MACHINES, fresh, histories, shared_nodes, snapshot
from hypothesis import given
from selection import examples, first_of_each

from alloc.isolation import shared_links
from alloc.policy import Placement, Request
from alloc.registry import POLICIES, make_policy, policies_for
from netsim.errors import NetcosimError

CUBOIDS = {"cuboid-best", "cuboid-worst", "menu", "menu-proposed", "contention-aware"}
BLUE_GENE = {"cobalt", "cobalt-sl", "cobalt-pf", "cobalt-combo"}
ROUNDS_UP = {"laas", "laas-coded", "first-fit-cuboid", "tpu-slices"} | CUBOIDS | BLUE_GENE
SOME = examples(15)

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
@SOME
@given(events=histories(15))
def test_release_undoes_allocate(machine, name, events):
    policy = fresh(machine, name)
    for job_id, (_, fraction, _) in enumerate(events):
        n_nodes = max(1, round(fraction * MACHINES[machine].n_nodes))
        before = snapshot(policy)
        placement = policy.allocate(Request(job_id, n_nodes))
        if placement is not None:
            policy.release(placement)
            after = snapshot(policy)
            before.pop("rng"), after.pop("rng")
            assert after == before
            policy.allocate(Request(job_id, n_nodes))


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
def test_misuse_is_told(machine, name):
    policy = fresh(machine, name)
    with pytest.raises(NetcosimError, match="at least 1"):
        policy.allocate(Request(5, 0))
    placement = policy.allocate(Request(5, 2))
    policy.release(placement)
    with pytest.raises(NetcosimError, match="not busy"):
        policy.release(placement)


@pytest.mark.parametrize(("machine", "name"), ONCE)
def test_a_job_that_is_placed_twice_has_two_placements_or_is_refused(machine, name):
    """Each is given back by itself; partitions of a Blue Gene are known by their job."""
    policy = fresh(machine, name)
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
