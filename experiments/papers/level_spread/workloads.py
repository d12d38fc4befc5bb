"""The Level-Spread paper's workloads (Table II, V-C and VI-D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.points import point_rng
from netsim.errors import NetcosimError

PATTERNS = ("all-to-all", "broadcast", "fft3d", "halo2d", "halo3d", "halo3d26")
SMALL_NODES, LARGE_NODES = 16, 64
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
    kind : {"small", "large"}
    n_jobs, n_nodes : int
        How many, and nodes of each.
    pattern : str
    message_bytes : int
        What the pattern calls M.
    """

    kind: str
    n_jobs: int
    n_nodes: int
    pattern: str
    message_bytes: int

    def config(self) -> dict[str, object]:
        """As it stands in a point's config."""
        return {
            "kind": self.kind,
            "n_jobs": self.n_jobs,
            "n_nodes": self.n_nodes,
            "pattern": self.pattern,
            "message_bytes": self.message_bytes,
        }


def message_bytes(pattern: str, size_kb: int = 1) -> int:
    """M of a pattern where the paper says ``size_kb`` KB."""
    factor = BROADCAST_ELEMENT_BYTES if pattern == "broadcast" else 1
    return size_kb * KB * factor


def job_type(kind: str, n_jobs: int, n_nodes: int, pattern: str, size_kb: int = 1) -> JobType:
    """A job type with the paper's message size in KB."""
    return JobType(kind, n_jobs, n_nodes, pattern, message_bytes(pattern, size_kb))


def n_jobs_at(
    machine_nodes: int, sizes: Sequence[int], utilisation_percent: int = UTILISATION_PERCENT
) -> int:
    """How many jobs of each of these sizes fill the machine to the utilisation, rounded down.

    V-C: 59 jobs of 16 nodes on 1056 nodes at 90 %. With several sizes, the same number of
    each.
    """
    return machine_nodes * utilisation_percent // (100 * sum(sizes))


def homogeneous(
    machine_nodes: int,
    job_nodes: int,
    pattern: str,
    utilisation_percent: int = UTILISATION_PERCENT,
    size_kb: int = 1,
) -> list[JobType]:
    """Equal jobs; those of at most a group's 16 nodes are "small"."""
    kind = "small" if job_nodes <= GROUP_NODES else "large"
    n = n_jobs_at(machine_nodes, [job_nodes], utilisation_percent)
    return [job_type(kind, n, job_nodes, pattern, size_kb)]


def heterogeneous(
    machine_nodes: int,
    pattern: str,
    small_kb: int = 1,
    large_kb: int = 1,
    utilisation_percent: int = UTILISATION_PERCENT,
) -> list[JobType]:
    """n jobs of 16 nodes, then n jobs of 64 nodes (VI-B)."""
    n = n_jobs_at(machine_nodes, [SMALL_NODES, LARGE_NODES], utilisation_percent)
    return [
        job_type("small", n, SMALL_NODES, pattern, small_kb),
        job_type("large", n, LARGE_NODES, pattern, large_kb),
    ]


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
    return [
        job_type("small", n_small, small, first),
        job_type("large", n_large, large, second),
    ]


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
