"""Checks of the placements that a plug-in's policy returns."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from netsim.plugin_entries import given_by, label_of

if TYPE_CHECKING:
    Base = Policy
else:
    Base = object


class _Checked(Base):
    """Goes before a policy's own class; keeps count of the nodes that it has given away."""

    deterministic = False  # parts that are not requested cannot be checked
    _given: Any = None

    def allocate(self, request: Request) -> Placement | None:
        """Allocate as the policy does, after checking that its placement is possible."""
        placement = super().allocate(request)  # type: ignore[safe-super]
        if placement is None:
            return None
        wrong = self._wrong(given_by(self, placement, Placement), request)
        if wrong:
            raise NetcosimError(f"{label_of(self)}: job {request.job_id}: {wrong}")
        self._given = self._taken().copy()
        self._given[placement.nodes] = True
        return placement

    def release(self, placement: Placement) -> None:
        """Release as the policy does, and record the nodes as free."""
        super().release(placement)  # type: ignore[safe-super]
        self._given = self._taken().copy()
        self._given[placement.nodes] = False

    def _taken(self) -> Any:
        return np.zeros(self.topology.n_nodes, dtype=bool) if self._given is None else self._given

    def _wrong(self, placement: Placement, request: Request) -> str:
        nodes, n = placement.nodes, self.topology.n_nodes
        if not (isinstance(nodes, np.ndarray) and nodes.ndim == 1 and nodes.dtype.kind in "iu"):
            return "the nodes of a placement must be an array of whole numbers"
        if len(nodes) < request.n_nodes:
            return f"{len(nodes)} nodes for a job of {request.n_nodes}"
        if nodes.min() < 0 or nodes.max() >= n:
            return f"node {nodes.max() if nodes.max() >= n else nodes.min()} of {n}"
        if len(np.unique(nodes)) < len(nodes):
            return "a node is listed twice"
        busy = nodes[self._taken()[nodes]]
        return f"node {busy[0]} is not free" if len(busy) else ""


@cache
def checked_policy(policy: type[Policy]) -> type[Policy]:
    """Return a policy's class whose placements are checked."""
    return type(policy.__name__, (_Checked, policy), {})
