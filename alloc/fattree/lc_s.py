"""LC+S: LC with links shared up to a bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alloc.fattree.lc import LeastConstrained
from alloc.fattree.links import Masks
from alloc.policy import Placement, Request
from netsim.errors import NetcosimError
from netsim.topology import Topology

MAX_LINK_SHARE = 0.8
"""Share of a link's bandwidth that jobs may be given in all (Smith and Lowenthal, 5.4.2)."""


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
    without_need = "all that a link may give, so that jobs share no link"

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        bandwidth = topology.link_bandwidth_Bps * MAX_LINK_SHARE
        self._capacity: NDArray[np.int64] = np.floor(bandwidth).astype(np.int64)
        self._used: NDArray[np.int64] = np.zeros(topology.n_links, dtype=np.int64)
        self._set_aside: NDArray[np.int64] = np.zeros(topology.n_links, dtype=np.int64)
        self._need = 0
        self._scratch_opened: dict[int, Masks] = {}
        """What `_open` returns on the present state, by need."""

    def _set(self, masks: Masks, placement: Placement, on: bool, all_change: bool = False) -> int:
        """Update the nodes only: links are counted in bytes per second."""
        return super()._set(masks, Placement(placement.job_id, placement.nodes), on, all_change)

    def _share(self, placement: Placement) -> NDArray[np.int64]:
        """Return the bytes per second of each of a placement's links."""
        capacity = self._capacity[placement.links]
        if isinstance(placement, SharedPlacement):
            return np.minimum(capacity, placement.bandwidth_Bps)
        return capacity

    def _open(self) -> Masks:
        """Return free nodes, and cables with enough bandwidth left in both directions."""
        if self._need in self._scratch_opened:
            return self._scratch_opened[self._need]
        s = self.topology.shape
        room = self._capacity - self._used - self._set_aside
        enough = room >= np.minimum(self._capacity, self._need)
        up1, down1, up2, down2 = s.first_up1, s.first_down1, s.first_up2, s.first_down2
        up = (enough[up1:down1] & enough[down1:up2]).reshape(s.n_leaves, s.w2)
        spine = (enough[up2:down2] & enough[down2:]).reshape(s.n_l2, s.w3)
        masks = self._unheld.copy()
        masks.up[:] = up @ (1 << np.arange(s.w2, dtype=np.int64))
        masks.spine[:] = spine @ (1 << np.arange(s.w3, dtype=np.int64))
        self._scratch_opened[self._need] = masks
        return masks

    def allocate(self, request: Request) -> SharedPlacement | None:
        """Place a job (see `alloc.policy.Policy.allocate`)."""
        wanted = request.bandwidth_Bps
        if wanted is not None and not wanted > 0:
            raise NetcosimError(
                f"job {request.job_id} needs bandwidth {wanted} bytes/s; it must be above 0"
            )
        most = int(self._capacity.max())
        # The need of this request, only for the search; not part of the state.
        self._need = most if wanted is None or wanted >= most else math.ceil(wanted)
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
        """Give back nodes and bandwidth."""
        super().release(placement)
        self._used[placement.links] -= self._share(placement)
        self._scratch_opened.clear()

    def hold(self, placement: Placement) -> None:
        """Set nodes and bandwidth aside, beside what running jobs have on the same links."""
        super().hold(placement)
        self._set_aside[placement.links] += self._share(placement)
        self._scratch_opened.clear()

    def unhold(self) -> None:
        """Lift the hold, if there is one."""
        super().unhold()
        self._set_aside[:] = 0
        self._scratch_opened.clear()

    def _own_arrays(self) -> None:
        super()._own_arrays()
        self._used, self._set_aside = self._used.copy(), self._set_aside.copy()
        self._scratch_opened = {}
