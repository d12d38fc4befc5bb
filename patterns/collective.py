"""A collective of NCCL: operation and algorithm by name."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.parameters import OneOf, ReadIf
from netsim.traffic import Program
from patterns.build import build_program
from patterns.collectives.library import ALGORITHMS, CHANNELLED, CHUNKED, LIBRARY, Collective
from patterns.collectives.links import LINKS, NONE
from patterns.entry import Pattern


def _read_by(*names: str) -> ReadIf:
    return ReadIf(
        ("algorithm",),
        lambda algorithm: algorithm in names,
        f"algorithm is {', '.join(names[:-1])} or {names[-1]}",
    )


def collective(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    operation: Annotated[str, "what it does", OneOf(LIBRARY)] = "all-reduce",
    algorithm: Annotated[
        str, "auto: as NCCL chooses by size and nodes", OneOf(ALGORITHMS)
    ] = "auto",
    gpus_per_node: Annotated[int, "ranks of a node, which follow each other", Ge(1)] = 1,
    channels: Annotated[
        int | None,
        "rings, or pairs of trees, side by side; gpus_per_node if left out",
        Ge(1),
        _read_by(*CHANNELLED),
    ] = None,
    chunks: Annotated[
        int | None,
        "parts that a channel sends one after the other; if left out of 512 KiB, at most 32",
        Ge(1),
        _read_by(*CHUNKED),
    ] = None,
    links: Annotated[
        str,
        "class of the links between nodes, for start-up and efficiency",
        OneOf((NONE, *LINKS)),
    ] = NONE,
    group: Annotated[
        int | None,
        "most ranks of a group, each of which runs it by itself; one group if left out",
        Ge(1),
    ] = None,
) -> Program:
    """Build a collective of ``message_bytes``, counted as by nccl-tests, over all ranks.

    See `patterns.collectives.library.Collective`. Groups are consecutive ranks of equal number: the
    most that divide the job, in whole nodes where that is possible.
    """
    wanted = Collective(operation, algorithm, gpus_per_node, channels, chunks, links=links)
    size = n_ranks if group is None else _group_size(n_ranks, group, wanted.node_size(n_ranks))
    messages, n_steps = wanted.messages(np.arange(n_ranks).reshape(-1, size), message_bytes)
    compute_s = np.zeros(max(1, n_steps))
    compute_s[0] = wanted.start_s(size, message_bytes)
    return build_program(n_ranks, n_steps, messages, iterations, compute_s[:n_steps])


def _group_size(n_ranks: int, most: int, node: int) -> int:
    sizes = [size for size in range(1, min(most, n_ranks) + 1) if n_ranks % size == 0]
    return max([size for size in sizes if size % node == 0] or sizes)


def describe_algorithms(n_ranks: int = 32, gpus_per_node: int = 8, size: int = 2**26) -> list[str]:
    """Return a table of all algorithms: steps, and what a rank sends at most, in units of M."""
    lines = [
        f"algorithms on {n_ranks} ranks in nodes of {gpus_per_node}, M = {size // 2**20} MiB:",
        "  operation       algorithm           steps  messages  M in its node  M to others",
    ]
    ranks = np.arange(n_ranks)[None, :]
    for operation, known in LIBRARY.items():
        for algorithm in known:
            wanted = Collective(operation, algorithm, gpus_per_node)
            messages, n_steps = wanted.messages(ranks, size)
            inside = messages.src // gpus_per_node == messages.dst // gpus_per_node
            sent = [
                np.bincount(messages.src, messages.n_bytes * where).max() / size
                for where in (inside, ~inside)
            ]
            n_messages = np.bincount(messages.src).max()
            lines.append(
                f"  {operation:14}  {algorithm:18}  {n_steps:5}  {n_messages:8}  {sent[0]:13.3f}  "
                f"{sent[1]:11.3f}"
            )
    return lines


def allreduce_ring(n_ranks: int, message_bytes: int, iterations: int = 1) -> Program:
    """Build an allreduce of a vector of ``message_bytes`` in 2 (n - 1) steps around a ring.

    The vector is cut into n chunks, ``floor((c+1) M / n) - floor(c M / n)`` bytes each (at
    least 1). In step s rank r sends chunk r - s to rank r + 1 and waits for the one of rank r - 1.
    """
    return collective(n_ranks, message_bytes, iterations, algorithm="ring", chunks=1)


def allreduce_recursive_doubling(n_ranks: int, message_bytes: int, iterations: int = 1) -> Program:
    """Build an allreduce of ``message_bytes`` by log2(n) exchanges of the entire vector.

    See `patterns.collectives.algorithms.recursive_doubling`.
    """
    return collective(n_ranks, message_bytes, iterations, algorithm="recursive-doubling")


PATTERNS = (
    Pattern(
        "collective",
        "all-reduce, all-gather, ... of M bytes by a named algorithm, as in NCCL",
        collective,
        details=describe_algorithms,
    ),
    Pattern(
        "allreduce-ring",
        "allreduce of M bytes: reduce-scatter and allgather around a ring",
        allreduce_ring,
    ),
    Pattern(
        "allreduce-recursive-doubling",
        "allreduce of M bytes: log2(n) exchanges of the whole vector",
        allreduce_recursive_doubling,
    ),
)
