"""Does the gain change when the queue answers? Schedules measured, run again, measured again.

Windows of logs run with `queue.measured.rounds`: with the log's times taken as those under the
reference placement, and as those alone. Coupled run times, which answer job by job, are the second
way to the same. Then logs run once more, with the run times of the last round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cosim.measuring.measured import SpeedupRow
from cosim.parameters import CONTENDED, ISOLATED
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.fat_tree_logs import KTH, THUNDER, fat_tree
from experiments.kit.frames import groups
from experiments.kit.log_study import study_content, study_point
from experiments.kit.logs import log_notes, needed
from experiments.kit.panels import panels
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.study_mix import PATTERNS, study_mix
from experiments.kit.windows import over_windows, table_of
from queuesim.statistics import Interval
from workloads.source import DAY_S

ROUNDS = 3
NODE_BYTES, ITERATIONS = 16 * 1024, 8
REFERENCES = ("baseline", "slurm-tree", "random")
"""All place by count: schedules with logged run times are the same, job by job."""
POLICIES = ("ta", "jigsaw")
COUPLED = ("coupled-flow", "coupled-packets")
WINDOWS = {"kth-sp2": (4, 80, 800, 3), "thunder": (4, 30, 1000, 1)}
"""By log: windows, days from one to the next, jobs of each, snapshots of each."""
DAYS = {"thunder": 15, "kth-sp2": 60}
"""What of a log the last queues take, from its begin."""
BOUNDS = {"ta": ("none", "mean"), "jigsaw": ("none", "mean", "low", "high")}
"""No gain, and what was measured: the mean and the ends of its interval."""
METRICS = ("taken_off_percent", "makespan_ratio", "turnaround_ratio")
MOVED = tuple(f"{name}_moved" for name in METRICS)
"""Since the first round."""


def _logs(options: Options) -> Iterator[tuple[str, dict[str, Any], tuple[int, int, int, int]]]:
    if options.quick:
        made = {"synthetic": {"n_jobs": 30, "mean_nodes": 5}, "all_at_zero": True}
        made["larger_jobs"] = "drop"
        yield "made", {"machine": fat_tree(4), "workload": made}, (2, 0, 30, 2)
        return
    for log, sections in needed((KTH, THUNDER), options):
        yield log.name, sections, WINDOWS[log.name]


def points(options: Options) -> list[Point]:
    """Return windows one after the other: each reference placement, both readings of the log."""
    found: list[Point] = []
    for name, sections, (windows, days, jobs, snapshots) in _logs(options):
        for window in range(windows):
            cut = {"start_s": window * days * DAY_S, "first_jobs": jobs} if days else {}
            work = {**sections["workload"], **cut, "all_at_zero": True}
            own: dict[str, object] = {"run.repetition": 0 if days else window}
            scenarios = [(reference, CONTENDED) for reference in REFERENCES] + [
                ("random", ISOLATED)
            ]
            for reference, logged in scenarios:
                key = "queue.measured"
                changes = {f"{key}.rounds": ROUNDS, f"{key}.runtime_reference": logged}
                changes |= {"queue.run_time_model": "measured", **own}
                at = {"log": name, "model": "measured", "reference": reference, "logged": logged}
                there = {**sections, "workload": work}
                found.append(_point(there, at, window, snapshots, changes, options))
            for model in COUPLED:
                for logged in (CONTENDED, ISOLATED):
                    changes = {"queue.run_time_model": model, **own}
                    changes[f"queue.{model}.runtime_reference"] = logged
                    changes[f"queue.{model}.baseline"] = "own-nodes"
                    at = {"log": name, "model": model, "reference": "random", "logged": logged}
                    there = {**sections, "workload": work}
                    found.append(_point(there, at, window, 0, changes, options))
    return found


def _point(
    sections: Mapping[str, Any],
    labels: Mapping[str, Any],
    window: int,
    snapshots: int,
    changes: Mapping[str, object],
    options: Options,
) -> Point:
    policies = (labels["reference"], *POLICIES)
    steady = {"noise": 0.0, "precision": 0.5}
    steady |= {"least_iterations": ITERATIONS, "most_iterations": ITERATIONS}
    more = {"communication.mix": study_mix(node_bytes=NODE_BYTES), "run.steady": steady, **changes}
    content = study_content(
        sections, "fattree", policies, snapshots=snapshots, seed=options.seed, changes=more
    )
    return study_point("isolation-loop", content, {**labels, "window": window})


def queue_points(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """Return the logs as one queue, all at zero and as they came, with the last run times."""
    pairs, found = frames["pairs"], []
    for name, sections, (_, days, _, _) in _logs(options):
        for reference in REFERENCES:
            mine = pairs[(pairs["log"] == name) & (pairs["reference"] == reference)]
            rows = table_of(mine[mine["logged"] == CONTENDED], POLICIES, PATTERNS, options.seed)
            for at_zero in (True, False) if days else (True,):
                cut = {"days": DAYS[name]} if days else {}
                work = {**sections["workload"], **cut, "all_at_zero": at_zero}
                at = {"log": name, "reference": reference, "at_zero": at_zero}
                there = {**sections, "workload": work}
                point = _point(there, at, 0, 0, {}, options)
                found.append({**point, "speedups": rows, "bounds": _bounds(rows)})
    return found


def _bounds(rows: Sequence[Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    """Return `BOUNDS` without the ends of intervals that a policy's speed-ups do not have."""
    made = [SpeedupRow(*row) for row in rows]
    unknown = {row.policy for row in made if row.ratio_low is None}
    return {name: of[:2] if name in unknown else of for name, of in BOUNDS.items()}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the result of each round, coupled run times, and the papers' claims judged again."""
    keys = ["log", "reference", "logged", "window", "policy"]
    rows = frames["rounds"]
    rows = rows[rows["policy"].isin(POLICIES)].astype(dict.fromkeys(METRICS, float))
    first = rows[rows["round"] == 1].set_index(keys)[list(METRICS)].add_suffix("_first")
    rows = rows.join(first, on=keys)
    for metric in METRICS:
        rows[f"{metric}_moved"] = rows[metric] - rows.pop(f"{metric}_first")
    rounds = over_windows(rows, (*METRICS, *MOVED), "log", "reference", "logged", "policy", "round")
    last = frames["policies"][frames["policies"]["policy"].isin(POLICIES)]
    last = last[last["model"] != "measured"]
    coupled = over_windows(last, METRICS[1:], "log", "model", "logged", "policy")
    claims = [*_window_claims(rounds), *_queue_claims(frames["queues"])]
    notes = () if options.quick else log_notes((KTH, THUNDER), options, frames["rounds"].log)
    tables = {"rounds": rounds, "coupled": coupled, "queues": frames["queues"]}
    return Analysis(claims_frame(claims), tables, notes)


