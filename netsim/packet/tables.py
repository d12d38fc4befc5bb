"""The arrays that the packet kernels work on, packed by what they describe. Times are ticks.

Few, wide arrays: a row is a cache line or two, and a compiled function that takes ten arrays
is called for a few nanoseconds where one that takes fifty pays a microsecond.
All lists are linked by index; -1 ends them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

# scalars: SC[...]; N_NODES counts the ports of all nodes; N_MESSAGES is 0 where every message is
# one part on the only rail; REQUEST is the number of a request among the parts, -1 for none;
# HORIZON is the first span of ticks that the fine wheel does not hold, N_LATER what is in later
# ones; the routing looks at no queue from visit LOOKS_VISITS on; FETCH_STARTS: whether what
# starts is looked ahead for; COMMON is the size class of most packets; N_STARTS and N_OPENED count
# what is in `Events`; NEEDS_CREDIT: whether crossings wait for credits; a priority class has
# 1 << CLASS_SHIFT channels of each link, the highest class the first; packets use one channel of
# each link from number ONE_CHANNEL on; a start may be set MOST_AHEAD ticks ahead, but not beyond
# UNTIL, the end of the run, -1 where flows are paced: no start is set ahead then; ROUND counts the
# rounds of input-queued routers, which have PER_CLASS channels for each one of the routing, and
# NODE_CHANNELS on the links of nodes
(NOW, HORIZON, END, PK_FREE, PK_USED, N_PK, CR_FREE, CR_USED, N_CR, N_TIMERS, N_FAR, READY_HEAD,
 READY_TAIL, N_NODES, N_LINKS, VSHIFT, N_VCS, ROUTER_LATENCY, SEND_OVERHEAD, SEED,
 RANDOM_VISITS, ROOM_VC, COMPARES_CREDITS, BUFFER_BYTES, HAS_COMPUTE, HAS_RECV_COST,
 RECORD, HEAD_COUNTS, N_MESSAGES, REQUEST, N_LATER, TRY_FREE, TRY_USED, N_TRIES,
 LOOKS_VISITS, FETCH_STARTS, COMMON, N_STARTS, N_OPENED, NEEDS_CREDIT,
 CLASS_SHIFT, ONE_CHANNEL, MOST_AHEAD, UNTIL, ROUND, PER_CLASS,
 NODE_CHANNELS, CROSSING_OVERHEAD) = range(48)  # fmt: skip
N_SCALARS = 48


def _fields(n: int) -> tuple[np.uint64, ...]:
    """Return column numbers, unsigned, so that compiled indexing has no check for negative ones."""
    return tuple(np.uint64(i) for i in range(n))


# links: L[link, ...], a cache line each. TRY_TICK is when the link will be tried; VCS a mask of the
# channels in whose FIFO packets wait (of a port's link: in whose queue parts of messages wait), and
# from bit 32 on one of those up to the one served last in each priority class
(FREE_AT, WAITING, TRY_TICK, VCS, STALL_START, LATENCY, BANDWIDTH, PACKETS) = _fields(8)
L_BITS, L_WIDTH = np.uint64(3), 8
LAST_SHIFT = 32
"""Where the second mask of VCS begins."""

# counters: C[link, ...]: what is seldom counted. MORE_BYTES and MORE_BUSY are what packets have
# beyond those of size class COMMON (below 0 for shorter ones)
MORE_BYTES, MORE_BUSY, STALLS, STALL_TIME = _fields(4)
C_BITS, C_WIDTH = np.uint64(2), 4

# channels: Q[link << VSHIFT | vc, ...] (int32), half a cache line each; no code reads SPACE and
# ROOM of ejection links. The earliest credit is in the row itself, CREDIT_BYTES and, as the
# first column of the same memory as int64 (QT), its tick, NONE for no credit; those after it are
# in a ring whose last is CREDIT_TAIL. CREDIT_BYTES has all bits turned if the link waits for space
_, _, FIFO_HEAD, FIFO_TAIL, SPACE, ROOM, CREDIT_TAIL, CREDIT_BYTES = _fields(8)
Q_BITS, Q_WIDTH = np.uint64(3), 8
CREDIT_TICK = np.uint64(0)
QT_BITS, QT_WIDTH = np.uint64(2), 4

# packets: PK[packet, ...]; VISIT is packet number << 16 | routers visited; HOLDS is the
# channel whose buffer (or link, in flight) the packet occupies; READY is, on a link to a router,
# the serialisation there; CAME_LATENCY that link's latency
MESSAGE, VISIT, STATE, HOLDS, READY, SIZE, TO_NODE, CAME_LATENCY = _fields(8)
PK_BITS, PK_WIDTH = np.uint64(3), 8

# chains (int32): what a list of the wheel runs through, apart from the rows that it is about.
# CHAIN[packet, ...] (its NEXT also in FIFOs) and TRIES[entry, ...]: OVER is the link, FINE the
# tick within its span, EARLY what its routing has chosen ahead of its arrival: 0 for nothing yet,
# else 1 + the channel
NEXT, OVER, FINE, EARLY = _fields(4)
CH_BITS, CH_WIDTH = np.uint64(2), 4

# credits: CR[credit, ...]
CR_NEXT, CR_TICK, CR_BYTES = _fields(3)
CR_BITS, CR_WIDTH = np.uint64(2), 4

# queues of network ports: N[priority class * N_NODES + port, ...]
NIC_HEAD, NIC_TAIL, NIC_SENT, NIC_COUNT = _fields(4)
N_BITS, N_WIDTH = np.uint64(2), 4

# ranks: R[stream, ...]: each stream of a rank has a row, which the kernels take for a rank of its
# own; RANDOM_SHIFT is `Traffic.random_shift` of its group; CLASS the priority class of its
# messages, 0 the highest; BEGAN is when its step began, KIND that step's kind of communication,
# and the columns from EXPOSED on the ticks in steps of each kind
(STEP, STEP_END, CPU, BEGIN, WAIT, SENDING, RECV_HEAD, RECV_TAIL, FINISH, READY_NEXT,
 NODE, RANDOM_SHIFT, CLASS, BEGAN, KIND, EXPOSED) = _fields(16)  # fmt: skip
R_BITS, R_WIDTH = np.uint64(5), 32

# `Arrays.compute` has the kind of a step from this bit on
KIND_SHIFT = 60

# messages: M[message, ...] (int32); where they have several parts, part j of message m is in
# row m + j * N_MESSAGES, and M_STEP and M_PARTS (parts left) are read only in the first row;
# where each is one part, M_PARTS is not filled in, and M_FROM only for routings that hash flows.
# M_RANK is the receiving stream; a signal has no packets left in its first row
M_NEXT, M_LEFT, M_TAIL, M_RANK, M_STEP, M_FROM, M_TO, M_PARTS = _fields(8)
M_BITS, M_WIDTH = np.uint64(3), 8

# steps: S[step, ...] (int32); one row more than there are steps, for the last FIRST_SEND
# PARKED: the last of the requests that wait for the step, in a ring by M_NEXT
ARRIVED, NEED, FIRST_SEND, PARKED = _fields(4)
S_BITS, S_WIDTH = np.uint64(2), 4

# congestion control: F[flow, ...]; then the ``scalars`` of `Paces`, from THRESHOLD on ticks of
# queue that are a sign of congestion, by the ejection link's bandwidth
SLOWDOWN, SINCE, SIGNAL, NEXT_START = _fields(4)
F_BITS, F_WIDTH = np.uint64(2), 4
DELAY, RECOVERY, MOST, THRESHOLD = range(4)


class Events(NamedTuple):
    """Pending events; see `netsim.packet.kernels_wheel`.

    Attributes
    ----------
    wheel : (ticks of two spans, 2) int32
        First arriving packet, first entry of a link to try.
    occupied : words of bits over the wheel's buckets, then one over those words
    later : (spans, 2) int32
        The same for the spans of ticks after those.
    later_occupied : words of bits over the spans
    starts : (n_links,) int32
        Links that start in this tick.
    opened : (most,) int32
        Packets of spans that have come into the fine wheel, not yet routed.
    chain, tries
        Rows as described above.
    far : heap of (tick, item)
    """

    wheel: I32
    occupied: NDArray[np.uint64]
    later: I32
    later_occupied: NDArray[np.uint64]
    starts: I32
    opened: I32
    chain: I32
    tries: I32
    far: I64


class Arrays(NamedTuple):
    """Everything `kernels_engine.run` gets but the routing's tables.

    Attributes
    ----------
    sc : (N_SCALARS,) scalars
    links, counters, channels, packets, credits, nodes, ranks, messages, steps
        Rows as described above.
    compute, recv_cost
        Of the program; length 1 if all zero. The kinds of steps are above the ticks of computing.
    message_post, message_finish
        Length 1 if messages are not recorded.
    ser : (bandwidths, size classes) serialisation
    wire : (size classes,) bytes
    events : what is to happen
    channel_ticks : the memory of ``channels`` as int64
    link_router : (n_links,) the router that a link leads to; below 0 for a node's port
    arriving : (n_links,) the packet that arrives over a link in this tick; later the place in
        ``order`` of the last that will leave over it
    marked : words of bits over the links with such a packet, then words over those words
    order, chosen : (n_links,) the packets of a phase in their order; the router that each comes to,
        then the channel chosen for it
    timers : heap of (tick, rank)
    """

    sc: I64
    links: I64
    counters: I64
    channels: I32
    packets: I64
    credits: I64
    nodes: I64
    ranks: I64
    messages: I32
    steps: I32
    compute: I64
    recv_cost: I64
    message_post: I64
    message_finish: I64
    ser: I64
    wire: I64
    events: Events
    channel_ticks: I64
    link_router: I32
    arriving: I32
    marked: NDArray[np.uint64]
    order: I32
    chosen: I32
    timers: I64


class RankArrays(NamedTuple):
    """The arrays that ranks need, names as in `Arrays`.

    ``in_parts`` is None where every message is one part on the only rail: kernels compiled for
    that have no trace of parts and rendezvous. ``network`` and ``border`` are the run's, for a
    message that starts when it is posted; None where it waits for the phase of the starts.
    """

    sc: I64
    ranks: I64
    messages: I32
    steps: I32
    compute: I64
    recv_cost: I64
    message_post: I64
    message_finish: I64
    timers: I64
    nodes: I64
    links: I64
    events: Events
    in_parts: int | None
    network: Arrays | None
    border: Any


class Paces(NamedTuple):
    """Arrays of congestion control.

    Kernels get None without it, and are then compiled without a trace of it.

    Attributes
    ----------
    flow_of : (message rows,) int32: the flow of each
    flows : rows as described above, flat
    scalars : those described above, and the thresholds
    """

    flow_of: I32
    flows: I64
    scalars: I64


def aligned_zeros(shape: tuple[int, int], dtype: type[np.generic]) -> Any:
    """Return zeros aligned to a cache line, so that rows of 32 or 64 bytes never span two."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(dtype).reshape(shape)


