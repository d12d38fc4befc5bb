"""One point: the jobs of a workload in one placement, looping side by side, timed by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.isolation import shared_links
from alloc.policy import Placement
from experiments.papers.interference.workloads import (
    Case,
    Job,
    case_of,
    communication,
    draw_workload,
    machine,
    place,
)
from experiments.papers.paper import Point
from experiments.points import point_rng
from netsim.errors import NetcosimError, unknown_name
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from queuesim.ensemble import Ensemble, PlacedJob, SharedNetwork
from queuesim.loops import LoopTimes

FUNCTION = "experiments.papers.interference.point:run_point"
PACKET_BYTES = 16384
BUFFER_PACKETS = 2
ROUNDS = 6.0
JUDGES: dict[str, str] = {
    "packets": "loops of iterations, packet by packet",
    "flows": "one iteration at max-min fair rates of all messages, to each job's last finish",
    "bundles": "nothing but the stretch of whole jobs, which all points have",
}
"""What gives ``time_s``."""

Rows = list[dict[str, object]]
Nodes = NDArray[np.int32]


def make_point(
    case: Case,
    placement: str,
    *,
    workload: int,
    seed: int,
    routing: str = "d-mod-k",
    packet_bytes: int = PACKET_BYTES,
    buffer_packets: int = BUFFER_PACKETS,
    rounds: float = ROUNDS,
    judge: str = "packets",
    alone: bool = False,
) -> Point:
    """A point's config.

    Parameters
    ----------
    case : Case
    placement : str
        A name of `workloads.PLACEMENTS`.
    workload, seed : int
        The jobs follow from these and from the case's machine and sizes alone.
    routing : str
    packet_bytes, buffer_packets : int
    rounds : float
        Simulated time, in iterations that the longest job would make alone at full bandwidth.
    judge : str
        One of `JUDGES`.
    alone : bool
        Whether each job has the machine to itself, on the same nodes.
    """
    return {
        "experiment": "interference",
        "case": case.config(),
        "placement": placement,
        "routing": routing,
        "packet_bytes": packet_bytes,
        "buffer_packets": buffer_packets,
        "rounds": float(rounds),
        "judge": judge,
        "alone": alone,
        "draws": {"seed": seed, "workload": workload},
    }


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by which points of one case, workload and placement are told apart."""
    case = config["case"]
    return {
        "routing": config["routing"],
        "ranks_per_node": case["ranks_per_node"],
        "large_bytes": case["large_bytes"],
        "packet_bytes": config["packet_bytes"],
        "law": case["law"],
        "judge": config["judge"],
        "exchange": case["exchange"],
        "least_degree": case["degrees"][0],
        "communication_fraction": case["communication_fraction"],
        "buffer_packets": config["buffer_packets"],
    }


