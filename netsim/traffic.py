"""The traffic of a network: ranks that send, wait and compute, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.kinds import need_array, need_kinds
from netsim.short_repr import short_repr

MAX_KINDS = 7
"""Kinds of communication in a run; the packet engine keeps them in three bits."""


@short_repr()
@dataclass(frozen=True, eq=False)
class Program:
    """A communication program of ``n_ranks`` ranks; ranks only, no nodes.

    Rank ``r`` runs its steps ``step_ptr[r] .. step_ptr[r+1]-1`` in order. A step computes for
    ``compute_s``, then posts its sends one after the other, then waits until ``recv_need`` messages
    that name this step have arrived. Steps have global numbers, so a send names the step *of the
    receiver* that it counts toward; messages that arrive before their step is reached are buffered.
    The order of sends is their order in the arrays, and a send's index is the message's number.

    A rank may have several streams, which work side by side on processors of their own (as CUDA
    streams do): stream ``t`` runs its steps ``step_ptr[t] .. step_ptr[t+1]-1`` in order. Streams of
    a rank wait for each other by messages of 0 bytes, *signals*, which take no time. The processor
    of a stream may be the NIC, which puts and gets are answered by.
    """

    n_ranks: int
    step_ptr: NDArray[np.int64]
    """(n_streams+1,) int64."""
    compute_s: NDArray[np.float64]
    """(n_steps,) float64. Seconds of computing before the sends of a step."""
    recv_need: NDArray[np.int32]
    """(n_steps,) int32. Messages to wait for before the step is left."""
    send_ptr: NDArray[np.int64]
    """(n_steps+1,) int64."""
    send_dst: NDArray[np.int32]
    """(n_messages,) int32. Receiving rank."""
    send_bytes: NDArray[np.int64]
    """(n_messages,) int64. At least 1; 0 for a signal to a stream of the same rank."""
    send_step: NDArray[np.int32]
    """(n_messages,) int32. Global number of the receiver's step that the message counts toward."""
    stream_ptr: NDArray[np.int64] | None = None
    """(n_ranks+1,) int64, optional. Rank ``r`` has the streams ``stream_ptr[r] ..
    stream_ptr[r+1]-1``, at least one, the first of which computes; None: each rank has one."""
    kinds: tuple[str, ...] = ()
    """Kinds of communication that are timed, at most `MAX_KINDS`."""
    step_kind: NDArray[np.int8] | None = None
    """(n_steps,) int8, optional. The kind that a step is part of, from its begin to its end: k for
    ``kinds[k - 1]``, 0 for none. Needed if there are ``kinds``."""

    step_waits_sends: NDArray[np.bool_] | None = None
    """(n_steps,) bool, optional. Whether a step is left only when all messages that its stream has
    sent so far have left the node, as after `MPI_Waitall` of sends."""
    step_start_s: NDArray[np.float64] | None = None
    """(n_steps,) float64, optional. Seconds after the group's start before which a step does not
    compute or send."""
    nic_stream: NDArray[np.bool_] | None = None
    """(n_streams,) bool, optional. Whether a stream is the NIC's: its sends and receipts take no
    time, and messages to and from it are one-sided, without rendezvous or a copy."""

    @property
    def n_streams(self) -> int:
        """Streams of all ranks together."""
        return len(self.step_ptr) - 1

    @property
    def rank_step_ptr(self) -> NDArray[np.int64]:
        """(n_ranks+1,) int64: first step of each rank."""
        return self.step_ptr if self.stream_ptr is None else self.step_ptr[self.stream_ptr]

    @property
    def n_steps(self) -> int:
        """Steps of all ranks together."""
        return len(self.recv_need)

    @property
    def n_messages(self) -> int:
        """Messages of all ranks together."""
        return len(self.send_dst)

    @property
    def total_bytes(self) -> int:
        """Payload bytes of all messages."""
        return int(self.send_bytes.sum())

    def send_src(self) -> NDArray[np.int32]:
        """Return the sending rank of each message, (n_messages,) int32."""
        steps = np.repeat(np.arange(self.n_steps), np.diff(self.send_ptr))
        owner = np.repeat(np.arange(self.n_ranks), np.diff(self.rank_step_ptr))
        return np.asarray(owner[steps], dtype=np.int32)

    def stream_rank(self) -> NDArray[np.int64]:
        """Return the rank of each stream, (n_streams,) int64."""
        streams = 1 if self.stream_ptr is None else np.diff(self.stream_ptr)
        return np.repeat(np.arange(self.n_ranks), streams)

    def send_stream(self) -> NDArray[np.int32]:
        """Return the receiving stream of each message, (n_messages,) int32."""
        if self.stream_ptr is None:
            return self.send_dst
        owner = np.repeat(np.arange(self.n_streams, dtype=np.int32), np.diff(self.step_ptr))
        return owner[self.send_step]

    def send_stream_from(self) -> NDArray[np.int32]:
        """Return the sending stream of each message, (n_messages,) int32."""
        owner = np.repeat(np.arange(self.n_streams, dtype=np.int32), np.diff(self.step_ptr))
        return np.repeat(owner, np.diff(self.send_ptr))

    def nic_ends(self) -> NDArray[np.bool_]:
        """Return whether a NIC sends and whether one receives each message, (2, n_messages)."""
        if self.nic_stream is None:
            return np.zeros((2, self.n_messages), dtype=np.bool_)
        return self.nic_stream[np.stack([self.send_stream_from(), self.send_stream()])]

    def validate(self) -> None:
        """Raise NetcosimError where a pointer, rank, size or step does not fit."""
        n_steps, n_messages = self.n_steps, self.n_messages
        streams = np.arange(self.n_ranks + 1) if self.stream_ptr is None else self.stream_ptr
        if len(streams) != self.n_ranks + 1 or streams[0] or np.any(np.diff(streams) < 1):
            raise NetcosimError("program: stream_ptr needs one stream or more of each rank")
        if self.n_streams != streams[-1] or self.step_ptr[-1] != n_steps:
            raise NetcosimError("program: step_ptr does not cover the steps")
        kind = self.step_kind
        if len(self.kinds) > MAX_KINDS:
            raise NetcosimError(
                f"program: {len(self.kinds)} kinds of communication; at most {MAX_KINDS} are timed"
            )
        if self.kinds and (
            kind is None
            or len(kind) != n_steps
            or (n_steps and not 0 <= kind.min() <= kind.max() <= len(self.kinds))
        ):
            raise NetcosimError(f"program: step_kind needs 0..{len(self.kinds)} for each step")
        if len(self.send_ptr) != n_steps + 1 or self.send_ptr[-1] != n_messages:
            raise NetcosimError("program: send_ptr does not cover the messages")
        for name in ("step_ptr", "send_ptr"):
            pointers = getattr(self, name)
            if pointers[0] or np.any(np.diff(pointers) < 0):
                raise NetcosimError(f"program: {name} must start at 0 and not fall")
        if len(self.compute_s) != n_steps or not np.all(
            (self.compute_s >= 0) & (self.compute_s < np.inf)
        ):
            raise NetcosimError("program: compute_s needs one finite value >= 0 a step")
        if self.step_waits_sends is not None and len(self.step_waits_sends) != n_steps:
            raise NetcosimError("program: step_waits_sends needs one value a step")
        if self.nic_stream is not None and len(self.nic_stream) != self.n_streams:
            raise NetcosimError("program: nic_stream needs one value a stream")
        start = self.step_start_s
        if start is not None and (
            len(start) != n_steps or not np.all((start >= 0) & (start < np.inf))
        ):
            raise NetcosimError("program: step_start_s needs one finite value >= 0 a step")
        if not len(self.send_dst) == len(self.send_bytes) == len(self.send_step):
            raise NetcosimError("program: send_dst, send_bytes, send_step differ in length")
        if n_messages == 0:
            return
        if self.send_dst.min() < 0 or self.send_dst.max() >= self.n_ranks:
            raise NetcosimError(f"program: a receiver is outside ranks 0..{self.n_ranks - 1}")
        first = self.rank_step_ptr
        low, high = first[self.send_dst], first[self.send_dst + 1]
        if np.any((self.send_step < low) | (self.send_step >= high)):
            raise NetcosimError("program: a message counts toward a step of another rank")
        if self.send_bytes.min() < 1:
            empty = np.flatnonzero(self.send_bytes < 1)
            if self.send_bytes.min() < 0 or np.any(self.send_src()[empty] != self.send_dst[empty]):
                raise NetcosimError("program: a message to another rank has fewer than 1 byte")


