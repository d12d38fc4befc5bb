"""Figure ``packets``: iterations by the fluid model and by packets.

Jobs iterate among others at both levels, in random phases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosim.network.communication import Communication, rounded_s
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.job_iterations import JobIterations
from cosim.network.job_network import JobLoads, JobNetwork
from cosim.network.loops import means_s
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.periodic import JobGroup, NetworkPlan, iteration_times_s
from cosim.network.situation import Situation
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options, Point
from netcosim.runs.store import Rows
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

FUNCTION = "experiments.network_schedulers.packets:run_point"
STUDY = read_data("network_schedulers")["packets"]


def points(options: Options) -> list[Point]:
    """Return a point a case."""
    model = {key: STUDY[key] for key in ("phases", "periods")}
    names = STUDY["quick"] if options.quick else STUDY["cases"]
    return [{"case": name, **STUDY["cases"][name], **model} for name in names]


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return all iterations."""
    return Analysis(claims_frame([]), {"packets": frames["jobs"].round(4)})


def sent_by(job: Mapping[str, Any]) -> Communication:
    """Return an all-reduce in one ring of all GPUs, or a hundredth of a training step on A100."""
    if "ring_bytes" in job:
        return Communication("collective", job["ring_bytes"], parameters=STUDY["ring"])
    return Communication("training", parameters=STUDY["training"] | job["training"])


def run_point(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return isolated iterations of jobs and those beside the others, at both levels: "jobs"."""
    machine, jobs, periods = point["machine"], point["jobs"], point["periods"]
    shared = SharedNetwork(
        make_routing(make_topology(machine, STUDY["machines"][machine]), "min-hop"),
        PacketConfig(packet_bytes=16384, buffer_bytes=1 << 20),
        task_mapping="in-order",
    )
    communications = [sent_by(job) for job in jobs]
    shares = [PatternShare(one.pattern, 1.0, 1.0, 1.0) for one in communications]
    network = JobNetwork(shared, CommunicationMix(shares), communications)
    iterations = JobIterations(JobLoads(network))
    situations = [
        Situation(k, np.array(job["gpus"], dtype=np.int32).tobytes(), job.get("fraction", 1.0))
        for k, job in enumerate(jobs)
    ]
    placed = [one for one in map(iterations.placed, situations) if one is not None]
    plan = NetworkPlan.without(len(jobs))
    priority = [job.get("priority", 0) for job in jobs]
    plan = NetworkPlan(np.array(priority), plan.start_s, plan.pace_s)
    fluid_s = iteration_times_s(JobGroup.of(placed), plan, np.random.default_rng(0), phases=32)
    looping = [
        PlacedJob(
            k,
            replace(communication, priority=priority[k]),
            np.array(jobs[k]["gpus"]),
            compute_s=0.0
            if communication.pattern == "training"
            else float(rounded_s(placed[k].lead_s)),
        )
        for k, communication in enumerate(communications)
    ]
    isolated_s = [
        float(means_s(run.ends_ps, run.iterations, 0.25)[0])
        for run in (
            Ensemble(shared, [job]).watched(periods * one.iteration_s, 1)
            for job, one in zip(looping, placed, strict=True)
        )
    ]
    speeds = []
    for phase in range(point["phases"]):
        start = np.random.default_rng(phase).random(len(jobs)) * [one.iteration_s for one in placed]
        started = [
            replace(job, start_s=float(rounded_s(s))) for job, s in zip(looping, start, strict=True)
        ]
        until_s = periods * max(one.iteration_s for one in placed)
        run = Ensemble(shared, started).watched(until_s, len(jobs))
        speeds.append(1 / means_s(run.ends_ps, run.iterations, 0.25))
    packets_s = 1 / np.mean(speeds, axis=0)
    rows = [
        {"case": point["case"], "job": k, "isolated_fluid_ms": 1e3 * placed[k].iteration_s}
        | {"isolated_packets_ms": 1e3 * isolated_s[k], "fluid_ms": 1e3 * fluid_s[k]}
        | {"packets_ms": 1e3 * packets_s[k], "error": fluid_s[k] / packets_s[k] - 1}
        for k in range(len(jobs))
    ]
    return {"jobs": rows}
