"""The Level-Spread paper's workloads (Table II, V-C and VI-D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from experiments.kit.size_laws import draw_counts
from netcosim.runs.points import point_rng

PATTERNS = ("all-to-all", "broadcast", "fft3d", "halo2d", "halo3d", "halo3d26")
UTILISATION_PERCENT = 90
GROUP_NODES = 16
RANDOM_ON_NODES = 272
KB = 1000
BROADCAST_ELEMENT_BYTES = 8
"""The paper's broadcast counted elements: its "1 KB" were 8000 bytes."""


@dataclass(frozen=True)
class JobType:
    """Equal jobs of a workload."""

    n_jobs: int
    n_nodes: int
    """n_jobs, n_nodes: How many, and nodes of each."""
    pattern: str
    size_bytes: int = KB
    """Of messages, as in the paper."""

    @property
    def message_bytes(self) -> int:
        """What the pattern calls M."""
        return self.size_bytes * (BROADCAST_ELEMENT_BYTES if self.pattern == "broadcast" else 1)

    def config(self, broadcast: str = "binary") -> dict[str, object]:
        """Return the content of a point's config; ``broadcast`` is an algorithm of the pattern.

        Its ``kind``: jobs that fit into a group are "small", others "large".
        """
        kind = "small" if self.n_nodes <= GROUP_NODES else "large"
        own = {"algorithm": broadcast} if self.pattern == "broadcast" else {}
        sends = {"message_bytes": self.message_bytes, "parameters": own}
        return {"kind": kind, **asdict(self), **sends}


def filling(machine_nodes: int, pattern: str, sizes: Mapping[int, int]) -> list[JobType]:
    """Return jobs that fill a machine to 90 %, rounded down, the same number of each size.

    V-C: 59 jobs of 16 nodes on 1056 nodes. Sizes map nodes, small before large, to KB of messages.
    """
    n_jobs = machine_nodes * UTILISATION_PERCENT // (100 * sum(sizes))
    return [JobType(n_jobs, nodes, pattern, size_kb * KB) for nodes, size_kb in sizes.items()]


def random_workload(index: int, seed: int, patterns: Sequence[str] = PATTERNS) -> list[JobType]:
    """Draw the ``index``-th random workload of VI-D, on 272 nodes.

    Large jobs of 17 to half the machine's nodes, small jobs of 2 to 16, both drawn
    uniformly; then the numbers of both, at least one each, uniformly from all pairs that
    fit into the machine (the paper: "selected randomly under the restriction of machine
    size"); then a pattern for each type. Messages of 1 KB.

    Parameters
    ----------
    index, seed : int
        The workload depends on nothing else, whatever is done with it.
    patterns : sequence of str
        To draw from.
    """
    rng = point_rng({"seed": seed, "workload": index}, "workload")
    large = int(rng.integers(GROUP_NODES + 1, RANDOM_ON_NODES // 2 + 1))
    small = int(rng.integers(2, GROUP_NODES + 1))
    n_small, n_large = draw_counts(RANDOM_ON_NODES, small, large, rng)
    first, second = (patterns[int(i)] for i in rng.integers(0, len(patterns), 2))
    return [JobType(n_small, small, first), JobType(n_large, large, second)]
