"""BookSim2: what its input-queued networks accept, and how long packets take, beside netcosim's.

``booksim_runs.csv`` has one run a line: BookSim2 (snapshot 28f43299) with num_vcs = classes times
``channels``, packets of ``flits``, internal_speedup = ``speedup`` and uniform traffic (the sender
included). Everywhere routing_delay = credit_delay = speculative = 0 and vc_alloc_delay =
sw_alloc_delay = st_final_delay = 1. ``switch`` is "islip", the default of both allocators.
Otherwise the allocators are separable_input_first, except where it has another sw_allocator, or
that the switch is held for an entire packet. Dragonfly: dragonflynew under min, vc_buf_size = 256,
local channels of 10 cycles, global ones of 100. The others have vc_buf_size = 64 and channels of
one cycle, but the torus of two: fat-tree under nca, torus and mesh under dim_order. At injection
rate 1 the value is the accepted flit rate, below it the mean packet latency in cycles.

A row compares the mean over seeds; ``difference`` is one of `DIFFERENCES`. With islip, latencies
are those of sim_type = latency with sample_period = 5000, accepted loads those of throughput with
sample_period = 2000 and max_samples = 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.kit.load_latency import Window
from experiments.kit.offered import lone_time_ps, offered_load
from experiments.validation.row import Measured, Row, Setting, at_least, at_most, within
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.packet.presets import packet_preset
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

RUNS = "booksim_runs.csv"
CLOSE = 0.04
BPS, FLIT_BYTES, CYCLE_S = 10**9, 8, 8e-9


@dataclass(frozen=True)
class Network:
    """A network of BookSim2 in netcosim's terms."""

    family: str
    shape: Mapping[str, Any]
    routing: str
    buffer_flits: int
    """Of a channel."""
    cycles: Mapping[str, int]
    """Latency of each kind of link."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the routing."""


NETWORKS = {
    "dragonfly-72": Network(
        "dragonfly", {"p": 2, "a": 4, "g": 9}, "minimal", 256,
        {"node": 1, "local": 10, "global": 100},
    ),
    "fattree-64": Network(
        "fattree", {"m1": 4, "m2": 4, "m3": 4, "w2": 4, "w3": 4}, "random-up", 64,
        {"node": 1, "level1": 1, "level2": 1},
    ),
    # half-way around a ring BookSim2 draws the direction
    "torus-8x8": Network(
        "torus", {"dims": [8, 8]}, "dimension-order", 64,
        {"node": 1, "link": 2}, {"ring_ties": "drawn"},
    ),
    "mesh-8x8": Network(
        "torus", {"dims": [8, 8], "wrap": False}, "dimension-order", 64, {"node": 1, "link": 1},
    ),
}  # fmt: skip

DIFFERENCES = {
    "matching": "not modelled: a single iteration of iSLIP finds fewer pairs than possible, and "
    "flits of several packets share a link",
    "dateline": "not modelled: BookSim2's packets keep their channel in a ring, netcosim's change "
    "it at the wrap link",
}
"""Known reasons of differences. netcosim then accepts more and takes less time (matching), or
accepts less (dateline)."""


def measure(setting: Setting) -> Measured:
    """Measure every run of the table."""
    runs = pd.read_csv(Path(__file__).parent / RUNS, engine="python", keep_default_na=False)
    keys = [name for name in runs if name not in {"seed", "value"}]
    means = runs.groupby(keys, sort=False)["value"].agg(["mean", "min", "max", "size"])
    return Measured([_row(run, setting) for run in means.reset_index().itertuples(index=False)])


def _machine(network: str) -> Routing:
    model = NETWORKS[network]
    links = {f"{kind}_bandwidth_Bps": BPS for kind in model.cycles}
    wires = {f"{kind}_latency_s": n * CYCLE_S for kind, n in model.cycles.items()}
    topology = make_topology(model.family, {**model.shape, **links, **wires})
    return make_routing(topology, model.routing, model.parameters)


def _router(run: Any) -> PacketConfig:
    # the crossbar makes ``speedup`` steps a cycle, and VC allocation takes one of them
    step_s = CYCLE_S / run.speedup
    return replace(
        packet_preset("booksim2"),
        packet_bytes=run.flits * FLIT_BYTES,
        buffer_bytes=NETWORKS[run.network].buffer_flits * FLIT_BYTES,
        crossbar_speedup=float(run.speedup),
        crossing_overhead_s=step_s,
        router_latency_s=CYCLE_S + step_s,
        channels_per_class=int(run.channels),
    )


def _row(run: Any, setting: Setting) -> Row:
    routing, config = _machine(run.network), _router(run)
    full, rng = run.load == 1, np.random.default_rng(setting.seed)
    # saturated rings reach their steady state late
    long = not setting.quick or run.difference == "dateline"
    cycles = (5000 if long else 2000) * CYCLE_S
    window = Window(cycles, cycles, 0 if full else cycles / 2)
    found = offered_load(routing, "uniform", run.load, window, config, rng, cycle_s=CYCLE_S)
    # one message of n is to its sender: there it takes two links and a router, here none
    n = routing.topology.n_nodes
    value = (found.accepted - run.load / n) * n / (n - 1)
    if not full:
        own_s = lone_time_ps(routing, config, 2) / PS_PER_S
        value = (found.latency_mean_s * (n - 1) + own_s) / n / CYCLE_S
    switch = f"{run.switch}, " if run.switch.startswith("islip") else ""
    what = (
        f"{run.network}, {switch}{run.channels} channels a class, packets of {run.flits} flits, "
        f"speed-up {run.speedup:g}, load {run.load:g}: {'accepted' if full else 'mean latency'}"
    )
    unit, source = "" if full else "cycles", f"BookSim2, measured; {run.switch}"
    seeds = f"{run.size} seeds: {run.min:.4g} to {run.max:.4g}" if run.size > 1 else ""
    if not run.difference:
        return within(what, run.mean, value, unit, source, share=CLOSE, note=seeds)
    bound = at_least if full and run.difference == "matching" else at_most
    note = f"{DIFFERENCES[run.difference]}; {seeds}"
    return bound(what, run.mean, value, unit, source, note)
