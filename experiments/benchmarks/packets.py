"""The packet engine: by machine size, tick, routing, router and threads; reference engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.benchmarks.case import Round, read_bench
from netsim.errors import NetcosimError
from netsim.optional import optional_module
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import make_topology, preset
from netsim.traffic import Traffic, combine
from patterns.registry import make_pattern

MESSAGE_BYTES = 1000
JOB_NODES = 64

Simulate = Callable[..., PacketResult]


@dataclass(frozen=True)
class Load:
    """A machine, and all-to-all jobs of two ranks a node on random nodes."""

    family: str
    """Or the name of a preset."""
    parameters: Mapping[str, Any]
    """Of the family."""
    n_jobs: int
    job_nodes: int = JOB_NODES
    routing: str | None = None
    """The family's static one if left out."""
    router: str = "output-queued"
    until_s: float | None = None
    """Ends a run early that would take minutes."""

    @property
    def config(self) -> PacketConfig:
        """The packet model."""
        return PacketConfig(router=self.router)

    def built(self, seed: int = 1) -> tuple[Routing, Traffic]:
        """Build routing and traffic."""
        machine = self.family
        topology = (
            preset(machine) if machine in PRESETS else make_topology(machine, self.parameters)
        )
        routing = make_routing(topology, self.routing)
        rng = np.random.default_rng(seed)
        free = rng.permutation(topology.n_nodes)[: self.n_jobs * self.job_nodes]
        placed = [np.repeat(nodes, 2) for nodes in free.reshape(self.n_jobs, self.job_nodes)]
        program = make_pattern("all-to-all", 2 * self.job_nodes, MESSAGE_BYTES, 1, rng)
        return routing, combine([program] * self.n_jobs, placed)


LOADS = {name: Load(**content) for name, content in read_bench()["loads"].items()}


def _round(load: Load, simulate: Simulate, **more: object) -> Round:
    routing, traffic = load.built()
    first = routing.topology.first_router_link

    def run() -> Mapping[str, float]:
        result = simulate(
            routing, traffic, load.config, np.random.default_rng(1), until_s=load.until_s, **more
        )
        between = int(result.link_packets[first:].sum())
        return {"hops": result.packet_hops, "router hops": between}

    return run


def simulated(load: str, threads: int = 1) -> Round:
    """Return the timed simulation of a load of `LOADS`."""
    chosen = LOADS[load]
    more: dict[str, object] = {} if chosen.until_s is None else {"record_messages": False}
    if threads > 1:
        more["threads"] = threads
    return _round(chosen, simulate_packets, **more)


def empty(load: str) -> Round:
    """Return a run that ends at time 0: what a run costs beside its loop."""
    return _round(replace(LOADS[load], until_s=0.0), simulate_packets)


def reference(load: str) -> Round:
    """Return the timed simulation of a load by the plain engine."""
    module = optional_module("experiments.validation.reference.packets")
    if module is None:
        raise NetcosimError("skipped, experiments/validation with the plain engine is missing")
    return _round(LOADS[load], module.simulate_reference)
