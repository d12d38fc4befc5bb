"""Iterations of training in files: AICB's operations of a rank, SimAI's workloads, Chakra."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from netsim.errors import NetcosimError
from netsim.files import check_file, read_text
from netsim.limits import MAX_INDEX
from netsim.parameters import NamesFile, OneOf
from netsim.text_numbers import csv_cells, need_whole
from netsim.traffic import Program
from patterns.build import check_common
from patterns.entry import Pattern
from patterns.training.chakra import is_chakra
from patterns.training.chakra_steps import MEMORY_GBPS, chakra_graph, chakra_ranks, roofline_of
from patterns.training.graph import StepGraph
from patterns.training.layout import Layout
from patterns.training.operations import OVERLAPS, Operation, overlapped
from patterns.training.program import Communicator, program_of

_GPUS = ("none", *MEMORY_GBPS)
_KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast")
_AICB_GROUPS = {"tp": "tp", "dp": "dp", "ep": "ep", "ep_dp": "edp", "cp": "cp"}
_SIMAI_KINDS = {kind.replace("-", "").upper(): kind for kind in _KINDS}
_SIMAI_GROUPS = {"": "", "_EP": "ep", "_DP_EP": "edp"}
_SIMAI_CELLS = 12
_NS = 1e-9
MAX_OPERATIONS = 100_000
"""Of an iteration, computing among them: 128 layers with 12 collectives, 64 times. A program of so
many takes some ten seconds to build."""


@dataclass(frozen=True)
class Recorded:
    """Operations of each GPU, and the sizes of the groups that the file gives."""

    operations: tuple[Operation, ...]
    sizes: dict[str, int]

    def layout(self, gpus: int) -> Layout:
        """Return the layout on so many GPUs; more than a file of all groups has are idle."""
        tp, cp, ep = (self.sizes.get(group, 1) for group in ("tp", "cp", "ep"))
        dp = self.sizes.get("dp", cp * max(1, gpus // (tp * cp))) // cp
        return Layout(tp=tp, cp=cp, dp=dp, ep=ep)


def training_file(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    file: Annotated[
        str, "AICB's operations (CSV), a workload of SimAI, a rank's Chakra trace", NamesFile
    ],
    scale: Annotated[float, "bytes and computing are so many times as large", Gt(0)] = 1.0,
    compute: Annotated[bool, "whether computing takes time"] = True,
    overlap: Annotated[
        str, "data-parallel communication beside computing", OneOf(OVERLAPS)
    ] = "all",
    scale_up_GBps: Annotated[
        float, "bus bandwidth at which tensor parallelism takes time; 0: it sends messages", Ge(0)
    ] = 0.0,
    gpu: Annotated[
        str, "GPU for the roofline of Chakra's num_ops; none: recorded times", OneOf(_GPUS)
    ] = "none",
    peak_TFLOPS: Annotated[float, "peak of the roofline; 0: the gpu's", Ge(0)] = 0.0,
    memory_GBps: Annotated[float, "memory bandwidth of the roofline; 0: the gpu's", Ge(0)] = 0.0,
    dims: Annotated[
        Sequence[int], "ranks along each dimension, the first fastest, for involved_dim", Ge(1)
    ] = (),
) -> Program:
    """Build the program of a recorded iteration; ranks beyond the file's are idle.

    Parameters
    ----------
    n_ranks : int
        At least the GPUs of the file.
    message_bytes : int
        Not used: the file has the sizes.
    """
    check_common(n_ranks, message_bytes, iterations)
    if is_chakra(file):
        if scale_up_GBps:
            raise NetcosimError(
                f"{file}: scale_up_GBps = {scale_up_GBps:g}; a Chakra trace does not name its "
                "tensor parallelism"
            )
        graph = _graph(file, n_ranks, gpu, peak_TFLOPS, memory_GBps, dims, compute)
        return graph.program(n_ranks, iterations, scale=scale, compute=compute)
    recorded = read_recorded(file)
    layout = recorded.layout(n_ranks)
    if n_ranks < layout.gpus:
        raise NetcosimError(f"{file}: operations of {layout.gpus} GPUs, a job of {n_ranks}")
    if layout.dp % layout.ep:
        raise NetcosimError(f"{file}: ep = {layout.ep} does not divide dp = {layout.dp}")
    return program_of(
        [overlapped(recorded.operations, overlap)],
        layout,
        n_ranks,
        iterations,
        scale=scale,
        compute=compute,
        links=Communicator(as_time_Bps={"tp": scale_up_GBps * 1e9} if scale_up_GBps else {}),
    )


def _graph(
    file: str,
    n_ranks: int,
    gpu: str,
    peak_TFLOPS: float,
    memory_GBps: float,
    dims: Sequence[int],
    compute: bool,
) -> StepGraph:
    """Return the step of Chakra traces on so many ranks."""
    check_file(file)
    if n_ranks < (least := chakra_ranks(file, dims)):
        raise NetcosimError(f"{file}: traces of {least} ranks, a job of {n_ranks}")
    roofline = roofline_of(gpu, peak_TFLOPS, memory_GBps)
    return chakra_graph(file, n_ranks, roofline, dims, compute=compute)


def _ranks(file: str, dims: Sequence[int] = (), **others: object) -> int:
    if is_chakra(file):
        check_file(file)
        return chakra_ranks(file, dims)
    return read_recorded(file).layout(1).gpus


PATTERN = Pattern(
    "training-file",
    "an iteration of training (file) of AICB, SimAI or Chakra; its sizes, not M",
    training_file,
    _ranks,
)


def read_recorded(path: str | Path) -> Recorded:
    """Read the first iteration of AICB's operations of a rank, or of a workload of SimAI.

    All have one stage of a pipeline. Gradients are reduced beside computing, as soon as they are
    there; all other collectives are waited for.

    AICB: the operations between the first two ``epoch_end``, without barriers. It has no times.
    SimAI: a line a layer, its passes with computing in nanoseconds and a collective each. First
    all forward passes, then from the last layer to the first those for the input's and the
    weights' gradients. The collectives of the first two are tensor parallel, that of the third
    data parallel, and those that a name ends in ``_EP`` or ``_DP_EP`` of experts. ``grad_norm``
    gathers the parameters of the data-parallel group.
    Chakra has a graph in place of operations: `patterns.training.chakra_steps.chakra_graph`.
    """
    check_file(path)
    found = Path(path).stat()
    return _read(str(path), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read(path: str, mtime_ns: int, size: int) -> Recorded:
    lines = read_text(path).splitlines()
    head = next((i for i, line in enumerate(lines[:2]) if line.startswith("comm_type,")), None)
    if head is not None:
        return _from_aicb(lines, head, path)
    if lines and "model_parallel_NPU_group" in lines[0]:
        return _from_simai(lines, path)
    raise NetcosimError(
        f"{path}:1: neither AICB's operations (a head that begins with 'comm_type,') nor a "
        "workload of SimAI ('... model_parallel_NPU_group: 8 ...')"
    )


class _Operations:
    """Operations in order; those beside computing need the one before them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[Operation] = []
        self.last = -1

    def add(self, op: Operation) -> None:
        if len(self.found) == MAX_OPERATIONS:
            raise NetcosimError(
                f"{self.path}: over {MAX_OPERATIONS:,} operations in an iteration; no longer one "
                "is read"
            )
        if op.beside and self.last >= 0:
            op = Operation(op.kind, op.group, op.n_bytes, 0.0, op.phase, True, (self.last,))
        self.found.append(op)
        if not op.beside:
            self.last = len(self.found) - 1

    def complete(self) -> tuple[Operation, ...]:
        """Return them with a wait for those beside at the end."""
        beside = [i for i, op in enumerate(self.found) if op.beside]
        if beside:
            self.found.append(Operation("compute", phase="step", needs=(beside[-1],)))
        return tuple(self.found)


