"""Operations of recorded iterations, and of all stages of a pipeline from those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from netsim.errors import NetcosimError
from patterns.training.layout import Layout, slots
from patterns.training.operations import Operation, boundary

MAX_OPERATIONS = 100_000
"""Of an iteration of a stage, computing among them: 128 layers with 12 collectives, 64 times. A
program of so many takes some ten seconds to build."""


@dataclass(frozen=True)
class Recorded:
    """Operations of each GPU, and the sizes of the groups that the file gives."""

    stages: tuple[tuple[Operation, ...], ...]
    """Of each stage of the pipeline."""
    sizes: dict[str, int]

    def layout(self, gpus: int) -> Layout:
        """Return the layout on so many GPUs; more than a file of all groups has are idle."""
        tp, cp, ep = (self.sizes.get(group, 1) for group in ("tp", "cp", "ep"))
        pp = max(1, len(self.stages))
        dp = self.sizes.get("dp", cp * max(1, gpus // (tp * cp * pp))) // cp
        return Layout(tp=tp, cp=cp, pp=pp, dp=dp, ep=ep)


class OperationList:
    """Operations in order; those beside computing need the one before them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[Operation] = []
        self.last = -1

    def add(self, *operations: Operation) -> None:
        """Add operations."""
        for op in operations:
            if len(self.found) == MAX_OPERATIONS:
                raise NetcosimError(
                    f"{self.path}: over {MAX_OPERATIONS:,} operations in an iteration; no longer "
                    "one is read"
                )
            if op.beside and self.last >= 0:
                op = replace(op, seconds=0.0, needs=(self.last,))
            self.found.append(op)
            if not op.beside:
                self.last = len(self.found) - 1

    def complete(self) -> tuple[Operation, ...]:
        """Return them with a wait for those beside at the end."""
        beside = [i for i, op in enumerate(self.found) if op.beside]
        if beside:
            self.found.append(Operation("compute", phase="step", needs=(beside[-1],)))
        return tuple(self.found)


Chunks = Sequence[Sequence[Operation]]
"""Of each chunk of a stage's layers, what one micro-batch does."""


@dataclass(frozen=True)
class Passes:
    """What a stage does in an iteration; all stages do the same."""

    forward: Sequence[Chunks]
    backward: Sequence[Chunks]
    """forward, backward: Of each micro-batch."""
    boundary_bytes: int
    """Of a message between stages."""
    before: Sequence[Operation] = ()
    after: Sequence[Operation] = ()

    def stages(self, pp: int, path: str) -> tuple[tuple[Operation, ...], ...]:
        """Return the operations of each stage, in the order of `layout.slots`.

        That of several chunks is for a multiple of ``pp`` micro-batches, the last of which are
        left out where there are fewer.
        """
        m, v = len(self.forward), len(self.forward[0])
        layout = Layout(pp=pp, interleave=v, micro_batches=m if v == 1 else -(-m // pp) * pp)
        found = []
        for stage in range(pp):
            operations = OperationList(path)
            operations.add(*self.before)
            for slot in chain.from_iterable(slots(layout, stage)):
                if slot.micro_batch >= m:
                    continue
                passes = self.forward if slot.forward else self.backward
                where = layout, stage, slot
                operations.add(*boundary(*where, "receive", self.boundary_bytes))
                operations.add(*passes[slot.micro_batch][slot.chunk])
                operations.add(*boundary(*where, "send", self.boundary_bytes))
            operations.add(*self.after)
            found.append(operations.complete())
        return tuple(found)
