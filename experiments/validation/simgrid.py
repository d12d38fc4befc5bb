"""Beside SimGrid: the same flows on the same ways end at the same time.

Without latency both are plain max-min. With latency SimGrid weighs a flow by 1 / latency of its way
and lets it begin when its first byte has arrived; here they are weights and starts. Starts are
random, so that no two events coincide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.validation.cases import with_links
from experiments.validation.peer import Peer
from experiments.validation.row import Measured, Row, Setting, at_most
from netsim.flow.maxmin import flow_finish_times
from netsim.flow.paths import flow_paths, path_latency_s
from netsim.routing.registry import make_routing

PEER = Peer(
    "SimGrid",
    "simgrid",
    "experiments.validation.simgrid_peer",
    "Debian and Ubuntu: apt install python3-simgrid, then --python /usr/bin/python3",
)
CLOSE = 1e-9
SPEED_BPS = 10**9


@dataclass(frozen=True)
class Case:
    """A machine, its routing, and whether wires take time (each kind of link another)."""

    family: str
    params: dict[str, Any]
    routing: str
    latency: bool


CASES = tuple(
    Case(family, params, routing, latency)
    for family, params, routing in (
        ("fattree", {"m1": 4, "m2": 4, "m3": 4}, "d-mod-k"),
        ("dragonfly", {"p": 2, "a": 4, "h": 2, "g": 9}, "minimal"),
        ("torus", {"dims": [4, 4]}, "dimension-order"),
    )
    for latency in (False, True)
)


def measure(setting: Setting) -> Measured:
    """Measure random flows on each machine, without latency and with it."""
    return Measured([_beside(number, case, setting) for number, case in enumerate(CASES)])


def _beside(number: int, case: Case, setting: Setting) -> Row:
    latencies = iter((10e-6, 25e-6, 70e-6) if case.latency else (0.0,) * 3)
    topology = with_links(case.family, case.params, lambda: SPEED_BPS, lambda: next(latencies))
    routing, n = make_routing(topology, case.routing), topology.n_nodes
    rng = np.random.default_rng((setting.seed, number))
    count = 100 if setting.quick else 400
    src = rng.integers(0, n, count)
    dst = (src + rng.integers(1, n, count)) % n
    size = rng.integers(10_000, 1_000_000, count)
    start_s = rng.uniform(0, 2e-3, count)
    paths = flow_paths(routing, src, dst)
    ways = [paths.links[a:b].tolist() for a, b in zip(paths.ptr[:-1], paths.ptr[1:], strict=True)]
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    routes = dict(zip(pairs, ways, strict=True))
    question = {
        "n_hosts": n,
        "links": list(
            zip(topology.link_bandwidth_Bps.tolist(), topology.link_latency_s.tolist(), strict=True)
        ),
        "routes": [[*pair, way] for pair, way in routes.items()],
        "flows": [
            [*pair, int(bytes_), float(start)]
            for pair, bytes_, start in zip(pairs, size, start_s, strict=True)
        ],
    }
    simgrid_s = np.array(PEER.ask(question, setting.python)["end_s"])
    latency_s = path_latency_s(paths, topology.link_latency_s)
    speed, begin_s = topology.link_bandwidth_Bps, start_s + latency_s
    plain = flow_finish_times(paths, size, speed, begin_s)
    note, simulated = "plain max-min", plain
    if case.latency:
        simulated = flow_finish_times(paths, size, speed, begin_s, flow_weight=1 / latency_s)
        off = float(np.abs(plain / simgrid_s - 1).max())
        note = f"weights of 1 / latency; without them up to {off:.0%} off"
    wires = "with latency" if case.latency else "no latency"
    return at_most(
        f"{topology.name}, {case.routing}, {wires}: {count} flows, furthest end (relative)",
        CLOSE,
        float(np.abs(simulated / simgrid_s - 1).max()),
        "",
        "SimGrid's model CM02 in a process of its own",
        note,
    )
