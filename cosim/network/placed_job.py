"""A job that communicates, and what all jobs on a network have in common."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import gpus_per_server
from alloc.policy import Placement
from cosim.network.communication import Communication, noisy, remember
from cosim.network.loops import least_iteration_s
from netsim.errors import need_name
from netsim.kinds import need_kinds, need_nodes, need_real
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.short_repr import short_repr
from netsim.topologies.checks import need_int
from netsim.traffic import Program
from patterns.mapping import MAPPINGS, map_ranks
from queuesim.draws import JobStreams, job_streams

FloatArray = NDArray[np.float64]
_KEPT = 1 << 11


@short_repr()
@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A job that communicates.

    Attributes
    ----------
    job_id : int
        At least 0; or what `substitute_id` gives.
    communication : Communication
    nodes : (k,) int32
        Nodes that it uses, in the order of the placement.
    partition : Placement or None
        Where the job has links of its own: they, and all nodes they serve (a policy that rounds
        up gives more than the job uses). On a fat-tree it is then routed only on them.
    repeats : int
        How often it goes through its communication.
    compute_s : float
        Computing before each iteration; the mean if that varies.
    start_s : float
        When it begins.
    compute_noise : float
        Standard deviation over the mean of the computing time, drawn anew for each iteration
        (gamma); all ranks compute as long.
    task_mapping : str
        Its own, a name of `patterns.mapping.MAPPINGS`; empty: the network's.
    sends_as : int, optional
        The job id whose task mapping, random partners and draws of routes it has; its own by
        default. Jobs of other ids that send the same start and compute at other times.
    communicates_first : bool
        Whether its first iteration has no computing.

    Examples
    --------
    >>> import numpy as np
    >>> import netcosim as nc
    >>> halo = nc.Communication("halo2d", iterations=2)
    >>> nc.PlacedJob(7, halo, np.arange(16), repeats=5).iterations
    10
    """

    job_id: int
    communication: Communication
    nodes: NDArray[np.integer]
    partition: Placement | None = None
    repeats: int = 1
    compute_s: float = 0.0
    start_s: float = 0.0
    compute_noise: float = 0.0
    task_mapping: str = ""
    sends_as: int | None = None
    communicates_first: bool = False

    def __post_init__(self) -> None:
        need_kinds(
            "PlacedJob",
            {
                "communication": (self.communication, Communication),
                "partition": (self.partition, (Placement, type(None))),
            },
        )
        need_int("PlacedJob", "job_id", self.job_id, 0)
        object.__setattr__(self, "nodes", need_nodes("PlacedJob", self.nodes))
        need_int("PlacedJob", "repeats", self.repeats, 1)
        for what in ("compute_s", "start_s", "compute_noise"):
            need_real("PlacedJob", what, getattr(self, what), 0)
        if self.task_mapping != "":
            need_name("task mapping", self.task_mapping, MAPPINGS)

    def altered(self, **values: Any) -> PlacedJob:
        """Return the job with other values, which are not checked."""
        job = object.__new__(PlacedJob)
        vars(job).update(vars(self), **values)
        return job

    @property
    def sent_id(self) -> int:
        """The id that decides what it sends: ``sends_as``, or its own."""
        return self.job_id if self.sends_as is None else self.sends_as

    @property
    def iterations(self) -> int:
        """Number of iterations in all repeats."""
        return self.communication.iterations * self.repeats


@short_repr()
@dataclass(frozen=True, eq=False)
class SharedNetwork:
    """Settings common to all jobs on a network.

    Attributes
    ----------
    routing : Routing
        Of the machine.
    packet : PacketConfig
    ranks_per_node : int
    task_mapping : str
        A name of `patterns.mapping.MAPPINGS`.
    seed : int
        Of all random draws: see `job_streams` and `Ensemble.packets`.
    threads : int or "auto"
        Of a packet simulation (`netsim.packet.engine.simulate_packets`); they change no result.

    Examples
    --------
    >>> import numpy as np
    >>> import netcosim as nc
    >>> network = nc.SharedNetwork(
    ...     nc.make_routing(nc.preset("dragonfly-272")), ranks_per_node=2, task_mapping="in-order"
    ... )
    >>> network.rank_node(nc.PlacedJob(1, nc.Communication("all-to-all"), np.array([9, 4])))
    array([9, 9, 4, 4], dtype=int32)
    """

    routing: Routing
    packet: PacketConfig = field(default_factory=PacketConfig)
    ranks_per_node: int = 1
    task_mapping: str = "random"
    seed: int = 0
    threads: int | str = 1

    def __post_init__(self) -> None:
        need_kinds(
            "SharedNetwork",
            {"routing": (self.routing, Routing), "packet": (self.packet, PacketConfig)},
        )
        need_int("SharedNetwork", "ranks_per_node", self.ranks_per_node, 1)
        need_name("task mapping", self.task_mapping, MAPPINGS)
        need_int("SharedNetwork", "seed", self.seed, 0)
        if self.threads != "auto":
            need_int("SharedNetwork", "threads", self.threads, 1)

    def streams(self, job: PlacedJob) -> JobStreams:
        """Return the job's generators, as new."""
        return job_streams(self.seed, job.job_id)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the jobs that are kept."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @cached_property
    def _known(self) -> dict[Hashable, Any]:
        """Ranks' nodes, least and computing times of recent jobs: loops look them up."""
        return {}

    def rank_node(self, job: PlacedJob) -> NDArray[np.int32]:
        """Return the node of each of the job's ranks, (n_ranks,) int32."""
        key = job.task_mapping, job.sent_id, job.nodes.tobytes()
        if key not in self._known:
            topology = self.routing.topology
            topology.need_one_island(f"job {job.job_id}", job.nodes)
            name, rails = job.task_mapping or self.task_mapping, gpus_per_server(topology)
            mapping = job_streams(self.seed, job.sent_id).mapping
            nodes = map_ranks(name, job.nodes, self.ranks_per_node, mapping, rails)
            remember(self._known, key, nodes, _KEPT)
        return np.asarray(self._known[key])

    def least_s(self, job: PlacedJob) -> float:
        """Return a time that no iteration of a job is below; 0 for one that sends nothing."""
        key = id(job.communication), job.task_mapping, job.sent_id, job.nodes.tobytes()
        if key not in self._known:
            placed = self.routing.topology, self.program(job, 1), self.rank_node(job)
            # the communication is kept, so that no other one gets its id
            found = least_iteration_s(*placed), job.communication
            remember(self._known, key, found, _KEPT)
        return float(self._known[key][0])

    def computing_s(self, job: PlacedJob, iterations: int) -> float | FloatArray:
        """Return the computing time before each iteration, one number or one per iteration."""
        computing_s: float | FloatArray = job.compute_s
        if job.compute_noise:
            key = job.job_id, job.compute_s, job.compute_noise
            drawn_s = self._known.get(key, ())
            # the first of more times are the same
            if len(drawn_s) < iterations:
                rng = self.streams(job).computing
                drawn_s = noisy(job.compute_s, job.compute_noise, iterations, rng)
                remember(self._known, key, drawn_s, _KEPT)
            computing_s = drawn_s[:iterations]
        if job.communicates_first:
            computing_s = np.where(np.arange(iterations) > 0, computing_s, 0.0)
        return computing_s

    def program(self, job: PlacedJob, iterations: int) -> Program:
        """Return the program of a number of iterations, without computing between them."""
        n_ranks, streams = len(job.nodes) * self.ranks_per_node, job_streams(self.seed, job.sent_id)
        return job.communication.shared_program(n_ranks, iterations, streams)
