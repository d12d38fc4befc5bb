"""Several placed jobs communicate at once: the packets of all of them on one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.routing.partition import partition_routing
from netsim.topologies.registry import family_of
from netsim.traffic import Program, Traffic, combine
from patterns.mapping import map_ranks
from patterns.registry import make_pattern

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Communication:
    """What a job sends.

    Attributes
    ----------
    pattern : str
        A name of `patterns.registry.PATTERNS`.
    message_bytes : int
    iterations : int
    parameters : mapping
        The pattern's own parameters.

    Examples
    --------
    >>> import netcosim as nc
    >>> nc.Communication("all-to-all", message_bytes=2000).iterations
    1
    """

    pattern: str
    message_bytes: int = 1000
    iterations: int = 1
    parameters: Mapping[str, object] = field(default_factory=dict)

    def program(self, n_ranks: int, rng: np.random.Generator) -> Program:
        """The communication program of a job of ``n_ranks`` ranks."""
        return make_pattern(
            self.pattern, n_ranks, self.message_bytes, self.iterations, rng, self.parameters
        )


@dataclass(frozen=True, eq=False)
class MultiJobResult:
    """What a run of several jobs gave.

    Attributes
    ----------
    time_s : (n_jobs,) float64
        From the start to the last rank's end.
    rank0_time_s : (n_jobs,) float64
        To the end of rank 0, or of the last rank in a broadcast, whose rank 0 only sends: the
        measure of the Level-Spread authors' simulator.
    packets : PacketResult
    """

    time_s: FloatArray
    rank0_time_s: FloatArray
    packets: PacketResult


def routing_of(routing: Routing, placements: Sequence[Placement]) -> Routing:
    """The machine's routing; jobs with links of their own keep to them where the family can."""
    linked = [(place.nodes, place.links) for place in placements if len(place.links)]
    if not linked or not family_of(routing.topology).keeps_own_links:
        return routing
    return partition_routing(routing.topology, linked)


def job_traffic(
    jobs: Sequence[tuple[Communication, NDArray[np.int32]]],
    *,
    ranks_per_node: int,
    task_mapping: str,
    rng: np.random.Generator,
) -> Traffic:
    """Programs and rank placement of jobs that all start at once.

    Parameters
    ----------
    jobs : sequence of (Communication, (k,) node numbers)
        What each job sends and where it sits.
    ranks_per_node : int
    task_mapping : str
        A name of `patterns.mapping.MAPPINGS`.
    rng : numpy.random.Generator
        For random mappings and random patterns, job by job in order.
    """
    if not jobs:
        raise NetcosimError("no jobs to run: give at least 1")
    programs, rank_nodes = [], []
    for communication, nodes in jobs:
        rank_node = map_ranks(task_mapping, nodes, ranks_per_node, rng)
        programs.append(communication.program(len(rank_node), rng))
        rank_nodes.append(rank_node)
    return combine(programs, rank_nodes)


def run_jobs(
    routing: Routing,
    jobs: Sequence[tuple[Communication, NDArray[np.int32]]],
    config: PacketConfig,
    *,
    ranks_per_node: int,
    task_mapping: str,
    mapping_rng: np.random.Generator,
    routing_rng: np.random.Generator,
) -> MultiJobResult:
    """Let all jobs communicate at once and time each.

    Parameters
    ----------
    routing : Routing
    jobs : sequence of (Communication, (k,) node numbers)
    config : PacketConfig
    ranks_per_node, task_mapping
        See `job_traffic`.
    mapping_rng, routing_rng : numpy.random.Generator
        Apart, so that policies can share the draws of one and not of the other.

    Examples
    --------
    Two jobs on the same routers of a dragonfly, one of them alone, then both together:

    >>> import netcosim as nc
    >>> import numpy as np
    >>> routing = nc.make_routing(nc.make_topology("dragonfly", {"p": 2, "a": 2, "g": 3}))
    >>> sends = nc.Communication("all-to-all", message_bytes=10_000)
    >>> jobs = [(sends, np.array([0, 2, 4, 6])), (sends, np.array([1, 3, 5, 7]))]
    >>> def time_us(jobs):
    ...     result = nc.run_jobs(
    ...         routing,
    ...         jobs,
    ...         nc.PacketConfig(),
    ...         ranks_per_node=1,
    ...         task_mapping="in-order",
    ...         mapping_rng=np.random.default_rng(1),
    ...         routing_rng=np.random.default_rng(2),
    ...     )
    ...     return (result.time_s * 1e6).round(2).tolist()
    >>> time_us(jobs[:1]), time_us(jobs)
    ([41.24], [77.3, 80.6])
    """
    traffic = job_traffic(
        jobs, ranks_per_node=ranks_per_node, task_mapping=task_mapping, rng=mapping_rng
    )
    result = simulate_packets(routing, traffic, config, routing_rng, record_messages=False)
    first = np.searchsorted(traffic.rank_group, np.arange(len(jobs)))
    last = np.searchsorted(traffic.rank_group, np.arange(len(jobs)), side="right") - 1
    shown = np.where([c.pattern == "broadcast" for c, _ in jobs], last, first)
    return MultiJobResult(
        time_s=result.group_finish_ps / PS_PER_S,
        rank0_time_s=result.rank_finish_ps[shown] / PS_PER_S,
        packets=result,
    )
