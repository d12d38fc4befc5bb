"""One point of the Level-Spread campaign: one workload under each of several policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from alloc.policy import Request
from alloc.registry import make_policy
from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.job_times import PacketTimes
from experiments.kit.dragonfly_workloads.machine import built
from netcosim.runs.points import point_rng
from netcosim.runs.store import Rows
from netsim.errors import NetcosimError
from netsim.packet.model import PacketResult
from netsim.topology import Topology
from netsim.traffic import Program

FUNCTION = "experiments.kit.dragonfly_workloads.point:run_workload"
US_PER_S = 1e6
KINDS = ("small", "large")
LINK_KINDS = ("local", "global")


@dataclass(frozen=True)
class WholeNanoseconds(Communication):
    """A pattern that computes for whole nanoseconds, as in SST: the engine's tick can be one."""

    def program(self, n_ranks: int, rng: np.random.Generator) -> Program:
        """Return the communication program of a job of ``n_ranks`` ranks."""
        program = super().program(n_ranks, rng)
        return dataclasses.replace(program, compute_s=np.rint(program.compute_s * 1e9) / 1e9)


def run_workload(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Place the jobs under each policy, let all communicate at once, and time them.

    The config has ``machine`` (`netcosim.config.machine.MachineSection` in plain types), ``jobs``
    (`dragonfly_workloads.workloads.JobType.config`), ``policies``, ``order`` ("smallest" or
    "largest": which jobs are placed first, VI-E), ``ranks_per_node``, ``mapping`` of tasks;
    ``draws``: all random numbers come from it, so points that differ in other things share
    placement draws, task mapping and routing seed; ``labels``: columns that are put into every row;
    ``link_statistics``: whether "links" is wanted.

    "times" has a row for each policy and kind of job, with the labels: mean over the jobs of the
    last rank's end (``time_us``), the longest (``longest_us``), the mean of rank 0's (a broadcast's
    last rank's) end (``rank0_us``), and of the latter cut to whole microseconds (``rank0_cut_us``),
    as the authors' simulator printed it; of all links between routers the stall time ``stall_us``.
    "links", if requested, has a row for each policy and kind of link, with a list over links of
    packets, stalls and stall time.
    """
    machine = built(config["machine"])
    largest_first = config["order"] == "largest"
    types = sorted(config["jobs"], key=lambda job: job["n_nodes"], reverse=largest_first)
    traffic = [
        WholeNanoseconds(job["pattern"], job["message_bytes"], parameters=job["parameters"])
        for job in types
    ]
    which = np.repeat(np.arange(len(types)), [job["n_jobs"] for job in types])
    sizes, kinds = (np.array([types[k][key] for k in which]) for key in ("n_nodes", "kind"))
    draws = config["draws"]
    shared = SharedNetwork(
        machine.routing,
        machine.packets,
        config["ranks_per_node"],
        config["mapping"],
        seed=int(point_rng(draws, "jobs").integers(0, 2**32)),
    )
    times: list[dict[str, object]] = []
    links: list[dict[str, object]] = []
    for policy in config["policies"]:
        placed = place_all(machine.topology, policy, sizes, point_rng(draws, "placement"))
        jobs = [PlacedJob(i, traffic[k], placed[i]) for i, k in enumerate(which)]
        result = Ensemble(shared, jobs).packets()
        head = {"n_nodes": machine.topology.n_nodes, **config["labels"], "policy": policy}
        times += [{**head, **row} for row in _time_rows(machine.topology, result, kinds)]
        if config["link_statistics"]:
            links += [{**head, **row} for row in _link_rows(machine.topology, result.packets)]
    return {"times": times, "links": links} if links else {"times": times}


def place_all(
    topology: Topology, name: str, sizes: Iterable[int], rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the nodes of jobs of these sizes, placed one after the other on an empty machine."""
    policy = make_policy(topology, name, rng)
    placed = []
    for i, n_nodes in enumerate(sizes):
        placement = policy.allocate(Request(i, int(n_nodes)))
        if placement is None:
            raise NetcosimError(f"{name}: job {i} of {n_nodes} nodes finds no place")
        placed.append(placement.nodes)
    return placed


def _time_rows(topology: Topology, result: PacketTimes, kinds: np.ndarray) -> Rows:
    packets = result.packets
    between_routers = np.logical_or.reduce([topology.kind_mask(kind) for kind in LINK_KINDS])
    stall_us = float(packets.link_stall_ps[between_routers].sum() / US_PER_S)
    rows = []
    for kind in (kind for kind in KINDS if kind in kinds):
        last, rank0 = (s[kinds == kind] * US_PER_S for s in (result.time_s, result.rank0_time_s))
        rows.append(
            {
                "kind": kind,
                "n_jobs": len(last),
                "time_us": float(last.mean()),
                "longest_us": float(last.max()),
                "rank0_us": float(rank0.mean()),
                # A picosecond more: a whole number of microseconds is not cut below it.
                "rank0_cut_us": float(np.floor(rank0 + 1e-6).mean()),
                "packet_hops": packets.packet_hops,
                "stall_us": stall_us,
            }
        )
    return rows


def _link_rows(topology: Topology, packets: PacketResult) -> Rows:
    counted: dict[str, np.ndarray] = {
        "packets": packets.link_packets,
        "stalls": packets.link_stalls,
    }
    counted["stall_us"] = packets.link_stall_ps / US_PER_S
    masks = {kind: topology.kind_mask(kind) for kind in LINK_KINDS}
    return [
        {"link_kind": kind, **{name: of[mask].tolist() for name, of in counted.items()}}
        for kind, mask in masks.items()
    ]
