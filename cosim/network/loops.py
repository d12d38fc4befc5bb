"""Jobs that repeat their iteration until a moment: how often they can, and how often they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cosim.network.job_times import exposed_times_s
from netsim.packet.model import PS_PER_S, PacketResult
from netsim.topology import Topology
from netsim.traffic import Program, Traffic


@dataclass(frozen=True, eq=False)
class LoopTimes:
    """Times of jobs that repeat their iteration until the run is cut."""

    time_s: NDArray[np.float64]
    """(n_jobs,) float64. Mean time of the complete iterations, computing among them; nan without
    any."""
    iterations: NDArray[np.int64]
    """(n_jobs,) int64. How many were complete."""
    packets: PacketResult
    """With the times of all messages."""
    ends_ps: tuple[NDArray[np.int64], ...]
    """Tuple of (iterations,) int64. By job, when each complete iteration ended: when its last
    message had arrived."""
    exposed_s: tuple[dict[str, float], ...] = ()
    """As `cosim.network.job_times.PacketTimes` has it, of an iteration: ``time_s`` times the share
    of the whole run for which ranks have waited."""

    def first(self, n_jobs: int) -> LoopTimes:
        """Return the times of the first jobs; the packets are those of all."""
        mine = slice(n_jobs)
        return replace(
            self,
            time_s=self.time_s[mine],
            iterations=self.iterations[mine],
            ends_ps=self.ends_ps[mine],
            exposed_s=self.exposed_s[mine],
        )


def without_messages(result: PacketResult) -> PacketResult:
    """Return a packet simulation without the times of its messages."""
    none = np.empty(0, dtype=np.int64)
    return replace(result, message_post_ps=none, message_finish_ps=none)


def least_iteration_s(topology: Topology, once: Program, rank_node: NDArray[np.int32]) -> float:
    """Return the least iteration time: the busiest node's bytes over its links; 0 without any."""
    src, dst = rank_node[once.send_src()], rank_node[once.send_dst]
    n_bytes = np.where(src == dst, 0, once.send_bytes)
    n, rails = topology.n_nodes, topology.rails
    ends = np.concatenate([np.bincount(src, n_bytes, n), np.bincount(dst, n_bytes, n)])
    of_node = topology.link_bandwidth_Bps[: topology.first_router_link].reshape(2 * n, rails)
    return float((ends / of_node.sum(axis=1)).max())


def complete_iterations(
    traffic: Traffic,
    counts: NDArray[np.int64],
    result: PacketResult,
    start_ps: NDArray[np.int64],
) -> LoopTimes:
    """Time the iterations whose messages have all arrived.

    Parameters
    ----------
    traffic : Traffic
        Each stream of a group has as many steps in each iteration.
    counts : (n_groups,) int64
        Iterations of each group's program.
    result : PacketResult
        Of a run that recorded messages.
    start_ps : (n_groups,) int64
    """
    program, rank_group = traffic.program, traffic.rank_group
    # of each step: its iteration follows from its place in its stream
    steps, first = np.diff(program.step_ptr), program.step_ptr[:-1]
    per_iteration = steps // counts[rank_group[program.stream_rank()]]
    place = np.arange(program.n_steps) - np.repeat(first, steps)
    iteration = (place // np.repeat(per_iteration, steps))[program.send_step]
    time_s, done = np.full(len(counts), np.nan), np.zeros(len(counts), dtype=np.int64)
    ends_ps = []
    # Invariant: ranks are in the order of their groups, and messages in that of their senders
    first_rank = np.searchsorted(rank_group, np.arange(len(counts) + 1))
    ptr = program.send_ptr[program.rank_step_ptr[first_rank]].tolist()
    for g, count in enumerate(counts.tolist()):
        sent = slice(ptr[g], ptr[g + 1])
        finish_ps, of_iteration = result.message_finish_ps[sent], iteration[sent]
        last_ps = np.zeros(count, dtype=np.int64)
        np.maximum.at(last_ps, of_iteration, finish_ps)
        unfinished = of_iteration[finish_ps < 0]
        done[g] = unfinished.min() if len(unfinished) else count
        if done[g]:
            time_s[g] = (last_ps[done[g] - 1] - start_ps[g]) / PS_PER_S / done[g]
        ends_ps.append(last_ps[: done[g]])
    share_of_run = time_s * PS_PER_S / (result.end_ps - start_ps)
    exposed_s = tuple(
        {kind: float(spent_s * share) for kind, spent_s in job.items()}
        for job, share in zip(exposed_times_s(traffic, result), share_of_run, strict=True)
    )
    return LoopTimes(time_s, done, result, tuple(ends_ps), exposed_s)


LEAST_COUNTED = 4
"""Iterations that a job must have done for a mean to be taken."""


def first_counted(done: NDArray[np.int64], warm_up: float) -> NDArray[np.int64]:
    """Return how many complete iterations are left out: a fraction of them, at least one."""
    left: NDArray[np.int64] = np.maximum(1, np.floor(warm_up * done)).astype(np.int64)
    return left


def means_s(
    ends_ps: Sequence[NDArray[np.int64]], count: NDArray[np.int64], warm_up: float
) -> NDArray[np.float64]:
    """Return the mean time of the iterations that count, from the ends of all, by job.

    Each job is watched for ``count`` iterations; those after the warm-up count.
    """
    first = first_counted(count, warm_up)
    return np.array(
        [
            (ends[last - 1] - ends[begin - 1]) / PS_PER_S / (last - begin)
            for ends, begin, last in zip(ends_ps, first.tolist(), count.tolist(), strict=True)
        ]
    )
