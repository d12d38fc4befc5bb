"""LC+S: links shared up to a bandwidth."""

from __future__ import annotations

import numpy as np
import pytest
from alloc_helpers import take
from fattree_conditions import violated_conditions

from alloc.policy import Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.fattree import xgft


def test_lc_s_fills_links_to_80_per_cent():
    """Ten jobs of 0.1 of a link, each on one node of both leaves: 8 share the first cable."""
    topology = xgft(20, 2, levels=2)
    policy = make_policy(topology, "lc-s", np.random.default_rng(0))
    everyone = [take(policy, v, 1) for v in range(40)]
    for i in range(10):
        policy.release(everyone[i])
        policy.release(everyone[20 + i])
        job = policy.allocate(Request(100 + i, 2, bandwidth_Bps=1e8))
        assert sorted(job.nodes.tolist()) == [i, 20 + i]
        assert violated_conditions(topology, job) == []
        cable = 0 if i < 8 else 1
        assert topology.shape.leaf_up(0, cable) in job.links.tolist()
    with pytest.raises(NetcosimError, match="above 0"):
        policy.allocate(Request(1, 1, bandwidth_Bps=0.0))
    for wrong in (-1.0, float("nan")):
        with pytest.raises(NetcosimError, match="at least 0 and finite"):
            policy.allocate(Request(1, 1, bandwidth_Bps=wrong))


@pytest.mark.parametrize("need", [None, 8e8, 9e8, 1e300, float("inf")])
def test_lc_s_gives_no_more_than_a_link_may(need):
    """80 % of 1 GB/s, however much more is asked for; then the link is closed."""
    topology = xgft(1, 2, levels=2)
    policy = make_policy(topology, "lc-s", np.random.default_rng(0))
    job = policy.allocate(Request(1, 2, bandwidth_Bps=need))
    assert job.bandwidth_Bps == 8e8
    assert len(job.links) == 4


def test_lc_s_needs_are_rounded_up_to_whole_bytes_a_second():
    """Two jobs of just above half of what a link may give do not share it."""
    topology = xgft(2, 2, levels=2)
    policy = make_policy(topology, "lc-s", np.random.default_rng(0))
    everyone = [take(policy, v, 1) for v in range(4)]
    links = []
    for i in (0, 1):
        policy.release(everyone[i])
        policy.release(everyone[2 + i])
        links.append(policy.allocate(Request(10 + i, 2, bandwidth_Bps=4e8 + 0.25)).links)
    assert not set(links[0]) & set(links[1])


def test_lc_s_a_hold_sets_bandwidth_aside_beside_what_is_used():
    """Of a cable's 800 MB/s a job has 300; 300 more are held: a third job of 300 goes elsewhere."""
    topology = xgft(3, 2, levels=2)
    policy = make_policy(topology, "lc-s", np.random.default_rng(0))
    everyone = [take(policy, v, 1) for v in range(6)]

    def across(i, need=3e8):
        """A job on node i of both leaves, the only ones free, and its cable."""
        job = policy.allocate(Request(10 + i, 2, bandwidth_Bps=need))
        assert sorted(job.nodes.tolist()) == [i, 3 + i]
        [cable] = [c for c in range(3) if topology.shape.leaf_up(0, c) in job.links.tolist()]
        return job, cable

    jobs = []
    for i in (0, 1):
        policy.release(everyone[i])
        policy.release(everyone[3 + i])
        jobs.append(across(i))
    assert [cable for _, cable in jobs] == [0, 0]
    held = jobs[1][0]
    policy.release(held)
    policy.hold(held)
    policy.release(everyone[2])
    policy.release(everyone[5])
    for need, cable in ((3e8, 1), (2e8, 0)):
        job, found = across(2, need)
        assert found == cable
        policy.release(job)
    # a clone has no hold, and lifts nobody else's
    assert policy.clone().n_free == 4
    job, cable = across(2)
    assert cable == 1
    policy.release(job)
    policy.unhold()
    # two nodes of each leaf; the first cable has 500 MB/s again
    job = policy.allocate(Request(11, 4, bandwidth_Bps=5e8))
    assert [c for c in range(3) if topology.shape.leaf_up(0, c) in job.links.tolist()] == [0, 1]