def _from_aicb(lines: Sequence[str], head: int, path: str) -> Recorded:
    operations, sizes, marks = _Operations(path), dict[str, int](), 0
    rows = csv_cells(path, lines[head:], head)
    _, columns = next(rows)
    if missing := {"comm_group", "msg_size", "stage", "comm_group_size"} - set(columns):
        raise NetcosimError(f"{path}:{head + 1}: the head lacks {', '.join(sorted(missing))}")
    for line, cells in rows:
        row = dict.fromkeys(columns, "") | dict(zip(columns, cells, strict=False))
        where = f"{path}:{line}"
        if len(cells) > len(columns):
            raise NetcosimError(f"{where}: {len(cells)} cells; the head has {len(columns)}")
        kind = row["comm_type"].removeprefix("CommType.").replace("_", "-")
        if kind == "epoch-end":
            marks += 1
            if marks == 2:
                break
            continue
        if marks == 0 or kind in ("", "barrier", "computation"):
            continue
        name = row["comm_group"].removeprefix("CommGroup.").removesuffix("_group")
        if kind not in _KINDS or name not in _AICB_GROUPS:
            raise NetcosimError(
                f"{where}: {kind} of group {name!r}; known are {', '.join(_KINDS)} of "
                f"{', '.join(_AICB_GROUPS)}, in a file of one stage of a pipeline"
            )
        group = _AICB_GROUPS[name]
        size = need_whole(where, "comm_group_size", row["comm_group_size"], 1, MAX_INDEX)
        if sizes.setdefault(group, size) != size:
            raise NetcosimError(f"{where}: {name} of {size} GPUs, before of {sizes[group]}")
        phase = row["stage"].split(".")[0].removesuffix("_step")
        beside = group in ("dp", "edp") and phase == "backward" and kind != "all-gather"
        n_bytes = need_whole(where, "msg_size", row["msg_size"])
        operations.add(Operation(kind, group, n_bytes, phase=phase, beside=beside))
    if marks < 2 or not operations.found:
        raise NetcosimError(f"{path}: no operations between two lines of epoch_end; cut off?")
    return Recorded(operations.complete(), sizes)


