"""One point: the jobs of a workload in one placement, looping side by side, timed by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
from netsim.flow.bundles import bundle_stretches
from netsim.flow.job_load import JobLoad, job_link_load
from netsim.flow.maxmin import flow_finish_times
from netsim.flow.paths import flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.traffic import Program, combine
from patterns.mapping import in_order
from queuesim.paired import with_compute

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
        A name of `interference_workloads.PLACEMENTS`.
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
    routing = make_routing(topology, config["routing"])
    draws = {**config["draws"], "sizes": [case.smallest, case.largest], "law": case.law}
    draws["machine"] = [case.radix, case.pods]
    jobs, isolated = draw_workload(topology, case, point_rng(draws, "workload"))
    name = config["placement"]
    placed = place(topology, case, jobs, isolated, name, point_rng(draws, name))
    quiet = loads_of(routing, case, jobs, [p.nodes for p in isolated], draws)
    here = quiet if name == "ta" else loads_of(routing, case, jobs, placed, draws)
    together = list(range(len(jobs)))
    crowds = [[i] for i in together] if config["alone"] else [together]
    stretch = [
        found
        for crowd in crowds
        for found in flow_stretches(topology.link_bandwidth_Bps, [here[i] for i in crowd])
    ]
    horizon_s = config["rounds"] * max(load.isolated_bound_s for load in quiet)
    timed = [Timing(float("nan"), 0)] * len(jobs)
    hops = 0
    if config["judge"] not in JUDGES:
        raise unknown_name("judge", config["judge"], JUDGES)
    if config["judge"] == "flows":
        bound_s = [load.isolated_bound_s for load in quiet]
        finish_s = [
            found
            for crowd in crowds
            for found in flow_finishes(routing, case, jobs, placed, bound_s, draws, crowd)
        ]
        timed = [Timing(found, 1) for found in finish_s]
    if config["judge"] == "packets":
        packets = PacketConfig(
            packet_bytes=config["packet_bytes"],
            buffer_bytes=config["buffer_packets"] * config["packet_bytes"],
        )
        fraction, compute_s = case.communication_fraction, np.zeros(len(jobs))
        if fraction < 1:
            ta = [placement.nodes for placement in isolated]
            steady, hops = run_loops(
                routing, case, jobs, ta, packets, horizon_s, compute_s, draws, together
            )
            compute_s = np.array([t.time_s for t in steady]) * (1 - fraction) / fraction
        timed = []
        for crowd in crowds:
            found, more = run_loops(
                routing, case, jobs, placed, packets, horizon_s / fraction, compute_s, draws, crowd
            )
            timed += found
            hops += more
    head = {
        "case": case.name,
        "workload": config["draws"]["workload"],
        "placement": name,
        "routing": config["routing"],
        "ranks_per_node": case.ranks_per_node,
        "large_bytes": case.large_bytes,
        "packet_bytes": config["packet_bytes"],
        "law": case.law,
        "judge": config["judge"],
        "exchange": case.exchange,
        "least_degree": case.degrees[0],
        "communication_fraction": case.communication_fraction,
        "buffer_packets": config["buffer_packets"],
        "alone": config["alone"],
    }
    rows: Rows = [
        {
            **head,
            "job": i,
            "n_nodes": job.n_nodes,
            "pattern": job.pattern,
            "time_s": timed[i].time_s,
            "iterations": timed[i].iterations,
            "bound_s": here[i].isolated_bound_s,
            "stretch": stretch[i],
        }
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


def _program(case: Case, i: int, job: Job, iterations: int, draws: Mapping[str, object]) -> Program:
    """The same ranks talk to each other in every placement, whatever comes before this job."""
    rng = point_rng({**draws, "job": i}, "pattern")
    n_ranks = job.n_nodes * case.ranks_per_node
    return communication(case, job, iterations).program(n_ranks, rng)


def loads_of(
    routing: Routing,
    case: Case,
    jobs: Sequence[Job],
    placed: Sequence[Nodes],
    draws: Mapping[str, object],
) -> list[JobLoad]:
    """Bytes of an iteration of each job on the links, node links among them."""
    found = []
    for i, (job, nodes) in enumerate(zip(jobs, placed, strict=True)):
        program = _program(case, i, job, 1, draws)
        load = job_link_load(
            routing,
            program.send_src(),
            program.send_dst,
            program.send_bytes,
            in_order(nodes, case.ranks_per_node),
        )
        if load.isolated_bound_s == 0:
            raise NetcosimError(f"{job.pattern} on {job.n_nodes} nodes sends nothing")
        found.append(load)
    return found


def flow_stretches(bandwidth_Bps: NDArray[np.int64], loads: Sequence[JobLoad]) -> list[float]:
    """Stretch of each job when all communicate, at max-min fair rates of whole jobs."""
    jobs = [(load.links, load.link_bytes / load.isolated_bound_s) for load in loads]
    return [float(stretch) for stretch in bundle_stretches(bandwidth_Bps, jobs)]


def flow_finishes(
    routing: Routing,
    case: Case,
    jobs: Sequence[Job],
    placed: Sequence[Nodes],
    bound_s: Sequence[float],
    draws: Mapping[str, object],
    running: Sequence[int],
) -> list[float]:
    """Last finish of each job's messages, all sent at once, at max-min fair rates.

    So that no job ends early and leaves the links to others, messages are stretched or cut
    until every job has a bound of one second; its time is then multiplied by its own
    bound. Messages between two nodes are one flow. Steps of a pattern are not kept.

    Parameters
    ----------
    bound_s : sequence of float
        Of each job (`JobLoad.isolated_bound_s`) under TA.
    running : sequence of int
    """
    ends, n_bytes, owner = [], [], []
    n_nodes = routing.topology.n_nodes
    for i in running:
        program = _program(case, i, jobs[i], 1, draws)
        node = in_order(placed[i], case.ranks_per_node).astype(np.int64)
        src, dst = node[program.send_src()], node[program.send_dst]
        away = src != dst
        pair, index = np.unique(src[away] * n_nodes + dst[away], return_inverse=True)
        ends.append(pair)
        n_bytes.append(np.bincount(index.ravel(), program.send_bytes[away]) / bound_s[i])
        owner.append(np.full(len(pair), i))
    pair = np.concatenate(ends)
    finish_s = flow_finish_times(
        flow_paths(routing, pair // n_nodes, pair % n_nodes),
        np.concatenate(n_bytes),
        routing.topology.link_bandwidth_Bps,
    )
    last = np.zeros(len(jobs))
    np.maximum.at(last, np.concatenate(owner), finish_s)
    return [float(last[i] * bound_s[i]) for i in running]


class Timing(NamedTuple):
    """Mean time of an iteration, and over how many."""

    time_s: float
    iterations: int


def run_loops(
    routing: Routing,
    case: Case,
    jobs: Sequence[Job],
    placed: Sequence[Nodes],
    packets: PacketConfig,
    horizon_s: float,
    compute_s: NDArray[np.float64],
    draws: Mapping[str, object],
    running: Sequence[int],
) -> tuple[list[Timing], int]:
    """Let jobs repeat their iterations until the horizon, and time the complete ones.

    An iteration is complete when its last message has arrived. A job that computes starts
    at a random moment of its first iteration, so that jobs do not compute in step. The horizon
    is doubled until every job has completed an iteration.

    Parameters
    ----------
    compute_s : (n_jobs,) float64
        Before the sends of each iteration, on all ranks.
    running : sequence of int
        Jobs that are there; the others' nodes are quiet.

    Returns
    -------
    list of Timing, int
        One a running job; packet hops.
    """
    start_s = np.round(point_rng(draws, "start").random(len(jobs)) * compute_s, 6)[running]
    pause_s = np.round(compute_s, 6)[running]
    ranks = [in_order(placed[i], case.ranks_per_node) for i in running]
    once = [_program(case, i, jobs[i], 1, draws) for i in running]
    least_s = [_node_bound(routing, p, nodes) for p, nodes in zip(once, ranks, strict=True)]
    while True:
        counts = np.ceil((horizon_s - start_s) / (np.array(least_s) + pause_s)).astype(int) + 1
        programs = [
            with_compute(_program(case, i, jobs[i], int(count), draws), int(count), float(pause))
            for i, count, pause in zip(running, counts, pause_s, strict=True)
        ]
        result = simulate_packets(
            routing,
            combine(programs, ranks, start_s.tolist()),
            packets,
            point_rng(draws, "routing"),
            until_s=horizon_s,
        )
        timed = _timings(programs, counts.tolist(), result.message_finish_ps, start_s)
        if all(t.iterations for t in timed):
            return timed, result.packet_hops
        horizon_s *= 2


def _node_bound(routing: Routing, once: Program, rank_node: Nodes) -> float:
    """No iteration is faster than the bytes over the busiest node's link."""
    topology = routing.topology
    src, dst = rank_node[once.send_src()], rank_node[once.send_dst]
    n_bytes = np.where(src == dst, 0, once.send_bytes)
    out = np.bincount(src, n_bytes, topology.n_nodes)
    into = np.bincount(dst, n_bytes, topology.n_nodes)
    return float(max(out.max(), into.max()) / topology.link_bandwidth_Bps[0])


def _timings(
    programs: Sequence[Program],
    counts: Sequence[int],
    finish_ps: NDArray[np.int64],
    start_s: NDArray[np.float64],
) -> list[Timing]:
    timed, first = [], 0
    for program, count, start in zip(programs, counts, start_s, strict=True):
        mine = finish_ps[first : first + program.n_messages]
        first += program.n_messages
        each = program.n_steps // (program.n_ranks * count)
        iteration = (program.send_step - program.step_ptr[program.send_dst]) // each
        late = np.zeros(count, dtype=np.int64)
        np.maximum.at(late, iteration, mine)
        missing = np.zeros(count, dtype=np.bool_)
        missing[iteration[mine < 0]] = True
        done = int(np.argmax(missing)) if missing.any() else count
        end_s = late[done - 1] / PS_PER_S if done else float("nan")
        timed.append(Timing((end_s - float(start)) / done if done else end_s, done))
    return timed
