"""The network of the reference packet engine: its clock, links, channels and routers.

Links act when something that could let them start happens: a packet that is ready, space that
comes free, the end of a transmission.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby

import numpy as np
import simpy
from simpy.events import EventPriority

from experiments.validation.reference.congestion import LOOK_AHEAD, Dcqcn, Sent, control_of
from experiments.validation.reference.decisions import choose_of, pins_of
from experiments.validation.reference.messages import Part
from experiments.validation.reference.view import Choose
from netsim.packet.deadlock import Channel
from netsim.packet.model import PacketConfig, serialisation_ps, to_ps
from netsim.packet.rails import nic_links
from netsim.routing.base import Routing
from netsim.routing.kernels_random import packet_key

_NO_BOUND = 1 << 62
"""Free bytes at a node, which takes everything."""


class Clock(simpy.Environment):
    """SimPy's clock in whole picoseconds, with a place inside the tick for every event."""

    @property
    def now(self) -> int:
        return int(self._now)

    def at(self, time_ps: int, place: int, call: Callable[[], None] | None = None) -> simpy.Event:
        """Schedule a call at a time, at a place in that tick's order, and return its event."""
        event = simpy.Event(self)
        if call is not None:
            event.callbacks.append(lambda _: call())
        return self.fire(event, time_ps, place)

    def fire(self, event: simpy.Event, time_ps: int, place: int) -> simpy.Event:
        """Trigger an event at a time and place; processes may wait for it already."""
        event._ok, event._value = True, None
        self.schedule(event, EventPriority(place), time_ps - self.now)
        return event


class Order:
    """Places inside a tick ("Order" in docs/packet-model.md)."""

    SPACE = 0
    GO_ON = 1  # the list of ranks that a message lets go on: before the next rank or arrival

    def __init__(self, n_ranks: int, n_links: int) -> None:
        self.first_sent = 2
        self.first_rank = self.first_sent + n_ranks
        self.first_arrival = self.first_rank + n_ranks
        self.crossbars = self.first_arrival + n_links
        self.links = self.crossbars + 1


@dataclass(slots=True, eq=False)
class Packet:
    part: Part
    number: int
    """Among those of its part."""
    wire_bytes: int
    state: int = 0
    visits: int = 0
    ready_ps: int = 0
    reached_ps: int = 0
    """When its head could be routed at the router that it reached last."""
    ser_ps: int = 0
    """On the link that it came over."""
    held: FifoChannel | None = None
    """The channel in whose buffer it takes up space; None before its first link."""


@dataclass(slots=True, eq=False)
class FifoChannel:
    link: Link
    vc: int
    free_bytes: int
    fifo: deque[Packet] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class Link:
    number: int
    bandwidth_Bps: int
    latency_ps: int
    end_router: int | None
    """None at a node."""
    n_vcs: int
    """Channels of each priority class; those of the highest come first."""
    channels: list[FifoChannel] = field(default_factory=list)
    last_vc: list[int] = field(default_factory=list)
    """In each priority class: the channel served last."""
    free_at_ps: int = 0
    stalled_since_ps: int | None = None
    port: PacketConfig | None = None
    """Of a network port's link, for its efficiency."""
    began_ps: int = -1
    """When the last packet began; and when it ends, and the one before it ended."""
    end_ps: int = -1
    end_before_ps: int = -1
    packets: int = 0
    bytes: int = 0
    busy_ps: int = 0
    stalls: int = 0
    stall_ps: int = 0

    def ser_ps(self, packet: Packet, both_ways: bool = False) -> int:
        return self.bytes_ps(packet.wire_bytes, both_ways)

    def bytes_ps(self, n_bytes: int, both_ways: bool = False) -> int:
        if self.port is not None:
            return self.port.port_ps(n_bytes, self.bandwidth_Bps, both_ways)
        return serialisation_ps(n_bytes, self.bandwidth_Bps)

    def transmits_before(self, now_ps: int) -> bool:
        """Return whether it transmits or ends now what it did not begin in this very tick."""
        return (self.end_before_ps if self.began_ps == now_ps else self.end_ps) >= now_ps

    def turns(self) -> list[FifoChannel]:
        """Return channels in the order in which they may start: by class, then round-robin."""
        n = self.n_vcs
        return [
            self.channels[k * n + (last + 1 + i) % n]
            for k, last in enumerate(self.last_vc)
            for i in range(n)
        ]

    def served(self, channel: FifoChannel) -> None:
        """Record that a packet of the channel starts."""
        k, vc = divmod(channel.vc, self.n_vcs)
        self.last_vc[k] = vc

    def end_stall(self, now_ps: int) -> None:
        if self.stalled_since_ps is not None:
            self.stalls += 1
            self.stall_ps += now_ps - self.stalled_since_ps
            self.stalled_since_ps = None


