"""Can the gain of isolation be predicted without packets? Fitted on some logs, tested on others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.isolation.gain.features import FEATURES, LoadCache, job_features
from experiments.isolation.gain.predictor import Columns
from experiments.isolation.gain_errors import (
    LEFT_OUT,
    best_law,
    coefficient_rows,
    held_out,
    law_rows,
    log_rows,
    means_by,
    units,
)
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.fat_tree_logs import ATLAS, KTH, THETA, THUNDER, fat_tree
from experiments.kit.frames import first_seen
from experiments.kit.log_study import study_content, study_point
from experiments.kit.logs import log_notes, needed
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.study_mix import study_mix
from netcosim.config.content import checked_config
from netcosim.report.figures.style import SOFT, colour, grid, marker, new_figure
from netcosim.runs.run_context import run_context
from netcosim.runs.store import Rows

LOGS = (KTH, THUNDER, ATLAS, THETA)
POLICY = "jigsaw"
study = read_data("isolation")["predictor"]
NODE_BYTES = 64 * 1024
STEADY = {"precision": 0.02, "most_iterations": 32}

SMALL_TREE = fat_tree(8)
FEATURES_OF = "experiments.isolation.predictor:features"
OWN, SMALL = "own", "128 nodes"
"""Machines: a log's own, and `SMALL_TREE`."""


def _point(
    labels: Mapping[str, str], sections: Mapping[str, Any], case: int, snapshots: int, seed: int
) -> Point:
    reference, share = study["cases"][case]
    changes = {"communication.mix": study_mix(share, NODE_BYTES), "run.steady": STEADY}
    content = study_content(
        sections, "fattree", [reference, POLICY], snapshots=snapshots, seed=seed, changes=changes
    )
    predicted = {"placement": reference, "share": f"{share[0]:g} to {share[1]:g}"}
    return study_point("isolation-predictor", content, {**labels, **predicted})


def points(options: Options) -> list[Point]:
    """Return a point for each log, machine and case."""
    if options.quick:
        made = {
            f"made-{mean}": {
                "machine": SMALL_TREE,
                "workload": {"synthetic": {"n_jobs": 60, "mean_nodes": mean}, "all_at_zero": True},
            }
            for mean in study["quick_mean_nodes"]
        }
        return [
            _point({"log": name}, sections, case, 2, options.seed)
            for case in range(len(study["cases"]))
            for name, sections in made.items()
        ]
    there = {log.name: found for log, found in needed(LOGS, options)}
    found = []
    for place in study["places"]:
        if place["log"] not in there:
            continue
        sections, labels = dict(there[place["log"]]), {"log": place["log"]}
        if place.get("small"):
            sections["machine"], labels["machine"] = SMALL_TREE, SMALL
        sections["workload"] = {**sections["workload"], **place["workload"]}
        for case in range(place["cases"]):
            found.append(_point(labels, sections, case, place["snapshots"], options.seed))
    return found


def features(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return what is known of the point's jobs without packets, with its labels."""
    config = checked_config(point["config"])
    context = run_context(config)
    names = config.queue.policies
    study = context.study(
        context.sides({name: context.queues.under(name) for name in names}), names[0]
    )
    cache = LoadCache(study)
    rows = [row for number in study.numbers for row in job_features(study, number, cache)]
    return {"features": [{**point["labels"], **row} for row in rows]}


def feature_points(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """Return the same configs again, without their packets."""
    return [{**point, "experiment": f"{point['experiment']}-features"} for point in points(options)]


def joined(pairs: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return a row a measured job with what is known of it without packets, rounded."""
    keys = ["log", "machine", "placement", "share", "snapshot", "policy", "job_id"]
    pairs, known = (
        frame.assign(machine=frame["machine"].fillna(OWN) if "machine" in frame else OWN)
        for frame in (pairs, known)
    )
    predicted = pairs[[*keys, "run_ratio"]].merge(known, on=keys, validate="one_to_one")
    predicted["gain_percent"] = 100 * (1 - predicted.pop("run_ratio"))
    rounded = dict.fromkeys(FEATURES, 4) | {"gain_percent": 3}
    columns = [*keys, "n_nodes", "pattern", *FEATURES, "gain_percent"]
    return predicted[columns].round(rounded)


def columns_of(pairs: pd.DataFrame) -> Columns:
    """Convert a table of `joined` to the columns of laws."""
    return {name: pairs[name].to_numpy() for name in pairs.columns}


def tables_of(pairs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return errors of all laws, means of logs, and coefficients."""
    rows = columns_of(pairs)
    made = {"errors": law_rows(rows), "means": log_rows(rows), "laws": coefficient_rows(rows)}
    return {name: pd.DataFrame(found) for name, found in made.items()}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the errors of each law on logs that it was not fitted on."""
    pairs = joined(frames["pairs"], frames["features"])
    tables = tables_of(pairs)
    left_out = tables["errors"][tables["errors"]["split"] == LEFT_OUT]
    errors = dict(zip(left_out["law"], left_out["snapshot_rmse"].astype(float), strict=True))
    check = ClaimBuilder("the product law", LEFT_OUT)
    mean, best = errors["mean"], best_law(columns_of(pairs))
    claims = [
        check.below(
            f"{name}: error of a snapshot's mean (points), below that of the mean of other logs",
            errors[name],
            mean,
            note=f"the nearest is {best}",
        )
        for name in ("product", "phases", best)
    ]
    notes = () if options.quick else log_notes(LOGS, options)
    return Analysis(claims_frame(claims), {"pairs": pairs, **tables}, notes)


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw means of snapshots, predicted and measured (product and nearest law), and all errors."""
    pairs, errors = analysis.tables["pairs"], analysis.tables["errors"]
    rows = columns_of(pairs)
    logs, names = first_seen(pairs, "log"), units(rows)[0]
    left_out = errors[errors["split"] == LEFT_OUT]
    figure, axes = new_figure(9.0, 3.6, 1, 3)
    for axis, law in zip(axes, ("product", best_law(rows)), strict=False):
        predicted = held_out(law, rows, [[name] for name in logs])
        means = means_by(rows, predicted, units(rows)[1])
        for k, log in enumerate(logs):
            mine = [means[i] for i, name in enumerate(names) if name.startswith(f"{log} ")]
            x, y = zip(*mine, strict=True)
            axis.plot(x, y, marker(k), color=colour(k), markersize=4, label=log)
        axis.axline((0, 0), slope=1, color=SOFT, linewidth=1.0)
        axis.set_title(f"{law}: means of snapshots")
        axis.set_xlabel("predicted without having seen the log (%)")
        axis.set_ylabel("measured (% off)")
        grid(axis, "both")
    axes[0].legend(frameon=False, fontsize=8)
    places = range(len(left_out))
    off = [left_out["rmse"] - left_out["rmse_low"], left_out["rmse_high"] - left_out["rmse"]]
    axes[2].errorbar(left_out["rmse"], places, xerr=off, fmt="o", color=colour(0), label="jobs")
    axes[2].plot(left_out["snapshot_rmse"], places, "s", color=colour(1), label="snapshots")
    axes[2].set_yticks(list(places), list(left_out["law"]))
    axes[2].invert_yaxis()
    axes[2].set_xlim(left=0)
    axes[2].set_title("error on unseen logs (points)")
    axes[2].legend(frameon=False, fontsize=8)
    grid(axes[2], "x")
    return figure
