"""How a model is spread over GPUs, and the order of a pipeline's micro-batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.parameters import OneOf, ReadIf
from patterns.training.model import Model

NONE, BATCH, DUALPIPE = "none", "batch", "dualpipe"

EXPERT_OVERLAPS = {
    NONE: "computing waits for tokens of experts",
    BATCH: "a forward pass beside the backward pass of another micro-batch, in 1F1B or interleaved",
    DUALPIPE: "the same in a pipeline from both ends (DeepSeek-V3, section 3.2.1)",
}
"""How tokens are sent to experts and back beside computing, by name."""

GROUPS = ("tp", "cp", "pp", "dp", "ep", "edp")
"""Parallelisms: tensor, context, pipeline, data, experts, data of experts' parameters."""

KINDS = ("tp", "cp", "pp", "dp", "ep")
"""Parallelisms whose communication is timed; those of experts' parameters count as "dp"."""


def kind_of(group: str) -> str:
    """Return the kind of a group of `GROUPS`."""
    return "dp" if group == "edp" else group


PEAK_FLOPS: dict[str, float] = {
    "a100": 312e12,
    "h100": 989e12,
    "gh200": 989e12,
    "h800": 989e12,
    "b200": 2250e12,
}
"""Dense bf16 operations a second, from NVIDIA's data sheets."""