ROWS: dict[str, int] = {
    "links": L_WIDTH,
    "counters": C_WIDTH,
    "channels": Q_WIDTH,
    "channel_ticks": QT_WIDTH,
    "packets": PK_WIDTH,
    "credits": CR_WIDTH,
    "nodes": N_WIDTH,
    "ranks": R_WIDTH,
    "messages": M_WIDTH,
    "steps": S_WIDTH,
}
"""Arrays of rows and their widths. Kernels get them flat: ``links[(link << L_BITS) + FREE_AT]``
costs a shift, ``links[link, FREE_AT]`` a multiplication by a stride that must be loaded."""

EVENT_ROWS: dict[str, int] = {"wheel": 2, "later": 2, "chain": CH_WIDTH, "tries": CH_WIDTH}
"""The same for `Events`."""


def flat(arrays: Arrays) -> Arrays:
    """Return the same memory with all rows in one dimension, as the kernels want it."""
    events = arrays.events
    return arrays._replace(
        **{name: getattr(arrays, name).reshape(-1) for name in ROWS},
        events=events._replace(**{n: getattr(events, n).reshape(-1) for n in EVENT_ROWS}),
    )


def _doubled(a: NDArray[Any]) -> Any:
    twice = aligned_zeros((2 * len(a), a.shape[1]), a.dtype.type)
    twice[: len(a)] = a
    return twice


def grown_events(arrays: Arrays) -> Arrays:
    """Return the same state with the pools of tries and far events of twice the size."""
    events = arrays.events
    return arrays._replace(
        events=events._replace(tries=_doubled(events.tries), far=_doubled(events.far))
    )


def grown(arrays: Arrays) -> Arrays:
    """Return the same state with the pools of packets, credits and events of twice the size."""
    arrays = grown_events(arrays)
    return arrays._replace(
        packets=_doubled(arrays.packets),
        credits=_doubled(arrays.credits),
        events=arrays.events._replace(chain=_doubled(arrays.events.chain)),
    )
