"""From the operations of pipeline stages to the steps and messages of ranks.

A GPU is a rank. Its first stream computes, and runs the collectives that computing waits for; a
second one, if there are any, those beside it. They wait for each other by signals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.build import Messages, build_program, join, make_messages, need_messages
from patterns.collectives.library import LIBRARY, Collective
from patterns.training.layout import KINDS, Layout, kind_of
from patterns.training.operations import Operation
from patterns.training.times import wire_bytes

IntArray = NDArray[np.int64]


def groups_of(layout: Layout, stage: int) -> dict[str, IntArray]:
    """Return by parallelism the GPUs of each group of a stage, (groups, members) int.

    GPUs are numbered as Megatron does: tensor, context, data, pipeline parallel, the first
    fastest.
    """
    per_stage = layout.gpus // layout.pp
    gpu = stage * per_stage + np.arange(per_stage, dtype=np.int64)
    # axes: data parallel replicas of the experts, experts, context, tensor
    grid = gpu.reshape(layout.dp // layout.ep, layout.ep, layout.cp, layout.tp)

    def members(*axes: int) -> IntArray:
        others = [axis for axis in range(4) if axis not in axes]
        size = int(np.prod([grid.shape[axis] for axis in axes]))
        return grid.transpose(*others, *axes).reshape(-1, size)

    return {
        "tp": members(3),
        "cp": members(2),
        "dp": members(0, 1, 2),
        "ep": members(1),
        "edp": members(0, 2),
    }


@dataclass(frozen=True)
class Communicator:
    """How collectives communicate."""

    algorithm: str = "ring"
    """{"ring", "hierarchical"}. All-to-all is direct, not a ring."""
    gpus_per_node: int = 1
    """GPUs 0 .. g - 1 are a node, and so on."""
    merge_rings: bool = False
    """Whether each GPU of a ring sends all its bytes to the next one at once."""
    as_time_Bps: Mapping[str, float] = field(default_factory=dict)
    """Parallelisms whose collectives take a time from this bus bandwidth and send nothing."""

    def collective(self, kind: str, gpus: IntArray) -> Collective:
        """Return the collective of groups, (groups, members) int, in one chunk and channel."""
        node = gpus[0] // self.gpus_per_node
        algorithm = self.algorithm
        if self.merged(kind):
            kind = "send-recv"
        if algorithm not in LIBRARY[kind] or kind == "broadcast":
            algorithm = "direct"
        return Collective(kind, algorithm, int((node == node[0]).sum()), channels=1, chunks=1)

    def merged(self, kind: str) -> bool:
        """Return whether a collective is one message of each GPU."""
        return self.merge_rings and "ring" in LIBRARY[kind] and kind != "broadcast"


class _Stream:
    """Steps of one stream of each GPU of a stage; all of them have the same."""

    def __init__(self, streams: IntArray) -> None:
        self.streams = streams
        """Numbers in the program, of each GPU of the stage."""
        self.compute_s: list[float] = []
        self.kinds: list[int] = []
        self.pending_s = 0.0

    def step(self, n: int = 1, group: str = "", seconds: float = 0.0) -> int:
        """Add steps of a group's communication, or of none, and return the number of the first.

        The computing that is due has a step of its own before communication, and so has what a job
        computes between iterations, which is put into the first step of all.
        """
        kind = KINDS.index(kind_of(group)) + 1 if group else 0
        if kind and (self.pending_s or not self.kinds):
            self.step()
        first = len(self.compute_s)
        self.compute_s += [self.pending_s + seconds] + [0.0] * (n - 1)
        self.kinds += [kind] * n
        self.pending_s = 0.0
        return first


class _ProgramWriter:
    """Steps and messages of all stages."""

    def __init__(self, layout: Layout, n_streams: int, scale: float, links: Communicator) -> None:
        self.layout, self.n_streams, self.scale, self.links = layout, n_streams, scale, links
        self.parts: list[Messages] = []
        self.collectives: dict[tuple[object, ...], tuple[Messages, int]] = {}
        """Those of equal operations, from step 0: layers repeat them."""
        self.sends: dict[tuple[int, int, int], tuple[IntArray, int, int]] = {}
        self.receives: dict[tuple[int, int, int], tuple[IntArray, int]] = {}

    def stage(self, number: int, operations: Sequence[Operation]) -> list[_Stream]:
        """Write a stage and return its streams."""
        groups = groups_of(self.layout, number)
        gpus = np.sort(groups["dp"].reshape(-1))
        streams = [_Stream(gpus * self.n_streams + k) for k in range(self.n_streams)]
        awaited = {j for op in operations for j in op.needs if operations[j].beside != op.beside}
        signals: dict[int, int] = {}
        for i, op in enumerate(operations):
            mine = streams[op.beside]
            for j in op.needs:
                other = streams[operations[j].beside]
                if other is not mine:
                    waits = mine.step(group=operations[j].group)
                    self.parts.append(
                        make_messages(other.streams, signals[j], mine.streams, waits, 0)
                    )
            self._operation(number, op, mine, groups)
            if i in awaited:
                signals[i] = mine.step()
        for stream in streams:
            stream.step()
        return streams

    def _operation(
        self, stage: int, op: Operation, stream: _Stream, groups: Mapping[str, IntArray]
    ) -> None:
        n_bytes = max(1, round(op.n_bytes * self.scale))
        if op.kind == "compute":
            stream.pending_s += op.seconds * self.scale
        elif op.kind == "send":
            self.sends[stage, op.peer, op.tag] = stream.streams, stream.step(), n_bytes
        elif op.kind == "receive":
            waits = stream.step(group=op.group)
            self.receives[op.peer, stage, op.tag] = stream.streams, waits
        elif op.group in self.links.as_time_Bps:
            seconds = wire_bytes(op, self.layout) * self.scale / self.links.as_time_Bps[op.group]
            stream.step(group=op.group, seconds=seconds)
        elif groups[op.group].shape[1] > 1:
            gpus = groups[op.group]
            members = gpus * self.n_streams + stream.streams[0] % self.n_streams
            if stream.pending_s or not stream.kinds:
                stream.step()
            key = stage, op.kind, op.group, op.beside, n_bytes, op.between
            if key not in self.collectives:
                wanted = replace(self.links.collective(op.kind, gpus), between=op.between)
                if self.links.merged(op.kind):
                    n_bytes = max(1, round(wire_bytes(op, self.layout) * self.scale))
                self.collectives[key] = wanted.messages(members, n_bytes)
            messages, n_steps = self.collectives[key]
            self.parts.append(messages.later(len(stream.kinds)))
            stream.step(n_steps, op.group)

    def pipeline(self) -> Messages:
        """Return all parts, and the messages between stages."""
        if self.sends.keys() != self.receives.keys():
            src, dst, _ = min(self.sends.keys() ^ self.receives.keys())
            raise NetcosimError(f"training: stages {src} and {dst}: a send without its receive")
        for key, (streams, step, n_bytes) in self.sends.items():
            others, its_step = self.receives[key]
            self.parts.append(make_messages(streams, step, others, its_step, n_bytes))
        return join(self.parts)


def program_of(
    stages: Sequence[Sequence[Operation]],
    layout: Layout,
    n_ranks: int,
    iterations: int,
    *,
    scale: float,
    compute: bool,
    links: Communicator,
) -> Program:
    """Return the program of all GPUs, from each stage's operations; further ranks are idle.

    Bytes and computing are ``scale`` times as large; without ``compute`` computing takes no time.
    """
    per_stage = layout.gpus // layout.pp
    collectives = [
        1 if links.merged(op.kind) else layout.size_of(op.group)
        for operations in stages
        for op in operations
        if op.group not in ("", "pp", *links.as_time_Bps)
    ]
    # at most 2 p messages of a GPU in a collective of p, in as many steps
    n = (sum(map(len, stages)) + 2 * sum(collectives)) * per_stage * iterations
    need_messages(n, n, f"training on {layout.gpus} GPUs, {iterations} iterations")
    beside = any(op.beside for operations in stages for op in operations)
    writer = _ProgramWriter(layout, 2 if beside else 1, scale, links)
    compute_s: list[NDArray[np.float64]] = []
    kinds: list[IntArray] = []
    per_stream: list[int] = []
    for number, operations in enumerate(stages):
        streams = writer.stage(number, operations)
        compute_s += [np.round(np.array(stream.compute_s), 9) for stream in streams] * per_stage
        kinds += [np.array(stream.kinds) for stream in streams] * per_stage
        per_stream += [len(stream.kinds) for stream in streams] * per_stage
    idle = n_ranks - layout.gpus
    of_rank = np.repeat([writer.n_streams, 1], [layout.gpus, idle])
    return build_program(
        n_ranks,
        np.array([*per_stream, *[1] * idle], dtype=np.int64),
        writer.pipeline(),
        iterations,
        np.concatenate([*compute_s, np.zeros(idle)]) if compute else 0.0,
        stream_ptr=np.concatenate([[0], np.cumsum(of_rank)]),
        kinds=KINDS,
        step_kind=np.concatenate([*kinds, np.zeros(idle, dtype=np.int64)]),
    )
