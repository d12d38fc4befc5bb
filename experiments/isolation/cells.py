"""Figure ``cells``: does isolation pay? Gain and break-even, simulated cell by cell.

Figure ``dragonfly`` (`spread`) has the same cells, of policies that do not isolate.

A cell is a log on its own machine, the placement before, a network (routing and rank order), a
drive, the mean share of communication and the load of the queue; all else is in `stretches`
and ``paper.toml``. Nothing is fitted or interpolated between cells. Each cell is simulated on
every stretch of its log, its packets and its queues, so gain and need are paired by stretch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from experiments.isolation.phases import foretold, over_stretches, verdict
from experiments.isolation.stretches import (
    AT_ONCE,
    FAT_TREES,
    LOGS,
    CellStudy,
    Stretch,
    cell_content,
    stretches_of,
)
from experiments.kit.claims import claims_frame
from experiments.kit.frames import cells
from experiments.kit.log_study import WINDOW, study_point
from experiments.kit.logs import log_notes
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.points import measured, observe
from netcosim.runs.points import replaced
from netcosim.runs.store import Rows
from queuesim.assumed import SCENARIOS
from queuesim.statistics import interval_columns


def percent_off(scenario: str, n_nodes: ArrayLike, run_time_s: ArrayLike) -> float:
    """Return percent off the run time over the node-hours of multi-node jobs, for a scenario that
    draws nothing (`queuesim.assumed.SCENARIOS`)."""
    nodes = np.asarray(n_nodes, dtype=np.int32)
    several = nodes > 1
    weights = (nodes * np.asarray(run_time_s, dtype=np.float64))[several]
    off = SCENARIOS[scenario].reduction(nodes[several], np.zeros(len(weights)))
    return 100 * float(np.average(off, weights=weights))


def break_even(percent: Sequence[float], ratio: Sequence[float]) -> float:
    """Return the percent off the run time at which a ratio is 1, by linear interpolation.

    Of two or more ascending percents: from the first two whose ends have 1 between them, else from
    the two at the nearer end; below 0 where the ratio would be 1 with longer runs. nan where that
    line is level.
    """
    x, y = np.asarray(percent, dtype=float), np.asarray(ratio, dtype=float)
    i = int(np.argmax(y <= 1)) if (y <= 1).any() else len(y) - 1
    i = max(i, 1)
    if y[i] == y[i - 1]:
        return float("nan")
    return float(x[i] + (1 - y[i]) * (x[i] - x[i - 1]) / (y[i] - y[i - 1]))


FUNCTION = "experiments.isolation.cells:tables_of"
USUAL: dict[str, list[Any]] = FAT_TREES.content["usual"]
REFERENCE, POLICIES = "baseline", FAT_TREES.policies
LIVE_SCENARIO = "live"
FACTORS = ("placement", "network", "drive", "share", "load")
WALLTIMES = ("logged", "exact")
"""That the queues of the break-even plan with; verdicts are of the first."""
METRICS = {
    "makespan": "makespan_s",
    "turnaround": "mean_turnaround_s",
    "slowdown": "mean_bounded_slowdown",
    "large-turnaround": "mean_turnaround_large_s",
}
"""Columns of the runs; the last one, of jobs of more than 100 nodes, small machines do not have."""
BY_NODE = "makespan"
"""The metric of work: it depends on the gain by node-hours, the others on that by jobs."""


@dataclass(frozen=True)
class Designed:
    """A cell, and what of it is simulated."""

    cell: dict[str, Any]
    policies: tuple[str, ...]
    """Whose packets are."""
    live: bool
    """Whether queues with contention are."""
    attacks: tuple[str, ...]
    """Changes that an attacked cell is simulated with."""


def designed(log: str, options: Options, study: CellStudy = FAT_TREES) -> list[Designed]:
    """Return the cells of a log, in the order in which they are computed."""
    quick = [{"load": [AT_ONCE, "0.7"], "live": [log]}]
    return expanded(quick if options.quick else study.content["designs"], log, study)


def expanded(
    designs: Sequence[Mapping[str, Any]], log: str, study: CellStudy = FAT_TREES
) -> list[Designed]:
    """Return every combination of the levels of each design of a log, each cell once."""
    found: dict[tuple[Any, ...], Designed] = {}
    for design in designs:
        if log in design.get("logs", [log]):
            policies = tuple(design.get("policies", study.policies))
            attacks = tuple(design.get("attacks", study.content["attacks"]))
            live = log in design.get("live", ())
            levels = [{**study.content["usual"], **design}[name] for name in FACTORS]
            for place in itertools.product(*levels):
                cell = dict(zip(FACTORS, place, strict=True))
                found.setdefault(place, Designed(cell, policies, live, attacks))
    return list(found.values())


def points(options: Options) -> list[Point]:
    """Return, log by log, its queues, its cells and those queues with contention."""
    found = []
    for log, these in stretches_of(FAT_TREES, options):
        found += queue_points(log, these, options)
        found += cell_points(FAT_TREES, log, these, options)
    return found


def cell_points(
    study: CellStudy, log: str, stretches: Sequence[Stretch], options: Options
) -> list[Point]:
    """Return the cells of a log, and the queues with contention of some."""
    found = []
    for each in designed(log, options, study):
        found += packet_points(study, log, stretches, each, options.seed)
        if each.live:
            found += live_points(study, log, stretches, each, options.seed)
    return found


def tables_of(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return the tables of a point: of its queue only, or of its packets too."""
    return (measured if point["config"]["run"]["snapshots"] else observe)(point)


