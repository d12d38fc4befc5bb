"""A point of a curve: one routing, one traffic, one load; or messages without contention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from experiments.curve.config import MATRIX
from experiments.kit.load_latency import LoadPoint, Window, count_messages, keeps_up
from experiments.kit.open_loop import (
    lone_messages,
    matrix_destinations,
    named_destinations,
    open_loop,
    traffic_params,
)
from netcosim.config.machine import BuiltMachine, MachineSection, build_machine
from netcosim.runs.points import canonical_json, point_rng
from netsim.errors import NetcosimError
from netsim.inputs import checked_path
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S
from netsim.plugins import pinned_plugin, using
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.destinations import Destinations
from patterns.matrix import read_matrix

FUNCTION = "experiments.curve.point:curve_point"
WINDOW_MESSAGES = 1000
"""Messages that a node could send in a window, back to back."""
LONE_MESSAGES = 500
NEAR = 0.9
"""Part of the offered load from which on a longer look may show that all is accepted."""
QUANTILES = {"least": 0, "q25": 25, "median": 50, "q75": 75, "most": 100}
Row = dict[str, object]
STEADY, SATURATED, UNSETTLED, ALONE = "steady", "saturated", "unsettled", "alone"


def curve_point(content: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Compute a point: table "curve" of one row, and "links" of one a kind, between routers.

    Routings share their traffic, draw by draw.
    """
    with using(map(pinned_plugin, content.get("plugins", ()))):
        machine = built_machine(canonical_json(content["machine"]))
        curve = content["curve"]
        rng = point_rng(content, "traffic", leave_out=("machine.routing",))
        measure = _alone if curve["load"] == 0 else _loaded
        found, links = measure(machine, curve, rng)
    routing = machine.routing.name
    labels = {"routing": routing, "traffic": curve["traffic"], "load": curve["load"]}
    more = {"links": [labels | row for row in links]} if links else {}
    return {"curve": [labels | found], **more}


@lru_cache(maxsize=4)
def built_machine(content: str) -> BuiltMachine:
    """Build a machine of a point; points of a sweep share few."""
    return build_machine(MachineSection.model_validate_json(content))


def sources(
    topology: Topology, curve: Mapping[str, Any], rng: np.random.Generator
) -> tuple[Destinations, np.ndarray]:
    """Return destinations, and each node's rate relative to the busiest one."""
    n, name = topology.n_nodes, curve["traffic"]
    if name == MATRIX:
        path = checked_path(curve["file"])
        table = read_matrix(path)
        if len(table) > n:
            raise NetcosimError(f"{path}: {len(table)} ranks; {topology.name} has {n} nodes")
        matrix = np.zeros((n, n))
        matrix[: len(table), : len(table)] = table
        rows = matrix.sum(axis=1)
        return matrix_destinations(matrix), rows / rows.max()
    params = traffic_params(topology, name) | curve["parameters"]
    return named_destinations(name, n, rng, params), np.ones(n)


def node_bandwidth(topology: Topology) -> float:
    """Return the bandwidth of a node over all its ports."""
    own = topology.link_bandwidth_Bps[: topology.n_ports]
    if (own != own[0]).any():
        raise NetcosimError(
            f"{topology.name}: nodes have links of {own.min():,} to {own.max():,} B/s; a curve "
            "needs the same for all"
        )
    return topology.rails * float(own[0])


def message_time_s(machine: BuiltMachine, message_bytes: int) -> float:
    """Return the time of one message on a node's link."""
    packets = math.ceil(message_bytes / machine.packets.packet_bytes)
    wire = message_bytes + packets * machine.packets.header_bytes
    return wire / float(machine.topology.link_bandwidth_Bps[0])


def _way_s(machine: BuiltMachine, message_bytes: int) -> float:
    """Return more than the time of a lone message: 20 links of the slowest kind."""
    topology, packets = machine.topology, machine.packets
    slowest = message_bytes / float(topology.link_bandwidth_Bps.min())
    return 20 * (float(topology.link_latency_s.max()) + packets.router_latency_s + slowest)


