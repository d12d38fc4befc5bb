"""The policies of living schedulers: against plain twins, and by their documents' examples."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import hierarchy_reference as plain
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

import netcosim as nc
from alloc.policy import Policy, Request
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.domains import Hierarchy, hierarchy
from netsim.topologies.switches import SwitchesShape
from netsim.topology import Topology

SOME = examples(60)
GRAPH = nc.make_topology("torus", {"dims": [2]})


def machine(h: Hierarchy, block_sizes: tuple[int, ...] = ()) -> Topology:
    """A machine without a network whose nodes lie in these domains."""
    shape = SwitchesShape((), np.zeros(0, dtype=np.int64), h, (), block_sizes)
    return replace(GRAPH, family="topology.conf", name="tree", shape=shape, n_nodes=h.n_nodes)


@st.composite
def trees(draw) -> Hierarchy:
    """Irregular trees; nodes of a leaf need not be consecutive."""
    leaves = draw(st.lists(st.integers(1, 5), min_size=1, max_size=9))
    leaf = [i for i, size in enumerate(leaves) for _ in range(size)]
    if draw(st.booleans()):
        leaf = draw(st.permutations(leaf))
    pod = [draw(st.integers(0, 2)) for _ in leaves]
    row = [draw(st.integers(0, 1)) for _ in range(3)]
    rows_ = ([row[pod[v]] for v in leaf], [pod[v] for v in leaf], leaf)
    return hierarchy(("row", "pod", "leaf"), rows_)


@st.composite
def situations(draw) -> tuple[Hierarchy, set[int], int]:
    h = draw(trees())
    busy = draw(st.sets(st.integers(0, h.n_nodes - 1), max_size=h.n_nodes - 1))
    free = set(range(h.n_nodes)) - busy
    return h, free, draw(st.integers(1, len(free)))


def with_free(topology: Topology, name: str, free: set[int], **parameters: object) -> Policy:
    policy = make_policy(topology, name, np.random.default_rng(0), parameters)
    busy = sorted(set(range(topology.n_nodes)) - free)
    policy._busy[busy] = True  # type: ignore[attr-defined]
    policy._recount()  # type: ignore[attr-defined]
    return policy


def placed(policy: Policy, n: int, wait_s: float = 0.0) -> list[int] | None:
    placement = policy.allocate(Request(1, n, wait_s=wait_s))
    return None if placement is None else placement.nodes.tolist()


def rows(h: Hierarchy) -> list[list[int]]:
    return h.domain.tolist()


@SOME
@given(at=situations(), most=st.integers(1, 4), name=st.sampled_from(["", "-coded"]))
def test_switches_are_kept_to_while_a_job_waits_and_whenever_it_can_be_done(at, most, name):
    h, free, n = at
    name = f"slurm-tree{name}"
    bare = placed(with_free(machine(h), name, free), n)
    leaf = h.domain[-1]
    counts = sorted(int(np.sum(leaf[sorted(free)] == d)) for d in range(h.counts[-1]))[::-1]
    sizes = sorted(h.sizes(3).tolist())[::-1]
    allowed = max(most, next(k for k in range(1, 99) if sum(sizes[:k]) >= n))
    found = placed(with_free(machine(h), name, free, switches=most), n)
    assert (found is not None) == (sum(counts[:allowed]) >= n)
    if found is not None:
        assert len(set(leaf[found])) <= allowed
        assert set(found) <= free
        assert len(set(found)) == n
    if len(set(leaf[bare])) <= allowed:
        assert found == bare
    late = with_free(machine(h), name, free, switches=most, max_wait_s=60.0)
    assert placed(late, n, wait_s=60.0) == bare


BASES = st.sampled_from([(), (2,), (2, 4), (2, 8), (2, 4, 16)])


@SOME
@given(data=st.data(), sizes=BASES)
def test_slurm_block_is_its_plain_twin(data, sizes):
    blocks = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=19))
    h = hierarchy(("block",), ([i for i, size in enumerate(blocks) for _ in range(size)],))
    busy = data.draw(st.sets(st.integers(0, h.n_nodes - 1), max_size=h.n_nodes - 1))
    free = set(range(h.n_nodes)) - busy
    n = data.draw(st.integers(1, len(free)))
    base = sizes[0] if sizes else min(blocks)
    enforced = [(s // base).bit_length() - 1 for s in sizes] or [0, 1, 2, 3, 4]
    expected = plain.slurm_block(rows(h)[-1], free, n, base, enforced)
    given_ = {"block_sizes": list(sizes)} if sizes else {}
    policy = with_free(machine(h), "slurm-block", free, **given_)
    assert policy.fits_empty(n)
    assert placed(policy, n) == expected
    # the machine's own file says the same
    own = with_free(machine(h, sizes), "slurm-block", free)
    assert placed(own, n) == expected


@SOME
@given(
    at=situations(),
    kind=st.sampled_from(["required", "preferred", "unconstrained"]),
    level=st.integers(0, 3),
    profile=st.sampled_from(["best-fit", "least-free"]),
    lowest=st.sampled_from([None, 3]),
)
def test_kueue_is_its_plain_twin(at, kind, level, profile, lowest):
    h, free, n = at
    given_: dict[str, object] = {"profile": profile}
    if lowest is not None:
        given_["lowest_level"] = h.levels[lowest]
    if kind != "unconstrained":
        given_["level"] = h.levels[level]
    policy = with_free(machine(h), f"kueue-{kind}", free, **given_)
    expected = plain.kueue(rows(h), free, n, kind, level, profile, lowest)
    assert placed(policy, n) == expected
    if kind == "required":
        assert policy.fits_empty(n) == (h.sizes(level).max() >= n)


@SOME
@given(at=situations())
def test_kueue_required_by_itself_takes_the_lowest_level_that_could_hold_the_job(at):
    h, free, n = at
    level = max(k for k in range(4) if h.sizes(k).max() >= n)
    found = placed(with_free(machine(h), "kueue-required", free), n)
    assert found == plain.kueue(rows(h), free, n, "required", level, "best-fit", None)


@SOME
@given(at=situations(), spans=st.booleans(), levels=st.permutations([1, 2, 3]), k=st.integers(0, 3))
def test_pbs_placement_sets_are_their_plain_twin(at, spans, levels, k):
    h, free, n = at
    used = levels[:k] or [3, 2, 1]
    names = [h.levels[level] for level in levels[:k]]
    policy = with_free(machine(h), "pbs-placement-sets", free, levels=names, do_not_span=not spans)
    assert placed(policy, n) == plain.pbs(rows(h), free, n, used, spans)
    largest = max(int(h.sizes(level).max()) for level in used)
    assert policy.fits_empty(n) == (spans or n <= largest)


@SOME
@given(at=situations(), level=st.integers(0, 3))
def test_the_rest_are_their_plain_twins(at, level):
    h, free, n = at
    topology = machine(h)
    for tree in ("slurm_tree", "slurm_tree_coded"):
        found = placed(with_free(topology, tree.replace("_", "-"), free), n)
        assert found == getattr(plain, tree)(rows(h), free, n)
    assert placed(with_free(topology, "flux-low", free), n) == sorted(free)[:n]
    assert placed(with_free(topology, "flux-high", free), n) == sorted(free)[-n:]
    assert placed(with_free(topology, "flux-locality", free), n) == plain.flux_locality(free, n)
    assert placed(with_free(topology, "slurm-linear", free), n) == plain.slurm_linear(free, n)
    spread = with_free(topology, "group-spread", free, level=h.levels[level])
    assert placed(spread, n) == plain.group_spread(rows(h)[level], free, n)


# By hand


TUX = hierarchy(("s4-s5", "leaf"), ([0] * 4 + [1] * 4, [0, 0, 1, 1, 2, 2, 3, 3]))
"""The eight nodes of the guide's first topology.conf."""


