"""Jobs on shared links: the incremental network against a dense solver."""

from __future__ import annotations

import numpy as np
import pytest
from flow_reference import naive_rates
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import NetcosimError
from netsim.flow.bundles import BundleNetwork
from netsim.flow.job_load import job_link_load
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree


def dense_stretch(jobs, capacity):
    """Stretch of every job by naive filling, a link of capacity 1 for each job's own cap."""
    A = np.zeros((len(capacity) + len(jobs), len(jobs)))
    for j, (links, load) in enumerate(jobs.values()):
        A[links, j] = load
        A[len(capacity) + j, j] = 1.0
    rates = naive_rates(A, np.concatenate([capacity, np.ones(len(jobs))]))
    return dict(zip(jobs, 1.0 / rates, strict=True))


@st.composite
def histories(draw):
    """Capacities, and a list of jobs to add (links, loads) or of places to remove."""
    n = draw(st.integers(1, 9))
    capacity = np.array(draw(st.lists(st.sampled_from([1.0, 2.0, 1e3]), min_size=n, max_size=n)))
    share = st.sampled_from([0.0, 1e-3, 0.25, 0.5, 0.75, 1.0])
    job = st.lists(
        st.tuples(st.integers(0, n - 1), share), max_size=n, unique_by=lambda entry: entry[0]
    )
    steps = draw(st.lists(st.one_of(job, st.integers(0, 30)), min_size=1, max_size=40))
    return capacity, steps


@given(histories())
@settings(deadline=None, max_examples=150)
def test_any_history_equals_the_dense_solver(history):
    capacity, steps = history
    net, jobs, before = BundleNetwork(capacity), {}, {}
    for number, step in enumerate(steps):
        if isinstance(step, int):
            if not jobs:
                continue
            job = list(jobs)[step % len(jobs)]
            del jobs[job], before[job]
            changed = net.remove(job)
        else:
            links = np.array([link for link, _ in step], dtype=int)
            load = np.array([share for _, share in step]) * capacity[links]
            jobs[number], before[number] = (links, load), 1.0
            changed = net.add(number, links, load)
        expected = dense_stretch(jobs, capacity)
        now = {job: net.stretch(job) for job in jobs}
        assert now == pytest.approx(expected, rel=1e-8)
        assert min(now.values(), default=1.0) >= 1.0
        assert len(set(changed)) == len(changed)
        assert set(changed) == {job for job in jobs if now[job] != before[job]}
        before = now
    assert len(net) == len(jobs)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=5)
def test_many_jobs_on_a_fat_tree_equal_the_dense_solver(seed):
    """64 all-to-all jobs that outgrow the first slots, entries and rows."""
    rng = np.random.default_rng(seed)
    topology = fat_tree(8)
    capacity = topology.link_bandwidth_Bps.astype(float)
    routing = make_routing(topology)
    src, dst = np.divmod(np.arange(36), 6)
    net, jobs = BundleNetwork(capacity), {}
    for j in range(64):
        nodes = rng.integers(0, topology.n_nodes, 6)
        load = job_link_load(routing, src, dst, 1e6, nodes)
        jobs[j] = (load.links, load.link_bytes / load.isolated_bound_s)
        net.add(j, *jobs[j])
    for j in rng.permutation(64)[:40].tolist():
        net.remove(j)
        del jobs[j]
    expected = dense_stretch(jobs, capacity)
    assert {j: net.stretch(j) for j in jobs} == pytest.approx(expected, rel=1e-9)


def test_jobs_that_share_no_link_have_stretch_exactly_one():
    net = BundleNetwork([1.0, 1.0, 1.0])
    assert net.add("a", [0], [1.0]) == []
    assert net.add("b", [1, 2], [1.0, 0.3]) == []
    assert (net.stretch("a"), net.stretch("b")) == (1.0, 1.0)


def test_shared_link_that_is_wide_enough_changes_nothing():
    net = BundleNetwork([1.0])
    net.add("a", [0], [0.5])
    assert net.add("b", [0], [0.5]) == []
    assert net.stretch("a") == 1.0


def test_two_full_jobs_take_twice_as_long_and_recover():
    net = BundleNetwork([1.0, 5.0])
    net.add("a", [0], [1.0])
    net.add("far", [1], [5.0])
    assert set(net.add("b", [0], [1.0])) == {"a", "b"}
    assert (net.stretch("a"), net.stretch("b"), net.stretch("far")) == (2.0, 2.0, 1.0)
    assert net.remove("b") == ["a"]
    assert net.stretch("a") == 1.0


