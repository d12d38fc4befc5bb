"""Running jobs at flow level, on paths that depend on the others' load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.network.job_network import JobLoads
from cosim.network.situation import Situation
from netsim.flow.message_load import MessageLoad
from netsim.flow.message_network import TOLERANCE, MessageNetwork

_MOST_PAIRS = 1 << 13
"""Pairs of nodes up to which a job is rerouted after its start."""


class RunningJobs:
    """Jobs that run at once, and the stretch of their communication.

    Under a routing that depends on loads a job is rerouted among the others as they are at its
    start, and again whenever its stretch moves. What it is compared with, its time in isolation, is
    that on its isolated paths. Jobs with more than 8192 pairs of nodes are routed at their start
    only: they use nearly all links about evenly, and walking them takes long.
    """

    def __init__(self, loads: JobLoads, tolerance: float = TOLERANCE) -> None:
        self.loads = loads
        self.network: MessageNetwork[int] = MessageNetwork(
            loads.network.shared.routing.topology.n_links, tolerance=tolerance
        )
        self._situation: dict[int, Situation] = {}

    def __contains__(self, job: object) -> bool:
        return job in self.network

    def link_use(self) -> NDArray[np.float64]:
        """Return the share of time that jobs keep each link busy, (n_links,)."""
        return self.network.link_use()

    def stretch(self, job: int) -> float:
        """Return the stretch of a job's communication; 1 for one that loads no link."""
        return self.network.stretch(job) if job in self.network else 1.0

    def change(
        self, add: Mapping[int, tuple[Situation, MessageLoad]], remove: Sequence[int]
    ) -> list[int]:
        """End jobs, start others with their isolated loads (`JobLoads.load`), and return those
        whose stretch changed."""
        coming = [(job, load) for job, (_, load) in add.items()]
        fractions = [situation.fraction for situation, _ in add.values()]
        changed = self.network.change(coming, remove, fractions=fractions)
        if not self.loads.looks_at_others:
            return changed
        for job in remove:
            del self._situation[job]
        self._situation |= {job: situation for job, (situation, _) in add.items()}
        looking = [job for job in dict.fromkeys([*add, *changed]) if job in add or self._small(job)]
        if looking:
            changed += self.network.reroute(looking, self._load_among)
        return list(dict.fromkeys(changed))

    def _small(self, job: int) -> bool:
        pairs = self.loads.messages(self._situation[job]).pair_src
        return len(pairs) <= _MOST_PAIRS

    def _load_among(self, job: int, others_s: NDArray[np.float64]) -> MessageLoad:
        return self.loads.load(self._situation[job], others_s)
