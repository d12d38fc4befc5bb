"""Run times under random servers over those on few switches, by fluid and by packets.

    python experiments/ai_clusters/tables/ai_clusters_packets.py

Jobs that run at four instants of a queue on 512 GPUs at 7:1, in loops, on the nodes of both
placements. With 8 MB a GPU and iteration latency counts, with 128 MB bandwidth.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from cosim.network.situation import Situation
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import Iterations, ScheduledJobs
from experiments.ai_clusters.cells import USUAL, cell_content
from experiments.kit.points import measured
from netcosim.config.content import checked_config
from netcosim.reproduce.paper import Options
from netcosim.runs.run_context import RunContext, run_context

FILE = Path(__file__).parent / "packets.csv"
FEW, RANDOM = PLACEMENTS = ("slurm-tree", "random")
JOBS = {"n_jobs": 60, "sizes": [32, 64, 128, 256], "run_time_range": ["10 min", "2 d"]}
JOBS |= {"median_run_time": "2 h", "load": USUAL["load"]}
MACHINE = {"nodes": 64, "nodes_per_leaf": 16, "spines": 2}
SNAPSHOTS = 4
SIZES = {"128 MB": ("512 KiB", "8 MiB"), "8 MB": ("64 KiB", "1 MiB")}
"""Packets and buffers by the bytes that a GPU sends in an iteration."""
STEADY = {"phases": "random", "noise": 0.1, "precision": 0.2}
STEADY |= {"least_iterations": 8, "most_iterations": 8}


def content(routing: str) -> dict[str, Any]:
    """A cell of the study on half of its machine."""
    network = {**USUAL, "routing": routing}
    found = cell_content({"synthetic": JOBS}, network, Options())
    found["machine"] |= MACHINE
    found["queue"]["policies"] = list(PLACEMENTS)
    return found


def by_packets(routing: str, node_bytes: str) -> list[dict[str, Any]]:
    """A row a job and instant: its run time under random servers over that on few switches."""
    config = content(routing)
    config["queue"] = {"policies": list(PLACEMENTS), "run_time_model": "as-logged"}
    packet, buffer = SIZES[node_bytes]
    config["machine"]["packet"] = {"packet_bytes": packet, "buffer_bytes": buffer}
    for entry in config["communication"]["mix"]:
        del entry["message_bytes"]
        entry["node_bytes"] = node_bytes
    config["run"] = {"seed": 1, "snapshots": SNAPSHOTS, "measure": "steady", "steady": STEADY}
    tables = measured({"config": checked_config(config).resolved(), "labels": {}})
    return [dict(row) for row in tables["pairs"]]


def by_fluid(context: RunContext, jobs: list[int], placement: str) -> list[float]:
    """Times of the iterations of these jobs, in isolated ones."""
    share, fraction = context.drawn
    placed = context.queues.under(placement).placements
    assert placed is not None
    model = Iterations(context.network, NETWORK_SCHEDULERS["none"]())
    running = ScheduledJobs(context.network, model.scheduler, 1, model.iterations)
    for job in jobs:
        nodes = placed.placement(job, job).nodes[: context.queues.jobs.n_nodes[job]]
        sent = np.asarray(nodes, dtype=np.int32).tobytes()
        running.start(job, Situation(int(share[job]), sent, float(fraction[job])))
    rates = running.settle()
    return [1 / rates.get(job, 1.0) for job in jobs]


def main() -> None:
    rows = []
    for routing in ("spray", "ecmp-1"):
        context = run_context(checked_config(content(routing)))
        place = {int(number): i for i, number in enumerate(context.queues.jobs.job_id)}
        pairs = by_packets(routing, "128 MB")
        small = {(row["snapshot"], row["job_id"]): row for row in by_packets(routing, "8 MB")}
        for snapshot in dict.fromkeys(row["snapshot"] for row in pairs):
            mine = [row for row in pairs if row["snapshot"] == snapshot]
            jobs = [place[row["job_id"]] for row in mine]
            few, spread = (by_fluid(context, jobs, name) for name in PLACEMENTS)
            for row, near, far in zip(mine, few, spread, strict=True):
                columns = {key: row[key] for key in ("snapshot", "job_id", "n_nodes")}
                values = {"fluid": far / near, "packets": row["run_ratio"]}
                values["packets_8_MB"] = small[row["snapshot"], row["job_id"]]["run_ratio"]
                values = {key: round(value, 4) for key, value in values.items()}
                rows.append({"routing": routing, **columns, **values})
    with FILE.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
