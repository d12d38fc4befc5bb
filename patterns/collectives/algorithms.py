"""Algorithms of collectives, for p ranks that are numbered 0 .. p-1.

A reduce-scatter leaves unit r of p at rank r, unless the docstring defines another order. Adding
up takes no time.
"""

from __future__ import annotations

import numpy as np

from patterns.build import need_messages
from patterns.collectives.transfers import (
    IntArray,
    Transfers,
    in_groups,
    join,
    make_transfers,
    pipeline,
    reverse,
    then,
)


def ring(order: IntArray, n_steps: int, ahead: int = 0) -> Transfers:
    """Send units around a ring: in step s rank i of the order sends unit ``i - s + ahead``.

    All-reduce takes 2 (p - 1) steps (Patarasuk and Yuan, JPDC 2009), all-gather the first p - 1 of
    them. Reduce-scatter takes as many one unit behind, so that each rank ends with its own.
    """
    p = len(order)
    need_messages(p * n_steps, p * n_steps, f"a ring of {p} ranks")
    i, s = np.arange(p)[:, None], np.arange(n_steps)[None, :]
    unit = order[(i - s + ahead) % p]
    return make_transfers(n_steps, p, order[i], s, order[(i + 1) % p], s, (unit, unit + 1))


def ring_orders(n_ranks: int, gpus_per_node: int, channels: int) -> list[IntArray]:
    """Return the order of the ranks in the ring of each channel.

    Channel c enters even nodes on rail c and goes through their ranks upwards; it goes through odd
    nodes downwards. So it stays on one rail from node to node, but for the link back to node 0
    if the number of nodes is odd. Channel 0 of nodes with one rank is the order of the ranks.
    """
    nodes = np.arange(n_ranks, dtype=np.int64).reshape(-1, gpus_per_node)
    orders = []
    for c in range(channels):
        turned = np.roll(nodes, -(c % gpus_per_node), axis=1)
        turned[1::2] = turned[1::2, ::-1]
        orders.append(turned.reshape(-1))
    return orders


def direct(p: int, operation: str, *, pairwise: bool = False) -> Transfers:
    """Send from every rank to every other one, in the order of a ring.

    All at once, or if ``pairwise`` to one rank a step. The units of an all-to-all are numbered by
    destination, then by source.
    """
    need_messages(p * (p - 1), p * (p if pairwise else 1), f"a direct {operation} of {p} ranks")
    src, away = np.arange(p)[:, None], np.arange(1, p)[None, :]
    dst, step = (src + away) % p, (away - 1 if pairwise else 0)
    unit = {"reduce-scatter": dst, "all-gather": src, "all-to-all": dst * p + src}[operation]
    n_units = p * p if operation == "all-to-all" else p
    n_steps = p - 1 if pairwise else min(1, p - 1)
    return make_transfers(n_steps, n_units, src, step, dst, step, (unit, unit + 1))


def bruck(p: int, operation: str) -> Transfers:
    """Return an all-gather or all-to-all in log2(p) steps (Bruck et al., IEEE TPDS 1997).

    In step s of an all-gather rank r sends the units that it has from ``r`` on, modulo p, to rank
    ``r - 2^s``. In an all-to-all it sends the blocks whose way to their destination contains
    ``2^s`` to rank ``r + 2^s``; they are no range, so only their number counts.
    """
    src, s = np.arange(p)[:, None], np.arange((p - 1).bit_length())[None, :]
    if operation == "all-gather":
        units = (src, src + np.minimum(1 << s, p - (1 << s)))
        return make_transfers(s.size, p, src, s, (src - (1 << s)) % p, s, units)
    blocks = (np.arange(p)[:, None] >> s & 1).sum(axis=0)
    return make_transfers(s.size, p * p, src, s, (src + (1 << s)) % p, s, (0, blocks))


