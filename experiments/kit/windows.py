"""Means over windows of a log, with Student's t, and queues with the run times of their pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd

from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.pairs import speedup_rows
from cosim.run_times.measured_times import Measured
from experiments.kit.frames import cells
from netcosim.config.content import checked_config
from netcosim.runs.points import point_rng
from netcosim.runs.run_context import run_context
from netcosim.runs.store import Rows
from queuesim.metrics import QueueSummary, summarise
from queuesim.statistics import LEAST_SAMPLES, LEAST_WINDOWS, t_of_snapshots

WITH_SPEEDUPS = "experiments.kit.windows:with_speedups"
"""The point function of queues with measured speed-ups."""


def over_windows(rows: pd.DataFrame, metrics: Sequence[str], *keys: str) -> pd.DataFrame:
    """Return means over the windows of each combination of keys, with their intervals.

    Columns ``METRIC_low`` and ``METRIC_high`` are the ends of Student's interval over windows
    (`queuesim.statistics.t_of_snapshots`: nan below four).
    """
    found = []
    for row, part in cells(rows, *keys):
        row["windows"] = part["window"].nunique()
        for metric in metrics:
            known = part[part[metric].notna()]
            if len(known):
                mean = t_of_snapshots(
                    known[metric],
                    np.ones(len(known)),
                    known["window"],
                    least_samples=LEAST_WINDOWS,
                )
                ends = (metric, f"{metric}_low", f"{metric}_high")
                row |= dict(zip(ends, mean, strict=True))
        found.append(row)
    return pd.DataFrame(found)


def table_of(
    pairs: pd.DataFrame, policies: Sequence[str], patterns: Sequence[str], seed: int
) -> list[list[object]]:
    """Return speed-ups of the pairs of several windows together, as plain rows for a point."""
    several = pairs["window"].nunique() >= LEAST_WINDOWS
    found: list[SpeedupRow] = []
    for policy in policies:
        mine = pairs[pairs["policy"] == policy]
        instant = mine["window"].rank(method="dense") * 10**6 + mine["snapshot"]
        found += speedup_rows(
            policy,
            mine.assign(snapshot=instant).to_dict("records"),
            patterns,
            point_rng({"seed": seed}, "bootstrap"),
            least_samples=LEAST_WINDOWS if several else LEAST_SAMPLES,
        )
    return [list(astuple(row)) for row in found]


def with_speedups(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a point's queues with its speed-ups, a row a policy and bound.

    The point has ``config``, ``labels``, ``speedups`` (`table_of`) and ``bounds``: by policy, what
    of the table's intervals counts; "none" for run times as logged. Rows are over the config's
    first policy with logged run times.
    """
    config = checked_config(point["config"])
    context = run_context(config)
    table = SpeedupTable(
        "", tuple(SpeedupRow(*row) for row in point["speedups"]), of_run_times=True
    )
    base = summarise(context.queues.under(config.queue.policies[0]))
    rows = []
    for policy, bounds in point["bounds"].items():
        for bound in bounds:
            model = None if bound == "none" else Measured(table, context.mix, bound)
            mine = summarise(context.queues.under(policy, model))
            rows.append({**point["labels"], "policy": policy, "bound": bound, **over(mine, base)})
    return {"queues": rows}


def over(mine: QueueSummary, base: QueueSummary) -> dict[str, object]:
    """Return makespan, turnaround and wait over another queue's."""
    waits = base.mean_wait_s > 0
    return {
        "makespan_ratio": mine.makespan_s / base.makespan_s,
        "turnaround_ratio": mine.mean_turnaround_s / base.mean_turnaround_s,
        "wait_ratio": mine.mean_wait_s / base.mean_wait_s if waits else None,
    }
