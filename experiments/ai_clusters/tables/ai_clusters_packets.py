"""Iterations among other jobs, by fluid and by packets, in the cells of the page's first lines.

    python experiments/ai_clusters/tables/ai_clusters_packets.py LOGS

Jobs that run at five instants of the queue, in loops, on their nodes under each placement. A GPU
sends 128 MB an iteration: bandwidth counts, not latency.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cosim.network.situation import Situation
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import Iterations, ScheduledJobs
from experiments.ai_clusters.cells import LOGS, TODAY, USUAL, cell_content, jobs_of
from experiments.kit.logs import present
from experiments.kit.papers import Options
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.run_context import RunContext, run_context

FILE = Path(__file__).parent / "packets.csv"
OPTIONS = Options()
PLACEMENTS = list(TODAY)
CELLS: list[dict[str, Any]] = [{**USUAL, "log": log} for log in ("frontier", "kalos")]
SNAPSHOTS = 5
PACKETS = {"packet_bytes": "512 KiB", "buffer_bytes": "8 MiB"}
STEADY = {"phases": "random", "noise": 0.1, "precision": 0.2}
STEADY |= {"least_iterations": 8, "most_iterations": 8}


def rows_of(cell: dict[str, Any], work: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each job, instant and placement."""
    content = cell_content(work, cell, OPTIONS)
    content["queue"] = {"policies": PLACEMENTS, "run_time_model": "as-logged"}
    content["machine"]["packet"] = PACKETS
    for entry in content["communication"]["mix"]:
        del entry["message_bytes"]
        entry["node_bytes"] = "128 MB"
    content["run"] = {"seed": 1, "snapshots": SNAPSHOTS, "measure": "steady", "steady": STEADY}
    config = checked_config(content)
    context = run_context(config)
    context = context.with_jobs(jobs_of(context, {**cell, "draw": 0}))
    pairs = result_tables(run_cosim(config, jobs=context.queues.jobs))["pairs"]
    index = {int(number): i for i, number in enumerate(context.queues.jobs.job_id)}
    model = Iterations(context.network, NETWORK_SCHEDULERS["none"]())
    found = []
    for snapshot in dict.fromkeys(pair["snapshot"] for pair in pairs):
        for placement in PLACEMENTS:
            # the reference's own times are in the rows of each other placement
            named = PLACEMENTS[1] if placement == PLACEMENTS[0] else placement
            side = "reference" if placement == PLACEMENTS[0] else "policy"
            mine = [p for p in pairs if (p["snapshot"], p["policy"]) == (snapshot, named)]
            jobs = [index[pair["job_id"]] for pair in mine]
            fluid = by_fluid(context, model, jobs, placement)
            for pair, (among, alone) in zip(mine, fluid, strict=True):
                own = pair["reference_alone_s"]
                times = {
                    "packets": pair[f"{side}_s"] / own,
                    "packets_alone": pair[f"{side}_alone_s"] / own,
                    "fluid": among,
                    "fluid_alone": alone,
                }
                found.append(
                    {name: cell[name] for name in ("log", "oversubscription", "variant")}
                    | {"placement": placement}
                    | {name: pair[name] for name in ("snapshot", "job_id", "n_nodes")}
                    | {name: round(float(value), 4) for name, value in times.items()}
                )
    return found


def by_fluid(
    context: RunContext, model: Iterations, jobs: list[int], placement: str
) -> list[tuple[float, float]]:
    """Return iterations of jobs among each other and alone, in those alone on the first nodes."""
    share, fraction = context.drawn
    placed = context.queues.under(placement).placements
    assert placed is not None
    running = ScheduledJobs(context.network, model.scheduler, 1, model.iterations)
    alone = {}
    for job in jobs:
        nodes = placed.placement(job, job).nodes[: context.queues.jobs.n_nodes[job]]
        sent = np.asarray(nodes, dtype=np.int32).tobytes()
        situation = Situation(int(share[job]), sent, float(fraction[job]))
        running.start(job, situation)
        own = model.iterations.placed(situation)
        isolated = model.iterations.isolated(situation.share, len(nodes), situation.fraction)
        alone[job] = own.iteration_s / isolated.iteration_s if own and isolated else 1.0
    rates = running.settle()
    return [(1 / rates.get(job, 1.0), alone[job]) for job in jobs]


def main(logs: str = "") -> None:
    """Write the table; ``logs`` is the folder of the logs."""
    options = replace(OPTIONS, settings={"logs": logs} if logs else {})
    works = {log.name: sections["workload"] for log, sections in present(LOGS, options)}
    with FILE.open("w", newline="", encoding="utf-8") as file:
        table: csv.DictWriter[str] | None = None
        for cell in CELLS:
            for row in rows_of(cell, works[cell["log"]]):
                if table is None:
                    table = csv.DictWriter(file, row, lineterminator="\n")
                    table.writeheader()
                table.writerow(row)
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:2])