def test_slurms_guide_eight_nodes():
    topology = machine(TUX)
    # two nodes: the one leaf with exactly two free, though lower-numbered ones are free elsewhere
    assert placed(with_free(topology, "slurm-tree", {0, 2, 4, 5, 6}), 2) == [4, 5]
    # three: s5 has exactly three, s4 four; the fuller leaf first
    assert placed(with_free(topology, "slurm-tree", {0, 1, 2, 3, 4, 6, 7}), 3) == [4, 6, 7]
    # the code takes the leaf with more free nodes first: the same nodes, by number
    assert placed(with_free(topology, "slurm-tree-coded", {0, 1, 2, 3, 4, 6, 7}), 3) == [4, 6, 7]
    # of s4's four for two, both readings take a whole leaf; of a job of three, all but one
    assert placed(with_free(topology, "slurm-tree", {0, 1, 2}), 3) == [2, 0, 1]


def test_the_two_readings_of_the_tree_part_where_leaves_are_uneven():
    """Leaves with 1, 2 and 4 free nodes, a job of 5: fullest leaf first, or fewest leaves."""
    h = hierarchy(("leaf",), ([0] * 4 + [1] * 4 + [2] * 4,))
    free = {0, 4, 5, 8, 9, 10, 11}
    assert placed(with_free(machine(h), "slurm-tree", free), 5) == [0, 4, 5, 8, 9]
    assert placed(with_free(machine(h), "slurm-tree-coded", free), 5) == [0, 8, 9, 10, 11]
    two = with_free(machine(h), "slurm-tree", free, switches=1)
    assert placed(two, 5) == [8, 9, 10, 11, 4]  # two leaves are the least that hold five


