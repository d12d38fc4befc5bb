"""Which flow goes over which links: paths as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError


class FlowPaths(NamedTuple):
    """Links of each flow, one flow after the other (CSR).

    Attributes
    ----------
    ptr : (n_flows+1,) int64
        Flow ``f`` has the entries ``ptr[f] .. ptr[f+1]-1``.
    links : (n_entries,) int32
        Injection and ejection links among them. A flow between ranks of one node has none.
    weights : (n_entries,) float64 or None
        Share of the flow's rate that the link carries, for flows that are split over
        several paths; None where every share is 1.
    """

    ptr: NDArray[np.int64]
    links: NDArray[np.int32]
    weights: NDArray[np.float64] | None = None

    @property
    def n_flows(self) -> int:
        """Number of flows."""
        return len(self.ptr) - 1

    def check(self, n_links: int) -> FlowPaths:
        """The same paths with house dtypes, writable and contiguous, for the kernels.

        Raises
        ------
        NetcosimError
            A pointer that does not fit, a link out of range or twice in one flow (give it
            once, with the sum of the weights), a weight that is not positive.
        """
        ptr = np.require(self.ptr, np.int64, ["C", "W"])
        links = np.require(self.links, np.int32, ["C", "W"])
        if len(ptr) < 1 or ptr[0] != 0 or ptr[-1] != len(links) or np.any(ptr[1:] < ptr[:-1]):
            raise NetcosimError(f"flow paths: ptr does not cover the {len(links)} links")
        if len(links) and (links.min() < 0 or links.max() >= n_links):
            raise NetcosimError(f"flow paths: a link is outside 0..{n_links - 1}")
        if self.weights is None:
            return FlowPaths(ptr, links)
        weights = np.require(self.weights, np.float64, ["C", "W"])
        if len(weights) != len(links):
            raise NetcosimError(f"flow paths: {len(weights)} weights for {len(links)} links")
        if len(weights) and not (np.all(np.isfinite(weights)) and weights.min() > 0):
            raise NetcosimError("flow paths: a weight is not positive and finite")
        return FlowPaths(ptr, links, weights)
