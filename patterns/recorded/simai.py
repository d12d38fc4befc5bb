"""Workloads of SimAI: a line a layer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.text_numbers import need_whole
from patterns.recorded.stages import OperationList, Passes, Recorded
from patterns.training.operations import Operation

_KINDS = {
    kind.replace("-", "").upper(): kind
    for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast")
}
_GROUPS = {"": "", "_EP": "ep", "_DP_EP": "edp"}
_CELLS = 12
_NS = 1e-9
_MICRO = "MICRO"
Layer = tuple[int, list[str]]
"""Number of a line, and its cells."""


def is_simai(lines: Sequence[str]) -> bool:
    """Return whether a text is a workload of SimAI."""
    return bool(lines) and ("model_parallel_NPU_group" in lines[0] or lines[0].strip() == _MICRO)


def read_simai(lines: Sequence[str], path: str) -> Recorded:
    """Return the operations of a workload; see `patterns.recorded.pattern.read_recorded`."""
    micro = lines[0].strip() == _MICRO
    given = {} if micro else _header(lines[0], path)
    layers = _layers(lines, path)
    if micro:
        operations = OperationList(path)
        for number, cells in layers:
            for begin in (2, 5, 8):
                where = f"{path}:{number}"
                operations.add(*_pass(cells[begin : begin + 3], "dp", "forward", where))
        return Recorded((operations.complete(),), {})
    pp = given.get("pp", 1)
    sizes = {"tp": given["model_parallel_NPU_group"], "ep": given.get("ep", 1)}
    if "all_gpus" in given:
        sizes["dp"], idle = divmod(given["all_gpus"], sizes["tp"] * pp)
        if idle:
            raise NetcosimError(
                f"{path}:1: all_gpus: {given['all_gpus']}; it must be a multiple of "
                f"model_parallel_NPU_group * pp = {sizes['tp'] * pp}"
            )
    if pp > 1:
        return Recorded(_pipeline(given, layers, path).stages(pp, path), sizes)
    operations = OperationList(path)
    for layer in layers:
        operations.add(*_forward(layer, path))
    for layer in reversed(layers):
        operations.add(*_backward(layer, path))
    return Recorded((operations.complete(),), sizes)


def _header(line: str, path: str) -> dict[str, int]:
    # SimAI reads pp_comm with and without a colon
    found = dict(re.findall(r"(\w+)(?::\s*|(?<=pp_comm)\s+)(\S*)", line))
    least = {"checkpoints": 0, "pp_comm": 0}
    keys = ("model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", *least)
    given = {
        # with sequence parallelism AICB writes pp_comm: 25165824.0
        key: need_whole(
            f"{path}:1", key, found[key].removesuffix(".0"), least.get(key, 1), MAX_INDEX
        )
        for key in keys
        if key in found
    }
    if "model_parallel_NPU_group" not in given:
        raise NetcosimError(f"{path}:1: 'model_parallel_NPU_group: N' is needed")
    if given.get("checkpoints"):
        raise NetcosimError(
            f"{path}:1: checkpoints: {given['checkpoints']}; layers that are computed again are "
            "not read, only checkpoints: 0"
        )
    if given.get("pp", 1) > 1:
        for key in ("ga", "pp_comm"):
            if not given.get(key):
                raise NetcosimError(f"{path}:1: pp: {given['pp']} needs {key}")
    return given


def _layers(lines: Sequence[str], path: str) -> list[Layer]:
    layers = [(number, line.split()) for number, line in enumerate(lines[2:], 3) if line.strip()]
    declared = need_whole(f"{path}:2", "number of layers", lines[1].strip() if lines[1:] else "")
    if declared != len(layers):
        raise NetcosimError(
            f"{path}:2: number of layers = {declared:,}; {len(layers):,} lines of layers follow"
        )
    for number, cells in layers:
        if len(cells) != _CELLS:
            raise NetcosimError(f"{path}:{number}: {len(cells)} columns; {_CELLS} are needed")
    return layers


def _pipeline(given: dict[str, int], layers: list[Layer], path: str) -> Passes:
    """Return the passes of a stage: ``ga`` micro-batches, each in ``vpp`` chunks.

    A micro-batch begins with the embedding, a chunk with attention. What is before the first
    micro-batch (gradients, norms) has its backward pass after all, and what is after the last one
    (loss, optimizer) its forward pass after it.
    """
    ga, vpp = given["ga"], given.get("vpp", 1)
    names = [cells[0] for _, cells in layers]
    begins = [i for i, name in enumerate(names) if name.startswith("embedding_layer")]
    if len(begins) != ga:
        raise NetcosimError(
            f"{path}:1: ga: {ga} micro-batches; {len(begins)} layers embedding_layer begin one"
        )
    end = len(names)
    while names[end - 1].startswith(("cross_entropy", "optimizer")):
        end -= 1
    forward, backward = [], []
    for begin, stop in zip(begins, [*begins[1:], end], strict=True):
        cuts = [
            i
            for i in range(begin, stop)
            if names[i].startswith("attention") and not names[i - 1].startswith("attention")
        ]
        if len(cuts) < vpp:
            raise NetcosimError(
                f"{path}:{layers[begin][0]}: vpp: {vpp} chunks of a micro-batch with {len(cuts)} "
                "layers of attention"
            )
        first = [begin, *(cuts[k * len(cuts) // vpp] for k in range(1, vpp)), stop]
        chunks = [layers[a:b] for a, b in pairwise(first)]
        forward.append([[op for one in part for op in _forward(one, path)] for part in chunks])
        backward.append(
            [[op for one in reversed(part) for op in _backward(one, path)] for part in chunks]
        )
    before, after = layers[: begins[0]], layers[end:]
    forward[-1][-1] += [op for one in after for op in _forward(one, path)]
    backward[-1][-1][:0] = [op for one in reversed(after) for op in _backward(one, path)]
    return Passes(
        forward,
        backward,
        given["pp_comm"],
        [op for one in before for op in _forward(one, path)],
        [op for one in reversed(before) for op in _backward(one, path)],
    )


def _forward(layer: Layer, path: str) -> Iterator[Operation]:
    number, cells = layer
    gathers = "dp" if cells[0] == "grad_norm" else "tp"
    yield from _pass(cells[2:5], gathers, "forward", f"{path}:{number}")


def _backward(layer: Layer, path: str) -> Iterator[Operation]:
    number, cells = layer
    for begin, group in ((5, "tp"), (8, "dp")):
        yield from _pass(cells[begin : begin + 3], group, "backward", f"{path}:{number}")


def _pass(cells: Sequence[str], group: str, phase: str, where: str) -> Iterator[Operation]:
    """Return the computing and the collective of a pass of a layer."""
    computing_ns = need_whole(where, "computing time", cells[0])
    yield Operation("compute", seconds=computing_ns * _NS, phase=phase)
    kind, _, end = cells[1].partition("_")
    if kind == "NONE":
        return
    own = _GROUPS.get(f"_{end}" if end else "")
    if kind not in _KINDS or own is None:
        known = ", ".join(_KINDS)
        raise NetcosimError(f"{where}: {cells[1]}; known are NONE and {known}, with _EP or _DP_EP")
    n_bytes = need_whole(where, "bytes", cells[2])
    beside = group == "dp" and phase == "backward"
    if n_bytes:
        yield Operation(_KINDS[kind], own or group, n_bytes, phase=phase, beside=beside)
