"""Parameters of the pattern ``training``: a model, a layout, a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, shown
from netsim.parameters import OneOf, ReadIf
from patterns.training.layout import EXPERT_OVERLAPS, PEAK_FLOPS, Layout
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
    tp: Annotated[int, "tensor parallelism", Ge(1)] = 1
    cp: Annotated[int, "context parallelism", Ge(1)] = 1
    pp: Annotated[int, "stages of the pipeline", Ge(1)] = 1
    dp: Annotated[int, "data parallelism; 0: what the job's ranks leave", Ge(0)] = 0
    ep: Annotated[int, "data-parallel GPUs that share the experts", Ge(1)] = 1
    zero: Annotated[int, "ZeRO stage; 3: FSDP", Ge(0), Le(3)] = 0
    gather_tensors: Annotated[
        bool,
        "ZeRO-3 gathers tensor by tensor, and small ones after the step too (DeepSpeed)",
        ReadIf(("zero",), lambda zero: zero == 3, "zero is 3"),
    ] = False
    interleave: Annotated[int, "chunks of layers on each stage of the pipeline", Ge(1)] = 1
    micro_batches: Annotated[int, "micro-batches of an iteration and replica", Ge(1)] = 1
    micro_batch: Annotated[int, "sequences in a micro-batch", Ge(1), Le(MAX_INDEX)] = 1
    sequence_parallel: Annotated[
        bool, "tensor parallelism by all-gather and reduce-scatter, not all-reduce"
    ] = False
    expert_overlap: Annotated[
        str, "tokens are sent to experts and back beside computing", OneOf(EXPERT_OVERLAPS)
    ] = "none"
    dispatch_bytes: Annotated[
        int, "bytes of an element on its way to an expert; 1: fp8", Ge(1), Le(4)
    ] = 2
    expert_nodes: Annotated[
        int, "most nodes that a token is sent to, once each; 0: once an expert", Ge(0)
    ] = 0
    expert_skew: Annotated[
        float, "tokens of the busiest GPU's experts over the mean; all wait for it", Ge(1)
    ] = 1.0
    recompute: Annotated[bool, "whether the backward pass repeats the forward pass"] = False
    bucket_bytes: Annotated[int, "gradients reduced together; 0: those of a layer", Ge(0)] = 0
    gradient_bytes: Annotated[int, "bytes of a gradient that is reduced", Ge(1)] = 2
    gpu: Annotated[str, "GPU, for its peak", OneOf(PEAK_FLOPS)] = "h100"
    mfu: Annotated[float, "share of the peak while it computes", Gt(0), Le(1)] = 0.5
    overlap: Annotated[str, "data-parallel communication beside computing", OneOf(OVERLAPS)] = "all"
    algorithm: Annotated[str, "of collectives", OneOf(("ring", "hierarchical"))] = "ring"
    gpus_per_node: Annotated[int, "GPUs of a node, for hierarchical and expert_nodes", Ge(1)] = 1
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
        return self.tp * self.cp * self.pp

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
        return Communicator(self.algorithm, self.gpus_per_node, self.merge_rings, as_time)

    def layout(self, n_ranks: int) -> Layout:
        """Return the layout on so many ranks."""
        dp = self.dp or max(1, n_ranks // self.ranks_of_replica)
        if n_ranks != dp * self.ranks_of_replica:
            names = {"tp": self.tp, "cp": self.cp, "pp": self.pp} | ({"dp": dp} if self.dp else {})
            product = " * ".join(f"{name} {n}" for name, n in names.items())
            need = dp * self.ranks_of_replica if self.dp else self.ranks_of_replica
            raise NetcosimError(
                f"pattern training: {n_ranks} ranks; {product} needs "
                f"{'' if self.dp else 'a multiple of '}{need}"
            )
        same: dict[str, Any] = {
            one.name: getattr(self, one.name, one.default) for one in fields(Layout)
        }
        found = Layout(**{**same, "dp": dp})
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
            (self.micro_batches * each, "micro_batches", "lower it, or set blocks"),
            (buckets if self.bucket_bytes else 0, "bucket_bytes", "raise it"),
        )
        if most > MOST_OPERATIONS:
            raise NetcosimError(
                f"pattern training: {key} = {shown(getattr(self, key))} makes at least "
                f"{shown(most)} operations; at most {MOST_OPERATIONS:,}: {remedy}"
            )

    def _buckets(self, layout: Layout, blocks: Sequence[Block]) -> int:
        """Return the reductions and gathers of buckets in an iteration, or somewhat fewer."""
        tensors = [n for block in blocks for n in (*block.tensors, *block.experts)]
        limit, elements = max(1, self.bucket_bytes), sum(tensors)
        # a bucket holds whole gradients, but parts of parameters
        reduced = min(len(tensors), elements * layout.gradient_bytes // limit)
        gathered = elements * layout.element_bytes // limit * (layout.zero in (1, 2))
        return reduced * (self.micro_batches if layout.zero == 3 else 1) + gathered
