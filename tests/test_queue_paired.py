"""Jobs with draws of their own: the same messages in any company; computing between iterations."""

from __future__ import annotations

import numpy as np
import pytest

from alloc.policy import Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.routing.partition import partition_routing
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from queuesim.multijob import Communication
from queuesim.paired import PlacedJob, job_times_ps, with_compute

TREE = fat_tree(8)
STATIC = make_routing(TREE, "d-mod-k")
CONFIG = PacketConfig()
PATTERNS = ("pairs", "all-to-all", "unstructured-mesh", "halo3d")


def times(jobs, routing=STATIC, mapping="random"):
    rng = np.random.default_rng(5)
    return job_times_ps(routing, jobs, CONFIG, task_mapping=mapping, seed=3, routing_rng=rng)


def nodes(first, n):
    return np.arange(first, first + n, dtype=np.int32)


def test_company_does_not_change_what_a_job_sends():
    """Jobs of one leaf each share no link: with others or alone, the same picoseconds, though
    patterns and mapping are random. One generator for all jobs would fail this."""
    jobs = [PlacedJob(10 + i, Communication("pairs", 3000), nodes(4 * i, 4)) for i in range(6)]
    together = times(jobs)
    alone = [int(times([job])[0]) for job in jobs]
    assert together.tolist() == alone
    assert times(jobs[::-1]).tolist() == alone[::-1]


def test_jobs_draw_by_their_id_and_the_seed():
    """On the same 32 nodes, alone: six jobs with random partners take several times, and a job
    takes the same time again."""
    said = Communication("pairs", 50_000)
    found = [int(times([PlacedJob(i, said, nodes(0, 32))])[0]) for i in (0, 1, 2, 3, 4, 5, 0)]
    assert len(set(found)) >= 3
    assert found[-1] == found[0]


@pytest.mark.parametrize("name", ["ta", "laas", "jigsaw"])
def test_isolated_jobs_take_the_same_time_alone_and_together(name):
    policy = make_policy(TREE, name, np.random.default_rng(1))
    jobs, places = [], []
    for job_id, size in enumerate((5, 3, 11, 2, 17, 6, 4, 9, 20)):
        place = policy.allocate(Request(job_id, size))
        if place is not None:
            said = Communication(PATTERNS[job_id % 4], 5000, 2)
            jobs.append(PlacedJob(job_id, said, np.ascontiguousarray(place.nodes[:size])))
            places.append((place.nodes, place.links))
    assert len(jobs) >= 5
    linked = [(n, links) for n, links in places if len(links)]
    routing = partition_routing(TREE, linked) if linked else STATIC
    together = times(jobs, routing, "in-order")
    for job, (mine, links), time in zip(jobs, places, together, strict=True):
        own = partition_routing(TREE, [(mine, links)]) if len(links) else STATIC
        assert int(times([job], own, "in-order")[0]) == time


def test_baseline_jobs_do_disturb_each_other():
    """The counter-proof: scattered jobs on shared up-links."""
    scattered = np.random.default_rng(2).permutation(128).astype(np.int32).reshape(4, 32)
    jobs = [
        PlacedJob(i, Communication("pairs", 50_000, 3), mine) for i, mine in enumerate(scattered)
    ]
    together = times(jobs)
    assert together.sum() > 1.1 * sum(times([job])[0] for job in jobs)


def test_computing_adds_its_time_to_each_iteration():
    """Two nodes that exchange: k iterations of c seconds and one exchange take k (c + t)."""
    once = times([PlacedJob(1, Communication("pairs", 8000), nodes(0, 2))])[0]
    said = Communication("pairs", 8000, 5)
    computed = times([PlacedJob(1, said, nodes(0, 2), compute_s=3e-6)])[0]
    assert computed == 5 * (3_000_000 + once)


def test_time_counts_from_the_start():
    job = PlacedJob(1, Communication("pairs", 8000), nodes(0, 2))
    later = PlacedJob(1, job.communication, job.nodes, start_s=7e-6)
    assert times([later])[0] == times([job])[0]


def test_computing_needs_equal_iterations():
    program = Communication("pairs", 100, 3).program(2, np.random.default_rng(1))
    assert with_compute(program, 3, 1.0).compute_s.tolist() == [1.0] * 6
    halo = Communication("all-to-all", 100, 2).program(4, np.random.default_rng(1))
    assert with_compute(halo, 2, 1.0).compute_s.reshape(4, 2, 3).sum(axis=2).tolist() == (
        [[1.0, 1.0]] * 4
    )
    with pytest.raises(NetcosimError, match="iterations"):
        with_compute(program, 2, 1.0)
