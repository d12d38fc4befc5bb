"""Congestion control of the reference packet engine: flows that their destinations slow down."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from netsim.packet.model import MAX_SLOWDOWN, PacketConfig, serialisation_ps, to_ps


@dataclass(slots=True)
class _Flow:
    slowdown: int = 1
    since_ps: int = 0
    """When the slowdown last changed."""
    signal_ps: int = -1
    """When the signal that is under way reaches the source; -1 for none."""
    next_ps: int = 0
    """Before this no packet of it starts."""


class Throttle:
    """The flows of the reference engine; a flow is (source port, destination port)."""

    def __init__(self, config: PacketConfig) -> None:
        self.threshold_bytes = config.congestion_threshold_bytes
        self.delay_ps = to_ps(config.congestion_delay_s)
        self.recovery_ps = to_ps(config.congestion_recovery_s)
        self.flows: dict[tuple[int, int], _Flow] = defaultdict(_Flow)

    def _recover(self, flow: _Flow, now_ps: int) -> None:
        while flow.slowdown > 1 and now_ps - flow.since_ps >= self.recovery_ps:
            flow.slowdown //= 2
            flow.since_ps += self.recovery_ps

    def _at(self, key: tuple[int, int], now_ps: int) -> _Flow:
        """Return the flow, updated by all signals that have reached its source by now."""
        flow = self.flows[key]
        if 0 <= flow.signal_ps <= now_ps:
            self._recover(flow, flow.signal_ps)
            flow.slowdown = min(2 * flow.slowdown, MAX_SLOWDOWN)
            flow.since_ps, flow.signal_ps = flow.signal_ps, -1
        self._recover(flow, now_ps)
        return flow

    def joined(
        self, key: tuple[int, int], now_ps: int, waiting_ps: int, bandwidth_Bps: int
    ) -> None:
        """Record that a packet of the flow has joined the queue of an ejection link."""
        if waiting_ps > serialisation_ps(self.threshold_bytes, bandwidth_Bps):
            flow = self._at(key, now_ps)
            if flow.signal_ps < 0:
                flow.signal_ps = now_ps + self.delay_ps

    def next_ps(self, key: tuple[int, int]) -> int:
        """Return the earliest time at which the flow's next packet may start."""
        return self.flows[key].next_ps

    def started(self, key: tuple[int, int], now_ps: int, ser_ps: int) -> None:
        """Record that the source has begun to send a packet of the flow."""
        flow = self._at(key, now_ps)
        flow.next_ps = now_ps + ser_ps * flow.slowdown
