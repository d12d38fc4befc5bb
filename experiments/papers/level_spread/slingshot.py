"""The Level-Spread comparison on a machine that the paper could not simulate: 32,768 nodes.

A Slingshot-class dragonfly of 64 groups, 32 routers a group and 16 nodes a router, all links
25 GB/s, four global links between any two groups. Every job fills the size of one group (512
nodes), so placing policies differ as much as they can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.level_spread import common
from experiments.papers.level_spread.machine import Network, network_config, network_of, networks
from experiments.papers.level_spread.point import place_all
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.points import point_rng
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topology import Topology
from queuesim.communication import Communication
from queuesim.ensemble import Ensemble, PlacedJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FUNCTION = "experiments.papers.level_spread.slingshot:run_large"
POLICIES = ("rdn", "rdg", "simple", "level-spread")
ARRANGEMENTS = ("absolute", "circulant")
LINK_BPS = 25 * 10**9
LINK_LATENCY_S = 20e-9
ROUTER_LATENCY_S = 350e-9
FULL = {"p": 16, "a": 32, "g": 64, "h": 8, "job_nodes": 512, "n_jobs": 57}
QUICK = {"p": 4, "a": 8, "g": 16, "h": 8, "job_nodes": 32, "n_jobs": 14}
MESSAGE_BYTES = 4096


def slingshot(p: int, a: int, g: int, h: int, arrangement: str) -> Topology:
    """A dragonfly whose links all have 25 GB/s."""
    return dragonfly(
        p,
        a,
        g,
        h,
        arrangement=arrangement,
        node_bandwidth_Bps=LINK_BPS,
        local_bandwidth_Bps=LINK_BPS,
        global_bandwidth_Bps=LINK_BPS,
        node_latency_s=LINK_LATENCY_S,
        local_latency_s=LINK_LATENCY_S,
        global_latency_s=LINK_LATENCY_S,
    )


def points(options: Options) -> list[Point]:
    """A point for each arrangement, routing and policy; jobs fill 89 % of the machine."""
    machine = QUICK if options.quick else FULL
    return [
        {
            "experiment": "level-spread slingshot",
            "machine": dict(machine),
            "arrangement": arrangement,
            "network": network_config(_network(network)),
            "policy": policy,
            "draws": {"seed": options.seed},
            "labels": {
                "arrangement": arrangement,
                "routing": network.routing,
                "policy": policy,
            },
        }
        for network in networks(options, ("ugal-l",))
        for arrangement in ARRANGEMENTS
        for policy in POLICIES
    ]


def _network(network: Network) -> Network:
    """Packets of 4 KB, buffers of 64 KB a channel, one rank a node."""
    return Network(
        routing=network.routing,
        packet_bytes=4096,
        buffer_bytes=65536,
        router_latency_s=ROUTER_LATENCY_S,
        ranks_per_node=1,
    )


def run_large(config: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Place the jobs, let all do an all-to-all at once.

    Returns
    -------
    dict
        "times": one row: mean and longest time of the jobs, packet hops, most stalled link.
    """
    size = config["machine"]
    network = network_of(config["network"])
    topology = slingshot(size["p"], size["a"], size["g"], size["h"], config["arrangement"])
    sizes = [size["job_nodes"]] * size["n_jobs"]
    placed = place_all(topology, config["policy"], sizes, point_rng(config["draws"], "placement"))
    routing = make_routing(topology, network.routing)
    said = Communication("all-to-all", MESSAGE_BYTES)
    result = Ensemble(
        network.shared(routing, "random", point_rng(config["draws"], "jobs")),
        [PlacedJob(i, said, nodes) for i, nodes in enumerate(placed)],
    ).packets()
    row = {
        **config["labels"],
        "n_nodes": topology.n_nodes,
        "mean_time_us": float(result.time_s.mean() * 1e6),
        "longest_time_us": float(result.time_s.max() * 1e6),
        "packet_hops": result.packets.packet_hops,
        "stall_s": float(result.packets.link_stall_ps[2 * topology.n_nodes :].sum() * 1e-12),
    }
    return {"times": [row]}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Times beside RDN's; the claim is the paper's: the gain grows with the machine."""
    table = frames["times"].copy()
    cell_keys = ["arrangement", "routing"]
    base = table.loc[table["policy"] == "rdn", [*cell_keys, "mean_time_us"]]
    base = base.rename(columns={"mean_time_us": "rdn_us"})
    table = table.merge(base, on=cell_keys, how="left")
    table["time_over_rdn"] = table["mean_time_us"] / table["rdn_us"]
    claims = []
    for cell, part in common.cells(table, ["arrangement", "routing"]):
        by_policy = part.set_index("policy")["time_over_rdn"]
        best = float(np.min(by_policy.to_numpy()))
        ours = float(by_policy["level-spread"])
        claims.append(
            Claim(
                "Level-Spread is within 5 % of the best policy",
                "VI-B: larger machines magnify the difference",
                ours <= 1.05 * best,
                "time over the best's at most 1.05",
                f"{cell['arrangement']}, {cell['routing']}",
                None,
                ours / best,
            )
        )
    return Analysis(claims_frame(claims), {"times": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Bars of mean time by policy, one panel an arrangement and routing."""
    table = analysis.tables["times"]
    found = list(common.cells(table, ["arrangement", "routing"]))
    drawing, axes = common.panels(1, len(found), 3.4 * len(found), 3.2, sharey=True)
    for panel, (cell, part) in zip(axes[0], found, strict=True):
        for i, policy in enumerate(POLICIES):
            time_us = part.loc[part["policy"] == policy, "mean_time_us"]
            panel.bar(i, time_us, 0.7, color=common.STYLES[policy][1])
        panel.set_xticks(range(len(POLICIES)), POLICIES, fontsize=8)
        panel.set_title(f"{cell['arrangement']}, {cell['routing']}", fontsize=9)
    axes[0][0].set_ylabel("mean time of a job (us)")
    return drawing


SLINGSHOT = PaperFigure(
    name="slingshot",
    description="beyond the paper: 57 jobs of 512 nodes on 32,768 nodes with 25 GB/s links",
    function=FUNCTION,
    points=points,
    analyse=analyse,
    draw=draw,
)
