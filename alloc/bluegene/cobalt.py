"""Cobalt's placement: the least-blocking partition of a menu.

A job gets a partition of the smallest defined size that holds it. Of the idle ones the
*least-blocking* is taken: the one that makes the fewest idle partitions unusable which
it does not itself contain (they contain it, overlap it or need its wires); the first in name
order on ties (Tang et al., section II-B).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from alloc.bluegene.files import MenuFiles
from alloc.bluegene.loops import machine_for
from alloc.bluegene.machine import BlueGene, Mask, pairs_of
from alloc.nodes import check_request
from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from netsim.parameters import checked
from netsim.topology import Topology

IntArray = NDArray[np.int64]


class Tables(NamedTuple):
    """Tables derived from a menu of n partitions."""

    conflicts: Mask
    """(n, n) bool. True on the diagonal."""
    harms: Mask
    """(n, n) bool. True at [i, j] if starting i makes j unusable, and j is not within i."""
    occupancy: Mask
    """(n, midplanes) bool."""
    sizes: IntArray
    """(classes,) int64. Defined sizes in nodes, ascending."""
    classes: tuple[IntArray, ...]
    """Tuple of (k,) int64. Partitions of each size, in name order."""
    pairs: IntArray
    """(n,) int64. The paired partition, -1 for none."""
    nodes: tuple[NDArray[np.int32], ...]
    """Tuple of int32 arrays. Nodes of each partition."""


@lru_cache(maxsize=8)
def tables_of(machine: BlueGene) -> Tables:
    """Return the tables of a machine's menu; kept, since every policy of a run needs them."""
    conflicts, midplane_nodes = machine.conflicts(), np.arange(machine.midplane_nodes)
    nodes = tuple(
        np.add.outer(np.array(p.midplanes) * len(midplane_nodes), midplane_nodes)
        .ravel()
        .astype(np.int32)
        for p in machine.partitions
    )
    for partition_nodes in nodes:
        partition_nodes.flags.writeable = False
    n_nodes = np.array([len(partition_nodes) for partition_nodes in nodes])
    sizes = np.unique(n_nodes)
    return Tables(
        conflicts=conflicts,
        harms=conflicts & ~machine.contained(),
        occupancy=machine.occupancy(),
        sizes=sizes,
        classes=tuple(np.flatnonzero(n_nodes == size) for size in sizes),
        pairs=np.array(pairs_of(machine), dtype=np.int64),
        nodes=nodes,
    )


