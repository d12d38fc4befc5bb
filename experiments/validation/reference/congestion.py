"""Congestion control of the reference engine (docs/congestion-control.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netsim.packet.model import PacketConfig, to_ps
from netsim.routing.kernels_random import packet_key

LOOK_AHEAD = 16
# of DCQCN, from its paper: bytes between increases, gain, stages, and increases as shares of a link
BYTES_A_STAGE, GAIN, STAGES, ADDED, HYPER = 10_000_000, 1.0 / 256.0, 5, 0.001, 0.01
FlowKey = tuple[int, int]
"""Source and destination port."""


@dataclass(frozen=True)
class Sent:
    """A packet as a control sees it."""

    flow: FlowKey
    now_ps: int
    wire_bytes: int
    ser_ps: int
    """On the source's injection link when it starts there, on the ejection link when it arrives."""


@dataclass(slots=True)
class _Port:
    """What is known of a destination port."""

    slowdown: float = 1.0
    since_ps: int = -1
    """-1 until a packet starts towards it."""
    sent_ps: int = 0
    """Serialisation on its link of what has started towards it since then."""
    arrived_ps: int = 0
    in_flight_ps: int = 0
    pairs: int = 0
    """Flows with packets in flight."""
    peak: int = 0
    """Most of them while a backlog is drained; 0 without one."""


@dataclass(slots=True)
class _Pair:
    """A flow."""

    slowdown: float = 1.0
    since_ps: int = 0
    next_ps: int = 0
    in_flight: int = 0
    signal_ps: int = -1
    signal: float = 1.0
    """The slowdown that is under way to the source."""


