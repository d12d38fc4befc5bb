"""The operations of one iteration: computing, collectives, sends; their order and overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import NamedTuple

from patterns.training.layout import Layout, Slot, slots
from patterns.training.model import Model, Unit

KEPT = 100_000
"""Most elements of a tensor that DeepSpeed keeps (``stage3_param_persistence_threshold``)."""


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
    between: float = 1.0
    """Share of the bytes for other nodes that goes there: tokens for several experts of a node go
    there once."""


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
    beside += ("all-to-all", "send")  # those of experts, by `Layout.expert_overlap`
    return [
        replace(op, beside=False) if op.beside and op.kind not in beside else op
        for op in operations
    ]


class TrainingCollective(NamedTuple):
    """Collective that computing waits for."""

    kind: str
    group: str
    n_bytes: int
    between: float = 1.0


@dataclass(frozen=True)
class Block:
    """One or several units: computing and blocking collectives of a pass, and the tensors."""

    tensors: tuple[int, ...]
    experts: tuple[int, ...]
    seconds: tuple[float, float]
    collectives: tuple[tuple[TrainingCollective, ...], tuple[TrainingCollective, ...]]


def make_block(model: Model, layout: Layout, unit: Unit, flops: float) -> Block:
    """Return what a unit does in a forward and in a backward pass of one micro-batch."""
    tp, size = layout.tp, layout.element_bytes
    tokens = layout.micro_batch * model.sequence // layout.cp
    activation = tokens * model.hidden * size
    forward: list[TrainingCollective] = []
    backward: list[TrainingCollective] = []
    is_layer = unit.kind in ("dense", "experts")
    if layout.cp > 1 and is_layer:
        both = 2 * layout.micro_batch * model.sequence * model.kv_hidden * size // tp
        forward.append(TrainingCollective("all-gather", "cp", both))
        backward += [
            TrainingCollective(kind, "cp", both) for kind in ("all-gather", "reduce-scatter")
        ]
    if layout.ep > 1 and unit.kind == "experts":
        elements = model.top_k * tokens * model.hidden // tp
        nodes = min(layout.expert_nodes, layout.nodes_of_experts) or model.top_k
        between = min(1.0, nodes / model.top_k)
        # to the experts and back, and gradients the same way
        exchange = [
            TrainingCollective(
                "all-to-all", "ep", round(elements * each * layout.expert_skew), between
            )
            for each in (layout.dispatch_bytes, size)
        ]
        forward += exchange
        backward += exchange
    if tp > 1:
        reduce = TrainingCollective("all-reduce", "tp", activation)
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
            forward += [TrainingCollective("all-reduce", "tp", tokens * 4)] * 3
    busiest = unit.work + (layout.expert_skew - 1) * unit.expert_work
    seconds = 2.0 * busiest * tokens / flops
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


def _merged(part: Sequence[Block], way: int) -> tuple[TrainingCollective, ...]:
    total: dict[tuple[str, str, float], int] = {}
    for block in part:
        for kind, group, n_bytes, between in block.collectives[way]:
            total[kind, group, between] = total.get((kind, group, between), 0) + n_bytes
    return tuple(TrainingCollective(kind, group, n, b) for (kind, group, b), n in total.items())


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
    """Return the operations of one iteration of each GPU of a pipeline stage, as they are issued.

    Each stream runs its own in that order. ``flops`` are operations a second of a GPU while it
    computes: its peak times its utilisation. The layers of each chunk are merged into
    ``blocks_per_chunk``; 0 keeps every layer.
    """
    chunks = chunk_blocks(model, layout, flops, blocks_per_chunk)
    n = max(layout.directions, layout.interleave)
    mine = [chunks[layout.position(stage, chunk)] for chunk in range(n)]
    return _Stage(model, layout, stage, mine).operations()


def boundary(
    layout: Layout, stage: int, slot: Slot, kind: str, n_bytes: int
) -> tuple[Operation, ...]:
    """Return the receive from the chunk before in the direction of a pass, or the send to the one
    after; nothing at the ends of the pipeline."""
    n, own = layout.positions, layout.position(stage, slot.chunk)
    other = own + 1 if slot.forward == (kind == "send") else own - 1
    if slot.part == "weights" or not 0 <= other < n:
        return ()
    peer = layout.stage_of(other, slot.chunk)
    tag = (slot.micro_batch * n + min(own, other)) * 2 + slot.forward
    return (Operation(kind, "pp", n_bytes, phase=_phase(slot), peer=peer, tag=tag),)


class _Part(NamedTuple):
    """Computing in a pass of a block, and the collective after it."""

    slot: Slot
    block: Block
    seconds: float
    collective: TrainingCollective | None
    ends_block: bool


class _Stage:
    """Writer of the operations of a stage."""

    def __init__(
        self, model: Model, layout: Layout, stage: int, chunks: Sequence[Sequence[Block]]
    ) -> None:
        self.layout, self.stage, self.chunks = layout, stage, chunks
        tokens = layout.micro_batch * model.sequence // layout.cp
        split = layout.tp if layout.sequence_parallel else 1
        self.boundary_bytes = tokens * model.hidden * layout.element_bytes // split
        self.ops: list[Operation] = []
        self.filled = {"dp": 0, "edp": 0}
        self.gathered: list[int] = []
        """Of each visit of a block whose parameters are gathered: the last operation of it."""
        self.end_of_visit: list[int] = []

    def operations(self) -> list[Operation]:
        order = slots(self.layout, self.stage)
        alone = [passes[0] for passes in order if len(passes) == 1]
        self.visits = [(slot, block) for slot in alone for block in self._blocks(slot)]
        visit = 0
        for passes in order:
            for slot in passes:
                self._boundary(slot, "receive")
            if len(passes) > 1:
                self._side_by_side(passes)
                continue
            for _ in self.chunks[passes[0].chunk]:
                self._visit(visit)
                visit += 1
            self._boundary(passes[0], "send")
        self._step()
        return self.ops

    def _blocks(self, slot: Slot) -> Sequence[Block]:
        return self.chunks[slot.chunk][:: 1 if slot.forward else -1]

    def _add(self, op: Operation) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def _boundary(self, slot: Slot, kind: str, beside: bool = False) -> None:
        one = boundary(self.layout, self.stage, slot, kind, self.boundary_bytes)
        self.ops += [replace(op, beside=beside) for op in one]

    def _parts(self, slot: Slot, block: Block) -> list[_Part]:
        """Return the computing of a block's pass in equal parts, each before a collective."""
        way = 0 if slot.forward else 1
        waits = block.collectives[way] if slot.part != "weights" else ()
        seconds = block.seconds[way]
        if slot.part != "all":  # weights' gradients take as long as a forward pass
            seconds = block.seconds[0] if slot.part == "weights" else seconds - block.seconds[0]
        n = max(1, len(waits))
        return [
            _Part(slot, block, seconds / n, one, k == n - 1)
            for k, one in enumerate(waits or (None,))
        ]

    def _part(self, part: _Part, needs: tuple[int, ...], beside: bool = False) -> int:
        """Write computing and the collective after it, and return the last of them."""
        one, phase = part.collective, _phase(part.slot)
        end = self._add(Operation("compute", seconds=part.seconds, phase=phase, needs=needs))
        if one is not None:
            op = Operation(one.kind, one.group, one.n_bytes, 0.0, phase, beside)
            end = self._add(replace(op, needs=(end,) if beside else (), between=one.between))
        if part.ends_block:
            self._end_of_block(part.slot, part.block, end)
        return end

    def _side_by_side(self, passes: Sequence[Slot]) -> None:
        """Write passes part by part in turn: tokens of one are sent while the others compute."""
        parts = [
            [part for block in self._blocks(slot) for part in self._parts(slot, block)]
            for slot in passes
        ]
        sent: dict[Slot, tuple[int, ...]] = dict.fromkeys(passes, ())
        ends = [each[-1] for each in parts]
        for part in filter(None, chain.from_iterable(zip_longest(*parts))):
            beside = part.collective is not None and part.collective.group == "ep"
            end = self._part(part, sent[part.slot], beside)
            sent[part.slot] = (end,) if beside else ()
            if any(part is last for last in ends):
                self._boundary(part.slot, "send", beside)

    def _visit(self, number: int) -> None:
        slot, block = self.visits[number]
        needs: tuple[int, ...] = ()
        if self.layout.zero == 3 and self.layout.size_of("dp") > 1:
            ahead = min(number + self.layout.prefetch + 1, len(self.visits))
            for k in range(len(self.gathered), ahead):
                self._gather(k, (self.end_of_visit[-1],) if self.end_of_visit else ())
            needs = (self.gathered[number],)
        for part in self._parts(slot, block):
            self._part(part, needs)
            needs = ()

    def _end_of_block(self, slot: Slot, block: Block, end: int) -> None:
        self.end_of_visit.append(end)
        last = (slot.micro_batch + 1) % (self.layout.micro_batches // self.layout.directions) == 0
        if not slot.forward and slot.part != "input" and (last or self.layout.zero == 3):
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
        if self.layout.zero == 3 and self.layout.gather_tensors and self.layout.size_of("dp") > 1:
            self._gather_small()
        beside = [i for i, op in enumerate(self.ops) if op.beside]
        if beside:
            self._add(Operation("compute", phase="step", needs=(beside[-1],)))

    def _gather_small(self) -> None:
        """Gather the tensors that DeepSpeed keeps."""
        for block in (block for chunk in self.chunks for block in chunk):
            for n in (n for n in block.tensors if n <= KEPT):
                n_bytes = n * self.layout.element_bytes
                self._add(Operation("all-gather", "dp", n_bytes, 0.0, "step", True))

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
