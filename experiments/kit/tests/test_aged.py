"""Jobs on a machine that others used before."""

from __future__ import annotations

import numpy as np
import pytest

from alloc.registry import make_policy
from experiments.kit.fattree_workloads.workloads import allocate_after
from netsim.errors import NetcosimError
from netsim.topologies.fattree import fat_tree


def first_fit():
    return make_policy(fat_tree(4), "baseline", np.random.default_rng(0))


def nodes(before, sizes, seed=1):
    placed = allocate_after(first_fit(), before, sizes, np.random.default_rng(seed))
    return [p.nodes.tolist() for p in placed]


def test_on_an_empty_machine_it_is_the_policy_alone():
    assert nodes([], [3, 2]) == [[0, 1, 2], [3, 4]]


def test_jobs_get_what_those_before_leave():
    """Four blocks of four nodes: the new jobs get two whole blocks, which ones is chance."""
    blocks = [list(range(i, i + 4)) for i in range(0, 16, 4)]
    found = [nodes([4, 4, 4, 4], [4, 4], seed) for seed in range(20)]
    assert all(placed[0] != placed[1] and all(b in blocks for b in placed) for placed in found)
    assert len({tuple(placed[0]) for placed in found}) == 4
    # nobody leaves for a job that has room
    assert nodes([4, 4], [4]) == [blocks[2]]


def test_earlier_jobs_leave_room_for_each_other():
    """The third of the earlier jobs takes the place of one of the first two."""
    assert nodes([8, 8, 8], [16]) == [list(range(16))]
    assert nodes([8, 8, 8], [8])[0] in (list(range(8)), list(range(8, 16)))


def test_a_job_without_a_place_is_told():
    with pytest.raises(NetcosimError, match="17 nodes: baseline"):
        nodes([8], [17])