def packet_points(
    study: CellStudy,
    log: str,
    stretches: Sequence[Stretch],
    designed: Designed,
    seed: int,
    change: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> list[Point]:
    """Return a cell on every stretch of a log, the packets of all policies at the same instants."""
    found = []
    for stretch in stretches:
        config = cell_content(study, log, stretch, designed.cell, designed.policies, seed)
        labels = {"log": log, **designed.cell, "part": stretch.number}
        found.append(study_point(study.name, change(config), labels))
    return found


def live_points(
    study: CellStudy, log: str, stretches: Sequence[Stretch], designed: Designed, seed: int
) -> list[Point]:
    """Return the queues of policies with run times that follow contention, to compare with."""
    run = {"seed": seed, "snapshots": 0, "observables": ["runs"]}
    live = {"queue.run_time_model": "coupled-flow", "queue.coupled-flow.baseline": "own-nodes"}
    change = partial(replaced, changes={**live, "run": run})
    one = replace(designed, policies=study.live_policies)
    found = packet_points(study, log, stretches, one, seed, change)
    labels = {"experiment": f"{study.name}-live", "labels.scenario": LIVE_SCENARIO}
    return [replaced(point, labels) for point in found]


def queue_points(log: str, stretches: Sequence[Stretch], options: Options) -> list[Point]:
    """Return each stretch at each load: all queues, isolated jobs with shorter run times.

    Column ``off``: the reduction of run time of jobs of more than one node, by node-hours.
    """
    found = []
    quick = [{"loads": [AT_ONCE, "0.7"], "walltimes": WALLTIMES}]
    designs = [
        design
        for design in (quick if options.quick else FAT_TREES.content["queues"])
        if log in design.get("logs", [log])
    ]
    places = [p for d in designs for p in itertools.product(d["walltimes"], d["loads"])]
    for (walltimes, load), stretch in itertools.product(places, stretches):
        for scenario in FAT_TREES.content["scenarios"]:
            queue = {"policies": [REFERENCE, *POLICIES], "window": WINDOW}
            config = {
                "machine": stretch.machine,
                "workload": stretch.at_load(load) | {"walltimes": walltimes},
                "queue": queue | {"run_time_model": "assumed", "assumed": {"scenario": scenario}},
                "run": {"seed": options.seed, "snapshots": 0, "observables": ["runs"]},
            }
            labels = {"log": log, "part": stretch.number, "load": load, "walltimes": walltimes}
            off = percent_off(scenario, stretch.jobs.n_nodes, stretch.jobs.run_time_s)
            labels |= {"scenario": scenario, "off": off}
            found.append(study_point(f"{FAT_TREES.name}-queue", config, labels))
    return found


def gains_by_stretch(pairs: pd.DataFrame, *more: str) -> pd.DataFrame:
    """Return percent off run times by cell, stretch and policy, by node-hours and by jobs."""
    off = 100 * (1 - pairs["run_ratio"])
    table = pairs.assign(by_node=off * pairs["n_nodes"], by_job=off, jobs=1)
    keys = ["log", *FACTORS, "policy", "part", *more]
    sums = table.groupby(keys, sort=False)[["by_node", "by_job", "n_nodes", "jobs"]].sum()
    sums = sums.assign(by_node=sums["by_node"] / sums["n_nodes"])
    sums = sums.assign(by_job=sums["by_job"] / sums["jobs"])
    return sums.drop(columns="n_nodes").reset_index()


def gains(each: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of each cell: mean and Student's interval over stretches."""
    rows = []
    for cell, part in cells(each, "log", *FACTORS, "policy"):
        row = {**cell, "stretches": len(part), "jobs": int(part["jobs"].sum())}
        for column in ("by_node", "by_job"):
            row |= interval_columns(column, over_stretches(part[column]))
        rows.append(row)
    return pd.DataFrame(rows)


def interference_alone(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs whose isolated times are the reference's, as in queues with contention.

    There a logged run time is that of an isolated run on whichever nodes the job has.
    """
    share, stretch = pairs["duty"], pairs["stretch"]
    there, here = (1 - share + share * s for s in (stretch, stretch * pairs["interference_ratio"]))
    return pairs.assign(run_ratio=here / there)


def parts(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each cell's gain by node-hours in two parts: less interference, and other nodes.

    Interference: the reduction of run time if jobs kept the time of an isolated run on the
    reference's nodes. Locality is the rest: other nodes and routes.
    """
    keys = ["log", *FACTORS, "policy", "part"]
    total, alone = (
        gains_by_stretch(table).set_index(keys)["by_node"]
        for table in (pairs, interference_alone(pairs))
    )
    each = pd.DataFrame({"gain": total, "interference": alone, "locality": total - alone})
    rows = []
    for cell, part in cells(each.reset_index(), "log", *FACTORS, "policy"):
        row = {**cell, "stretches": len(part)}
        for column in ("gain", "interference", "locality"):
            row |= interval_columns(str(column), over_stretches(part[column]))
        rows.append(row)
    return pd.DataFrame(rows)


def ratios(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each isolating queue's metrics over the others', by stretch and scenario."""
    keys = ["log", "load", "walltimes", "part", "scenario", "off"]
    return _over_reference(runs[runs["scenario"] != LIVE_SCENARIO], keys, POLICIES)


def _over_reference(runs: pd.DataFrame, keys: list[str], policies: Sequence[str]) -> pd.DataFrame:
    """Return the metrics of these policies over those of the other one."""
    columns, compared = list(METRICS.values()), runs["policy"].isin(policies)
    base = runs[~compared].set_index(keys)[columns].add_prefix("base_")
    found = runs[compared].join(base, on=keys, how="inner")
    for metric, column in METRICS.items():
        found[metric] = found[column].astype(float) / found[f"base_{column}"].astype(float)
    return found[[*keys, "policy", *METRICS]].reset_index(drop=True)


def _known(rows: pd.DataFrame) -> list[str]:
    """Return the metrics that all of these rows have."""
    return [metric for metric in METRICS if rows[metric].notna().all()]


def live(
    runs: pd.DataFrame, foretold: pd.DataFrame, policies: Sequence[str] = POLICIES
) -> pd.DataFrame:
    """Return queues with contention next to the prediction by gain and break-even."""
    keys = ["log", *FACTORS]
    simulated = runs[runs["scenario"] == LIVE_SCENARIO]
    if simulated.empty:
        return pd.DataFrame()
    mine = _over_reference(simulated, [*keys, "part"], policies)
    known = foretold[foretold["walltimes"].eq(WALLTIMES[0])].set_index([*keys, "policy", "metric"])
    rows = []
    for cell, part in cells(mine, *keys, "policy"):
        for metric in _known(part):
            at = (*cell.values(), metric)
            if at in known.index:
                decided, expected = verdict(part[metric]), known.loc[at]
                row = {**cell, "metric": metric, "stretches": len(part)}
                row |= interval_columns("ratio", decided.ratio) | {"verdict": decided.word}
                row |= {"foretold": expected["ratio"], "foretold_verdict": expected["verdict"]}
                same_side = (decided.ratio.value < 1) == (expected["ratio"] < 1)
                rows.append(row | {"same_sign": bool(same_side)})
    return pd.DataFrame(rows)


def break_evens(each: pd.DataFrame) -> pd.DataFrame:
    """Return the ratio without any gain and the gain that makes it 1, by load, over stretches.

    A stretch that is even without a gain needs 0.
    """
    rows = []
    for cell, part in cells(each, "log", "load", "walltimes", "policy"):
        for metric in _known(part):
            needed, none = [], []
            for _, mine in cells(part.sort_values(["part", "off"]), "part"):
                ratio = mine[metric].tolist()
                none.append(ratio[0])
                needed.append(0.0 if ratio[0] <= 1 else break_even(mine["off"].tolist(), ratio))
            row = {**cell, "metric": metric, "stretches": len(none)}
            row |= interval_columns("ratio", over_stretches(none))
            rows.append(row | interval_columns("needed", over_stretches(needed)))
    return pd.DataFrame(rows)


def phases(gain: pd.DataFrame, queue: pd.DataFrame) -> pd.DataFrame:
    """Return whether isolation pays, by cell, policy and metric, from the ratio at each gain."""
    curves = {
        tuple(key.values()): part.sort_values("off")
        for key, part in cells(queue, "log", "load", "walltimes", "policy", "part")
    }
    rows = []
    for cell, part in cells(gain, "log", *FACTORS, "policy"):
        walltimes = WALLTIMES[0]
        for metric in METRICS:
            column = "by_node" if metric == BY_NODE else "by_job"
            found = []
            for number, off in zip(part["part"], part[column], strict=True):
                key = (cell["log"], cell["load"], walltimes, cell["policy"], number)
                curve = curves.get(key)
                if curve is not None and metric in _known(curve):
                    found.append(foretold(curve["off"], curve[metric], off))
            if found:
                decided = verdict(found)
                row = {**cell, "walltimes": walltimes, "metric": metric, "stretches": len(found)}
                row |= interval_columns("ratio", decided.ratio)
                rows.append(row | {"verdict": decided.word, "would_decide": decided.would_decide})
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return what each cell gains, what its queue needs, and whether isolation pays."""
    each = gains_by_stretch(frames["pairs"])
    queue = ratios(frames["runs"])
    tables = {"gain": gains(each), "queue": break_evens(queue), "phases": phases(each, queue)}
    tables["parts"] = parts(frames["pairs"])
    tables["live"] = live(frames["runs"], tables["phases"])
    notes = () if options.quick else log_notes(LOGS, options)
    return Analysis(claims_frame([]), tables, notes)