def test_switches_make_a_job_wait_until_its_patience_ends():
    free = {0, 2, 4, 6}
    policy = with_free(machine(TUX), "slurm-tree", free, switches=1)
    assert placed(policy, 2, wait_s=299.9) is None
    assert placed(policy, 2, wait_s=300.0) == [0, 2]
    assert policy.relents_after_s == 300.0
    assert not policy.counts_only
    assert with_free(machine(TUX), "slurm-tree", free).relents_after_s is None


def test_slurms_manual_blocks_of_30_and_120():
    """Four blocks of 32 nodes, BlockSizes=30,120."""
    h = hierarchy(("block",), (np.arange(128) // 32,))
    topology = machine(h, (30, 120))
    everything = set(range(128))
    # in one block: the highest-numbered of equals
    assert placed(with_free(topology, "slurm-block", everything), 30) == list(range(96, 126))
    # 31 nodes are more than a base block is planned for: two of them, though one holds 32
    policy = with_free(topology, "slurm-block", everything)
    assert placed(policy, 31) == list(range(96, 127))
    # 60 nodes may use two base blocks at most; two half free and two nearly full do not do
    free = set(range(28)) | set(range(32, 60)) | set(range(64, 70)) | set(range(96, 102))
    assert len(free) == 68
    assert placed(with_free(topology, "slurm-block", free), 60) is None
    assert placed(with_free(topology, "slurm-block", free), 56) == [*range(28), *range(32, 60)]


RACK = [3, 3, 2, 1]


@pytest.mark.parametrize(
    ("profile", "counts"), [("best-fit", [3, 3, 0, 1]), ("least-free", [1, 3, 2, 1])]
)
def test_the_keps_rack_of_four(profile, counts):
    """KEP-2724's example: 3, 3, 2 and 1 pods fit, 7 are wanted (hosts are leaves here).

    In order of least free the last host, here the second of those with three, is left one pod.
    """
    h = hierarchy(("rack", "host"), (np.zeros(12, dtype=int), np.arange(12) // 3))
    free = {3 * host + k for host, size in enumerate(RACK) for k in range(size)}
    policy = with_free(
        machine(h), "kueue-required", free, level="rack", profile=profile, lowest_level="host"
    )
    found = placed(policy, 7)
    assert sorted(np.bincount(np.array(found) // 3, minlength=4)) == sorted(counts)
    assert np.bincount(np.array(found) // 3, minlength=4)[2:].tolist() == counts[2:]


@pytest.mark.parametrize(
    ("profile", "lowest", "nodes"),
    [
        ("best-fit", "rack", [0, 1, 6, 7, 8]),
        ("least-free", "rack", [0, 1, 3, 6, 9]),
        ("best-fit", "node", [0, 1, 6, 7, 8]),
        ("least-free", "node", [0, 1, 3, 6, 7]),
    ],
)
def test_kueue_preferred_climbs_and_then_spreads_by_its_profile(profile, lowest, nodes):
    """Racks with 2, 1, 3 and 1 free; neither block holds five, so the racks of both are sorted."""
    topology = machine(hierarchy(("block", "rack"), (np.arange(12) // 6, np.arange(12) // 3)))
    free = {0, 1, 3, 6, 7, 8, 9}
    given_ = {"profile": profile, "lowest_level": lowest}
    assert placed(with_free(topology, "kueue-preferred", free, **given_), 5) == nodes
    for n, few in {2: [0, 1], 3: [6, 7, 8], 4: [6, 7, 8, 9]}.items():
        assert placed(with_free(topology, "kueue-preferred", free, **given_), n) == few
    assert placed(with_free(topology, "kueue-required", free, level="block"), 5) is None
    assert not with_free(topology, "kueue-required", free, level="rack").fits_empty(4)


def test_pbs_jobs_wait_for_a_set_or_span_if_none_could_ever_hold_them():
    h = hierarchy(("group", "chassis"), (np.arange(12) // 4, np.arange(12) // 2))
    topology = machine(h)
    free = {0, 2, 4, 6, 7, 8}
    assert placed(with_free(topology, "pbs-placement-sets", free), 1) == [0]
    assert placed(with_free(topology, "pbs-placement-sets", free), 2) == [6, 7]
    assert placed(with_free(topology, "pbs-placement-sets", free), 3) == [4, 6, 7]
    assert placed(with_free(topology, "pbs-placement-sets", free), 4) is None
    assert placed(with_free(topology, "pbs-placement-sets", free), 5) == [0, 2, 4, 6, 7]
    strict = with_free(topology, "pbs-placement-sets", free, do_not_span=True)
    assert placed(strict, 5) is None
    assert not strict.fits_empty(5)


def test_flux_takes_from_either_end_or_the_longest_run():
    free = {0, 1, 4, 5, 6, 8}
    assert placed(with_free(machine(TUX), "flux-locality", free - {8}), 3) == [4, 5, 6]
    assert placed(with_free(machine(TUX), "flux-locality", free - {8}), 4) == [0, 4, 5, 6]
    assert placed(with_free(machine(TUX), "flux-high", free - {8}), 2) == [5, 6]


@pytest.mark.parametrize(
    ("pods", "leaves", "free", "placements"),
    [
        # A leaf of 2 and its pod are split by a job of 1, a leaf of 3 in a broken pod alone.
        ([2, 6], [2, 3, 3], {0, 1, 2, 3, 4}, {1: [2]}),
        # Nothing is entire. 1: the fullest leaf. 2: the fullest pod, with 2 free to 3.
        ([6, 6], [3] * 4, {0, 3, 4, 6, 7}, {1: [0], 2: [6, 7], 3: None}),
        # 5 are two leaves and a rest on a broken leaf: no split, where pod 1 and a leaf would be.
        ([8, 8], [2] * 8, {*range(16)} - {6}, {5: [0, 1, 2, 3, 7]}),
        # Without a broken leaf the rest has an entire one; the first pod has only two.
        (
            *([8, 8], [2] * 8, {*range(16)} - {4, 5, 6, 7}),
            {5: [8, 9, 10, 11, 12], 4: [0, 1, 2, 3]},
        ),
        ([4, 4], [3, 1, 2, 2], {*range(8)}, {3: [0, 1, 2]}),
        # No leaf of the second pod is as large as 3: entirely free, it gives its lowest nodes.
        ([4, 4], [3, 1, 2, 2], {*range(1, 8)}, {3: [4, 5, 6], 4: [4, 5, 6, 7]}),
        ([4, 4], [3, 1, 2, 2], {1, 2, 3, 5, 6, 7}, {3: None}),
        # A pod of 4 is filled beside one of 5 that has 4 free.
        ([5, 4], [3, 2, 2, 2], {*range(1, 9)}, {4: [5, 6, 7, 8]}),
        # The entire leaf of 3 though it is second, and a rest of 1.
        ([5, 1], [2, 3, 1], {*range(6)}, {4: [0, 2, 3, 4]}),
        # The rest of 2 is on two leaves of 1.
        ([5, 1], [3, 1, 1, 1], {*range(6)}, {5: [0, 1, 2, 3, 4]}),
        ([5, 3], [3, 2, 3], {*range(4)}, {4: [0, 1, 2, 3]}),
        ([1, 1, 5], [1, 1, 3, 1, 1], {*range(7)}, {5: [2, 3, 4, 5, 6]}),
        # A broken leaf of a pod with 5 free is taken before an entire one of a pod with 4.
        ([6, 6], [2] * 6, {*range(10)} - {5}, {3: [0, 1, 4]}),
        # A job that fills a leaf of 2 splits nothing, as on a broken leaf of 3.
        ([5, 6], [2, 3, 3, 3], {0, 1, 5, 6, 8}, {2: [0, 1]}),
    ],
)
def test_hived_splits_few_entire_cells_and_fills_the_fullest(pods, leaves, free, placements):
    """Pods and leaves of these sizes; the nodes of jobs by their size."""
    domains = [np.repeat(np.arange(len(sizes)), sizes) for sizes in (pods, leaves)]
    topology = machine(hierarchy(("pod", "leaf"), domains))
    found = {n: placed(with_free(topology, "hived", free), n) for n in placements}
    assert found == placements


def test_hived_keeps_to_the_cells_of_its_container_whatever_their_numbers():
    """Leaves of 3, of which pod 0 has the first and third: 2 and 3 nodes are free on them."""
    h = hierarchy(("pod", "leaf"), (np.arange(12) // 3 % 2, np.arange(12) // 3))
    assert placed(with_free(machine(h), "hived", set(range(1, 12))), 4) == [1, 6, 7, 8]
    # two leaves of alternate nodes
    h = hierarchy(("leaf",), (np.arange(6) % 2,))
    assert placed(with_free(machine(h), "hived", set(range(6))), 2) == [0, 2]


@pytest.mark.parametrize(
    ("size", "nodes"),
    [
        # a piece of 4 on the leaf with 6, which has 2 left: the rest of 2 fits best there
        (6, [0, 1, 2, 3, 4, 5]),
        # the rest of 3 does not, and fits exactly on the leaf with 3
        (7, [0, 1, 2, 3, 8, 9, 10]),
        # below a piece: the leaf with the fewest nodes that holds the job
        (2, [8, 9]),
        (4, [0, 1, 2, 3]),
        # two pieces, on the two largest leaves, the smaller one first
        (8, [0, 1, 2, 3, 16, 17, 18, 19]),
        # three pieces: 6, 3 and 7 nodes hold 1, 0 and 1
        (14, None),
    ],
)
def test_the_rest_of_a_segment_is_placed_by_best_fit(size, nodes):
    """Leaves of 8 with 6, 3 and 7 nodes free, segments of 4."""
    h = hierarchy(("leaf",), (np.arange(24) // 8,))
    free = set(range(6)) | set(range(8, 11)) | set(range(16, 23))
    assert placed(with_free(machine(h), "segment", free, segment=4), size) == nodes


def test_a_segment_lies_on_alternate_nodes_of_a_leaf():
    h = hierarchy(("leaf",), (np.arange(6) % 2,))
    assert placed(with_free(machine(h), "segment", set(range(6)), segment=2), 2) == [0, 2]
    assert placed(with_free(machine(h), "segment", {0, 1, 3, 4}, segment=2), 4) == [0, 4, 1, 3]


def test_balanced_divides_by_hand():
    """Leaves of 4 with 4, 2, 3 and 2 nodes free.

    Four fit on one leaf. Five on two: 3 + 2, three of them on the leaf with exactly 3, two on the
    first with 2. Six are 3 + 3. Nine have no two (5 + 4) or three (3 + 3 + 3) leaves; four leaves
    have 3 + 2 + 2 + 2.
    """
    h = hierarchy(("leaf",), (np.arange(16) // 4,))
    free = {0, 1, 2, 3, 4, 5, 8, 9, 10, 12, 13}
    found = {n: placed(with_free(machine(h), "balanced", free), n) for n in (4, 5, 6, 9)}
    assert found[4] == [0, 1, 2, 3]
    assert found[5] == [4, 5, 8, 9, 10]
    assert found[6] == [0, 1, 2, 8, 9, 10]
    assert found[9] == [0, 1, 4, 5, 8, 9, 10, 12, 13]


def test_group_spread_uses_the_least_used_group_then_the_fullest():
    """Groups of 4 with 3, 2 and 4 nodes free. Two fit best into the second one.

    Five fit into none: one node of each group, the fullest (2 free) first, then again one of each.
    """
    h = hierarchy(("group", "leaf"), (np.arange(12) // 4, np.arange(12) // 2))
    free = {0, 1, 2, 4, 5, 8, 9, 10, 11}
    assert placed(with_free(machine(h), "group-spread", free), 2) == [4, 5]
    assert placed(with_free(machine(h), "group-spread", free), 5) == [4, 0, 8, 5, 1]


def test_slurm_without_a_topology_takes_the_tightest_run_then_the_longest():
    """Select/linear's own order: a set that is enough and tight, else the biggest, and again."""
    free = {0, 2, 3, 5, 6, 7, 9, 10, 11}
    row = machine(hierarchy(("leaf",), ([0] * 12,)))
    taken = {n: placed(with_free(row, "slurm-linear", free), n) for n in (1, 2, 3, 4, 5, 6, 7)}
    assert taken[1] == [0]
    assert taken[2] == [2, 3]
    assert taken[3] == [5, 6, 7]  # the lower-numbered of two equals
    assert taken[4] == [0, 5, 6, 7]  # none holds four: the longest, then the rest's best fit
    assert taken[5] == [2, 3, 5, 6, 7]
    assert taken[6] == [5, 6, 7, 9, 10, 11]
    assert taken[7] == [0, 5, 6, 7, 9, 10, 11]


HISTORY = st.lists(
    st.tuples(st.integers(1, 6), st.lists(st.integers(0, 40), max_size=3)), min_size=1, max_size=14
)


@SOME
@given(history=HISTORY, youngest=st.booleans())
def test_nodes_come_in_the_order_in_which_they_were_given_back(history, youngest):
    """Against one list of batches: all nodes, then each job's as it ends."""
    topology = machine(hierarchy(("leaf",), ([0] * 13,)))
    name = "shortest-idle" if youngest else "longest-idle"
    policy = make_policy(topology, name, np.random.default_rng(0))
    batches, running = [list(range(13))], []
    for n, ends in history:
        line = [v for batch in (batches[::-1] if youngest else batches) for v in batch]
        aside = policy.clone()
        placement = policy.allocate(Request(1, n))
        assert (placement is None) == (len(line) < n)
        if placement is not None:
            assert placement.nodes.tolist() == line[:n]
            batches = [[v for v in batch if v not in line[:n]] for batch in batches]
            running.append(placement)
            # a copy goes its own way
            assert aside.allocate(Request(1, n)).nodes.tolist() == line[:n]
        for k in ends:
            if running:
                done = running.pop(k % len(running))
                policy.release(done)
                batches.append(sorted(done.nodes.tolist()))


def test_the_pages_table_is_what_comes_out():
    page = (Path(__file__).parents[1] / "docs" / "schedulers.md").read_text(encoding="utf-8")
    table = page.split("## One example")[1].split("## Parameters")[0]
    lines = re.findall(r"^\| `([\w-]+)` \|(.*)\|$", table, re.M)
    assert len(lines) == 12
    h = hierarchy(("switch", "leaf"), ([0] * 12 + [1] * 8, np.arange(20) // 4))
    free = {4 * i + k for i, n in enumerate((1, 2, 4, 3, 3)) for k in range(n)}
    for name, cells in lines:
        for n, cell in zip((2, 5, 8), cells.split("|"), strict=True):
            found = placed(with_free(machine(h), name, free), n)
            told = "waits"
            if found is not None:
                told = " ".join(map(str, np.bincount(np.array(found) // 4, minlength=5)))
            assert (name, n, cell.strip()) == (name, n, told)


# What is refused


WRONG = [
    ("slurm-tree", {"max_wait_s": 3.0}, "max_wait goes with switches"),
    ("slurm-tree", {"switches": 0}, "switches = 0"),
    ("slurm-block", {"block_sizes": [3]}, "plans 3 nodes a base block, and leaf 0 has 2"),
    ("slurm-block", {"block_sizes": [2, 6]}, "has 6, which is not the first size (2) times"),
    (
        "slurm-block",
        {"block_level": "rack"},
        "unknown level of tree for slurm-block 'rack'; valid: leaf, machine",
    ),
    ("kueue-required", {"level": "rack"}, "unknown level of tree for kueue-required 'rack'"),
    ("kueue-required", {"level": "leaf", "lowest_level": "s4-s5"}, "lies below lowest_level"),
    ("kueue-preferred", {"profile": "tight"}, "profile = 'tight'"),
    ("kueue-unconstrained", {"level": "leaf"}, "unknown parameter of policy kueue-unconstrained"),
    ("pbs-placement-sets", {"levels": ["leaf", "leaf"]}, "names a level twice"),
    ("group-spread", {"level": "group"}, "unknown level of tree for group-spread 'group'"),
    ("flux-low", {"level": "leaf"}, "unknown parameter 'level'; it takes none"),
]


@pytest.mark.parametrize(("name", "parameters", "told"), WRONG)
def test_what_is_refused(name, parameters, told):
    with pytest.raises(NetcosimError) as caught:
        make_policy(machine(TUX), name, np.random.default_rng(0), parameters)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
