"""The reference packet engine: docs/packet-model.md told in SimPy, plain to read and slow.

The tick is one picosecond. SimPy orders events by (time, priority, sequence); the priority is
the place in the order inside a tick, so no tie is left to luck. A rank is a SimPy process; links
act when something that could let them start happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import simpy
from simpy.events import EventPriority

from netsim.packet.checks import check_run
from netsim.packet.deadlock import Channel, deadlock_error, stuck_error
from netsim.packet.model import PacketConfig, PacketResult, serialisation_ps, to_ps
from netsim.routing.base import Routing
from netsim.routing.kernels_chance import packet_key
from netsim.traffic import Traffic

_NO_BOUND = 1 << 62
"""Free bytes at a node, which takes everything."""

_Work = Generator[simpy.Event, None, None]


class _Clock(simpy.Environment):
    """SimPy's clock in whole picoseconds, with a place inside the tick for every event."""

    @property
    def now(self) -> int:
        return int(self._now)

    def at(self, time_ps: int, place: int, call: Callable[[], None] | None = None) -> simpy.Event:
        """An event at a time, at a place in that tick's order, that makes a call."""
        event = simpy.Event(self)
        if call is not None:
            event.callbacks.append(lambda _: call())
        return self.fire(event, time_ps, place)

    def fire(self, event: simpy.Event, time_ps: int, place: int) -> simpy.Event:
        """Let an event happen that processes may wait for already."""
        event._ok, event._value = True, None
        self.schedule(event, EventPriority(place), time_ps - self.now)
        return event


class _Order:
    """Places inside a tick ("Order" in docs/packet-model.md)."""

    SPACE = 0
    GO_ON = 1  # the list of ranks that a message lets go on: before the next rank or arrival

    def __init__(self, n_ranks: int, n_links: int) -> None:
        self.first_rank = 2
        self.first_arrival = self.first_rank + n_ranks
        self.links = self.first_arrival + n_links


@dataclass(slots=True, eq=False)
class _Packet:
    message: int
    number: int
    wire_bytes: int
    dst_node: int
    state: int = 0
    visits: int = 0
    ready_ps: int = 0
    held: _Channel | None = None
    """The channel in whose buffer it takes up space; None before its first link."""


@dataclass(slots=True, eq=False)
class _Channel:
    link: _Link
    vc: int
    free_bytes: int
    fifo: deque[_Packet] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Link:
    number: int
    bandwidth_Bps: int
    latency_ps: int
    end_router: int | None
    """None at a node."""
    channels: list[_Channel] = field(default_factory=list)
    last_vc: int = -1
    free_at_ps: int = 0
    stalled_since_ps: int | None = None
    packets: int = 0
    bytes: int = 0
    busy_ps: int = 0
    stalls: int = 0
    stall_ps: int = 0

    def ser_ps(self, packet: _Packet) -> int:
        return serialisation_ps(packet.wire_bytes, self.bandwidth_Bps)

    def end_stall(self, now_ps: int) -> None:
        if self.stalled_since_ps is not None:
            self.stalls += 1
            self.stall_ps += now_ps - self.stalled_since_ps
            self.stalled_since_ps = None


