"""The reference's input-queued routers: input FIFOs, a crossbar, output buffers.

The model of docs/packet-model.md, "Input-queued routers", evaluated anew whenever
something at a router may let a packet cross.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from experiments.validation.reference.network import FifoChannel, Link, Network, Packet
from netsim.packet.deadlock import Channel
from netsim.packet.model import ARBITRATIONS, MERLIN_LRU, to_ps


@dataclass(slots=True, eq=False)
class _Input:
    """The input FIFO behind a channel."""

    channel: FifoChannel
    fifo: deque[Packet] = field(default_factory=deque)
    target: FifoChannel | None = None
    """What its head bids for; the first of the class until one is allocated."""
    requests_ps: int = 0
    """From when on its head may be allocated a channel: its predecessor has crossed."""
    able_ps: int | None = 0
    """From when on its head may cross; None until a channel is allocated."""


@dataclass(slots=True, eq=False)
class _Router:
    number: int
    inputs: list[_Input] = field(default_factory=list)
    """By link and channel."""
    turns: list[_Input] = field(default_factory=list)
    """The least recently served first."""
    outputs: list[int] = field(default_factory=list)


class InputQueuedNetwork(Network):
    """Links and channels as before, and a crossbar in every router."""

    def _set_up(self) -> None:
        t, config = self.routing.topology, self.config
        self.routers = [_Router(r) for r in range(t.n_routers)]
        self.input_of: dict[FifoChannel, _Input] = {}
        self.output_bytes: dict[FifoChannel, int] = {}
        """Free bytes of the output buffers."""
        self.bid_bytes: dict[FifoChannel, int] = {}
        self.input_free_ps = [0] * t.n_links
        self.output_free_ps = [0] * t.n_links
        self.held_until_ps: dict[FifoChannel, int | None] = {}
        """When a channel can be allocated again; None while its head waits to cross."""
        self.overhead_ps = to_ps(self.config.crossing_overhead_s or 0.0)
        self.fastest_Bps = int(t.link_bandwidth_Bps.max())
        self.served_last: dict[int, int] = {}
        """Output -> place of the input that it served last, for round robin."""
        self.crossbar_tries: dict[int, set[int]] = {}
        for link in self.links:
            for channel in link.channels:
                self.output_bytes[channel] = config.output_space
                self.bid_bytes[channel] = 0
                if link.end_router is not None:
                    it = self.input_of[channel] = _Input(channel)
                    self.routers[link.end_router].inputs.append(it)
            if link.number >= t.n_ports:
                self.routers[int(t.link_src[link.number]) - t.n_ports].outputs.append(link.number)
        for router in self.routers:
            router.turns = list(router.inputs)

    def room(self, link: int, vc: int) -> int:
        """Return the free bytes, less those of heads that bid for the channel, if they count."""
        bids = self.bid_bytes[self.links[link].channels[vc]] if self.routing.counts_bids else 0
        return super().room(link, vc) - bids

    def _reach_router(self, link: Link, packet: Packet) -> None:
        assert link.end_router is not None
        assert packet.held is not None
        packet.reached_ps = self.clock.now
        it = self.input_of[packet.held]
        it.fifo.append(packet)
        if len(it.fifo) == 1:
            self._route_head(it)
            self._try_crossbar_at(link.end_router, self.clock.now)

    def _route_head(self, it: _Input) -> None:
        router, head = it.channel.link.end_router, it.fifo[0]
        assert router is not None
        it.target = self._choose(router, head)
        self.bid_bytes[it.target] += head.wire_bytes
        if self.config.allocates_channels:
            it.able_ps, it.requests_ps = None, max(it.requests_ps, self.clock.now)
            self._try_crossbar_at(router, it.requests_ps)

    # Channels

    def _allocate(self, router: _Router) -> None:
        """Allocate free channels to heads that ask, in the order of arbitration."""
        now = self.clock.now
        for it in self._in_order(router):
            if it.target is None or it.able_ps is not None or it.requests_ps > now:
                continue
            free = self._free_channel(it.target)
            if free is None:
                continue
            size = it.fifo[0].wire_bytes
            self.bid_bytes[it.target] -= size
            self.bid_bytes[free] += size
            it.target, it.able_ps = free, now + self.overhead_ps
            self.held_until_ps[free] = None
            self._try_crossbar_at(router.number, it.able_ps)

    def _in_order(self, router: _Router) -> list[_Input]:
        if self.config.arbitration != ARBITRATIONS[1]:
            return router.turns
        n = len(router.inputs)
        return [
            it
            for output in router.outputs
            for it in (router.inputs[place] for place in self._after_last(output, n))
            if it.target is not None and it.target.link.number == output
        ]

    def _class_of(self, target: FifoChannel) -> list[FifoChannel]:
        """Return all channels of a channel's class."""
        if target.link.end_router is None:
            return target.link.channels
        n = self.config.fifos_per_class
        first = target.vc - target.vc % n
        return target.link.channels[first : first + n]

    def _free_channel(self, target: FifoChannel) -> FifoChannel | None:
        """Return the first channel in turn, of a channel's class, that no head holds."""
        channels = self._class_of(target)
        for i in range(len(channels)):
            channel = channels[(target.link.packets + i) % len(channels)]
            until_ps = self.held_until_ps.get(channel, 0)
            if until_ps is not None and until_ps <= self.clock.now:
                return channel
        return None

    # Crossbars

    def _try_crossbar_at(self, router: int, time_ps: int) -> None:
        if time_ps not in self.crossbar_tries:
            self.crossbar_tries[time_ps] = set()
            self.clock.at(time_ps, self.order.crossbars, self._cross)
        self.crossbar_tries[time_ps].add(router)

    def _cross(self) -> None:
        for number in sorted(self.crossbar_tries.pop(self.clock.now)):
            if self.config.allocates_channels:
                self._allocate(self.routers[number])
            while self._round(self.routers[number]) and self.config.unlimited_crossbar:
                pass

    def _round(self, router: _Router) -> bool:
        """Begin at most one crossing a port; return whether there was one."""
        used: set[Link] = set()
        if self.config.arbitration == MERLIN_LRU:
            # all are chosen before the first begins; a later place in a round is a better one next
            served = []
            for it in router.turns:
                if self._can_cross(it, used):
                    assert it.target is not None
                    used |= {it.channel.link, it.target.link}
                    served.append(it)
            router.turns = [it for it in router.turns if it not in served] + served[::-1]
            for it in sorted(served, key=lambda it: it.channel.link.number):
                self._begin(it, used)
        elif self.config.arbitration in (None, ARBITRATIONS[0]):
            for it in list(router.turns):
                if self._can_cross(it, used):
                    router.turns.remove(it)
                    router.turns.append(it)
                    self._begin(it, used)
        else:
            for output in router.outputs:
                for place in self._after_last(output, len(router.inputs)):
                    it = router.inputs[place]
                    to_it = it.target is not None and it.target.link.number == output
                    if to_it and self._can_cross(it, used):
                        self.served_last[output] = place
                        self._begin(it, used)
                        break
        return bool(used)

    def _after_last(self, output: int, n: int) -> Iterable[int]:
        first = self.served_last.get(output, -1) + 1
        return ((first + i) % n for i in range(n))

    def _can_cross(self, it: _Input, used: set[Link]) -> bool:
        if it.target is None or it.able_ps is None or it.able_ps > self.clock.now:
            return False
        came_over, out = it.channel.link, it.target.link
        return (
            self.input_free_ps[came_over.number] <= self.clock.now
            and self.output_free_ps[out.number] <= self.clock.now
            and came_over not in used
            and out not in used
            and self.output_bytes[it.target] >= it.fifo[0].wire_bytes
            and self._has_credit(it.target, it.fifo[0])
        )

    def _has_credit(self, target: FifoChannel, packet: Packet) -> bool:
        """Return whether the buffer behind a channel takes the packet after all waiting ones."""
        to_node = target.link.end_router is None
        if to_node or not self.config.crosses_with_credit:
            return True
        return super().room(target.link.number, target.vc) >= packet.wire_bytes

    def _free_space(self, channel: FifoChannel, wire_bytes: int) -> None:
        super()._free_space(channel, wire_bytes)
        sender = int(self.routing.topology.link_src[channel.link.number])
        if self.config.crosses_with_credit and sender >= self.routing.topology.n_ports:
            self._try_crossbar_at(sender - self.routing.topology.n_ports, self.clock.now)

    def _begin(self, it: _Input, used: set[Link]) -> None:
        now = self.clock.now
        packet, target, came_over = it.fifo.popleft(), it.target, it.channel.link
        assert target is not None
        out = target.link
        used |= {came_over, out}
        it.target = None
        ser_in, ser_out = came_over.ser_ps(packet), out.ser_ps(packet)
        crossed_ps = now + self.config.crossing_ps(
            packet.wire_bytes, came_over.bandwidth_Bps, self.fastest_Bps
        )
        it.requests_ps = self.held_until_ps[target] = crossed_ps
        # before the packet joins: the next one does not see its predecessor at the output
        if it.fifo:
            self._route_head(it)
        self.input_free_ps[came_over.number] = crossed_ps
        self.output_free_ps[out.number] = crossed_ps
        if crossed_ps > now:
            assert came_over.end_router is not None
            self._try_crossbar_at(came_over.end_router, crossed_ps)
        if self.config.head_counts:
            ready_ps, left_ps = now, crossed_ps
        else:
            tail_in_ps = packet.reached_ps + ser_in
            ready_ps = max(now, tail_in_ps - ser_out, crossed_ps - ser_out)
            left_ps = max(crossed_ps, tail_in_ps)
        self._give_back(packet, left_ps)
        packet.held = None
        self.bid_bytes[target] -= packet.wire_bytes
        self.output_bytes[target] -= packet.wire_bytes
        self._join(target, packet, ready_ps)

    def _leave(self, channel: FifoChannel, packet: Packet, tail_ps: int) -> None:
        number = channel.link.number
        t = self.routing.topology
        if number < t.n_ports:
            return
        router, size = int(t.link_src[number]) - t.n_ports, packet.wire_bytes

        def free() -> None:
            self.output_bytes[channel] += size
            self._try_crossbar_at(router, self.clock.now)

        self.clock.at(tail_ps, self.order.SPACE, free)

    # The end

    def waits(self) -> dict[Channel, set[Channel]]:
        """Map each channel to the one for which the head of the FIFO behind it bids."""
        wanted = {
            channel: self._class_of(it.target) if it.able_ps is None else [it.target]
            for channel, it in self.input_of.items()
            if it.target is not None
        }
        bid_for = {c for targets in wanted.values() for c in targets}
        return {
            (channel.link.number, channel.vc): {(c.link.number, c.vc) for c in targets}
            for channel, targets in wanted.items()
            if channel.fifo or (self.config.crosses_with_credit and channel in bid_for)
        }

    def packets_wait(self) -> bool:
        """Return whether any packet waits for a link or a crossbar."""
        return super().packets_wait() or any(it.fifo for it in self.input_of.values())
