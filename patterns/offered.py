"""Any network under an offered load, and with lone messages: sources, run and count in one call."""

from __future__ import annotations

import numpy as np

from netsim.analysis.load_latency import (
    LoadPoint,
    LoneMessages,
    Window,
    lone_time_ps,
    measure_load,
    measure_lone,
)
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.routing.base import Routing
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.open_loop import lone_messages, on_clock, open_loop


def offered_load(
    routing: Routing,
    traffic: str,
    load: float,
    window: Window,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    cycle_s: float | None = None,
) -> LoadPoint:
    """Poisson sources of single packets on all nodes, at one load.

    Parameters
    ----------
    routing : Routing
    traffic : str
        A name of `patterns.open_loop.DESTINATIONS`. "adversarial" goes to the next group of the
        topology, "tornado" around its dimensions (one ring of all nodes where it has none).
    load : float
        Above 0; of a node's injection bandwidth.
    window : Window
    config : PacketConfig
        A message is one packet of it.
    rng : numpy.random.Generator
    cycle_s : float, optional
        Messages are posted at whole cycles; at any time if left out.

    Raises
    ------
    NetcosimError, NetworkDeadlockError
        See `patterns.open_loop.open_loop` and `netsim.packet.engine.simulate_packets`.
    """
    topology = routing.topology
    rate_Bps = load * int(topology.link_bandwidth_Bps[0])
    size, params = config.packet_bytes, traffic_params(topology, traffic)
    program = open_loop(topology.n_nodes, traffic, size, rate_Bps, window.end_s, rng, params=params)
    if cycle_s is not None:
        program = on_clock(program, cycle_s)
    placed = combine([program], [np.arange(topology.n_nodes)])
    return measure_load(routing, placed, window, config, rng)


def traffic_params(topology: Topology, traffic: str) -> dict[str, object]:
    """What a traffic takes from the network: the nodes of a group, the grid of a torus."""
    shape = topology.shape
    if traffic == "adversarial" and hasattr(shape, "nodes_per_group"):
        return {"group_size": shape.nodes_per_group}
    if traffic == "tornado" and hasattr(shape, "dims"):
        return {"grid": tuple(reversed(shape.dims))}
    return {}


def lone_load(
    routing: Routing, config: PacketConfig, rng: np.random.Generator, count: int = 500
) -> LoneMessages:
    """Single packets between random nodes, one after the other has long arrived.

    Parameters
    ----------
    routing : Routing
        Of a topology whose links are all alike.
    config : PacketConfig
    rng : numpy.random.Generator
    count : int
        Messages, each from another node; no more than there are nodes.
    """
    n = routing.topology.n_nodes
    src = rng.permutation(n)[:count].astype(np.int64)
    dst = (src + rng.integers(1, n, len(src))) % n
    gap_s = 100 * lone_time_ps(routing, config, 2) / PS_PER_S
    program = lone_messages(n, src, dst, config.packet_bytes, gap_s)
    return measure_lone(routing, combine([program], [np.arange(n)]), config, rng)
