"""Our engine beside the simulator that the Level-Spread paper used (SST merlin), measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.build import BuiltMachine
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.level_spread.machine import LOCAL_BPS, built
from experiments.papers.level_spread.point import Rows, run_workload
from experiments.papers.level_spread.times import measure_column
from experiments.papers.paper import Analysis, Options
from netsim.analysis.load_latency import links_on_path
from netsim.packet.engine import simulate_packets
from netsim.traffic import combine
from patterns.build import build_program, make_messages

if TYPE_CHECKING:
    import pandas as pd

FUNCTION = "experiments.papers.level_spread.sst:run_point"
SST_TIMES_US = {
    ("4 x 68", "minimal"): 743.0,
    ("4 x 68", "valiant"): 306.0,
    ("4 x 68", "ugal-l"): 738.0,
    ("17 x 16", "minimal"): 40.0,
    ("17 x 16", "valiant"): 47.1,
    ("17 x 16", "ugal-l"): 40.0,
}
"""Mean job time in SST: all-to-all of 1000 bytes, consecutive nodes, one rank a node, all links
alike (alpha = 1), so the crossbar has 1 GB/s as the authors' had: max(1, alpha) GB/s."""
FASTER_CROSSBAR_US = {("4 x 68", "ugal-l"): 336.0}
"""The same with a crossbar of 4 GB/s, which is not the authors' at alpha = 1; no verdict hangs
on it. Ours has no crossbar."""
ONE_WAY_NS = {0: 205.5, 1: 357.5, 2: 509.5, 3: 661.5}
"""One message of 1000 bytes in SST, by router-to-router links; its own bytes take no time there."""
LONG_MESSAGE_US = 48 * 2.048
"""What a message of 100,000 bytes takes more: the packets before the last one."""
TOLERANCE = 0.25
RULE = "ratio within 0.75 to 1.25"


def run_point(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Either kind of point."""
    if config["experiment"] == "level-spread":
        return run_workload(config)
    hops, size = config["hops"], config["bytes"]
    times = one_way(built(config["machine"]), hops, size)
    return {"one_way": [{"hops": hops, "bytes": size, **times}]}


def one_way(machine: BuiltMachine, hops: int, n_bytes: int) -> dict[str, float]:
    """Time of one message from node 0 over so many router-to-router links, minimal routing.

    ``time_ns``, and ``head_ns``: without the last packet's own bytes on the last link,
    which SST does not charge.
    """
    routing, n_nodes = machine.routing, machine.topology.n_nodes
    target = next(n for n in range(1, n_nodes) if links_on_path(routing, 0, n) == hops + 2)
    messages = make_messages([0], [0], [1], [0], [n_bytes])
    traffic = combine([build_program(2, 1, messages)], [np.array([0, target])])
    packets = machine.packets
    result = simulate_packets(routing, traffic, packets, np.random.default_rng(0))
    time_ns = float(result.message_finish_ps[0] / 1000)
    last = (n_bytes - 1) % packets.packet_bytes + 1 + packets.header_bytes
    return {"time_ns": time_ns, "head_ns": time_ns - last * 1e9 / LOCAL_BPS}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Ours beside SST's, with ratios."""
    import pandas as pd

    column = measure_column(options)
    claims, rows = [], []

    def compare(what: str, routing: str, sst: float, ours: float) -> None:
        good = abs(ours / sst - 1) <= TOLERANCE
        says = Says("SST, measured", routing)
        claims.append(says.holds(what, good, RULE, ours, expected=sst))

    for row in frames["times"].to_dict("records"):
        workload, routing, ours = row["workload"], row["routing"], float(row[column])
        if (workload, routing) not in SST_TIMES_US:
            continue
        sst = SST_TIMES_US[workload, routing]
        rows.append({"case": workload, "routing": routing, "sst": sst, "ours": ours})
        faster = FASTER_CROSSBAR_US.get((workload, routing))
        if faster is not None:
            rows.append(rows[-1] | {"case": f"{workload}, SST's crossbar 4 GB/s", "sst": faster})
        what = f"{workload} grouped, all-to-all 1000 B: mean job time (us)"
        compare(what, routing, sst, ours)
    for row in frames["one_way"].to_dict("records"):
        hops, size, ours = int(row["hops"]), int(row["bytes"]), row["head_ns"] / 1000
        sst = (ONE_WAY_NS[hops] + (1000 * LONG_MESSAGE_US if size > 1000 else 0)) / 1000
        case = f"one way, {hops} links, {size} B"
        found = {"case": case, "routing": "minimal", "sst": sst, "ours": ours}
        rows.append(found | {"with_own_bytes": row["time_ns"] / 1000})
        what = f"one message of {size} B, {hops} router links: head's time (us)"
        compare(what, "minimal", sst, ours)
    table = pd.DataFrame(rows)
    table["ratio"] = table["ours"] / table["sst"]
    return Analysis(claims_frame(claims), {"times": table})
