"""Our engine beside the simulator that the Level-Spread paper used (SST merlin), measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cosim.network.communication import Communication
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.dragonfly_workloads.machine import LOCAL_BPS, built
from experiments.kit.dragonfly_workloads.measures import measure_column
from experiments.kit.dragonfly_workloads.point import run_workload
from experiments.kit.offered import links_on_path
from experiments.kit.papers import Analysis, Options
from experiments.kit.sst import LONG_MESSAGE_US, ONE_WAY_NS
from netcosim.config.machine import BuiltMachine
from netcosim.runs.store import Rows
from netsim.packet.engine import simulate_packets
from netsim.traffic import combine

FUNCTION = "experiments.level_spread.sst:run_point"
measured = read_printed("level_spread")["sst"]
TOLERANCE = 0.25
RULE = "ratio within 0.75 to 1.25"


def run_point(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Run either kind of point."""
    if config["experiment"] == "level-spread":
        return run_workload(config)
    hops, size = config["hops"], config["bytes"]
    times = one_way(built(config["machine"]), hops, size)
    return {"one_way": [{"hops": hops, "bytes": size, **times}]}


def one_way(machine: BuiltMachine, hops: int, n_bytes: int) -> dict[str, float]:
    """Time one message from node 0 over ``hops`` router-to-router links, minimal routing.

    ``time_ns``, and ``head_ns``: without the last packet's own bytes on the last link,
    which SST does not charge.
    """
    routing, n_nodes = machine.routing, machine.topology.n_nodes
    target = next(n for n in range(1, n_nodes) if links_on_path(routing, 0, n) == hops + 2)
    packets, rng = machine.packets, np.random.default_rng(0)
    program = Communication("broadcast", n_bytes).program(2, rng)
    result = simulate_packets(routing, combine([program], [np.array([0, target])]), packets, rng)
    time_ns = float(result.message_finish_ps[0] / 1000)
    last = (n_bytes - 1) % packets.packet_bytes + 1 + packets.header_bytes
    return {"time_ns": time_ns, "head_ns": time_ns - last * 1e9 / LOCAL_BPS}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return simulated values next to SST's, with ratios."""
    column = measure_column(options)
    rows: list[dict[str, Any]] = []
    for row in frames["times"].to_dict("records"):
        workload, routing = row["workload"], row["routing"]
        times, faster = (
            measured[name].get(workload, {}).get(routing.split(",")[0])
            for name in ("times_us", "faster_crossbar_us")
        )
        if times is not None:
            what = f"{workload} grouped, all-to-all 1000 B: mean job time (us)"
            labels = {"case": workload, "routing": routing, "what": what}
            rows.append(labels | {"sst": times, "simulated": float(row[column])})
        if faster is not None:
            apart = {"case": f"{workload}, SST's crossbar 4 GB/s", "what": None}
            rows.append(rows[-1] | apart | {"sst": faster})
    for row in frames["one_way"].to_dict("records"):
        hops, size = int(row["hops"]), int(row["bytes"])
        what = f"one message of {size} B, {hops} router links: head's time (us)"
        labels = {"case": f"one way, {hops} links, {size} B", "routing": "minimal", "what": what}
        sst = ONE_WAY_NS[hops] / 1000 + (LONG_MESSAGE_US if size > 1000 else 0)
        with_own = row["time_ns"] / 1000
        rows.append(
            labels | {"sst": sst, "simulated": row["head_ns"] / 1000, "with_own_bytes": with_own}
        )
    table = pd.DataFrame(rows)
    table["ratio"] = table["simulated"] / table["sst"]
    claims = []
    for row in table.dropna(subset="what").to_dict("records"):
        check, good = (
            ClaimBuilder("SST, measured", row["routing"]),
            abs(row["ratio"] - 1) <= TOLERANCE,
        )
        claims.append(check.holds(row["what"], good, RULE, row["simulated"], expected=row["sst"]))
    return Analysis(claims_frame(claims), {"times": table.drop(columns="what")})