def test_rounding_never_starves_a_tiny_job():
    """All links tie at 1/3; what two full jobs leave of a link is rounding, not zero."""
    n = 40
    net = BundleNetwork(np.ones(n))
    for j in range(3):
        net.add(j, np.arange(n), np.ones(n))
    net.add("tiny", [n - 1], [1e-15])
    assert net.stretch("tiny") == pytest.approx(3.0, rel=1e-6)


def test_change_passes_on_along_a_chain():
    """Links of 1: a on 0, b on 0 and 1, c on 1. b halves a and c; without a, c stays at 1/2."""
    net = BundleNetwork([1.0, 1.0])
    net.add("a", [0], [1.0])
    net.add("c", [1], [1.0])
    assert set(net.add("b", [0, 1], [1.0, 1.0])) == {"a", "b", "c"}
    assert [net.stretch(j) for j in "abc"] == [2.0, 2.0, 2.0]
    assert net.remove("a") == []
    assert net.stretch("b") == 2.0
    assert set(net.remove("c")) == {"b"}


def test_job_link_load_of_an_exchange_by_hand():
    """Two ranks on each of two nodes of a leaf, all to all: 4 messages cross each way."""
    topology = fat_tree(4)
    src, dst = np.divmod(np.arange(16), 4)
    load = job_link_load(make_routing(topology), src, dst, 100, [0, 0, 1, 1])
    n = topology.n_nodes
    assert load.links.tolist() == [0, 1, n, n + 1]
    np.testing.assert_array_equal(load.link_bytes, 400.0)
    assert load.isolated_bound_s == pytest.approx(400 / topology.link_bandwidth_Bps[0])


def test_job_link_load_under_ugal_keeps_the_bytes():
    """Whatever the split, every byte crosses one injection and one ejection link."""
    topology = dragonfly(2, 4, 9)
    src, dst = np.arange(72), (np.arange(72) + 8) % 72
    sizes = np.arange(1, 73) * 1000.0
    load = job_link_load(make_routing(topology, "ugal-g"), src, dst, sizes, np.arange(72))
    at = dict(zip(load.links.tolist(), load.link_bytes.tolist(), strict=True))
    np.testing.assert_allclose([at[i] for i in range(72)], sizes)
    np.testing.assert_allclose([at[72 + d] for d in dst], sizes)


def test_bad_input_says_what():
    net = BundleNetwork([1.0, 2.0])
    net.add("a", [0], [1.0])
    for links, load, message in (
        ([0, 1], [1.0], "2 links but 1 loads"),
        ([2], [1.0], "outside 0..1"),
        ([0, 0], [0.1, 0.1], "given twice"),
        ([1], [-1.0], "must be >= 0"),
        ([1], [2.1], "divide by a longer time"),
    ):
        with pytest.raises(NetcosimError, match=message):
            net.add("b", links, load)
    with pytest.raises(NetcosimError, match="already"):
        net.add("a", [0], [1.0])
    with pytest.raises(NetcosimError, match="'b' is not in"):
        net.stretch("b")
    with pytest.raises(NetcosimError, match="'b' is not in"):
        net.remove("b")


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_changes_at_once_equal_the_dense_solver(seed):
    """Several jobs leave and come in one call; who changed is told, no more and no less."""
    rng = np.random.default_rng(seed)
    n_links = int(rng.integers(1, 8))
    capacity = rng.choice([1.0, 2.0], n_links)
    net, jobs, before, number = BundleNetwork(capacity), {}, {}, 0
    for _ in range(8):
        leave = [job for job in jobs if rng.random() < 0.4]
        come = []
        for _ in range(rng.integers(0, 6)):
            links = np.flatnonzero(rng.random(n_links) < 0.5)
            load = rng.choice([0.25, 0.5, 1.0], len(links)) * capacity[links]
            come.append((number, links, load))
            number += 1
        changed = net.change(come, leave)
        for job in leave:
            del jobs[job], before[job]
        for job, links, load in come:
            jobs[job], before[job] = (links, load), 1.0
        now = {job: net.stretch(job) for job in jobs}
        assert now == pytest.approx(dense_stretch(jobs, capacity), rel=1e-8)
        assert sorted(changed) == sorted(job for job in jobs if now[job] != before[job])
        before = now
