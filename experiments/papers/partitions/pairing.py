"""Figures 3 and 4: bisection pairing on two geometries of each size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.panels import panels
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.papers.partitions.bars import two_sides
from experiments.papers.partitions.machines import (
    JUQUEEN_CHOICES,
    MIRA_CHOICES,
    geometry_of,
    labels,
)
from experiments.papers.partitions.printed import PAIRING, PAIRING_MIRA_24
from experiments.store import Rows
from netsim.analysis.pairing import LINK_BPS, furthest_nodes, partition
from netsim.errors import unknown_name
from netsim.flow.maxmin import run_flows
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.traffic import combine
from patterns.bisection_pairing import bisection_pairing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FLOW = {
    "engine": "flow",
    "message_bytes": 134_200_000,
    "chunks": 16,
    "rounds": 26,
    "warmup_rounds": 4,
}
"""The paper's messages."""
PACKET = {
    "engine": "packet",
    "message_bytes": 16_384,
    "chunks": 1,
    "rounds": 26,
    "warmup_rounds": 4,
    "packet_bytes": 2048,
    "buffer_bytes": 65536,
}
"""Scaled messages."""
ROUTINGS = {"flow": "dimension-order", "packet": "minimal-adaptive"}
"""Large messages go adaptively on Blue Gene/Q."""
ROUTER_LATENCY_S = 40e-9
MIRA_SIZES = (4, 8, 16, 24)
JUQUEEN_SIZES = (4, 6, 8, 12, 16, 24)
PERCENT = {"flow": 1, "packet": 5}
"""How near each engine must come."""
KEYS = ["engine", "Midplanes"]
VALUES = ["geometry", "bisection", "time_s", "slowest_s"]
UNSURE = " (not what Table 1 gives)"
WHAT = {"flow": "16 chunks of 0.1342 GB", "packet": "scaled messages"}


def _points(
    machine: str, choices: Sequence[str], sizes: Sequence[int]
) -> Callable[[Options], list[Point]]:
    """Both engines; quick: packets on up to 8 midplanes and for fewer rounds."""

    def points(options: Options) -> list[Point]:
        few = {"rounds": 6, "warmup_rounds": 2} if options.quick else {}
        return [
            {
                "what": "pairing",
                "machine": machine,
                "choice": choice,
                "midplanes": size,
                "routing": (*options.routings, ROUTINGS[engine])[0],
                **setting,
            }
            for engine, setting in (("flow", FLOW), ("packet", PACKET | few))
            for size in sizes
            if not (few and engine == "packet" and size > 8)
            for choice in choices
        ]

    return points


def pairing(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Table "pairing": bisection pairing on one partition.

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
    """Times of two choices side by side, one row an engine and size.

    Columns ``speedup`` (first over second) and ``by_bisection`` (what the bisections alone
    say).
    """
    old, new = (
        pairing[pairing["choice"] == choice].set_index(KEYS)[VALUES].add_prefix(f"{side}_")
        for choice, side in ((first, "first"), (second, "second"))
    )
    table = old.join(new, how="inner").sort_index().reset_index()
    table["speedup"] = table["first_time_s"] / table["second_time_s"]
    table["by_bisection"] = table["second_bisection"] / table["first_bisection"]
    return table


def _speedups(table: pd.DataFrame, machine: str, printed_table: int, figure: str) -> list[Claim]:
    claims = []
    for row in table.to_dict("records"):
        size, percent = int(row["Midplanes"]), PERCENT[row["engine"]]
        condition = f"{size} midplanes, {row['engine']}"
        says = Says(f"section 4.1, {figure}", condition)
        ours, links = float(row["speedup"]), float(row["by_bisection"])
        large = (machine, size) == ("mira", 24)
        predicted, measured = PAIRING_MIRA_24 if large else PAIRING
        unsure = UNSURE if predicted != links else ""
        claims += [
            Says(f"Table {printed_table}, {figure}", condition).holds(
                "speedup as the bisections of the two partitions",
                abs(ours / links - 1.0) <= percent / 100,
                f"within {percent} %",
                ours,
                expected=links,
            ),
            says.near(
                f"speedup as predicted in the text{unsure}",
                predicted,
                ours,
                within=percent,
                unit="%",
            ),
            says.at_least(
                "speedup as measured on the machine, at least",
                ours,
                measured * (1 - percent / 100),
                paper=measured,
                note=f"{percent} % below the paper's",
            ),
        ]
    return claims


def _growth(
    says_where: str, table: pd.DataFrame, side: str, small: int, large: int, paper: float, what: str
) -> list[Claim]:
    """How the time grows from one size to another, in each engine that has both."""
    claims = []
    for engine, part in table.groupby("engine"):
        times = part.set_index("Midplanes")[f"{side}_time_s"]
        if {small, large} <= set(times.index):
            says = Says(says_where, f"{small} to {large} midplanes, {engine}")
            ours = float(times[large] / times[small])
            claims.append(says.near(what, paper, ours, within=PERCENT[str(engine)], unit="%"))
    return claims


def analyse_mira(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Figure 3: Mira's current against the proposed partitions."""
    table = pairing_table(frames["pairing"], "mira-current", "mira-proposed")
    claims = _speedups(table, "mira", 1, "Fig. 3")
    for side, paper, what in (
        ("first", 1.097, "current partitions: time grows by 9.7 %"),
        ("second", 1.5, "proposed partitions: more nodes on the same bisection"),
    ):
        claims += _growth("section 4.1", table, side, 16, 24, paper, what)
    return Analysis(claims_frame(claims), {"pairing": table})


def analyse_juqueen(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Figure 4: JUQUEEN's worst against the best partitions."""
    table = pairing_table(frames["pairing"], "worst", "best")
    claims = _speedups(table, "juqueen", 2, "Fig. 4")
    for side, name in (("first", "worst"), ("second", "best")):
        for large, paper in ((8, 1.0), (6, 1.5)):
            what = f"{name} cases: time follows the bisection a node"
            claims += _growth("Fig. 4, caption", table, side, 4, large, paper, what)
    return Analysis(claims_frame(claims), {"pairing": table})


def _pairing_bars(analysis: Analysis, machine: str, first: str, second: str) -> Figure:
    """One panel an engine, seconds (or milliseconds) for the counted rounds."""
    table = analysis.tables["pairing"]
    sides = {"first_time_s": first, "second_time_s": second}
    slow = table.groupby("engine")["first_time_s"].transform("max") > 0.1
    scaled = {side: table[side].where(slow, 1e3 * table[side]) for side in sides}
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


def mira_bars(analysis: Analysis, options: Options) -> Figure:
    """Figure 3."""
    return _pairing_bars(analysis, "Mira", "current", "proposed")


def juqueen_bars(analysis: Analysis, options: Options) -> Figure:
    """Figure 4."""
    return _pairing_bars(analysis, "JUQUEEN", "worst case", "best case")


FUNCTION = "experiments.papers.partitions.pairing:pairing"
FIG3 = PaperFigure(
    "fig3",
    "Mira: bisection pairing, current against proposed partitions",
    FUNCTION,
    _points("mira", MIRA_CHOICES, MIRA_SIZES),
    analyse_mira,
    mira_bars,
)
FIG4 = PaperFigure(
    "fig4",
    "JUQUEEN: bisection pairing, worst against best partitions",
    FUNCTION,
    _points("juqueen", JUQUEEN_CHOICES, JUQUEEN_SIZES),
    analyse_juqueen,
    juqueen_bars,
)
