"""Figure ``cells``: what contention costs the queue of an AI cluster, simulated cell by cell.

A cell is a log, an offered load, a placement, a routing, an oversubscription, a network scheduler
and a variant of all else (``paper.toml``). Jobs are periodic: their run times follow their
iterations (`cosim.run_times.iterations`), against a network without bottlenecks. Draws of jobs are
the same in all cells, so what a cell gains over another is paired by draw.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosim.isolation.phases import NOT, PAYS, UNKNOWN, over_stretches, verdict
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.iterations import Iterations
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.log_study import study_point
from experiments.kit.logs import PaperLog, log_notes, present
from netcosim.config.content import checked_config
from netcosim.reproduce.paper import Analysis, Options, Point
from netcosim.runs.frames import cells
from netcosim.runs.points import point_rng, replaced
from netcosim.runs.run_context import RunContext, run_context
from netcosim.runs.store import Rows
from queuesim.metrics import turnaround_s
from queuesim.result import QueueResult
from queuesim.statistics import Interval, interval_columns
from workloads.drawn import drawn_log
from workloads.job import Workload, offered_load
from workloads.transform import scale_arrivals

STUDY = read_data("ai_clusters")["cells"]
USUAL: dict[str, Any] = {name: levels[0] for name, levels in STUDY["usual"].items()}
FUNCTION = "experiments.ai_clusters.cells:tables_of"
NAME = "ai-clusters"
PLACEMENTS: list[str] = STUDY["placements"]
NETWORK = ("routing", "oversubscription", "scheduler", "variant")
FACTORS = ("log", "load", *NETWORK)
CELL = ("log", "load", "placement", *NETWORK)
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
TODAY = ("random", "slurm-tree")
"""Placements from which something is bought."""
PURCHASES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "placement": ({"placement": "random"}, {"placement": "slurm-tree"}),
    "spines": ({}, {"oversubscription": 1}),
    "spraying": ({"routing": "ecmp-1"}, {"routing": "spray"}),
    "4 queue pairs": ({"routing": "ecmp-1"}, {"routing": "ecmp-4"}),
    "16 queue pairs": ({"routing": "ecmp-1"}, {"routing": "ecmp-16"}),
    "pinned paths": ({"routing": "ecmp-1"}, {"routing": "pinned"}),
    "rank order": ({"variant": "usual"}, {"variant": "ranks by number"}),
    "crux": ({"scheduler": "none"}, {"scheduler": "crux"}),
    "cassini": ({"scheduler": "none"}, {"scheduler": "cassini"}),
    **{
        name: ({"placement": "slurm-tree"}, {"placement": name})
        for name in PLACEMENTS
        if name not in TODAY
    },
}
"""What is today's for each, and what it changes."""
FIRST = ("placement", "spines", "spraying")
"""Purchases among which the first is chosen."""
MATTERS = 0.01
"""A purchase pays if it reduces mean completion by more than this part."""


def designed(options: Options) -> list[dict[str, Any]]:
    """Return all networks of the designs with their logs, each once, in order of computation."""
    found: dict[tuple[Any, ...], None] = {}
    for design in (STUDY["quick"] if options.quick else STUDY)["designs"]:
        levels = {**STUDY["usual"], **design}
        found.update(dict.fromkeys(itertools.product(*(levels[name] for name in FACTORS))))
    return [dict(zip(FACTORS, place, strict=True)) for place in found]


def points(options: Options) -> list[Point]:
    """Return, by draw, the queues without a network (by log and load), then all networks.

    A draw is one of jobs, what they send, random servers, hashes and phases. So the first draws are
    a complete study.
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
        for draw in range(STUDY["draws"])
        for point in found
    ]


def cell_content(
    work: Mapping[str, Any], network: Mapping[str, Any], options: Options
) -> dict[str, Any]:
    """Return the config of a network under all placements.

    Parameters
    ----------
    work : mapping
        ``[workload]``.
    network : mapping
        A level of each of `NETWORK`.
    """
    variant = dict(STUDY["variants"][network["variant"]])
    mix = [{**entry, "parameters": dict(entry["parameters"])} for entry in STUDY["mix"]]
    for entry, fraction in zip(mix, variant.pop("fractions", ()), strict=False):
        entry["communication_fraction"] = fraction
    for entry, weight in zip(mix, variant.pop("weights", ()), strict=False):
        entry["weight"] = weight
    mix[1]["parameters"]["group"] = variant.pop("group", mix[1]["parameters"]["group"])
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
            "iterations": {"network_scheduler": network["scheduler"]},
        },
        "communication": {"mix": mix, "task_mapping": "in-order"},
        "run": {"seed": options.seed, "snapshots": 0},
    }
    return replaced(content, variant)


def tables_of(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a point's queues under each placement, with or without the network."""
    config = checked_config(point["config"])
    context = run_context(config)
    context = context.with_jobs(_jobs(context, point["labels"]))
    if config.queue.run_time_model == "as-logged":
        return {"queues": [_queue(context, name, point) for name in config.queue.policies]}
    scheduler = NETWORK_SCHEDULERS[config.queue.model_parameters().network_scheduler]()
    model = Iterations(context.network, scheduler)
    return {"networks": [_network(context, name, model, point) for name in config.queue.policies]}


