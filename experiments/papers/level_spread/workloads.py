"""The Level-Spread paper's workloads (Table II, V-C and VI-D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from experiments.points import point_rng
from netsim.errors import NetcosimError

PATTERNS = ("all-to-all", "broadcast", "fft3d", "halo2d", "halo3d", "halo3d26")
UTILISATION_PERCENT = 90
GROUP_NODES = 16
KB = 1000
BROADCAST_ELEMENT_BYTES = 8
"""The paper's broadcast counted elements: its "1 KB" were 8000 bytes."""


@dataclass(frozen=True)
class JobType:
    """Equal jobs of a workload.

    Attributes
    ----------
    n_jobs, n_nodes : int
        How many, and nodes of each.
    pattern : str
    message_bytes : int
        What the pattern calls M.
    """

    n_jobs: int
    n_nodes: int
    pattern: str
    message_bytes: int

    @property
    def kind(self) -> str:
        """Jobs that fit into a group are "small", others "large"."""
        return "small" if self.n_nodes <= GROUP_NODES else "large"

    def config(self, broadcast: str = "binary") -> dict[str, object]:
        """As it stands in a point's config; ``broadcast`` is an algorithm of the pattern."""
        own = {"algorithm": broadcast} if self.pattern == "broadcast" else {}
        return {"kind": self.kind, **asdict(self), "parameters": own}


def message_bytes(pattern: str, size_kb: int = 1) -> int:
    """M of a pattern where the paper says ``size_kb`` KB."""
    factor = BROADCAST_ELEMENT_BYTES if pattern == "broadcast" else 1
    return size_kb * KB * factor


def job_type(n_jobs: int, n_nodes: int, pattern: str, size_kb: int = 1) -> JobType:
    """A job type with the paper's message size in KB."""
    return JobType(n_jobs, n_nodes, pattern, message_bytes(pattern, size_kb))


def n_jobs_at(
    machine_nodes: int, sizes: Sequence[int], utilisation_percent: int = UTILISATION_PERCENT
) -> int:
    """How many jobs of each of these sizes fill the machine to the utilisation, rounded down.

    V-C: 59 jobs of 16 nodes on 1056 nodes at 90 %. With several sizes, the same number of
    each.
    """
    return machine_nodes * utilisation_percent // (100 * sum(sizes))


def filling(machine_nodes: int, pattern: str, sizes: Mapping[int, int]) -> list[JobType]:
    """Jobs that fill a machine to 90 %, the same number of each size.

    Parameters
    ----------
    machine_nodes : int
    pattern : str
    sizes : mapping of int to int
        Nodes of a job, small before large, to KB of its messages.
    """
    n = n_jobs_at(machine_nodes, list(sizes))
    return [job_type(n, nodes, pattern, size_kb) for nodes, size_kb in sizes.items()]


def random_workload(
    index: int, seed: int, machine_nodes: int = 272, patterns: Sequence[str] = PATTERNS
) -> list[JobType]:
    """The ``index``-th random workload of VI-D.

    Large jobs of 17 to half the machine's nodes, small jobs of 2 to 16, both drawn
    uniformly; then the numbers of both, at least one each, uniformly from all pairs that
    fit into the machine (the paper: "selected randomly under the restriction of machine
    size"); then a pattern for each type. Messages of 1 KB.

    Parameters
    ----------
    index, seed : int
        The workload depends on nothing else, whatever is done with it.
    machine_nodes : int
    patterns : sequence of str
        To draw from.
    """
    if machine_nodes < 2 * (GROUP_NODES + 1):
        raise NetcosimError(f"random workload: {machine_nodes} nodes; at least 34 are needed")
    rng = point_rng({"seed": seed, "workload": index}, "workload")
    large = int(rng.integers(GROUP_NODES + 1, machine_nodes // 2 + 1))
    small = int(rng.integers(2, GROUP_NODES + 1))
    n_small, n_large = draw_counts(machine_nodes, small, large, rng)
    first, second = (patterns[int(i)] for i in rng.integers(0, len(patterns), 2))
    return [job_type(n_small, small, first), job_type(n_large, large, second)]


def draw_counts(
    machine_nodes: int, small: int, large: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Numbers of small and large jobs, uniform over all pairs that fit, at least one each."""
    most_small = np.array(
        [(machine_nodes - k * large) // small for k in range(1, machine_nodes // large + 1)]
    )
    most_small = np.maximum(most_small, 0)
    place = int(rng.integers(0, most_small.sum()))
    k = int(np.searchsorted(np.cumsum(most_small), place, side="right"))
    return place - int(most_small[:k].sum()) + 1, k + 1
