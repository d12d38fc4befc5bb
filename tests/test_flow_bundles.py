"""Jobs on shared links: each a bundle, against a dense solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from experiments.validation.reference.flows import reference_rates
from netsim.errors import NetcosimError
from netsim.flow.bundles import bundle_stretches
from netsim.flow.job_load import job_link_load
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree


def dense_stretch(jobs, capacity):
    """Stretch of every job by naive filling, a link of capacity 1 for each job's own cap."""
    A = np.zeros((len(capacity) + len(jobs), len(jobs)))
    for j, (links, load) in enumerate(jobs):
        A[links, j] = load
        A[len(capacity) + j, j] = 1.0
    rates = reference_rates(A, np.concatenate([capacity, np.ones(len(jobs))]))
    return (1.0 / rates).tolist()


@st.composite
def cases(draw):
    """Capacities, and the links and loads of some jobs."""
    n = draw(st.integers(1, 9))
    capacity = np.array(draw(st.lists(st.sampled_from([1.0, 2.0, 1e3]), min_size=n, max_size=n)))
    part = st.sampled_from([0.0, 1e-3, 0.25, 0.5, 0.75, 1.0])
    job = st.lists(
        st.tuples(st.integers(0, n - 1), part), max_size=n, unique_by=lambda entry: entry[0]
    )
    jobs = []
    for entries in draw(st.lists(job, max_size=30)):
        links = np.array([link for link, _ in entries], dtype=int)
        jobs.append((links, np.array([part for _, part in entries]) * capacity[links]))
    return capacity, jobs


@given(cases())
@examples(150)
def test_jobs_equal_the_dense_solver(case):
    capacity, jobs = case
    now = bundle_stretches(capacity, jobs)
    assert now.tolist() == pytest.approx(dense_stretch(jobs, capacity), rel=1e-8)
    assert min(now, default=1.0) >= 1.0


def test_jobs_that_share_no_link_have_stretch_exactly_one():
    found = bundle_stretches([1.0, 1.0, 1.0], [([0], [1.0]), ([1, 2], [1.0, 0.3])])
    assert found.tolist() == [1.0, 1.0]


def test_shared_link_that_is_wide_enough_changes_nothing():
    """Ten times 0.1 is not 1.0 in floating point: rounding slows nobody."""
    assert bundle_stretches([1.0], [([0], [0.5]), ([0], [0.5])]).tolist() == [1.0, 1.0]
    assert bundle_stretches([1.0], [([0], [0.1])] * 10).tolist() == [1.0] * 10
    assert bundle_stretches([0.3], [([0], [0.1])] * 3).tolist() == [1.0] * 3


def test_two_full_jobs_take_twice_as_long():
    found = bundle_stretches([1.0, 5.0], [([0], [1.0]), ([1], [5.0]), ([0], [1.0])])
    assert found.tolist() == [2.0, 1.0, 2.0]


def test_rounding_never_starves_a_tiny_job():
    """All links tie at 1/3; what two full jobs leave of a link is rounding, not zero."""
    n = 40
    full = (np.arange(n), np.ones(n))
    found = bundle_stretches(np.ones(n), [full, full, full, ([n - 1], [1e-15])])
    assert found[3] == pytest.approx(3.0, rel=1e-6)


def test_contention_passes_on_along_a_chain():
    """Links of 1: a on 0, b on 0 and 1, c on 1. b halves a and c, and they it."""
    a, b, c = ([0], [1.0]), ([0, 1], [1.0, 1.0]), ([1], [1.0])
    assert bundle_stretches([1.0, 1.0], [a, b, c]).tolist() == [2.0, 2.0, 2.0]
    assert bundle_stretches([1.0, 1.0], [a, c]).tolist() == [1.0, 1.0]


def test_what_a_job_held_up_elsewhere_leaves_goes_to_others():
    """Two full jobs on link 0, one of them on link 1 too: there 1/2 is left for a third of 0.75."""
    jobs = [([0], [1.0]), ([0, 1], [1.0, 1.0]), ([1], [0.75])]
    assert bundle_stretches([1.0, 1.0], jobs).tolist() == pytest.approx([2.0, 2.0, 1.5])


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
    for links, load, message in (
        ([0, 1], [1.0], "job 1: 2 links but 1 loads"),
        ([2], [1.0], "outside 0..1"),
        ([0, 0], [0.1, 0.1], "given twice"),
        ([1], [-1.0], "must be >= 0"),
        ([1], [2.1], "divide by a longer isolated time"),
    ):
        with pytest.raises(NetcosimError, match=message):
            bundle_stretches([1.0, 2.0], [([0], [1.0]), (links, load)])
    with pytest.raises(NetcosimError, match="must be positive"):
        bundle_stretches([1.0, 0.0], [([0], [1.0])])