class Network:
    """Links, channels and routers. It is also the `View` that the routing looks at."""

    def __init__(
        self,
        clock: Clock,
        order: Order,
        routing: Routing,
        config: PacketConfig,
        seed: int,
        deliver: Callable[[Part], None],
        left: Callable[[Part, int], None],
        n_classes: int = 1,
        choose: Choose | None = None,
    ) -> None:
        self.clock, self.order = clock, order
        self.choose, self.pins = choose or choose_of(routing), pins_of(routing)
        self.routing, self.config, self.seed = routing, config, seed
        self.deliver = deliver
        """Called with the part whose last packet has arrived."""
        self.left = left
        """Called with the part whose last packet starts, and when that will have left its node."""
        self.packets_to_send: dict[Part, int] = {}
        self.n_classes = n_classes
        self.router_latency_ps = to_ps(config.router_latency_s)
        self.control = control_of(config, self._ejection_ps, seed)
        self.packets_left: dict[Part, int] = {}
        self.tries: dict[int, set[int]] = {}
        """Tick -> links that may be able to start a packet then."""
        self.links = [self._make_link(i) for i in range(routing.topology.n_links)]
        self._set_up()

    def _set_up(self) -> None:
        """Prepare what routers of another kind need."""

    def _make_link(self, number: int) -> Link:
        t = self.routing.topology
        to_node = t.n_ports <= number < t.first_router_link
        one_channel = number < t.first_router_link and not self.config.allocates_channels
        link = Link(
            number=number,
            bandwidth_Bps=int(t.link_bandwidth_Bps[number]),
            latency_ps=to_ps(float(t.link_latency_s[number])),
            end_router=None if to_node else int(t.link_dst[number]) - t.n_ports,
            n_vcs=1 if one_channel else self.routing.n_vcs * self.config.fifos_per_class,
            port=self.config if nic_links(t)[number] else None,
        )
        free_bytes = _NO_BOUND if to_node else self.config.buffer_bytes
        n_channels = self.n_classes * link.n_vcs
        link.channels = [FifoChannel(link, vc, free_bytes) for vc in range(n_channels)]
        # so that the first turn of a class is its channel 0's
        link.last_vc = [link.n_vcs - 1] * self.n_classes
        return link

    def _ejection_ps(self, port: int, n_bytes: int) -> int:
        """Return the serialisation of so many bytes on a port's ejection link."""
        return self.links[self.routing.topology.n_ports + port].bytes_ps(n_bytes)

    # What a router may look at

    def load(self, link: int) -> int:
        """Return the picoseconds until the link could start one more packet."""
        it = self.links[link]
        waiting = sum(it.ser_ps(p) for channel in it.channels for p in channel.fifo)
        return max(0, it.free_at_ps - self.clock.now) + waiting

    def room(self, link: int, vc: int) -> int:
        """Return the free bytes behind the channel, less those of the packets that wait for it."""
        channel = self.links[link].channels[vc]
        return channel.free_bytes - sum(p.wire_bytes for p in channel.fifo)

    def queued(self, link: int) -> int:
        """Return the wire bytes of all packets that wait for the link."""
        channels = self.links[link].channels
        return sum(c.free_bytes - self.room(link, c.vc) for c in channels)

    def used(self, link: int) -> int:
        """Return the bytes that wait for the link, or whose space behind it is not yet free."""
        channels = self.links[link].channels
        return sum(self.config.buffer_bytes - self.room(link, c.vc) for c in channels)

    def queue_bytes(self, link: int, vc: int) -> int:
        """Return the wire bytes in the output FIFO of the channel."""
        return sum(p.wire_bytes for p in self.links[link].channels[vc].fifo)

    def queue_free(self, link: int, vc: int) -> int:
        """Return the bytes of the channel's output buffer that its FIFO leaves free."""
        return self.config.output_space - self.queue_bytes(link, vc)

    # Packets

    def send(self, part: Part) -> None:
        """Put a part's packets at the end of its port's queue."""
        self.packets_left[part] = self.packets_to_send[part] = len(part.payloads)
        for number, payload in enumerate(part.payloads):
            packet = Packet(part, number, payload + self.config.header_bytes)
            channel = self.links[part.src_port].channels[part.priority_class]
            self._join(channel, packet, self.clock.now)
            if self.config.control_first and part.is_control:
                channel.fifo.pop()
                places = enumerate([*channel.fifo, packet])
                first_data = next(i for i, p in places if p is packet or not p.part.is_control)
                channel.fifo.insert(first_data, packet)

    def _join(self, channel: FifoChannel, packet: Packet, ready_ps: int) -> None:
        packet.ready_ps = ready_ps
        channel.fifo.append(packet)
        self._try_at(channel.link, ready_ps)

    def _choose(self, router: int, packet: Packet) -> FifoChannel:
        """Return the channel over which the routing sends a packet from here."""
        part, visits = packet.part, packet.visits
        names = part.draw_number, packet.number + (part.number << 32)
        pinned: Sequence[int] = ()
        if self.routing.queue_pairs:
            pair = packet.number % self.routing.queue_pairs
            pinned = self.pins.get((part.src_port, part.dst_port, pair), ())
            names = (part.src_port << 32) + part.dst_port, pair
            visits = visits if self.routing.seed_each_hop else 0
        key = int(packet_key(*map(np.uint64, (self.seed, *names, visits))))
        if packet.visits < len(pinned):
            key = pinned[packet.visits]
        hop = self.choose(self, router, packet.part.dst_port, packet.state, key, packet.wire_bytes)
        packet.visits += 1
        packet.state = hop.state
        out = self.links[hop.link]
        vc = hop.vc * self.config.fifos_per_class
        return out.channels[part.priority_class * out.n_vcs + vc]

    def _reach_router(self, link: Link, packet: Packet) -> None:
        assert link.end_router is not None
        out = self._choose(link.end_router, packet)
        # A faster link must not send the tail before it has come in.
        wait_for_tail = max(0, packet.ser_ps - out.link.ser_ps(packet))
        if self.config.head_counts:
            wait_for_tail = 0
        self._join(out, packet, self.clock.now + wait_for_tail)
        if isinstance(self.control, Dcqcn):
            queued = [p for channel in out.link.channels for p in channel.fifo]
            self.control.joined(
                packet.part.flow,
                self.clock.now,
                (out.link.number, out.link.packets),
                out.link.bytes_ps,
                sum(map(out.link.ser_ps, queued)),
            )

    def _reach_node(self, link: Link, packet: Packet) -> None:
        if self.control is not None:
            self.control.arrived(
                Sent(packet.part.flow, self.clock.now, packet.wire_bytes, link.ser_ps(packet))
            )
        self.packets_left[packet.part] -= 1
        if self.packets_left[packet.part] == 0:
            self.deliver(packet.part)

    def _free_space(self, channel: FifoChannel, wire_bytes: int) -> None:
        channel.free_bytes += wire_bytes
        self._try_at(channel.link, self.clock.now)

    # Links

    def _try_at(self, link: Link, time_ps: int) -> None:
        if time_ps not in self.tries:
            self.tries[time_ps] = set()
            self.clock.at(time_ps, self.order.links, self._start_links)
        self.tries[time_ps].add(link.number)

    def _start_links(self) -> None:
        """Run the last part of a tick; arrivals without any latency make another tick part."""
        for number in sorted(self.tries.pop(self.clock.now)):
            self._start_or_stall(self.links[number])

    def _start_or_stall(self, link: Link) -> None:
        now = self.clock.now
        if link.free_at_ps > now:
            return
        if self.control is not None and self._is_injection(link) and link.channels[0].fifo:
            next_ps = self._bring_forward(link.channels[0].fifo)
            if next_ps > now:
                self._try_at(link, next_ps)
                return
        ready = [c for c in link.turns() if c.fifo and c.fifo[0].ready_ps <= now]
        able = [c for c in ready if self._behind(link, c).free_bytes >= c.fifo[0].wire_bytes]
        if able:
            if link.stalled_since_ps == now:  # begun in this very tick: none
                link.stalled_since_ps = None
            link.end_stall(now)
            self._start(link, able[0])
        elif ready and link.stalled_since_ps is None:
            link.stalled_since_ps = now

    def _bring_forward(self, fifo: deque[Packet]) -> int:
        """Move the first part that may be sent, of those at the head, to the head of its queue.

        Returns when the earliest of them may.
        """
        assert self.control is not None
        parts = list(dict.fromkeys(packet.part for packet in fifo))[:LOOK_AHEAD]
        times_ps = [self.control.next_ps(part.flow) for part in parts]
        for part, time_ps in zip(parts, times_ps, strict=True):
            if time_ps <= self.clock.now:
                ordered = sorted(fifo, key=lambda packet: packet.part is not part)
                fifo.clear()
                fifo.extend(ordered)
                break
        return min(times_ps)

    def _behind(self, link: Link, channel: FifoChannel) -> FifoChannel:
        """Return the channel in whose buffer the first packet of a FIFO would go.

        The packets of a port wait in one FIFO for all channels of its injection link, and go to the
        first in turn that has space.
        """
        n = link.n_vcs
        if n == 1 or not self._is_injection(link):
            return channel
        in_turn = (link.channels[(link.packets + i) % n] for i in range(n))
        size = channel.fifo[0].wire_bytes
        return next((c for c in in_turn if c.free_bytes >= size), channel)

    def _is_injection(self, link: Link) -> bool:
        return link.number < self.routing.topology.n_ports

    def _both_ways(self, link: Link) -> bool:
        """Return whether a port's other link transmits, too."""
        n = self.routing.topology.n_ports
        if link.number >= 2 * n:
            return False
        return self.links[(link.number + n) % (2 * n)].transmits_before(self.clock.now)

    def _start(self, link: Link, channel: FifoChannel) -> None:
        now = self.clock.now
        behind = self._behind(link, channel)
        packet = channel.fifo.popleft()
        if self._is_injection(link):
            self._take_turns(channel, packet.part)
        size, ser = packet.wire_bytes, link.ser_ps(packet, self._both_ways(link))
        packet.ser_ps = ser
        link.served(channel)
        link.began_ps, link.end_before_ps, link.end_ps = now, link.end_ps, now + ser
        link.free_at_ps = now + ser
        link.packets += 1
        link.bytes += size
        link.busy_ps += ser
        self._try_at(link, link.free_at_ps)
        if self.control is not None and self._is_injection(link):
            self.control.started(Sent(packet.part.flow, now, size, ser))

        if self._is_injection(link):
            self.packets_to_send[packet.part] -= 1
            if self.packets_to_send[packet.part] == 0:
                self.left(packet.part, link.free_at_ps)
        self._leave(channel, packet, now + ser)
        behind.free_bytes -= size
        packet.held = behind

        place = self.order.first_arrival + link.number
        if link.end_router is None:
            time_ps = now + link.latency_ps
            if not self.config.head_counts:
                time_ps += ser
            self.clock.at(time_ps, place, lambda: self._reach_node(link, packet))
        else:
            time_ps = now + link.latency_ps + self.router_latency_ps
            self.clock.at(time_ps, place, lambda: self._reach_router(link, packet))

    def _take_turns(self, channel: FifoChannel, part: Part) -> None:
        """Put what remains of a part behind the next `port_messages` - 1 parts of its port."""
        by_part = [list(packets) for _, packets in groupby(channel.fifo, lambda p: p.part)]
        if by_part and by_part[0][0].part is part:
            by_part.insert(self.config.port_messages - 1, by_part.pop(0))
        channel.fifo = deque(chain.from_iterable(by_part))

    def _leave(self, channel: FifoChannel, packet: Packet, tail_ps: int) -> None:
        """Release what a packet holds when its tail leaves its router over a channel's link."""
        self._give_back(packet, tail_ps)

    def _give_back(self, packet: Packet, left_ps: int) -> None:
        """Free the input buffer that a packet holds when its tail leaves it."""
        behind = packet.held
        if behind is None:
            return
        seen_ps = left_ps + behind.link.latency_ps
        if seen_ps == self.clock.now:
            self._free_space(behind, packet.wire_bytes)
        else:
            free = partial(self._free_space, behind, packet.wire_bytes)
            self.clock.at(seen_ps, self.order.SPACE, free)

    # The end

    def waits(self) -> dict[Channel, set[Channel]]:
        """Map channels to those they wait for (see `netsim.packet.deadlock.waiting_cycle`)."""
        waits: dict[Channel, set[Channel]] = {}
        for link in self.links:
            for channel in link.channels:
                for packet in channel.fifo:
                    if packet.held is not None and packet.held.fifo:
                        behind = (packet.held.link.number, packet.held.vc)
                        waits.setdefault(behind, set()).add((link.number, channel.vc))
        return waits

    def packets_wait(self) -> bool:
        """Return whether any packet waits for a link."""
        return any(channel.fifo for link in self.links for channel in link.channels)
