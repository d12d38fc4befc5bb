"""Interface of a network scheduler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cosim.network.periodic import JobGroup, NetworkPlan, PeriodicJob


class NetworkScheduler(ABC):
    """Decides how jobs that share links communicate; it does not place or order jobs."""

    registered_in: ClassVar[str] = "cosim.registry:NETWORK_SCHEDULERS"

    name: str
    description: str

    def path_order(self, jobs: Sequence[PeriodicJob]) -> Sequence[int] | None:
        """Return the order in which running jobs choose paths anew, under the routing "pinned".

        Each takes the least loaded paths among those before it. None: each job chooses its paths
        once, when it starts.
        """
        return None

    @abstractmethod
    def plan(self, group: JobGroup, rng: np.random.Generator) -> NetworkPlan:
        """Return priorities and iteration starts of jobs that share links.

        Equal groups must get equal plans for generators in the same state.
        """


class Unscheduled(NetworkScheduler):
    """Jobs of equal priority begin iterations as they can, in random phases."""

    name = "none"
    description = "no scheduler: all jobs alike, in random phases"

    def plan(self, group: JobGroup, rng: np.random.Generator) -> NetworkPlan:
        return NetworkPlan.without(len(group.jobs))