@short_repr()
@dataclass(frozen=True, eq=False)
class Traffic:
    """Programs put on nodes: what an engine runs."""

    program: Program
    """All groups' ranks, one after the other (see `combine`)."""
    rank_node: NDArray[np.int32]
    """(n_ranks,) int32. Node of each rank. Ranks of one node share its injection link."""
    rank_group: NDArray[np.int32]
    """(n_ranks,) int32. Group (a job, to those who know jobs) of each rank, ``0 .. n_groups-1``."""
    start_s: NDArray[np.float64]
    """(n_groups,) float64. When the ranks of a group begin their first step."""
    group_key: NDArray[np.int64] | None = None
    """(n_groups,) int64, optional. Random numbers of the routing: a group's messages are numbered
    from here on for it, so that groups of one key draw the same in any company. Without it messages
    are numbered through."""
    group_priority: NDArray[np.int64] | None = None
    """(n_groups,) int64, optional. Priority of each group's messages, 0 to 7: a link serves the
    highest first. All 0 without."""
    group_loops: NDArray[np.bool_] | None = None
    """(n_groups,) bool, optional. Whether a group runs its program again and again until all other
    groups have finished; the run ends then."""

    @property
    def loops(self) -> NDArray[np.bool_]:
        """(n_groups,) bool: `group_loops`, or that none does."""
        if self.group_loops is None:
            return np.zeros(self.n_groups, dtype=np.bool_)
        return self.group_loops

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.start_s)

    def random_shift(self) -> NDArray[np.int64]:
        """Return the shift of message numbers (mod 2^64) for random draws, (n_groups,) int64."""
        if self.group_key is None:
            return np.zeros(self.n_groups, dtype=np.int64)
        first_rank = np.searchsorted(self.rank_group, np.arange(self.n_groups))
        first_step = self.program.rank_step_ptr[first_rank]
        return self.group_key - self.program.send_ptr[first_step]

    def priority_classes(self) -> tuple[NDArray[np.int64], int]:
        """Return each group's class among the priorities, 0 the highest, and their number."""
        if self.group_priority is None:
            return np.zeros(self.n_groups, dtype=np.int64), 1
        priorities, place = np.unique(self.group_priority, return_inverse=True)
        return np.asarray(len(priorities) - 1 - place.ravel(), dtype=np.int64), max(
            1, len(priorities)
        )


