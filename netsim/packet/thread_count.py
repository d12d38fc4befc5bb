"""Number of threads of a packet simulation, and the simulations that cannot be split."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.packet.model import PacketConfig, to_ps

if TYPE_CHECKING:
    from netsim.routing.base import Routing

AUTO = "auto"
MAX_THREADS = 1024
NODES_A_THREAD = 700
"""Below twice as many nodes "auto" is one thread: on 1056 two gain little (docs/speed.md)."""
PACKETS_A_THREAD = 50_000
"""The same for packets: fewer are sent sooner than threads are started."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(threads: int | str) -> int | str:
    """Return a number of threads, or "auto"."""
    is_integer = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if threads != AUTO and not (is_integer and 1 <= int(threads) <= MAX_THREADS):
        value = shown(int(threads)) if is_integer else repr(threads)
        raise NetcosimError(f'threads = {value}; allowed: 1 to {MAX_THREADS:,}, or "{AUTO}"')
    return threads


def why_one_thread(routing: Routing, config: PacketConfig) -> str:
    """Return why a simulation cannot be split among threads; empty if it can."""
    topology = routing.topology
    if routing.looks_far:
        return f"routing {routing.name} looks at links of distant routers"
    if config.paces_flows:
        return f"congestion_control = {config.congestion_control} reaches a source at once"
    if config.nic_duplex_efficiency is not None:
        return "nic_duplex_efficiency looks at both links of a port at once"
    first = 0 if topology.rails > 1 else topology.first_router_link
    ahead = to_ps(float(topology.link_latency_s[first:].min(initial=1.0)))
    to_nodes = config.head_counts and topology.rails > 1
    if not (to_nodes or config.unlimited_crossbar):
        ahead += to_ps(config.router_latency_s)
    if ahead == 0:
        return "without latency of routers and links nothing can be simulated ahead"
    return ""


def threads_used(
    routing: Routing, config: PacketConfig, threads: int | str, packets: float | None = None
) -> int:
    """Return the number of threads that `simulate_packets` uses for ``threads``: "auto" is one for
    every `NODES_A_THREAD` nodes and, if given, `PACKETS_A_THREAD` packets that are sent, no more
    than there are cores."""
    topology, most = routing.topology, checked_threads(threads)
    if isinstance(most, str):
        most = min(available_cores(), topology.n_nodes // NODES_A_THREAD)
        if packets is not None:
            most = min(most, int(min(packets // PACKETS_A_THREAD, MAX_THREADS)))
    if most <= 1 or why_one_thread(routing, config):
        return 1
    return min(int(most), topology.n_routers)
