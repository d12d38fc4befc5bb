"""The tests and congestors of GPCNeT, in slices: one rank of each node talks to its like."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import (
    Messages,
    build_one_sided,
    build_program,
    join,
    make_messages,
    waiting_for_sends,
)
from patterns.collectives.library import Collective
from patterns.entry import Pattern

ONE_SIDED = ("put-ring", "get-ring", "put-incast", "get-broadcast")
TESTS = ("ring", "natural-ring", "ring-barrier", "all-reduce", "all-to-all", "incast", *ONE_SIDED)


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
    neighbors; the ring is drawn for each slice, ``draws`` times ``iterations`` of it, or natural
    (by node); with a barrier the slice synchronises after each exchange (dissemination). all-reduce
    is by recursive doubling. all-to-all sends ``message_bytes`` to each node. incast: the ranks of
    all nodes but the first send to it, each message as soon as the one before has left
    (``MPI_Send``). put-incast and get-broadcast: they put to it or get from it, one after the
    other. put-ring and get-ring: random rings of puts and gets. NICs answer these; in a put-ring
    ranks wait until their puts have left. Ranks wait for their own sends.
    """
    if n_ranks % ranks_per_node or n_ranks < 2 * ranks_per_node:
        raise NetcosimError(
            f"gpcnet: {n_ranks} ranks in nodes of {ranks_per_node}; two full nodes are needed"
        )
    # (slices, nodes)
    members = np.arange(n_ranks).reshape(-1, ranks_per_node).T
    if "ring" in test:
        rings = [members]
        if test != "natural-ring":
            rings = [rng.permuted(members, axis=1) for _ in range(draws)]
        barrier = _barrier(members) if test == "ring-barrier" else []
        rounds = [join([_exchange(ring, message_bytes, window), *barrier]) for ring in rings]
        in_order = [one for one in rounds for _ in range(iterations)]
        steps = 1 + len(barrier)
        messages = join([one.later(steps * i) for i, one in enumerate(in_order)])
        return _of_rings(test, n_ranks, steps * len(in_order), messages)
    others, first = members[:, 1:], members[:, :1]
    to_first = make_messages(others, 0, first, 0, message_bytes)
    if test == "incast":
        return waiting_for_sends(build_program(n_ranks, 1, to_first, iterations))
    if test in ONE_SIDED:
        return build_one_sided(n_ranks, 1, to_first, test == "get-broadcast", iterations)
    if test == "all-reduce":
        collective, size = Collective("all-reduce", "recursive-doubling"), message_bytes
    else:
        collective, size = Collective(test, algorithm), message_bytes * members.shape[1]
    messages, n_steps = collective.messages(members, size)
    return waiting_for_sends(build_program(n_ranks, n_steps, messages, iterations))


def _of_rings(test: str, n_ranks: int, n_steps: int, exchanges: Messages) -> Program:
    """Return the program of exchanges in rings, of messages, gets or puts."""
    if test == "get-ring":
        return build_one_sided(n_ranks, n_steps, exchanges, is_get=True)
    if test != "put-ring":
        return waiting_for_sends(build_program(n_ranks, n_steps, exchanges))
    puts = waiting_for_sends(build_one_sided(n_ranks, n_steps, exchanges, is_get=False))
    # a port has one queue; the answers of a real NIC do not wait behind its data
    waited = ~np.asarray(puts.step_waits_sends)
    return replace(puts, recv_need=puts.recv_need * waited)


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
