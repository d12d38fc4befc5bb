"""Serving a language model: one pool of GPUs reads prompts, another one generates tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import build_program, join, make_messages, need_messages
from patterns.collectives.library import Collective
from patterns.entry import Pattern
from patterns.training.layout import PEAK_FLOPS
from patterns.training.model import MODELS, Model, model_of

SERVED = tuple(name for name, one in MODELS.items() if one.hidden and not one.attention)
"""Models whose keys and values are stored as they are; DeepSeek-V3 compresses them."""
ELEMENT_BYTES = 2


@dataclass(frozen=True)
class InferenceSettings:
    """Parameters of the pattern ``inference`` (docs/training.md)."""

    model: Annotated[str, "the model", OneOf(SERVED)] = "llama3-70b"
    tp: Annotated[int, "tensor parallelism of an instance", Ge(1)] = 8
    batch: Annotated[int, "requests that an instance serves together", Ge(1)] = 8
    prompt: Annotated[int, "tokens of a prompt", Ge(1)] = 2048
    output: Annotated[int, "tokens generated for a request", Ge(1)] = 128
    gpu: Annotated[str, "GPU, for its peak", OneOf(PEAK_FLOPS)] = "h100"
    mfu: Annotated[float, "share of the peak while it reads prompts", Gt(0), Le(1)] = 0.5
    memory_GBps: Annotated[
        float, "memory bandwidth of a GPU, at which tokens are generated", Gt(0)
    ] = 3350.0
    scale: Annotated[float, "bytes and computing are so many times as large", Gt(0)] = 1.0
    compute: Annotated[bool, "whether computing takes time"] = True

    @property
    def transformer(self) -> Model:
        """The model."""
        return model_of(self.model)

    @property
    def token_cache_bytes(self) -> int:
        """Keys and values of a token, in all layers."""
        return 2 * self.transformer.layers * self.transformer.kv_hidden * ELEMENT_BYTES

    @property
    def transfer_bytes(self) -> int:
        """What a GPU of the first pool hands over: its part of the prompts' keys and values."""
        return self.batch * self.prompt * self.token_cache_bytes // self.tp

    def reduced_bytes(self, tokens: int) -> int:
        """Return the bytes of all all-reduces: two a layer, each of a vector a token."""
        one = self.transformer
        return 2 * one.layers * tokens * one.hidden * ELEMENT_BYTES

    @property
    def prefill_s(self) -> float:
        """Computing of the prompts: two operations a parameter and token."""
        work = 2.0 * self.transformer.active_parameters() * self.batch * self.prompt
        return work / (self.tp * PEAK_FLOPS[self.gpu] * self.mfu)

    @property
    def decode_s(self) -> float:
        """Generating: each token of the output reads all parameters and the cache once."""
        cached = self.batch * (self.prompt + self.output / 2) * self.token_cache_bytes
        read = ELEMENT_BYTES * self.transformer.parameters() + cached
        return self.output * read / (self.tp * self.memory_GBps * 1e9)


def inference(
    n_ranks: int, message_bytes: int, iterations: int, settings: InferenceSettings
) -> Program:
    """Build the program of two pools, each of half of the ranks, a multiple of ``tp``.

    An iteration is a batch: instance i of the first pool reads the prompts, its GPUs send their
    parts of the keys and values to those of instance i of the second pool, which generates. The
    all-reduces of a phase are one of their total bytes, a ring of the instance. The model has the
    sizes, in place of ``message_bytes``.
    """
    tp, half = settings.tp, n_ranks // 2
    if n_ranks % (2 * tp):
        raise NetcosimError(
            f"pattern inference: {n_ranks} ranks; two pools of tp = {tp} need a multiple of "
            f"{2 * tp}"
        )
    ring = 2 * (tp - 1)
    need_messages(n_ranks * (ring + 1) * iterations, n_ranks * (ring + 2) * iterations, "inference")

    def scaled(n_bytes: int) -> int:
        return max(1, round(n_bytes * settings.scale))

    pools = np.arange(n_ranks, dtype=np.int64).reshape(2, -1, tp)
    tokens = settings.batch * np.array([settings.prompt, settings.output])
    all_reduce = Collective("all-reduce", "ring", tp, channels=1, chunks=1)
    parts = [
        all_reduce.messages(pool, scaled(settings.reduced_bytes(int(n))), first)[0]
        for pool, n, first in zip(pools, tokens, (0, 1), strict=True)
    ]
    giver = np.arange(half)
    parts.append(make_messages(giver, ring, giver + half, 0, scaled(settings.transfer_bytes)))
    # A GPU that generates waits for the cache in step 0 and computes before step 1.
    steps = np.repeat([ring + 1, ring + 2], half)
    seconds = np.zeros(int(steps.sum()))
    if settings.compute:
        begin = np.cumsum(steps) - steps
        seconds[begin[:half]] = settings.prefill_s * settings.scale
        seconds[begin[half:] + 1] = settings.decode_s * settings.scale
    return build_program(n_ranks, steps, join(parts), iterations, seconds)


PATTERN = Pattern(
    "inference",
    "a language model is served by two pools, for prompts and for tokens; its sizes, not M",
    inference,
    lambda settings: 2 * settings.tp,
    settings=InferenceSettings,
)
