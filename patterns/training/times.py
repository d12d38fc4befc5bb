"""Bytes and times of an iteration on its own, from bus bandwidths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netsim.errors import NetcosimError
from patterns.training.layout import GROUPS, Layout
from patterns.training.operations import Operation


def wire_share(kind: str, p: int) -> float:
    """Return the bytes that a GPU sends in a collective of p GPUs, over the bytes of the vector."""
    if kind == "all-reduce":
        return 2 * (p - 1) / p
    return 1.0 if kind in ("send", "receive", "send-recv", "broadcast") else (p - 1) / p


def bytes_sent(operations: Sequence[Operation], layout: Layout) -> dict[str, float]:
    """Return the bytes that a GPU sends in an iteration, by parallelism."""
    total = dict.fromkeys(GROUPS, 0.0)
    for op in operations:
        if op.group and op.kind != "receive":
            total[op.group] += op.n_bytes * wire_share(op.kind, layout.size_of(op.group))
    return total


def computing_s(operations: Sequence[Operation]) -> float:
    """Return the seconds of computing in an iteration."""
    return sum(op.seconds for op in operations)


def bubble(layout: Layout) -> float:
    """Return the time that a stage is idle over the time that it computes: (P - 1) / (m v)."""
    return (layout.pp - 1) / (layout.micro_batches * layout.interleave)


def iteration_s(
    stages: Sequence[Sequence[Operation]], layout: Layout, bandwidth_Bps: Mapping[str, float]
) -> float:
    """Return the time of an iteration whose collectives run at given bus bandwidths.

    Each stage has two streams, each of which runs its operations in order; an operation begins
    when its stream is free and what it needs is complete. A message takes its bytes over the
    bandwidth, and its sender does not wait.

    Parameters
    ----------
    stages : sequence of sequences of Operation
        Of each stage of the pipeline.
    layout : Layout
    bandwidth_Bps : mapping
        By parallelism; those that are left out take no time.

    Raises
    ------
    NetcosimError
        Stages that wait for each other for ever.
    """
    arrives: dict[tuple[int, int, int], float] = {}
    free = [[0.0, 0.0] for _ in stages]
    ends: list[list[float]] = [[] for _ in stages]
    left = True
    while left:
        left, moved = False, False
        for s, operations in enumerate(stages):
            for op in operations[len(ends[s]) :]:
                begin = max([free[s][op.beside], *(ends[s][i] for i in op.needs)])
                duration = op.seconds
                if op.group and op.group in bandwidth_Bps:
                    share = wire_share(op.kind, layout.size_of(op.group))
                    duration = op.n_bytes * share / bandwidth_Bps[op.group]
                if op.kind == "send":
                    arrives[s, op.peer, op.tag] = begin + duration
                    duration = 0.0
                elif op.kind == "receive":
                    if (op.peer, s, op.tag) not in arrives:
                        left = True
                        break
                    begin, duration = max(begin, arrives[op.peer, s, op.tag]), 0.0
                free[s][op.beside] = begin + duration
                ends[s].append(begin + duration)
                moved = True
        if left and not moved:
            raise NetcosimError("training: stages of the pipeline wait for each other for ever")
    return max(max(end, default=0.0) for end in ends)


def exposed_s(
    stages: Sequence[Sequence[Operation]], layout: Layout, bandwidth_Bps: Mapping[str, float]
) -> dict[str, float]:
    """Return by parallelism how much longer an iteration takes for its communication."""
    total = iteration_s(stages, layout, bandwidth_Bps)
    return {
        group: total
        - iteration_s(
            stages, layout, {name: bw for name, bw in bandwidth_Bps.items() if name != group}
        )
        for group in bandwidth_Bps
    }
