"""The queues with assumed and with measured run times, and what is measured when varied.

Figures ``queues`` (do the papers' conclusions stand?) and ``sensitivity`` (Baseline's nodes, ranks
a node, how long jobs repeat).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.frames import cells, groups
from experiments.papers.isolation import cases
from experiments.papers.isolation.cases import Case, Machine
from experiments.papers.isolation.draw import draw_queues, draw_sensitivity
from experiments.papers.isolation.point import (
    MEASURE,
    QUEUE,
    measure_points,
    measured_pairs,
    points_of,
    queue_point,
)
from experiments.papers.isolation.tables import counting_share, off_table, speedups
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure, Point, Then
from queuesim.assumed import SCENARIOS
from queuesim.scenario_fit import break_even

if TYPE_CHECKING:
    import pandas as pd

LOGGED = "as logged"
MEASURED = "measured, f = {}"
MAIN = MEASURED.format("0.3")
ALWAYS = "all the time, window cut, "
"""Measured with all jobs communicating all the time, until each has done its iterations: no bound
from above, for jobs that others slow down run on alone when those have ended."""
METRICS = ("mean_wait_s", "mean_turnaround_s", "mean_turnaround_large_s", "makespan_s")
SPED_UP = "jigsaw"
"""Whose queue runs with the run times of every case of the sensitivity."""


def _variants(network: str) -> list[tuple[str, Case, str, str]]:
    """Ways to take measured run times: label, case, share, mean or end of the intervals."""
    main, live = cases.CASES[network][0], cases.LIVE[network]
    shares = {f"{case.duty:g}": case for case in cases.CASES[network] if case.duty < 1}
    return [
        *((MEASURED.format(share), shares[share], share, "mean") for share in sorted(shares)),
        *((f"{MAIN}, {end} end", live, "0.3", end) for end in ("low", "high")),
        *(
            (f"{ALWAYS}{case.routing}, f = 0.3", case, "0.3", "mean")
            for case in cases.CASES[network]
            if case.name == case.routing
        ),
        (f"{ALWAYS}{main.routing}, f = 0.1-0.5", main, "mix", "mean"),
    ]


def first_points(options: Options) -> list[Point]:
    """The measured points of both networks: those of the figures ``fattree`` and ``dragonfly``."""
    return [point for network in cases.CASES for point in points_of(network, options)]


def queue_points(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """The logs under each policy, as logged, with each scenario, and with measured run times.

    Dragonfly policies place by count: with equal run times their schedules are equal, and no
    paper assumes speed-ups for them.
    """
    pairs, seed = measured_pairs(frames), options.seed
    points = []
    for network, policies in cases.POLICIES.items():
        chosen = cases.asked_for(cases.CASES[network], options)
        for machine in cases.machines(network, options):
            points.append(queue_point(machine, cases.REFERENCES[network], LOGGED, seed))
            for label, case, name, bound in _variants(network):
                table = speedups(pairs, network, machine.log, case.name, seed)
                share = counting_share(case.duty, name)
                points += [
                    queue_point(machine, policy, label, seed, table, share=share, bound=bound)
                    for policy in policies
                    if case in chosen and table.rows
                ]
            points += [
                queue_point(machine, policy, scenario, seed, scenario=scenario)
                for scenario in (SCENARIOS if network == "fattree" else ())
                for policy in policies
            ]
    return points


def against_reference(runs: pd.DataFrame) -> pd.DataFrame:
    """Every run's metrics over those of the same network and log under the reference."""
    places, columns = ["network", "log"], [*METRICS, "mean_run_s"]
    first = (runs["policy"] == runs["network"].map(cases.REFERENCES)) & (
        runs["run_times"] == LOGGED
    )
    base = runs[places].merge(runs[first], on=places, how="left")[columns].astype(float)
    ratios = base.where(base > 0).rdiv(runs[columns].astype(float).to_numpy())
    return runs.assign(**{f"{name}_ratio": ratios[name].to_numpy() for name in columns})


def break_even_table(runs: pd.DataFrame) -> pd.DataFrame:
    """By how much jobs of more than four nodes would have to be faster, by log and policy."""
    import pandas as pd

    rows = []
    constant = {"none": 0.0, "5%": 5.0, "10%": 10.0, "20%": 20.0}
    told = runs[(runs["network"] == "fattree") & runs["run_times"].isin(constant)]
    told = told.assign(x=told["run_times"].map(constant)).sort_values("x", kind="stable")
    for row, part in cells(told, "log", "policy"):
        for column in METRICS:
            known = part[part[f"{column}_ratio"].notna()]
            row[column.removesuffix("_s")] = break_even(known["x"], known[f"{column}_ratio"])
        rows.append(row)
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The papers' conclusions with the run times that were measured."""
    runs = against_reference(frames["runs"])
    claims: list[Claim] = []
    for (_,), part in groups(runs, "log"):
        claims += fattree_claims(part[part["network"] == "fattree"])
        claims += dragonfly_claims(part[part["network"] == "dragonfly"])
    tables = {"queues": runs, "break-even": break_even_table(runs)}
    notes = () if options.quick else log_notes(cases.LOGS, options)
    return Analysis(claims_frame(claims), tables, notes)


def _ratios(
    part: pd.DataFrame, policies: Sequence[str], run_times: Sequence[str]
) -> dict[str, dict[Any, dict[Any, float]]] | None:
    """By metric, of each policy, with each run times; None unless all of these are there.

    Points may have failed or not been asked for.
    """
    found = {
        metric: part.pivot(index="run_times", columns="policy", values=f"{metric}_ratio").to_dict()
        for metric in ("mean_wait_s", "mean_turnaround_s", "makespan_s")
    }
    table = found["makespan_s"]
    known = [table.get(p, {}).get(label, np.nan) for p in policies for label in run_times]
    return found if np.isfinite(known).all() else None


