"""Bytes and times of an iteration on its own, from bus bandwidths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from netsim.errors import NetcosimError
from patterns.training.layout import GROUPS, KINDS, Layout, kind_of
from patterns.training.operations import Operation


def wire_share(kind: str, p: int) -> float:
    """Return the bytes that a GPU sends in a collective of p GPUs, over the bytes of the vector."""
    if kind == "all-reduce":
        return 2 * (p - 1) / p
    return 1.0 if kind in ("send", "receive", "send-recv", "broadcast", "reduce") else (p - 1) / p


def wire_bytes(op: Operation, layout: Layout) -> float:
    """Return the bytes of an operation that a GPU sends at the bandwidth of its group.

    Where tokens go to a node once each, these are the bytes to other nodes.
    """
    if op.between == 1:
        return op.n_bytes * wire_share(op.kind, layout.size_of(op.group))
    return op.n_bytes * op.between * wire_share(op.kind, layout.nodes_of_experts)


def bytes_sent(operations: Sequence[Operation], layout: Layout) -> dict[str, float]:
    """Return the bytes that a GPU sends in an iteration, by parallelism."""
    total = dict.fromkeys(GROUPS, 0.0)
    for op in operations:
        if op.group and op.kind != "receive":
            total[op.group] += wire_bytes(op, layout)
    return total


def computing_s(operations: Sequence[Operation]) -> float:
    """Return the seconds of computing in an iteration."""
    return sum(op.seconds for op in operations)


def communication_lines(
    title: str,
    sent: Iterable[tuple[str, int, float, float]],
    exposed_s: Mapping[str, float],
    scale: float = 1.0,
) -> list[str]:
    """Return a table of (what communicates, GPUs, most bytes of a GPU, bus bandwidth)."""
    shown = [row for row in sent if row[2] and row[1] > 1]
    width = max(map(len, [title, *(what for what, *_ in shown)]))
    lines = [f"  {title:{width}}  GPUs  bytes a GPU sends  bus bandwidth  exposed"]
    for what, gpus, most, speed in shown:
        waited = f"{exposed_s.get(what, 0.0) * scale:.3g} s" if what != "edp" else "counted as dp"
        lines.append(
            f"  {what:{width}}  {gpus:4}  {most * scale / 1e9:14.4g} GB  {speed / 1e9:8.4g} GB/s  "
            f"{waited}"
        )
    return lines


@dataclass(frozen=True)
class Timeline:
    """An iteration of the GPUs of a pipeline."""

    seconds: float
    """Until the last stage is done."""
    exposed_s: tuple[dict[str, float], ...]
    """Of each stage: time by kind of communication (`patterns.training.layout.KINDS`) for which its
    computing waits. That of "pp" contains the pipeline's bubble."""

    def mean_exposed_s(self) -> dict[str, float]:
        """Return the time by kind in the mean over stages."""
        n = len(self.exposed_s)
        return {kind: sum(stage[kind] for stage in self.exposed_s) / n for kind in KINDS}


def timeline(
    stages: Sequence[Sequence[Operation]], layout: Layout, bandwidth_Bps: Mapping[str, float]
) -> Timeline:
    """Return the times of an iteration whose collectives run at given bus bandwidths.

    Each stage has two streams, each of which runs its operations in order; an operation begins when
    its stream is free and what it needs is complete. A message takes its bytes over the bandwidth
    of its parallelism, no time without one, and its sender does not wait.
    """
    arrives: dict[tuple[int, int, int], float] = {}
    free = [[0.0, 0.0] for _ in stages]
    ends: list[list[float]] = [[] for _ in stages]
    exposed = tuple(dict.fromkeys(KINDS, 0.0) for _ in stages)
    left = True
    while left:
        left, moved = False, False
        for s, operations in enumerate(stages):
            for op in operations[len(ends[s]) :]:
                arrival = 0.0
                if op.kind == "receive":
                    if (op.peer, s, op.tag) not in arrives:
                        left = True
                        break
                    arrival = arrives[op.peer, s, op.tag]
                last = max(op.needs, key=lambda i: ends[s][i], default=None)
                begin = max(free[s][op.beside], 0.0 if last is None else ends[s][last])
                duration = op.seconds
                if op.group and op.group in bandwidth_Bps:
                    duration = wire_bytes(op, layout) / bandwidth_Bps[op.group]
                end = begin + duration
                if op.kind == "send":
                    arrives[s, op.peer, op.tag], end = end, begin
                elif op.kind == "receive":
                    end = max(begin, arrival)
                if not op.beside:
                    if last is not None and operations[last].group:
                        exposed[s][kind_of(operations[last].group)] += begin - free[s][False]
                    if op.group:
                        exposed[s][kind_of(op.group)] += end - begin
                free[s][op.beside] = end
                ends[s].append(end)
                moved = True
        if left and not moved:
            raise NetcosimError("training: stages of the pipeline wait for each other for ever")
    return Timeline(max(max(end, default=0.0) for end in ends), exposed)