class _Network:
    """Links, channels and routers. It is also the `View` that the routing looks at."""

    def __init__(
        self,
        clock: _Clock,
        order: _Order,
        routing: Routing,
        config: PacketConfig,
        seed: int,
        deliver: Callable[[int], None],
    ) -> None:
        self.clock, self.order = clock, order
        self.routing, self.config, self.seed = routing, config, seed
        self.deliver = deliver
        """Called with the message whose last packet has arrived."""
        self.router_latency_ps = to_ps(config.router_latency_s)
        self.packets_left: dict[int, int] = {}
        self.tries: dict[int, set[int]] = {}
        """Tick -> links that may be able to start a packet then."""
        self.links = [self._make_link(i) for i in range(routing.topology.n_links)]

    def _make_link(self, number: int) -> _Link:
        t = self.routing.topology
        to_node = t.n_nodes <= number < 2 * t.n_nodes
        link = _Link(
            number=number,
            bandwidth_Bps=int(t.link_bandwidth_Bps[number]),
            latency_ps=to_ps(float(t.link_latency_s[number])),
            end_router=None if to_node else int(t.link_dst[number]) - t.n_nodes,
        )
        free_bytes = _NO_BOUND if to_node else self.config.buffer_bytes
        n_vcs = 1 if number < 2 * t.n_nodes else self.routing.n_vcs
        link.channels = [_Channel(link, vc, free_bytes) for vc in range(n_vcs)]
        link.last_vc = n_vcs - 1  # so that the first turn is channel 0's
        return link

    # What a router may look at

    def load(self, link: int) -> int:
        """Picoseconds until the link could start one more packet."""
        it = self.links[link]
        waiting = sum(it.ser_ps(p) for channel in it.channels for p in channel.fifo)
        return max(0, it.free_at_ps - self.clock.now) + waiting

    def room(self, link: int, vc: int) -> int:
        """Free bytes behind the channel, less those of the packets that wait for it."""
        channel = self.links[link].channels[vc]
        return channel.free_bytes - sum(p.wire_bytes for p in channel.fifo)

    # Packets

    def post(self, message: int, size: int, src_node: int, dst_node: int) -> None:
        """Put a message's packets at the end of its node's queue."""
        full = self.config.packet_bytes
        count = -(-size // full)
        self.packets_left[message] = count
        for number in range(count):
            payload = min(full, size - number * full)
            packet = _Packet(message, number, payload + self.config.header_bytes, dst_node)
            self._join(self.links[src_node].channels[0], packet, self.clock.now)

    def _join(self, channel: _Channel, packet: _Packet, ready_ps: int) -> None:
        packet.ready_ps = ready_ps
        channel.fifo.append(packet)
        self._try_at(channel.link, ready_ps)

    def _reach_router(self, link: _Link, packet: _Packet) -> None:
        assert link.end_router is not None
        key = packet_key(
            np.uint64(self.seed),
            np.uint64(packet.message),
            np.uint64(packet.number),
            np.uint64(packet.visits),
        )
        hop = self.routing.choose(
            self, link.end_router, packet.dst_node, packet.state, int(key), packet.wire_bytes
        )
        packet.visits += 1
        packet.state = hop.state
        out = self.links[hop.link]
        # A faster link must not send the tail before it has come in.
        wait_for_tail = max(0, link.ser_ps(packet) - out.ser_ps(packet))
        self._join(out.channels[hop.vc], packet, self.clock.now + wait_for_tail)

    def _reach_node(self, packet: _Packet) -> None:
        self.packets_left[packet.message] -= 1
        if self.packets_left[packet.message] == 0:
            self.deliver(packet.message)

    def _free_space(self, channel: _Channel, wire_bytes: int) -> None:
        channel.free_bytes += wire_bytes
        self._try_at(channel.link, self.clock.now)

    # Links

    def _try_at(self, link: _Link, time_ps: int) -> None:
        if time_ps not in self.tries:
            self.tries[time_ps] = set()
            self.clock.at(time_ps, self.order.links, self._start_links)
        self.tries[time_ps].add(link.number)

    def _start_links(self) -> None:
        """The last part of a tick; arrivals without any latency make another tick part."""
        for number in sorted(self.tries.pop(self.clock.now)):
            self._start_or_stall(self.links[number])

    def _start_or_stall(self, link: _Link) -> None:
        now = self.clock.now
        if link.free_at_ps > now:
            return
        n = len(link.channels)
        turns = [link.channels[(link.last_vc + 1 + i) % n] for i in range(n)]
        ready = [c for c in turns if c.fifo and c.fifo[0].ready_ps <= now]
        able = [c for c in ready if c.free_bytes >= c.fifo[0].wire_bytes]
        if able:
            if link.stalled_since_ps == now:  # begun in this very tick: none
                link.stalled_since_ps = None
            link.end_stall(now)
            self._start(link, able[0])
        elif ready and link.stalled_since_ps is None:
            link.stalled_since_ps = now

    def _start(self, link: _Link, channel: _Channel) -> None:
        now = self.clock.now
        packet = channel.fifo.popleft()
        size, ser = packet.wire_bytes, link.ser_ps(packet)
        link.last_vc = channel.vc
        link.free_at_ps = now + ser
        link.packets += 1
        link.bytes += size
        link.busy_ps += ser
        self._try_at(link, link.free_at_ps)

        behind = packet.held
        if behind is not None:
            seen_ps = now + ser + behind.link.latency_ps
            self.clock.at(seen_ps, self.order.SPACE, lambda: self._free_space(behind, size))
        channel.free_bytes -= size
        packet.held = channel

        place = self.order.first_arrival + link.number
        if link.end_router is None:
            time_ps = now + ser + link.latency_ps
            self.clock.at(time_ps, place, lambda: self._reach_node(packet))
        else:
            time_ps = now + link.latency_ps + self.router_latency_ps
            self.clock.at(time_ps, place, lambda: self._reach_router(link, packet))

    # The end

    def waits(self) -> dict[Channel, set[Channel]]:
        """Which channels wait for which (see `netsim.packet.deadlock.waiting_cycle`)."""
        waits: dict[Channel, set[Channel]] = {}
        for link in self.links:
            for channel in link.channels:
                for packet in channel.fifo:
                    if packet.held is not None and packet.held.fifo:
                        behind = (packet.held.link.number, packet.held.vc)
                        waits.setdefault(behind, set()).add((link.number, channel.vc))
        return waits

    def packets_wait(self) -> bool:
        """Whether any packet waits for a link."""
        return any(channel.fifo for link in self.links for channel in link.channels)


@dataclass(slots=True, eq=False)
class _Rank:
    number: int
    node: int
    steps: range
    state: str = "unstarted"
    """ "unstarted", "ready" (may begin its first step), "working" (computes and sends),
    "waiting" (for a step's messages, perhaps receiving), "done"."""
    step: int = -1
    arrived: deque[int] = field(default_factory=deque)
    """Messages that wait for the processor, in order of arrival."""
    asleep: simpy.Event | None = None
    """What its idle process waits for; None if it works or is about to go on."""
    finish_ps: int = -1


class _Ranks:
    """The end points: programs, processors, local messages."""

    def __init__(
        self,
        clock: _Clock,
        order: _Order,
        traffic: Traffic,
        config: PacketConfig,
    ) -> None:
        self.clock, self.order, self.config = clock, order, config
        self.traffic, self.program = traffic, traffic.program
        self.network: _Network | None = None
        self.send_overhead_ps = to_ps(config.send_overhead_s)
        self.counted = [0] * self.program.n_steps
        self.post_ps = [-1] * self.program.n_messages
        self.finish_ps = [-1] * self.program.n_messages
        self.last_event_ps = 0
        ptr = self.program.step_ptr
        self.ranks = [
            _Rank(r, int(traffic.rank_node[r]), range(int(ptr[r]), int(ptr[r + 1])))
            for r in range(self.program.n_ranks)
        ]
        for rank in self.ranks:
            start_s = float(traffic.start_s[traffic.rank_group[rank.number]])
            clock.at(to_ps(start_s), order.first_rank + rank.number, partial(self._start, rank))
            clock.process(self._live(rank))

    def _live(self, rank: _Rank) -> _Work:
        """A rank's processor, from the first tick to the last."""
        program = self.program
        for step in rank.steps:
            yield from self._idle(rank)
            rank.state, rank.step = "working", step
            yield from self._work(rank, to_ps(float(program.compute_s[step])))
            for message in range(int(program.send_ptr[step]), int(program.send_ptr[step + 1])):
                yield from self._work(rank, self.send_overhead_ps)
                self._post(rank, message)
            rank.state = "waiting"
            self._leave_last_step(rank)
        yield from self._idle(rank)

    def _idle(self, rank: _Rank) -> _Work:
        """Receive what has arrived, until a step may begin; queued arrivals go first."""
        while True:
            while rank.arrived:
                message = rank.arrived.popleft()
                yield from self._work(rank, self._receive_ps(message))
                self._count(message)
            if self._may_begin_step(rank):
                return
            rank.asleep = simpy.Event(self.clock)
            yield rank.asleep

    def _work(self, rank: _Rank, duration_ps: int) -> _Work:
        if duration_ps > 0:
            yield self.clock.at(self.clock.now + duration_ps, self.order.first_rank + rank.number)
            self.last_event_ps = self.clock.now

    def _may_begin_step(self, rank: _Rank) -> bool:
        return rank.state == "ready" or (rank.state == "waiting" and self._need_met(rank))

    def _need_met(self, rank: _Rank) -> bool:
        return self.counted[rank.step] >= int(self.program.recv_need[rank.step])

    def _start(self, rank: _Rank) -> None:
        self.last_event_ps = self.clock.now
        if rank.steps:
            rank.state = "ready"
            self._go_on(rank)
        else:
            rank.state, rank.finish_ps = "done", self.clock.now

    def _leave_last_step(self, rank: _Rank) -> None:
        if rank.state == "waiting" and rank.step == rank.steps[-1] and self._need_met(rank):
            rank.state, rank.finish_ps = "done", self.clock.now

    def _go_on(self, rank: _Rank) -> None:
        """Put an idle rank that can do something at the end of the list of this tick."""
        if rank.asleep is not None and (rank.arrived or self._may_begin_step(rank)):
            asleep, rank.asleep = rank.asleep, None
            self.clock.fire(asleep, self.clock.now, self.order.GO_ON)

    def _post(self, rank: _Rank, message: int) -> None:
        self.post_ps[message] = self.clock.now
        dst_node = self.ranks[int(self.program.send_dst[message])].node
        if dst_node == rank.node:
            self.arrive(message)
        else:
            assert self.network is not None
            size = int(self.program.send_bytes[message])
            self.network.post(message, size, rank.node, dst_node)

    def arrive(self, message: int) -> None:
        """A whole message is at its receiver's node."""
        self.last_event_ps = self.finish_ps[message] = self.clock.now
        rank = self.ranks[int(self.program.send_dst[message])]
        if self._receive_ps(message) > 0:
            rank.arrived.append(message)
        else:
            self._count(message)
        self._go_on(rank)

    def _receive_ps(self, message: int) -> int:
        size = int(self.program.send_bytes[message])
        return to_ps(self.config.recv_overhead_s + self.config.copy_s_per_byte * size)

    def _count(self, message: int) -> None:
        self.counted[int(self.program.send_step[message])] += 1
        self._leave_last_step(self.ranks[int(self.program.send_dst[message])])


def _group_finish(traffic: Traffic, ranks: list[_Rank]) -> list[int]:
    """Finish of each group's last rank; -1 if one is not done or there is none."""
    groups: list[list[int]] = [[] for _ in range(traffic.n_groups)]
    for rank in ranks:
        groups[int(traffic.rank_group[rank.number])].append(rank.finish_ps)
    return [-1 if -1 in times else max(times, default=-1) for times in groups]


def simulate_reference(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    until_s: float | None = None,
) -> PacketResult:
    """Run traffic through a network, packet by packet, slowly and plainly.

    Parameters
    ----------
    routing : Routing
        Also says which topology.
    traffic : Traffic
    config : PacketConfig
    rng : numpy.random.Generator
        One draw is taken from it: the seed of all routing chance.
    until_s : float, optional
        End of the run in seconds, events at that very time included. By default the run
        ends when nothing is left to happen.

    Returns
    -------
    PacketResult
        Times in picoseconds.

    Raises
    ------
    NetcosimError
        Traffic that does not fit the topology, a negative time.
    NetworkDeadlockError
        Packets wait for each other in a ring (not with ``until_s``).
    ProgramStuckError
        A rank waits for a message that nobody sends (not with ``until_s``).

    Notes
    -----
    The model is told in docs/packet-model.md; `netsim.packet.engine` is the fast engine of
    the same model and gives the same result.
    """
    seed = int(rng.integers(0, 2**63))
    topology = routing.topology
    check_run(topology, traffic, until_s)
    clock = _Clock(initial_time=0)
    order = _Order(traffic.program.n_ranks, topology.n_links)
    ranks = _Ranks(clock, order, traffic, config)
    network = _Network(clock, order, routing, config, seed, deliver=ranks.arrive)
    ranks.network = network
    if until_s is None:
        clock.run()
        end_ps = ranks.last_event_ps
        if network.packets_wait():
            raise deadlock_error(topology, network.waits())
        for rank in ranks.ranks:
            if rank.state != "done":
                raise stuck_error(traffic, rank.number, rank.step, ranks.counted[rank.step])
    else:
        end_ps = to_ps(until_s)
        clock.run(until=end_ps + 1)
    for link in network.links:
        link.end_stall(end_ps)

    def links(what: str) -> np.ndarray:
        return np.array([getattr(link, what) for link in network.links], dtype=np.int64)

    return PacketResult(
        end_ps=end_ps,
        message_post_ps=np.array(ranks.post_ps, dtype=np.int64),
        message_finish_ps=np.array(ranks.finish_ps, dtype=np.int64),
        rank_finish_ps=np.array([rank.finish_ps for rank in ranks.ranks], dtype=np.int64),
        group_finish_ps=np.array(_group_finish(traffic, ranks.ranks), dtype=np.int64),
        link_packets=links("packets"),
        link_bytes=links("bytes"),
        link_busy_ps=links("busy_ps"),
        link_stalls=links("stalls"),
        link_stall_ps=links("stall_ps"),
    )
