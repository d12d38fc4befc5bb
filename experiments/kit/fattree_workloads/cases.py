"""The cases of jobs side by side: machines and sizes, and points built from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from experiments.kit.papers import Options, Point
from experiments.kit.routers import OUTPUT_QUEUED
from experiments.kit.size_laws import draw_size

PACKET_BYTES = 16384


@dataclass(frozen=True)
class Case:
    """A machine, its jobs, and how they are timed; every field is in a point's config."""

    name: str
    """As in ``printed.toml``."""
    radix: int
    pods: int
    """radix, pods: Of the fat-tree."""
    smallest: int
    largest: int
    """smallest, largest: Nodes of a job."""
    ranks_per_node: int
    large_bytes: int
    small_bytes: int
    """large_bytes, small_bytes: A message of stencil and pairs; of mesh and sub-communicator
    all-to-all."""
    dimensions: tuple[int, ...]
    """Of the sub-communicator all-to-all (0, 1, 2 for x, y, z)."""
    exchange: str = "pairwise"
    """Order of its messages (`patterns.exchange.ORDERS`)."""
    least_degree: int = 6
    degree_end: int = 12
    """least_degree, degree_end: Of the mesh: from the first up to below the second; always the
    first if they are equal."""
    law: str = "powers"
    """Of sizes (`experiments.kit.size_laws`)."""
    communication_fraction: float = 1.0
    """Share of communication in an iteration of a job under TA."""
    routing: str = "d-mod-k"
    packet_bytes: int = PACKET_BYTES
    buffer_packets: int = 2
    rounds: float = 6.0
    """Simulated time, in iterations that the longest job would make alone at full bandwidth."""
    judge: str = "packets"
    """One of `point.JUDGES`."""
    router: str = OUTPUT_QUEUED
    """One of `experiments.kit.routers.ROUTERS`."""

    def draw_size(self, rng: np.random.Generator) -> int:
        """Draw the number of nodes of the next job."""
        return draw_size(self.law, self.smallest, self.largest, rng)


SETTINGS = (
    *("routing", "ranks_per_node", "large_bytes", "packet_bytes", "law", "judge", "exchange"),
    *("least_degree", "communication_fraction", "buffer_packets", "router"),
)
"""Fields by which points of one case, workload and placement are distinguished, as columns."""

# The suite's scripts for the simulator have messages of 10 MiB and 1 MiB, its job script for a
# machine 2 MiB and 1 MiB. Here both are cut alike; so are packets and buffers, which keeps
# the packets of a message far fewer than they were. An iteration of a stencil under contention
# is long on the first machine, so that four rounds will do.
SIMULATED = Case(
    "10648", 44, 22, 512, 4096, 4, 30 * PACKET_BYTES, 3 * PACKET_BYTES, (1, 2), rounds=4.0
)
CAB = Case("cab 4-512", 36, 4, 4, 512, 16, 8 * PACKET_BYTES, 4 * PACKET_BYTES, (0, 1, 2))
CAB_SMALL = replace(CAB, name="cab 4-128", largest=128)
CAB_PART = replace(CAB_SMALL, name="cab 4-128, 30 %", communication_fraction=0.3)
OBLIVIOUS = ("random", "aged")
"""Placements that represent the topology-oblivious policy; the paper names none."""


def quick(case: Case) -> Case:
    """Return the case on a tree of 128 nodes; ranges of sizes that differ stay apart."""
    return replace(
        case,
        radix=8,
        pods=8,
        smallest=max(2, case.smallest // 32),
        largest=min(32, max(8, case.largest // 16)),
        ranks_per_node=min(4, case.ranks_per_node),
    )


def scaled(cases: Sequence[Case], options: Options) -> list[Case]:
    """Return the cases at the options' scale."""
    return [quick(case) if options.quick else case for case in cases]


def make_point(
    case: Case, placement: str, workload: int, options: Options, *, alone: bool = False
) -> Point:
    """Return a point's config.

    Parameters
    ----------
    workload : int
        The jobs follow from this, the options' seed, and the case's machine and sizes alone.
    """
    return {
        "experiment": "interference",
        "case": asdict(case),
        "placement": placement,
        "alone": alone,
        "draws": {"seed": options.seed, "workload": workload},
    }
