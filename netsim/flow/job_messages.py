"""Traffic of a job, independent of its nodes: pairs of its nodes, and the followed messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.packet.model import PacketConfig
from netsim.traffic import Program

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]

MAX_RANKS = 64
"""Streams of ranks that are followed, evenly spaced; the job takes as long as the slowest of
them."""
MAX_STEPS = 16
"""Number of steps of an iteration that are followed, evenly spaced, as a sample of all."""


@dataclass(frozen=True, eq=False)
class JobMessages:
    """One iteration of a job; nodes are numbered by their place in the job's node list.

    Messages inside a node are left out. Bytes are those on the wire, headers included.
    """

    pair_src: LongArray
    pair_dst: LongArray
    """pair_src, pair_dst: (p,) int64. Pairs of nodes that exchange anything."""
    pair_bytes: FloatArray
    """(p,) float64."""
    used_pairs: LongArray
    """(u,) int64. The pairs of followed messages, ascending."""
    pair: LongArray
    """(m,) int64. Index into ``used_pairs`` of each message of the followed steps."""
    step: LongArray
    """(m,) int64. Followed steps are renumbered from 0."""
    n_bytes: FloatArray
    """(m,) float64."""
    traced: LongArray
    """(t,) int64. The messages of ranks that are followed, by rank and step."""
    rank_ptr: LongArray
    step_ptr: LongArray
    """rank_ptr, step_ptr: int64. Stream ``r`` of those followed has the steps ``rank_ptr[r] ..
    rank_ptr[r+1]-1``, step ``s`` the traced messages ``step_ptr[s] .. step_ptr[s+1]-1``."""
    n_packets: FloatArray
    compute_s: FloatArray
    """n_packets, compute_s: (t,) float64. Packets of each traced message, and the computing before
    its step."""
    trips: FloatArray
    """(t,) float64. How often it crosses the path: 3 by rendezvous, else 1."""
    scale: float
    """Steps of the iteration over steps followed."""
    packet_bytes: float
    """Mean packet."""
    computing_s: float
    """Computing of a rank, on average."""

    @property
    def n_numbers(self) -> int:
        """Numbers that it keeps, roughly."""
        return 3 * len(self.pair_src) + 3 * len(self.pair) + 4 * len(self.traced)


def job_messages(program: Program, ranks_per_node: int, config: PacketConfig) -> JobMessages:
    """Return the pairs and the followed messages of a program.

    Parameters
    ----------
    program : Program
        One iteration.
    ranks_per_node : int
        Rank ``r`` sits on node ``r // ranks_per_node`` of the job.
    config : PacketConfig
        For the sizes of packets.
    """
    step = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    stream = np.repeat(np.arange(program.n_streams), np.diff(program.step_ptr))[step]
    rank = program.stream_rank()[stream]
    src, dst = rank // ranks_per_node, program.send_dst.astype(np.int64) // ranks_per_node
    away = src != dst
    step, stream, src, dst = step[away], stream[away], src[away], dst[away]
    compute_s = program.compute_s[step]
    local = step - program.step_ptr[stream]
    n_packets = np.ceil(program.send_bytes[away] / config.packet_bytes)
    limit = np.inf if config.eager_limit_bytes is None else config.eager_limit_bytes
    trips = np.where(program.send_bytes[away] > limit, 3.0, 1.0)
    n_bytes = program.send_bytes[away] + n_packets * config.header_bytes
    n_nodes = max(1, program.n_ranks // ranks_per_node)
    pairs, pair = np.unique(src * n_nodes + dst, return_inverse=True)
    steps, number = np.unique(local, return_inverse=True)
    place = np.full(len(steps), -1, dtype=np.int64)
    place[_spaced(len(steps), MAX_STEPS)] = np.arange(min(MAX_STEPS, len(steps)))
    short = place[number.ravel()]
    kept = np.flatnonzero(short >= 0)
    used_pairs, used = np.unique(pair.ravel()[kept], return_inverse=True)
    streams, who = np.unique(stream[kept], return_inverse=True)
    traced = np.flatnonzero(np.isin(who.ravel(), _spaced(len(streams), MAX_RANKS)))
    traced = traced[np.lexsort((traced, short[kept[traced]], stream[kept[traced]]))]
    of = kept[traced]
    new_rank = np.diff(stream[of], prepend=-1) != 0
    new_step = new_rank | (np.diff(short[of], prepend=-1) != 0)
    return JobMessages(
        pair_src=pairs // n_nodes,
        pair_dst=pairs % n_nodes,
        pair_bytes=np.asarray(
            np.bincount(pair.ravel(), weights=n_bytes, minlength=len(pairs)), dtype=np.float64
        ),
        used_pairs=used_pairs,
        pair=used.ravel(),
        step=short[kept],
        n_bytes=n_bytes[kept],
        traced=traced,
        rank_ptr=np.append(np.flatnonzero(new_rank[new_step]), np.count_nonzero(new_step)),
        step_ptr=np.append(np.flatnonzero(new_step), len(of)),
        n_packets=n_packets[of],
        compute_s=compute_s[of],
        trips=trips[of],
        scale=len(steps) / max(1, min(MAX_STEPS, len(steps))),
        packet_bytes=float(n_bytes.sum() / max(1.0, n_packets.sum())),
        computing_s=float(program.compute_s.sum()) / program.n_ranks,
    )


def _spaced(n: int, most: int) -> LongArray:
    """Return at most ``most`` of 0 .. n-1, evenly spaced, including both ends."""
    return np.linspace(0, n - 1, min(most, n)).round().astype(np.int64)
