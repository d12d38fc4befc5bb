"""Collectives: the data of every transfer is followed, volumes and steps against closed forms."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.collectives.library import LIBRARY, Collective
from patterns.collectives.transfers import Transfers

CASES = [(operation, name) for operation, known in LIBRARY.items() for name in known]
RANKS = [(1, 1), (2, 1), (3, 1), (7, 1), (8, 1), (13, 1), (4, 4), (7, 8), (6, 2), (12, 4), (20, 4)]
RANKS += [(16, 8), (12, 8), (9, 3)]


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
                        for unit in range(t.first[m], t.last[m]):
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
        if one.operation in ("all-reduce", "reduce-scatter"):
            for r in range(p):
                held[r][u] = 1 << r
            whole = one.operation == "all-reduce"
            ends += [(r, u, everyone) for r in (range(p) if whole else [owner(u, p, g, name)])]
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


@pytest.mark.parametrize(("p", "g"), RANKS)
@pytest.mark.parametrize(("operation", "name"), CASES)
def test_every_rank_ends_with_what_the_operation_promises(
    operation: str, name: str, p: int, g: int
) -> None:
    for channels, chunks in ((None, 1), (1, 3), (3, 2)):
        check(Collective(operation, name, g, channels, chunks), p, 1000)


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(CASES),
    st.integers(1, 26),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_any_number_of_ranks(
    case: tuple[str, str], p: int, g: int, channels: int, chunks: int, seed: int
) -> None:
    check(Collective(*case, g, channels, chunks), p, 1000, seed)
