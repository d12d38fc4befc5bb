"""Named packet configurations: routers of other simulators, end points of real machines."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from netsim.errors import unknown_name
from netsim.packet.model import PacketConfig


@dataclass(frozen=True)
class PacketPreset:
    """Keys of a `PacketConfig` and their values."""

    description: str
    params: Mapping[str, Any]


MACHINES: Mapping[str, Any] = tomllib.loads(
    files("netsim.packet").joinpath("machines.toml").read_text("utf-8")
)
"""End points of real machines, with the routing and family of each."""

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
    **{
        name: PacketPreset(
            one["description"],
            one["packet"]
            | dict.fromkeys(("send_overhead_s", "recv_overhead_s"), one["overhead_s"]),
        )
        for name, one in MACHINES.items()
    },
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
