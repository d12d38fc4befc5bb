"""The packet engine: by machine size, tick, routing, router and threads; reference engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from netcosim.bench.case import Case, Round
from netcosim.bench.peers import PACKET_PEERS
from netcosim.validation.reference.packets import simulate_reference
from netsim.packet.engine import simulate_packets
from netsim.packet.model import INPUT_QUEUED, PacketConfig, PacketResult
from netsim.packet.thread_count import available_cores
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import make_topology, preset
from netsim.traffic import Traffic, combine
from patterns.mapping import in_order
from patterns.registry import make_pattern

MESSAGE_BYTES = 1000
JOB_NODES = 64

Simulate = Callable[..., PacketResult]


@dataclass(frozen=True)
class Load:
    """A machine, and all-to-all jobs of two ranks a node on random nodes.

    Attributes
    ----------
    family : str
        Or the name of a preset.
    parameters : mapping
        Of the family.
    n_jobs : int
    job_nodes : int
    routing : str or None
        The family's static one if left out.
    config : PacketConfig
    until_s : float or None
        Ends a run early that would take minutes.
    """

    family: str
    parameters: Mapping[str, Any]
    n_jobs: int
    job_nodes: int = JOB_NODES
    routing: str | None = None
    config: PacketConfig = field(default_factory=PacketConfig)
    until_s: float | None = None

    def built(self, seed: int = 1) -> tuple[Routing, Traffic]:
        """Routing and traffic."""
        machine = self.family
        topology = (
            preset(machine) if machine in PRESETS else make_topology(machine, self.parameters)
        )
        routing = make_routing(topology, self.routing)
        rng = np.random.default_rng(seed)
        free = rng.permutation(topology.n_nodes)[: self.n_jobs * self.job_nodes]
        placed = [in_order(nodes, 2) for nodes in free.reshape(self.n_jobs, self.job_nodes)]
        program = make_pattern("all-to-all", 2 * self.job_nodes, MESSAGE_BYTES, 1, rng)
        return routing, combine([program] * self.n_jobs, placed)


def dragonfly(p: int, a: int, g: int, n_jobs: int, **more: Any) -> Load:
    """Jobs on a dragonfly, by default under minimal routing."""
    return Load("dragonfly", {"p": p, "a": a, "g": g}, n_jobs, **more)


def links(**speeds: float) -> dict[str, int]:
    """Bandwidths of a dragonfly's links in GB/s, as parameters."""
    return {f"{kind}_bandwidth_Bps": round(speed * 1e9) for kind, speed in speeds.items()}


JOBS_1056 = dragonfly(4, 8, 33, 14)
"""Fourteen 64-node all-to-all jobs on 1056 nodes: the project's usual case."""
REFERENCE_CASE = dragonfly(2, 4, 9, 1, routing="ugal-l")
"""72 nodes, small enough for the plain engine."""
EVEN = links(node=5, local=5, **{"global": 5})
ODD = links(node=4.7, local=4.9, **{"global": 5.23})

SIZES: dict[int, Load] = {
    1056: JOBS_1056,
    1458: Load("fattree", {"radix": 18}, 20),
    4160: dragonfly(4, 16, 65, 58),
    5488: Load("fattree", {"radix": 28}, 76),
    8192: dragonfly(4, 16, 128, 115),
    32768: dragonfly(8, 32, 128, 460, until_s=120e-6),
}
"""By nodes; the largest for 120 us of its time, since all of it would take minutes."""
_QUICK_SIZES = (1056, 1458, 4160)
_THREADED = (4160, 32768)
_STAGES = (1056, 4160, 32768)
_BESIDE_PEERS = ("size", "router")


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


def _case(
    name: str, part: str, description: str, load: Load, *, quick: bool = False, threads: int = 1,
    **facts: object,
) -> Case:  # fmt: skip
    def prepare() -> Round:
        more: dict[str, object] = {} if load.until_s is None else {"record_messages": False}
        if threads > 1:
            more["threads"] = threads
        return _round(load, simulate_packets, **more)

    peers = PACKET_PEERS if part in _BESIDE_PEERS else ()
    clock: Literal["cpu", "wall"] = "cpu" if threads == 1 else "wall"
    facts = {"threads": threads, **facts}
    return Case(name, part, description, prepare, "hops", quick, peers, clock, facts)