class EndpointPairs:
    """Destinations signal each flow its share."""

    def __init__(self, config: PacketConfig, there_ps: Callable[[int, int], int]) -> None:
        self.there_ps = there_ps
        """Serialisation on a port's ejection link of so many bytes."""
        self.target_bytes = config.congestion_threshold_bytes
        self.full_bytes = config.packet_bytes + config.header_bytes
        self.delay_ps = to_ps(config.congestion_delay_s)
        self.interval_ps = to_ps(config.control_interval_s)
        self.recovery_ps = to_ps(config.control_recovery_s)
        self.ports: dict[int, _Port] = defaultdict(_Port)
        self.flows: dict[FlowKey, _Pair] = defaultdict(_Pair)

    def next_ps(self, key: FlowKey) -> int:
        """Return the earliest time at which the flow's next packet may start."""
        return self.flows[key].next_ps

    def started(self, packet: Sent) -> None:
        """Record that the source has begun to send a packet."""
        port, flow = self.ports[packet.flow[1]], self.flows[packet.flow]
        self._settle(packet.flow, packet.now_ps)
        there_ps = self.there_ps(packet.flow[1], packet.wire_bytes)
        gap_ps = packet.ser_ps
        if flow.slowdown > 1.0:
            gap_ps = max(gap_ps, int(flow.slowdown * there_ps))
        flow.next_ps = packet.now_ps + gap_ps
        if port.since_ps < 0:
            port.since_ps = packet.now_ps
        port.sent_ps += there_ps
        port.in_flight_ps += there_ps
        port.pairs += flow.in_flight == 0
        flow.in_flight += 1

    def arrived(self, packet: Sent) -> None:
        """Record that a packet has arrived at its node."""
        port, flow = self.ports[packet.flow[1]], self.flows[packet.flow]
        port.arrived_ps += packet.ser_ps
        self._update(port, packet)
        port.in_flight_ps -= packet.ser_ps
        flow.in_flight -= 1
        port.pairs -= flow.in_flight == 0
        self._settle(packet.flow, packet.now_ps)
        if flow.signal_ps < 0 and max(port.slowdown, flow.slowdown) > 1.0:
            flow.signal_ps, flow.signal = packet.now_ps + self.delay_ps, port.slowdown

    def _update(self, port: _Port, packet: Sent) -> None:
        full_ps = self.there_ps(packet.flow[1], self.full_bytes)
        interval = self.interval_ps + int(port.slowdown * full_ps)
        elapsed = packet.now_ps - port.since_ps
        if elapsed < interval:
            return
        target_ps = self.there_ps(packet.flow[1], self.target_bytes)
        change = 1.0 + 0.25 * (1.0 - port.sent_ps / elapsed)
        # else the network limits, which is left to routing
        destination_limits = port.arrived_ps >= 0.9 * elapsed
        if destination_limits:
            change -= 0.1 * ((port.in_flight_ps - target_ps) / elapsed)
        change = min(max(change, 0.5), 2.0)
        backlog_ps = 2 * target_ps + 4 * port.pairs * full_ps
        if destination_limits and port.in_flight_ps > backlog_ps:
            port.peak = max(port.peak, port.pairs)
            port.slowdown = 3.0 * port.peak
        elif port.peak:
            port.slowdown, port.peak = float(port.peak), 0
        else:
            for _ in range(min(elapsed // interval, 64) if change > 1.0 else 1):
                port.slowdown = max(1.0, port.slowdown / change)
        port.since_ps, port.sent_ps, port.arrived_ps = packet.now_ps, 0, 0

    def _settle(self, key: FlowKey, now_ps: int) -> None:
        """Bring a flow to what has reached its source by now."""
        flow = self.flows[key]
        if 0 <= flow.signal_ps <= now_ps:
            flow.slowdown, flow.since_ps = flow.signal, flow.signal_ps
            flow.signal_ps = -1
        self._recover(key, now_ps)

    def _recover(self, key: FlowKey, now_ps: int) -> None:
        flow, full_ps = self.flows[key], self.there_ps(key[1], self.full_bytes)
        while flow.slowdown > 1.0:
            after_ps = self.recovery_ps + 4 * int(flow.slowdown * full_ps)
            if now_ps - flow.since_ps < after_ps:
                break
            flow.slowdown = max(1.0, flow.slowdown / 2.0)
            flow.since_ps += after_ps


@dataclass(slots=True)
class _Limited:
    """A flow under "dcqcn": rates are shares of its injection link's."""

    rate: float = 1.0
    target: float = 1.0
    alpha: float = 1.0
    alpha_since_ps: int = -1
    """-1 until the first cut."""
    timer_since_ps: int = 0
    n_bytes: int = 0
    timer_stage: int = 0
    byte_stage: int = 0
    marked_ps: int = -1
    """When a packet of it was marked last, of those marks that count."""
    signal_ps: int = -1
    next_ps: int = 0


class Dcqcn:
    """Routers mark packets by the length of their queues; sources cut their rates and recover."""

    def __init__(self, config: PacketConfig, seed: int) -> None:
        self.seed = seed
        self.least_bytes = config.congestion_threshold_bytes
        self.delay_ps = to_ps(config.congestion_delay_s)
        self.interval_ps = to_ps(config.control_interval_s)
        self.timer_ps = to_ps(config.control_recovery_s)
        self.flows: dict[FlowKey, _Limited] = defaultdict(_Limited)

    def next_ps(self, key: FlowKey) -> int:
        """Return the earliest time at which the flow's next packet may start."""
        return self.flows[key].next_ps

    def joined(
        self,
        key: FlowKey,
        now_ps: int,
        link: tuple[int, int],
        bytes_ps: Callable[[int], int],
        wait_ps: int,
    ) -> None:
        """Record that a packet has joined the FIFO of a router's link, where so much waits.

        The link is its number, and the packets that it has sent.
        """
        least_ps, most_ps = bytes_ps(self.least_bytes), bytes_ps(4 * self.least_bytes)
        if wait_ps <= least_ps:
            return
        if wait_ps <= most_ps:
            probability = 0.2 * (wait_ps - least_ps) / (most_ps - least_ps)
            draw = int(packet_key(*map(np.uint64, (self.seed, *link, wait_ps)))) >> 32
            if draw * 2.0**-32 >= probability:
                return
        flow = self._at(key, now_ps)
        if flow.marked_ps < 0 or now_ps - flow.marked_ps >= self.interval_ps:
            flow.marked_ps, flow.signal_ps = now_ps, now_ps + self.delay_ps

    def started(self, packet: Sent) -> None:
        """Record that the source has begun to send a packet."""
        flow = self._at(packet.flow, packet.now_ps)
        flow.next_ps = packet.now_ps + int(packet.ser_ps / flow.rate)
        if flow.rate < 1.0:
            flow.n_bytes += packet.wire_bytes
            if flow.n_bytes >= BYTES_A_STAGE:
                flow.n_bytes = 0
                flow.byte_stage += 1
                self._increase(flow)

    def arrived(self, packet: Sent) -> None:
        """Record that a packet has arrived at its node: of no account here."""

    def _at(self, key: FlowKey, now_ps: int) -> _Limited:
        flow = self.flows[key]
        if 0 <= flow.signal_ps <= now_ps:
            self._advance(flow, flow.signal_ps)
            flow.target = flow.rate
            flow.rate *= 1.0 - flow.alpha / 2.0
            flow.alpha = (1.0 - GAIN) * flow.alpha + GAIN
            flow.alpha_since_ps = flow.timer_since_ps = flow.signal_ps
            flow.n_bytes = flow.timer_stage = flow.byte_stage = 0
            flow.signal_ps = -1
        self._advance(flow, now_ps)
        return flow

    def _advance(self, flow: _Limited, now_ps: int) -> None:
        """Let the timers expire that have by now."""
        if flow.alpha_since_ps < 0:
            return
        times = (now_ps - flow.alpha_since_ps) // self.timer_ps
        for _ in range(min(times, 4000)):
            flow.alpha *= 1.0 - GAIN
        flow.alpha_since_ps += times * self.timer_ps
        while flow.rate < 1.0 and now_ps - flow.timer_since_ps >= self.timer_ps:
            flow.timer_since_ps += self.timer_ps
            flow.timer_stage += 1
            self._increase(flow)

    def _increase(self, flow: _Limited) -> None:
        """Recover fast for five stages, then add to the target, then more and more."""
        first, last = sorted((flow.timer_stage, flow.byte_stage))
        if first > STAGES:
            flow.target += HYPER * (first - STAGES)
        elif last >= STAGES:
            flow.target += ADDED
        flow.target = min(flow.target, 1.0)
        flow.rate = (flow.rate + flow.target) / 2.0


def control_of(
    config: PacketConfig, there_ps: Callable[[int, int], int], seed: int
) -> EndpointPairs | Dcqcn | None:
    """Return the control that a config names; None for credits alone."""
    if not config.paces_flows:
        return None
    if config.congestion_control == "dcqcn":
        return Dcqcn(config, seed)
    return EndpointPairs(config, there_ps)
