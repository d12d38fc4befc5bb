"""BookSim2: what its input-queued networks accept, and how long packets take, beside netcosim's.

``booksim_runs.csv`` has one run a line: BookSim2 (snapshot 28f43299) with num_vcs = classes times
``channels``, packets of ``flits``, internal_speedup = ``speedup`` and uniform traffic (the sender
included). Everywhere routing_delay = credit_delay = speculative = 0, vc_alloc_delay =
sw_alloc_delay = st_final_delay = 1, seed = 1, and both allocators are separable_input_first, except
where ``switch`` has another sw_allocator, or that the switch is held for an entire packet.
Dragonfly: dragonflynew under min, vc_buf_size = 256, local channels of 10 cycles, global ones of
100. Fat-tree under nca: vc_buf_size = 64, channels of one cycle. At injection rate 1 the value is
the accepted flit rate, below it the mean packet latency in cycles.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.kit.offered import lone_time_ps, offered_load
from experiments.validation.row import Measured, Row, Setting, within
from netsim.analysis.load_latency import Window
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.packet.presets import packet_preset
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

RUNS = "booksim_runs.csv"
CLOSE = 0.04
BPS, FLIT_BYTES, CYCLE_S = 10**9, 8, 8e-9
NETWORKS: dict[str, tuple[str, dict[str, int], str, int, dict[str, int]]] = {
    "dragonfly-72": (
        "dragonfly", {"p": 2, "a": 4, "g": 9}, "minimal", 256,
        {"node": 1, "local": 10, "global": 100},
    ),
    "fattree-64": (
        "fattree", {"m1": 4, "m2": 4, "m3": 4, "w2": 4, "w3": 4}, "random-up", 64,
        {"node": 1, "level1": 1, "level2": 1},
    ),
}  # fmt: skip
"""Family, shape, routing, flits of a channel's buffer, and cycles of its kinds of links."""


def measure(setting: Setting) -> Measured:
    """Measure every run of the table."""
    runs = pd.read_csv(Path(__file__).parent / RUNS, engine="python")
    return Measured([_row(run, setting) for run in runs.itertuples(index=False)])


def _machine(network: str) -> Routing:
    family, shape, routing, _, cycles = NETWORKS[network]
    links = {f"{kind}_bandwidth_Bps": BPS for kind in cycles}
    wires = {f"{kind}_latency_s": n * CYCLE_S for kind, n in cycles.items()}
    return make_routing(make_topology(family, {**shape, **links, **wires}), routing)


def _router(run: Any) -> PacketConfig:
    # the crossbar makes ``speedup`` steps a cycle, and VC allocation takes one of them
    step_s = CYCLE_S / run.speedup
    return replace(
        packet_preset("booksim2"),
        packet_bytes=run.flits * FLIT_BYTES,
        buffer_bytes=NETWORKS[run.network][3] * FLIT_BYTES,
        crossbar_speedup=float(run.speedup),
        crossing_overhead_s=step_s,
        router_latency_s=CYCLE_S + step_s,
        channels_per_class=int(run.channels),
    )


def _row(run: Any, setting: Setting) -> Row:
    routing, config = _machine(run.network), _router(run)
    full, rng = run.load == 1, np.random.default_rng(setting.seed)
    cycles = (2000 if setting.quick else 5000) * CYCLE_S
    window = Window(cycles, cycles, 0 if full else cycles / 2)
    found = offered_load(routing, "uniform", run.load, window, config, rng, cycle_s=CYCLE_S)
    # one message of n is to its sender: there it takes two links and a router, here none
    n = routing.topology.n_nodes
    value = (found.accepted - run.load / n) * n / (n - 1)
    if not full:
        own_s = lone_time_ps(routing, config, 2) / PS_PER_S
        value = (found.latency_mean_s * (n - 1) + own_s) / n / CYCLE_S
    return within(
        f"{run.network}, {run.channels} channels a class, packets of {run.flits} flits, "
        f"speed-up {run.speedup:g}, load {run.load:g}: {'accepted' if full else 'mean latency'}",
        run.value,
        value,
        "" if full else "cycles",
        f"BookSim2, measured; {run.switch}",
        share=CLOSE,
    )