def _by_size() -> list[Case]:
    cases = []
    for nodes, load in SIZES.items():
        description = f"{load.family} of {nodes:,} nodes, {load.n_jobs} all-to-all jobs of 64 nodes"
        quick = nodes in _QUICK_SIZES
        cases.append(_case(f"packets-{nodes}", "size", description, load, quick=quick, nodes=nodes))
    return cases


def _empty() -> list[Case]:
    """Runs that end at time 0: what a run costs beside its loop."""
    return [
        Case(
            f"packets-{nodes}-empty", "set-up", f"checks, clock and arrays for {nodes:,} nodes",
            partial(_round, replace(SIZES[nodes], until_s=0.0), simulate_packets), "s",
            nodes in _QUICK_SIZES, facts={"nodes": nodes},
        )
        for nodes in _STAGES
    ]  # fmt: skip


def _by_tick() -> list[Case]:
    description = "dragonfly of 1,056 nodes, links of "
    base = JOBS_1056.parameters
    round_ = Load("dragonfly", {**base, **EVEN}, 14)
    odd = Load("dragonfly", {**base, **ODD}, 14)
    theta = Load("theta", {}, 60)
    return [
        _case("packets-round", "tick", f"{description}5 GB/s", round_, quick=True, links="5 GB/s"),
        _case(
            "packets-odd", "tick", f"{description}4.7, 4.9 and 5.23 GB/s", odd, quick=True,
            links="4.7, 4.9, 5.23 GB/s",
        ),
        _case("packets-theta", "tick", "preset theta, 60 all-to-all jobs of 64 nodes", theta,
              links="preset theta"),
    ]  # fmt: skip


def _by_routing() -> list[Case]:
    cube = {"dims": [10, 10, 10]}
    loads = {
        "packets-1056-ugal-l": (dragonfly(4, 8, 33, 14, routing="ugal-l"), 1056, True),
        "packets-4160-ugal-l": (dragonfly(4, 16, 65, 58, routing="ugal-l"), 4160, False),
        "packets-torus": (Load("torus", cube, 14, routing="dimension-order"), 1000, True),
        "packets-torus-adaptive": (Load("torus", cube, 14, routing="minimal-adaptive"), 1000, True),
    }
    return [
        _case(
            name, "routing", f"{load.family} of {nodes:,} nodes under {load.routing}", load,
            quick=quick, nodes=nodes, routing=load.routing,
        )
        for name, (load, nodes, quick) in loads.items()
    ]  # fmt: skip


def _by_router() -> list[Case]:
    load = dragonfly(4, 8, 33, 14, config=PacketConfig(router=INPUT_QUEUED))
    description = "dragonfly of 1,056 nodes with input-queued routers"
    return [_case("packets-input-queued", "router", description, load, quick=True, nodes=1056)]


def _by_threads() -> list[Case]:
    wanted = sorted({2, available_cores()} - {1})
    return [
        _case(
            f"packets-{nodes}-threads-{threads}", "threads",
            f"{SIZES[nodes].family} of {nodes:,} nodes on {threads} threads", SIZES[nodes],
            nodes=nodes, threads=threads,
        )
        for nodes in _THREADED
        for threads in wanted
    ]  # fmt: skip


def _reference() -> Case:
    description = "the plain SimPy engine, dragonfly of 72 nodes, one all-to-all job of 64 nodes"

    def prepare() -> Round:
        return _round(REFERENCE_CASE, simulate_reference)

    return Case("packets-reference", "reference", description, prepare, "hops", True)


def cases() -> list[Case]:
    """All of them."""
    return [
        *_by_size(), *_by_tick(), *_by_routing(), *_by_router(), *_by_threads(), *_empty(),
        _reference(),
    ]  # fmt: skip
