"""The Level-Spread comparison on a machine that the paper could not simulate: 32,768 nodes.

A Slingshot-class dragonfly of 64 groups, 32 routers a group and 16 nodes a router, all links
25 GB/s, four global links between any two groups. Every job fills the size of one group (512
nodes), so placing policies differ as much as they can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.dragonfly_workloads.machine import dragonfly
from experiments.kit.dragonfly_workloads.measures import LEVEL_SPREAD
from experiments.kit.dragonfly_workloads.workloads import JobType
from experiments.kit.frames import groups, lookup
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.papers import Analysis, Options
from experiments.level_spread.times import COLOURS

POLICIES = ("rdn", "rdg", "simple", LEVEL_SPREAD)
ARRANGEMENTS = ("absolute", "circulant")
LINK_BPS = 25 * 10**9
LINK_LATENCY_S = 20e-9
PACKETS = {"packet_bytes": 4096, "header_bytes": 45, "buffer_bytes": 65536}
ROUTER_LATENCY_S = 350e-9
MESSAGE_BYTES = 4096
FULL = {"p": 16, "a": 32, "g": 64, "h": 8}, JobType(57, 512, "all-to-all", MESSAGE_BYTES)
QUICK = {"p": 4, "a": 8, "g": 16, "h": 8}, JobType(14, 32, "all-to-all", MESSAGE_BYTES)
"""Shape of the machine, and its jobs."""


def section(shape: Mapping[str, int], arrangement: str, routing: str) -> dict[str, Any]:
    """Return ``[machine]`` with links of 25 GB/s."""
    parameters = {**shape, "arrangement": arrangement}
    packet = {**PACKETS, "router_latency_s": ROUTER_LATENCY_S}
    return dragonfly(parameters, routing, packet, LINK_LATENCY_S, LINK_BPS, LINK_BPS)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return times next to RDN's; judge the claim that the gain grows with the machine."""
    columns = {"time_us": "mean_time_us", "longest_us": "longest_time_us"}
    keys = ["arrangement", "routing"]
    table = frames["times"].rename(columns=columns)
    table["stall_s"] = 1e-6 * table["stall_us"]
    table = table[[*keys, "policy", "n_nodes", *columns.values(), "packet_hops", "stall_s"]]
    rdn = table[table["policy"] == "rdn"].set_index(keys)["mean_time_us"].rename("rdn_us")
    table = table.join(rdn, on=keys)
    table["time_over_rdn"] = table["mean_time_us"] / table["rdn_us"]
    claims = []
    for (arrangement, routing), part in groups(table, *keys):
        times = lookup(part, ["policy"], "time_over_rdn")
        ratio = times[LEVEL_SPREAD] / min(times.values())
        check = ClaimBuilder(
            "VI-B: larger machines magnify the difference", f"{arrangement}, {routing}"
        )
        what = "Level-Spread is within 5 % of the best policy"
        claims.append(check.at_most(what, ratio, 1.05, note="its time over the best's"))
    return Analysis(claims_frame(claims), {"times": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw bars of mean time by policy and arrangement, one panel a routing."""
    return panels(
        analysis.tables["times"],
        "routing",
        lambda axis, part: grouped_bars(
            axis, part, "arrangement", "policy", Heights("mean_time_us"), colours=COLOURS
        ),
        columns=2,
        size_in=(5.0, 2.8),
        ylabel="mean time of a job (us)",
        share=True,
    )
