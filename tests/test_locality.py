"""How many domains jobs span: by hand, and against a plain count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

import netcosim as nc
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.domains import hierarchy
from netsim.topologies.spans import domains_spanned, least_domains
from queuesim.observables.locality import locality
from queuesim.observables.registry import observed


@st.composite
def trees(draw):
    """Irregular trees of up to three levels."""
    leaf = draw(st.lists(st.integers(0, 7), min_size=1, max_size=30))
    pod = {v: draw(st.integers(0, 2)) for v in sorted(set(leaf))}
    return hierarchy(("pod", "leaf"), ([pod[v] for v in leaf], [pod[v] * 10 + v for v in leaf]))


@examples(40)
@given(h=trees(), data=st.data())
def test_spans_are_what_a_plain_count_says(h, data):
    jobs = data.draw(st.lists(st.sets(st.integers(0, h.n_nodes - 1)), max_size=4))
    flat = np.array([v for job in jobs for v in sorted(job)], dtype=np.int64)
    ptr = np.cumsum([0, *map(len, jobs)])
    found = domains_spanned(h, flat, ptr)
    for level in range(len(h.levels)):
        plain = [len({int(h.domain[level, v]) for v in job}) for job in jobs]
        assert found[level].tolist() == plain
        for job, spans in zip(jobs, plain, strict=True):
            if job:
                least = int(least_domains(h, np.array([len(job)]))[level, 0])
                assert 1 <= least <= spans


def test_the_least_is_reached_and_not_undercut():
    h = hierarchy(("leaf",), ([0, 0, 0, 1, 1, 2],))
    assert least_domains(h, np.arange(1, 7)).tolist() == [[1] * 6, [1, 1, 1, 2, 2, 3]]


def test_a_schedule_tells_its_switches():
    rng = np.random.default_rng(3)
    machine = nc.make_topology("fattree", {"radix": 4})
    jobs = nc.laas_workload(60, 3, rng)
    schedule = nc.simulate_queue(
        jobs, nc.make_policy(machine, "slurm-tree", rng), rng=rng, keep_placements=True
    )
    found = locality(schedule)
    assert found.levels == ("pod", "leaf")
    h = hierarchy_of(machine)
    for i in range(len(jobs)):
        nodes = schedule.placements.placement(i, i).nodes
        assert found.spanned[:, i].tolist() == [len(set(row[nodes])) for row in h.domain[1:]]
    rows = observed({"slurm-tree": schedule}, ["switches", "locality"])
    for level, name in enumerate(found.levels):
        mine = [r for r in rows["switches"] if r["level"] == name]
        assert sum(r["jobs"] for r in mine) == len(jobs)
        total = sum(r["jobs"] * r["mean_spanned"] for r in mine)
        assert total == pytest.approx(found.spanned[level].sum())
        above = sum(round(r["jobs"] * r["above_least"]) for r in mine)
        assert above == int((found.spanned[level] > found.least[level]).sum())
    told = [r["spanned"] for r in rows["locality"] if r["level"] == "leaf"]
    assert told == found.spanned[1].tolist()
    bare = nc.simulate_queue(jobs, nc.make_policy(machine, "slurm-tree", rng), rng=rng)
    with pytest.raises(NetcosimError, match="keep_placements"):
        locality(bare)
