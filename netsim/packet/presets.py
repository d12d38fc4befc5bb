"""Named packet configurations: other simulators' routers as a `PacketConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netsim.errors import unknown_name
from netsim.packet.model import PacketConfig


@dataclass(frozen=True)
class PacketPreset:
    """Keys of a `PacketConfig` and their values."""

    description: str
    params: Mapping[str, Any]


def _end_points(
    packet_bytes: int, buffer_bytes: int, router_latency_s: float, overhead_s: float
) -> dict[str, Any]:
    """Return the keys of a machine whose ranks have one overhead for sends and receives."""
    return {
        "packet_bytes": packet_bytes,
        "buffer_bytes": buffer_bytes,
        "router_latency_s": router_latency_s,
        "send_overhead_s": overhead_s,
        "recv_overhead_s": overhead_s,
    }


PACKET_PRESETS: dict[str, PacketPreset] = {
    "merlin": PacketPreset(
        "SST's merlin with links of 1 GB/s and 40 ns: 50 ns in and out, a crossbar as fast "
        "as the fastest link",
        {
            "packet_bytes": 2048,
            "buffer_bytes": 14_000,
            # 50 ns in, 50 ns out, one and a half crossbar cycles of 8 ns: 152 ns with the wire
            "router_latency_s": 112e-9,
            # what an idle message takes beyond two wires and a router: 205.5 ns in all
            "send_overhead_s": 13.5e-9,
            # its crossbar, as fast as the fastest link, has the authors' max(1, alpha) GB/s
            "router": "input-queued",
            "arbitration": "merlin-lru",
            "delivery": "head",
        },
    ),
    "booksim2": PacketPreset(
        "BookSim2's dragonfly example, its flits of 8 bytes and cycles of 8 ns: links of 1 GB/s",
        {
            "packet_bytes": 80,  # 10 flits
            "buffer_bytes": 2048,  # 256 flits
            # a router takes 2 cycles when idle: VC allocation of half a cycle (the switch does two
            # steps a cycle), then switch allocation and the last stage
            "router_latency_s": 12e-9,
            "crossing_overhead_s": 4e-9,
            "router": "input-queued",
            "crossbar_speedup": 2.0,
            "arbitration": "round-robin",
            "crossing_requires": "credit",
        },
    ),
    # end points of real machines: experiments/machines has the rows, the fits and their errors
    "slingshot-11": PacketPreset(
        "Slingshot at 200 Gbit/s, fitted on GPCNeT; with node_latency = 1.1 us",
        _end_points(4096, 1 << 16, 350e-9, 800e-9),
    ),
    "ndr-fat-tree": PacketPreset(
        "InfiniBand NDR, fitted on exchanges of MareNostrum 5; with node_latency = 0.66 us",
        _end_points(4096, 1 << 16, 200e-9, 300e-9),
    ),
    "edr-fat-tree": PacketPreset(
        "InfiniBand EDR, fitted on pairs of Lassen; with node_latency = 0.28 us",
        {
            **_end_points(4096, 1 << 16, 100e-9, 250e-9),
            "copy_s_per_byte": 0.072e-9,
            "eager_limit_bytes": 512,
        },
    ),
    "aries": PacketPreset(
        "Cray Aries, fitted on a pair of Piz Daint; with node_latency = 0.51 us",
        _end_points(2048, 1 << 15, 100e-9, 400e-9),
    ),
    "tofu-d": PacketPreset(
        "Tofu-D, fitted on exchanges of Fugaku; with node_latency = 0.93 us",
        _end_points(2048, 1 << 15, 100e-9, 200e-9),
    ),
}


def with_packet_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a `PacketConfig` with those of their ``preset``, if one is given."""
    keys = dict(given)
    if "preset" not in keys:
        return keys
    name = keys.pop("preset")
    if not isinstance(name, str) or name not in PACKET_PRESETS:
        raise unknown_name("packet preset", str(name), PACKET_PRESETS)
    return {**PACKET_PRESETS[name].params, **keys}


def packet_preset(name: str) -> PacketConfig:
    """Return a named configuration."""
    return PacketConfig(**with_packet_preset({"preset": name}))
