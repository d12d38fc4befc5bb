"""The use that the paper proposes: a queue that knows which jobs are bound by contention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from alloc.bluegene.menus import MIRA_CURRENT
from experiments.kit.bootstrap import bootstrap_ratio
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.frames import groups
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.points import OBSERVE, config_points
from netcosim.report.figures.style import colour
from netsim.inputs import checked_path, input_file
from workloads.registry import read_known_log

STUDY = read_data("partitions")["queue"]
QUEUE: dict[str, Any] = STUDY["config"]
POLICIES: list[str] = QUEUE["policies"]
BASELINE = "menu"
KEYS = ("order", "bound_jobs", "communication")
POINT = [*KEYS, "month", "policy"]
MIDPLANE_NODES = 512
MONTH_S = 30.5 * 86400
METRICS = ("mean_turnaround_s", "bound_turnaround_s", "mean_wait_s", "bound_run_s")
SHOWN = (*METRICS, "bound_wait_s", "mean_bounded_slowdown", "utilisation", "loss_of_capacity")


def _workloads(options: Options) -> list[dict[str, Any]]:
    """Return months of Mira's log in midplanes (setting "log"), or as many synthetic workloads.

    Sizes are rounded up to Mira's menu, so that all policies give a job as many midplanes.
    """
    months = range(1 if options.quick else 5)
    path = options.settings.get("log", "")
    if not path:
        made = {**STUDY["synthetic"], "n_jobs": 300 if options.quick else 1500}
        return [{"synthetic": made} for _ in months]
    log = input_file(path)
    first_s = float(read_known_log("mira", checked_path(log)).submit_s.min())
    menu = {"size_factor": 1 / MIDPLANE_NODES, "sizes": [prod(g) for g in MIRA_CURRENT]}
    return [
        {
            "log": log,
            "known_log": "mira",
            "start_s": first_s + month * MONTH_S,
            "end_s": first_s + (month + 1) * MONTH_S,
            **menu,
        }
        for month in months
    ]


def _points(options: Options) -> list[Point]:
    """Return points with three shares of bound jobs; without any, geometry affects only packing."""
    run = {"seed": options.seed, "snapshots": 0, "observables": ["runs", "needs"]}
    base = {"machine": {"preset": "mira-midplanes"}, "queue": QUEUE}
    changes: dict[str, Sequence[object]] = {
        "queue.order": ["wfp"],
        "queue.partition-bisection.bound_jobs": [0.0, 0.25, 0.5],
        "queue.partition-bisection.communication": [0.3],
    }
    found = []
    for month, workload in enumerate(_workloads(options)):
        own = {
            **base,
            "workload": workload,
            "run": {**run, "repetition": month, "redraw_log": False},
        }
        found += config_points("partitions", own, changes, {"month": month})
    return found


def months_table(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return every month's metrics of all jobs and, as ``bound_...``, of contention-bound ones."""
    needs = frames["needs"]
    bound = needs[needs["need"] == "inf"].rename(columns=lambda c: c.replace("mean_", "bound_"))
    columns = [*POINT, "bound_run_s", "bound_wait_s", "bound_turnaround_s"]
    return frames["runs"].merge(bound[columns], how="left", on=POINT)


def analyse_queue(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Compare every policy with the static menu: means over the months, relative to it."""
    table = months_table(frames)
    claims = []
    for (order, share, _), part in groups(table, *KEYS):
        # No job bound by contention: geometry affects only packing.
        metrics = METRICS if share else ("mean_turnaround_s", "mean_wait_s")
        months = part.pivot(index="month", columns="policy", values=list(metrics))
        for policy in (p for p in POLICIES if p != BASELINE and (part["policy"] == p).any()):
            condition = f"{policy}, {order}, {share:.0%} bound"
            check = ClaimBuilder("section 5, future work (no number)", condition)
            for metric in metrics:
                # Months are drawn together, so the interval is of the ratio of their means.
                selected, base = months[metric][policy], months[metric][BASELINE]
                found = bootstrap_ratio(selected, base, np.random.default_rng(0))
                what = f"{metric.removesuffix('_s')} against the static menu"
                claims.append(check.surely_below(what, found, 1.0))
    means = table.groupby([*KEYS, "policy"], as_index=False)[list(SHOWN)].mean()
    return Analysis(claims_frame(claims), {"means": means, "months": table})


def queue_bars(analysis: Analysis, options: Options) -> Figure:
    """Draw mean turnaround and wait of every policy, one panel each, bars by bound share."""
    names = {
        "mean_wait_s": "wait of all jobs",
        "mean_turnaround_s": "turnaround of all jobs",
        "bound_run_s": "run time of bound jobs",
    }
    means = analysis.tables["means"]
    shares = {share: colour(i) for i, share in enumerate(sorted(set(means["bound_jobs"])))}
    table = means.melt(["policy", "bound_jobs"], list(names), "metric", "seconds")

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        grouped_bars(
            axis,
            part.dropna(subset="seconds"),
            "policy",
            "bound_jobs",
            Heights("seconds", scale=1 / 3600),
            order=POLICIES,
            colours=shares,
            name=lambda share: f"{share:.0%} of jobs bound",
            numbers="%.2f",
        )

    return panels(
        table,
        "metric",
        draw,
        columns=3,
        size_in=(5.6, 3.2),
        ylabel="hours",
        title=lambda metric: f"Mira, contention-bound jobs known: {names[metric]}",
    )


PARTS = {"queue": (OBSERVE, _points, analyse_queue, queue_bars)}
