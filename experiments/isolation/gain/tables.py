"""A trial's tables: what was measured, what the queue makes of it, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.isolation.gain.predictor import Columns, Predictor, shipped
from experiments.isolation.gain.trial import PREDICT, GainTrial
from experiments.isolation.gain.verdict import (
    METRICS,
    PAPERS_PERCENT,
    Gain,
    overall,
    with_noise,
)
from experiments.isolation.phases import UNKNOWN, word
from experiments.kit.results import Tables
from experiments.kit.study import Request
from netsim.errors import NetcosimError
from queuesim.result import Rows
from queuesim.statistics import Interval, interval_cells, interval_columns

PREDICTED_SNAPSHOTS = 16
FACTORS = (0.5, 1.0, 2.0)
"""Of the communication share, for what the answer would be."""
FEATURED = 8
"""Snapshots from which the predictor estimates the effect of a share."""


class TabulatedGain(GainTrial):
    """A trial whose results are the tables of this file."""

    def compute(self, request: Request) -> Tables:
        """Return all tables, of a measured or of a predicted gain."""
        return predicted_tables(self) if request[PREDICT] else measured_tables(self)


def measured_tables(trial: GainTrial) -> Tables:
    """Return all tables of a case whose packets are sent."""
    gains, pairs, why = trial.measured
    reruns = trial.reruns(pairs, gains)
    metrics = []
    for name in gains:
        for metric in METRICS:
            ends = [of[metric] for end, of in reruns[name].items() if end.startswith(f"{metric} ")]
            noise = trial.noise(name, metric)
            ratio = with_noise(reruns[name]["mean"][metric], ends, noise)
            if not ends:  # the gain has no interval, nor has what follows from it
                ratio = Interval(ratio.value, np.nan, np.nan)
            metrics.append(_metric_row(trial, name, metric, ratio))
    node_hours = [
        {"policy": name, **interval_columns("ratio", _node_hours(reruns[name]))} for name in gains
    ]
    return {
        "gains": [
            _gain_row(trial, name, one, why) | _more(trial, name, metrics)
            for name, one in gains.items()
        ],
        "metrics": metrics,
        "node_hours": node_hours,
        "shares": _share_rows(trial, gains),
        "rests_on": [{**_about(trial), **trial.shares()}],
        **_queue_tables(trial),
        "pairs": [pair.row() for pair in pairs],
    }


def predicted_tables(trial: GainTrial) -> Tables:
    """Return all tables of a case with the gain by the predictor; no packet is sent."""
    predictor, level = shipped(), trial.config.run.confidence
    rows = trial.features(1.0, PREDICTED_SNAPSHOTS)
    if not rows:
        raise NetcosimError(
            f"{trial.context.queues.jobs.name}: no job of several nodes communicates at any of "
            f"{PREDICTED_SNAPSHOTS} snapshots"
        )
    outside = predictor.range.outside(_predictor_case(trial), _columns(rows))
    gains = {}
    for name in trial.isolating:
        of_policy = [row for row in rows if row["policy"] == name]
        predicted = predictor.mean(_columns(of_policy), level)
        alike = {**_columns(of_policy), "n_nodes": np.ones(len(of_policy))}
        by_job = predictor.mean(alike, level)
        gains[name] = Gain(
            predicted, by_job, len({row["snapshot"] for row in of_policy}), len(of_policy)
        )
    metrics = [
        _metric_row(trial, name, metric, line.at(gains[name].of(metric)))
        for name, lines in trial.lines.items()
        for metric, line in lines.items()
    ]
    return {
        "gains": [_gain_row(trial, name, one, "predicted") for name, one in gains.items()],
        "metrics": metrics,
        "node_hours": [],
        "shares": [],
        "rests_on": [{**_about(trial), "outside": "; ".join(outside)}],
        **_queue_tables(trial),
        "pairs": [],
    }


def _columns(rows: list[dict[str, Any]]) -> Columns:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _gain_row(trial: GainTrial, name: str, one: Gain, why: str) -> dict[str, object]:
    return {
        "policy": name,
        **interval_columns("gain_percent", one.gain),
        **interval_columns("by_job_percent", one.by_job),
        "snapshots": one.snapshots,
        "jobs": one.jobs,
        "level": trial.config.run.confidence if why == "predicted" else trial.level,
        "why": why,
    }


def _more(trial: GainTrial, name: str, metrics: Rows) -> dict[str, object]:
    """Return what would decide on a policy of which no metric is significant; None where known.

    ``more_snapshots`` is infinite where no number of them would, ``more_s`` the time they take.
    """
    of_policy = [row for row in metrics if row["policy"] == name]
    if any(row["verdict"] != UNKNOWN for row in of_policy):
        return {"more_snapshots": None, "more_s": None}
    cells = {str(row["metric"]): interval_cells(row, "ratio") for row in of_policy}
    ratios = {
        metric: Interval(*(math.nan if end is None else end for end in ends))
        for metric, ends in cells.items()
    }
    snapshots, seconds = trial.more(name, ratios)
    return {"more_snapshots": snapshots, "more_s": None if math.isnan(seconds) else seconds}


def _metric_row(trial: GainTrial, name: str, metric: str, ratio: Interval) -> dict[str, object]:
    line = trial.lines[name][metric]
    even = line.break_even()
    curve, drawn = trial.curve[name], [one[metric] for one in trial.drawn[name]]
    return {
        "policy": name,
        "metric": metric,
        **interval_columns("ratio", ratio),
        "verdict": word(ratio),
        **interval_columns("break_even_percent", even or Interval(np.nan, np.nan, np.nan)),
        "chance": line.noise,
        "drawn_mean": float(np.mean(drawn)) if drawn else None,
        **{f"at_{gain:g}_percent": curve[gain][metric] for gain in (0.0, *PAPERS_PERCENT)},
    }


def _node_hours(reruns: Mapping[str, Mapping[str, float]]) -> Interval:
    values = {end: ratios["node_hours"] for end, ratios in reruns.items()}
    # the high end of the gain is the low one of the node-hours
    low, high = (values.get(f"makespan {end}", np.nan) for end in ("high", "low"))
    return Interval(values["mean"], low, high)


def _share_rows(trial: GainTrial, gains: Mapping[str, Gain]) -> Rows:
    """Return the verdict at other shares: the measured gain, changed by the predictor.

    Empty where the predictor knows nothing of the case.
    """
    predictor = shipped()
    known = {factor: trial.features(factor, FEATURED) for factor in FACTORS}
    if not known[1.0]:
        return []
    try:
        predictor.range.outside(_predictor_case(trial), _columns(known[1.0]))
    except NetcosimError:
        return []
    rows = []
    for name, one in gains.items():
        predicted = {factor: _mean(predictor, rows, name) for factor, rows in known.items()}
        if np.isnan(one.gain.low) or predicted[1.0] <= 0:
            continue
        for factor in FACTORS:
            times = predicted[factor] / predicted[1.0]
            off = 0.0 if factor == 1 else predictor.half_width(trial.config.run.confidence)
            words = [
                word(line.at(_times(one.of(metric), times, off)))
                for metric, line in trial.lines[name].items()
            ]
            gain = interval_columns("gain_percent", _times(one.gain, times, off))
            rows.append({"policy": name, "factor": factor, **gain, "verdict": overall(words)})
    return rows


def _times(gain: Interval, times: float, off: float) -> Interval:
    """Scale a gain by a factor, and add the error of the factor."""
    value, half = times * gain.value, np.hypot(times * (gain.high - gain.low) / 2, off)
    return Interval(value, value - float(half), value + float(half))


def _mean(predictor: Predictor, rows: list[dict[str, Any]], name: str) -> float:
    columns = _columns([row for row in rows if row["policy"] == name])
    return float(np.average(predictor.fitted.percent(columns), weights=columns["n_nodes"]))


def _predictor_case(trial: GainTrial) -> dict[str, object]:
    """Return the properties of the case that the predictor's range limits."""
    machine, config = trial.config.machine, trial.config
    return {
        "family": machine.family,
        "routing": trial.context.machine.routing.name,
        "placement": trial.reference,
        "policies": list(trial.isolating),
        "taper": machine.parameters.get("taper") or 1.0,
        "ranks_per_node": config.communication.ranks_per_node,
        "share": config.run.steady.share,
        "phases": config.run.steady.phases,
    }


