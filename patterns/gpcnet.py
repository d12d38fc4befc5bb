"""The tests and congestors of GPCNeT, in slices: one rank of each node talks to its like."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import (
    Messages,
    build_program,
    check_common,
    join,
    make_messages,
    waiting_for_sends,
)
from patterns.collectives.library import Collective
from patterns.entry import Pattern

RINGS = ("ring", "natural-ring", "ring-barrier")
TESTS = (*RINGS, "all-reduce", "all-to-all", "incast", "put-incast", "get-broadcast")
REQUEST_BYTES = 8


def gpcnet(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    test: Annotated[str, "what each slice does", OneOf(TESTS)] = "ring",
    ranks_per_node: Annotated[int, "slices; ranks of a node follow each other", Ge(1)] = 1,
    window: Annotated[int, "messages to each neighbor of a ring at once", Ge(1)] = 1,
    draws: Annotated[int, "random rings, one after the other", Ge(1)] = 1,
    algorithm: Annotated[str, "of the all-to-all", OneOf(("direct", "pairwise"))] = "pairwise",
) -> Program:
    """Build a test or congestor of GPCNeT (github.com/netbench/GPCNET, read in its sources).

    Slice s is the rank s of each node. In a ring each rank exchanges ``window`` messages with both
    neighbors; the ring is drawn for each slice, or natural (by node); with a barrier the slice
    synchronises after each exchange (dissemination). all-reduce is by recursive doubling.
    all-to-all sends ``message_bytes`` to each node. incast: the ranks of all nodes but the first
    send to it, each message as soon as the one before has left (``MPI_Send``). put-incast: each
    waits for an answer of its own, which a stream of the first node's rank gives it. get-broadcast:
    the same with a request, and data as the answer. Ranks wait for their own sends.

    Parameters
    ----------
    iterations : int
        Of each drawn ring, or of what is not drawn.
    draws : int
        Only of random rings.
    """
    check_common(n_ranks, message_bytes, iterations)
    need_name("gpcnet test", test, TESTS)
    if n_ranks % ranks_per_node or n_ranks < 2 * ranks_per_node:
        raise NetcosimError(
            f"gpcnet: {n_ranks} ranks in nodes of {ranks_per_node}; two full nodes are needed"
        )
    # (slices, nodes)
    members = np.arange(n_ranks).reshape(-1, ranks_per_node).T
    if test in RINGS:
        parts, begin = [], 0
        for _ in range(1 if test == "natural-ring" else draws):
            order = members if test == "natural-ring" else rng.permuted(members, axis=1)
            barrier = _barrier(members) if test == "ring-barrier" else []
            one = join([_exchange(order, message_bytes, window), *barrier])
            parts += [one.later(begin + i * (1 + len(barrier))) for i in range(iterations)]
            begin += iterations * (1 + len(barrier))
        return waiting_for_sends(build_program(n_ranks, begin, join(parts)))
    others, first = members[:, 1:], members[:, :1]
    if test == "incast":
        sends = make_messages(others, 0, first, 0, message_bytes)
        return waiting_for_sends(build_program(n_ranks, 1, sends, iterations))
    if test in ("put-incast", "get-broadcast"):
        # Invariant: stream j of a first rank answers node j + 1 alone
        streams = np.where(np.arange(n_ranks) < ranks_per_node, others.shape[1], 1)
        stream_ptr = np.concatenate(([0], np.cumsum(streams)))
        answering = stream_ptr[first] + np.arange(others.shape[1])
        sizes = (message_bytes, REQUEST_BYTES)
        there, back = sizes if test == "put-incast" else sizes[::-1]
        requests = make_messages(stream_ptr[others], 0, answering, 0, there)
        answers = make_messages(answering, 1, stream_ptr[others], 0, back)
        both = join([requests, answers])
        return build_program(n_ranks, 2, both, iterations, stream_ptr=stream_ptr)
    if test == "all-reduce":
        collective, size = Collective("all-reduce", "recursive-doubling"), message_bytes
    else:
        collective, size = Collective(test, algorithm), message_bytes * members.shape[1]
    messages, n_steps = collective.messages(members, size)
    return waiting_for_sends(build_program(n_ranks, n_steps, messages, iterations))


def _exchange(order: NDArray[np.int64], message_bytes: int, window: int) -> Messages:
    """Return one exchange of each rank with both neighbors of its slice's ring."""
    left, right = np.roll(order, 1, axis=1), np.roll(order, -1, axis=1)
    both = np.tile(np.stack([left, right], axis=-1), window)
    return make_messages(order[:, :, None], 0, both, 0, message_bytes)


def _barrier(members: NDArray[np.int64]) -> list[Messages]:
    """Return a dissemination barrier in each slice, step by step, after step 0."""
    steps = (members.shape[1] - 1).bit_length()
    return [
        make_messages(members, 1 + s, np.roll(members, -(1 << s), axis=1), 1 + s, 1)
        for s in range(steps)
    ]


PATTERN = Pattern(
    "gpcnet",
    "a test or congestor of GPCNeT: rings of random neighbors, incast, broadcast, ...",
    gpcnet,
)
