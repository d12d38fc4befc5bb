"""BookSim2: what its input-queued networks accept, and how long packets take, beside netcosim's.

``booksim_runs.csv`` has one run a line: BookSim2 (snapshot 28f43299) with num_vcs = classes times
``channels``, packets of ``flits``, internal_speedup = ``speedup`` and uniform traffic (the sender
included). Everywhere routing_delay = credit_delay = speculative = 0, vc_alloc_delay =
sw_alloc_delay = st_final_delay = 1, and both allocators are separable_input_first. Dragonflies:
dragonflynew under min, vc_buf_size = 256, local channels of 10 cycles, global ones of 100. Torus
under dim_order and fat-tree under nca: vc_buf_size = 64, channels of one cycle. At injection rate 1
the number is the accepted flit rate, below it the mean packet latency in cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.papers.calibration.offered import offered_load
from netcosim.validation.row import Measured, Row, Setting, within
from netsim.analysis.load_latency import Window
from netsim.packet.model import PacketConfig
from netsim.packet.presets import packet_preset
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

RUNS = "booksim_runs.csv"
SOURCE = "BookSim2 28f43299, measured"
CLOSE = 0.04
BPS, FLIT_BYTES, CYCLE_S = 10**9, 8, 8e-9
NETWORKS: Mapping[str, tuple[str, Mapping[str, Any], str, int]] = {
    "dragonfly-72": ("dragonfly", {"p": 2, "a": 4, "g": 9}, "minimal", 256),
    "dragonfly-342": ("dragonfly", {"p": 3, "a": 6, "g": 19}, "minimal", 256),
    "mesh-8x8": ("torus", {"dims": [8, 8], "wrap": False}, "dimension-order", 64),
    "fattree-64": ("fattree", {"m1": 4, "m2": 4, "m3": 4, "w2": 4, "w3": 4}, "random-up", 64),
}
"""Family, shape, routing, and flits of a channel's buffer."""
LINKS = {
    "dragonfly": ("node", "local", "global"),
    "torus": ("node", "link"),
    "fattree": ("node", "level1", "level2"),
}
WIRE_CYCLES = {"local": 10, "global": 100}
"""Those of all other links have one."""


@dataclass(frozen=True)
class Run:
    """One run of BookSim2."""

    network: str
    channels: int
    """Per class."""
    flits: int
    speedup: float
    load: float
    value: float
    """Accepted load at full load, else mean latency in cycles."""


def measure(setting: Setting) -> Measured:
    """Measure every run of the table, the large network at full scale only."""
    small = [run for run in booksim_runs() if not setting.quick or run.network != "dragonfly-342"]
    return Measured([_row(run, setting) for run in small])


def booksim_runs() -> list[Run]:
    """Return all rows of the shipped table."""
    table = pd.read_csv(Path(__file__).parent / RUNS, engine="python")
    return [Run(*row) for row in table.itertuples(index=False)]


def _machine(network: str) -> Routing:
    family, shape, routing, _ = NETWORKS[network]
    kinds = LINKS[family]
    links = {f"{kind}_bandwidth_Bps": BPS for kind in kinds}
    wires = {f"{kind}_latency_s": WIRE_CYCLES.get(kind, 1) * CYCLE_S for kind in kinds}
    return make_routing(make_topology(family, {**shape, **links, **wires}), routing)


def router_of(run: Run) -> PacketConfig:
    """Return the preset "booksim2" with a run's parameters.

    The crossbar makes ``speedup`` steps a cycle, and VC allocation takes one of them.
    """
    step_s = CYCLE_S / run.speedup
    return replace(
        packet_preset("booksim2"),
        packet_bytes=run.flits * FLIT_BYTES,
        buffer_bytes=NETWORKS[run.network][-1] * FLIT_BYTES,
        crossbar_speedup=run.speedup,
        crossing_overhead_s=step_s,
        router_latency_s=CYCLE_S + step_s,
        channels_per_class=run.channels,
    )


def _row(run: Run, setting: Setting) -> Row:
    cycles = (2000 if setting.quick else 10_000) * CYCLE_S
    window = Window(cycles, cycles, 0 if run.load == 1 else cycles / 2)
    rng = np.random.default_rng(setting.seed)
    found = offered_load(
        _machine(run.network), "uniform", run.load, window, router_of(run), rng, cycle_s=CYCLE_S
    )
    full = run.load == 1
    return within(
        f"{run.network}, {run.channels} channels a class, packets of {run.flits} flits, "
        f"speed-up {run.speedup:g}, load {run.load:g}: {'accepted' if full else 'mean latency'}",
        run.value,
        found.accepted if full else found.latency_mean_s / CYCLE_S,
        "" if full else "cycles",
        SOURCE,
        share=CLOSE,
    )
