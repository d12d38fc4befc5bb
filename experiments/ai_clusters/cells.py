"""Figure ``cells``: what contention costs the queue of an AI cluster, simulated cell by cell.

A cell is a log, an offered load, a placement, a routing, an oversubscription and a variant of all
else (``paper.toml``). Jobs are periodic: their run times follow their
iterations (`cosim.run_times.iterations`), against a network without bottlenecks. Draws of jobs are
the same in all cells, so what a cell gains over another is paired by draw. Ranks are numbered by
server, as launchers do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cosim.network.situation import Situation
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import Iterations
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.frames import cells
from experiments.kit.log_study import offered_load_of, study_point
from experiments.kit.logs import PaperLog, log_notes, present
from experiments.kit.papers import Analysis, Options, Point
from netcosim.config.content import checked_config
from netcosim.report.effect import distinct
from netcosim.runs.points import point_rng, replaced
from netcosim.runs.run_context import RunContext, run_context
from netcosim.runs.store import Rows
from queuesim.metrics import turnaround_s
from queuesim.result import QueueResult
from queuesim.statistics import Interval, interval_columns, interval_of_redrawn, t_interval
from workloads.drawn import drawn_log, n_blocks
from workloads.job import Workload
from workloads.transform import scale_arrivals

STUDY = read_data("ai_clusters")["cells"]
USUAL: dict[str, Any] = {name: levels[0] for name, levels in STUDY["usual"].items()}
FUNCTION = "experiments.ai_clusters.cells:tables_of"
NAME = "ai-clusters"
PLACEMENTS: list[str] = STUDY["placements"]
NETWORK = ("routing", "oversubscription", "variant")
FACTORS = ("log", "load", *NETWORK)
CELL = ("log", "load", "placement", *NETWORK)
CONTROL = "philly"
"""Jobs that seldom leave a server."""
KALOS = PaperLog(
    "kalos",
    {},
    {"size_unit": "gpu"},
    ("kalos_319_completed_jobs.csv",),
    quick=None,
    source="https://github.com/InternLM/AcmeTrace",
)
LOGS = (
    KALOS,
    *(PaperLog(name, {}, log) for name, log in STUDY["logs"].items()),
)
TODAY = {
    "baseline": "lowest-numbered free servers",
    "random": "random servers",
    "slurm-tree": "few switches",
}
"""Placements from which something is bought: Slurm's default, pods without a topology, and what
comes after either."""
PURCHASES: dict[str, dict[str, object]] = {
    "few switches": {"placement": "slurm-tree"},
    "segments": {"placement": "segment"},
    "cells": {"placement": "hived"},
    "spines": {"oversubscription": 1},
    "4 queue pairs": {"routing": "ecmp-4"},
    "spraying": {"routing": "spray"},
}
"""What each changes of a cell with one queue pair."""


def designed(options: Options) -> list[dict[str, Any]]:
    """Return all networks of the designs with their logs, each once, in order of computation."""
    found: dict[tuple[Any, ...], None] = {}
    for design in (STUDY["quick"] if options.quick else STUDY)["designs"]:
        levels = {**STUDY["usual"], **design}
        found.update(dict.fromkeys(itertools.product(*(levels[name] for name in FACTORS))))
    return [dict(zip(FACTORS, place, strict=True)) for place in found]


def points(options: Options) -> list[Point]:
    """Return the queues without a network (by log and load), then all networks, by draw.

    A draw is one of jobs, what they send, random servers, hashes and phases.
    """
    logs = {log.name: sections["workload"] for log, sections in present(LOGS, options)}
    networks = [network for network in designed(options) if network["log"] in logs]
    found = []
    for log, load in dict.fromkeys((network["log"], network["load"]) for network in networks):
        content = cell_content(logs[log], USUAL, options)
        content["queue"] = {"policies": PLACEMENTS, "run_time_model": "as-logged"}
        found.append(study_point(f"{NAME}-queue", content, {"log": log, "load": load}))
    for network in networks:
        content = cell_content(logs[network["log"]], network, options)
        found.append(study_point(NAME, content, network))
    return [
        {
            **point,
            "config": replaced(
                point["config"],  # type: ignore[arg-type]
                {"run.repetition": draw, "run.redraw_log": False},
            ),
            "labels": {**point["labels"], "draw": draw},  # type: ignore[dict-item]
        }
        for point in found
        for draw in range(STUDY["draws"])
    ]


def cell_content(
    work: Mapping[str, Any], network: Mapping[str, Any], options: Options
) -> dict[str, Any]:
    """Return the config of a network, a level of each of `NETWORK`, under all placements."""
    variant = dict(STUDY["variants"][network["variant"]])
    group = variant.pop("group", None)
    mix = [
        {**entry, "parameters": dict(entry["parameters"])}
        for entry in variant.pop("mix", STUDY["mix"])
    ]
    if group:
        mix[1]["parameters"]["group"] = group
    machine = {
        **STUDY["machine"],
        **STUDY["oversubscription"][str(network["oversubscription"])],
        **STUDY["routings"][network["routing"]],
    }
    if options.quick:
        small = STUDY["quick"]
        work = {**work, "synthetic": {**work["synthetic"], "n_jobs": small["n_jobs"]}}
        machine["nodes"] = small["nodes"]
    content = {
        "machine": machine,
        "workload": dict(work),
        "policies": STUDY["policies"],
        "queue": {
            "policies": PLACEMENTS,
            "run_time_model": "iterations",
        },
        "communication": {"mix": mix, "task_mapping": "by-domain"},
        "run": {"seed": options.seed, "snapshots": 0},
    }
    return replaced(content, variant)


def tables_of(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a point's queues under each placement, with or without the network."""
    config = checked_config(point["config"])
    context = run_context(config)
    blocks = n_blocks(context.queues.jobs) if config.workload.log is not None else 0
    context = context.with_jobs(jobs_of(context, point["labels"]))
    if config.queue.run_time_model == "as-logged":
        return {"queues": [_queue(context, name, point, blocks) for name in config.queue.policies]}
    model = Iterations(context.network, NETWORK_SCHEDULERS["none"]())
    return {"networks": [_network(context, name, model, point) for name in config.queue.policies]}