def fattree_claims(part: pd.DataFrame) -> list[Claim]:
    """Jigsaw's and Pollard's conclusions for one log; ratios are to Baseline."""
    ratios = _ratios(part, cases.POLICIES["fattree"], (MAIN, "10%", "V2"))
    if ratios is None:
        return []
    log = str(part["log"].iloc[0])
    metric, word, where = (
        ("makespan_s", "makespan", "Jigsaw 6.3")
        if log in cases.AT_ZERO
        else ("mean_turnaround_s", "turnaround", "Jigsaw 6.2")
    )
    told = "with measured run times too; expected: our run with the assumed "
    ten = f"{told}10 %"
    says, mine = Says(where, MAIN), ratios[metric]["jigsaw"]
    what = f"{log}: Jigsaw's {word} is not above Baseline's"
    claims = [says.at_most(what, mine[MAIN], 1, note=ten).beside(mine["10%"])]
    if log in cases.AT_ZERO:
        ta = ratios[metric]["ta"]
        what = f"{log}: TA's makespan is above Baseline's (in all scenarios but 20 %)"
        claims.append(says.above(what, ta[MAIN], 1, note=ten).beside(ta["10%"]))
    says, turnaround = Says("Jigsaw 6.2", MAIN), ratios["mean_turnaround_s"]
    note = f"Jigsaw over the other; {ten}"
    for other in ("ta", "laas"):
        over = {k: turnaround["jigsaw"][k] / turnaround[other][k] for k in (MAIN, "10%")}
        what = f"{log}: turnaround under Jigsaw below that under {other}"
        claims.append(says.below(what, over[MAIN], 1, note=note).beside(over["10%"]))
    says, wait = Says("Pollard V-E, VII", MAIN), ratios["mean_wait_s"]["ta"]
    what = f"{log}: speed-ups make up for TA's longer waits"
    note = f"mean wait over Baseline's; {told}V2"
    return [*claims, says.at_most(what, wait[MAIN], 1.05, note=note).beside(wait["V2"])]


def dragonfly_claims(part: pd.DataFrame) -> list[Claim]:
    """Level-Spread against the others; the paper has no queue, so there are no numbers beside."""
    ratios = _ratios(part, cases.POLICIES["dragonfly"], (MAIN,))
    if ratios is None:
        return []
    ratio = {name: known[MAIN] for name, known in ratios["mean_turnaround_s"].items()}
    ratio["rdn"] = 1.0
    what = f"{part['log'].iloc[0]}: turnaround under Level-Spread below that under"
    says = Says("Level-Spread (communication time only)", MAIN)
    return [
        says.below(f"{what} {other}", ratio["level-spread"] / ratio[other], 1)
        for other in ("rdn", "rdg", "simple")
    ]


QUEUES = PaperFigure(
    "queues",
    "queues with assumed and with measured run times",
    MEASURE,
    first_points,
    analyse,
    draw_queues,
    Then(QUEUE, queue_points),
)


# What the verdict holds fixed, varied


def _varied(options: Options) -> list[tuple[Case, Machine]]:
    """On Thunder's, whose snapshots take seconds; with ``--scale quick`` the small one."""
    return [
        (case, machine)
        for case in cases.asked_for(cases.SENSITIVITY, options)
        if case.length == 1 or not options.quick
        for machine in cases.machines("fattree", options)
        if machine.log in ("thunder", cases.SMALL_LOG)
    ]


def sensitivity_points(options: Options) -> list[Point]:
    """The same instants of the schedule in every case."""
    return [
        point
        for case, machine in _varied(options)
        for point in measure_points(machine, case, options.seed, machine.snapshots[1])
    ]


def sensitivity_queues(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """Baseline's queue as logged, and Jigsaw's with the run times of every case that timed runs."""
    pairs, seed = measured_pairs(frames), options.seed
    logged = {machine.log: machine for _, machine in _varied(options)}.values()
    points = [queue_point(machine, cases.REFERENCES["fattree"], LOGGED, seed) for machine in logged]
    for case, machine in _varied(options):
        table = speedups(pairs, "fattree", machine.log, case.name, seed)
        if table.rows and case.duty < 1:
            points.append(queue_point(machine, SPED_UP, case.name, seed, table))
    return points


def sensitivity_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Time off and Jigsaw's makespan in every case; whether the paper's conclusion stands there."""
    off = off_table(measured_pairs(frames), options.seed)
    runs = against_reference(frames["runs"])
    runs = runs[runs["policy"] == SPED_UP]
    claims = []
    for row in runs.to_dict("records"):
        says = Says("Jigsaw 6.3", str(row["run_times"]))
        what, ratio = f"{row['log']}: Jigsaw's makespan is not above Baseline's", "makespan_s_ratio"
        claims.append(says.at_most(what, row[ratio], 1, note="ratio of makespans"))
    notes = () if options.quick else log_notes(cases.LOGS[:1], options)
    return Analysis(claims_frame(claims), {"off": off, "queues": runs}, notes)


SENSITIVITY_FIGURE = PaperFigure(
    "sensitivity",
    "what the verdict holds fixed, varied: Baseline's nodes, ranks a node, length of the runs",
    MEASURE,
    sensitivity_points,
    sensitivity_analyse,
    draw_sensitivity,
    Then(QUEUE, sensitivity_queues),
)
