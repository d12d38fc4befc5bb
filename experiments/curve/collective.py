"""A point of a bandwidth curve: one collective of one size, as nccl-tests measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.curve.config import CurveConfig
from experiments.curve.point import built_machine
from experiments.kit.packets import MOST_PACKETS, packets_for
from netcosim.config.machine import BuiltMachine
from netcosim.runs.points import canonical_json, point_rng
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S
from netsim.plugins import pinned_plugin, using
from netsim.topologies.gpu_cluster import GpuClusterShape
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.build import build_program
from patterns.collectives.library import CHUNKED, MAX_CHUNKS, Collective
from patterns.training.times import wire_share

FUNCTION = "experiments.curve.collective:collective_point"
SIZES = tuple(1 << k for k in range(10, 31, 2))
"""1 KiB to 1 GiB."""


def points(
    config: CurveConfig, topology: Topology, operation: str, sizes: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Return one point an algorithm and size, these sizes where the config has none."""
    content, section = config.model_dump(mode="json"), config.collective
    gpus, shape = section.gpus or topology.n_nodes, topology.shape
    if not 2 <= gpus <= topology.n_nodes:
        raise NetcosimError(
            f"collective.gpus = {gpus}; allowed: 2 to {topology.n_nodes}, those of {topology.name}"
        )
    of_node = shape.gpus_per_node if isinstance(shape, GpuClusterShape) else 1
    one = content["collective"] | {"operation": operation, "gpus": gpus}
    one["gpus_per_node"] = section.gpus_per_node or of_node
    chosen = dict.fromkeys(one.pop("sizes") or sizes or SIZES)
    found = []
    for algorithm in dict.fromkeys(one.pop("algorithms")):
        Collective(operation, algorithm)  # an operation without that algorithm is refused here
        for size in chosen:
            point = {
                "machine": content["machine"],
                "collective": one | {"algorithm": algorithm, "bytes": size},
                "seed": content["run"]["seed"],
            }
            found.append(point | ({"plugins": content["plugins"]} if config.plugins else {}))
    return found


def collective_point(content: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Compute a point: table "collective" of one row."""
    with using(map(pinned_plugin, content.get("plugins", ()))):
        machine = built_machine(canonical_json(content["machine"]))
        one = content["collective"]
        size, p = one["bytes"], one["gpus"]
        time_s = one["start_s"] + _time_s(machine, one, point_rng(content, "collective"))
    algorithm_Bps = size / time_s
    row = {
        "operation": one["operation"],
        "algorithm": one["algorithm"],
        "gpus": p,
        "bytes": size,
        "time_s": time_s,
        "algbw_Bps": algorithm_Bps,
        "busbw_Bps": algorithm_Bps * wire_share(one["operation"], p),
    }
    return {"collective": [row]}


def _time_s(machine: BuiltMachine, one: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Send the messages of an operation, without its start."""
    keys = ("operation", "algorithm", "gpus_per_node", "channels", "chunk_bytes", "links")
    ranks = np.arange(one["gpus"])
    collective = Collective(**{key: one[key] for key in keys})
    messages, n_steps = collective.messages(ranks[None, :], one["bytes"])
    # chunks larger than those that would be sent fill buffers as these do: the time of smaller ones
    shrink = _coarseness(collective, len(ranks), one["bytes"])
    n_bytes = np.maximum(1, np.round(messages.n_bytes / shrink).astype(np.int64))
    program = build_program(len(ranks), n_steps, replace(messages, n_bytes=n_bytes))
    packets = packets_for(machine.packets, int(n_bytes.max(initial=1)), MOST_PACKETS)
    result = simulate_packets(machine.routing, combine([program], [ranks]), packets, rng)
    start_s = collective.start_s(len(ranks), one["bytes"])
    return start_s + shrink * result.end_ps / PS_PER_S


def _coarseness(collective: Collective, n_ranks: int, message_bytes: int) -> float:
    """Return how many times larger chunks are than ``chunk_bytes``, as there are at most 32."""
    if collective.chunks or collective.named(n_ranks, message_bytes) not in CHUNKED:
        return 1.0
    return max(1.0, collective.whole_chunks(n_ranks, message_bytes) / MAX_CHUNKS)
