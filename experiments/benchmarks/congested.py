"""Packets under congestion: near or above saturation, finite buffers, packets that stall.

Every node sends single packets to a fixed pattern of destinations on its own clock, whether or
not the network keeps up (`patterns.open_loop`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.case import Round, read_bench
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import combine
from patterns.destinations import Destinations
from patterns.open_loop import named_destinations, open_loop, traffic_params

PACKET_BYTES = 1000
BUFFER_PACKETS = 2
DURATION_S = 200e-6
HOT_NODES, HOT_SHARE = 16, 0.1


@dataclass(frozen=True)
class Congested:
    """A machine and the load that every node offers."""

    family: str
    parameters: Mapping[str, Any] = field(hash=False)
    """Of the family."""
    routing: str
    traffic: str
    """A name of `patterns.open_loop.DESTINATIONS`, or "hotspot": a tenth of all packets goes to 16
    nodes, the others to any node."""
    saturation: float
    """Load at which the first link is full, as a share of a node's bandwidth."""
    loaded: float = 0.8
    """Load, as a share of that."""

    def prepare(self) -> Round:
        """Return the timed simulation."""
        topology = make_topology(self.family, self.parameters)
        routing, n = make_routing(topology, self.routing), topology.n_nodes
        rng = np.random.default_rng(1)
        if self.traffic == "hotspot":
            destinations = _hotspot(n)
        else:
            params = traffic_params(topology, self.traffic)
            destinations = named_destinations(self.traffic, n, rng, params)
        rate_Bps = self.loaded * self.saturation * float(topology.link_bandwidth_Bps[0])
        program = open_loop(n, destinations, PACKET_BYTES, rate_Bps, DURATION_S, rng)
        traffic = combine([program], [np.arange(n)])
        config = PacketConfig(packet_bytes=PACKET_BYTES, buffer_bytes=BUFFER_PACKETS * PACKET_BYTES)

        def run() -> Mapping[str, float]:
            result = simulate_packets(
                routing, traffic, config, np.random.default_rng(1), record_messages=False
            )
            return {"hops": result.packet_hops, "stalls": int(result.link_stalls.sum())}

        return run


def _hotspot(n_nodes: int) -> Destinations:
    def destinations(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        anywhere = rng.integers(0, n_nodes, len(src))
        hot = rng.integers(0, HOT_NODES, len(src)) * (n_nodes // HOT_NODES)
        return np.where(rng.random(len(src)) < HOT_SHARE, hot, anywhere)

    return destinations


CONGESTED = {
    name: Congested(**{"traffic": name, **content})
    for name, content in read_bench()["congested"].items()
}


def simulated(load: str) -> Round:
    """Return the timed simulation of a load of `CONGESTED`."""
    return CONGESTED[load].prepare()
