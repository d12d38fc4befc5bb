"""Points of the partition paper: bisections, bisection pairing, matrix multiplication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from alloc.torus.menus import JUQUEEN, MENUS, MIRA, SEQUOIA
from netsim.analysis.bisection import (
    best_geometry,
    partition_bisection,
    partition_dims,
    possible_sizes,
    worst_geometry,
)
from netsim.analysis.pairing import LINK_BPS, furthest_nodes, partition
from netsim.errors import unknown_name
from netsim.flow.job_load import job_link_load
from netsim.flow.maxmin import run_flows
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.traffic import combine
from patterns.bisection_pairing import bisection_pairing
from patterns.strassen_winograd import strassen_winograd

Rows = list[dict[str, object]]
Point = Mapping[str, object]

MODULE = "experiments.papers.partitions.point"
MACHINES: dict[str, tuple[int, ...]] = {
    "mira": MIRA,
    "juqueen": JUQUEEN,
    "sequoia": SEQUOIA,
    "juqueen-54": (3, 3, 3, 2),
    "juqueen-48": (4, 3, 2, 2),
}
"""Lengths in midplanes; the last two are the paper's proposals (section 5)."""

ROUTER_LATENCY_S = 40e-9
MAPPINGS = ("blocks", "cyclic", "random")


def geometry_for(machine: str, choice: str, midplanes: int) -> tuple[int, ...] | None:
    """The geometry that a machine gives a size: by a menu, or the "best" or "worst" cuboid.

    Raises
    ------
    NetcosimError
        An unknown machine or choice.
    """
    if machine not in MACHINES:
        raise unknown_name("machine", machine, MACHINES)
    if choice == "best":
        return best_geometry(MACHINES[machine], midplanes)
    if choice == "worst":
        return worst_geometry(MACHINES[machine], midplanes)
    if choice not in MENUS:
        raise unknown_name("choice", choice, ("best", "worst", *MENUS))
    of_size = [g for g in MENUS[choice].geometries if prod(g) == midplanes]
    return of_size[0] if of_size else None


def shown(geometry: Sequence[int]) -> str:
    """A geometry as tables print it."""
    return "x".join(map(str, geometry))


def bisections(config: Point) -> dict[str, Rows]:
    """Table "partitions": every size of a machine with its geometry and bisection.

    ``config``: machine, choice (see `geometry_for`).
    """
    machine, choice = str(config["machine"]), str(config["choice"])
    rows: Rows = []
    for size in possible_sizes(MACHINES[machine]) if machine in MACHINES else [1]:
        geometry = geometry_for(machine, choice, size)
        if geometry is not None:
            rows.append(
                {
                    "machine": machine,
                    "choice": choice,
                    "P": int(prod(partition_dims(geometry))),
                    "Midplanes": size,
                    "geometry": shown(geometry),
                    "bisection": partition_bisection(geometry),
                }
            )
    return {"partitions": rows}


def pairing(config: Point) -> dict[str, Rows]:
    """Table "pairing": bisection pairing on one partition.

    ``config``: machine, choice, midplanes, engine ("flow" or "packet"), routing,
    message_bytes (one chunk), chunks, rounds, warmup_rounds; for packets also packet_bytes and
    buffer_bytes. ``time_s`` is the mean over pairs of the time for the counted rounds.
    """
    geometry = _geometry(config)
    topology = partition(geometry)
    dims = topology.shape.dims
    far = furthest_nodes(dims)
    routing = make_routing(topology, str(config["routing"]))
    chunk, chunks = _int(config, "message_bytes"), _int(config, "chunks")
    rounds, warmup = _int(config, "rounds"), _int(config, "warmup_rounds")
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
                packet_bytes=_int(config, "packet_bytes"),
                buffer_bytes=_int(config, "buffer_bytes"),
                router_latency_s=ROUTER_LATENCY_S,
            ),
            np.random.default_rng(0),
        )
        done = result.message_finish_ps.reshape(topology.n_nodes, rounds + warmup, chunks)
        both = np.maximum(done.max(axis=2), done.max(axis=2)[far]) / 1e12
        pair = both[:, -1] - (both[:, warmup - 1] if warmup else 0.0)
        work = {"flow_classes": 0, "packet_hops": result.packet_hops}
    else:
        raise unknown_name("engine", str(config["engine"]), ("flow", "packet"))
    bound = rounds * chunks * chunk * max(dims) / 4 / LINK_BPS
    return {
        "pairing": [
            {
                **_labels(config, geometry),
                "engine": config["engine"],
                "routing": config["routing"],
                "time_s": float(pair.mean()),
                "slowest_s": float(pair.max()),
                "bound_s": bound,
                **work,
            }
        ]
    }