def _about(trial: GainTrial) -> dict[str, object]:
    context, topology = trial.context, trial.context.machine.topology
    jobs = context.queues.jobs
    _, fraction = context.drawn
    communicates, node_s = trial.communicates, jobs.n_nodes * jobs.run_time_s
    kinds = topology.link_bandwidth_Bps
    return {
        "log": jobs.name,
        "jobs": len(jobs),
        "communicating_node_hours_percent": float(100 * node_s[communicates].sum() / node_s.sum()),
        "machine": topology.name,
        "nodes": topology.n_nodes,
        "reference": trial.reference,
        "routing": context.machine.routing.name,
        "fraction": float(np.average(fraction[communicates], weights=node_s[communicates])),
        "share": trial.config.run.steady.share,
        "node_Bps": float(kinds[0]),
        "fabric_Bps": float(kinds[topology.first_router_link :].max()),
        "drawn_logs": len(trial.drawn[trial.isolating[0]]),
    }


def _queue_tables(trial: GainTrial) -> Tables:
    """Return the gain's curve, and the ratios of the drawn logs."""
    curve = [
        {"policy": name, "gain_percent": gain, **ratios}
        for name, by_gain in trial.curve.items()
        for gain, ratios in by_gain.items()
    ]
    drawn = [
        {"policy": name, "log": k, **ratios}
        for name, found in trial.drawn.items()
        for k, ratios in enumerate(found)
    ]
    return {"curve": curve, "drawn": drawn}
