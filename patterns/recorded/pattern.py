"""Iterations of training in files: AICB's operations of a rank, SimAI's workloads, Chakra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from netsim.errors import NetcosimError
from netsim.files import check_file, read_text
from netsim.parameters import NamesFile, OneOf
from netsim.traffic import Program
from patterns.entry import Pattern
from patterns.recorded.aicb import heads_of, read_aicb
from patterns.recorded.chakra import is_chakra
from patterns.recorded.chakra_steps import (
    MEMORY_GBPS,
    chakra_graph,
    chakra_ranks,
    roofline_of,
)
from patterns.recorded.graph import StepGraph
from patterns.recorded.simai import is_simai, read_simai
from patterns.recorded.stages import Recorded
from patterns.training.layout import GROUPS, Layout
from patterns.training.operations import OVERLAPS, Operation, overlapped
from patterns.training.program import Communicator, program_of
from patterns.training.times import bytes_sent, communication_lines, computing_s, timeline


@dataclass(frozen=True)
class FileSettings:
    """Parameters of the pattern ``training-file`` (docs/training.md)."""

    file: Annotated[
        str, "AICB's operations (CSV), a workload of SimAI, a rank's Chakra trace", NamesFile
    ]
    scale: Annotated[float, "bytes and computing are so many times as large", Gt(0)] = 1.0
    compute: Annotated[bool, "whether computing takes time"] = True
    overlap: Annotated[
        str, "data-parallel communication of AICB and SimAI beside computing", OneOf(OVERLAPS)
    ] = "all"
    scale_up_GBps: Annotated[
        float, "bus bandwidth at which tensor parallelism takes time; 0: it sends messages", Ge(0)
    ] = 0.0
    gpu: Annotated[
        str,
        "GPU for the roofline of Chakra's num_ops; none: recorded times",
        OneOf(("none", *MEMORY_GBPS)),
    ] = "none"
    peak_TFLOPS: Annotated[float, "peak of the roofline; 0: the gpu's", Ge(0)] = 0.0
    memory_GBps: Annotated[float, "memory bandwidth of the roofline; 0: the gpu's", Ge(0)] = 0.0
    dims: Annotated[
        Sequence[int], "ranks along each dimension, the first fastest, for involved_dim", Ge(1)
    ] = ()

    @property
    def is_graph(self) -> bool:
        """Whether the file is a Chakra trace."""
        check_file(self.file)
        return is_chakra(self.file)

    @property
    def least_ranks(self) -> int:
        """The fewest ranks that can have it."""
        if self.is_graph:
            return chakra_ranks(self.file, self.dims) or 1
        return read_recorded(self.file).layout(1).gpus

    def used_ranks(self, n_ranks: int) -> int:
        """Return how many of a job's ranks take part; 0 if it cannot be on so many."""
        if n_ranks < self.least_ranks:
            return 0
        if self.is_graph:
            return chakra_ranks(self.file, self.dims) or n_ranks
        layout = read_recorded(self.file).layout(n_ranks)
        return layout.gpus if layout.gpus <= n_ranks and layout.dp % layout.ep == 0 else 0

    def graph(self, n_ranks: int) -> StepGraph:
        """Return the step of a Chakra trace."""
        if self.scale_up_GBps:
            raise NetcosimError(
                f"{self.file}: scale_up_GBps = {self.scale_up_GBps:g}; a Chakra trace does not "
                "name its tensor parallelism"
            )
        roofline = roofline_of(self.gpu, self.peak_TFLOPS, self.memory_GBps)
        return chakra_graph(self.file, n_ranks, roofline, self.dims, compute=self.compute)

    def stages(self, n_ranks: int) -> tuple[list[list[Operation]], Layout]:
        """Return the operations of each stage of another file, and their layout."""
        recorded = read_recorded(self.file)
        layout = recorded.layout(n_ranks)
        if layout.dp % layout.ep:
            raise NetcosimError(f"{self.file}: ep = {layout.ep} does not divide dp = {layout.dp}")
        return [overlapped(operations, self.overlap) for operations in recorded.stages], layout


def training_file(
    n_ranks: int, message_bytes: int, iterations: int, settings: FileSettings
) -> Program:
    """Build the program of a recorded iteration, with its sizes; further ranks are idle."""
    scale, compute = settings.scale, settings.compute
    if settings.is_graph:
        graph = settings.graph(n_ranks)
        return graph.program(n_ranks, iterations, scale=scale, compute=compute)
    stages, layout = settings.stages(n_ranks)
    as_time = {"tp": settings.scale_up_GBps * 1e9} if settings.scale_up_GBps else {}
    links = Communicator(as_time_Bps=as_time)
    return program_of(
        stages, layout, n_ranks, iterations, scale=scale, compute=compute, links=links
    )


def summary(n_ranks: int, bandwidth_Bps: float, settings: FileSettings) -> list[str]:
    """Return the time of an isolated step and bytes and exposed time by group, in lines.

    The bandwidth is a GPU's bus bandwidth; of tensor parallelism only if ``scale_up_GBps`` is 0.
    """
    scale = settings.scale
    if settings.is_graph:
        graph = settings.graph(n_ranks)
        schedule = graph.schedule(bandwidth_Bps)
        waits, computing = graph.exposed_s(schedule), max(graph.computing_s())
        sent = [(*key, most, bandwidth_Bps) for key, most in graph.bytes_sent().items()]
        gpus, seconds = graph.gpus, schedule.seconds
    else:
        stages, layout = settings.stages(n_ranks)
        if not settings.compute:
            stages = [[replace(op, seconds=0.0) for op in one] for one in stages]
        speeds = dict.fromkeys(GROUPS, bandwidth_Bps)
        if settings.scale_up_GBps:
            speeds["tp"] = settings.scale_up_GBps * 1e9
        found = timeline(stages, layout, speeds)
        waits, seconds, gpus = found.mean_exposed_s(), found.seconds, layout.gpus
        computing = max(map(computing_s, stages))
        by_stage = [bytes_sent(operations, layout) for operations in stages]
        sent = [
            (group, layout.size_of(group), max(one[group] for one in by_stage), speed)
            for group, speed in speeds.items()
        ]
    without = "" if computing or not settings.compute else "; the file has no times of computing"
    lines = [
        f"an isolated step of {Path(settings.file).name} on {gpus:,} GPUs takes "
        f"{seconds * scale:.4g} s",
        f"  computing {computing * scale:.4g} s on the busiest GPU{without}",
    ]
    if n_ranks > gpus:
        lines.append(f"  {n_ranks - gpus:,} of {n_ranks:,} ranks are idle")
    return [*lines, *communication_lines("communication", sent, waits, scale)]


PATTERN = Pattern(
    "training-file",
    "an iteration of training (file) of AICB, SimAI or Chakra; its sizes, not M",
    training_file,
    lambda settings: settings.least_ranks,
    lambda n_ranks, settings: settings.used_ranks(n_ranks),
    settings=FileSettings,
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
    Chakra has a graph in place of operations: `patterns.recorded.chakra_steps.chakra_graph`.
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
