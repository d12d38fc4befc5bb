"""The cases of jobs side by side: machines and sizes, and points made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.papers.interference.point import PACKET_BYTES, ROUNDS, make_point
from experiments.papers.interference.workloads import Case
from experiments.papers.paper import Options, Point

# The suite's scripts for the simulator have messages of 10 MiB and 1 MiB, its job script for a
# machine 2 MiB and 1 MiB. Here both are cut alike; so are packets and buffers, which keeps
# the packets of a message far fewer than they were.
SIMULATED = Case("10648", 44, 22, 512, 4096, 4, 30 * PACKET_BYTES, 3 * PACKET_BYTES, (1, 2))
CAB = Case("cab 4-512", 36, 4, 4, 512, 16, 8 * PACKET_BYTES, 4 * PACKET_BYTES, (0, 1, 2))
CAB_SMALL = replace(CAB, name="cab 4-128", largest=128)
CAB_PART = replace(CAB_SMALL, name="cab 4-128, 30 %", communication_fraction=0.3)
OBLIVIOUS = ("random", "aged")
"""Placements that stand for the topology-oblivious policy; the paper names none."""
ROUTING = "d-mod-k"
LONGER = {SIMULATED.name: 4.0}
"""Simulated time (see `point.make_point`) where it is not the usual: an iteration of a stencil
under contention is long there."""


def quick(case: Case) -> Case:
    """The case on a tree of 128 nodes; ranges of sizes that differ stay apart."""
    return replace(
        case,
        radix=8,
        pods=8,
        smallest=max(2, case.smallest // 32),
        largest=min(32, max(8, case.largest // 16)),
        ranks_per_node=min(4, case.ranks_per_node),
    )


def scaled(cases: Sequence[Case], options: Options) -> list[Case]:
    """The cases at the options' scale."""
    return [quick(case) if options.quick else case for case in cases]


def point_of(
    case: Case,
    placement: str,
    workload: int,
    options: Options,
    choices: Mapping[str, Any] | None = None,
) -> Point:
    """A workload of a case in one placement; ``choices`` of `point.make_point` beside the usual."""
    usual = {"routing": ROUTING, "rounds": LONGER.get(case.name, ROUNDS)}
    chosen: dict[str, Any] = {**usual, **(choices or {})}
    return make_point(case, placement, workload=workload, seed=options.seed, **chosen)
