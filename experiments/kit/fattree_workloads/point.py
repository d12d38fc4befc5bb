"""One point: the jobs of a workload in one placement, looping side by side, timed by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.isolation import shared_links
from alloc.policy import Placement
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.job_times import FlowTimes
from cosim.network.loops import LoopTimes
from experiments.kit.fattree_workloads.cases import SETTINGS, Case
from experiments.kit.fattree_workloads.workloads import (
    Job,
    communication,
    draw_workload,
    machine,
    place,
)
from experiments.kit.routers import ROUTERS
from netcosim.runs.points import point_rng
from netsim.errors import NetcosimError, unknown_name
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing

FUNCTION = "experiments.kit.fattree_workloads.point:run_point"
JUDGES: dict[str, str] = {
    "packets": "loops of iterations, packet by packet",
    "flows": "one iteration at max-min fair rates of all messages, to each job's last finish",
    "bundles": "nothing but the stretch of whole jobs, which all points have",
}
"""What gives ``time_s``."""

Rows = list[dict[str, object]]
Nodes = NDArray[np.int32]
FloatArray = NDArray[np.float64]


def run_point(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Time an iteration of every job of the workload, in packets and in flows.

    "jobs" has a row a job: ``time_s`` of an iteration by the judge (nan for bundles), the
    ``iterations`` that were timed, ``bound_s`` and ``stretch`` of whole jobs. "runs" has a row:
    jobs, allocated nodes, links of TA's placements that two could share (none), packet hops.
    """
    case, name = Case(**config["case"]), config["placement"]
    topology = machine(case.radix, case.pods)
    draws = {**config["draws"], "sizes": [case.smallest, case.largest], "law": case.law}
    draws["machine"] = [case.radix, case.pods]
    jobs, isolated = draw_workload(topology, case, point_rng(draws, "workload"))
    placed = place(topology, case, jobs, isolated, name, point_rng(draws, name))
    network = SharedNetwork(
        make_routing(topology, case.routing),
        PacketConfig(
            packet_bytes=case.packet_bytes,
            buffer_bytes=case.buffer_packets * case.packet_bytes,
            **ROUTERS[case.router],
        ),
        case.ranks_per_node,
        "in-order",
        int(point_rng(draws, "jobs").integers(0, 2**32)),
    )
    quiet = ensemble(network, case, jobs, [p.nodes for p in isolated])
    here = quiet if name == "ta" else ensemble(network, case, jobs, placed)
    crowds = [here.alone(i) for i in range(len(jobs))] if config["alone"] else [here]
    time_s, iterations, hops = timed(case, quiet, crowds)
    flows = [crowd.flows() for crowd in crowds]
    columns = {"time_s": time_s, "iterations": iterations}
    columns |= {name: joined(flows, name) for name in ("bound_s", "stretch")}
    head = {
        "case": case.name,
        "workload": config["draws"]["workload"],
        "placement": name,
        **{setting: config["case"][setting] for setting in SETTINGS},
        "alone": config["alone"],
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


def timed(
    case: Case, quiet: Ensemble, crowds: Sequence[Ensemble]
) -> tuple[FloatArray, NDArray[np.int64], int]:
    """Return each job's time and iterations, by the case's judge, and packet hops.

    ``quiet`` are the jobs under TA, where shares of communication and horizons come from.
    """
    bound_s = quiet.flows().bound_s
    if not bound_s.all():
        silent = quiet.jobs[int(np.argmin(bound_s))]
        what = f"{silent.communication.pattern} on {len(silent.nodes)} nodes"
        raise NetcosimError(f"{what} sends nothing")
    none, one = (np.full(len(bound_s), n, dtype=np.int64) for n in (0, 1))
    if case.judge == "bundles":
        return np.full(len(bound_s), np.nan), none, 0
    if case.judge == "flows":
        units = np.split(bound_s, len(crowds))
        parts = [crowd.flow_finishes_s(unit) for crowd, unit in zip(crowds, units, strict=True)]
        return np.concatenate(parts), one, 0
    if case.judge != "packets":
        raise unknown_name("judge", case.judge, JUDGES)
    fraction, horizon_s, hops = case.communication_fraction, case.rounds * bound_s.max(), 0
    if fraction < 1:
        steady = until_all_are_timed(quiet, horizon_s)
        hops += steady.packets.packet_hops
        compute_s = steady.time_s * (1 - fraction) / fraction
        crowds = [computing(crowd, compute_s) for crowd in crowds]
    found = [until_all_are_timed(crowd, horizon_s / fraction) for crowd in crowds]
    hops += sum(part.packets.packet_hops for part in found)
    return joined(found, "time_s"), joined(found, "iterations"), hops


def joined(parts: Sequence[LoopTimes] | Sequence[FlowTimes], name: str) -> NDArray[Any]:
    """Return one array of all parts, job by job."""
    return np.concatenate([getattr(part, name) for part in parts])


def ensemble(
    network: SharedNetwork, case: Case, jobs: Sequence[Job], placed: Sequence[Nodes]
) -> Ensemble:
    """Return the workload's jobs on these nodes; a job's number in the workload is its id."""
    there = enumerate(zip(jobs, placed, strict=True))
    return Ensemble(
        network, [PlacedJob(i, communication(case, job), nodes) for i, (job, nodes) in there]
    )


def computing(crowd: Ensemble, compute_s: FloatArray) -> Ensemble:
    """Return the same jobs, computing before each iteration; ``compute_s`` is by the jobs' ids.

    Each starts at a random moment of the computing of its first iteration, so that jobs do not
    compute in step. All in whole microseconds, which keeps the clock coarse.
    """
    jobs = []
    for job in crowd.jobs:
        pause_s = compute_s[job.job_id]
        start_s = crowd.network.streams(job).start.random() * pause_s
        jobs.append(replace(job, compute_s=round(pause_s, 6), start_s=round(start_s, 6)))
    return replace(crowd, jobs=jobs)


def until_all_are_timed(crowd: Ensemble, horizon_s: float) -> LoopTimes:
    """Time jobs that loop until the horizon, doubling it until each has completed an iteration."""
    while True:
        found = crowd.loops(horizon_s)
        if found.iterations.all():
            return found
        horizon_s *= 2
