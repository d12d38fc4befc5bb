"""Parameters of the pattern ``training``: a model, a layout, a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Ge, Gt, Le

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, shown
from netsim.parameters import OneOf
from patterns.training.layout import PEAK_FLOPS, Layout
from patterns.training.model import MODELS, Model, model_of
from patterns.training.operations import (
    OVERLAPS,
    Block,
    Operation,
    chunk_blocks,
    iteration,
    overlapped,
)
from patterns.training.program import Communicator

MOST_OPERATIONS = 200_000
"""Computing and collectives of passes, or parts of gathered parameters, in an iteration."""


@dataclass(frozen=True)
class TrainingSettings:
    """Parameters of the pattern ``training`` (docs/training.md)."""

    model: Annotated[str, "the model", OneOf(MODELS)] = "llama-7b"
    sequence: Annotated[
        int, "tokens of a sequence; 0: as the model was trained", Ge(0), Le(MAX_INDEX)
    ] = 0
    dp: Annotated[int, "data parallelism; 0: what the job's ranks leave", Ge(0)] = 0
    shape: Annotated[Layout, "all but its dp"] = field(default_factory=Layout)
    gpu: Annotated[str, "GPU, for its peak", OneOf(PEAK_FLOPS)] = "h100"
    mfu: Annotated[float, "share of the peak while it computes", Gt(0), Le(1)] = 0.5
    overlap: Annotated[str, "data-parallel communication beside computing", OneOf(OVERLAPS)] = "all"
    algorithm: Annotated[str, "of collectives", OneOf(("ring", "hierarchical"))] = "ring"
    scale_up_GBps: Annotated[
        float,
        "bus bandwidth at which tensor parallelism takes time, no messages; 0: messages",
        Ge(0),
    ] = 0.0
    blocks: Annotated[int, "merge the layers of a stage's chunk into so many; 0: all", Ge(0)] = 0
    merge_rings: Annotated[
        bool, "each GPU of a ring sends all its bytes to the next one at once, for large jobs"
    ] = False
    scale: Annotated[float, "bytes and computing are so many times as large", Gt(0)] = 1.0
    compute: Annotated[bool, "whether computing takes time"] = True

    @property
    def ranks_of_replica(self) -> int:
        """Ranks that hold the model once."""
        return self.shape.tp * self.shape.cp * self.shape.pp

    @property
    def transformer(self) -> Model:
        """The model."""
        return model_of(self.model, self.sequence)

    @property
    def flops(self) -> float:
        """Operations a second of a GPU while it computes."""
        return PEAK_FLOPS[self.gpu] * self.mfu

    @property
    def communicator(self) -> Communicator:
        """How collectives communicate."""
        as_time = {"tp": self.scale_up_GBps * 1e9} if self.scale_up_GBps else {}
        return Communicator(self.algorithm, self.shape.gpus_per_node, self.merge_rings, as_time)

    def layout(self, n_ranks: int) -> Layout:
        """Return the layout on so many ranks."""
        dp = self.dp or max(1, n_ranks // self.ranks_of_replica)
        if n_ranks != dp * self.ranks_of_replica:
            shape = replace(self.shape, dp=dp)
            names = ("tp", "cp", "pp", *(("dp",) if self.dp else ()))
            product = " * ".join(f"{name} {getattr(shape, name)}" for name in names)
            need = dp * self.ranks_of_replica if self.dp else self.ranks_of_replica
            raise NetcosimError(
                f"pattern training: {n_ranks} ranks; {product} needs "
                f"{'' if self.dp else 'a multiple of '}{need}"
            )
        found = replace(self.shape, dp=dp)
        found.check(self.transformer)
        return found

    def stages(self, layout: Layout) -> list[list[Operation]]:
        """Return the operations of each stage of the pipeline."""
        model = self.transformer
        self._need_few_operations(model, layout)
        return [
            overlapped(iteration(model, layout, stage, self.flops, self.blocks), self.overlap)
            for stage in range(layout.pp)
        ]

    def _need_few_operations(self, model: Model, layout: Layout) -> None:
        """Refuse more operations than are written in a few seconds."""
        chunks = chunk_blocks(model, layout, self.flops, self.blocks)
        every = [block for chunk in chunks for block in chunk]
        passes = [waits for block in every for waits in block.collectives]
        # computing in as many parts as there are collectives
        each = sum(max(1, 2 * len(waits)) for waits in passes)
        buckets = self._buckets(layout, every)
        most, key, remedy = max(
            (layout.micro_batches * each, "micro_batches", "lower it, or set blocks"),
            (buckets if layout.bucket_bytes else 0, "bucket_bytes", "raise it"),
        )
        if most > MOST_OPERATIONS:
            raise NetcosimError(
                f"pattern training: {key} = {shown(getattr(layout, key))} makes at least "
                f"{shown(most)} operations; at most {MOST_OPERATIONS:,}: {remedy}"
            )

    def _buckets(self, layout: Layout, blocks: Sequence[Block]) -> int:
        """Return the reductions and gathers of buckets in an iteration, or somewhat fewer."""
        tensors = [n for block in blocks for n in (*block.tensors, *block.experts)]
        limit, elements = max(1, layout.bucket_bytes), sum(tensors)
        # a bucket holds whole gradients, but parts of parameters
        reduced = min(len(tensors), elements * layout.gradient_bytes // limit)
        gathered = elements * layout.element_bytes // limit * (layout.zero in (1, 2))
        return reduced * (layout.micro_batches if layout.zero == 3 else 1) + gathered