def _jobs(context: RunContext, labels: Mapping[str, Any]) -> Workload:
    """Return the draw's jobs at the cell's load. Draw 0 is the log; others draw its weeks."""
    jobs = context.queues.jobs
    if context.config.workload.log is not None and labels["draw"]:
        jobs = drawn_log(jobs, point_rng({"draw": labels["draw"]}, "blocks"))
    return scale_arrivals(
        jobs, offered_load(jobs, context.queues.topology.n_nodes) / labels["load"]
    )


def _queue(context: RunContext, placement: str, point: Mapping[str, Any]) -> dict[str, object]:
    """Return mean completion with logged run times, its elasticity, and multi-server jobs' work."""
    jobs = context.queues.jobs
    several = jobs.n_nodes > context.queues.topology.shape.gpus_per_node
    work = jobs.n_nodes * jobs.run_time_s
    longer = replace(jobs, run_time_s=STUDY["longer"] * jobs.run_time_s, requested_s=np.maximum(
        jobs.requested_s, STUDY["longer"] * jobs.run_time_s
    ))  # fmt: skip
    alone, after = (_completion_s(context.with_jobs(of), placement) for of in (jobs, longer))
    return {
        **point["labels"],
        "placement": placement,
        "completion_s": alone,
        "elasticity": float(np.log(after / alone) / np.log(STUDY["longer"])),
        "share": float(work[several].sum() / work.sum()),
        "jobs": len(jobs),
        "jobs_of_several_servers": int(several.sum()),
    }


def _completion_s(context: RunContext, placement: str) -> float:
    return float(turnaround_s(context.queues.under(placement)).mean())


def _network(
    context: RunContext, placement: str, model: Iterations, point: Mapping[str, Any]
) -> dict[str, object]:
    """Return mean completion of the live queue, and how much longer iterations are, by GPU time."""
    live: QueueResult = context.queues.under(placement, model)
    jobs = live.workload
    several = jobs.n_nodes > context.queues.topology.shape.gpus_per_node
    longer = (live.end_s - live.start_s) / jobs.run_time_s - 1
    work = (jobs.n_nodes * jobs.run_time_s)[several]
    return {
        **point["labels"],
        "placement": placement,
        "live_s": float(turnaround_s(live).mean()),
        "longer": float(np.average(longer[several], weights=work)) if several.any() else 0.0,
    }


def joined(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join networks with the queues without one, by draw, and add the cost and its product form."""
    keys = ["log", "load", "draw", "placement"]
    table = frames["networks"].merge(frames["queues"], on=keys)
    return table.assign(
        cost=table["live_s"] / table["completion_s"],
        product=1 + table["longer"] * table["elasticity"] * table["share"],
    )


def costs(each: pd.DataFrame) -> pd.DataFrame:
    """Return what contention costs in each cell: mean and Student's interval over draws."""
    rows = []
    for cell, part in cells(each, *CELL):
        row = {**cell, "draws": len(part), "share": part["share"].mean()}
        for name in ("longer", "elasticity"):
            row |= interval_columns(name, over_stretches(part[name]))
        # a draw's elasticity may be below 0: longer jobs, shorter waits
        row |= interval_columns("product_percent", over_stretches(100 * (part["product"] - 1)))
        percent = Interval(*(100 * (end - 1) for end in verdict(part["cost"]).ratio))
        row |= interval_columns("cost_percent", percent)
        rows.append(row)
    return pd.DataFrame(rows)


def purchases(each: pd.DataFrame) -> pd.DataFrame:
    """Return how much each purchase reduces mean completion, from each cell of today, by draw.

    ``first``: the one that reduces it most, of those that pay.
    """
    today = each.set_index([*CELL, "draw"])["live_s"]
    rows = []
    for cell, part in cells(each, *CELL):
        found = []
        for name, (before, change) in PURCHASES.items():
            other = {**cell, **change}
            if cell["placement"] not in TODAY or other == cell or cell != {**cell, **before}:
                continue
            keys = [(*other.values(), draw) for draw in part["draw"]]
            if all(key in today.index for key in keys):
                decided = verdict(today.loc[keys].to_numpy() / part["live_s"].to_numpy())
                row = {**cell, "purchase": name, "draws": len(part)}
                ends = Interval(*(100 * (1 - decided.ratio[i]) for i in (0, 2, 1)))
                found.append(
                    row | interval_columns("off_percent", ends) | {"verdict": _word(decided.ratio)}
                )
        paying = [row for row in found if row["verdict"] == PAYS and row["purchase"] in FIRST]
        best = max(paying, key=lambda row: row["off_percent"], default=None)
        rows += [{**row, "first": row is best} for row in found]
    return pd.DataFrame(rows)


def _word(ratio: Interval) -> str:
    """Classify a ratio of mean completions: surely below 1 - `MATTERS`, or surely above it."""
    if ratio.high < 1 - MATTERS:
        return PAYS
    return NOT if ratio.low > 1 - MATTERS else UNKNOWN


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return costs by cell, what each purchase gains, and whether the product predicts the cost."""
    each = joined(frames)
    cost, bought = costs(each), purchases(each)
    check = ClaimBuilder("the product", "all cells")
    # where nothing is lost the interval has no width but that of rounding
    low, high, product = (
        cost[name].round(9) for name in ("cost_percent_low", "cost_percent_high", "product_percent")
    )
    inside = ((low <= product) & (product <= high)).tolist()
    claims = [
        check.everywhere("the product is inside the interval of the live cost", inside, "cells")
    ]
    notes = () if options.quick else log_notes(LOGS, options, set(each["log"]))
    return Analysis(claims_frame(claims), {"costs": cost, "purchases": bought}, notes)