def _window_claims(rounds: pd.DataFrame) -> list[Claim]:
    """Check makespans of windows, all at zero: significantly on the side that the papers state?"""
    claims = []
    part = rounds[(rounds["round"] == ROUNDS) & rounds["makespan_ratio_low"].notna()]
    for row in part.to_dict("records"):
        check = ClaimBuilder(
            "Jigsaw 6.3", f"{row['log']}, {row['reference']}, logged: {row['logged']}"
        )
        interval = Interval(*(row[f"makespan_ratio{end}"] for end in ("", "_low", "_high")))
        if row["policy"] == "jigsaw":
            what = "Jigsaw's makespan is the same as or better than Baseline's"
            claims.append(check.holds(what, interval.low <= 1, "not surely above 1", interval))
        else:
            what = "TA's makespan is worse than Baseline's but with 20 %"
            claims.append(check.holds(what, interval.high > 1, "not surely at most 1", interval))
    return claims


def _queue_claims(runs: pd.DataFrame) -> list[Claim]:
    """Judge entire queues: turnaround under Jigsaw (6.2), waits and makespan under TA (VII)."""
    claims = []
    for (log, reference, at_zero), part in groups(runs, "log", "reference", "at_zero"):
        known = part.set_index(["policy", "bound"])
        arrivals = "all at zero" if at_zero else "as they came"
        check = ClaimBuilder("Jigsaw 6.2, 6.3", f"{log}, {reference}, {arrivals}")
        for metric, word in (("makespan_ratio", "makespan"), ("turnaround_ratio", "turnaround")):
            jigsaw = known.loc["jigsaw", metric].reindex(["mean", "low", "high"]).to_numpy()
            # nan where the speed-ups have no interval
            interval = Interval(float(jigsaw[0]), float(jigsaw.min()), float(jigsaw.max()))
            claims.append(check.at_most(f"Jigsaw's {word} is not above Baseline's", interval, 1))
        check = ClaimBuilder("Pollard VII", f"{log}, {reference}, {arrivals}")
        for metric, word in (("makespan_ratio", "makespan"), ("wait_ratio", "waits")):
            ratio = known.loc[("ta", "mean"), metric]
            if np.isfinite(ratio):
                statement = f"speed-ups make up for TA's longer {word}"
                claims.append(check.at_most(statement, float(ratio), 1.05))
    return claims


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw, by round under Jigsaw, the reduction of run time and makespan over the reference's."""
    rounds = analysis.tables["rounds"]
    rounds = rounds[rounds["policy"] == "jigsaw"]
    labels = {"taken_off_percent": "off the run time (%)", "makespan_ratio": "makespan, over"}
    ends = {"": "value", "_low": "low", "_high": "high"}
    parts = [
        rounds.rename(columns={metric + end: name for end, name in ends.items()}).assign(what=word)
        for metric, word in labels.items()
    ]

    def lines(axis: Axes, part: pd.DataFrame) -> None:
        for k, ((reference, logged), mine) in enumerate(groups(part, "reference", "logged")):
            off = np.nan_to_num([mine["value"] - mine["low"], mine["high"] - mine["value"]])
            label = f"{reference}, {'alone' if logged == ISOLATED else 'as logged'}"
            axis.errorbar(
                mine["round"] + 0.08 * (k - 1.5),
                mine["value"],
                off,
                label=label,
                marker="o",
                capsize=2,
                lw=1,
            )
        axis.set_xticks(range(1, ROUNDS + 1))

    return panels(
        pd.concat(parts),
        ("log", "what"),
        lines,
        columns=2,
        xlabel="round",
        title=lambda log, what: f"{log}: {what}",
    )
