"""Collectives: the data of every transfer is followed, volumes and steps against closed forms."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import combine
from patterns.build import build_program
from patterns.collective import collective
from patterns.collectives.algorithms import double_tree_parents, ring_orders
from patterns.collectives.library import LIBRARY, Collective, choose
from patterns.collectives.transfers import Transfers

CASES = [(operation, name) for operation, known in LIBRARY.items() for name in known]
CASES.remove(("all-to-all", "bruck"))  # its blocks are no range of units: see the test below


def follow(t: Transfers, held: list[dict[int, int]], pick: np.random.Generator) -> None:
    """Run the steps with messages that carry what the sender has of each unit, in random order.

    ``held[r][u]`` has a bit for each rank whose contribution to unit u is in what rank r has.
    Received data are used in the step that waits for them: contributions that the rank does not
    have are added up, data that contain what it has replace it. Anything else would count a
    contribution twice.
    """
    ranks = len(held)
    posts: dict[tuple[int, int], list[int]] = {}
    needs: Counter[tuple[int, int]] = Counter(zip(t.dst.tolist(), t.dst_step.tolist(), strict=True))
    for m, key in enumerate(zip(t.src.tolist(), t.src_step.tolist(), strict=True)):
        posts.setdefault(key, []).append(m)
    arrived: dict[tuple[int, int], list[tuple[int, int]]] = {}
    count: Counter[tuple[int, int]] = Counter()
    at, posted = [0] * ranks, [False] * ranks
    waiting = {r for r in range(ranks) if t.n_steps}
    while waiting:
        progress = False
        for r in pick.permutation(sorted(waiting)).tolist():
            while at[r] < t.n_steps:
                key = (r, at[r])
                if not posted[r]:
                    posted[r] = progress = True
                    for m in posts.get(key, ()):
                        goal = (int(t.dst[m]), int(t.dst_step[m]))
                        count[goal] += 1
                        for unit in (u % t.n_units for u in range(t.first[m], t.last[m])):
                            assert held[r].get(unit), f"rank {r} has nothing of unit {unit}"
                            arrived.setdefault(goal, []).append((unit, held[r][unit]))
                if count[key] < needs[key]:
                    break
                for unit, data in arrived.pop(key, ()):
                    mine = held[r].get(unit, 0)
                    assert mine & data in (0, mine), f"rank {r}, unit {unit}: twice"
                    held[r][unit] = mine | data
                at[r] += 1
                posted[r] = False
                progress = True
            else:
                waiting.discard(r)
                progress = True
        assert progress, f"stuck: ranks {sorted(waiting)}"
    assert count == needs


def owner(unit: int, p: int, g: int, name: str) -> int:
    """The rank whose unit it is in a reduce-scatter or all-gather."""
    unit %= p
    return unit % (p // g) * g + unit // (p // g) if name == "hierarchical" else unit


def check(one: Collective, p: int, message_bytes: int, seed: int = 0) -> Transfers:
    """Follow the data of a collective to its result."""
    t = one.transfers(p, message_bytes)
    name, g = one.named(p, message_bytes), one.node_size(p)
    units, everyone = range(t.n_units), (1 << p) - 1
    held: list[dict[int, int]] = [{} for _ in range(p)]
    ends: list[tuple[int, int, int]] = []  # rank, unit, what it must have
    for u in units:
        if one.operation in ("all-reduce", "reduce-scatter", "reduce"):
            for r in range(p):
                held[r][u] = 1 << r
            to = {"all-reduce": range(p), "reduce": range(1)}.get(one.operation)
            ends += [(r, u, everyone) for r in to or [owner(u, p, g, name)]]
        elif one.operation in ("scatter", "gather"):
            first, last = (0, u % p) if one.operation == "scatter" else (u % p, 0)
            held[first][u] = 1 << first
            ends.append((last, u, 1 << first))
        elif one.operation == "all-to-all":
            dst, src = divmod(u, p) if name != "hierarchical" else divmod(u, p)[::-1]
            held[src][u] = 1 << src
            ends.append((dst, u, 1 << src))
        else:
            first = 0 if one.operation == "broadcast" else owner(u, p, g, name)
            held[first][u] = 1 << first
            to = [(u + 1) % p] if one.operation == "send-recv" else range(p)
            ends += [(r, u, 1 << first) for r in to]
    follow(t, held, np.random.default_rng(seed))
    assert all(held[r].get(u) == data for r, u, data in ends)
    if one.operation in ("reduce-scatter", "all-gather"):
        assert len({owner(u, p, g, name) for u in units}) == p
    return t


@examples(300)
@given(
    st.sampled_from(CASES),
    st.integers(1, 26),
    st.integers(1, 9),
    st.none() | st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_every_rank_ends_with_what_the_operation_promises(case, p, g, channels, chunks, seed):
    check(Collective(*case, g, channels, chunks), p, 1000, seed)


def depths(parent: np.ndarray) -> list[int]:
    """How many ranks each one of a tree has above it."""
    found = []
    for member in range(len(parent)):
        path = [member]
        while parent[path[-1]] >= 0:
            path.append(int(parent[path[-1]]))
        found.append(len(path) - 1)
    return found


def sent(one: Collective, p: int, message_bytes: int) -> tuple[list[int], list[int], int]:
    """Bytes that each rank sends inside its node and to other nodes, and the steps."""
    messages, n_steps = one.messages(np.arange(p)[None, :], message_bytes)
    g = one.node_size(p)
    inside = messages.src // g == messages.dst // g
    sums = [
        np.bincount(messages.src[where], messages.n_bytes[where], p).astype(int).tolist()
        for where in (inside, ~inside)
    ]
    return sums[0], sums[1], n_steps


@pytest.mark.parametrize(("p", "g"), [(1, 1), (2, 1), (3, 1), (7, 1), (4, 4), (12, 4), (9, 3)])
@pytest.mark.parametrize("chunks", [1, 3])
def test_volumes_and_steps_are_the_closed_forms(p: int, g: int, chunks: int) -> None:
    """Buffers that divide: bytes of each rank inside its node and to others, and steps."""
    n, size = p // g, 144 * p * g * 3
    unit = size // p
    ring = (n > 1) * unit  # a ring leaves a node in one of g channels
    closed = {
        ("all-reduce", "hierarchical"): (2 * (g - 1) * n, 2 * (n - 1)),
        ("reduce-scatter", "hierarchical"): ((g - 1) * n, n - 1),
        ("all-gather", "hierarchical"): ((g - 1) * n, n - 1),
        ("all-reduce", "direct"): (2 * (g - 1), 2 * (p - g)),
        ("reduce-scatter", "direct"): (g - 1, p - g),
        ("all-gather", "direct"): (g - 1, p - g),
        ("all-to-all", "direct"): (g - 1, p - g),
        ("all-to-all", "pxn"): ((g - 1) * n, (n - 1) * g),
        ("all-to-all", "hierarchical"): ((g - 1) * n, (n - 1) * g),
    }
    for (operation, name), (inside, outside) in closed.items():
        one = Collective(operation, name, g, chunks=chunks)
        want = [[inside * unit] * p, [outside * unit] * p]
        assert [*sent(one, p, size)[:2]] == want, (operation, name)
    for operation, rounds in (("all-reduce", 2), ("reduce-scatter", 1), ("all-gather", 1)):
        inside_of, outside_of, steps = sent(Collective(operation, "ring", g, None, chunks), p, size)
        assert [a + b for a, b in zip(inside_of, outside_of, strict=True)] == (
            [rounds * (p - 1) * unit] * p
        )
        # Every rank is the exit of its node in one of g rings.
        assert outside_of == [rounds * (p - 1) * ring // g] * p
        assert steps == rounds * (p - 1) * g * chunks
    between = max(max(depths(parent)) for parent in double_tree_parents(n))
    for name, deepest in (("tree", between + g - 1), ("nvls", between + (g > 1))):
        one = Collective("all-reduce", name, g, None, chunks)
        # Up and down in deepest + 1 steps each; each chunk of g pairs of trees is one step behind.
        steps = (2 * (deepest + 1) - 1 + chunks) * 2 * g
        inside_of, outside_of, found = sent(one, p, size)
        assert found == steps
        # Each tree has n - 1 edges between nodes, each channel p - n inside them.
        assert sum(outside_of) == 2 * (n - 1) * size
        share = 1 if name == "tree" else (g + 1) / max(1, 2 * (g - 1))
        assert sum(inside_of) == pytest.approx(2 * (p - n) * size * share)
    assert sum(map(sum, sent(Collective("broadcast", "tree", g), p, size)[:2])) == (p - 1) * size
    both = sent(Collective("send-recv", "direct", g), p, size)
    assert [a + b for a, b in zip(*both[:2], strict=True)] == [size * (p > 1)] * p


def test_a_switch_that_reduces_carries_the_buffer_and_a_share_of_it_each_way() -> None:
    inside, outside, _ = sent(Collective("all-reduce", "nvls", 8, chunks=1), 8, 8 * 7 * 1000)
    assert inside == [8 * 7 * 1000 * 9 // 8] * 8
    assert sum(outside) == 0


@pytest.mark.parametrize("size", [1, 5, 999, 1000, 1001])
@pytest.mark.parametrize("p", [3, 7, 12])
def test_bytes_that_do_not_divide_are_not_lost(p: int, size: int) -> None:
    """Messages of a unit differ by one byte; the units of a buffer add up to it, or are 1 byte."""
    for operation, name in CASES:
        one = Collective(operation, name, 4, 2, 2)
        t = one.transfers(p, size)
        units = t.n_bytes(size)[t.last - t.first == 1]
        assert len(units) == 0 or np.ptp(units) <= 1
        whole = Transfers(1, t.n_units, *[np.arange(t.n_units)] * 5, np.arange(t.n_units) + 1)
        assert whole.n_bytes(size).sum() == max(size, t.n_units) or size < t.n_units
        messages, _ = one.messages(np.arange(p)[None, :], size)
        assert messages.n_bytes.min() >= 1
    exchange, _ = Collective("all-to-all", "direct").messages(np.arange(p)[None, :], size)
    assert set(exchange.n_bytes.tolist()) == {max(1, size // p)}
    ring = Collective("reduce-scatter", "ring", chunks=1)
    assert sum(sent(ring, p, 1001)[1]) == (p - 1) * 1001


def time_of(one: Collective, p: int, size: int) -> float:
    """The time on one switch over that of the buffer on a link: no latency, packets of 1 KiB."""
    machine = {"dims": [1], "concentration": p, "node_bandwidth_Bps": 10**9, "node_latency_s": 0.0}
    messages, n_steps = one.messages(np.arange(p)[None, :], size)
    program = build_program(p, n_steps, messages)
    result = simulate_packets(
        make_routing(make_topology("torus", machine)),
        combine([program], [np.arange(p)]),
        PacketConfig(packet_bytes=1024, buffer_bytes=1 << 20, router_latency_s=0.0),
        np.random.default_rng(0),
        record_messages=False,
    )
    return float(np.max(result.end_ps)) * 1e-3 / size


BANDWIDTH = [
    # operation, algorithm, GPUs a node, chunks, time of a buffer on a link at p = 16
    ("all-reduce", "ring", 1, 1, 30 / 16),
    ("all-reduce", "ring", 8, 4, 30 / 16),
    ("all-reduce", "hierarchical", 4, 4, 30 / 16),
    ("all-reduce", "recursive-halving", 1, 1, 30 / 16),
    ("all-reduce", "recursive-doubling", 1, 1, 4),
    ("all-reduce", "direct", 1, 1, 30 / 16),
    ("reduce-scatter", "hierarchical", 4, 4, 15 / 16),
    ("all-gather", "hierarchical", 4, 4, 15 / 16),
    ("all-gather", "ring", 8, 4, 15 / 16),
    ("all-to-all", "direct", 1, 1, 15 / 16),
    # (g - 1) n + (n - 1) g units of p
    ("all-to-all", "pxn", 4, 1, 24 / 16),
    ("broadcast", "direct", 1, 1, 15),
    # p - 1 hops, then the other chunks
    ("broadcast", "ring", 1, 15, (15 + 14) / 15),
    ("all-to-all", "pairwise", 1, 1, 15 / 16),
    ("all-to-all", "bruck", 1, 1, 4 * 8 / 16),  # half of the blocks in each of four steps
    ("all-gather", "bruck", 1, 1, 15 / 16),
    ("all-gather", "neighbor-exchange", 1, 1, 15 / 16),
    ("broadcast", "binomial", 1, 1, 4),
    ("broadcast", "binomial-at-once", 1, 1, 4 + 3 + 2 + 1),
    ("broadcast", "scatter-ring", 1, 1, 30 / 16),
    ("broadcast", "scatter-doubling", 1, 1, 30 / 16),
    ("reduce", "binomial", 1, 1, 4),
    ("reduce", "direct", 1, 1, 15),
    ("reduce", "recursive-halving", 1, 1, 30 / 16),
    ("gather", "direct", 1, 1, 15 / 16),
    ("gather", "binomial", 1, 1, 15 / 16),
    ("gather", "one-by-one", 1, 1, 15 / 16),
    ("scatter", "binomial", 1, 1, 15 / 16),
]


def test_bruck_sends_a_block_once_for_each_bit_of_its_way() -> None:
    """On 6 ranks the ways 1 to 5 have three odd, two with bit 1 and two with bit 2."""
    t = Collective("all-to-all", "bruck").transfers(6, 6000)
    from_first = t.src == 0
    assert t.dst[from_first].tolist() == [1, 2, 4]
    assert (t.last - t.first)[from_first].tolist() == [3, 2, 2]


@pytest.mark.parametrize(("operation", "name", "g", "chunks", "times"), BANDWIDTH)
def test_bus_bandwidth_on_one_switch(operation, name, g, chunks, times):
    """Bandwidth-optimal algorithms keep all links busy: 2 (p - 1) / p, and half of it."""
    found = time_of(Collective(operation, name, g, chunks=chunks), 16, 16 * 15 << 11)
    assert found == pytest.approx(times, rel=0.005)


def test_trees_come_near_the_bandwidth_of_a_ring_with_more_chunks() -> None:
    """Both trees together send a buffer up and one down; a chunk takes twice the levels longer."""
    found = [time_of(Collective("all-reduce", "tree", chunks=k), 16, 1 << 20) for k in (1, 8, 64)]
    assert found == sorted(found, reverse=True)
    assert 2 <= found[-1] <= 2 * (1 + 2 * 5 / 64)
    reduced = time_of(Collective("all-reduce", "nvls", 8, chunks=16), 16, 1 << 20)
    # In two nodes a rank sends 9/8 of the buffer inside its node and 1/8 to the other.
    assert 1.25 <= reduced <= 1.25 * (1 + 2 * 3 / 16)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 13, 32, 100])
def test_double_trees_are_binary_shallow_and_share_no_inner_member(n: int) -> None:
    trees = double_tree_parents(n)
    inner = []
    for parent in trees:
        assert np.count_nonzero(parent < 0) == 1
        children = np.bincount(parent[parent >= 0], minlength=n)
        assert children.max() <= 2
        inner.append(set(np.flatnonzero(children == 2).tolist()))
        assert max(depths(parent)) <= n.bit_length()
    assert not inner[0] & inner[1]


def test_rings_stay_on_their_rail_between_nodes() -> None:
    exits = []
    for order in ring_orders(24, 4, 4):
        assert sorted(order.tolist()) == list(range(24))
        ends = np.stack([order, np.roll(order, -1)])
        crossing = ends[:, ends[0] // 4 != ends[1] // 4]
        assert np.array_equal(crossing[0] % 4, crossing[1] % 4)
        exits += crossing[0].tolist()
    assert sorted(exits) == list(range(24))  # every rank is the exit of its node once


def test_pxn_sends_one_message_for_each_pair_of_nodes_and_rail() -> None:
    for name in ("pxn", "hierarchical"):
        t = check(Collective("all-to-all", name, 4), 12, 12000)
        far = t.src // 4 != t.dst // 4
        assert np.array_equal(t.src[far] % 4, t.dst[far] % 4)
        pairs = Counter(zip(t.src[far].tolist(), t.dst[far].tolist(), strict=True))
        assert len(pairs) == 3 * 2 * 4
        assert set(pairs.values()) == {1}
        assert set((t.last - t.first)[far].tolist()) == {4}


def test_pxn_hands_over_before_the_step_that_sends() -> None:
    """Two nodes of two ranks: for the other node in step 0, for the own in 1; step 2 sends."""
    t = Collective("all-to-all", "pxn", 2).transfers(4, 16)
    steps = Counter(zip(t.src_step.tolist(), t.dst_step.tolist(), strict=True))
    assert steps == {(0, 1): 4, (1, 2): 4, (2, 2): 4}


def test_groups_run_side_by_side_from_any_step() -> None:
    """Two groups of a larger program have the messages of one group with their ranks."""
    one = Collective("all-reduce", "tree", 2, chunks=2)
    alone, steps = one.messages(np.arange(4)[None, :], 4000)
    members = np.array([[5, 4, 1, 0], [2, 3, 6, 7]])
    both, same = one.messages(members, 4000, first_step=10)
    assert same == steps
    for k, row in enumerate(members):
        part = slice(k * len(alone), (k + 1) * len(alone))
        assert np.array_equal(both.src[part], row[alone.src])
        assert np.array_equal(both.dst[part], row[alone.dst])
        assert np.array_equal(both.src_step[part], alone.src_step + 10)
        assert np.array_equal(both.dst_step[part], alone.dst_step + 10)


def test_auto_takes_trees_for_small_and_rings_for_large_buffers() -> None:
    """The limit grows with the nodes, as the latency of a ring does; other operations have one."""
    limits = []
    for p in (16, 64, 256, 1024):
        names = [choose("all-reduce", p, 8, 1 << k) for k in range(10, 36)]
        limits.append(names.index("ring"))
        assert names == ["tree"] * limits[-1] + ["ring"] * (len(names) - limits[-1])
    assert limits == sorted(set(limits))
    assert choose("all-gather", 64, 8, 1) == choose("broadcast", 64, 8, 1) == "ring"
    assert choose("all-to-all", 64, 8, 1) == "pxn"
    assert {choose("all-to-all", 8, 8, 1), choose("all-to-all", 8, 1, 1)} == {"direct"}
    # By hand for 16 ranks in 2 nodes and 1 MiB: 10 + 28 x 1.9 + 2 x 4 us + 9.1 us against
    # 4.4 + 2 (7 x 1.2 + 8.5) us + 17.6 us.
    assert choose("all-reduce", 16, 8, 1 << 20) == "tree"


def test_chunks_are_of_half_a_mebibyte_and_at_most_32() -> None:
    for size, chunks in ((1, 1), (8 << 20, 1), (9 << 20, 2), (1 << 40, 32)):
        t = Collective("all-reduce", "ring", channels=1).transfers(16, size)
        assert t.n_steps == 30 * chunks


def test_jobs_that_do_not_fill_nodes_are_divided_into_equal_nodes() -> None:
    sizes = {p: Collective(gpus_per_node=8).node_size(p) for p in (1, 6, 8, 12, 16, 20, 21)}
    assert sizes == {1: 1, 6: 6, 8: 8, 12: 4, 16: 8, 20: 4, 21: 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"operation": "reduction"}, "operation of a collective 'reduction'"),
        ({"algorithm": "pxn"}, "algorithm of all-reduce 'pxn'"),
        ({"chunks": 0}, "chunks = 0; it must be at least 1"),
    ],
)
def test_mistakes_are_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        Collective(**given)  # type: ignore[arg-type]


SHARED = Path(os.environ.get("NETCOSIM_SHARED", Path(__file__).parents[1] / ".." / "shared"))
SIMAI = SHARED / "inputs/ai/simai/nic_ratio.csv"


@pytest.mark.skipif(not SIMAI.exists(), reason="shared/inputs/ai is missing")
def test_steps_and_bytes_of_a_ring_meet_simais_table() -> None:
    """20 us, 4.7 us a step and the bytes at 98 % of 8 x 50 GB/s: bus bandwidths of 16 to 1,024 GPUs
    (columns of 2 to 128 nodes) with a median error below 10 %."""
    errors = []
    rows = [line.split(",") for line in SIMAI.read_text(encoding="utf-8").splitlines()[1:]]
    for k in range(7):
        p = 16 << k
        one = Collective("all-reduce", "ring", 8, channels=1, chunks=1)
        t = one.transfers(p, 1)
        for row in rows:
            size = int(row[0])
            n_bytes = t.n_bytes(size)[t.src == 0].sum()
            seconds = 20e-6 + t.n_steps * 4.7e-6 + n_bytes / (0.98 * 400e9)
            share = 2 * (p - 1) / p * size / seconds / 400e9
            errors.append(abs(share / float(row[2 + k]) - 1))
    assert len(errors) == 77
    assert np.median(errors) <= 0.1


@pytest.mark.parametrize(
    ("ranks", "group", "size"), [(128, 64, 64), (504, 64, 56), (496, 64, 16), (6, 4, 3), (7, 4, 1)]
)
def test_groups_divide_the_job_and_stay_among_themselves(ranks: int, group: int, size: int) -> None:
    """A job of 504 ranks in nodes of 8 has groups of 7 nodes."""
    program = collective(ranks, 64_000, 1, "all-to-all", "direct", 8, group=group)
    sender = np.repeat(np.arange(ranks), size - 1)
    assert program.n_messages == len(sender)
    alone = collective(size, 64_000, 1, "all-to-all", "direct", 8) if size > 1 else None
    assert program.total_bytes == (0 if alone is None else ranks // size * alone.total_bytes)