@dataclass(frozen=True)
class Layout:
    """Degrees of parallelism and what the framework does with them."""

    tp: Annotated[int, "tensor parallelism", Ge(1)] = 1
    cp: Annotated[int, "context parallelism", Ge(1)] = 1
    pp: Annotated[int, "stages of the pipeline", Ge(1)] = 1
    dp: int = 1
    """Data parallelism."""
    ep: Annotated[int, "data-parallel GPUs that share the experts", Ge(1)] = 1
    zero: Annotated[int, "ZeRO stage; 3: FSDP", Ge(0), Le(3)] = 0
    """0: gradients are all-reduced. 1 or 2: they are reduce-scattered, then parameters are
    gathered. 3 (FSDP): parameters are gathered before a layer's forward and backward pass, and
    gradients reduce-scattered after it, for each micro-batch."""
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
    ] = NONE
    """With "dualpipe" a GPU of stage s has the layers of stage pp - 1 - s too, for the half of the
    micro-batches that goes the other way."""
    dispatch_bytes: Annotated[
        int, "bytes of an element on its way to an expert; 1: fp8", Ge(1), Le(4)
    ] = 2
    """It comes back in ``element_bytes``."""
    expert_nodes: Annotated[
        int, "most nodes that a token is sent to, once each; 0: once an expert", Ge(0)
    ] = 0
    expert_skew: Annotated[
        float, "tokens of the busiest GPU's experts over the mean; all wait for it", Ge(1)
    ] = 1.0
    recompute: Annotated[bool, "whether the backward pass repeats the forward pass"] = False
    bucket_bytes: Annotated[int, "gradients reduced together; 0: those of a layer", Ge(0)] = 0
    gradient_bytes: Annotated[int, "bytes of a gradient that is reduced", Ge(1)] = 2
    gpus_per_node: Annotated[int, "GPUs of a node, for hierarchical and expert_nodes", Ge(1)] = 1
    element_bytes: int = 2
    """Of a parameter or activation."""
    prefetch: int = 1
    """Layers that ZeRO-3 gathers ahead of the one that computes."""

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return self.tp * self.cp * self.pp * self.dp

    @property
    def directions(self) -> int:
        """Ends of the pipeline at which micro-batches begin."""
        return 2 if self.expert_overlap == DUALPIPE else 1

    @property
    def positions(self) -> int:
        """Chunks of layers that a micro-batch passes."""
        return self.pp * self.interleave

    def position(self, stage: int, chunk: int) -> int:
        """Return which of the positions a stage's chunk is; with two directions chunk 1 is of the
        second one."""
        if self.directions == 2:
            return self.pp - 1 - stage if chunk else stage
        return chunk * self.pp + stage

    def stage_of(self, position: int, chunk: int) -> int:
        """Return the stage of a position that is next to one of chunk ``chunk``."""
        return self.pp - 1 - position if self.directions == 2 and chunk else position % self.pp

    @property
    def nodes_of_experts(self) -> int:
        """Nodes that share the experts."""
        return max(1, self.ep * self.cp * self.tp // self.gpus_per_node)

    def size_of(self, group: str) -> int:
        """Return the number of GPUs of a group of `GROUPS`."""
        sizes = {"dp": self.dp * self.cp, "edp": self.dp * self.cp // self.ep}
        return sizes[group] if group in sizes else int(getattr(self, group))

    def check(self, model: Model) -> None:
        """Raise NetcosimError where the layout does not fit itself or the model."""
        chunks = self.positions
        units = model.layers + 2
        if self.pp == 1 and self.interleave > 1:
            raise NetcosimError(f"interleave = {self.interleave} needs pp above 1")
        if self.interleave > 1 and self.micro_batches % self.pp:
            raise NetcosimError(
                f"micro_batches = {self.micro_batches} with interleave = {self.interleave}: it "
                f"must be a multiple of pp = {self.pp}"
            )
        if self.pp > 1 and not model.hidden:
            raise NetcosimError(
                f"pp = {self.pp}: the model's layers differ in what they return; only dp applies"
            )
        if chunks > units:
            raise NetcosimError(
                f"pp * interleave = {chunks} chunks of layers; the model has {model.layers} "
                f"layers, an embedding and a head, so at most {units}"
            )
        if self.dp % self.ep:
            raise NetcosimError(f"ep = {self.ep} does not divide dp = {self.dp}")
        if self.ep > 1 and (not model.experts or model.experts % self.ep):
            raise NetcosimError(f"ep = {self.ep} does not divide {model.experts} experts")
        self._check_experts()
        for what, total, parts in (
            ("heads", model.heads, self.tp),
            ("sequence", model.sequence, self.cp * (self.tp if self.sequence_parallel else 1)),
        ):
            if total % parts:
                raise NetcosimError(f"{what} = {total} cannot be split over {parts} GPUs")

    def _check_experts(self) -> None:
        if self.expert_overlap == NONE and not self.expert_nodes:
            return
        what, wanted = f"expert_overlap = {self.expert_overlap}", self.expert_overlap != NONE
        if self.ep == 1:
            what = what if wanted else f"expert_nodes = {self.expert_nodes}"
            raise NetcosimError(f"{what} needs ep above 1: experts on several GPUs")
        if wanted and self.zero == 3:
            raise NetcosimError(f"{what} with zero = 3: parameters are gathered for one pass only")
        if self.directions == 2:
            if self.pp % 2 or self.interleave > 1:
                raise NetcosimError(f"{what} needs an even pp and interleave = 1; pp = {self.pp}")
            if self.micro_batches % 2 or self.micro_batches < 2 * self.pp:
                raise NetcosimError(
                    f"micro_batches = {self.micro_batches} with {what}: it must be even, and at "
                    f"least 2 pp = {2 * self.pp}"
                )
        if self.expert_nodes and (self.ep * self.cp * self.tp) % self.gpus_per_node:
            raise NetcosimError(
                f"expert_nodes = {self.expert_nodes}: ep * cp * tp = {self.ep * self.cp * self.tp} "
                f"must be a multiple of gpus_per_node = {self.gpus_per_node}"
            )

    def chunks(self, model: Model) -> list[range]:
        """Return the units of each chunk of the pipeline; where they differ, its ends have fewer.

        Chunk c is on stage c mod pp. Unit 0 is the embedding, the last the head.
        """
        n = self.positions
        base, more = divmod(model.layers, n)
        first = (n - more) // 2
        ends, at = [], 1
        for c in range(n):
            at += base + (first <= c < first + more)
            ends.append(at)
        ends[-1] += 1
        return [range(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


@dataclass(frozen=True)
class Slot:
    """Forward or backward pass of one micro-batch through one chunk of a stage."""

    forward: bool
    micro_batch: int
    chunk: int
    part: str = "all"
    """Of a backward pass also "input" or "weights", the gradients that it computes."""


def slots(layout: Layout, stage: int) -> list[tuple[Slot, ...]]:
    """Return the passes of a stage in order: one, or a forward and a backward pass side by side.

    1F1B, interleaved as Megatron does. With "batch" passes are side by side once the pipeline is
    full; as both end together, a stage begins two forward passes, not one, earlier than the next.
    """
    if layout.expert_overlap == DUALPIPE:
        return _dualpipe(layout, stage)
    p, v, m = layout.pp, layout.interleave, layout.micro_batches
    total, together = m * v, layout.expert_overlap == BATCH
    ahead = p - stage - 1 if v == 1 and not together else 2 * (p - stage - 1) + (v - 1) * p
    warm = min(total, ahead + together)

    def slot(k: int, forward: bool) -> Slot:
        if v == 1:
            return Slot(forward, k, 0)
        chunk = k % (p * v) // p
        return Slot(forward, k // (p * v) * p + k % p, chunk if forward else v - 1 - chunk)

    order: list[tuple[Slot, ...]] = [(slot(k, True),) for k in range(warm)]
    for k in range(warm, total):
        pair = slot(k, True), slot(k - warm, False)
        order += [pair] if together else [(one,) for one in pair]
    return order + [(slot(k, False),) for k in range(total - warm, total)]


def _dualpipe(layout: Layout, stage: int) -> list[tuple[Slot, ...]]:
    """Return the passes of DualPipe (``dualpipe.py`` of deepseek-ai/DualPipe), in its eight steps.

    Phase 0 of the first half of the stages is that of micro-batches that begin at stage 0, of the
    second half that of the others.
    """
    p, m = layout.pp, layout.micro_batches // 2
    near = min(stage, p - 1 - stage)
    between = p // 2 - near - 1
    done: dict[tuple[bool, int], int] = {}
    later: list[Slot] = []
    order: list[tuple[Slot, ...]] = []

    def one(forward: bool, phase: int, part: str = "all") -> Slot:
        direction = phase ^ (stage >= p // 2)
        k = done.get((forward, direction), 0)
        done[forward, direction] = k + 1
        if part == "input":
            later.append(Slot(False, direction * m + k, direction, "weights"))
        return Slot(forward, direction * m + k, direction, part)

    def add(*passes: Slot) -> None:
        order.extend((each,) for each in passes)

    for _ in range(2 * between):
        add(one(True, 0))
    for _ in range(near + 1):
        add(one(True, 0), one(True, 1))
    for _ in range(between):
        add(one(False, 1, "input"), later.pop(0), one(True, 1))
    for i in range(m - p + near + 1):
        pair = one(True, 0), one(False, 1)
        order += [(each,) for each in pair] if i == 0 and between == 0 else [pair]
        order.append((one(True, 1), one(False, 0)))
    for _ in range(between):
        add(one(False, 1))
        order.append((one(True, 1), one(False, 0)))
    # the second half of the last backward passes leave the gradients of weights to the end
    for i in range(2 * (near + 1)):
        add(one(False, 1 - i % 2, "input" if i > near else "all"))
    for _ in range(between):
        add(later.pop(0), one(False, 0, "input"))
    return order + [(each,) for each in later]