def jobs_of(context: RunContext, labels: Mapping[str, Any]) -> Workload:
    """Return the draw's jobs at the cell's load. Draw 0 is the log; others draw its weeks."""
    jobs = context.queues.jobs
    if context.config.workload.log is not None and labels["draw"]:
        jobs = drawn_log(jobs, point_rng({"draw": labels["draw"]}, "blocks"))
    return scale_arrivals(
        jobs, offered_load_of(jobs, context.queues.topology.n_nodes) / labels["load"]
    )


def _queue(
    context: RunContext, placement: str, point: Mapping[str, Any], blocks: int
) -> dict[str, object]:
    """Return mean turnaround with logged run times, on a network without contention."""
    jobs = context.queues.jobs
    return {
        **point["labels"],
        "placement": placement,
        "turnaround_s": float(turnaround_s(context.queues.under(placement)).mean()),
        "jobs": len(jobs),
        "blocks": blocks,
    }


def _network(
    context: RunContext, placement: str, model: Iterations, point: Mapping[str, Any]
) -> dict[str, object]:
    """Return mean turnaround of the live queue, and how much longer iterations are, by GPU time.

    ``longer``: on the job's nodes among the other jobs; ``longer_alone``: on its nodes without
    them; both than on the first nodes and a network without bottlenecks.
    """
    live: QueueResult = context.queues.under(placement, model)
    jobs = live.workload
    several = np.flatnonzero(jobs.n_nodes > context.queues.topology.shape.gpus_per_node)
    longer = ((live.end_s - live.start_s) / jobs.run_time_s - 1)[several]
    alone = [_alone(context, model, live, job) for job in several.tolist()]
    work = (jobs.n_nodes * jobs.run_time_s)[several]
    among, apart = (
        float(np.average(values, weights=work)) if len(several) else 0.0
        for values in (longer, alone)
    )
    return {
        **point["labels"],
        "placement": placement,
        "live_s": float(turnaround_s(live).mean()),
        "longer": among,
        "longer_alone": apart,
    }


