"""Packets that each node sends on its own clock: loads that congest, and loads that are sparse.

Every node sends single packets to a fixed pattern of destinations on its own clock, whether or
not the network keeps up (`experiments.kit.open_loop`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.case import Round, read_bench
from experiments.kit.open_loop import named_destinations, open_loop, traffic_params
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import combine
from patterns.destinations import Destinations

PACKET_BYTES = 1000
HOT_NODES, HOT_SHARE = 16, 0.1
SENDERS = 32


@dataclass(frozen=True)
class Congested:
    """A machine and the load that every node offers."""

    family: str
    parameters: Mapping[str, Any] = field(hash=False)
    """Of the family."""
    routing: str
    traffic: str
    """A name of `experiments.kit.open_loop.DESTINATIONS` or of `LOCAL`."""
    saturation: float
    """Load at which the first link is full, as a share of a node's bandwidth."""
    loaded: float = 0.8
    """Load, as a share of that."""
    buffer_packets: int = 2
    """0: the packet model's default."""
    duration_s: float = 200e-6

    def prepare(self) -> Round:
        """Return the timed simulation."""
        topology = make_topology(self.family, self.parameters)
        routing, n = make_routing(topology, self.routing), topology.n_nodes
        rng = np.random.default_rng(1)
        if self.traffic in LOCAL:
            destinations = LOCAL[self.traffic](n)
        else:
            params = traffic_params(topology, self.traffic)
            destinations = named_destinations(self.traffic, n, rng, params)
        rate_Bps = self.loaded * self.saturation * float(topology.link_bandwidth_Bps[0])
        program = open_loop(n, destinations, PACKET_BYTES, rate_Bps, self.duration_s, rng)
        traffic = combine([program], [np.arange(n)])
        config = PacketConfig(packet_bytes=PACKET_BYTES)
        if self.buffer_packets:
            config = replace(config, buffer_bytes=self.buffer_packets * PACKET_BYTES)

        def run() -> Mapping[str, float]:
            result = simulate_packets(
                routing, traffic, config, np.random.default_rng(1), record_messages=False
            )
            return {"hops": result.packet_hops, "stalls": int(result.link_stalls.sum())}

        return run


def _hotspot(n_nodes: int) -> Destinations:
    """Send a tenth of all packets to 16 nodes, the others to any node."""

    def destinations(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        anywhere = rng.integers(0, n_nodes, len(src))
        hot = rng.integers(0, HOT_NODES, len(src)) * (n_nodes // HOT_NODES)
        return np.where(rng.random(len(src)) < HOT_SHARE, hot, anywhere)

    return destinations


def _incast(n_nodes: int) -> Destinations:
    """Send all packets of 32 neighbours to the first of the next 32."""

    def destinations(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return (src // SENDERS + 1) * SENDERS % (n_nodes // SENDERS * SENDERS)

    return destinations


LOCAL = {"hotspot": _hotspot, "incast": _incast}

CONGESTED = {
    name: Congested(**{"traffic": name, **content})
    for name, content in read_bench()["congested"].items()
}


def simulated(load: str) -> Round:
    """Return the timed simulation of a load of `CONGESTED`."""
    return CONGESTED[load].prepare()
