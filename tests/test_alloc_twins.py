"""Every fat-tree policy against its plain twin, in long histories of nearly full machines."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from alloc_helpers import shared_nodes, snapshot
from alloc_twins import TWINS, Machine
from fattree_conditions import violated_conditions
from selection import first_of_each

from alloc.fattree.lc_s import SharedPlacement
from alloc.isolation import usable_links
from alloc.policy import Request
from alloc.registry import make_policy
from netsim.topologies.fattree import FatTreeLinks, fat_tree, xgft

RADIX_8, RADIX_12 = fat_tree(8), fat_tree(12)
TREES = {
    "radix-8": RADIX_8,
    "radix-12": RADIX_12,
    # more spines than leaves a pod, unequal levels, a pod of one leaf, two levels
    "uneven": xgft(5, 4, 6, 5, 6),
    "one-leaf-pods": xgft(3, 1, 5),
    "two-level": fat_tree(8, levels=2),
    # small: what takes several things to go wrong happens often; two speeds of links
    "small": xgft(3, 3, 6, links=FatTreeLinks(level2_bandwidth_Bps=5 * 10**8)),
}
ISOLATING = ("ta", "laas", "laas-coded", "jigsaw", "lc")
STATES = {
    "radix-8": 200,
    "radix-12": 60,
    "uneven": 150,
    "one-leaf-pods": 60,
    "two-level": 60,
    "small": 600,
}
NEEDS_BPS = (1e8, 2e8, 3e8, 5e8, None)


class History:
    """A policy and its twin through arrivals, ends, holds and their lifting, step by step."""

    def __init__(self, tree, name, seed):
        self.topology, self.name = TREES[tree], name
        self.rng = np.random.default_rng(seed)
        self.policy = make_policy(self.topology, name, np.random.default_rng(0))
        self.machine, self.empty = Machine(self.topology), snapshot(self.policy)
        self.mean = self.topology.n_nodes * self.rng.choice([0.01, 0.03, 0.1])
        self.counts = Counter()
        self.job_id = 0

    def request(self):
        """Mostly small jobs, which leave gaps; else any size that the free nodes could hold."""
        n_nodes = min(self.topology.n_nodes, 1 + int(self.rng.exponential(self.mean)))
        if self.rng.random() < 0.4:
            n_nodes = int(self.rng.integers(1, self.policy.n_free + 2))
        need = NEEDS_BPS[self.rng.integers(len(NEEDS_BPS))] if self.name == "lc-s" else None
        self.job_id += 1
        return Request(self.job_id, n_nodes, bandwidth_Bps=need)

    def expected(self, machine, request):
        machine.cut = False
        if request.n_nodes > machine.n_free():
            return None
        need = request.bandwidth_Bps
        if self.name == "lc-s":  # no need is all that a link may give
            need = min(need or np.inf, 0.8 * self.topology.link_bandwidth_Bps.max())
        return TWINS[self.name](machine, request.n_nodes, need)

    def allocate(self, policy, machine):
        """One request to both; a failure changes nothing, and taking back restores all."""
        request = self.request()
        before = snapshot(policy)
        expected, n_cut = self.expected(machine, request), getattr(policy, "n_cut", 0)
        job = policy.allocate(request)
        stopped = getattr(policy, "n_cut", 0) - n_cut
        # LC does not search shapes that a count rules out, and is cut short less often
        assert stopped == (expected is None and machine.cut) or (
            self.name[:2] == "lc" and not stopped
        )
        self.counts["stopped"] += stopped
        if job is None:
            assert expected is None
            assert snapshot(policy) == before
            self.counts["failed"] += 1
            return None
        assert expected is not None
        assert job.nodes.tolist() == expected[0]
        assert sorted(job.links.tolist()) == expected[1]
        wrong = [] if self.name == "ta" else violated_conditions(self.topology, job)
        assert not wrong or self.name == "laas-coded"
        assert {text[0] for text in wrong} <= {"4", "6"}
        self.counts["links too many"] += bool(wrong)
        self.counts["placed"] += 1
        self.counts["over pods"] += len(np.unique(self.topology.shape.pod_of(job.nodes))) > 1
        self.counts["under a hold"] += bool(machine.held)
        if not machine.held and self.rng.random() < 0.1:
            policy.release(job)
            assert snapshot(policy) == before
            assert policy.allocate(request) is not None
        machine.running.append(job)
        return job

    def release(self):
        gone = self.machine.running.pop(self.rng.integers(len(self.machine.running)))
        self.policy.release(gone)

    def hold(self):
        """As EASY does: a place found on a clone where some jobs have ended is held."""
        clone, later = self.policy.clone(), Machine(self.topology)
        later.running = list(self.machine.running)
        for _ in range(self.rng.integers(1 + len(later.running))):
            clone.release(later.running.pop())
        head = self.allocate(clone, later)
        if head is not None:
            self.policy.hold(head)
            self.machine.held = [head]

    def clone(self):
        """A clone has no hold, and leaves the policy's own as it is."""
        before = snapshot(self.policy)
        clone, loose = self.policy.clone(), Machine(self.topology)
        loose.running = list(self.machine.running)
        self.allocate(clone, loose)
        assert snapshot(self.policy) == before

    def unhold(self):
        self.policy.unhold()
        self.machine.held = []

    def check(self):
        """What must be true at any time; the hold may overlap jobs that run, nothing else may."""
        assert self.policy.n_free == self.machine.n_free()
        assert shared_nodes(self.machine.running) == []
        owners = np.zeros(self.topology.n_links, dtype=np.int64)
        given, most = np.zeros(self.topology.n_links), 0.8 * self.topology.link_bandwidth_Bps
        for job in self.machine.running:
            owners[usable_links(self.topology, job)] += 1
            given[job.links] += np.minimum(most[job.links], getattr(job, "bandwidth_Bps", 0))
        if self.name in ISOLATING:
            assert owners.max() <= 1
        assert (given <= most).all()

    def place_on_any_states(self, n_states):
        """What is not free in a state is held."""
        for _ in range(n_states):
            self.machine.held = [any_state(self.topology, self.rng, self.name == "lc-s")]
            self.policy.hold(self.machine.held[0])
            self.check()
            self.allocate(self.policy, self.machine)
            self.end()
        return self.counts

    def end(self):
        """Everything is given back: the policy is as it was when new."""
        self.unhold()
        while self.machine.running:
            self.release()
        assert snapshot(self.policy) == self.empty

    def run(self, events):
        for event in range(events):
            dice = self.rng.random()
            nearly_full = self.policy.n_free < 0.2 * self.topology.n_nodes
            if self.machine.running and dice < (0.6 if nearly_full else 0.1):
                self.release()
            elif self.machine.held and dice > 0.97:
                self.clone()
            elif dice > 0.93:
                self.unhold() if self.machine.held else self.hold()
            else:
                self.allocate(self.policy, self.machine)
            if event % 5 == 0:
                self.check()
        self.end()
        return self.counts


