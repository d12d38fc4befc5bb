"""How a model is spread over GPUs, and the order of a pipeline's micro-batches."""

from __future__ import annotations

from dataclasses import dataclass

from netsim.errors import NetcosimError
from patterns.training.model import Model

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

    tp: int = 1
    cp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    """tp, cp, pp, dp, ep: Tensor, context, pipeline and data parallelism; ``ep`` GPUs of the ``dp``
    share the experts."""
    zero: int = 0
    """0: gradients are all-reduced. 1 or 2: they are reduce-scattered, then parameters are
    gathered. 3 (FSDP): parameters are gathered before a layer's forward and backward pass, and
    gradients reduce-scattered after it, for each micro-batch."""
    interleave: int = 1
    """Chunks of layers on each stage of the pipeline."""
    micro_batches: int = 1
    micro_batch: int = 1
    """micro_batches, micro_batch: Micro-batches of an iteration, and sequences in each, of one
    data-parallel replica."""
    sequence_parallel: bool = False
    """Tensor parallelism by all-gather and reduce-scatter in place of all-reduce."""
    recompute: bool = False
    """Whether the backward pass repeats the forward pass."""
    bucket_bytes: int = 0
    """Most bytes of gradients reduced together; 0: those of a layer."""
    element_bytes: int = 2
    gradient_bytes: int = 2
    """element_bytes, gradient_bytes: Bytes of a parameter or activation, and of a gradient that is
    reduced."""
    gather_tensors: bool = False
    """Whether ZeRO-3 gathers tensor by tensor (DeepSpeed), not layer by layer."""
    prefetch: int = 1
    """Layers that ZeRO-3 gathers ahead of the one that computes."""

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return self.tp * self.cp * self.pp * self.dp

    def size_of(self, group: str) -> int:
        """Return the number of GPUs of a group of `GROUPS`."""
        sizes = {"dp": self.dp * self.cp, "edp": self.dp * self.cp // self.ep}
        return sizes[group] if group in sizes else int(getattr(self, group))

    def check(self, model: Model) -> None:
        """Raise NetcosimError where the layout does not fit itself or the model."""
        chunks = self.pp * self.interleave
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
        for what, total, parts in (
            ("heads", model.heads, self.tp),
            ("sequence", model.sequence, self.cp * (self.tp if self.sequence_parallel else 1)),
        ):
            if total % parts:
                raise NetcosimError(f"{what} = {total} cannot be split over {parts} GPUs")

    def chunks(self, model: Model) -> list[range]:
        """Return the units of each chunk of the pipeline; where they differ, its ends have fewer.

        Chunk c is on stage c mod pp. Unit 0 is the embedding, the last the head.
        """
        n = self.pp * self.interleave
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


def slots(layout: Layout, stage: int) -> list[Slot]:
    """Return the passes of a stage in the order of 1F1B, interleaved as Megatron does."""
    p, v, m = layout.pp, layout.interleave, layout.micro_batches
    total = m * v
    warm = min(total, p - stage - 1 if v == 1 else 2 * (p - stage - 1) + (v - 1) * p)

    def slot(k: int, forward: bool) -> Slot:
        if v == 1:
            return Slot(forward, k, 0)
        chunk = k % (p * v) // p
        return Slot(forward, k // (p * v) * p + k % p, chunk if forward else v - 1 - chunk)

    order = [slot(k, True) for k in range(warm)]
    for k in range(warm, total):
        order += [slot(k, True), slot(k - warm, False)]
    return order + [slot(k, False) for k in range(total - warm, total)]