def run_point(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Time an iteration of every job of the workload, in packets and in flows.

    Returns
    -------
    dict
        "jobs": a row a job: ``time_s`` of an iteration by the judge (nan for bundles),
        the ``iterations`` that were timed, ``bound_s`` and ``stretch`` of whole jobs.
        "runs": a row: jobs, allocated nodes, links of TA's placements that two could share
        (none), packet hops.
    """
    case = case_of(config["case"])
    topology = machine(case.radix, case.pods)
    draws = {**config["draws"], "sizes": [case.smallest, case.largest], "law": case.law}
    draws["machine"] = [case.radix, case.pods]
    jobs, isolated = draw_workload(topology, case, point_rng(draws, "workload"))
    name = config["placement"]
    placed = place(topology, case, jobs, isolated, name, point_rng(draws, name))
    network = SharedNetwork(
        make_routing(topology, config["routing"]),
        PacketConfig(
            packet_bytes=config["packet_bytes"],
            buffer_bytes=config["buffer_packets"] * config["packet_bytes"],
        ),
        case.ranks_per_node,
        "in-order",
        int(point_rng(draws, "jobs").integers(0, 2**32)),
    )
    quiet = ensemble(network, case, jobs, [p.nodes for p in isolated])
    here = quiet if name == "ta" else ensemble(network, case, jobs, placed)
    bound_s = quiet.flows().bound_s
    if not bound_s.all():
        silent = jobs[int(np.argmin(bound_s))]
        raise NetcosimError(f"{silent.pattern} on {silent.n_nodes} nodes sends nothing")
    crowds = [here.alone(i) for i in range(len(jobs))] if config["alone"] else [here]
    flows = [crowd.flows() for crowd in crowds]
    time_s, iterations, hops = np.full(len(jobs), np.nan), np.zeros(len(jobs), dtype=np.int64), 0
    if config["judge"] not in JUDGES:
        raise unknown_name("judge", config["judge"], JUDGES)
    if config["judge"] == "flows":
        units = np.split(bound_s, len(crowds))
        time_s = np.concatenate(
            [crowd.flow_finishes_s(unit) for crowd, unit in zip(crowds, units, strict=True)]
        )
        iterations[:] = 1
    if config["judge"] == "packets":
        fraction, horizon_s = case.communication_fraction, config["rounds"] * bound_s.max()
        if fraction < 1:
            steady = until_all_are_timed(quiet, horizon_s)
            hops += steady.packets.packet_hops
            compute_s = steady.time_s * (1 - fraction) / fraction
            crowds = [computing(crowd, compute_s) for crowd in crowds]
        found = [until_all_are_timed(crowd, horizon_s / fraction) for crowd in crowds]
        time_s = np.concatenate([part.time_s for part in found])
        iterations = np.concatenate([part.iterations for part in found])
        hops += sum(part.packets.packet_hops for part in found)
    head = {
        "case": case.name,
        "workload": config["draws"]["workload"],
        "placement": name,
        **settings(config),
        "alone": config["alone"],
    }
    columns = {
        "time_s": time_s,
        "iterations": iterations,
        "bound_s": np.concatenate([part.bound_s for part in flows]),
        "stretch": np.concatenate([part.stretch for part in flows]),
    }
    rows: Rows = [
        {**head, "job": i, "n_nodes": job.n_nodes, "pattern": job.pattern}
        | {key: values[i].item() for key, values in columns.items()}
        for i, job in enumerate(jobs)
    ]
    as_placed = [Placement(i, nodes) for i, nodes in enumerate(placed)]
    run = {
        **head,
        "jobs": len(jobs),
        "nodes": sum(job.n_nodes for job in jobs),
        "shared_links": len({s.link for s in shared_links(topology, as_placed)}),
        "packet_hops": hops,
    }
    return {"jobs": rows, "runs": [run]}


def ensemble(
    network: SharedNetwork, case: Case, jobs: Sequence[Job], placed: Sequence[Nodes]
) -> Ensemble:
    """The workload's jobs on these nodes; a job's number in the workload is its id."""
    return Ensemble(
        network,
        [
            PlacedJob(i, communication(case, job), nodes)
            for i, (job, nodes) in enumerate(zip(jobs, placed, strict=True))
        ],
    )


def computing(crowd: Ensemble, compute_s: NDArray[np.float64]) -> Ensemble:
    """The same jobs, computing before each iteration; ``compute_s`` is by the jobs' ids.

    Each starts at a random moment of the computing of its first iteration, so that jobs do not
    compute in step. All in whole microseconds, which keeps the clock coarse.
    """
    return replace(
        crowd,
        jobs=[
            replace(
                job,
                compute_s=round(compute_s[job.job_id], 6),
                start_s=round(crowd.network.streams(job).start.random() * compute_s[job.job_id], 6),
            )
            for job in crowd.jobs
        ],
    )


def until_all_are_timed(crowd: Ensemble, horizon_s: float) -> LoopTimes:
    """Jobs that loop until the horizon; it is doubled until each has completed an iteration."""
    while True:
        found = crowd.loops(horizon_s)
        if found.iterations.all():
            return found
        horizon_s *= 2
