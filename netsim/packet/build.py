"""From frozen values to the kernels' arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.packet import tables as t
from netsim.packet.jitter import RECEIVES, SENDS, draw_numbers, jitter_ps
from netsim.packet.kernels_wheel import NONE, SPAN, SPAN_BITS
from netsim.packet.message_rows import (
    MessageBytes,
    PacketSizes,
    message_bytes,
    message_rows,
    packet_sizes,
    rank_rows,
    step_rows,
    track_rows,
)
from netsim.packet.model import (
    MAX_DURATION_PS,
    PS_PER_S,
    PacketConfig,
    serialisation_ps,
    to_ps,
)
from netsim.packet.rails import nic_links
from netsim.packet.routing_tables import looks_visits, one_channel_from
from netsim.packet.tables import Arrays, EndPoints, Events, Paces, Table, aligned_zeros, make_table
from netsim.routing.base import Routing
from netsim.topology import Topology
from netsim.traffic import Program, Traffic

CACHED_BYTES = 1 << 23
"""What a core keeps near, about: fetching ahead pays if links and channels exceed it."""

MOST_OPENED = 1 << 10
"""Packets that are routed ahead of their tick at a time at most."""

MAX_SPANS = 1 << 16
"""Spans of ticks that the wheel reaches ahead at most; what is later waits in a heap."""


@dataclass(frozen=True, eq=False)
class PacketClock:
    """The tick of a run, and the durations that occur."""

    tick_ps: int
    """Common divisor of every duration."""
    reach: int
    """Ticks that the wheel reaches ahead: beyond every packet and link event."""
    sizes: PacketSizes
    bandwidths: NDArray[np.int64]
    """(n,) int64."""
    ser_ps: NDArray[np.int64]
    """(n times `rates`, n_classes) int64."""
    compute_ps: NDArray[np.int64] | None
    send_ps: NDArray[np.int64] | None
    recv_ps: NDArray[np.int64] | None
    """compute_ps, send_ps, recv_ps: (n_steps,), (n_messages,), (n_messages,) int64, or None. None
    where all are 0."""


def ps_array(seconds: NDArray[np.floating[Any]], what: str = "a time") -> NDArray[np.int64]:
    """Round to picoseconds, half to even; NetcosimError beyond the range of the clock."""
    values = np.asarray(seconds, dtype=np.float64)
    # not "any above": a nan is no time either
    if len(values) and not values.max() <= MAX_DURATION_PS / PS_PER_S:
        raise NetcosimError(f"{what} of {values.max():g} s is beyond the clock (13 days)")
    return np.rint(values * PS_PER_S).astype(np.int64)


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the values that occur; quick where there is only one, as mostly."""
    if len(values) and values.min() == values.max():
        return values[:1]
    return np.unique(values)


