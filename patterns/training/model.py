"""Models by their sizes: parameters, and the work of a token."""

from __future__ import annotations

from dataclasses import dataclass, replace

from netsim.errors import NetcosimError, need_name


@dataclass(frozen=True)
class Unit:
    """Part of a model that is computed, gathered and reduced as one: a layer, or the rest."""

    tensors: tuple[int, ...]
    """Elements that one GPU has of each tensor, in the order of the forward pass."""
    experts: tuple[int, ...]
    """The same of the tensors of its experts."""
    work: float
    """Elements that a token is multiplied with, on one GPU."""
    kind: str
    """One of "embedding", "dense", "experts" or "head"."""
    expert_work: float = 0.0
    """What of ``work`` is that of its experts."""


@dataclass(frozen=True)
class Model:
    """A transformer."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    sequence: int
    vocabulary: int
    """layers, hidden, heads, kv_heads, ffn, sequence, vocabulary: ``sequence`` is the number of
    tokens of a sequence in training."""
    gated: bool = True
    """True, as Llama: three matrices in the feed-forward network, RMS norms, no biases, rotary
    positions, a head of its own. False, as GPT: two matrices, layer norms and biases, learned
    positions, the head shares the embedding, whose rows are padded to a multiple of 128 a GPU of
    the tensor-parallel group (as Megatron does)."""
    experts: int = 0
    top_k: int = 0
    shared_experts: int = 0
    dense_layers: int = 0
    expert_ffn: int = 0
    """experts, top_k, shared_experts, dense_layers, expert_ffn: Experts of a layer, those that a
    token uses, those that all tokens use, the first layers without experts, and the size of an
    expert (0: ffn)."""
    attention: int = 0
    """Elements of the matrices of attention; 0: from heads and kv_heads."""

    @property
    def kv_hidden(self) -> int:
        """Elements of the keys of a token, and as many of its values."""
        return self.hidden // self.heads * self.kv_heads

    def has_experts(self, layer: int) -> bool:
        """Return whether a layer has experts."""
        return self.experts > 0 and layer >= self.dense_layers

    def layer(self, number: int, tp: int = 1, ep: int = 1) -> Unit:
        """Return the part of a layer that is on one of ``tp`` GPUs, its experts on ``ep`` times."""
        h, kv = self.hidden, self.kv_hidden
        attention = [self.attention] if self.attention else [h * h, h * kv, h * kv, h * h]
        mlp = self.shared_experts if self.has_experts(number) else 1
        ffn = self.expert_ffn or self.ffn if self.has_experts(number) else self.ffn
        one = h * ffn
        if self.gated:
            tensors = [h, *(x // tp for x in attention), h, *[one // tp] * 3 * mlp]
        else:
            # biases of what is split by columns are split too; those of rows and of norms are not
            tensors = [h, h, sum(attention[:-1]) // tp, (h + 2 * kv) // tp, attention[-1] // tp, h]
            tensors += [h, h, *(one // tp, ffn // tp, one // tp, h) * mlp]
        matrices = 3 if self.gated else 2
        work = (sum(attention) + matrices * one * mlp) / tp
        if not self.has_experts(number):
            return Unit(tuple(tensors), (), work, "dense")
        router, of_experts = h * self.experts, matrices * one * self.top_k / tp
        work += router / tp + of_experts
        experts = (one // tp,) * (matrices * self.experts // ep)
        return Unit((*tensors, router), experts, work, "experts", of_experts)

    def embedding(self, tp: int = 1) -> Unit:
        """Return what precedes the first layer; looking up takes no time."""
        if self.gated:
            return Unit((self.vocabulary * self.hidden // tp,), (), 0.0, "embedding")
        rows = -(-self.vocabulary // (128 * tp)) * 128
        return Unit((rows * self.hidden, self.sequence * self.hidden), (), 0.0, "embedding")

    def head(self, tp: int = 1) -> Unit:
        """Return what follows the last layer."""
        work = self.vocabulary * self.hidden / tp
        if self.gated:
            return Unit((self.hidden, self.vocabulary * self.hidden // tp), (), work, "head")
        return Unit((self.hidden, self.hidden), (), work, "head")

    def units(self, tp: int = 1, ep: int = 1) -> list[Unit]:
        """Return all parts in the order of the forward pass."""
        layers = [self.layer(i, tp, ep) for i in range(self.layers)]
        return [self.embedding(tp), *layers, self.head(tp)]

    def parameters(self) -> int:
        """Return the number of parameters."""
        return sum(sum(u.tensors) + sum(u.experts) for u in self.units())

    def active_parameters(self) -> int:
        """Return the number of parameters that a token is multiplied with."""
        return round(sum(u.work for u in self.units()))


_CLASSES = 1000
_STAGES = ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7))
"""Blocks, width of their 3 x 3 convolutions, and rows of what they return (He et al. 2016)."""


@dataclass(frozen=True)
class Residual(Model):
    """A network of bottleneck blocks on images of 224 x 224; a token is an image.

    Each convolution is followed by a normalisation of two parameters a channel. The first 3 x 3
    convolution of a stage has the stride, as in PyTorch (v1.5). Only data parallelism applies.
    """

    def layer(self, number: int, tp: int = 1, ep: int = 1) -> Unit:
        """Return a block: 1 x 1, 3 x 3, 1 x 1, and 1 x 1 beside the first block of a stage."""
        first, before, above = 0, 64, 56
        for blocks, width, rows in _STAGES:
            if number < first + blocks:
                break
            first, before, above = first + blocks, 4 * width, rows
        if number > first:
            before, above = 4 * width, rows
        convolutions = [
            (before * width, width, above),
            (9 * width * width, width, rows),
            (4 * width * width, 4 * width, rows),
        ]
        if number == first:
            convolutions.append((before * 4 * width, 4 * width, rows))
        tensors = [n for size, channels, _ in convolutions for n in (size, channels, channels)]
        work = sum(size * at * at for size, _, at in convolutions)
        return Unit(tuple(tensors), (), float(work), "dense")

    def embedding(self, tp: int = 1) -> Unit:
        """Return the first convolution, 7 x 7 with stride 2."""
        return Unit((49 * 3 * 64, 64, 64), (), 49.0 * 3 * 64 * 112 * 112, "embedding")

    def head(self, tp: int = 1) -> Unit:
        """Return the classifier."""
        return Unit((2048 * _CLASSES, _CLASSES), (), 2048.0 * _CLASSES, "head")


# Sizes as published: GPT-3 (Brown et al. 2020, table 2.1), GPT-13B (AICB, Workload_spec_v1.1),
# Llama (Touvron et al. 2023, table 2), Llama 3 (Grattafiori et al. 2024, table 3), Mixtral (Jiang
# et al. 2024, table 1), DeepSeek-V3 (2024, section 4.2), BERT (Devlin et al. 2019, section 3),
# ResNet-50 (He et al. 2016, table 1).
_DEEPSEEK_ATTENTION = (
    7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 + 512 * 128 * 256 + 128 * 128 * 7168
)
"""Low-rank queries (1,536), keys and values (512 and 64 of positions), output of 128 heads."""

MODELS: dict[str, Model] = {
    "gpt3-175b": Model(96, 12288, 96, 96, 49152, 2048, 50257, gated=False),
    "gpt-13b": Model(40, 5120, 40, 40, 20480, 2048, 50257, gated=False),
    "llama-7b": Model(32, 4096, 32, 32, 11008, 2048, 32000),
    "llama-13b": Model(40, 5120, 40, 40, 13824, 2048, 32000),
    "llama-30b": Model(60, 6656, 52, 52, 17920, 2048, 32000),
    "llama-65b": Model(80, 8192, 64, 64, 22016, 2048, 32000),
    "llama3-8b": Model(32, 4096, 32, 8, 14336, 8192, 128256),
    "llama3-70b": Model(80, 8192, 64, 8, 28672, 8192, 128256),
    "llama3-405b": Model(126, 16384, 128, 8, 53248, 8192, 128256),
    "mixtral-8x7b": Model(32, 4096, 32, 8, 14336, 32768, 32000, experts=8, top_k=2),
    "deepseek-v3": Model(
        *(61, 7168, 128, 128, 18432, 4096, 129280, True, 256, 8, 1, 3, 2048),
        attention=_DEEPSEEK_ATTENTION,
    ),
    "bert-large": Model(24, 1024, 16, 16, 4096, 512, 30522, gated=False),
    "resnet-50": Residual(16, 0, 1, 1, 0, sequence=1, vocabulary=_CLASSES),
}


def model_of(name: str, sequence: int = 0) -> Model:
    """Return a model of `MODELS`, with sequences of another length if one is given."""
    need_name("model", name, MODELS)
    if sequence < 0:
        raise NetcosimError(f"sequence = {sequence}; it must be at least 1, or 0 for the model's")
    return replace(MODELS[name], sequence=sequence) if sequence else MODELS[name]
