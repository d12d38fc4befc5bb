"""Base of the policies whose state is which nodes are free."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from netsim.kinds import need_kinds
from netsim.topology import Topology

if TYPE_CHECKING:
    from netsim.hierarchy import Hierarchy

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
Nodes = NDArray[np.int64]

BY_SERVER = "a job gets GPUs of one server, or of entirely free servers"


def check_request(request: Request) -> int:
    """Return the number of nodes of a request."""
    if type(request) is not Request:
        need_kinds("allocate", {"request": (request, Request)})
    if request.n_nodes < 1:
        raise NetcosimError(
            f"job {request.job_id} requests {request.n_nodes} nodes; it must be at least 1"
        )
    return request.n_nodes


def gpus_per_server(topology: Topology) -> int:
    """Return how many consecutive nodes of a topology are the GPUs of one server; 1 elsewhere."""
    return getattr(topology.shape, "gpus_per_node", 1)


def switch_levels(topology: Topology) -> Hierarchy:
    """Return the nested domains of a machine without servers of GPUs, which are no switches."""
    from netsim.hierarchy import Hierarchy, hierarchy_of

    h = hierarchy_of(topology)
    if gpus_per_server(topology) == 1:
        return h
    return Hierarchy(h.levels[:-1], h.domain[:-1], h.names[:-1])


def fill(order: NDArray[np.int64], counts: Counts, free: Mask, width: int, n_nodes: int) -> Nodes:
    """Return the first ``n_nodes`` free nodes of blocks of ``width`` nodes, block after block.

    ``counts`` has the free nodes of every block; those in ``order`` have enough in all.
    """
    last = int(np.searchsorted(np.cumsum(counts[order]), n_nodes)) + 1
    used = order[:last]
    inside = free.reshape(-1, width)[used]
    rows, columns = np.nonzero(inside)
    return np.asarray(used[rows] * width + columns, dtype=np.int64)[:n_nodes]


def in_turn(nodes: Nodes, block: NDArray[np.int64]) -> Nodes:
    """Return the nodes one a block in turn: first of each block, then the second of each, ...

    Both are ascending, so that blocks are contiguous.
    """
    if not len(nodes):
        return nodes
    starts = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
    lengths = np.diff(starts, append=len(block))
    turn = np.arange(len(block)) - np.repeat(starts, lengths)
    return nodes[np.argsort(turn, kind="stable")]


class NodePolicy(Policy):
    """A policy whose state is which nodes are busy, held and free.

    A subclass selects the free nodes of a job in `_select`, or in `_choose` if it reads more of
    the request than the size. ``block_sizes`` names blocks of
    consecutive nodes (routers, groups, leaves, pods), whose numbers of free nodes are kept
    as nodes come and go: ``self._counts[i]`` belongs to ``block_sizes[i]``.

    Nodes of a topology that are GPUs are given by servers (see `_by_server`), unless a log has the
    nodes of the job.
    """

    holds_any = True

    by_server = True
    """Whether a job gets GPUs of one server, or of entirely free ones."""

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        self._server = gpus_per_server(topology) if self.by_server else 1
        self.counts_only = self.counts_only and self._server == 1
        self._blocks = self.block_sizes(topology)
        every = np.arange(topology.n_nodes)
        self._block_of = [every // size for size in self._blocks]
        self._busy: Mask = np.zeros(topology.n_nodes, dtype=np.bool_)
        self._held: Mask = np.zeros(topology.n_nodes, dtype=np.bool_)
        self._holding = False
        self._recount()

    def block_sizes(self, topology: Topology) -> tuple[int, ...]:
        """Return the sizes of the blocks of consecutive nodes whose free nodes are counted."""
        return ()

    def _recount(self) -> None:
        self._free: Mask = ~(self._busy | self._held)
        self._n_free = int(self._free.sum())
        self._counts: list[Counts] = [
            self._free.reshape(-1, size).sum(axis=1, dtype=np.int64) for size in self._blocks
        ]

    def _flip(self, nodes: NDArray[np.integer], free: bool) -> None:
        """Mark nodes as free or as busy; the state of each of them changes."""
        self._free[nodes] = free
        step = 1 if free else -1
        self._n_free += step * len(nodes)
        if self._blocks:
            for block, counts in zip(self._block_of, self._counts, strict=True):
                np.add.at(counts, block[nodes], step)

    @property
    def n_free(self) -> int:
        return self._n_free

    def free_nodes(self) -> Nodes:
        """Return the numbers of the free nodes, ascending."""
        return np.flatnonzero(self._free)

    @abstractmethod
    def _select(self, n_nodes: int) -> Nodes | None:
        """Return free nodes for a job, in rank order; None if it cannot be placed.

        Called only with ``1 <= n_nodes <= n_free``; must not change the policy, but for
        the generator when it returns nodes.
        """

    def _choose(self, request: Request) -> Nodes | None:
        """Select nodes for a request as `_select` does for its size."""
        return self._select(request.n_nodes)

    def allocate(self, request: Request) -> Placement | None:
        n_nodes = check_request(request)
        if n_nodes > self._n_free:
            return None
        any_gpus = self._server == 1 or request.nodes is not None
        chosen = self._choose(request) if any_gpus else self._by_server(request)
        if chosen is None:
            return None
        return self._placed(request.job_id, chosen)

    def _by_server(self, request: Request) -> Nodes | None:
        """Select nodes as `_choose` does, where nodes are GPUs of servers.

        A job of at most a server's GPUs gets them in one server, of those with the fewest free
        GPUs that suffice. A larger one gets entirely free servers, the last one perhaps in part.
        It waits if there are none. The policy selects among these servers.
        """
        n_gpus, width = request.n_nodes, self._server
        free = self._free.reshape(-1, width).sum(axis=1)
        least = free[free >= min(n_gpus, width)].min(initial=width)
        usable = np.repeat(free == least, width)
        hidden = np.flatnonzero(self._free & ~usable)
        if n_gpus > self._n_free - len(hidden):
            return None
        self._flip(hidden, False)
        try:
            chosen = self._choose(request)
            if chosen is None:
                return None
            # servers in the order in which the policy takes their first GPU
            servers, first = np.unique(chosen // width, return_index=True)
            gpus = servers[np.argsort(first)][:, None] * width + np.arange(width)
            return np.asarray(gpus[self._free[gpus]][:n_gpus], dtype=np.int64)
        finally:
            self._flip(hidden, True)

    def take(self, job_id: int, nodes: NDArray[np.integer]) -> Placement:
        """Place a job on given nodes, in the order in which ranks are laid on them."""
        chosen = np.asarray(nodes, dtype=np.int64)
        inside = chosen[(chosen >= 0) & (chosen < len(self._free))]
        if not len(chosen) or len(inside) < len(chosen) or len(np.unique(chosen)) < len(chosen):
            raise NetcosimError(
                f"job {job_id}: its nodes must be some of the {len(self._free)}, each once"
            )
        if not self._free[chosen].all():
            busy = int(chosen[~self._free[chosen]][0])
            raise NetcosimError(f"job {job_id}: node {busy} is not free")
        return self._placed(job_id, chosen)

    def _placed(self, job_id: int, chosen: Nodes) -> Placement:
        self._busy[chosen] = True
        self._flip(chosen, False)
        return Placement(job_id, chosen.astype(np.int32))

    def release(self, placement: Placement) -> None:
        if type(placement) is not Placement:
            need_kinds("release", {"placement": (placement, Placement)})
        # indexing is several times as fast with the machine's own integers
        nodes = placement.nodes.astype(np.intp)
        if np.count_nonzero(self._busy[nodes]) < len(nodes):
            raise NetcosimError(
                f"release of job {placement.job_id}: a node of its placement is not busy"
            )
        self._busy[nodes] = False
        self._flip(nodes[~self._held[nodes]] if self._holding else nodes, True)

    def hold(self, placement: Placement) -> None:
        if self._holding:
            raise NetcosimError(f"hold for job {placement.job_id}: another hold is in force")
        nodes = placement.nodes.astype(np.intp)
        self._held[nodes] = True
        self._holding = True
        self._flip(nodes[~self._busy[nodes]], False)

    def unhold(self) -> None:
        if self._holding:
            nodes = np.flatnonzero(self._held)
            self._held[:] = False
            self._holding = False
            self._flip(nodes[~self._busy[nodes]], True)

    def clone(self) -> Self:
        copied = copy.copy(self)
        if not self.deterministic:
            copied.rng = copy.deepcopy(self.rng)
        copied._busy = self._busy.copy()
        copied._held = np.zeros_like(self._held)
        copied._holding = False
        copied._recount()
        return copied
