"""One point of a sweep: a schedule under one policy, and the packets of what runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from experiments.build import build_machine, build_policy, build_workload, communication_mix
from experiments.config import Config
from experiments.config_load import config_from
from experiments.points import point_rng
from experiments.store import Rows
from netsim.errors import NetcosimError
from netsim.packet.model import PS_PER_S, PacketResult
from netsim.topology import Topology
from queuesim.assumed import Assumed
from queuesim.metrics import summarise
from queuesim.multijob import Communication, run_jobs
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged

_RUN_KEYS = ("run.name", "run.snapshots", "run.confidence")
JOB_KEYS = ("machine", "queue", "communication", *_RUN_KEYS)
"""What the jobs' draws do not depend on: every machine and policy gets the same jobs."""
RANK_KEYS = ("machine", "queue", *_RUN_KEYS)
"""What patterns and task mappings do not depend on: the same ranks talk on every machine."""
PLACEMENT_KEYS = ("machine", "communication", *_RUN_KEYS)
"""What a policy's draws do not depend on: faster links get the same placements."""


def compute_point(content: Mapping[str, object]) -> Mapping[str, Rows]:
    """Schedule the jobs under the point's policy, then send the packets of a few instants.

    Parameters
    ----------
    content : mapping
        `Config.resolved` with one policy.

    Returns
    -------
    dict
        ``queue`` (one row: the schedule's metrics), ``communication`` (a row for each job at each
        instant: its time with all others on the network), ``links`` (a row for each instant and
        kind of link: packets, bytes, stalls).

    Raises
    ------
    NetcosimError
        A config that cannot be run, more than one policy, the run-time model "measured", which
        compares policies with each other and so is no matter of one point.
    """
    config = config_from(content)
    if len(config.queue.policies) != 1:
        raise NetcosimError(f"a point has one policy, got {', '.join(config.queue.policies)}")
    if config.queue.run_time_model == "measured":
        raise NetcosimError(
            'key queue.run_time_model: measured; a sweep takes "as-logged" or "assumed"'
        )
    machine = build_machine(config.machine)
    topology = machine.topology
    jobs = build_workload(
        config.workload, topology.n_nodes, point_rng(content, "workload", JOB_KEYS)
    )
    policy, jobs = build_policy(
        topology,
        config.queue.policies[0],
        point_rng(content, "placement", PLACEMENT_KEYS),
        jobs,
        drop=config.workload.larger_jobs == "drop",
    )
    model = AsLogged() if config.queue.run_time_model == "as-logged" else None
    schedule = simulate_queue(
        jobs,
        policy,
        order=config.queue.order,
        backfill=config.queue.backfill,
        window=None if config.queue.window == "all" else int(config.queue.window),
        run_time_model=model or Assumed(config.queue.scenario),
        rng=point_rng(content, "run times", JOB_KEYS),
        keep_placements=True,
    )
    metrics = asdict(summarise(schedule))
    # Wall-clock times differ from run to run; a store must not.
    queue_row = {k: v for k, v in metrics.items() if not k.endswith("scheduling_s")}
    queue_row["dropped_jobs"] = sum(jobs.dropped.values())
    which, _ = communication_mix(config.communication).draw(
        jobs, point_rng(content, "communication", RANK_KEYS)
    )
    tables: dict[str, list[dict[str, object]]] = {
        "queue": [queue_row],
        "communication": [],
        "links": [],
    }
    for index, time_s in enumerate(_instants(config, schedule)):
        [shot] = schedule.snapshots([time_s])
        entries = [config.communication.mix[int(which[job])] for job in shot.jobs]
        if not entries:
            continue
        result = run_jobs(
            machine.routing,
            [
                (Communication(e.pattern, e.message_bytes, e.iterations, e.parameters), p.nodes)
                for e, p in zip(entries, shot.placements, strict=True)
            ],
            machine.packets,
            ranks_per_node=config.communication.ranks_per_node,
            task_mapping=config.communication.task_mapping,
            mapping_rng=point_rng(content, f"task mapping {index}", RANK_KEYS),
            routing_rng=point_rng(content, f"routing {index}"),
        )
        tables["communication"] += [
            {
                "instant": index,
                "job": int(jobs.job_id[job]),
                "n_nodes": int(jobs.n_nodes[job]),
                "pattern": entry.pattern,
                "time_s": float(seconds),
            }
            for job, entry, seconds in zip(shot.jobs, entries, result.time_s, strict=True)
        ]
        tables["links"] += link_rows(topology, result.packets, index)
    return tables


def _instants(config: Config, schedule: QueueResult) -> list[float]:
    """Evenly spaced instants of the schedule, its first and last tenth left out."""
    if len(schedule) == 0:
        return []
    first, last = float(schedule.start_s.min()), float(schedule.end_s.max())
    shares = (np.arange(config.run.snapshots) + 0.5) / config.run.snapshots
    return [float(t) for t in first + (last - first) * (0.1 + 0.8 * shares)]


def link_rows(topology: Topology, packets: PacketResult, instant: int) -> list[dict[str, object]]:
    """Sums over the links of each kind, one row a kind.

    Parameters
    ----------
    topology : Topology
    packets : PacketResult
    instant : int
        Written into the rows.
    """
    rows: list[dict[str, object]] = []
    for kind in topology.kinds:
        mask = topology.kind_mask(kind)
        rows.append(
            {
                "instant": instant,
                "kind": kind,
                "links": int(mask.sum()),
                "packets": int(packets.link_packets[mask].sum()),
                "most_packets": int(packets.link_packets[mask].max(initial=0)),
                "bytes": int(packets.link_bytes[mask].sum()),
                "busy_s": float(packets.link_busy_ps[mask].sum() / PS_PER_S),
                "stalls": int(packets.link_stalls[mask].sum()),
                "stall_s": float(packets.link_stall_ps[mask].sum() / PS_PER_S),
            }
        )
    return rows
