"""Upper bounds from the links of a network, for any routing: bisection and spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from netsim.analysis.graph import cut_weight, router_graph, search_cut
from netsim.errors import NetcosimError
from netsim.topology import Topology

FloatArray = NDArray[np.float64]
Members = NDArray[np.bool_]

MAX_ROUTERS = 3000
"""Of a network whose bounds are worked out: the eigenvalues take the cube of them."""
EXACT_ROUTERS = 16
"""Up to here every set of routers is tried."""


@dataclass(frozen=True)
class Bounds:
    """Bandwidth in each direction between two halves of the nodes, from below and from above."""

    bisection_low_Bps: float
    """No two halves have less between them (Fiedler, 1973: the second eigenvalue, routers without
    nodes eliminated as in a network of resistors)."""
    bisection_high_Bps: float
    """Of the best halves that were found; the least of all where ``exact``."""
    exact: bool
    """Whether every set of routers was tried."""
    uniform_load: float
    """Under uniform random traffic nodes can offer no more than this share of their own bandwidth,
    by what those halves have between them; at most 1."""
    second_eigenvalue: float
    """Of the Laplacian of the routers with nodes, links weighed by bandwidth, over the nodes'
    bandwidth: 0 in a network of two parts, 1 or more where bisection cannot be short."""

    def describe(self) -> list[str]:
        """Return lines for a user."""
        low, high = (f"{value / 1e9:,.4g} GB/s" for value in (
            self.bisection_low_Bps, self.bisection_high_Bps
        ))  # fmt: skip
        between = high if self.exact or low == high else f"{low} to {high}"
        return [
            f"bisection {between} each way; uniform traffic up to {self.uniform_load:.3g} of "
            f"injection bandwidth; second eigenvalue {self.second_eigenvalue:.3g}"
        ]


class _Network(NamedTuple):
    """Routers, bandwidth between them, and the nodes of each."""

    topology: Topology
    weights: FloatArray
    nodes: FloatArray


@lru_cache(maxsize=8)
def bounds_of(topology: Topology) -> Bounds:
    """Return the bounds of any topology with nodes on two routers or more."""
    n = topology.n_routers
    nodes = np.bincount(topology.port_router, minlength=n) / topology.rails
    if np.count_nonzero(nodes) < 2 or n > MAX_ROUTERS:
        raise NetcosimError(
            f"bounds of {topology.name}: nodes on {np.count_nonzero(nodes):,} of {n:,} routers; "
            f"2 to {MAX_ROUTERS:,} routers are looked at"
        )
    graph = router_graph(topology, by_bandwidth=True)
    network = _Network(topology, graph.toarray(), nodes)
    eigenvalue, order = _spectrum(network)
    exact = n <= EXACT_ROUTERS
    if exact:
        members = _least_half(network)
    elif (nodes == nodes[0]).all():
        members = search_cut(graph, n // 2, np.random.default_rng(0)).members
    else:
        members = _half_along(network, order)
    high = cut_weight(graph, members)
    here = float(nodes[members].sum())
    away = float(nodes.sum()) - here
    node_Bps = topology.rails * float(topology.link_bandwidth_Bps[0])
    crossing_Bps = here * away / max(1.0, here + away - 1) * node_Bps
    return Bounds(
        min(high, max(0.0, eigenvalue) * here * away / (here + away)),
        high,
        exact,
        min(1.0, high / crossing_Bps),
        max(0.0, eigenvalue) / node_Bps,
    )


def _spectrum(network: _Network) -> tuple[float, FloatArray]:
    """Return the second eigenvalue among routers with nodes, and its vector over all routers."""
    laplacian = np.diag(network.weights.sum(axis=1)) - network.weights
    own, bare = network.nodes > 0, network.nodes == 0
    inner = laplacian[np.ix_(own, own)]
    if bare.any():
        # a router without nodes settles at the mean of what it is joined to
        between, within = laplacian[np.ix_(bare, own)], laplacian[np.ix_(bare, bare)]
        settles = np.linalg.lstsq(within, -between, rcond=None)[0]
        inner = inner + between.T @ settles
    values, vectors = eigh(
        (inner + inner.T) / 2, np.diag(network.nodes[own]), subset_by_index=(0, 1)
    )
    order = np.empty(len(network.nodes))
    order[own] = vectors[:, 1]
    if bare.any():
        order[bare] = settles @ vectors[:, 1]
    return float(values[1]), order


def _half_along(network: _Network, order: FloatArray) -> Members:
    """Return half of the nodes along an order of routers; those without nodes are placed where they
    cost least."""
    own = np.flatnonzero(network.nodes > 0)
    along = own[np.argsort(order[own], kind="stable")]
    filled = np.cumsum(network.nodes[along])
    count = 1 + int(np.argmin(np.abs(filled[:-1] - filled[-1] / 2)))
    members = np.zeros(len(order), dtype=np.bool_)
    members[along[:count]] = True
    bare = network.nodes == 0
    members[bare] = order[bare] < order[along[count - 1 : count + 1]].mean()
    for _ in range(len(order)):
        inside = network.weights @ members
        wrong = bare & (np.where(members, 1, -1) * (network.weights.sum(axis=1) - 2 * inside) > 0)
        if not wrong.any():
            break
        first = int(np.argmax(wrong))  # one at a time, so that neighbours do not swap for ever
        members[first] = not members[first]
    return members


def _least_half(network: _Network) -> Members:
    """Return the set with the least to the rest, of all that have half of the nodes, or nearly."""
    n = len(network.nodes)
    sets = np.arange(1 << (n - 1), dtype=np.int64)
    inside = ((sets[:, None] >> np.arange(n)) & 1).astype(float)  # the last router stays outside
    off = np.abs(inside @ network.nodes - network.nodes.sum() / 2)
    halves = inside[off == off.min()]
    cut = ((halves @ network.weights) * (1 - halves)).sum(axis=1)
    return np.asarray(halves[int(np.argmin(cut))] > 0)