@lru_cache(maxsize=4)
def _link_values(topology: Topology) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct link bandwidths and latencies (ps) of a machine."""
    latency = ps_array(topology.link_latency_s, "a link latency")
    return np.unique(topology.link_bandwidth_Bps), distinct(latency)


def choose_clock(
    topology: Topology, traffic: Traffic, config: PacketConfig, until_s: float | None
) -> PacketClock:
    """Find the packet sizes and the greatest tick that divides every duration of the run."""
    program = traffic.program
    messages = message_bytes(program)
    sizes = packet_sizes(messages, program.n_messages, config)
    bandwidths, latency = _link_values(topology)
    ser = _serialisations_ps(config, sizes.wire, bandwidths)
    used = slice(0 if sizes.has_full else 1, None)
    compute = ps_array(program.compute_s, "a compute time") if program.compute_s.any() else None
    send, recv = _processor_ps(messages, traffic, config)
    starts = ps_array(traffic.start_s)
    begins = step_starts_ps(traffic)
    router, overhead = to_ps(config.router_latency_s), to_ps(config.crossing_overhead_s or 0.0)
    crossing = np.array([], dtype=np.int64)
    if config.input_queued:
        crossing = crossings_ps(config, sizes.wire[used], bandwidths).ravel()
    durations = np.concatenate([
        ser[:, used].ravel(), crossing, latency, starts, *(
            [np.gcd.reduce(each)] for each in (send, recv, compute, begins) if each is not None
        ),
        # gaps of flows are any number of picoseconds
        [1] if config.paces_flows else [],
        [router, overhead, 0 if until_s is None else to_ps(until_s)],
    ])  # fmt: skip
    tick = int(np.gcd.reduce(durations.astype(np.int64))) or 1
    longest_ps = max(
        int(ser[:, used].max(initial=1)) + int(latency.max()) + router,
        int(crossing.max(initial=0)),
        overhead,
    )
    return PacketClock(
        tick_ps=tick,
        reach=longest_ps // tick + 2,
        sizes=sizes,
        bandwidths=bandwidths,
        ser_ps=ser,
        compute_ps=compute,
        send_ps=np.broadcast_to(send, program.n_messages) if send.any() else None,
        recv_ps=np.broadcast_to(recv, program.n_messages) if recv.any() else None,
    )


def _serialisations_ps(
    config: PacketConfig, wire: NDArray[np.int64], bandwidths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the time on a link: a row for each bandwidth at each of `rates`, by wire size."""
    slowest = serialisation_ps(int(wire.max()), int(bandwidths[0]))
    if slowest > MAX_DURATION_PS:
        raise NetcosimError(
            f"a packet of {wire.max()} bytes takes {slowest / PS_PER_S:g} s on a link of "
            f"{bandwidths[0]} bytes/s, beyond the clock (13 days)"
        )
    return np.array(
        [[time_of(int(w), int(b)) for w in wire] for time_of in rates(config) for b in bandwidths],
        dtype=np.int64,
    )