def _alone(context: RunContext, model: Iterations, live: QueueResult, job: int) -> float:
    """Return how much longer a job's iteration is on its own nodes, without other jobs."""
    share, fraction = context.drawn
    if not fraction[job] > 0:
        return 0.0
    assert live.placements is not None
    placed = live.placements.placement(job, job).nodes[: live.workload.n_nodes[job]]
    nodes = np.asarray(placed, dtype=np.int32)
    situation = Situation(int(share[job]), nodes.tobytes(), float(fraction[job]))
    return alone_over_isolated(model, situation, len(nodes)) - 1


def alone_over_isolated(model: Iterations, situation: Situation, n_nodes: int) -> float:
    """Return an iteration on a job's own nodes without other jobs, over that on the first nodes."""
    own = model.iterations.placed(situation)
    isolated = model.iterations.isolated(situation.share, n_nodes, situation.fraction)
    return own.iteration_s / isolated.iteration_s if own and isolated else 1.0


def joined(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join networks with the queues without one, by draw."""
    return frames["networks"].merge(frames["queues"], on=["log", "load", "draw", "placement"])


def over_draws(
    part: pd.DataFrame, after_s: NDArray[np.float64], before_s: NDArray[np.float64]
) -> dict[str, object]:
    """Return the change in percent that a cell's times by draw are, with what was sampled.

    Draws of a log are redrawn blocks of one log, so their scatter is that of the log's own ratio;
    generated jobs are new in each draw, so the interval is that of their mean.
    """
    ratios = after_s / before_s
    if blocks := int(part["blocks"].iloc[0]):
        first = part["draw"].to_numpy() == 0
        ratio = interval_of_redrawn(float(ratios[first][0]), ratios[~first], blocks)
        sample, samples = "block of the log", blocks
    else:
        ratio = Interval(*np.exp([*t_interval(np.log(ratios))]).tolist())
        pairs = zip(after_s.tolist(), before_s.tolist(), strict=True)
        sample, samples = "generated workload", distinct(pairs)
    percent = Interval(*(100 * (end - 1) for end in ratio))
    return {
        **interval_columns("change_percent", percent),
        "sample": sample,
        "samples": samples,
        "draws": len(part),
    }


def costs(each: pd.DataFrame) -> pd.DataFrame:
    """Return how much longer mean turnaround is by contention in each cell."""
    rows = []
    for cell, part in cells(each, *CELL):
        changed = over_draws(part, *(part[name].to_numpy() for name in ("live_s", "turnaround_s")))
        longer = {f"{name}_percent": 100 * part[name].mean() for name in ("longer", "longer_alone")}
        rows.append({**cell, **changed, **longer, "jobs": part["jobs"].iloc[0]})
    return pd.DataFrame(rows)


def purchases(each: pd.DataFrame) -> pd.DataFrame:
    """Return how each purchase changes mean turnaround, from each cell of today, by draw."""
    found = each.set_index([*CELL, "draw"])["live_s"]
    rows = []
    for cell, part in cells(each, *CELL):
        if cell["placement"] not in TODAY or cell["routing"] != USUAL["routing"]:
            continue
        for name, change in PURCHASES.items():
            other = {**cell, **change}
            keys = [(*other.values(), draw) for draw in part["draw"]]
            shared = np.array([key in found.index for key in keys])
            if other == cell or not shared.any():
                continue
            bought = found.loc[[key for key in keys if key in found.index]].to_numpy()
            changed = over_draws(part[shared], bought, part["live_s"].to_numpy()[shared])
            rows.append({**cell, "purchase": name, **changed})
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return costs by cell, and what each purchase gains."""
    each = joined(frames)
    cost = costs(each)
    most = cost["oversubscription"].max()
    check = ClaimBuilder("today", f"all cells of jobs of several servers at {most}:1")
    wide = cost[(cost["log"] != CONTROL) & (cost["oversubscription"] == most)]
    by = wide.set_index(list(CELL))["change_percent"].unstack("placement")
    less = (by["slurm-tree"] < by["random"]).tolist()
    claims = [
        check.everywhere("contention costs less on few switches than on random", less, "cells")
    ]
    notes = () if options.quick else log_notes(LOGS, options, set(each["log"]))
    return Analysis(claims_frame(claims), {"costs": cost, "purchases": purchases(each)}, notes)
