"""Figure ``packets``: iterations among other jobs, by fluid and by packets.

Jobs that run at some instants of the queue, in loops, on their nodes under each placement. A GPU
sends 128 MB an iteration: bandwidth counts, not latency.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cosim.network.situation import Situation
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import Iterations, ScheduledJobs
from experiments.ai_clusters.cells import (
    LOGS,
    STUDY,
    TODAY,
    USUAL,
    alone_over_isolated,
    cell_content,
    jobs_of,
)
from experiments.kit.claims import claims_frame
from experiments.kit.frames import groups
from experiments.kit.log_study import study_point
from experiments.kit.logs import log_notes, present
from experiments.kit.papers import Analysis, Options, Point
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import replaced
from netcosim.runs.run_context import RunContext, run_context
from netcosim.runs.store import Rows

FUNCTION = "experiments.ai_clusters.packets:tables_of"
PLACEMENTS = list(TODAY)
LABELS = ("log", "oversubscription", "variant")


def points(options: Options) -> list[Point]:
    """Return a point a log, in the usual cell; in quick a small one of generated jobs."""
    scale, found = STUDY["packets"][options.scale], []
    works = {log.name: sections["workload"] for log, sections in present(LOGS, options)}
    for log in filter(works.__contains__, scale["logs"]):
        cell = {**USUAL, "log": log}
        content = cell_content(works[log], cell, options)
        content["queue"] = {"policies": PLACEMENTS, "run_time_model": "as-logged"}
        for entry in content["communication"]["mix"]:
            del entry["message_bytes"]
            entry["node_bytes"] = "128 MB"
        content = replaced(content, STUDY["packets"]["config"] | scale["config"])
        found.append(study_point("ai-clusters-packets", content, cell))
    return found


def tables_of(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a row for each job, instant and placement: table "packets"."""
    config, labels = checked_config(point["config"]), point["labels"]
    context = run_context(config)
    context = context.with_jobs(jobs_of(context, {**labels, "draw": 0}))
    jobs = context.queues.jobs
    pairs = pd.DataFrame(result_tables(run_cosim(config, jobs=jobs))["pairs"])
    index = {int(number): i for i, number in enumerate(jobs.job_id)}
    model = Iterations(context.network, NETWORK_SCHEDULERS["none"]())
    rows = []
    for (_, same_time), placement in (
        (part, name) for part in groups(pairs, "snapshot") for name in PLACEMENTS
    ):
        # the reference's own times are in the rows of each other placement
        named = PLACEMENTS[1] if placement == PLACEMENTS[0] else placement
        side = "reference" if placement == PLACEMENTS[0] else "policy"
        mine = same_time[same_time["policy"] == named]
        fluid = by_fluid(context, model, [index[job] for job in mine["job_id"]], placement)
        for pair, (among, alone) in zip(mine.to_dict("records"), fluid, strict=True):
            own = pair["reference_alone_s"]
            times = {
                "packets": pair[f"{side}_s"] / own,
                "packets_alone": pair[f"{side}_alone_s"] / own,
                "fluid": among,
                "fluid_alone": alone,
            }
            rows.append(
                {name: labels[name] for name in LABELS}
                | {"placement": placement}
                | {name: pair[name] for name in ("snapshot", "job_id", "n_nodes")}
                | {name: round(float(value), 4) for name, value in times.items()}
            )
    return {"packets": rows}


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
        alone[job] = alone_over_isolated(model, situation, len(nodes))
    rates = running.settle()
    return [(1 / rates.get(job, 1.0), alone[job]) for job in jobs]


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return all iterations, those by packets beside those by fluid."""
    notes = () if options.quick else log_notes(LOGS, options)
    return Analysis(claims_frame([]), {"packets": frames["packets"]}, notes)
