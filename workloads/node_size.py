"""Processors per node of a log's machine: logs count processors, the network counts nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.topologies.checks import need_int
from workloads.swf_parse import SwfHeader

MOST_PROCESSORS = 1024
"""A header with more processors a node is rejected; the largest known has 128 (LANL O2K)."""

_MOST_GIVEN = 2**31 - 1


@dataclass(frozen=True)
class NodeSize:
    """The processors of a node and their source."""

    processors: int
    """A node's; job sizes in nodes are processors over this, rounded up."""
    by_header: bool
    """Whether it is only from the header."""
    note: str
    """One line for the user."""


def node_size(header: SwfHeader, *, given: int | None = None, known: int | None = None) -> NodeSize:
    """Return the processors of a node: as given, or of a known log, or from the header, or 1."""
    stated, why = header_processors(header)
    for what, value in (("processors_per_node", given), ("known_processors_per_node", known)):
        if value is not None:
            need_int("log", what, value, 1, _MOST_GIVEN)
    taken = given if given is not None else known
    if taken is not None:
        source = "as given" if given is not None else "from the known log"
        against = "" if stated in (None, taken) else f"; the header has {stated}: {why}"
        return NodeSize(taken, False, f"{_count(taken)}, {source}{against}")
    if stated is None:
        return NodeSize(1, False, f"{_count(1)} is assumed: {why}")
    return NodeSize(stated, True, f"{_count(stated)}, from the header: {why}")


def header_processors(header: SwfHeader) -> tuple[int | None, str]:
    """Return the processors of a node from a header (None if not usable), and the reason.

    A ratio that is not an integer belongs to a machine with nodes of several sizes. It is rounded
    down, since such machines are mostly one kind of node and a few larger ones: CEA-Curie has
    93312 / 5544 = 16.83, from 5040 nodes of 16 processors, 360 of 32 and 144 of 8.
    """
    nodes, procs = header.max_nodes, header.max_procs
    if nodes is None or procs is None:
        missing = [n for n, v in (("MaxNodes", nodes), ("MaxProcs", procs)) if v is None]
        return None, f"the header has no {' and no '.join(missing)}"
    ratio = f"MaxProcs {procs} / MaxNodes {nodes}"
    if procs < nodes or procs > MOST_PROCESSORS * nodes:
        return None, f"the header's {ratio} is not between 1 and {MOST_PROCESSORS}"
    if procs % nodes:
        return procs // nodes, (
            f"{ratio} = {procs / nodes:.2f}, rounded down; the nodes are not all alike"
        )
    return procs // nodes, ratio


def size_doubts(size: NodeSize, header: SwfHeader, procs: NDArray[np.float64]) -> tuple[str, ...]:
    """Return lines on what in the jobs' sizes speaks against the number of processors of a node."""
    if header.max_nodes is None or not len(procs):
        return ()
    most = int(procs.max())
    nodes = -(-most // size.processors)
    if nodes > header.max_nodes:
        return (
            f"the largest job has {most} processors, that is {nodes} nodes, but the header's "
            f"MaxNodes is {header.max_nodes}; is processors_per_node right?",
        )
    if size.by_header and size.processors > 1 and most <= header.max_nodes:
        return (
            f"no job is larger than {most}, and MaxNodes is {header.max_nodes}: should this log "
            "count nodes, set processors_per_node = 1",
        )
    return ()


def _count(processors: int) -> str:
    return f"{processors} processor{'' if processors == 1 else 's'} a node"