PRIORITIES = 8
"""Classes that a link distinguishes, as IEEE 802.1Q does."""


def _joined_times(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Concatenate times; all-zero results come from `numpy.zeros`, which allocates lazily."""
    if any(part.any() for part in parts):
        return np.concatenate(parts).astype(np.float64)
    return np.zeros(sum(map(len, parts)))


def _renumbered(program: Program, kinds: tuple[str, ...]) -> NDArray[np.int8]:
    """Return the kind of each step by its number among more kinds."""
    if program.step_kind is None:
        return np.zeros(program.n_steps, dtype=np.int8)
    number = [0, *(kinds.index(kind) + 1 for kind in program.kinds)]
    return np.array(number, dtype=np.int8)[program.step_kind]


def _joined(
    programs: Sequence[Program], name: str, dtype: type, count: str = "n_steps"
) -> NDArray[Any] | None:
    """Concatenate what some programs state of each of their steps; 0 for those of the others."""
    parts = [getattr(program, name) for program in programs]
    if all(part is None for part in parts):
        return None
    given = zip(parts, [getattr(program, count) for program in programs], strict=True)
    return np.concatenate([np.zeros(n, dtype) if x is None else x for x, n in given])


def combine(
    programs: Sequence[Program],
    rank_nodes: Sequence[np.ndarray],
    start_s: Sequence[float] | None = None,
    group_key: Sequence[int] | None = None,
    group_priority: Sequence[int] | None = None,
    group_loops: Sequence[bool] | None = None,
) -> Traffic:
    """Join several programs, each on its own nodes, into one Traffic.

    Parameters
    ----------
    programs : sequence of Program
    rank_nodes : sequence of (program.n_ranks,) int
    start_s : sequence of float, optional
        Start of each group; all zero if left out.
    group_key, group_priority, group_loops : sequence, optional
        See `Traffic`.

    Examples
    --------
    Two jobs of two ranks, the second one starts a millisecond later:

    >>> import netcosim as nc
    >>> import numpy as np
    >>> pair = nc.make_pattern("bisection-pairing", 2, 1000, 1, np.random.default_rng(1))
    >>> traffic = nc.combine([pair, pair], [np.array([0, 4]), np.array([1, 5])], [0.0, 1e-3])
    >>> traffic.n_groups, traffic.rank_node.tolist()
    (2, [0, 4, 1, 5])
    """
    _check_groups(programs, rank_nodes)
    n, keys, priorities = len(programs), None, None
    starts = np.zeros(n) if start_s is None else start_s
    starts = need_array("combine", "start_s", starts, n, high=1e300, real=True).astype(float)
    if group_key is not None:
        keys = need_array("combine", "group_key", group_key, n, low=-(2**63), high=2**63)
        keys = keys.astype(np.int64)
    if group_priority is not None:
        priorities = need_array("combine", "group_priority", group_priority, n, high=PRIORITIES - 1)
        priorities = priorities.astype(np.int64)
    return Traffic(
        program=_one_program(programs),
        rank_node=np.concatenate(list(rank_nodes)).astype(np.int32),
        rank_group=np.repeat(np.arange(n, dtype=np.int32), [p.n_ranks for p in programs]),
        start_s=starts,
        group_key=keys,
        group_priority=priorities,
        group_loops=None if group_loops is None else np.array(group_loops, dtype=np.bool_),
    )


def _check_groups(programs: Sequence[Program], rank_nodes: Sequence[np.ndarray]) -> None:
    """Raise NetcosimError unless each program has a node for each rank."""
    need_kinds("combine", {"programs": (programs, Sequence)})
    need_kinds("combine", {"rank_nodes": (rank_nodes, (Sequence, np.ndarray))})
    for number, program in enumerate(programs):
        need_kinds("combine", {f"programs[{number}]": (program, Program)})
    if not programs or len(programs) != len(rank_nodes):
        raise NetcosimError(f"{len(programs)} programs but {len(rank_nodes)} rank lists")
    for g, (p, nodes) in enumerate(zip(programs, rank_nodes, strict=True)):
        placed = need_array(f"group {g}", "rank_nodes", nodes)
        if p.n_ranks != len(placed):
            raise NetcosimError(f"group {g}: {p.n_ranks} ranks but {len(placed)} rank nodes")


def _one_program(programs: Sequence[Program]) -> Program:
    """Return one program of all ranks, those of the first program first."""
    rank0 = np.cumsum([0] + [p.n_ranks for p in programs])
    stream0 = np.cumsum([0] + [p.n_streams for p in programs])
    step0 = np.cumsum([0] + [p.n_steps for p in programs])
    send0 = np.cumsum([0] + [p.n_messages for p in programs])

    def ptr(parts: list[np.ndarray], offsets: np.ndarray) -> NDArray[np.int64]:
        shifted = [a[:-1] + o for a, o in zip(parts, offsets, strict=False)]
        return np.concatenate([*shifted, [offsets[-1]]]).astype(np.int64)

    streams = None
    if any(p.stream_ptr is not None for p in programs):
        one_each = (np.arange(p.n_ranks + 1) for p in programs)
        given = zip(programs, one_each, strict=True)
        streams = ptr([x if p.stream_ptr is None else p.stream_ptr for p, x in given], stream0)
    kinds = tuple(dict.fromkeys(kind for p in programs for kind in p.kinds))
    return Program(
        n_ranks=int(rank0[-1]),
        step_ptr=ptr([p.step_ptr for p in programs], step0),
        compute_s=_joined_times([p.compute_s for p in programs]),
        recv_need=np.concatenate([p.recv_need for p in programs]).astype(np.int32),
        send_ptr=ptr([p.send_ptr for p in programs], send0),
        send_dst=np.concatenate(
            [p.send_dst + o for p, o in zip(programs, rank0, strict=False)]
        ).astype(np.int32),
        send_bytes=np.concatenate([p.send_bytes for p in programs]).astype(np.int64),
        send_step=np.concatenate(
            [p.send_step + o for p, o in zip(programs, step0, strict=False)]
        ).astype(np.int32),
        stream_ptr=streams,
        kinds=kinds,
        step_kind=np.concatenate([_renumbered(p, kinds) for p in programs]) if kinds else None,
        step_waits_sends=_joined(programs, "step_waits_sends", np.bool_),
        step_start_s=_joined(programs, "step_start_s", np.float64),
        nic_stream=_joined(programs, "nic_stream", np.bool_, "n_streams"),
    )
