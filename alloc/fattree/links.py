"""Base of the fat-tree policies that give every job its own nodes and links."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import Plan, all_set, set_bits, write_plan
from alloc.nodes import check_request
from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from netsim.topology import Topology

MAX_BITS = 62
"""Nodes a leaf, L2 switches a pod and spines a position: one bit each of a word."""


class Masks(NamedTuple):
    """Bits of nodes and cables.

    Attributes
    ----------
    nodes, up : (n_leaves,) int64
        Bit i: node i of the leaf; the cable to the L2 switch at position i.
    spine : (n_l2,) int64
        Bit i: the cable to spine i of the position. Row pod*w2 + position.
    """

    nodes: NDArray[np.int64]
    up: NDArray[np.int64]
    spine: NDArray[np.int64]

    def copy(self) -> Masks:
        """Return a copy of the arrays."""
        return Masks(*(part.copy() for part in self))


class LinkPolicy(Policy):
    """A policy that allocates nodes with the cables between them, each to one job.

    A subclass places a job in `_search`. Cables (both directions) come and go as
    one. The fat-tree must have full bandwidth below the L2 switches and at least full above.

    Attributes
    ----------
    n_cut : int
        Searches ended by the step bound, if the subclass has one; their job was not placed.
    """

    families = ("fattree",)
    isolates = True
    compiled = True
    holds_any = True

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        s = topology.shape
        if topology.rails > 1:
            raise NetcosimError(
                f"policy {self.name!r} needs rails = 1; nodes of {topology.name} have "
                f"{topology.rails} ports"
            )
        if s.w2 != s.m1 or (s.levels == 3 and s.w3 < s.m2):
            raise NetcosimError(
                f"policy {self.name!r} needs full bandwidth (w2 = m1, w3 >= m2); {topology.name} "
                f"has m1 = {s.m1}, w2 = {s.w2}, m2 = {s.m2}, w3 = {s.w3}"
            )
        if max(s.m1, s.w3) > MAX_BITS:
            raise NetcosimError(
                f"policy {self.name!r}: m1 = {s.m1}, w3 = {s.w3}; at most {MAX_BITS} each"
            )
        self._sizes = (s.m1, s.m2, s.m3, s.w2, s.w3)
        self._first = np.array(
            [s.first_up1, s.first_down1, s.first_up2, s.first_down2, topology.n_links],
            dtype=np.int64,
        )
        self._free = Masks(
            np.full(s.n_leaves, (1 << s.m1) - 1, dtype=np.int64),
            np.full(s.n_leaves, (1 << s.w2) - 1, dtype=np.int64),
            np.full(s.n_l2, (1 << s.w3) - 1, dtype=np.int64),
        )
        # Busy is kept apart from free, as a held node may be either.
        self._busy = Masks(*(np.zeros_like(part) for part in self._free))
        self._held: Placement | None = None
        self._n_free = topology.n_nodes
        self.n_cut = 0
        self._scratch_plan = Plan(
            *(np.zeros(s.n_leaves, dtype=np.int64) for _ in range(3)),
            *(np.zeros(max(1, s.n_l2), dtype=np.int64) for _ in range(2)),
        )
        self._scratch_nodes = np.zeros(topology.n_nodes, dtype=np.int32)
        self._scratch_links = np.zeros(topology.n_links, dtype=np.int32)

    @property
    def n_free(self) -> int:
        """Free nodes (held ones are not free)."""
        return self._n_free

    @abstractmethod
    def _search(self, n_nodes: int) -> tuple[int, int]:
        """Write a plan into the scratch; leaves and L2 switches in it (leaves <= 0: none)."""

    def _set(self, masks: Masks, placement: Placement, on: bool) -> None:
        m1, _, _, w2, w3 = self._sizes
        set_bits(placement.nodes, placement.links, on, m1, w2, w3, self._first, *masks)

    def _all_set(self, masks: Masks, placement: Placement) -> bool:
        m1, _, _, w2, w3 = self._sizes
        return bool(all_set(placement.nodes, placement.links, m1, w2, w3, self._first, *masks))

    def _count(self) -> int:
        return sum(mask.bit_count() for mask in self._free.nodes.tolist())

    def allocate(self, request: Request) -> Placement | None:
        """Place a job (see `alloc.policy.Policy.allocate`).

        Raises
        ------
        NetcosimError
            A request for fewer than 1 node.
        """
        n_nodes = check_request(request)
        if n_nodes > self._n_free:
            return None
        n_leaves, n_l2 = self._search(n_nodes)
        if n_leaves <= 0:
            return None
        m1, _, _, w2, w3 = self._sizes
        a, b = write_plan(
            self._scratch_plan,
            n_leaves,
            n_l2,
            m1,
            w2,
            w3,
            self._first,
            self._free.nodes,
            self._scratch_nodes,
            self._scratch_links,
        )
        placement = Placement(
            request.job_id, self._scratch_nodes[:a].copy(), self._scratch_links[:b].copy()
        )
        self._set(self._free, placement, False)
        self._set(self._busy, placement, True)
        self._n_free -= a
        return placement

    def release(self, placement: Placement) -> None:
        """Give back what `allocate` took.

        Raises
        ------
        NetcosimError
            A node or link of the placement is not busy.
        """
        if not self._all_set(self._busy, placement):
            raise NetcosimError(
                f"release of job {placement.job_id}: a node or link of its placement is not busy"
            )
        self._set(self._busy, placement, False)
        self._set(self._free, placement, True)
        if self._held is None:
            self._n_free += len(placement.nodes)
        else:
            self._set(self._free, self._held, False)
            self._n_free = self._count()

    def hold(self, placement: Placement) -> None:
        """Set the placement's nodes and links aside, busy or free.

        Raises
        ------
        NetcosimError
            Something is held already.
        """
        if self._held is not None:
            raise NetcosimError(f"hold for job {placement.job_id}: another hold is in force")
        self._held = placement
        self._set(self._free, placement, False)
        self._n_free = self._count()

    def unhold(self) -> None:
        """Lift the hold, if there is one."""
        if self._held is None:
            return
        self._set(self._free, self._held, True)
        for free, busy in zip(self._free, self._busy, strict=True):
            free &= ~busy
        self._held = None
        self._n_free = self._count()

    def clone(self) -> Self:
        """Return an independent copy of the state, holds left out (the generator is copied too)."""
        copied = copy.copy(self)
        copied.rng = copy.deepcopy(self.rng)
        copied._own_arrays()
        copied.unhold()
        return copied

    def _own_arrays(self) -> None:
        """Replace the arrays of the state, shared after a shallow copy, by copies."""
        self._free, self._busy = self._free.copy(), self._busy.copy()
