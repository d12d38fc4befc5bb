"""The operations of one iteration: computing, collectives, sends; their order and overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from patterns.training.layout import Layout, Slot, slots
from patterns.training.model import Model, Unit


@dataclass(frozen=True)
class Operation:
    """What each GPU of a pipeline stage does next on one of its two streams."""

    kind: str
    """One of "compute", "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast",
    "send" or "receive"."""
    group: str = ""
    """A key of `patterns.training.layout.GROUPS`; empty for computing."""
    n_bytes: int = 0
    """Of the entire vector of a collective (as nccl-tests and AICB count), of what a GPU has for
    others and itself in an all-to-all, or of a message."""
    seconds: float = 0.0
    """Of computing."""
    phase: str = "forward"
    """One of "forward", "backward" or "step"."""
    beside: bool = False
    """Whether it runs on the communicating stream, beside computing."""
    needs: tuple[int, ...] = ()
    """Operations of the list, on the other stream, that must be complete before."""
    peer: int = -1
    tag: int = -1
    """peer, tag: The other stage, and a number that a send and its receive have in common."""


OVERLAPS = {
    "all": "gradients are reduced and parameters of ZeRO-3 gathered beside computing (DDP, FSDP)",
    "gradients": "gradients are reduced beside computing, which waits for parameters",
    "none": "computing waits for all communication, as Megatron does by default",
}
"""What of data parallelism runs beside computing, by name."""


def overlapped(operations: Sequence[Operation], overlap: str) -> list[Operation]:
    """Return the operations with those beside computing that a key of `OVERLAPS` names."""
    beside = {"all": ("all-gather", "reduce-scatter", "all-reduce"), "none": ()}.get(
        overlap, ("reduce-scatter", "all-reduce")
    )
    return [
        replace(op, beside=False) if op.beside and op.kind not in beside else op
        for op in operations
    ]


class Collective(NamedTuple):
    """Collective that computing waits for."""

    kind: str
    group: str
    n_bytes: int


@dataclass(frozen=True)
class Block:
    """One or several units: computing and blocking collectives of a pass, and the tensors."""

    tensors: tuple[int, ...]
    experts: tuple[int, ...]
    seconds: tuple[float, float]
    collectives: tuple[tuple[Collective, ...], tuple[Collective, ...]]


def make_block(model: Model, layout: Layout, unit: Unit, flops: float) -> Block:
    """Return what a unit does in a forward and in a backward pass of one micro-batch."""
    tp, size = layout.tp, layout.element_bytes
    tokens = layout.micro_batch * model.sequence // layout.cp
    activation = tokens * model.hidden * size
    forward: list[Collective] = []
    backward: list[Collective] = []
    is_layer = unit.kind in ("dense", "experts")
    if layout.cp > 1 and is_layer:
        both = 2 * layout.micro_batch * model.sequence * model.kv_hidden * size // tp
        forward.append(Collective("all-gather", "cp", both))
        backward += [Collective(kind, "cp", both) for kind in ("all-gather", "reduce-scatter")]
    if layout.ep > 1 and unit.kind == "experts":
        exchange = Collective("all-to-all", "ep", model.top_k * activation // tp)
        forward += [exchange] * 2
        backward += [exchange] * 2
    if tp > 1:
        reduce = Collective("all-reduce", "tp", activation)
        gather, scatter = reduce._replace(kind="all-gather"), reduce._replace(kind="reduce-scatter")
        if is_layer and layout.sequence_parallel:
            forward += [gather, scatter] * 2
            backward += [gather, gather, scatter] * 2
        elif is_layer:
            forward += [reduce] * 2
            backward += [reduce] * 2
        elif unit.kind == "embedding":
            forward.append(reduce)
            backward.append(reduce)
        else:  # the loss over a split vocabulary: maximum, prediction, sum, in four bytes each
            forward += [Collective("all-reduce", "tp", tokens * 4)] * 3
    seconds = 2.0 * unit.work * tokens / flops
    again = layout.recompute and is_layer
    return Block(
        unit.tensors,
        unit.experts,
        (seconds, seconds * (3 if again else 2)),
        (tuple(forward), tuple([*forward, *backward] if again else backward)),
    )


def merge_blocks(blocks: Sequence[Block], n: int) -> list[Block]:
    """Return ``n`` blocks with the same bytes and times; collectives of a kind become one.

    All of them if ``n`` is 0 or not below their number.
    """
    if n == 0 or n >= len(blocks):
        return list(blocks)
    merged = []
    for k in range(n):
        part = blocks[k * len(blocks) // n : (k + 1) * len(blocks) // n]
        merged.append(
            Block(
                tuple(t for block in part for t in block.tensors),
                tuple(t for block in part for t in block.experts),
                (sum(block.seconds[0] for block in part), sum(block.seconds[1] for block in part)),
                (_merged(part, 0), _merged(part, 1)),
            )
        )
    return merged


def _merged(part: Sequence[Block], way: int) -> tuple[Collective, ...]:
    total: dict[tuple[str, str], int] = {}
    for block in part:
        for one in block.collectives[way]:
            total[one.kind, one.group] = total.get((one.kind, one.group), 0) + one.n_bytes
    return tuple(Collective(kind, group, n) for (kind, group), n in total.items())


def chunk_blocks(
    model: Model, layout: Layout, flops: float, blocks_per_chunk: int
) -> list[list[Block]]:
    """Return the blocks of each chunk of layers; the parameters are those of `iteration`."""
    units = model.units(layout.tp, layout.ep)
    return [
        merge_blocks([make_block(model, layout, units[u], flops) for u in chunk], blocks_per_chunk)
        for chunk in layout.chunks(model)
    ]


def iteration(
    model: Model, layout: Layout, stage: int, flops: float, blocks_per_chunk: int = 0
) -> list[Operation]:
    """Return the operations of one iteration of each GPU of a pipeline stage.

    Parameters
    ----------
    stage : int
        Of the pipeline, from 0.
    flops : float
        Operations a second of a GPU while it computes: its peak times its utilisation.
    blocks_per_chunk : int
        Merge the layers of each chunk into so many; 0 keeps every layer.

    Returns
    -------
    list of Operation
        In the order in which they are issued; each stream runs its own in that order.
    """
    chunks = chunk_blocks(model, layout, flops, blocks_per_chunk)
    return _Stage(model, layout, stage, chunks[stage :: layout.pp]).operations()


class _Stage:
    """Writer of the operations of a stage."""

    def __init__(
        self, model: Model, layout: Layout, stage: int, chunks: Sequence[Sequence[Block]]
    ) -> None:
        self.layout, self.stage, self.chunks = layout, stage, chunks
        tokens = layout.micro_batch * model.sequence // layout.cp
        self.boundary_bytes = tokens * model.hidden * layout.element_bytes // layout.tp
        self.ops: list[Operation] = []
        self.filled = {"dp": 0, "edp": 0}
        self.gathered: list[int] = []
        """Of each visit of a block whose parameters are gathered: the last operation of it."""
        self.end_of_visit: list[int] = []

    def operations(self) -> list[Operation]:
        order = slots(self.layout, self.stage)
        self.visits = [
            (slot, block)
            for slot in order
            for block in self.chunks[slot.chunk][:: 1 if slot.forward else -1]
        ]
        visit = 0
        for slot in order:
            self._boundary(slot, "receive")
            for _ in self.chunks[slot.chunk]:
                self._visit(visit)
                visit += 1
            self._boundary(slot, "send")
        self._step()
        return self.ops

    def _add(self, op: Operation) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def _boundary(self, slot: Slot, kind: str) -> None:
        """Receive from the chunk before in the direction of the pass, or send to the one after."""
        p = self.layout.pp
        chunk = slot.chunk * p + self.stage
        other = chunk + 1 if slot.forward == (kind == "send") else chunk - 1
        if not 0 <= other < p * self.layout.interleave:
            return
        tag = (slot.micro_batch * p * self.layout.interleave + min(chunk, other)) * 2
        self._add(
            Operation(
                kind,
                "pp",
                self.boundary_bytes,
                phase=_phase(slot),
                peer=other % p,
                tag=tag + slot.forward,
            )
        )

    def _visit(self, number: int) -> None:
        slot, block = self.visits[number]
        needs: tuple[int, ...] = ()
        if self.layout.zero == 3 and self.layout.size_of("dp") > 1:
            ahead = min(number + self.layout.prefetch + 1, len(self.visits))
            for k in range(len(self.gathered), ahead):
                self._gather(k, (self.end_of_visit[-1],) if self.end_of_visit else ())
            needs = (self.gathered[number],)
        phase = _phase(slot)
        way = 0 if slot.forward else 1
        waits = block.collectives[way]
        seconds = block.seconds[way] / max(1, len(waits))
        end = self._add(Operation("compute", seconds=seconds, phase=phase, needs=needs))
        for k, one in enumerate(waits):
            if k:
                self._add(Operation("compute", seconds=seconds, phase=phase))
            end = self._add(Operation(one.kind, one.group, one.n_bytes, phase=phase))
        self.end_of_visit.append(end)
        last = slot.micro_batch == self.layout.micro_batches - 1
        if not slot.forward and (last or self.layout.zero == 3):
            self._reduce("dp", block.tensors, end)
            self._reduce("edp", block.experts, end)

    def _gather(self, number: int, needs: tuple[int, ...]) -> None:
        slot, block = self.visits[number]
        for group, tensors in (("dp", block.tensors), ("edp", block.experts)):
            if not tensors or self.layout.size_of(group) == 1:
                continue
            tensors = tensors[:: 1 if slot.forward else -1]
            for n in tensors if self.layout.gather_tensors else (sum(tensors),):
                n_bytes = n * self.layout.element_bytes
                end = self._add(
                    Operation("all-gather", group, n_bytes, 0.0, _phase(slot), True, needs)
                )
                needs = ()
        self.gathered.append(end)

    def _reduce(self, group: str, tensors: Sequence[int], end: int) -> None:
        """Put gradients into the bucket; reduce it when the next one does not fit."""
        limit = self.layout.bucket_bytes
        for elements in reversed(tensors):
            n_bytes = elements * self.layout.gradient_bytes
            if limit and self.filled[group] and self.filled[group] + n_bytes > limit:
                self._flush(group, "backward", end)
            self.filled[group] += n_bytes
        if not limit:
            self._flush(group, "backward", end)

    def _flush(self, group: str, phase: str, end: int) -> None:
        kind = "reduce-scatter" if self.layout.zero else "all-reduce"
        n_bytes, self.filled[group] = self.filled[group], 0
        if n_bytes and self.layout.size_of(group) > 1:
            self._add(Operation(kind, group, n_bytes, 0.0, phase, True, (end,)))

    def _step(self) -> None:
        """Reduce what is left, gather parameters, and wait for all."""
        for group in ("dp", "edp"):
            self._flush(group, "step", self.end_of_visit[-1])
        if self.layout.zero in (1, 2):
            blocks = [block for chunk in self.chunks for block in chunk]
            self._gather_all("dp", sum(sum(block.tensors) for block in blocks))
            self._gather_all("edp", sum(sum(block.experts) for block in blocks))
        beside = [i for i, op in enumerate(self.ops) if op.beside]
        if beside:
            self._add(Operation("compute", phase="step", needs=(beside[-1],)))

    def _gather_all(self, group: str, elements: int) -> None:
        size, n_bytes = self.layout.size_of(group), self.layout.element_bytes
        if elements == 0 or size == 1:
            return
        limit = self.layout.bucket_bytes
        n = max(1, elements * n_bytes // limit) if limit else 1
        reduced = tuple(i for i, op in enumerate(self.ops) if op.beside)[-1:]
        for k in range(n):
            share = (k + 1) * elements // n - k * elements // n
            padded = -(-share // size) * size
            self._add(Operation("all-gather", group, padded * n_bytes, 0.0, "step", True, reduced))


def _phase(slot: Slot) -> str:
    return "forward" if slot.forward else "backward"