def any_state(topology, rng, one_way):
    """Nodes and links to hold so that the free ones are of any kind: leaves and pods whole or not.

    Cables are held in both directions, as a placement has them; ``one_way``: some in one.
    """
    s = topology.shape

    def gone(rows, columns):
        some = rng.random((rows, columns)) < rng.choice([0.05, 0.2, 0.5])
        return some & (rng.random((rows, 1)) < rng.choice([0.1, 0.3, 0.6, 1.0]))

    nodes = np.flatnonzero(gone(s.n_leaves, s.m1))
    up = s.first_up1 + np.flatnonzero(gone(s.n_leaves, s.w2))
    spines = s.first_up2 + np.flatnonzero(gone(s.n_l2, s.w3)) if s.w3 else up[:0]
    links = np.concatenate([up, up + s.n_leaves * s.w2, spines, spines + s.n_l2 * s.w3])
    if one_way:
        links = links[rng.random(len(links)) < 0.8]
    return SharedPlacement(
        0, nodes.astype(np.int32), links.astype(np.int32), int(rng.integers(1, 9e8))
    )


@pytest.mark.parametrize("name", [name for name in TWINS if name != "ta"])
@pytest.mark.parametrize("tree", TREES)
def test_policy_equals_its_twin_on_any_state(tree, name):
    """States that few histories reach, one job on each."""
    History(tree, name, 3).place_on_any_states(STATES[tree])


CASES = [
    (tree, name, events)
    for name in TWINS
    for tree, events in (
        ("radix-8", 700),
        ("radix-12", 250 if name.startswith("lc") else 500),
        ("uneven", 400),
        ("one-leaf-pods", 150),
        ("two-level", 250),
        ("small", 300),
    )
]


@pytest.mark.parametrize(
    ("tree", "name", "events"), first_of_each(CASES, lambda c: c[0], lambda c: c[1])
)
def test_policy_equals_its_twin_through_long_histories(tree, name, events):
    counts = History(tree, name, 1).run(events)
    assert counts["failed"] > 0
    assert counts["placed"] > events / 10
    assert counts["under a hold"] > 0
    if TREES[tree].shape.m3 > 1:
        assert counts["over pods"] > 0


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("name", ["lc", "lc-s"])
def test_the_bound_of_steps_is_exact(name, steps, monkeypatch):
    """With few steps for each shape the policy stops where its twin does, and counts it."""
    monkeypatch.setattr("alloc.fattree.lc.MAX_STEPS_A_SHAPE", steps)
    monkeypatch.setattr("alloc_twins.STEPS_A_SHAPE", steps)
    counts = History("small", name, steps).place_on_any_states(400)
    assert counts["stopped"] > 0


@pytest.mark.parametrize(
    ("name", "n_nodes", "needed"),
    # 3 leaves of 3 in a pod; 2 pods of 9, the remainder costs nothing; a pod and 2 leaves
    [("jigsaw", 9, 3), ("jigsaw", 20, 2), ("laas", 8, 2), ("laas-coded", 18, 2)],
)
def test_the_bound_of_jigsaws_search_is_exact(name, n_nodes, needed, monkeypatch):
    """On the empty machine each leaf (or pod) is one step: one step less, and it is cut short."""
    for steps, found in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr("alloc.fattree.jigsaw.MAX_STEPS", steps)
        policy = make_policy(TREES["small"], name, np.random.default_rng(0))
        assert (policy.allocate(Request(1, n_nodes)) is not None) == found
        assert policy.n_cut == (not found)


def test_lc_counts_a_search_that_jigsaws_bound_cut_short(monkeypatch):
    """A job of one node can only be Jigsaw's: no shape over pods has one leaf alone."""
    monkeypatch.setattr("alloc.fattree.lc.MAX_STEPS", 0)
    policy = make_policy(TREES["small"], "lc", np.random.default_rng(0))
    assert policy.allocate(Request(1, 1)) is None
    assert policy.n_cut == 1
