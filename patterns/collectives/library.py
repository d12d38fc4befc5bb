"""Collectives by operation and algorithm, as NCCL and MPI libraries name them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netsim.errors import NetcosimError, need_name, unknown_name
from netsim.limits import shown
from patterns.build import Messages, need_messages
from patterns.collectives import algorithms as made
from patterns.collectives.links import NONE, LinkClass, link_class
from patterns.collectives.transfers import (
    IntArray,
    Transfers,
    interleave,
    reverse,
    then,
    to_messages,
)

CHUNK_BYTES = 512 * 1024
"""A slot of NCCL's buffers: 4 MiB in 8 steps."""
MAX_CHUNKS = 32
MOST_PARTS = 10_000
"""Chunks of all channels."""


@dataclass(frozen=True)
class RankLayout:
    """Ranks of one collective and the parts that its buffer is sent in."""

    n_ranks: int
    gpus_per_node: int
    channels: int
    chunks: int
    """n_ranks, gpus_per_node, channels, chunks: Nodes are equally large here."""


Maker = Callable[[RankLayout], Transfers]


def _orders(at: RankLayout) -> Sequence[IntArray]:
    return made.ring_orders(at.n_ranks, at.gpus_per_node, at.channels)


def _ring(at: RankLayout, rounds: int, ahead: int = 0) -> Transfers:
    steps = rounds * (at.n_ranks - 1)
    return interleave([made.ring(order, steps, ahead) for order in _orders(at)], at.chunks)


def _tree(at: RankLayout, *, star: bool) -> Transfers:
    channels = at.gpus_per_node if star else at.channels
    trees = made.tree_parents(at.n_ranks, at.gpus_per_node, channels, star=star)
    parts = [made.to_root(parent, made.levels_of(parent)) for parent in trees]
    steps = max(up.n_steps for up in parts)
    parts = [replace(up, n_steps=steps) for up in parts]
    return interleave([then(up, reverse(up)) for up in parts], at.chunks, len(parts))


def _broadcast(at: RankLayout, parents: Sequence[IntArray]) -> Transfers:
    parts = [reverse(made.to_root(parent, made.levels_of(parent))) for parent in parents]
    return interleave(parts, at.chunks, len(parts))


def _hierarchical(operation: str) -> Maker:
    return lambda at: made.hierarchical(at.n_ranks, at.gpus_per_node, operation, at.chunks)


def _of_ranks(make: Callable[..., Transfers], *arguments: str, **options: bool) -> Maker:
    """Return what a function makes of the number of ranks."""
    return lambda at: make(at.n_ranks, *arguments, **options)


def _all_of(*parts: Maker) -> Maker:
    return lambda at: then(*(part(at) for part in parts))


_SCATTER = _of_ranks(made.binomial, scatter=True)
"""With an all-gather after it, it is a broadcast (Thakur et al., IJHPCA 2005)."""

LIBRARY: Mapping[str, Mapping[str, Maker]] = {
    "all-reduce": {
        "ring": lambda at: _ring(at, 2),
        "tree": lambda at: _tree(at, star=False),
        "hierarchical": _hierarchical("all-reduce"),
        "nvls": lambda at: _tree(at, star=True),
        "recursive-halving": _of_ranks(made.recursive_halving, "all-reduce"),
        "recursive-doubling": _of_ranks(made.recursive_doubling),
        "direct": _all_of(
            _of_ranks(made.direct, "reduce-scatter"), _of_ranks(made.direct, "all-gather")
        ),
    },
    "reduce-scatter": {
        "ring": lambda at: _ring(at, 1, -1),
        "hierarchical": _hierarchical("reduce-scatter"),
        "recursive-halving": _of_ranks(made.recursive_halving, "reduce-scatter"),
        "direct": _of_ranks(made.direct, "reduce-scatter"),
        "pairwise": _of_ranks(made.direct, "reduce-scatter", pairwise=True),
    },
    "all-gather": {
        "ring": lambda at: _ring(at, 1),
        "hierarchical": _hierarchical("all-gather"),
        "recursive-halving": _of_ranks(made.recursive_halving, "all-gather"),
        "direct": _of_ranks(made.direct, "all-gather"),
        "bruck": _of_ranks(made.bruck, "all-gather"),
        "neighbor-exchange": _of_ranks(made.neighbor_exchange),
    },
    "broadcast": {
        "ring": lambda at: _broadcast(at, [made.chain_parents(order) for order in _orders(at)]),
        "tree": lambda at: _broadcast(at, made.tree_parents(at.n_ranks, at.gpus_per_node, 1)[:1]),
        "direct": _of_ranks(made.from_root),
        "binomial": _of_ranks(made.binomial),
        "binomial-at-once": _of_ranks(made.binomial_at_once),
        "scatter-ring": _all_of(_SCATTER, _of_ranks(lambda p: made.ring(np.arange(p), p - 1))),
        "scatter-doubling": _all_of(_SCATTER, _of_ranks(made.recursive_halving, "all-gather")),
    },
    "reduce": {
        "direct": lambda at: reverse(made.from_root(at.n_ranks)),
        "binomial": lambda at: reverse(made.binomial(at.n_ranks)),
        "recursive-halving": _all_of(
            _of_ranks(made.recursive_halving, "reduce-scatter"), lambda at: reverse(_SCATTER(at))
        ),
    },
    "gather": {
        "direct": lambda at: reverse(made.from_root(at.n_ranks, scatter=True)),
        "binomial": lambda at: reverse(_SCATTER(at)),
        "one-by-one": _of_ranks(made.one_by_one),
    },
    "scatter": {"direct": _of_ranks(made.from_root, scatter=True), "binomial": _SCATTER},
    "all-to-all": {
        "direct": _of_ranks(made.direct, "all-to-all"),
        "pairwise": _of_ranks(made.direct, "all-to-all", pairwise=True),
        "bruck": _of_ranks(made.bruck, "all-to-all"),
        "pxn": lambda at: made.pxn(at.n_ranks, at.gpus_per_node),
        "hierarchical": lambda at: reverse(made.pxn(at.n_ranks, at.gpus_per_node)),
    },
    "send-recv": {"direct": _of_ranks(made.neighbours)},
}
"""Transfers of each operation by algorithm."""
ALGORITHMS = ("auto", *dict.fromkeys(name for one in LIBRARY.values() for name in one))
CHANNELLED = ("auto", "ring", "tree")
CHUNKED = (*CHANNELLED, "hierarchical", "nvls")
"""Algorithms that use several channels, or send a buffer in chunks (all-to-all never does)."""


