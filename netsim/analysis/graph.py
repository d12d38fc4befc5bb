"""Any network: bounds on the links that leave a set of routers, from below and from above."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh

from netsim.errors import NetcosimError
from netsim.topology import Topology

_DENSE = 1500
_PASSES = 20


class Cut(NamedTuple):
    """A set of routers and what leaves it."""

    weight: float
    """Cables, or their bandwidth, between the set and the rest."""
    members: NDArray[np.bool_]
    """(n_routers,) bool."""


def router_graph(topology: Topology, *, by_bandwidth: bool = False) -> sparse.csr_array:
    """Return the number of cables between any two routers, or their bandwidth, symmetric."""
    n = topology.n_ports
    links = slice(topology.first_router_link, None)
    src, dst = topology.link_src[links] - n, topology.link_dst[links] - n
    weight = topology.link_bandwidth_Bps[links].astype(float) if by_bandwidth else np.ones(len(src))
    one_way = sparse.coo_array((weight, (src, dst)), shape=(topology.n_routers,) * 2).tocsr()
    return sparse.csr_array((one_way + one_way.T) / 2)


def cut_weight(graph: sparse.csr_array, members: NDArray[np.bool_]) -> float:
    """Return the total weight of the edges between a set of routers and the others."""
    inside = members.astype(float)
    return float(inside @ (graph @ (1.0 - inside)))


def _check_size(graph: sparse.csr_array, size: int) -> int:
    n = int(graph.shape[0])
    if not 1 <= size < n:
        raise NetcosimError(f"size = {size}; allowed: 1 to {n - 1} of {n} routers")
    return n


def _fiedler(graph: sparse.csr_array) -> NDArray[np.float64]:
    """Return the eigenvector of the second eigenvalue of the Laplacian."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    n = len(degree)
    laplacian = sparse.diags_array(degree) - graph
    if n <= _DENSE:
        return np.asarray(np.linalg.eigh(laplacian.toarray())[1][:, 1])
    # The largest of (c - Laplacian) converge; the smallest of the Laplacian hardly do.
    top = 2.0 * float(degree.max())
    start = np.random.default_rng(0).standard_normal(n)
    flipped = sparse.diags_array(np.full(n, top)) - laplacian
    values, vectors = eigsh(flipped, k=2, which="LA", v0=start, tol=1e-10)
    return np.asarray(vectors[:, np.argsort(values)[0]])


def search_cut(
    graph: sparse.csr_array, size: int, rng: np.random.Generator, *, starts: int = 10
) -> Cut:
    """Return ``size`` routers with few links to the rest of a `router_graph`: an upper bound.

    Starts from both ends of the Fiedler order and from ``starts`` sets grown router by router (the
    one with the most links into the set, ties at random), each improved by passes of Kernighan and
    Lin (1970): swap the best pair, lock it, keep the best prefix.
    """
    n = _check_size(graph, size)
    order = np.argsort(_fiedler(graph), kind="stable")
    candidates = [order[:size], order[n - size :]]
    candidates += [_grown(graph, size, rng) for _ in range(starts)]
    best: Cut | None = None
    for chosen in candidates:
        members = np.zeros(n, dtype=np.bool_)
        members[chosen] = True
        _improve(graph, members)
        weight = cut_weight(graph, members)
        if best is None or weight < best.weight:
            best = Cut(weight, members)
    assert best is not None
    return best


def _row(graph: sparse.csr_array, v: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    begin, end = graph.indptr[v], graph.indptr[v + 1]
    return graph.indices[begin:end], graph.data[begin:end]


def _grown(graph: sparse.csr_array, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    n = int(graph.shape[0])
    pull = rng.random(n) * 1e-9 * float(graph.data.max() if graph.nnz else 1.0)
    chosen = np.empty(size, dtype=np.int64)
    for i in range(size):
        v = int(np.argmax(pull))
        chosen[i] = v
        neighbours, weights = _row(graph, v)
        pull[neighbours] += weights
        pull[chosen[: i + 1]] = -np.inf
    return chosen


def _improve(graph: sparse.csr_array, members: NDArray[np.bool_]) -> None:
    """Improve a bisection in place by Kernighan-Lin passes until a pass gains nothing."""
    for _ in range(_PASSES):
        side = members.astype(float)
        inward = np.asarray(graph @ side).ravel()
        total = np.asarray(graph.sum(axis=1)).ravel()
        # What a router's move to the other side would save.
        saves = np.where(members, total - 2 * inward, 2 * inward - total)
        free = np.ones(len(members), dtype=np.bool_)
        here = members.copy()
        swaps: list[tuple[int, int]] = []
        gain = best_gain = 0.0
        best = 0
        for _ in range(min(int(members.sum()), int((~members).sum()))):
            u, v, saved = _best_swap(graph, saves, here & free, ~here & free)
            gain += saved
            swaps.append((u, v))
            free[[u, v]] = False
            for moved in (u, v):
                neighbours, weights = _row(graph, moved)
                away = here[neighbours] == here[moved]
                saves[neighbours] += np.where(away, 2.0, -2.0) * weights
                here[moved] = not here[moved]
            if gain > best_gain * (1 + 1e-12):
                best_gain, best = gain, len(swaps)
            elif len(swaps) - best > 50:
                break
        for u, v in swaps[:best]:
            members[u], members[v] = False, True
        if best == 0:
            return


def _best_swap(
    graph: sparse.csr_array,
    saves: NDArray[np.float64],
    inside: NDArray[np.bool_],
    outside: NDArray[np.bool_],
) -> tuple[int, int, float]:
    """Return the best pair with the best router inside: (inside, outside, what the swap saves)."""
    u = int(np.argmax(np.where(inside, saves, -np.inf)))
    value = np.where(outside, saves, -np.inf)
    neighbours, weights = _row(graph, u)
    value[neighbours] -= 2.0 * weights
    v = int(np.argmax(value))
    return u, v, float(saves[u] + value[v])
