"""Iterations of training in files: AICB's operations of a rank, SimAI's workloads, Chakra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from netsim.errors import NetcosimError
from netsim.files import check_file, read_text
from netsim.parameters import NamesFile, OneOf
from netsim.rank_files import ranks_of
from netsim.traffic import Program
from patterns.build import check_common
from patterns.entry import Pattern
from patterns.training.aicb import heads_of, read_aicb
from patterns.training.chakra import is_chakra
from patterns.training.chakra_steps import MEMORY_GBPS, chakra_graph, chakra_ranks, roofline_of
from patterns.training.graph import StepGraph
from patterns.training.layout import GROUPS, Layout
from patterns.training.operations import OVERLAPS, overlapped
from patterns.training.program import Communicator, program_of
from patterns.training.simai import is_simai, read_simai
from patterns.training.stages import Recorded
from patterns.training.times import bytes_sent, computing_s, timeline

_GPUS = ("none", *MEMORY_GBPS)

_GPUS = ("none", *MEMORY_GBPS)


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
    recorded, layout = _layout(file, n_ranks)
    return program_of(
        [overlapped(operations, overlap) for operations in recorded.stages],
        layout,
        n_ranks,
        iterations,
        scale=scale,
        compute=compute,
        links=Communicator(as_time_Bps={"tp": scale_up_GBps * 1e9} if scale_up_GBps else {}),
    )


def _layout(file: str, n_ranks: int) -> tuple[Recorded, Layout]:
    """Return the operations of a file and their layout on so many ranks."""
    recorded = read_recorded(file)
    layout = recorded.layout(n_ranks)
    if n_ranks < layout.gpus:
        raise NetcosimError(f"{file}: operations of {layout.gpus} GPUs, a job of {n_ranks}")
    if layout.dp % layout.ep:
        raise NetcosimError(f"{file}: ep = {layout.ep} does not divide dp = {layout.dp}")
    return recorded, layout


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


def _used(n_ranks: int, file: str, dims: Sequence[int] = (), **others: object) -> int:
    if n_ranks < _ranks(file, dims):
        return 0
    if is_chakra(file):
        return chakra_ranks(file, dims) if dims or len(ranks_of(file)) > 1 else n_ranks
    layout = read_recorded(file).layout(n_ranks)
    return layout.gpus if layout.gpus <= n_ranks and layout.dp % layout.ep == 0 else 0


def summary(
    n_ranks: int,
    bandwidth_Bps: float,
    file: str,
    scale: float = 1.0,
    compute: bool = True,
    overlap: str = "all",
    scale_up_GBps: float = 0.0,
    gpu: str = "none",
    peak_TFLOPS: float = 0.0,
    memory_GBps: float = 0.0,
    dims: Sequence[int] = (),
) -> list[str]:
    """Return the time of an isolated step and bytes and exposed time by group, in lines.

    The parameters are those of `training_file`.

    Parameters
    ----------
    bandwidth_Bps : float
        Bus bandwidth of a GPU; of tensor parallelism only if ``scale_up_GBps`` is 0.
    """
    if is_chakra(file):
        graph = _graph(file, n_ranks, gpu, peak_TFLOPS, memory_GBps, dims, compute)
        schedule = graph.schedule(bandwidth_Bps)
        waits, computing = graph.exposed_s(schedule), max(graph.computing_s())
        sent = [
            (*key, max(each.values()), bandwidth_Bps) for key, each in graph.bytes_sent().items()
        ]
        gpus, seconds = graph.gpus, schedule.seconds
    else:
        recorded, layout = _layout(file, n_ranks)
        stages = [overlapped(operations, overlap) for operations in recorded.stages]
        if not compute:
            stages = [[replace(op, seconds=0.0) for op in one] for one in stages]
        speeds = dict.fromkeys(GROUPS, bandwidth_Bps)
        if scale_up_GBps:
            speeds["tp"] = scale_up_GBps * 1e9
        found = timeline(stages, layout, speeds)
        waits, seconds, gpus = found.mean_exposed_s(), found.seconds, layout.gpus
        computing = max(computing_s(operations) for operations in stages)
        bytes_by_stage = [bytes_sent(operations, layout) for operations in stages]
        sent = [
            (group, layout.size_of(group), max(one[group] for one in bytes_by_stage), speed)
            for group, speed in speeds.items()
        ]
    without = "" if computing or not compute else "; the file has no times of computing"
    lines = [
        f"an isolated step of {Path(file).name} on {gpus:,} GPUs takes {seconds * scale:.4g} s",
        f"  computing {computing * scale:.4g} s on the busiest GPU{without}",
    ]
    if n_ranks > gpus:
        lines.append(f"  {n_ranks - gpus:,} of {n_ranks:,} ranks are idle")
    width = max(len("communication"), *(len(group) for group, *_ in sent)) if sent else 0
    lines.append(f"  {'communication':{width}}  GPUs  bytes a GPU sends  bus bandwidth  exposed")
    for group, size, most, speed in sent:
        if most and size > 1:
            waited = f"{waits.get(group, 0.0) * scale:.3g} s" if group != "edp" else "counted as dp"
            lines.append(
                f"  {group:{width}}  {size:4}  {most * scale / 1e9:14.4g} GB  "
                f"{speed / 1e9:8.4g} GB/s  {waited}"
            )
    return lines


PATTERN = Pattern(
    "training-file",
    "an iteration of training (file) of AICB, SimAI or Chakra; its sizes, not M",
    training_file,
    _ranks,
    _used,
    summary=summary,
)


def read_recorded(path: str | Path) -> Recorded:
    """Read the first iteration of AICB's operations, or of a workload of SimAI.

    Gradients are reduced beside computing, as soon as they are there; all other collectives are
    waited for.

    AICB: the operations between the first two ``epoch_end``, without barriers. It has no times. A
    file has the operations of a rank of each stage of the pipeline, each under a head, or those of
    one stage, which the others repeat in the order of 1F1B.
    SimAI: a line a layer, its passes with computing in nanoseconds and a collective each. First
    all forward passes, then from the last layer to the first those for the input's and the
    weights' gradients. The collectives of the first two are tensor parallel, that of the third
    data parallel, and those that a name ends in ``_EP`` or ``_DP_EP`` of experts. ``grad_norm``
    gathers the parameters of the data-parallel group. With ``pp`` above 1 every stage has the
    layers of the file, ``ga`` micro-batches in ``vpp`` chunks each, and sends ``pp_comm`` bytes.
    Chakra has a graph in place of operations: `patterns.training.chakra_steps.chakra_graph`.
    """
    check_file(path)
    found = Path(path).stat()
    return _read(str(path), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read(path: str, mtime_ns: int, size: int) -> Recorded:
    lines = read_text(path).splitlines()
    if heads := heads_of(lines):
        return read_aicb(lines, heads, path)
    if is_simai(lines):
        return read_simai(lines, path)
    raise NetcosimError(
        f"{path}:1: neither AICB's operations (a head that begins with 'comm_type,') nor a "
        "workload of SimAI ('... model_parallel_NPU_group: 8 ...')"
    )
