"""Figures 3 and 4: bisection pairing on two geometries of each size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from alloc.bluegene.pairing import LINK_BPS, furthest_nodes, partition
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_data, read_printed
from experiments.kit.panels import panels
from experiments.kit.papers import Analysis, Options, Point
from experiments.partitions.bars import two_sides
from experiments.partitions.machines import geometry_of, labels
from netcosim.runs.store import Rows
from netsim.errors import unknown_name
from netsim.flow.maxmin import run_flows
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.traffic import combine
from patterns.bisection_pairing import bisection_pairing

printed = read_printed("partitions")
STUDY = read_data("partitions")["pairing"]
ROUTINGS = {"flow": "dimension-order", "packet": "minimal-adaptive"}
ROUTER_LATENCY_S = 40e-9
PERCENT = {"flow": 1, "packet": 5}
"""How near each engine must come."""
KEYS = ["engine", "Midplanes"]
VALUES = ["geometry", "bisection", "time_s", "slowest_s"]
UNSURE = " (not what Table 1 gives)"
WHAT = {"flow": "16 chunks of 0.1342 GB", "packet": "scaled messages"}


class Comparison(NamedTuple):
    """Two choices of partitions on one machine, and the figure that compares them."""

    name: str
    """Of the figure."""
    table: int
    """Number of the table with the bisections."""
    machine: str
    choices: Sequence[str]
    names: Sequence[str]
    """What the paper calls the machine's two choices."""
    sizes: Sequence[int]
    """machine, choices, sizes: See `geometry_of`."""

    def points(self, options: Options) -> list[Point]:
        """Return points of both engines; quick: packets on up to 8 midplanes, fewer rounds."""
        few, engines = STUDY["quick"] if options.quick else {}, STUDY["engines"]
        return [
            {
                "what": "pairing",
                "machine": self.machine,
                "choice": choice,
                "midplanes": size,
                "routing": (*options.routings, ROUTINGS[str(setting["engine"])])[0],
                **setting,
            }
            for setting in (engines["flow"], engines["packet"] | few)
            for size in self.sizes
            if not (few and setting["engine"] == "packet" and size > 8)
            for choice in self.choices
        ]

    def analyse(self, frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        """Return the speed-ups of the second choice, and how times grow with the size."""
        table = pairing_table(frames["pairing"], *self.choices)
        claims = [*_speedups(table, self), *_growths(table, self)]
        return Analysis(claims_frame(claims), {"pairing": table})

    def draw(self, analysis: Analysis, options: Options) -> Figure:
        """Draw one panel an engine, in seconds (or milliseconds) for the counted rounds."""
        table = analysis.tables["pairing"]
        sides = dict(zip(("first_time_s", "second_time_s"), self.names, strict=True))
        slow = table.groupby("engine")["first_time_s"].transform("max") > 0.1
        scaled = {side: table[side].where(slow, 1e3 * table[side]) for side in sides}
        machine = {"mira": "Mira"}.get(self.machine, self.machine.upper())
        return panels(
            table.assign(unit=slow.map({True: "s", False: "ms"}), **scaled),
            ("engine", "unit"),
            lambda axis, part: two_sides(axis, part, sides, "speedup"),
            columns=2,
            size_in=(4.6, 3.0),
            xlabel="midplanes",
            ylabel="time of the counted rounds",
            title=lambda engine, unit: f"{machine}, {engine} engine, {WHAT[engine]} ({unit})",
        )


def pairing(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Return table "pairing": bisection pairing on one partition.

    ``config``: machine, choice, midplanes, engine ("flow" or "packet"), routing,
    message_bytes (one chunk), chunks, rounds, warmup_rounds; for packets also packet_bytes and
    buffer_bytes. ``time_s`` is the mean over pairs of the time for the counted rounds.
    """
    geometry = geometry_of(config)
    topology = partition(geometry)
    dims = topology.shape.dims
    far = furthest_nodes(dims)
    routing = make_routing(topology, config["routing"])
    chunk, chunks = config["message_bytes"], config["chunks"]
    rounds, warmup = config["rounds"], config["warmup_rounds"]
    if config["engine"] == "flow":
        # A pair that never waits is two flows that go on from round to round. Should some pairs
        # finish before others, the rates of the counted rounds are those of all rounds.
        paths = flow_paths(routing, np.arange(topology.n_nodes), far, chunk * chunks)
        run = run_flows(paths, chunk * chunks * (rounds + warmup), topology.link_bandwidth_Bps)
        pair = np.maximum(run.finish_s, run.finish_s[far]) * rounds / (rounds + warmup)
        work = {"flow_classes": run.n_classes, "packet_hops": 0}
    elif config["engine"] == "packet":
        program = bisection_pairing(
            topology.n_nodes, chunk, 1, far, rounds=rounds, warmup_rounds=warmup, chunks=chunks
        )
        result = simulate_packets(
            routing,
            combine([program], [np.arange(topology.n_nodes)]),
            PacketConfig(
                packet_bytes=config["packet_bytes"],
                buffer_bytes=config["buffer_bytes"],
                router_latency_s=ROUTER_LATENCY_S,
            ),
            np.random.default_rng(0),
        )
        done = result.message_finish_ps.reshape(topology.n_nodes, rounds + warmup, chunks)
        both = np.maximum(done.max(axis=2), done.max(axis=2)[far]) / 1e12
        pair = both[:, -1] - (both[:, warmup - 1] if warmup else 0.0)
        work = {"flow_classes": 0, "packet_hops": result.packet_hops}
    else:
        raise unknown_name("engine", config["engine"], ("flow", "packet"))
    row = labels(config, geometry) | {
        "engine": config["engine"],
        "routing": config["routing"],
        "time_s": float(pair.mean()),
        "slowest_s": float(pair.max()),
        "bound_s": rounds * chunks * chunk * max(dims) / 4 / LINK_BPS,
    }
    return {"pairing": [row | work]}


def pairing_table(pairing: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return times of two choices side by side, one row an engine and size.

    Columns ``speedup`` (first over second) and ``by_bisection`` (what the bisections predict).
    """
    old, new = (
        pairing[pairing["choice"] == choice].set_index(KEYS)[VALUES].add_prefix(f"{side}_")
        for choice, side in ((first, "first"), (second, "second"))
    )
    table = old.join(new, how="inner").sort_index().reset_index()
    table["speedup"] = table["first_time_s"] / table["second_time_s"]
    table["by_bisection"] = table["second_bisection"] / table["first_bisection"]
    return table


def _speedups(table: pd.DataFrame, compared: Comparison) -> Iterator[Claim]:
    """Yield claims on each speed-up: by bisections, the text's prediction and measurement."""
    figure = f"Fig. {compared.name.removeprefix('fig')}"
    for row in table.to_dict("records"):
        size, percent = int(row["Midplanes"]), PERCENT[row["engine"]]
        condition = f"{size} midplanes, {row['engine']}"
        value, links = float(row["speedup"]), float(row["by_bisection"])
        large = (compared.machine, size) == ("mira", 24)
        papers = printed["pairing_mira_24"] if large else printed["pairing"]
        predicted, measured = papers["predicted"], papers["measured"]
        check = ClaimBuilder(f"Table {compared.table}, {figure}", condition)
        near = abs(value / links - 1.0) <= percent / 100
        what = "speedup as the bisections of the two partitions"
        yield check.holds(what, near, f"within {percent} %", value, expected=links)
        check = ClaimBuilder(f"section 4.1, {figure}", condition)
        what = f"speedup as predicted in the text{UNSURE if predicted != links else ''}"
        yield check.near(what, predicted, value, within=percent, unit="%")
        what, note = (
            "speedup as measured on the machine, at least",
            f"{percent} % below the paper's",
        )
        least = measured * (1 - percent / 100)
        yield check.at_least(what, value, least, paper=measured, note=note)


def _growths(table: pd.DataFrame, compared: Comparison) -> Iterator[Claim]:
    """Yield claims on the growth of time with size, in each engine that has both sizes."""
    for growth in printed["growths"][compared.machine]:
        small, large = growth["from"], growth["to"]
        for engine, part in table.groupby("engine"):
            times = part.set_index("Midplanes")[f"{growth['side']}_time_s"]
            if {small, large} <= set(times.index):
                check = ClaimBuilder(growth["where"], f"{small} to {large} midplanes, {engine}")
                value, within = float(times[large] / times[small]), PERCENT[str(engine)]
                yield check.near(growth["what"], growth["factor"], value, within=within, unit="%")


FUNCTION = "experiments.partitions.pairing:pairing"
COMPARISONS = [Comparison(name, **given) for name, given in STUDY["figures"].items()]
PARTS = {one.name: (FUNCTION, one.points, one.analyse, one.draw) for one in COMPARISONS}