class Cobalt(Policy):
    """Least-blocking placement on a partition menu; see the module's text.

    Without a machine its menu is that of `alloc.bluegene.loops.machine_for`.
    """

    name = "cobalt"
    families = ("torus",)
    description = "Blue Gene: least-blocking partition of the smallest size on the menu"
    parameters = MenuFiles

    @classmethod
    def from_config(
        cls, topology: Topology, rng: np.random.Generator, given: Mapping[str, object]
    ) -> Policy:
        """Build the policy, with a menu of the user's own if one is given (`MenuFiles`)."""
        cls.check_family(topology)
        files = MenuFiles(**checked(f"policy {cls.name}", MenuFiles, given))
        return cls(topology, rng, files.machine(topology))

    def __init__(
        self, topology: Topology, rng: np.random.Generator, machine: BlueGene | None = None
    ) -> None:
        super().__init__(topology, rng)
        self.machine = machine_for(topology) if machine is None else machine
        if self.machine.n_nodes != topology.n_nodes:
            raise NetcosimError(
                f"machine {self.machine.name} has {self.machine.n_nodes} nodes; "
                f"{topology.name} has {topology.n_nodes}"
            )
        self.tables = tables_of(self.machine)
        n = len(self.machine.partitions)
        self._blockers = np.zeros(n, dtype=np.int64)
        self._end_s = np.full(n, -np.inf)  # -inf: runs no job
        self._running: dict[int, int] = {}
        self._held: Mask | None = None
        self._held_midplanes: Mask | None = None
        self._only: Mask | None = None
        self._free = np.ones(self.machine.n_midplanes, dtype=np.bool_)

    @property
    def n_free(self) -> int:
        free = self._free if self._held_midplanes is None else self._free & ~self._held_midplanes
        return int(free.sum()) * self.machine.midplane_nodes

    @property
    def idle(self) -> Mask:
        """(n,) partitions that could be booted now."""
        return np.asarray(self._blockers == 0)

    @property
    def running(self) -> dict[int, int]:
        """Partition of each running job, by job id."""
        return self._running

    def size_class(self, n_nodes: int) -> int:
        """Return the index of the smallest defined size that holds a job, or their number."""
        return int(np.searchsorted(self.tables.sizes, n_nodes))

    def fits_empty(self, n_nodes: int) -> bool:
        """Return whether the menu has a partition that is large enough."""
        return 1 <= n_nodes <= int(self.tables.sizes[-1])

    def only(self, partitions: Mask | None) -> None:
        """Restrict `allocate` to these partitions; None: all (for drains)."""
        self._only = partitions

    def allocate(self, request: Request) -> Placement | None:
        size = self.size_class(check_request(request))
        if size == len(self.tables.sizes):
            return None
        members = self.tables.classes[size]
        usable = self._blockers[members] == 0
        for mask, wanted in ((self._held, False), (self._only, True)):
            if mask is not None:
                usable &= mask[members] == wanted
        candidates = members[usable]
        if not len(candidates):
            return None
        return self._start(self._choose(candidates, request), request)

    def scores(self, candidates: IntArray) -> IntArray:
        """Return how many idle partitions each candidate would make unusable, (k,)."""
        return np.asarray((self.tables.harms[candidates] & self.idle).sum(axis=1))

    def _choose(self, candidates: IntArray, request: Request) -> int:
        scores = self.scores(candidates)
        return self._break_tie(candidates[scores == scores.min()], request)

    def _break_tie(self, best: IntArray, request: Request) -> int:
        """Return one of the least-blocking partitions, which are in name order."""
        return int(best[0])

    def _start(self, partition: int, request: Request) -> Placement:
        if request.job_id in self._running:
            raise NetcosimError(f"job {request.job_id} is placed already; release it before")
        self._blockers += self.tables.conflicts[partition]
        self._free &= ~self.tables.occupancy[partition]
        self._running[request.job_id] = partition
        self._end_s[partition] = np.inf if request.end_s is None else request.end_s
        return Placement(request.job_id, self.tables.nodes[partition])

    def release(self, placement: Placement) -> None:
        partition = self._running.pop(placement.job_id, None)
        if partition is None:
            raise NetcosimError(
                f"release of job {placement.job_id}: a node of its placement is not busy"
            )
        self._blockers -= self.tables.conflicts[partition]
        self._free |= self.tables.occupancy[partition]
        self._end_s[partition] = -np.inf

    def hold(self, placement: Placement) -> None:
        """Set a partition aside with its wires."""
        if self._held is not None:
            raise NetcosimError(f"hold for job {placement.job_id}: another hold is in force")
        midplanes = np.zeros_like(self._free)
        midplanes[np.unique(placement.nodes // self.machine.midplane_nodes)] = True
        same = (self.tables.occupancy == midplanes).all(axis=1)
        if same.any():
            self._held = np.asarray(self.tables.conflicts[same].any(axis=0))
        else:
            self._held = np.asarray((self.tables.occupancy & midplanes).any(axis=1))
        self._held_midplanes = midplanes

    def unhold(self) -> None:
        self._held = self._held_midplanes = None

    def clone(self) -> Self:
        copied = copy.copy(self)
        copied.rng = copy.deepcopy(self.rng)
        copied._blockers, copied._end_s = self._blockers.copy(), self._end_s.copy()
        copied._free, copied._running = self._free.copy(), dict(self._running)
        copied._held = copied._held_midplanes = copied._only = None
        return copied


class CobaltSimilar(Cobalt):
    """Similar-length allocation: ties go where the paired partition ends at the same time.

    Tang et al., Algorithm 1, on the *remaining* time of the job on the paired partition.
    A candidate whose paired partition runs no job counts only if none does.
    """

    name = "cobalt-sl"
    description = "as cobalt, ties to the partition beside the job that ends nearest in time (SL)"
    walltime_aware = True

    def _break_tie(self, best: IntArray, request: Request) -> int:
        if request.end_s is None or len(best) == 1:
            return int(best[0])
        pair = self.tables.pairs[best]
        ends = np.where(pair >= 0, self._end_s[pair], -np.inf)
        apart = np.where(ends > -np.inf, np.abs(ends - request.end_s), np.inf)
        return int(best[int(np.argmin(apart))])


class CobaltPaired(Cobalt):
    """Paired filling: a job that starts brings another onto the idle paired partition.

    Tang et al., Algorithm 2: of the waiting jobs of the same partition size whose walltime is not
    above the lead job's, the one nearest to it; the first in the queue on ties.
    """

    name = "cobalt-pf"
    description = "as cobalt, and a like job of the queue starts on the idle paired partition (PF)"
    pairs = True

    def fill_partner(
        self, lead: Request, waiting: Iterable[Request]
    ) -> tuple[int, Placement] | None:
        """Start a waiting request on the pair partition (see `Policy.fill_partner`)."""
        pair = int(self.tables.pairs[self._running[lead.job_id]])
        if pair < 0 or self._blockers[pair] or lead.end_s is None:
            return None
        size, best, latest = self.size_class(lead.n_nodes), None, -np.inf
        for position, request in enumerate(waiting):
            end = request.end_s
            if end is None or not latest < end <= lead.end_s:
                continue
            if self.size_class(request.n_nodes) == size:
                best, latest = (position, request), end
        return None if best is None else (best[0], self._start(pair, best[1]))


class CobaltCombo(CobaltPaired, CobaltSimilar):
    """SL and PF together."""

    name = "cobalt-combo"
    description = "cobalt-sl and cobalt-pf together (Combo)"