@dataclass(frozen=True)
class Collective:
    """A collective as NCCL's users describe it."""

    operation: str = "all-reduce"
    """A key of `LIBRARY`."""
    algorithm: str = "auto"
    """A key of ``LIBRARY[operation]``, or "auto": see `choose`."""
    gpus_per_node: int = 1
    """Ranks ``r g .. r g + g - 1`` are node r. A number of ranks that is neither below g nor a
    multiple of it is divided into equal nodes of the greatest common divisor."""
    channels: int | None = None
    """Rings or pairs of trees side by side, each with its share of the buffer; as many as a node
    has ranks if left out."""
    chunks: int | None = None
    """Parts that a channel sends one after the other. If left out, so many that messages have
    ``chunk_bytes``, at most 32."""
    chunk_bytes: int = CHUNK_BYTES
    """512 KiB by default, as in NCCL."""
    links: str = NONE
    """A key of `LINKS`, or "none". Between nodes "auto" is its algorithm, bytes take longer by its
    efficiency, and `start_s` is not 0."""
    between: float = 1.0
    """Share of the bytes for other nodes that goes there, in an all-to-all: what several ranks of a
    node are to have goes there once."""

    def __post_init__(self) -> None:
        need_name("operation of a collective", self.operation, LIBRARY)
        if self.algorithm != "auto" and self.algorithm not in LIBRARY[self.operation]:
            known = ("auto", *LIBRARY[self.operation])
            raise unknown_name(f"algorithm of {self.operation}", self.algorithm, known)
        link_class(self.links)
        for key in ("gpus_per_node", "channels", "chunks", "chunk_bytes"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise NetcosimError(f"collective: {key} = {value}; it must be at least 1")

    def node_size(self, n_ranks: int) -> int:
        """Return the ranks a node if a job has ``n_ranks``."""
        g = self.gpus_per_node
        return n_ranks if n_ranks <= g else math.gcd(n_ranks, g)

    def named(self, n_ranks: int, message_bytes: int) -> str:
        """Return the algorithm, chosen if it is "auto"."""
        if self.algorithm != "auto":
            return self.algorithm
        links = self._links(n_ranks)
        if links is not None and self.operation == "all-reduce":
            return links.algorithm
        return choose(self.operation, n_ranks, self.node_size(n_ranks), message_bytes)

    def _links(self, n_ranks: int) -> LinkClass | None:
        """Return the class of the links between nodes, if there are any."""
        return link_class(self.links) if n_ranks > self.node_size(n_ranks) else None

    def start_s(self, n_ranks: int, message_bytes: int) -> float:
        """Return the time before the first message, of its class of links."""
        links = self._links(n_ranks)
        return 0.0 if links is None else links.start_s(n_ranks, message_bytes)

    def whole_chunks(self, n_ranks: int, message_bytes: int) -> int:
        """Return the chunks of at most ``chunk_bytes`` that a channel sends."""
        name, g = self.named(n_ranks, message_bytes), self.node_size(n_ranks)
        channels = self.channels or g
        parts = {"ring": n_ranks * channels, "tree": 2 * channels, "nvls": 2 * g}
        per_message = message_bytes / parts.get(name, n_ranks)
        return max(1, math.ceil(per_message / self.chunk_bytes))

    def transfers(self, n_ranks: int, message_bytes: int) -> Transfers:
        """Return what ranks 0 to n_ranks - 1 send to each other."""
        name, g = self.named(n_ranks, message_bytes), self.node_size(n_ranks)
        channels, chunks = self.channels or g, self.chunks
        if chunks is None:
            chunks = min(MAX_CHUNKS, self.whole_chunks(n_ranks, message_bytes))
        parts_sent = chunks * (channels if name in CHANNELLED else 1)
        if name in CHUNKED and parts_sent > MOST_PARTS:
            raise NetcosimError(
                f"collective: channels = {shown(channels)} and chunks = {shown(chunks)} are "
                f"{shown(parts_sent)} parts; at most {MOST_PARTS:,}"
            )
        each = n_ranks * (n_ranks - 1 if name == "ring" else 4)
        need_messages(each * parts_sent, each * parts_sent, f"{parts_sent:,} parts")
        return LIBRARY[self.operation][name](RankLayout(n_ranks, g, channels, chunks))

    def messages(
        self, members: IntArray, message_bytes: int, first_step: int = 0
    ) -> tuple[Messages, int]:
        """Return the messages of groups that run it at the same time, and the steps of a rank.

        Ranks of a group, (n_groups, p), are node after node; each begins in ``first_step``. The
        size is that in the tables of nccl-tests: the buffer of a rank before an all-reduce,
        reduce-scatter, reduce, broadcast or all-to-all, after an all-gather; the message of
        send-recv; what rank 0 has before a scatter or after a gather. All-to-all sends
        ``floor(message_bytes / p)`` to each rank.
        """
        p = members.shape[1]
        t = self.transfers(p, message_bytes)
        total = message_bytes
        if self.operation == "send-recv":
            total *= p
        elif self.operation == "all-to-all":
            total = max(1, message_bytes // p) * p * p
        n_bytes = t.n_bytes(total)
        if self.named(p, message_bytes) == "nvls":
            n_bytes = _in_switch(n_bytes, t, self.node_size(p))
        links = self._links(p)
        factor = self.between / (1.0 if links is None else links.protocol(message_bytes).efficiency)
        if factor != 1:
            apart = t.src // self.node_size(p) != t.dst // self.node_size(p)
            scaled = np.maximum(1, np.round(n_bytes * factor)).astype(np.int64)
            n_bytes = np.where(apart, scaled, n_bytes)
        return to_messages(t, members, n_bytes, first_step), t.n_steps


def _in_switch(n_bytes: IntArray, t: Transfers, g: int) -> IntArray:
    """Return the bytes if the switch of a node adds up and multiplies.

    Each rank of a node then sends and receives ``1 + 1/g`` times the buffer (NVLink SHARP), not
    ``2 (g - 1)/g`` times.
    """
    inside = t.src // g == t.dst // g
    return np.where(inside, np.maximum(1, n_bytes * (g + 1) // max(1, 2 * (g - 1))), n_bytes)


# Latency in s of a hop inside a node and between nodes, and once: protocol LL128.
_RING_S = (1.9e-6, 4.0e-6, 10.0e-6)
_TREE_S = (1.2e-6, 8.5e-6, 4.4e-6)


def choose(operation: str, n_ranks: int, gpus_per_node: int, message_bytes: int) -> str:
    """Return the algorithm that NCCL would choose.

    All-reduce: ring or tree, whichever is faster by NCCL's own model of latencies and bandwidths
    (``src/graph/tuning.cc`` of NCCL 2.8; protocol LL128 with the bounds of compute capability 8.0:
    bus bandwidth 235 GB/s, tree 130 GB/s on one or two nodes and 105 GB/s on more; without its
    corrections by size). All-to-all: PXN if it crosses nodes of several ranks, else direct.
    Reduce, gather and scatter: binomial, which NCCL does not have. All others: ring.
    """
    p, g = n_ranks, gpus_per_node
    n = p // g
    if operation in ("all-to-all", "send-recv"):
        return "pxn" if operation == "all-to-all" and n > 1 and g > 1 else "direct"
    if operation in ("reduce", "gather", "scatter"):
        return "binomial"
    if operation != "all-reduce" or p == 1:
        return "ring"
    inside, between, once = _RING_S
    ring_s = once + 2 * (p - n) * inside + 2 * (n - 1) * between
    ring_s += message_bytes * 2 * (p - 1) / p / (0.92 * 235e9)
    inside, between, once = _TREE_S
    tree_s = once + 2 * ((g - 1) * inside + (n.bit_length() - 1) * between)
    bound, share = (130e9 if n <= 2 else 105e9), (7 / 9 if n == 1 else 0.915)
    tree_s += message_bytes * 2 / (share * bound)
    return "tree" if tree_s < ring_s else "ring"
