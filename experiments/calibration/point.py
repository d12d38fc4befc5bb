"""Points of the calibration: a load on a network, or lone messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from experiments.kit.load_latency import Window
from experiments.kit.load_networks import CYCLE_S, NETWORKS, packet_config
from experiments.kit.offered import lone_load, offered_load
from experiments.kit.papers import Options, Point
from netcosim.runs.points import point_rng
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing

FUNCTION = "experiments.calibration.point:run_point"
LONE_BUFFER_PACKETS = 1
QUICK_SHARE = 0.2
"""Of the windows at the quick scale."""

Rows = list[dict[str, object]]


def load_point(
    network: str,
    routing: str,
    traffic: str,
    load: float,
    options: Options,
    buffer_packets: int | None = None,
) -> Point:
    """Return one point of a curve; by default with the network's own buffers."""
    cycles = round(NETWORKS[network].window_cycles * (QUICK_SHARE if options.quick else 1))
    return {
        "kind": "load",
        "network": network,
        "routing": routing,
        "traffic": traffic,
        "load": load,
        "buffer_packets": buffer_packets or NETWORKS[network].buffer_packets,
        "warm_up_cycles": cycles,
        "window_cycles": cycles,
        "drain_cycles": cycles // 2,
        "seed": options.seed,
    }


def lone_point(network: str, routing: str, options: Options) -> Point:
    """Return the point of lone messages under one routing."""
    return {"kind": "lone", "network": network, "routing": routing, "seed": options.seed}


@lru_cache(maxsize=8)
def _routing(network: str, name: str) -> Routing:
    return make_routing(NETWORKS[network].build(), name)


def run_point(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Compute a point: table "load" or "lone" of one row.

    Routings of one network share their traffic, draw by draw; so do buffer sizes.
    """
    routing = _routing(config["network"], config["routing"])
    rng = point_rng(config, "traffic", leave_out=("routing", "buffer_packets"))
    labels: dict[str, object] = {key: config[key] for key in ("network", "routing")}
    if config["kind"] == "lone":
        lone = lone_load(routing, packet_config(LONE_BUFFER_PACKETS), rng)
        found = {
            "links": lone.links,
            "expected_cycles": lone.expected_mean_s / CYCLE_S,
            "latency_cycles": lone.latency_mean_s / CYCLE_S,
            "worst_ps": lone.worst_ps,
        }
        return {"lone": [labels | found]}
    labels |= {key: config[key] for key in ("traffic", "load", "buffer_packets")}
    cycles = (config[f"{part}_cycles"] for part in ("warm_up", "window", "drain"))
    window = Window(*(n * CYCLE_S for n in cycles))
    packets = packet_config(config["buffer_packets"])
    traffic, load = config["traffic"], config["load"]
    found = asdict(offered_load(routing, traffic, load, window, packets, rng, cycle_s=CYCLE_S))
    del found["drift"]
    for name in ("latency_mean", "latency_p99"):
        found[f"{name}_cycles"] = found.pop(f"{name}_s") / CYCLE_S
    return {"load": [labels | found]}
