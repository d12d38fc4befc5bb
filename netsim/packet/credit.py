"""Whether input buffers cover the credit round trip, and the rate that they allow if not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from netsim.errors import warn_of_model
from netsim.packet.model import MAX_DURATION_PS, PS_PER_S, PacketConfig, serialisation_ps, to_ps
from netsim.topology import Topology


@dataclass(frozen=True)
class CreditLoop:
    """One kind of link against the buffer behind it."""

    kind: str
    """Link kind of the topology ("local", "up1", ...)."""
    round_trip_ps: int
    """From the start of a full packet to the start that may use its space again."""
    needed_bytes: int
    """Buffer that lets one channel fill the link: whole packets that start in a round trip."""
    bandwidth_Bps: int
    rate_Bps: float
    """Wire bytes a second that one channel can carry with the buffer as it is."""


def credit_loops(topology: Topology, config: PacketConfig) -> tuple[CreditLoop, ...]:
    """Return the most demanding credit loop of each kind of link in use, without ejection links.

    A packet of ``w`` wire bytes that starts at 0 is routed at ``latency + router_latency``,
    leaves at once on a link at least as fast (its tail never before it has come in), and its
    space is free again for the sender at ``T = 2 latency + router_latency + ser``
    (docs/packet-model.md). Only ``n = buffer div w`` packets can start in ``T``, so one channel
    carries at most ``n ser / T`` of the link's bandwidth. Several channels of a link have a
    buffer each; a slower next link lengthens ``T``, but limits the rate by itself.
    With input-queued routers the space is free when the tail has crossed: in ``T`` the time in the
    crossbar takes ``ser``; or the longer of both, unless delivery is by the head.
    """
    wire = config.packet_bytes + config.header_bytes
    n_packets = config.buffer_bytes // wire
    router_ps = to_ps(config.router_latency_s)
    fastest = int(topology.link_bandwidth_Bps.max())
    worst: list[CreditLoop] = []
    for kind in topology.kinds:
        if kind.endswith("ejection"):
            continue
        mask = topology.kind_mask(kind)
        pairs = {
            (int(b), to_ps(float(t)))
            for b, t in zip(
                topology.link_bandwidth_Bps[mask],
                topology.link_latency_s[mask],
                strict=True,
            )
        }
        loops = []
        for bandwidth, latency_ps in pairs:
            ser = serialisation_ps(wire, bandwidth)
            held_ps = ser
            if config.input_queued:
                crossing_ps = config.crossing_ps(wire, bandwidth, fastest)
                held_ps = crossing_ps if config.head_counts else max(ser, crossing_ps)
            trip = 2 * latency_ps + router_ps + held_ps
            share = min(1.0, n_packets * ser / max(trip, 1))
            loops.append(
                CreditLoop(kind, trip, -(-trip // ser) * wire, bandwidth, share * bandwidth)
            )
        if loops:
            worst.append(max(loops, key=lambda loop: (loop.needed_bytes, -loop.rate_Bps)))
    return tuple(worst)


def buffer_warning(topology: Topology, config: PacketConfig) -> str | None:
    """Return one line that names the link kind whose rate the buffer limits most; None if none.

    It states the number of bytes that would suffice, and the present rate of one channel.
    """
    short = [c for c in credit_loops(topology, config) if c.needed_bytes > config.buffer_bytes]
    if not short:
        return None
    worst = min(short, key=lambda loop: loop.rate_Bps / loop.bandwidth_Bps)
    percent = math.floor(1000 * worst.rate_Bps / worst.bandwidth_Bps) / 10
    return (
        f"buffer_bytes = {config.buffer_bytes} is below the credit round trip of {worst.kind} "
        f"links ({worst.needed_bytes} bytes needed): one channel carries at most "
        f"{worst.rate_Bps:.4g} of {worst.bandwidth_Bps:.4g} bytes/s ({percent:g} %)"
    )


_KNOWN: WeakKeyDictionary[Topology, dict[PacketConfig, str | None]] = WeakKeyDictionary()


def warn_of_buffers(topology: Topology, config: PacketConfig) -> None:
    """Raise `buffer_warning` as a `netsim.errors.ModelWarning`."""
    if float(topology.link_latency_s.max(initial=0.0)) > MAX_DURATION_PS / PS_PER_S:
        return  # refused where packets are sent
    known = _KNOWN.setdefault(topology, {})
    if config not in known:
        known[config] = buffer_warning(topology, config)
    if (message := known[config]) is not None:
        warn_of_model(message)
