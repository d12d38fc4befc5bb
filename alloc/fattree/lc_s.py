"""LC+S: LC with links shared up to a bandwidth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import open_cables
from alloc.fattree.lc import LeastConstrained
from alloc.fattree.links import Masks
from alloc.policy import Placement, Request
from netsim.errors import NetcosimError
from netsim.topology import Topology

if TYPE_CHECKING:
    from alloc.fattree.kernels_places import Shares

MAX_LINK_SHARE = 0.8
"""Share of a link's bandwidth that jobs may be given in all (Smith and Lowenthal, 5.4.2)."""
MAX_LEVELS = 16
"""Needs for which a full queue's requests are ruled out at once."""


@dataclass(frozen=True, eq=False)
class SharedPlacement(Placement):
    """A placement whose links are shared."""

    bandwidth_Bps: int = 0
    """What the job was given of each of its links (of a slower link at most all)."""


class LeastConstrainedShared(LeastConstrained):
    """LC where a link serves several jobs, up to 80 % of its bandwidth.

    Smith and Lowenthal, HPDC 2021, 5.2.3 and 5.4.2. A request names the bandwidth that it needs of
    each of its links; without one, or with more than 80 % of a link, it gets all that a link can
    give. Links are given in the conditions' shape and numbers. The placement's links are the job's
    to use, but not its own: isolation is not promised. The bound on the search is LC's.
    """

    name = "lc-s"
    description = "least constrained with links shared by bandwidth (not isolated)"
    isolates = False
    holds_any = False  # a hold reserves bandwidth, which only its own placements specify
    has_kernel_state = True
    without_need = "all that a link may give, so that jobs share no link"

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        bandwidth = topology.link_bandwidth_Bps * MAX_LINK_SHARE
        self._capacity: NDArray[np.int64] = np.floor(bandwidth).astype(np.int64)
        self._most = int(self._capacity.max())
        self._used: NDArray[np.int64] = np.zeros(topology.n_links, dtype=np.int64)
        self._set_aside: NDArray[np.int64] = np.zeros(topology.n_links, dtype=np.int64)
        self._need = 0
        self._scratch_opened: dict[int, Masks] = {}
        """What `_open` returns on the present state, by need."""
        self._scratch_levels: (
            tuple[NDArray[np.float64], list[tuple[int, NDArray[np.intp]]]] | None
        ) = None
        """The requests that `may_place` last had, by the need that it looks at."""

    def _set(self, masks: Masks, placement: Placement, on: bool, all_change: bool = False) -> int:
        """Update the nodes only: links are counted in bytes per second."""
        return super()._set(masks, Placement(placement.job_id, placement.nodes), on, all_change)

    def _share(self, placement: Placement) -> NDArray[np.int64]:
        """Return the bytes per second of each of a placement's links."""
        capacity = self._capacity[placement.links]
        if isinstance(placement, SharedPlacement):
            return np.minimum(capacity, placement.bandwidth_Bps)
        return capacity

    def _whole_need(self, bandwidth_Bps: float | None) -> int:
        """Return a need in bytes per second, at most what a link can give, as without a need."""
        most = self._most
        return most if bandwidth_Bps is None or bandwidth_Bps >= most else math.ceil(bandwidth_Bps)

    def _shares(self) -> Shares:
        from alloc.fattree.kernels_places import Shares

        used, zeros = self._used, np.zeros((2, len(self._used)), dtype=np.int64)
        return Shares(self._capacity, used.copy(), zeros[0], used.copy(), zeros[1])

    def _whole_needs(self, needs_Bps: Sequence[float | None]) -> NDArray[np.int64]:
        return np.array([self._whole_need(need) for need in needs_Bps], dtype=np.int64)

    def may_place(
        self, n_nodes: NDArray[np.int64], bandwidth_Bps: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Compare with the links that have enough left for the need, or for a lower one.

        At most `MAX_LEVELS` needs are looked at: what rules out a need rules out a higher one.
        """
        if bandwidth_Bps is None:
            return self._possible(n_nodes, self._open(self._whole_need(None)))
        if self._scratch_levels is None or self._scratch_levels[0] is not bandwidth_Bps:
            needed = self._whole_needs(bandwidth_Bps.tolist())
            needs = np.unique(needed)
            needs = needs[:: -(-len(needs) // MAX_LEVELS)]
            level = np.searchsorted(needs, needed, side="right") - 1
            levels = [(need, np.flatnonzero(level == k)) for k, need in enumerate(needs.tolist())]
            self._scratch_levels = bandwidth_Bps, levels
        possible = np.zeros(len(n_nodes), dtype=np.bool_)
        for need, kinds in self._scratch_levels[1]:
            possible[kinds] = self._possible(n_nodes[kinds], self._open(need))
        return possible

    def _open(self, need: int | None = None) -> Masks:
        """Return free nodes, and cables with enough bandwidth left in both directions."""
        need = self._need if need is None else need
        if need in self._scratch_opened:
            return self._scratch_opened[need]
        masks = self._unheld.copy()
        open_cables(self._capacity, self._used, self._set_aside, need, masks.words)
        self._scratch_opened[need] = masks
        return masks

    def allocate(self, request: Request) -> SharedPlacement | None:
        wanted = request.bandwidth_Bps
        if wanted is not None and not wanted > 0:
            raise NetcosimError(
                f"job {request.job_id} needs bandwidth {wanted} bytes/s; it must be above 0"
            )
        # The need of this request, only for the search; not part of the state.
        self._need = self._whole_need(wanted)
        placement = super().allocate(request)
        need, self._need = self._need, 0
        if placement is None:
            return None
        shared = SharedPlacement(
            placement.job_id, placement.nodes, placement.links, bandwidth_Bps=need
        )
        self._used[shared.links] += self._share(shared)
        self._scratch_opened.clear()
        return shared

    def release(self, placement: Placement) -> None:
        super().release(placement)
        self._used[placement.links] -= self._share(placement)
        self._scratch_opened.clear()

    def hold(self, placement: Placement) -> None:
        """Set nodes and bandwidth aside, beside what running jobs have on the same links."""
        super().hold(placement)
        self._set_aside[placement.links] += self._share(placement)
        self._scratch_opened.clear()

    def unhold(self) -> None:
        super().unhold()
        self._set_aside[:] = 0
        self._scratch_opened.clear()

    def _own_arrays(self) -> None:
        super()._own_arrays()
        self._used, self._set_aside = self._used.copy(), self._set_aside.copy()
        self._scratch_opened = {}
