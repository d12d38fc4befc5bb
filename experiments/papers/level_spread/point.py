"""One point of the Level-Spread campaign: one workload under each of several policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from alloc.policy import Request
from alloc.registry import make_policy
from experiments.papers.level_spread.machine import machine, network_of, routing_of
from experiments.papers.paper import Point
from experiments.points import point_rng
from netsim.errors import NetcosimError
from netsim.packet.model import PacketResult
from netsim.topology import Topology
from netsim.traffic import Program
from queuesim.communication import Communication
from queuesim.ensemble import Ensemble, PacketTimes, PlacedJob

FUNCTION = "experiments.papers.level_spread.point:run_workload"
US_PER_S = 1e6
KINDS = ("small", "large")
LINK_KINDS = ("local", "global")

Rows = list[dict[str, object]]


@dataclass(frozen=True)
class WholeNanoseconds(Communication):
    """A pattern that computes for whole nanoseconds, as in SST: the engine's tick can be one."""

    def program(self, n_ranks: int, rng: np.random.Generator) -> Program:
        """The communication program of a job of ``n_ranks`` ranks."""
        program = super().program(n_ranks, rng)
        return dataclasses.replace(program, compute_s=np.rint(program.compute_s * 1e9) / 1e9)


def make_point(
    *,
    n_nodes: int,
    alpha: float,
    network: Mapping[str, object],
    jobs: Sequence[Mapping[str, object]],
    policies: Sequence[str],
    draws: Mapping[str, object],
    labels: Mapping[str, object] | None = None,
    large_first: bool = False,
    mapping: str = "random",
    link_statistics: bool = False,
) -> Point:
    """A point's config.

    Parameters
    ----------
    n_nodes, alpha
        See `level_spread.machine.machine`.
    network : mapping
        See `level_spread.machine.network_config`.
    jobs : sequence of mapping
        Job types (`level_spread.workloads.JobType.config`), small before large.
    policies : sequence of str
    draws : mapping
        Seed, workload and repetition: all chance comes from it, so points that differ in
        other things share placement draws, task mapping and routing seed.
    labels : mapping, optional
        Columns that are put into every row.
    large_first : bool
        Whether large jobs are placed first (VI-E).
    mapping : str
        Task mapping.
    link_statistics : bool
        Whether to store packets and stalls of every router-to-router link.
    """
    return {
        "experiment": "level-spread",
        "machine": {"n_nodes": n_nodes, "alpha": float(alpha)},
        "network": dict(network),
        "jobs": [dict(job) for job in jobs],
        "order": "large-first" if large_first else "small-first",
        "policies": list(policies),
        "mapping": mapping,
        "draws": dict(draws),
        "labels": dict(labels or {}),
        "link_statistics": link_statistics,
    }


def run_workload(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Place the jobs under each policy, let all communicate at once, and time them.

    Returns
    -------
    dict
        "times": a row for each policy and kind of job, with the labels: mean over the jobs
        of the last rank's end (``time_us``), of rank 0's (a broadcast's last rank's) end
        (``rank0_us``), and of the latter cut to whole microseconds (``rank0_cut_us``), as
        the authors' simulator printed it. "links", if asked for: a row for each policy and
        kind of link, with a list over links of packets, stalls and stall time.
    """
    network = network_of(config["network"])
    n_nodes, alpha = config["machine"]["n_nodes"], config["machine"]["alpha"]
    topology = machine(n_nodes, alpha, network.arrangement)
    types = config["jobs"]
    if config["order"] == "large-first":
        types = sorted(types, key=lambda job: job["kind"] != "large")
    extra = {"broadcast": {"algorithm": network.broadcast}}
    said = [
        WholeNanoseconds(
            job["pattern"], job["message_bytes"], parameters=extra.get(job["pattern"], {})
        )
        for job in types
    ]
    which = np.repeat(np.arange(len(types)), [job["n_jobs"] for job in types])
    kinds = np.array([types[k]["kind"] for k in which])
    draws, labels = config["draws"], config["labels"]
    shared = network.shared(
        routing_of(n_nodes, alpha, network), config["mapping"], point_rng(draws, "jobs")
    )
    times: Rows = []
    links: Rows = []
    for policy in config["policies"]:
        placed = place_all(
            topology, policy, [types[k]["n_nodes"] for k in which], point_rng(draws, "placement")
        )
        jobs = [PlacedJob(i, said[k], placed[i]) for i, k in enumerate(which)]
        result = Ensemble(shared, jobs).packets()
        head = {**labels, "policy": policy}
        times += [{**head, **row} for row in _time_rows(result, kinds)]
        if config["link_statistics"]:
            links += [{**head, **row} for row in _link_rows(topology, result.packets)]
    return {"times": times, "links": links} if config["link_statistics"] else {"times": times}


def place_all(
    topology: Topology, name: str, sizes: Iterable[int], rng: np.random.Generator
) -> list[np.ndarray]:
    """Nodes of jobs of these sizes, placed one after the other on an empty machine."""
    policy = make_policy(topology, name, rng)
    placed = []
    for i, n_nodes in enumerate(sizes):
        placement = policy.allocate(Request(i, n_nodes))
        if placement is None:
            raise NetcosimError(f"{name}: job {i} of {n_nodes} nodes finds no place")
        placed.append(placement.nodes)
    return placed


def _time_rows(result: PacketTimes, kinds: np.ndarray) -> Rows:
    last, rank0 = result.time_s * US_PER_S, result.rank0_time_s * US_PER_S
    rows: Rows = []
    for kind in KINDS:
        mine = kinds == kind
        if mine.any():
            # A picosecond more, so that a whole number of microseconds is not cut below it.
            cut = np.floor(rank0[mine] + 1e-6)
            rows.append(
                {
                    "kind": kind,
                    "n_jobs": int(mine.sum()),
                    "time_us": float(last[mine].mean()),
                    "rank0_us": float(rank0[mine].mean()),
                    "rank0_cut_us": float(cut.mean()),
                    "packet_hops": result.packets.packet_hops,
                }
            )
    return rows


def _link_rows(topology: Topology, packets: PacketResult) -> Rows:
    rows: Rows = []
    for kind in LINK_KINDS:
        mask = topology.kind_mask(kind)
        rows.append(
            {
                "link_kind": kind,
                "packets": cast("list[int]", packets.link_packets[mask].tolist()),
                "stalls": cast("list[int]", packets.link_stalls[mask].tolist()),
                "stall_us": cast("list[float]", (packets.link_stall_ps[mask] / US_PER_S).tolist()),
            }
        )
    return rows
