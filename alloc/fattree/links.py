"""Base of the fat-tree policies that give every job its own nodes and links."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import CUT, N_HEADER, mark_possible, set_bits
from alloc.nodes import check_request
from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from netsim.topology import Topology

if TYPE_CHECKING:
    from alloc.fattree.kernels_places import Places

MAX_BITS = 62
"""Nodes a leaf, L2 switches a pod and spines a position: one bit each of a word."""


class Masks(NamedTuple):
    """Bits of nodes and cables."""

    words: NDArray[np.int64]
    """A tree as `alloc.fattree.kernels_bits.tree_of` reads it; the other fields are parts of it."""
    nodes: NDArray[np.int64]
    up: NDArray[np.int64]
    """nodes, up: (n_leaves,) int64. Bit i: node i of the leaf; the cable to the L2 switch at
    position i."""
    spine: NDArray[np.int64]
    """(n_l2,) int64. Bit i: the cable to spine i of the position. Row pod*w2 + position."""

    def copy(self) -> Masks:
        """Return a copy of the arrays."""
        return masks_in(self.words.copy(), len(self.nodes))


def masks_in(words: NDArray[np.int64], n_leaves: int) -> Masks:
    """Return the masks in the words of a tree."""
    up, spine = N_HEADER + n_leaves, N_HEADER + 2 * n_leaves
    return Masks(words, words[N_HEADER:up], words[up:spine], words[spine:])


class LinkPolicy(Policy):
    """A policy that allocates nodes with the cables between them, each to one job.

    A subclass places a job in `_place`. Cables (both directions) come and go as
    one. The fat-tree must have full bandwidth below the L2 switches and at least full above.
    ``n_cut`` searches were ended by the step bound, if there is one; their job was not placed.
    """

    families = ("fattree",)
    isolates = True
    kernels = "isolating search"
    deterministic = True
    holds_any = True
    _whole_leaves = True
    """Whether a job over pods has whole leaves but for one."""
    _full_leaves: ClassVar[bool] = False
    """Whether a job over pods is rounded up to whole leaves."""

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
        header = [s.m1, s.m2, s.m3, s.w2, s.w3]
        header += [s.first_up1, s.first_down1, s.first_up2, s.first_down2]
        n_words = len(header) + 2 * s.n_leaves + s.n_l2
        self._free = masks_in(np.zeros(n_words, dtype=np.int64), s.n_leaves)
        self._free.words[:N_HEADER] = header
        self._free.nodes[:] = (1 << s.m1) - 1
        self._free.up[:] = (1 << s.w2) - 1
        self._free.spine[:] = (1 << s.w3) - 1
        self._held: Placement | None = None
        # What a job may get: the free nodes and links without those held.
        self._unheld = self._free
        self._n_free = self._n_unheld = topology.n_nodes
        self.n_cut = 0
        self._scratch_plan = np.zeros((5, max(s.n_leaves, s.n_l2)), dtype=np.int64)
        self._scratch_nodes = np.zeros(topology.n_nodes, dtype=np.int32)
        self._scratch_links = np.zeros(topology.n_links, dtype=np.int32)

    @property
    def n_free(self) -> int:
        return self._n_unheld

    @abstractmethod
    def _place(self, n_nodes: int) -> tuple[int, int]:
        """Write a placement's nodes and links to the scratch; how many (nodes <= 0: none)."""

    def _set(self, masks: Masks, placement: Placement, on: bool, all_change: bool = False) -> int:
        """Set or clear a placement's bits: see `alloc.fattree.kernels_bits.set_bits`."""
        return int(set_bits(placement.nodes, placement.links, on, all_change, masks.words))

    def may_place(
        self, n_nodes: NDArray[np.int64], bandwidth_Bps: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Count leaves and pods by `alloc.fattree.kernels_bits.mark_possible`."""
        return self._possible(n_nodes, self._unheld)

    def _possible(self, n_nodes: NDArray[np.int64], masks: Masks) -> NDArray[np.bool_]:
        possible = np.zeros(len(n_nodes), dtype=np.bool_)
        mark_possible(n_nodes, masks.words, self._whole_leaves, self._full_leaves, possible)
        return possible

    def kernel_state(self, needs_Bps: Sequence[float | None]) -> Places:
        from alloc.fattree.kernels_places import Places, links_of, no_parts

        words, needs = self._free.words, self._whole_needs(needs_Bps)
        links = links_of(
            words, len(np.unique(needs)), len(needs), self._full_leaves, *self._steps()
        )
        return Places(links, None, None, no_parts(self.topology.n_nodes), needs)

    def _whole_needs(self, needs_Bps: Sequence[float | None]) -> NDArray[np.int64]:
        """Return what kinds of jobs need of their links, where these are shared."""
        return np.zeros(len(needs_Bps), dtype=np.int64)

    @abstractmethod
    def _steps(self) -> tuple[int, int | None]:
        """Return the bounds of a search: steps in all, and for a shape if it tries many."""

    def allocate(self, request: Request) -> Placement | None:
        n_nodes = check_request(request)
        if n_nodes > self._n_unheld:
            return None
        a, b = self._place(n_nodes)
        if a <= 0:
            self.n_cut += a == CUT
            return None
        placement = Placement(
            request.job_id, self._scratch_nodes[:a].copy(), self._scratch_links[:b].copy()
        )
        self._set(self._free, placement, False)
        if self._held is not None:
            self._set(self._unheld, placement, False)
        self._n_free -= a
        self._n_unheld -= a
        return placement

    def release(self, placement: Placement) -> None:
        n_nodes = self._set(self._free, placement, True, all_change=True)
        if n_nodes < 0:
            raise NetcosimError(
                f"release of job {placement.job_id}: a node or link of its placement is not busy"
            )
        self._n_free += n_nodes
        held = self._held
        self.unhold()
        if held is not None:
            self.hold(held)

    def hold(self, placement: Placement) -> None:
        if self._held is not None:
            raise NetcosimError(f"hold for job {placement.job_id}: another hold is in force")
        self._held = placement
        self._unheld = self._free.copy()
        self._n_unheld -= self._set(self._unheld, placement, False)

    def unhold(self) -> None:
        self._held = None
        self._unheld, self._n_unheld = self._free, self._n_free

    def clone(self) -> Self:
        copied = copy.copy(self)
        copied._own_arrays()
        copied.unhold()
        return copied

    def _own_arrays(self) -> None:
        """Replace the arrays of the state, shared after a shallow copy, by copies."""
        self._free = self._free.copy()
