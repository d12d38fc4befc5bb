"""Traffic of a job, independent of its nodes: pairs of its nodes, and the followed messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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
    order: LongArray
    """(s,) int64. The steps in an order in which each comes after those whose messages it needs."""
    waiter: LongArray
    """(t,) int64. The step that waits for the message: ``s`` + stream for the stream's next
    iteration, ``s`` + streams for none that is followed."""
    chain: LongArray
    """(t,) int64. The same for messages of a stream to the same node, numbered from 0."""
    compute_s: FloatArray
    """(s,) float64. Computing before the step."""
    n_packets: FloatArray
    """(t,) float64. Packets of each traced message."""
    trips: FloatArray
    """(t,) float64. How often it crosses the path: 3 by rendezvous, else 1."""
    scale: float
    """Steps of the iteration over steps followed."""
    packet_bytes: float
    """Mean packet."""
    train: float
    """Packets of a message that can be in one buffer, on average; at least 1."""
    buffer: float
    """Packets of a buffer."""
    computing_s: float
    """Computing of a rank, on average."""

    @property
    def n_numbers(self) -> int:
        """Numbers that it keeps, roughly."""
        return 3 * len(self.pair_src) + 3 * len(self.pair) + 4 * len(self.traced)


class _Sends(NamedTuple):
    """Messages of an iteration that leave their nodes, by stream and step."""

    step: LongArray
    stream: LongArray
    src: LongArray
    dst: LongArray
    target: LongArray
    """The step that the message counts toward."""
    n_packets: FloatArray
    n_bytes: FloatArray
    trips: FloatArray


def _sends(program: Program, ranks_per_node: int, config: PacketConfig) -> _Sends:
    step = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    stream = np.repeat(np.arange(program.n_streams), np.diff(program.step_ptr))[step]
    src = program.stream_rank()[stream] // ranks_per_node
    dst = program.send_dst.astype(np.int64) // ranks_per_node
    n_packets = np.ceil(program.send_bytes / config.packet_bytes)
    n_bytes = program.send_bytes + n_packets * config.header_bytes
    limit = np.inf if config.eager_limit_bytes is None else config.eager_limit_bytes
    one_sided = program.nic_ends().any(axis=0)
    trips = np.where((program.send_bytes > limit) & ~one_sided, 3.0, 1.0)
    target = program.send_step.astype(np.int64)
    columns: tuple[NDArray[Any], ...] = step, stream, src, dst, target, n_packets, n_bytes, trips
    return _Sends(*(column[src != dst] for column in columns))


def job_messages(program: Program, ranks_per_node: int, config: PacketConfig) -> JobMessages:
    """Return the pairs and the followed messages of a program, which is one iteration.

    Rank ``r`` sits on node ``r // ranks_per_node`` of the job.
    """
    sends = _sends(program, ranks_per_node, config)
    n_nodes = max(1, program.n_ranks // ranks_per_node)
    pairs, pair = np.unique(sends.src * n_nodes + sends.dst, return_inverse=True)
    pair_bytes = np.bincount(pair.ravel(), weights=sends.n_bytes, minlength=len(pairs))
    local = sends.step - program.step_ptr[sends.stream]
    steps, number = np.unique(local, return_inverse=True)
    spaced = _spaced(len(steps), MAX_STEPS)
    kept = np.flatnonzero(np.isin(number.ravel(), spaced))
    short = np.searchsorted(spaced, number.ravel())  # of the kept ones
    used_pairs, used = np.unique(pair.ravel()[kept], return_inverse=True)
    streams, who = np.unique(sends.stream[kept], return_inverse=True)
    traced = np.flatnonzero(np.isin(who.ravel(), _spaced(len(streams), MAX_RANKS)))
    traced = traced[np.lexsort((traced, short[kept[traced]], sends.stream[kept[traced]]))]
    of = kept[traced]
    new_rank = np.diff(sends.stream[of], prepend=-1) != 0
    new_step = new_rank | (np.diff(short[of], prepend=-1) != 0)
    rank_ptr = np.append(np.flatnonzero(new_rank[new_step]), np.count_nonzero(new_step))
    local_step = short[of][new_step]
    waiter = _waiters(program, sends.target[of], streams, steps[spaced], rank_ptr, local_step)
    chains = sends.stream[of] * len(used_pairs) + used.ravel()[traced]
    n_packets = sends.n_packets
    most = max(1, config.buffer_bytes // config.packet_bytes)
    return JobMessages(
        pair_src=pairs // n_nodes,
        pair_dst=pairs % n_nodes,
        pair_bytes=np.asarray(pair_bytes, dtype=np.float64),
        used_pairs=used_pairs,
        pair=used.ravel(),
        step=short[kept],
        n_bytes=sends.n_bytes[kept],
        traced=traced,
        rank_ptr=rank_ptr,
        step_ptr=np.append(np.flatnonzero(new_step), len(of)),
        order=_by_need(rank_ptr, np.cumsum(new_step) - 1, waiter),
        waiter=waiter,
        chain=np.unique(chains, return_inverse=True)[1].ravel(),
        compute_s=program.compute_s[sends.step[of][new_step]],
        n_packets=n_packets[of],
        trips=sends.trips[of],
        scale=len(steps) / max(1, min(MAX_STEPS, len(steps))),
        packet_bytes=float(sends.n_bytes.sum() / max(1.0, n_packets.sum())),
        train=float(np.clip(n_packets.sum() / max(1, len(n_packets)), 1, most)),
        buffer=float(most),
        computing_s=float(program.compute_s.sum()) / program.n_ranks,
    )


def _waiters(
    program: Program,
    target: LongArray,
    streams: LongArray,
    steps: LongArray,
    rank_ptr: LongArray,
    local_step: LongArray,
) -> LongArray:
    """Return the followed step that waits for each traced message, as `JobMessages` has it.

    The first followed step after the message's ``target``, of the stream nearest to the receiver's.
    """
    n_followed, n_steps = len(rank_ptr) - 1, len(local_step)
    to = np.searchsorted(program.step_ptr, target, "right") - 1
    at = np.minimum(np.searchsorted(streams, to), max(0, len(streams) - 1))
    sends = streams[at] == to if len(streams) else np.zeros(0, dtype=np.bool_)
    near = np.rint(at * (n_followed - 1) / max(1, len(streams) - 1)).astype(np.int64)
    later = np.searchsorted(steps, target - program.step_ptr[to], "right")
    key = np.repeat(np.arange(n_followed), np.diff(rank_ptr)) * (MAX_STEPS + 1) + local_step
    waiter = np.searchsorted(key, near * (MAX_STEPS + 1) + later)
    waiter = np.where(waiter < rank_ptr[near + 1], waiter, n_steps + near)
    return np.where(sends, waiter, n_steps + n_followed)


def _by_need(rank_ptr: LongArray, sender: LongArray, waiter: LongArray) -> LongArray:
    """Return the steps in an order in which each comes after those that it needs."""
    n_steps = int(rank_ptr[-1])
    level = np.arange(n_steps) - np.repeat(rank_ptr[:-1], np.diff(rank_ptr))
    inner = waiter < n_steps
    before, after = sender[inner], waiter[inner]
    within = np.setdiff1d(np.arange(1, n_steps), rank_ptr)
    before, after = np.append(before, within - 1), np.append(after, within)
    # samples of steps and streams can need each other in a ring: cut after as many rounds
    for _ in range(n_steps):
        higher = level.copy()
        np.maximum.at(higher, after, level[before] + 1)
        if np.array_equal(higher, level):
            break
        level = higher
    return np.argsort(level, kind="stable")


def _spaced(n: int, most: int) -> LongArray:
    """Return at most ``most`` of 0 .. n-1, evenly spaced, including both ends."""
    return np.linspace(0, n - 1, min(most, n)).round().astype(np.int64)