def multiplication(config: Point) -> dict[str, Rows]:
    """Table "multiplication": communication of CAPS, one row for each breadth-first step.

    ``config``: machine, choice, midplanes, ranks, matrix_dim, mapping (see `rank_nodes`),
    first_groups (see `patterns.strassen_winograd`), routing, seed. A step takes as long as
    its fullest link; steps follow each other; ranks on one node share memory.
    """
    geometry = _geometry(config)
    topology = partition(geometry)
    routing = make_routing(topology, str(config["routing"]))
    ranks = _int(config, "ranks")
    nodes = rank_nodes(str(config["mapping"]), ranks, topology.n_nodes, _int(config, "seed"))
    messages = _steps(ranks, _int(config, "matrix_dim"), str(config["first_groups"]))
    rows: Rows = []
    for level, (src, dst, down, up) in enumerate(messages):
        # Both directions of a level use the same pairs, so their loads are proportional.
        load = job_link_load(routing, src, dst, down + up, nodes)
        rows.append(
            {
                **_labels(config, geometry),
                "ranks": ranks,
                "mapping": config["mapping"],
                "first_groups": config["first_groups"],
                "routing": config["routing"],
                "level": level,
                "time_s": load.isolated_bound_s,
                "network_bytes": float(load.link_bytes.sum()),
            }
        )
    return {"multiplication": rows}


def rank_nodes(mapping: str, ranks: int, n_nodes: int, seed: int) -> NDArray[np.int64]:
    """(ranks,) int64: node of each rank, as even as can be.

    "blocks": consecutive ranks share a node, nodes in order. "cyclic": one rank a node in
    turn. "random": blocks with the ranks shuffled.

    Raises
    ------
    NetcosimError
        An unknown mapping.
    """
    if mapping not in MAPPINGS:
        raise unknown_name("mapping", mapping, MAPPINGS)
    rank = np.arange(ranks, dtype=np.int64)
    if mapping == "cyclic":
        return rank % n_nodes
    blocks = rank * n_nodes // ranks
    return np.random.default_rng(seed).permutation(blocks) if mapping == "random" else blocks


@lru_cache(maxsize=2)
def _steps(
    ranks: int, matrix_dim: int, first_groups: str
) -> list[tuple[NDArray[np.int32], NDArray[np.int32], int, int]]:
    """Senders and receivers of each level with the bytes down and up, from the program."""
    program = strassen_winograd(ranks, 1, matrix_dim=matrix_dim, first_groups=first_groups)
    steps = program.n_steps // ranks
    # Every rank sends the same number of messages in every step, step after step.
    each = program.n_messages // program.n_steps
    src = program.send_src().reshape(ranks, steps, each)
    dst = program.send_dst.reshape(ranks, steps, each)
    size = program.send_bytes.reshape(ranks, steps, each)
    levels = []
    for level in range(steps // 2):
        back = steps - 1 - level
        assert np.array_equal(dst[:, level], dst[:, back])
        assert np.ptp(size[:, level]) == 0
        assert np.ptp(size[:, back]) == 0
        levels.append(
            (
                src[:, level].ravel(),
                dst[:, level].ravel(),
                int(size[0, level, 0]),
                int(size[0, back, 0]),
            )
        )
    return levels


def _geometry(config: Point) -> tuple[int, ...]:
    size = _int(config, "midplanes")
    machine, choice = str(config["machine"]), str(config["choice"])
    geometry = geometry_for(machine, choice, size)
    if geometry is None:
        raise unknown_name(
            f"size of {machine} ({choice}), in midplanes,",
            str(size),
            [s for s in possible_sizes(MACHINES[machine]) if geometry_for(machine, choice, s)],
        )
    return geometry


def _labels(config: Point, geometry: tuple[int, ...]) -> dict[str, object]:
    return {
        "machine": config["machine"],
        "choice": config["choice"],
        "Midplanes": config["midplanes"],
        "geometry": shown(geometry),
        "bisection": partition_bisection(geometry),
    }


def _int(config: Point, key: str) -> int:
    return int(cast("Any", config[key]))
