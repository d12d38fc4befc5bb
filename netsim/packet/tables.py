"""The tables that the packet kernels work on: arrays of records. Times are ticks.

A kernel gets a row by `netsim.packet.kernels_memory.row_of` and names its fields, as in
``row_of(links, link).free_at``. Tables are record arrays, so that the same line works without
compilation. A row is a cache line or a part of one. Lists are linked by index; -1 ends them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Table = Any
"""A record array. NumPy has no type that knows the names of its fields."""


def record(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """Return the type of a row from (type, names of its fields, shape of each)."""
    named = [(name, kind, *shape) for kind, names, *shape in fields for name in names.split()]
    # only aligned fields are read and written in one instruction
    return np.dtype((np.record, np.dtype(named, align=True)))


# n_nodes counts the ports of all nodes; n_messages is 0 where every message is one part on the only
# rail; request is the number of a request among the parts, -1 for none; horizon is the first span
# of ticks that the fine wheel does not hold, n_later what is in later ones; the routing looks at no
# queue from visit looks_visits on; fetch_starts: whether what starts is looked ahead for;
# common_class is the size class of most packets; n_starts and n_opened count what is in `Events`;
# needs_credit: whether crossings wait for credits; a priority class has 1 << class_shift channels
# of each link, the highest class the first; packets use one channel of each link from number
# one_channel on; a start may be set most_ahead ticks ahead, but not beyond until, the end of the
# run, -1 where flows are paced or ports slower both ways: no start is set ahead then; the times of
# serialisation of a port that transmits both ways are both_ways rows after those of one that does
# not, 0 if they are the same; round_number counts the rounds of input-queued routers, which have
# per_class channels for each one of the routing, and node_channels on the links of nodes; tracks:
# whether ranks look at their own sends (`kernels_sends`); loops: whether groups loop until all
# others have finished, whose unfinished streams are counted; resumes: whether a port may send the
# packets of a part with others between them
SCALARS = record(
    (np.int64, "now horizon end seed until most_ahead router_latency"),
    (np.int64, "crossing_overhead n_timers n_far n_later n_starts n_opened n_tries n_packets"),
    (np.int64, "n_credits free_packet used_packets free_credit used_credits free_try used_tries"),
    (np.int64, "ready_head ready_tail n_nodes n_links n_vcs vshift class_shift one_channel"),
    (np.int64, "per_class node_channels random_visits looks_visits room_vc compares_credits"),
    (np.int64, "buffer_bytes common_class n_messages request has_compute has_recv_cost records"),
    (np.int64, "has_send_cost head_counts needs_credit fetch_starts round_number"),
    # of runs with `EndPoints` only
    (np.int64, "both_ways has_starts n_streams tracks loops unfinished resumes port_messages"),
    (np.int64, "control_first"),
)

# try_tick is when the link will be tried; waiting the ticks of serialisation in its FIFOs;
# waiting_vcs a mask of the channels in whose FIFO packets wait (of a port's link: in whose queue
# parts of messages wait), served_vcs of those up to the one served last in each priority class
LINK = record(
    (np.int64, "free_at waiting try_tick"),
    (np.uint32, "waiting_vcs served_vcs"),
    (np.int64, "stall_start latency bandwidth packets"),
)

# what is seldom counted; more_bytes and more_busy are what packets have beyond those of the common
# size class (below 0 for shorter ones)
COUNTER = record((np.int64, "more_bytes more_busy stalls stall_time"))

# channel vc of a link is row link << vshift | vc; no code reads space and room of ejection links.
# The earliest credit is in the row itself, its tick NONE for no credit; those after it are in a
# ring whose last is credit_tail. credit_bytes has all bits turned if the link waits for space
CHANNEL = record(
    (np.int64, "credit_tick"),
    (np.int32, "fifo_head fifo_tail space room credit_tail credit_bytes"),
)

# number is the packet's in its part, visits the routers that it has visited; holds is the channel
# whose buffer (or link, in flight) the packet occupies; ready is, on a link to a router, the
# serialisation there; came_latency that link's latency
PACKET_FIELDS = (
    (np.int64, "message"),
    (np.int32, "number visits"),
    (np.int64, "state holds ready size_class to_node came_latency"),
)
PACKET = record(*PACKET_FIELDS)

# what a list of the wheel runs through, apart from the rows that it is about: a packet's row of
# ``chain`` (its next also in FIFOs) or an entry of ``tries``. over is the link, fine the tick
# within its span, early what its routing has chosen ahead of its arrival: 0 for nothing yet, else
# 1 + the channel
CHAINED = record((np.int32, "next over fine early"))

# the first arriving packet and the first entry of a link to try
BUCKET = record((np.int32, "packet entry"))

# a link of a port, where it is slower while the port transmits both ways: when its last packet
# began, when that ends, and when the one before ended
PORT = record((np.int64, "began end end_before"))

TIMED = record((np.int64, "tick key"))
"""An entry of a heap."""

CREDIT = record((np.int64, "tick"), (np.int32, "next bytes"))

# queues of network ports: row priority class * n_nodes + port
NODE_QUEUE = record((np.int64, "head tail sent count"))

# each stream of a rank has a row, which the kernels take for a rank of its own; random_shift is
# `Traffic.random_shift` of its group; priority_class that of its messages, 0 the highest; began is
# when its step began, kind that step's kind of communication, and exposed the ticks in steps of
# each kind (`netsim.traffic.MAX_KINDS`; two more fill the last of three cache lines); the first
# line is what each step needs
RANK = record(
    (np.int64, "step step_end cpu must_begin waits recv_head node kind"),
    (np.int64, "began sending recv_tail finish ready_next random_shift priority_class"),
    (np.int64, "exposed", (9,)),
)

# what a stream knows of its own sends: parts that have not left its node, messages that have not
# been counted; waits: whether a step of it waits for the former; first is its first step if its
# group loops, else -1, began when it last began that; again: whether it is about to
TRACK = record((np.int64, "unsent uncounted waits first began again"))

SENDS = 1 << 30
"""What the sends that a step waits for count in arrived and need: more than all messages to it."""

# `Arrays.compute` has the kind of a step from this bit on
KIND_SHIFT = 60

# where messages have several parts, part j of message m is in row m + j * n_messages, and step and
# parts_left are read only in the first row; where each is one part, parts_left is not filled in,
# and from_port only for routings that hash flows. rank is the receiving stream, tail_class the size
# class of the last packet; a signal has no packets left in its first row
MESSAGE = record((np.int32, "next packets_left tail_class rank step from_port to_port parts_left"))

# one row more than there are steps, for the last first_send. parked: the last of the requests that
# wait for the step, in a ring by the next of their messages
STEP = record((np.int32, "arrived need first_send parked"))

# congestion control: of a flow, the slowdown and since when; and the signal that is under way until
# tick signal, -1 for none. Under DCQCN since is alpha's, -1 before the first cut, rate and target
# are shares of a link, and marked is the last mark that counted
FLOW = record(
    (np.float64, "slowdown signal_slowdown rate target alpha"),
    (np.int64, "since signal next_start to_port in_flight"),
    (np.int64, "timer_since bytes timer_stage byte_stage marked"),
)

# of a destination: its slowdown; ticks of serialisation that have started towards it and arrived
# since then; those in flight, and the flows that they are of; peak is the most of these while a
# backlog is drained, 0 without one
DESTINATION = record(
    (np.float64, "slowdown"), (np.int64, "since sent arrived in_flight pairs peak")
)

# how far a message has been sent that is not at the head of its port's queue
PART = record((np.int32, "sent count"))


class Events(NamedTuple):
    """Pending events; see `netsim.packet.kernels_wheel`.

    Attributes
    ----------
    wheel : (ticks of two spans,) BUCKET
    occupied : words of bits over the wheel's buckets, then one over those words
    later : (spans,) BUCKET
        The same for the spans of ticks after those.
    later_occupied : words of bits over the spans
    starts : (n_links,) int32
        Links that start in this tick.
    opened : (most,) int32
        Packets of spans that have come into the fine wheel, not yet routed.
    chain, tries : CHAINED
    far : heap of TIMED
    """

    wheel: Table
    occupied: NDArray[np.uint64]
    later: Table
    later_occupied: NDArray[np.uint64]
    starts: I32
    opened: I32
    chain: Table
    tries: Table
    far: Table


class EndPoints(NamedTuple):
    """What ports and ranks have beyond the defaults, each of length 1 where it is not used.

    Attributes
    ----------
    ports : (links of ports,) PORT, where `both_ways` is not 0
    step_start : (steps,) ticks before which a step does not compute
    sender, step_waits, tracks
        Where ranks look at their sends: (messages,) the sending stream; (steps,) whether a step
        waits for sends; (streams,) TRACK.
    fresh : rows of messages before they are sent, where groups loop or `resumes`
    sent, control_tail
        Where `resumes`: (rows of messages,) packets of a part that have been sent, while it is not
        at the head; (ports' queues,) the last request or clear-to-send in it.
    """

    ports: Table
    step_start: I64
    sender: I32
    step_waits: NDArray[np.bool_]
    tracks: Table
    fresh: Table
    sent: I32
    control_tail: I64


class Arrays(NamedTuple):
    """Everything `kernels_engine.run` gets but the routing's tables.

    Attributes
    ----------
    sc : (1,) SCALARS
    links, counters, channels, packets, credits, nodes, ranks, messages, steps
        Rows of LINK, COUNTER, CHANNEL, PACKET, CREDIT, NODE_QUEUE, RANK, MESSAGE, STEP.
    compute, send_cost, recv_cost
        Of the program; length 1 if all zero. The kinds of steps are above the ticks of computing.
    message_post, message_finish
        Length 1 if messages are not recorded.
    ser : (bandwidths, size classes) serialisation
    wire : (size classes,) bytes
    events : what is to happen
    link_router : (n_links,) the router that a link leads to; below 0 for a node's port
    arriving : (n_links,) the packet that arrives over a link in this tick; later the place in
        ``order`` of the last that will leave over it
    marked : words of bits over the links with such a packet, then words over those words
    order, chosen : (n_links,) the packets of a phase in their order; the router that each comes to,
        then the channel chosen for it
    timers : heap of TIMED, by rank
    ends : what end points beyond the defaults need, or None
        Kernels are compiled without a trace of it for None.
    """

    sc: Table
    links: Table
    counters: Table
    channels: Table
    packets: Table
    credits: Table
    nodes: Table
    ranks: Table
    messages: Table
    steps: Table
    compute: I64
    send_cost: I64
    recv_cost: I64
    message_post: I64
    message_finish: I64
    ser: I64
    wire: I64
    events: Events
    link_router: I32
    arriving: I32
    marked: NDArray[np.uint64]
    order: I32
    chosen: I32
    timers: Table
    ends: EndPoints | None


class Paces(NamedTuple):
    """Congestion control.

    Kernels get None without it, and are then compiled without a trace of it.

    Attributes
    ----------
    flow_of : (message rows,) int32: the flow of each
    flows, destinations, parts
        Rows of FLOW by flow, DESTINATION by port, PART by message row.
    delay, interval, recovery : int
        Ticks that a signal takes, between changes of a slowdown, and between halvings without one.
    targets, most : (bandwidths,) ticks of serialisation
        What is to be in flight; with ``marks``, from where on some and all packets are marked.
    marks : bool
        Whether routers mark packets (DCQCN), or destinations signal shares (endpoint-pairs).
    """

    flow_of: I32
    flows: Table
    destinations: Table
    parts: Table
    delay: int
    interval: int
    recovery: int
    targets: I64
    most: I64
    marks: bool


def aligned_zeros(n: int, dtype: np.dtype[Any]) -> Table:
    """Return zeros aligned to a cache line, so that rows of 32 or 64 bytes never span two."""
    size = n * dtype.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    rows = raw[begin : begin + size].view(dtype)
    return rows if dtype.names is None else rows.view(np.recarray)


def make_table(n: int, dtype: np.dtype[Any], **columns: Any) -> Table:
    """Return a table with these columns, all others 0."""
    rows = aligned_zeros(n, dtype)
    for name, values in columns.items():
        rows[name] = values
    return rows


def _doubled(rows: Table) -> Table:
    twice = aligned_zeros(2 * len(rows), rows.dtype)
    twice[: len(rows)] = rows
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