def _processor_ps(
    messages: MessageBytes, traffic: Traffic, config: PacketConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the time of the processor for sending and for receiving each of the messages."""
    costs_s = config.send_overhead_s, config.send_s_per_byte, config.recv_overhead_s
    if not any((*costs_s, config.copy_s_per_byte, config.jitter_s)):
        nothing = np.zeros(1, dtype=np.int64)
        return nothing, nothing
    is_signal, from_nic, to_nic = messages.is_signal, messages.from_nic, messages.to_nic
    copied = np.where(from_nic | to_nic, 0, messages.sent)
    send = ps_array(config.send_overhead_s + config.send_s_per_byte * copied)
    recv = ps_array(config.recv_overhead_s + config.copy_s_per_byte * copied)
    if config.jitter_s > 0:
        numbers, is_signal = draw_numbers(traffic), traffic.program.send_bytes == 0
        send = send + jitter_ps(config, numbers, SENDS)
        recv = recv + jitter_ps(config, numbers, RECEIVES)
    send[is_signal | from_nic] = recv[is_signal | to_nic] = 0
    return send, recv


def step_starts_ps(traffic: Traffic) -> NDArray[np.int64] | None:
    """Return the time before which each step does not compute; None if none has one."""
    program = traffic.program
    if program.step_start_s is None:
        return None
    group = np.repeat(traffic.rank_group, np.diff(program.rank_step_ptr))
    return ps_array(program.step_start_s, "a start of a step") + ps_array(traffic.start_s)[group]


def rates(config: PacketConfig) -> list[Callable[[int, int], int]]:
    """Return how long wire bytes take at a bandwidth: between routers, then, if it differs, on the
    link of a port, then while the port transmits both ways, if that differs."""
    found: list[Callable[[int, int], int]] = [serialisation_ps]
    if config.nic_efficiency < 1 or config.nic_duplex_efficiency is not None:
        found.append(config.port_ps)
    if config.nic_duplex_efficiency is not None:
        found.append(partial(config.port_ps, both_ways=True))
    return found


def crossings_ps(
    config: PacketConfig, wire: NDArray[np.int64], bandwidths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the time in the crossbar by bandwidth of the input's link and by wire size."""
    fastest = int(bandwidths.max())
    rows = [[config.crossing_ps(int(w), int(b), fastest) for w in wire] for b in bandwidths]
    longest = max((time_ps for row in rows for time_ps in row), default=0)
    if longest > MAX_DURATION_PS:
        raise NetcosimError(
            f"a packet takes {longest / PS_PER_S:g} s through a crossbar, beyond the clock "
            "(13 days); set a higher crossbar_bandwidth or crossbar_speedup"
        )
    return np.array(rows, dtype=np.int64)


def build_arrays(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    clock: PacketClock,
    seed: int,
    record_messages: bool,
) -> Arrays:
    """Build the arrays of an empty network with every rank's start on the timer heap."""
    topology, program = routing.topology, traffic.program
    n_ports, n_links, tick = topology.n_ports, topology.n_links, clock.tick_ps
    n_queues = traffic.priority_classes()[1] * n_ports
    pool = 4 * (n_ports + 64) + n_links
    stream_rank = program.stream_rank()
    messages, n_parts, request = message_rows(routing, traffic, config.rail_policy, clock.sizes)
    scalars = _scalars(routing, traffic, config, clock, n_parts, request)
    sc = scalars[0]
    sc.seed, sc.records = seed, record_messages
    recorded = program.n_messages if record_messages and program.n_messages else 1
    return Arrays(
        sc=scalars,
        links=_link_rows(topology, config, clock),
        counters=aligned_zeros(n_links, t.COUNTER),
        channels=_channel_rows(n_links << int(sc.vshift), config),
        packets=aligned_zeros(pool, t.PACKET),
        credits=aligned_zeros(pool + n_links, t.CREDIT),
        nodes=make_table(n_queues, t.NODE_QUEUE, head=-1, tail=-1),
        ranks=rank_rows(traffic, stream_rank),
        messages=messages,
        steps=step_rows(program),
        compute=_work(program, clock),
        send_cost=_ticks(clock.send_ps, tick),
        recv_cost=_ticks(clock.recv_ps, tick),
        message_post=np.full(recorded, -1, dtype=np.int64),
        message_finish=np.full(recorded, -1, dtype=np.int64),
        ser=clock.ser_ps // tick,
        wire=clock.sizes.wire,
        events=_events(clock.reach, pool, n_ports, n_links),
        link_router=(topology.link_dst - n_ports).astype(np.int32),
        order=np.zeros(n_links + MOST_OPENED, dtype=np.int32),
        chosen=np.zeros(n_links + MOST_OPENED, dtype=np.int32),
        arriving=np.full(n_links, -1, dtype=np.int32),
        marked=np.zeros((n_links >> 6) + 1 + (n_links >> 12) + 1, dtype=np.uint64),
        timers=_timers(traffic, stream_rank, tick, n_ports if sc.tracks else 0),
        ends=_end_points(traffic, config, sc, messages, n_queues, tick),
    )


def _end_points(
    traffic: Traffic, config: PacketConfig, sc: Any, messages: Table, n_queues: int, tick_ps: int
) -> EndPoints | None:
    """Return what end points need, None if none is set and no other kernels are compiled for it."""
    if not (
        sc.both_ways or sc.has_starts or sc.tracks or sc.resumes
        or sc.n_messages or config.paces_flows
    ):  # fmt: skip
        return None
    program, tracks = traffic.program, sc.tracks
    waits = program.step_waits_sends
    return EndPoints(
        ports=make_table(
            2 * sc.n_nodes if sc.both_ways else 1, t.PORT, began=-1, end=-1, end_before=-1
        ),
        step_start=_ticks(step_starts_ps(traffic), tick_ps),
        sender=program.send_stream_from() if tracks else np.zeros(1, dtype=np.int32),
        step_waits=np.array([False] if waits is None else waits, dtype=np.bool_),
        tracks=track_rows(traffic, program.stream_rank()) if tracks else aligned_zeros(1, t.TRACK),
        fresh=messages.copy() if sc.loops or sc.resumes else aligned_zeros(1, t.MESSAGE),
        sent=np.zeros(len(messages) if sc.resumes else 1, dtype=np.int32),
        control_tail=np.full(n_queues if sc.resumes else 1, -1, dtype=np.int64),
    )


def _link_rows(topology: Topology, config: PacketConfig, clock: PacketClock) -> Table:
    """Return the row of each link, idle."""
    bandwidth = np.searchsorted(clock.bandwidths, topology.link_bandwidth_Bps)
    if len(rates(config)) > 1:
        bandwidth[nic_links(topology)] += len(clock.bandwidths)
    return make_table(
        topology.n_links,
        t.LINK,
        try_tick=NONE,
        stall_start=-1,
        latency=ps_array(topology.link_latency_s) // clock.tick_ps,
        bandwidth=bandwidth,
    )


def _channel_rows(n: int, config: PacketConfig) -> Table:
    """Return the rows of empty channels."""
    return make_table(
        n,
        t.CHANNEL,
        credit_tick=NONE,
        fifo_head=-1,
        fifo_tail=-1,
        credit_tail=-1,
        space=config.buffer_bytes,
        room=config.buffer_bytes,
    )


def _timers(traffic: Traffic, stream_rank: NDArray[np.int64], tick_ps: int, more: int) -> Table:
    """Return the heap of all streams' starts, and room for ``more`` timers."""
    starts = ps_array(traffic.start_s)[traffic.rank_group[stream_rank]] // tick_ps
    order = np.argsort(starts, kind="stable")  # a sorted list is a heap
    timers = aligned_zeros(len(starts) + more, t.TIMED)
    timers["tick"][: len(starts)] = starts[order]
    timers["key"][: len(starts)] = order
    return timers


def _ticks(durations_ps: NDArray[np.int64] | None, tick_ps: int) -> NDArray[np.int64]:
    """Convert durations to ticks; without durations, return an array that the kernels ignore."""
    return np.zeros(1, dtype=np.int64) if durations_ps is None else durations_ps // tick_ps


def _work(program: Program, clock: PacketClock) -> NDArray[np.int64]:
    """Return the ticks of computing in each step, and above them its kind of communication."""
    ticks = _ticks(clock.compute_ps, clock.tick_ps)
    if program.step_kind is None:
        return ticks if program.step_start_s is None else np.resize(ticks, program.n_steps)
    return (program.step_kind.astype(np.int64) << t.KIND_SHIFT) + ticks


def spans_of(reach: int) -> int:
    """Return the spans in the wheel's ring: what comes ``reach`` ticks after a start fits in them,
    and starts may lie ahead."""
    return min(MAX_SPANS, max(64, 1 << (4 + (int(reach) >> SPAN_BITS)).bit_length()))


def _events(reach: int, pool: int, n_ports: int, n_links: int) -> Events:
    """Return an empty wheel that reaches ``reach`` ticks ahead, and pools for what it will hold."""
    spans, entries = spans_of(reach), 4 * (n_ports + 2 * n_links)
    return Events(
        wheel=make_table(2 * SPAN, t.BUCKET, packet=-1, entry=-1),
        occupied=np.zeros((2 * SPAN >> 6) + 1, dtype=np.uint64),
        later=make_table(spans, t.BUCKET, packet=-1, entry=-1),
        later_occupied=np.zeros(spans >> 6, dtype=np.uint64),
        starts=np.zeros(n_links, dtype=np.int32),
        opened=np.zeros(MOST_OPENED, dtype=np.int32),
        chain=aligned_zeros(pool, t.CHAINED),
        tries=aligned_zeros(entries, t.CHAINED),
        far=aligned_zeros(entries, t.TIMED),
    )


def paces_of(
    arrays: Arrays, traffic: Traffic, config: PacketConfig, clock: PacketClock
) -> Paces | None:
    """Return the flows and thresholds of congestion control, or None without it."""
    if not config.paces_flows:
        return None
    rows = arrays.messages
    in_parts = arrays.sc[0].n_messages > 0
    source = rows.from_port if in_parts else traffic.rank_node[traffic.program.send_src()]
    ends = np.stack([source, rows.to_port], axis=1).astype(np.int64)
    pairs, flow_of = np.unique(ends, axis=0, return_inverse=True)
    targets, most = (
        [
            time_of(k * config.congestion_threshold_bytes, int(b))
            for time_of in rates(config)
            for b in clock.bandwidths
        ]
        for k in (1, 4)
    )
    return Paces(
        # one flow more than there are messages is never looked at, and no array is empty
        flow_of=np.append(flow_of.ravel(), 0).astype(np.int32),
        flows=make_table(
            len(pairs),
            t.FLOW,
            slowdown=1.0,
            since=-1,
            signal=-1,
            to_port=pairs[:, 1],
            rate=1.0,
            target=1.0,
            alpha=1.0,
            marked=-1,
        ),
        destinations=make_table(arrays.sc[0].n_nodes, t.DESTINATION, slowdown=1.0, since=-1),
        parts=make_table(len(flow_of) + 1, t.PART),
        delay=to_ps(config.congestion_delay_s),
        interval=to_ps(config.control_interval_s),
        recovery=to_ps(config.control_recovery_s),
        targets=np.array(targets, dtype=np.int64),
        most=np.array(most, dtype=np.int64),
        marks=config.congestion_control == "dcqcn",
    )


def _scalars(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    clock: PacketClock,
    n_parts: int,
    request: int,
) -> Table:
    """Return the scalars of a run, but for its seed and whether it records messages."""
    topology, program = routing.topology, traffic.program
    scalars = make_table(
        1, t.SCALARS, free_packet=-1, free_credit=-1, free_try=-1, ready_head=-1, horizon=2
    )
    sc = scalars[0]
    sc.until = NONE
    sc.n_nodes, sc.n_links = topology.n_ports, topology.n_links
    _set_channels(sc, routing, config, traffic.priority_classes()[1])
    _set_streams(sc, traffic)
    sc.n_messages = program.n_messages if n_parts > 1 or topology.rails > 1 else 0
    sc.request, sc.common_class = request, clock.sizes.common_class()
    sc.port_messages, sc.control_first = config.port_messages, config.control_first and request >= 0
    sc.resumes = sc.port_messages > 1 or sc.control_first
    sc.most_ahead = max(0, spans_of(clock.reach) * SPAN - clock.reach)
    sc.router_latency = to_ps(config.router_latency_s) // clock.tick_ps
    sc.crossing_overhead = to_ps(config.crossing_overhead_s or 0.0) // clock.tick_ps
    sc.has_compute = clock.compute_ps is not None or program.step_kind is not None
    sc.has_compute |= program.step_start_s is not None
    sc.has_send_cost = clock.send_ps is not None
    sc.has_recv_cost = clock.recv_ps is not None
    if config.nic_duplex_efficiency is not None:
        sc.both_ways = len(clock.bandwidths)
    sc.head_counts = config.head_counts
    return scalars


def _set_channels(sc: Any, routing: Routing, config: PacketConfig, n_classes: int) -> None:
    """Set the scalars of channels, and of routings that look at them."""
    n_vcs = routing.n_vcs * config.fifos_per_class
    sc.n_vcs, sc.per_class = n_vcs, config.fifos_per_class
    sc.class_shift = (n_vcs - 1).bit_length()
    sc.vshift = sc.class_shift + (n_classes - 1).bit_length()
    sc.node_channels = n_vcs if config.allocates_channels else 1
    sc.one_channel = one_channel_from(routing) if n_classes == 1 else sc.n_links
    sc.random_visits, sc.looks_visits = routing.random_visits, looks_visits(routing)
    sc.room_vc, sc.compares_credits = routing.room_vc, routing.compares_credits
    # what an idle channel has free of the buffer that the routing looks at
    sc.buffer_bytes = config.output_space if routing.compares_queues else config.buffer_bytes
    sc.needs_credit = config.crosses_with_credit
    looked_at = (sc.n_links << sc.vshift) * (t.CHANNEL.itemsize + t.LINK.itemsize // 2)
    sc.fetch_starts = looked_at > CACHED_BYTES


def _set_streams(sc: Any, traffic: Traffic) -> None:
    """Set the scalars of the ranks' streams."""
    program, loops = traffic.program, traffic.loops
    sc.n_timers = sc.n_streams = program.n_streams
    sc.loops = loops.any()
    sc.tracks = program.step_waits_sends is not None or sc.loops
    sc.unfinished = np.count_nonzero(~loops[traffic.rank_group[program.stream_rank()]])
    sc.has_starts = program.step_start_s is not None
