"""From the Chakra traces of all ranks to the graph of a step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.errors import NetcosimError
from netsim.files import check_file, read_text
from netsim.inputs import companions, ranks_of
from netsim.limits import need_memory
from patterns.recorded.chakra import ChakraNode, ChakraTrace, read_trace
from patterns.recorded.graph import Node, StepGraph
from patterns.training.layout import PEAK_FLOPS

MEMORY_GBPS: dict[str, float] = {
    "a100": 2039.0,
    "h100": 3350.0,
    "gh200": 4000.0,
    "h800": 3350.0,
    "b200": 8000.0,
}
"""Memory bandwidth of `PEAK_FLOPS`'s GPUs, from NVIDIA's data sheets."""


NODE_BYTES = 2000
"""Of each node of a rank, from its trace to its steps."""


@dataclass(frozen=True)
class Roofline:
    """What a GPU computes in a second: at most its peak, and what its memory feeds."""

    flops: float
    memory_Bps: float

    def seconds(self, operations: float, n_bytes: float) -> float:
        """Return the time of a node; 0 if it touches no bytes, as ASTRA-sim counts."""
        if not n_bytes:
            return 0.0
        return max(operations / self.flops, n_bytes / self.memory_Bps)


def roofline_of(gpu: str, peak_TFLOPS: float, memory_GBps: float) -> Roofline | None:
    """Return the roofline of a GPU, with own numbers where they are above 0; None without any."""
    flops = peak_TFLOPS * 1e12 or PEAK_FLOPS.get(gpu, 0.0)
    memory = (memory_GBps or MEMORY_GBPS.get(gpu, 0.0)) * 1e9
    if not flops and not memory:
        return None
    if not flops or not memory:
        missing = "memory_GBps" if flops else "peak_TFLOPS"
        raise NetcosimError(f"pattern training-file: a roofline needs {missing}, too, or a gpu")
    return Roofline(flops, memory)


def chakra_ranks(path: str, dims: Sequence[int]) -> int:
    """Return the ranks of a trace; of a file alone those of the dimensions, 0 for any number."""
    n = len(ranks_of(path))
    return n if n > 1 else int(np.prod(dims)) if len(dims) else 0


def chakra_graph(
    path: str,
    n_ranks: int,
    roofline: Roofline | None = None,
    dims: Sequence[int] = (),
    *,
    compute: bool = True,
) -> StepGraph:
    """Return the step of all ranks, from the file of one, ``PREFIX.0.et``.

    The ranks are those of the files that differ in the number; a file alone is the trace of each of
    ``n_ranks`` ranks. Computing with ``num_ops`` takes the time of a roofline, or without one the
    recorded time; none without ``compute``. ``dims`` are GPUs along each dimension of the network,
    for ``involved_dim``; the first one is fastest.
    """
    traces = _traces(path)
    n = chakra_ranks(path, dims) or n_ranks
    if dims and int(np.prod(dims)) != n:
        product = " x ".join(map(str, dims))
        raise NetcosimError(f"{path}: dims = {product}; the trace has {n} ranks")
    groups: dict[str, tuple[int, ...]] = {}
    for trace in traces:
        groups |= {name: ranks or tuple(range(n)) for name, ranks in trace.groups.items()}
    groups |= _members(path)
    converter = _Converter(n, groups, tuple(dims), len(traces) == 1, roofline)
    n_nodes = sum(len(trace.nodes) for trace in traces) * n // len(traces)
    need_memory(f"{path}: {n_nodes:,} nodes of {n:,} ranks", n_nodes * NODE_BYTES)
    paths = tuple(trace.path for trace in traces)
    if len(traces) == 1 and not any(node.involved for node in traces[0].nodes):
        return StepGraph((converter.nodes(traces[0], 0, compute=compute),) * n, paths)
    found = (
        converter.nodes(traces[rank % len(traces)], rank, compute=compute) for rank in range(n)
    )
    return StepGraph(tuple(found), paths)


def _traces(path: str) -> list[ChakraTrace]:
    stamps = []
    for one in ranks_of(path):
        check_file(one)
        found = one.stat()
        stamps.append((str(one), found.st_mtime_ns, found.st_size))
    return _read(tuple(stamps))


@lru_cache(maxsize=4)
def _read(stamps: tuple[tuple[str, int, int], ...]) -> list[ChakraTrace]:
    return [read_trace(path) for path, _, _ in stamps]


def _members(path: str) -> dict[str, tuple[int, ...]]:
    """Return the groups in the file that is beside a trace; none if there is no such file."""
    ranks = set(ranks_of(path))
    found = [one for one in companions(path) if one not in ranks]
    if not found:
        return {}
    where = found[0]
    try:
        listed = json.loads(read_text(where))
        return {str(name): tuple(map(_rank, ranks)) for name, ranks in listed.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise NetcosimError(
            f'{where}: not the members of process groups; {{"1": [0, 1], "2": [2, 3]}} is expected'
        ) from None


def _rank(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


@dataclass
class _Converter:
    """From the nodes of a trace to those of a graph."""

    n_ranks: int
    groups: Mapping[str, tuple[int, ...]]
    dims: tuple[int, ...]
    alone: bool
    """Whether one trace is that of all ranks."""
    roofline: Roofline | None

    def nodes(self, trace: ChakraTrace, rank: int, *, compute: bool) -> tuple[Node, ...]:
        """Return the nodes of a rank."""
        at = {node.number: i for i, node in enumerate(trace.nodes)}
        timed = any(node.seconds for node in trace.nodes)
        found = []
        for node in trace.nodes:
            place = f"{trace.path}: node {node.number}"
            members = self._members(node, rank, place)
            seconds = self._seconds(node, place, timed) if compute else 0.0
            n_bytes = node.n_bytes
            if node.kind == "all-gather":
                n_bytes *= len(members)
            if node.kind in ("send", "receive"):
                self._check_peer(node, rank, place)
            kind = "none" if node.kind in _WITH_OTHERS and len(members) == 1 else node.kind
            found.append(
                Node(
                    kind,
                    tuple(at[other] for other in node.needs),
                    n_bytes,
                    seconds,
                    members if kind != "none" else (),
                    node.peer,
                    node.tag,
                    node.number,
                )
            )
        return tuple(found)

    def _seconds(self, node: ChakraNode, place: str, timed: bool) -> float:
        if node.kind != "compute":
            return 0.0
        if self.roofline is not None and node.operations is not None:
            return self.roofline.seconds(node.operations, node.touched_bytes)
        if node.seconds == 0 and (node.operations or not timed):
            have = "num_ops and no duration" if node.operations else "no duration and no num_ops"
            raise NetcosimError(
                f"{place}: computing with {have}; set gpu (or peak_TFLOPS and memory_GBps) for a "
                "roofline, or compute = false"
            )
        return node.seconds

    def _members(self, node: ChakraNode, rank: int, place: str) -> tuple[int, ...]:
        if node.kind not in _WITH_OTHERS:
            return ()
        everyone = tuple(range(self.n_ranks))
        if node.involved and not node.group:  # a group's members are all that take part
            return self._along(node.involved, rank, place)
        if not node.group:
            return everyone
        members = self.groups.get(node.group)
        if members is None and self.alone and not self.groups:
            return everyone
        if members is None:
            raise NetcosimError(
                f"{place}: process group {node.group!r}; its members are not in a trace. Write "
                f'them to PREFIX.json or comm_group.json beside it: {{"{node.group}": [0, 1]}}'
            )
        inside = members and min(members) >= 0 and max(members) < self.n_ranks
        if not inside or len(set(members)) < len(members):
            raise NetcosimError(
                f"{place}: process group {node.group!r} of ranks {list(members)[:8]}; the trace "
                f"has {self.n_ranks}, each once"
            )
        if rank not in members:
            alone = ", and it is the trace of all ranks" if self.alone else ""
            raise NetcosimError(
                f"{place}: process group {node.group!r} is without rank {rank}{alone}"
            )
        return members

    def _along(self, involved: tuple[bool, ...], rank: int, place: str) -> tuple[int, ...]:
        """Return the ranks with the same coordinates in the dimensions that do not take part."""
        if len(involved) < len(self.dims) or not self.dims:
            shown = ", ".join(str(one).lower() for one in involved)
            raise NetcosimError(
                f"{place}: involved_dim = [{shown}]; set parameters.dims, the ranks along each "
                "dimension of the network, the first one fastest"
            )
        grid = np.arange(self.n_ranks).reshape(self.dims[::-1])
        own = np.argwhere(grid == rank)[0]
        across = [
            slice(None) if part else int(at)
            for part, at in zip(involved[: len(self.dims)][::-1], own, strict=True)
        ]
        return tuple(grid[tuple(across)].reshape(-1).tolist())

    def _check_peer(self, node: ChakraNode, rank: int, place: str) -> None:
        if self.alone:
            raise NetcosimError(
                f"{place}: a {node.kind}, in the trace of one rank; the files of all ranks are "
                "needed beside it (PREFIX.0.et, PREFIX.1.et, ...)"
            )
        if node.peer >= self.n_ranks or node.peer == rank:
            raise NetcosimError(
                f"{place}: a {node.kind} of rank {rank} with rank {node.peer}; the trace has ranks "
                f"0 to {self.n_ranks - 1}"
            )


_WITH_OTHERS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast")