def _loaded(
    machine: BuiltMachine, curve: Mapping[str, Any], rng: np.random.Generator
) -> tuple[Row, list[Row]]:
    """Run until the halves of the window agree, or the network does not keep up."""
    topology, size = machine.topology, curve["message_bytes"] or machine.packets.packet_bytes
    destinations, shares = sources(topology, curve, rng)
    rates = shares * curve["load"] * node_bandwidth(topology)
    least_s = max(WINDOW_MESSAGES * message_time_s(machine, size), 5 * _way_s(machine, size))
    window_s = curve["window_s"] or least_s
    warm_up_s = curve["warm_up_s"] or window_s
    # under a matrix: of what the nodes would send if all were the busiest one
    mean_share = float(shares.mean())
    for left in range(curve["doublings"], -1, -1):
        window = Window(warm_up_s, window_s, window_s / 2)
        program = open_loop(
            topology.n_nodes, destinations, size, rates, window.end_s, rng, curve["process"]
        )
        placed = combine([program], [np.arange(topology.n_nodes)])
        result = simulate_packets(
            machine.routing, placed, machine.packets, rng, until_s=window.end_s
        )
        got = count_messages(result, topology, placed, window, machine.packets)
        state = _state(got, curve["tolerance"])
        # nearly all may be accepted once the queues have filled; far from it they never will
        near = got.accepted >= NEAR * got.offered
        if state == STEADY or not near or not left:
            break
        warm_up_s, window_s = 2 * warm_up_s, 2 * window_s
    row = asdict(got) | {"warm_up_s": warm_up_s, "window_s": window_s, "state": state}
    del row["warning"]
    row |= {"offered": got.offered / mean_share, "accepted": got.accepted / mean_share}
    # a packet under way at the end counts whole
    busy_share = np.minimum(result.link_busy_ps / PS_PER_S / window.end_s, 1.0)
    return row, link_rows(topology, busy_share)


def link_rows(topology: Topology, busy_share: np.ndarray) -> list[Row]:
    """Return quantiles of the time share that links between routers are busy, a row a kind."""
    first, rows = topology.first_router_link, list[Row]()
    for kind in topology.kinds:
        busy = busy_share[first:][topology.kind_mask(kind)[first:]]
        if len(busy):
            found = {name: float(np.percentile(busy, q)) for name, q in QUANTILES.items()}
            rows.append({"kind": kind, "links": len(busy), **found})
    return rows


def _state(got: LoadPoint, tolerance: float) -> str:
    if not keeps_up(got.offered, got.accepted, got.unfinished):
        return SATURATED
    return STEADY if abs(got.drift) <= tolerance else UNSETTLED


def _alone(
    machine: BuiltMachine, curve: Mapping[str, Any], rng: np.random.Generator
) -> tuple[Row, list[Row]]:
    """Measure messages of this traffic one after the other; links are nearly idle."""
    topology, size = machine.topology, curve["message_bytes"] or machine.packets.packet_bytes
    destinations, shares = sources(topology, curve, rng)
    src = rng.permutation(np.flatnonzero(shares > 0))[:LONE_MESSAGES].astype(np.int64)
    dst = destinations(src, rng)
    gap_s = _way_s(machine, size) + message_time_s(machine, size)
    program = lone_messages(topology.n_nodes, src, dst, size, gap_s)
    placed = combine([program], [np.arange(topology.n_nodes)])
    result = simulate_packets(machine.routing, placed, machine.packets, rng)
    sent_to = placed.program.send_dst != placed.program.send_src()
    took = (result.message_finish_ps - result.message_post_ps)[sent_to] / PS_PER_S
    mean, p99 = (
        (float(took.mean()), float(np.percentile(took, 99))) if len(took) else (math.nan,) * 2
    )
    nothing: Row = {"offered": 0.0, "accepted": 0.0}
    nothing |= {"latency_mean_s": mean, "latency_p99_s": p99, "unfinished": 0.0}
    nothing |= {"messages": len(took), "drift": 0.0, "warm_up_s": 0.0, "window_s": 0.0}
    return nothing | {"state": ALONE}, []
