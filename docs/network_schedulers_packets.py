"""Iterations by the fluid model and by packets: a table of docs/network-schedulers.md.

    python docs/network_schedulers_packets.py         writes docs/network-schedulers-packets.csv

Jobs iterate among others at both levels, in random phases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
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
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

HERE = Path(__file__).parent


def ring(n_bytes: int) -> Communication:
    """An all-reduce in one ring of all GPUs."""
    one = {"operation": "all-reduce", "algorithm": "ring", "channels": 1, "chunks": 1}
    return Communication("collective", n_bytes, parameters=one | {"gpus_per_node": 1})


def training(model: str, **parameters: Any) -> Communication:
    """A hundredth of an iteration on A100."""
    common = {"gpu": "a100", "blocks": 4, "scale": 1e-2}
    return Communication("training", parameters={"model": model, **common, **parameters})


CROSSED = {"family": "hyperx", "dims": [2], "concentration": 12}
"""Two routers with one link in each direction."""
TWO_LEAVES = {
    "family": "gpu-cluster",
    "nodes": 12,
    "nodes_per_leaf": 6,
    "fabric": "leaf",
    "spines": 8,
    "nics_per_node": 4,
    "nic_bandwidth_Bps": 25 * 10**9,
    "scale_up_bandwidth_Bps": 300 * 10**9,
}
"""Servers of 8 A100 with four NICs of 200 Gbit/s, as in Crux's testbed."""

Job = tuple[Communication, list[int], float, int]
"""Communication, GPUs, communication fraction and priority."""


def _gpus(servers: Iterable[int], each: int) -> list[int]:
    return [8 * server + gpu for server in servers for gpu in range(each)]


GPT = training("gpt-13b", tp=8, micro_batch=4, micro_batches=2, mfu=0.405, scale_up_GBps=300)
CASES: dict[str, tuple[dict[str, Any], list[Job]]] = {
    "GPT on 64 GPUs beside BERT on 16": (
        TWO_LEAVES,
        [
            (GPT, _gpus([0, 1, 2, 3, 6, 7, 8, 9], 8), 1.0, 0),
            (training("bert-large", micro_batch=28), _gpus([4, 5, 10, 11], 4), 1.0, 0),
        ],
    ),
    "two rings": (
        CROSSED,
        [
            (ring(40 * 10**6), [0, 12, 1, 13], 0.5, 0),
            (ring(21 * 10**6), [2, 14, 3, 15], 0.5, 0),
        ],
    ),
    "two rings, the short one first": (
        CROSSED,
        [
            (ring(40 * 10**6), [0, 12, 1, 13], 0.3, 0),
            (ring(27 * 10**6), [2, 14, 3, 15], 0.5, 1),
        ],
    ),
    "three rings, each of its own priority": (
        CROSSED,
        [
            (ring(40 * 10**6), [0, 12, 1, 13], 0.3, 0),
            (ring(30 * 10**6), [2, 14, 3, 15], 0.2, 1),
            (ring(20 * 10**6), [4, 16], 0.4, 2),
        ],
    ),
}


def compared(name: str, phases: int = 4, periods: int = 16) -> list[dict[str, object]]:
    """Return a row for each job: isolated iteration and that beside the others, at both levels."""
    machine, jobs = CASES[name]
    keys = {k: v for k, v in machine.items() if k != "family"}
    if machine["family"] == "hyperx":
        keys |= {f"{link}_bandwidth_Bps": 50 * 10**9 for link in ("node", "link")}
    shared = SharedNetwork(
        make_routing(make_topology(machine["family"], keys), "min-hop"),
        PacketConfig(packet_bytes=16384, buffer_bytes=1 << 20),
        task_mapping="in-order",
    )
    communications = [job[0] for job in jobs]
    shares = [PatternShare(one.pattern, 1.0, 1.0, 1.0) for one in communications]
    network = JobNetwork(shared, CommunicationMix(shares), communications)
    iterations = JobIterations(JobLoads(network))
    situations = [
        Situation(k, np.array(gpus, dtype=np.int32).tobytes(), fraction)
        for k, (_, gpus, fraction, _) in enumerate(jobs)
    ]
    placed = [one for one in map(iterations.placed, situations) if one is not None]
    plan = NetworkPlan.without(len(jobs))
    plan = NetworkPlan(np.array([job[3] for job in jobs]), plan.start_s, plan.pace_s)
    fluid_s = iteration_times_s(JobGroup.of(placed), plan, np.random.default_rng(0), phases=32)
    looping = [
        PlacedJob(
            k,
            replace(communication, priority=priority),
            np.array(gpus),
            compute_s=0.0
            if communication.pattern == "training"
            else float(rounded_s(placed[k].lead_s)),
        )
        for k, (communication, gpus, _, priority) in enumerate(jobs)
    ]
    isolated_s = [
        float(means_s(run.ends_ps, run.iterations, 0.25)[0])
        for run in (
            Ensemble(shared, [job]).watched(periods * one.iteration_s, 1)
            for job, one in zip(looping, placed, strict=True)
        )
    ]
    speeds = []
    for phase in range(phases):
        start = np.random.default_rng(phase).random(len(jobs)) * [one.iteration_s for one in placed]
        started = [
            replace(job, start_s=float(rounded_s(s))) for job, s in zip(looping, start, strict=True)
        ]
        until_s = periods * max(one.iteration_s for one in placed)
        run = Ensemble(shared, started).watched(until_s, len(jobs))
        speeds.append(1 / means_s(run.ends_ps, run.iterations, 0.25))
    packets_s = 1 / np.mean(speeds, axis=0)
    return [
        {"case": name, "job": k, "isolated_fluid_ms": 1e3 * placed[k].iteration_s}
        | {"isolated_packets_ms": 1e3 * isolated_s[k], "fluid_ms": 1e3 * fluid_s[k]}
        | {"packets_ms": 1e3 * packets_s[k], "error": fluid_s[k] / packets_s[k] - 1}
        for k in range(len(jobs))
    ]


def main() -> None:
    """Compare all cases, and write the table."""
    rows = [row for name in CASES for row in compared(name)]
    pd.DataFrame(rows).round(4).to_csv(HERE / "network-schedulers-packets.csv", index=False)


if __name__ == "__main__":
    main()
