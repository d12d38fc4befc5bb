"""Several placed jobs communicate at once: the packets of all of them on one network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.routing.partition import partition_routing
from netsim.traffic import Traffic, combine
from patterns.mapping import map_ranks
from queuesim.communication import Communication

FloatArray = NDArray[np.float64]


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
    """The machine's routing, but on a fat-tree jobs with links of their own keep to them."""
    linked = [(place.nodes, place.links) for place in placements if len(place.links)]
    if not linked or routing.topology.family != "fattree":
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
