"""Jobs with draws of their own: the same job, elsewhere or in other company, sends the same.

In `queuesim.communication` all jobs of a run share one generator. Here each job has streams that
depend on the seed and the job's id alone, so its messages are the same on any nodes, under any
policy, alone or with others, and its times can be compared job by job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, to_ps
from netsim.routing.base import Routing
from netsim.traffic import Program, combine
from patterns.mapping import map_ranks
from queuesim.communication import Communication


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A job that communicates.

    Attributes
    ----------
    job_id : int
    communication : Communication
    nodes : (k,) int32
        In the order of the placement.
    compute_s : float
        Computing before each iteration.
    start_s : float
        When it begins.
    """

    job_id: int
    communication: Communication
    nodes: NDArray[np.int32]
    compute_s: float = 0.0
    start_s: float = 0.0


def with_compute(program: Program, iterations: int, compute_s: float) -> Program:
    """Every rank computes so long before each of the program's equal iterations.

    Raises
    ------
    NetcosimError
        Ranks whose steps do not divide into that many iterations.
    """
    steps = np.diff(program.step_ptr)
    if iterations < 1 or np.any(steps % iterations):
        raise NetcosimError(f"{iterations} iterations do not divide the steps of every rank")
    place = np.arange(program.n_steps) - np.repeat(program.step_ptr[:-1], steps)
    first = place % np.repeat(np.maximum(steps // iterations, 1), steps) == 0
    return replace(program, compute_s=program.compute_s + np.where(first, compute_s, 0.0))


def job_times_ps(
    routing: Routing,
    jobs: Sequence[PlacedJob],
    config: PacketConfig,
    *,
    ranks_per_node: int = 1,
    task_mapping: str = "in-order",
    seed: int,
    routing_rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Let all jobs communicate on one network: time of each from its start to its last rank's end.

    Parameters
    ----------
    routing : Routing
    jobs : sequence of PlacedJob
    config : PacketConfig
    ranks_per_node : int
    task_mapping : str
        A name of `patterns.mapping.MAPPINGS`.
    seed : int
        Of random patterns and mappings, job by job.
    routing_rng : numpy.random.Generator

    Returns
    -------
    (n_jobs,) int64
        Picoseconds.
    """
    programs, rank_nodes = [], []
    for job in jobs:
        mapping_rng, pattern_rng = np.random.default_rng([seed, job.job_id]).spawn(2)
        ranks = map_ranks(task_mapping, job.nodes, ranks_per_node, mapping_rng)
        program = job.communication.program(len(ranks), pattern_rng)
        if job.compute_s:
            program = with_compute(program, job.communication.iterations, job.compute_s)
        programs.append(program)
        rank_nodes.append(ranks)
    start_s = [job.start_s for job in jobs]
    traffic = combine(programs, rank_nodes, start_s)
    result = simulate_packets(routing, traffic, config, routing_rng, record_messages=False)
    started = np.array([to_ps(s) for s in start_s], dtype=np.int64)
    return np.asarray(result.group_finish_ps - started)
