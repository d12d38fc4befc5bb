"""A placed job as the network sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from cosim.network.communication import Communication
from cosim.network.ensemble import PlacedJob
from queuesim.draws import substitute_id


class Situation(NamedTuple):
    """A job as the network sees it: equal situations send the same over the same links."""

    share: int
    """Index of its communication."""
    nodes: bytes
    """Its nodes (int32), in the order of the placement."""
    fraction: float = 1.0
    """Share of its isolated time in which it communicates, above 0 and at most 1."""
    compute_s: float | None = None
    """Computing between its iterations; None: what makes ``fraction`` the share."""
    once_s: float = 0.0
    """What an iteration takes without computing, about; 0 if that is not known. The length of its
    simulation depends on it."""
    draw: int | None = None
    """Number of its task mapping and random partners among those of its communication and size;
    None: those of its nodes."""
    partition: tuple[bytes, ...] = ()
    """Where it has links of its own: all nodes that they serve, and the links (int32)."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes) // 4

    def slowdown(self, stretch: float) -> float:
        """Return how much longer the run takes for a stretch of its communication."""
        return 1.0 + self.fraction * (stretch - 1.0)

    def stretch(self, slowdown: float) -> float:
        """Return the stretch of communication that makes the run so much longer, at least 1."""
        return 1.0 + max(slowdown - 1.0, 0.0) / self.fraction

    def job(self, communication: Communication) -> PlacedJob:
        """Return its job, whose draws depend on its communication and nodes instead of a job id."""
        nodes = np.frombuffer(self.nodes, dtype=np.int32)
        stand_in = substitute_id([self.share, *nodes.tolist()])
        sends_as = partition = None
        if self.draw is not None:
            sends_as = substitute_id([self.share, self.n_nodes, self.draw])
        if self.partition:
            partition = Placement(
                stand_in, *(np.frombuffer(part, dtype=np.int32) for part in self.partition)
            )
        return PlacedJob(stand_in, communication, nodes, partition, sends_as=sends_as)


def connected(links: Sequence[NDArray[np.integer]], n_links: int) -> list[list[int]]:
    """Group jobs, by their places, that share links directly or through others."""
    from cosim.network import kernels_periodic

    if not links:
        return []
    ptr = np.cumsum([0, *(len(part) for part in links)])
    label = kernels_periodic.components(ptr, np.concatenate(links).astype(np.int64), n_links)
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(label.tolist()):
        groups.setdefault(number, []).append(place)
    return list(groups.values())
