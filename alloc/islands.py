"""A policy on a machine whose fabrics nothing joins: each job has nodes of one fabric."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import NodePolicy, check_request
from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError

_NO_JOB = -1
_OF_ITS_RULE = ("name", "walltime_aware", "without_need", "replays", "relents_after_s", "isolates")


class Islands(Policy):
    """A policy of each fabric: a job goes to the fabric with the fewest free nodes that places it.

    ``build`` returns the policy on the entire empty machine.
    """

    name = "islands"
    description = "another policy on each of several fabrics"
    holds_any = True

    def __init__(self, build: Callable[[], Policy]) -> None:
        parts: list[NodePolicy] = []
        policy = build()
        assert policy.topology.islands is not None
        self._island = policy.topology.islands
        for island in range(int(self._island.max()) + 1):
            part = policy if island == 0 else build()
            if not isinstance(part, NodePolicy) or not part.holds_any:
                raise NetcosimError(
                    f"policy {part.name!r} depends on more than which nodes are free; it cannot "
                    f"keep jobs to one of the fabrics of {part.topology.name}, which nothing joins"
                )
            part.take(_NO_JOB, np.flatnonzero(self._island != island))
            parts.append(part)
        super().__init__(policy.topology, policy.rng)
        for name in _OF_ITS_RULE:
            setattr(self, name, getattr(policy, name))
        self._parts = parts
        self._empty = [part.clone() for part in parts]
        self._fits: dict[int, bool] = {}

    @property
    def n_free(self) -> int:
        return sum(part.n_free for part in self._parts)

    def free_nodes(self) -> NDArray[np.int64]:
        """Return the numbers of the free nodes, ascending."""
        return np.concatenate([part.free_nodes() for part in self._parts])

    def fits_empty(self, n_nodes: int) -> bool:
        """Return whether a fabric without jobs places a job of this size."""
        if n_nodes not in self._fits:
            request = Request(_NO_JOB, n_nodes)
            self._fits[n_nodes] = any(
                1 <= n_nodes <= part.n_free
                and (self.replays or part.clone().allocate(request) is not None)
                for part in self._empty
            )
        return self._fits[n_nodes]

    def allocate(self, request: Request) -> Placement | None:
        """Place a job in one fabric; of equal ones in the first."""
        n_nodes = check_request(request)
        nodes = request.nodes if self.replays else None
        if nodes is not None:
            self.topology.need_one_island(f"job {request.job_id}", nodes)
            return self._parts[int(self._island[nodes[0]])].allocate(request)
        for part in sorted(self._parts, key=lambda part: part.n_free):
            if n_nodes <= part.n_free and (placement := part.allocate(request)) is not None:
                return placement
        return None

    def take(self, job_id: int, nodes: NDArray[np.integer]) -> Placement:
        """Place a job on given nodes: see `alloc.nodes.NodePolicy.take`."""
        self.topology.need_one_island(f"job {job_id}", nodes)
        return self._parts[int(self._island[nodes[0]])].take(job_id, nodes)

    def release(self, placement: Placement) -> None:
        self._parts[int(self._island[placement.nodes[0]])].release(placement)

    def hold(self, placement: Placement) -> None:
        """Set the placement's nodes aside, busy or free, in all fabrics that they are in."""
        for island, part in enumerate(self._parts):
            inside = placement.nodes[self._island[placement.nodes] == island]
            part.hold(Placement(placement.job_id, inside))

    def unhold(self) -> None:
        for part in self._parts:
            part.unhold()

    def clone(self) -> Self:
        copied = copy.copy(self)
        copied._parts = [part.clone() for part in self._parts]
        return copied