def neighbor_exchange(p: int) -> Transfers:
    """Return an all-gather in p/2 exchanges with both neighbours in turn (Chen et al., 2005).

    The first exchange is of own units, every later one of the two that came last. A ring if p is
    odd, as in Open MPI.
    """
    rank = np.arange(p)
    if p % 2 or p < 2:
        return ring(rank, p - 1)
    pair, parts = rank // 2, []
    for step in range(p // 2):
        other = (rank + np.where((rank + step) % 2, -1, 1)) % p
        units = (2 * pair, 2 * pair + 2) if step else (rank, rank + 1)
        parts.append(make_transfers(p // 2, p, rank, step, other, step, units))
        pair = pair[other] if step else pair
    return join(p // 2, p, parts)


def neighbours(p: int) -> Transfers:
    """Send from each rank to the next one, and from the last to the first."""
    rank = np.arange(p if p > 1 else 0)
    return make_transfers(min(1, p - 1), p, rank, 0, (rank + 1) % p, 0, (rank, rank + 1))


def _power_of_two(p: int) -> tuple[IntArray, Transfers]:
    """Return the ranks that take part in powers of two, and what the others first send them.

    With 2^k < p < 2^(k+1), each even rank of the first 2 (p - 2^k) gives its buffer to the odd rank
    after it, which takes part for both (Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.5).
    """
    core = 1 << (p.bit_length() - 1)
    extra = p - core
    index = np.arange(core, dtype=np.int64)
    actor = np.where(index < extra, 2 * index + 1, index + extra)
    even = 2 * index[:extra]
    return actor, make_transfers(min(1, extra), p, even, 0, even + 1, 0, (0, p))


def recursive_doubling(p: int) -> Transfers:
    """Return an all-reduce in log2(p) exchanges of the entire buffer."""
    actor, fold = _power_of_two(p)
    index, s = np.arange(len(actor))[:, None], np.arange(p.bit_length() - 1)[None, :]
    core = make_transfers(s.size, p, actor[index], s, actor[index ^ (1 << s)], s, (0, p))
    return then(fold, core, reverse(fold))


def recursive_halving(p: int, operation: str) -> Transfers:
    """Halve the buffer and the distance in each of log2(p) steps (Rabenseifner, ICCS 2004).

    All-gather runs the same steps backwards; all-reduce runs both, one after the other.
    """
    actor, fold = _power_of_two(p)
    extra = p - len(actor)
    index, s = np.arange(len(actor))[:, None], np.arange(p.bit_length() - 1)[None, :]
    half = len(actor) >> (s + 1)
    partner = index ^ half
    begin = partner // half * half
    # Actor i has the units of one rank, or of two where it takes part for another.
    units = (begin + np.minimum(begin, extra), begin + half + np.minimum(begin + half, extra))
    core = make_transfers(s.size, p, actor[index], s, actor[partner], s, units)
    if operation == "all-reduce":
        return then(fold, core, reverse(core), reverse(fold))
    even = 2 * np.arange(extra)
    own = make_transfers(min(1, extra), p, even + 1, 0, even, 0, (even, even + 1))
    scattered = then(fold, core, own)
    return scattered if operation == "reduce-scatter" else reverse(scattered)


def chain_parents(order: IntArray) -> IntArray:
    """Return each rank's parent, the one before it in the order, (p,); -1 for rank 0."""
    parent = np.empty_like(order)
    parent[order] = np.roll(order, 1)
    parent[0] = -1
    return parent


def double_tree_parents(n: int) -> tuple[IntArray, IntArray]:
    """Return the parents in two binary trees of n members, -1 at the roots.

    Members between the leaves of one tree are leaves of the other (Sanders, Speck and Traeff,
    Parallel Computing 2009). The trees are those of NCCL (``src/graph/trees.cc``): the second one
    is the first in opposite order, or shifted by one if n is odd.
    """
    member = np.arange(n, dtype=np.int64)
    low = member & -member
    above = (member ^ low) | (low << 1)
    parent = np.where(above < n, above, member ^ low)
    parent[:1] = -1
    label = n - 1 - member if n % 2 == 0 else (member + 1) % n
    other = np.empty_like(parent)
    other[label] = np.where(parent < 0, -1, label[parent])
    return parent, other


def tree_parents(
    n_ranks: int, gpus_per_node: int, channels: int, *, star: bool = False
) -> list[IntArray]:
    """Return the parents of each rank in both trees of each channel.

    The nodes form a double binary tree, through rank c of each node for channel c. The other ranks
    of a node follow it in a chain, or are all its children if ``star``.
    """
    g, rank = gpus_per_node, np.arange(n_ranks, dtype=np.int64)
    node = rank // g
    found = []
    for c in range(channels):
        place = (rank - c) % g
        inside = node * g + ((0 if star else place - 1) + c) % g
        for tree in double_tree_parents(n_ranks // g):
            head = np.where(tree[node] < 0, -1, tree[node] * g + c % g)
            found.append(np.where(place == 0, head, inside))
    return found


def levels_of(parent: IntArray) -> IntArray:
    """Return the levels of each rank of a tree above the deepest one, (p,) int."""
    depth = (parent >= 0).astype(np.int64)
    above = np.where(parent < 0, np.arange(len(parent)), parent)
    while np.any(above != above[above]):
        depth, above = depth + depth[above], above[above]
    levels: IntArray = depth.max() - depth
    return levels


def to_root(parent: IntArray, level: IntArray) -> Transfers:
    """Reduce to the root of a tree: a rank waits for its children, then sends to its parent.

    It sends in the step of its level, if the parents are on higher levels, and waits in the step
    before that. If all levels are 1, it waits in step 0 and sends in step 1.
    """
    child = np.flatnonzero(parent >= 0)[::-1]
    above = parent[child]
    return make_transfers(
        int(level.max()) + 1, 1, child, level[child], above, level[above] - 1, (0, 1)
    )


def from_root(p: int, *, scatter: bool = False) -> Transfers:
    """Send the buffer from rank 0 to all others at once, or to each its unit."""
    rank = np.arange(1, p)
    return make_transfers(1, p, 0, 0, rank, 0, (rank, rank + 1) if scatter else (0, p))


def binomial(p: int, *, scatter: bool = False) -> Transfers:
    """Send the buffer from rank 0 along a binomial tree, or to each its unit.

    In each of log2(p) steps the ranks that have something send to the rank at half the distance
    of the step before. Backwards it is a reduction to rank 0, or a gather.
    """
    n_steps = (p - 1).bit_length()
    distance = 1 << np.arange(n_steps)[::-1]
    step, rank = np.nonzero(np.arange(p) % (2 * distance[:, None]) == distance[:, None])
    away = distance[step]
    units = (rank, np.minimum(rank + away, p)) if scatter else (0, p)
    return make_transfers(n_steps, p, rank - away, step, rank, step, units)


def binomial_at_once(p: int) -> Transfers:
    """Send the buffer along a binomial tree as Open MPI does: to all children at once.

    The child with the largest subtree is the last: children that share a link all have the buffer
    when the last one has it.
    """
    rank = np.arange(1, p)
    parent = rank & (rank - 1)
    depth = (parent[:, None] >> np.arange(p.bit_length()) & 1).sum(axis=1)
    n_steps = int(depth.max(initial=-1)) + 1
    return make_transfers(n_steps, p, parent, depth, rank, depth, (0, p))


def one_by_one(p: int) -> Transfers:
    """Gather at rank 0, which asks one rank after the other by an empty message."""
    rank, empty = np.arange(1, p), np.zeros(p - 1, dtype=np.int64)
    src, dst = np.concatenate((empty, rank)), np.concatenate((rank, empty))
    src_step, dst_step = np.concatenate((rank - 1, rank)), np.tile(rank - 1, 2)
    units = (np.concatenate((empty, rank)), np.concatenate((empty, rank + 1)))
    return make_transfers(p if p > 1 else 0, p, src, src_step, dst, dst_step, units)


def hierarchical(n_ranks: int, gpus_per_node: int, operation: str, chunks: int) -> Transfers:
    """Build a reduce-scatter in each node, a ring along each rail and an all-gather, in chunks.

    The unit that rank i of node n has after a reduce-scatter is ``i n_nodes + n``.
    """
    nodes = np.arange(n_ranks, dtype=np.int64).reshape(-1, gpus_per_node)
    n, g = nodes.shape
    within, gathered = (
        in_groups(direct(g, name), nodes, n_ranks, stretch=n)
        for name in ("reduce-scatter", "all-gather")
    )
    steps = 2 * (n - 1) if operation == "all-reduce" else n - 1
    around = ring(np.arange(n), steps, -1 if operation == "reduce-scatter" else 0)
    rails = in_groups(around, nodes.T, n_ranks, n * np.arange(g))
    phases = {
        "all-reduce": (within, rails, gathered),
        "reduce-scatter": (within, rails),
        "all-gather": (rails, gathered),
    }
    return pipeline(phases[operation], chunks)


def pxn(n_ranks: int, gpus_per_node: int) -> Transfers:
    """Build an all-to-all with one message for each pair of nodes and rail.

    A rank passes data for rank i of another node to rank i of its own node, which sends it
    on with that of the others ("PXN" of NCCL 2.12). Node n sends to node n + 1 first. Units are
    numbered by destination, then by source. Backwards, a rank sends to its own rail of each other
    node, and ranks there pass on what is for others.
    """
    g, n = gpus_per_node, n_ranks // gpus_per_node
    need_messages(n_ranks * (n_ranks - 1), n_ranks * 2 * n, f"an all-to-all of {n_ranks} ranks")
    # Axes: distance of the destination's node, distance of the rail, node, rank in it.
    away, turn = np.arange(n)[:, None, None, None], np.arange(1, g)[None, :, None, None]
    node, i = np.arange(n)[None, None, :, None], np.arange(g)[None, None, None, :]
    # The last of n steps is for the own node; what is handed over for a node is complete when the
    # step that sends to it begins.
    source, via = node * g + i, node * g + (i + turn) % g
    unit = ((node + away) % n * g + (i + turn) % g) * n_ranks + source
    given_step = np.where(away == 0, n - 1, away - 1)
    taken_step = np.where(away == 0, 2 * n - 2, n + away - 2)
    n_steps = 2 * n - 1 if n_ranks > 1 else 0
    handed = make_transfers(
        n_steps, n_ranks**2, source, given_step, via, taken_step, (unit, unit + 1)
    )
    far, sender = away[1:], node * g + i
    receiver = (node + far) % n * g + i
    first = receiver * n_ranks + node * g
    sent = make_transfers(
        n_steps, n_ranks**2, sender, n + far - 1, receiver, 2 * n - 2, (first, first + g)
    )
    return join(n_steps, n_ranks**2, (handed, sent))