def _from_simai(lines: Sequence[str], path: str) -> Recorded:
    found = dict(re.findall(r"(\w+):\s*(\S*)", lines[0]))
    given = {
        key: need_whole(f"{path}:1", key, found[key], 1, MAX_INDEX)
        for key in ("model_parallel_NPU_group", "ep", "pp", "all_gpus")
        if key in found
    }
    if "model_parallel_NPU_group" not in given:
        raise NetcosimError(f"{path}:1: 'model_parallel_NPU_group: N' is needed")
    if given.get("pp", 1) > 1:
        raise NetcosimError(f"{path}:1: pp: {given['pp']}; only one stage of a pipeline is read")
    sizes = {"tp": given["model_parallel_NPU_group"], "ep": given.get("ep", 1)}
    if "all_gpus" in given:
        sizes["dp"], idle = divmod(given["all_gpus"], sizes["tp"])
        if idle:
            raise NetcosimError(
                f"{path}:1: all_gpus: {given['all_gpus']}; it must be a multiple of "
                f"model_parallel_NPU_group, {sizes['tp']}"
            )
    layers = [(number, line.split()) for number, line in enumerate(lines[2:], 3) if line.strip()]
    declared = need_whole(f"{path}:2", "number of layers", lines[1].strip() if lines[1:] else "")
    if declared != len(layers):
        raise NetcosimError(
            f"{path}:2: number of layers = {declared:,}; {len(layers):,} lines of layers follow"
        )
    operations = _Operations(path)
    for number, cells in layers:
        if len(cells) != _SIMAI_CELLS:
            raise NetcosimError(f"{path}:{number}: {len(cells)} columns; {_SIMAI_CELLS} are needed")
        gathers = "dp" if cells[0] == "grad_norm" else "tp"
        for op in _pass(cells[2:5], gathers, "forward", f"{path}:{number}"):
            operations.add(op)
    for number, cells in reversed(layers):
        for begin, group in ((5, "tp"), (8, "dp")):
            for op in _pass(cells[begin : begin + 3], group, "backward", f"{path}:{number}"):
                operations.add(op)
    return Recorded(operations.complete(), sizes)


def _pass(cells: Sequence[str], group: str, phase: str, where: str) -> Iterator[Operation]:
    """Return the computing and the collective of a pass of a layer."""
    computing_ns = need_whole(where, "computing time", cells[0])
    yield Operation("compute", seconds=computing_ns * _NS, phase=phase)
    kind, _, end = cells[1].partition("_")
    if kind == "NONE":
        return
    own = _SIMAI_GROUPS.get(f"_{end}" if end else "")
    if kind not in _SIMAI_KINDS or own is None:
        known = ", ".join(_SIMAI_KINDS)
        raise NetcosimError(f"{where}: {cells[1]}; known are NONE and {known}, with _EP or _DP_EP")
    n_bytes = need_whole(where, "bytes", cells[2])
    beside = group == "dp" and phase == "backward"
    if n_bytes:
        yield Operation(_SIMAI_KINDS[kind], own or group, n_bytes, phase=phase, beside=beside)
