"""The queues with assumed and with measured run times: do the papers' conclusions stand?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from experiments.papers.isolation.cases import (
    AT_ZERO,
    CASES,
    LOGS,
    POLICIES,
    REFERENCES,
    Case,
    cases,
    machines,
)
from experiments.papers.isolation.draw import draw_queues
from experiments.papers.isolation.point import (
    MEASURE,
    QUEUE,
    measured_pairs,
    points_of,
    queue_point,
)
from experiments.papers.isolation.shares import counting_share
from experiments.papers.isolation.tables import speedups
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import groups, lookup
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure, Point, Then
from queuesim.assumed import SCENARIOS

if TYPE_CHECKING:
    import pandas as pd

NETWORKS = ("fattree", "dragonfly")
LOGGED = "as logged"
LIVE = "measured, f = {}"
MAIN = LIVE.format("0.3")
ALWAYS = "all the time, window cut, "
"""Measured with all jobs communicating all the time, until each has done its iterations: no bound
from above, for jobs that others slow down run on alone when those have ended."""
METRICS = ("mean_wait_s", "mean_turnaround_s", "mean_turnaround_large_s", "makespan_s")
TOO = "with measured run times too"


class Variant(NamedTuple):
    """A way to take measured run times.

    Attributes
    ----------
    label : str
    case : Case
    share : str
    bound : str
    """

    label: str
    case: Case
    share: str
    bound: str = "mean"


def _variants(network: str) -> list[Variant]:
    """The measured run times of a network."""
    known = CASES[network]
    always = {case.routing: case for case in known if case.name == case.routing}
    live = {f"{case.duty:g}": case for case in known if case.duty < 1}
    found = [Variant(LIVE.format(share), live[share], share) for share in sorted(live)]
    for end in ("low", "high"):
        found.append(Variant(f"{MAIN}, {end} end", live["0.3"], "0.3", end))
    for routing, case in always.items():
        found.append(Variant(f"{ALWAYS}{routing}, f = 0.3", case, "0.3"))
    found.append(Variant(f"{ALWAYS}{known[0].routing}, f = 0.1-0.5", known[0], "mix"))
    return found


def first_points(options: Options) -> list[Point]:
    """The measured points of both networks: those of the figures ``fattree`` and ``dragonfly``."""
    return [point for network in NETWORKS for point in points_of(network, options)]


def queue_points(frames: Mapping[str, pd.DataFrame], options: Options) -> list[Point]:
    """The logs under each policy, as logged, with each scenario, and with measured run times.

    Dragonfly policies place by count: with equal run times their schedules are equal, and no
    paper assumes speed-ups for them.
    """
    pairs = measured_pairs(frames)
    points = []
    for network in NETWORKS:
        chosen, policies = cases(network, options), POLICIES[network]
        for machine in machines(network, options):
            points.append(queue_point(machine, REFERENCES[network], LOGGED, options.seed))
            for label, case, share, bound in _variants(network):
                table = speedups(pairs, network, machine.log, case.name, options.seed)
                if case in chosen and table.rows:
                    counted = counting_share(case.duty, share)
                    points += [
                        queue_point(
                            machine, policy, label, options.seed, table, share=counted, bound=bound
                        )
                        for policy in policies
                    ]
            if network == "fattree":
                points += [
                    queue_point(machine, policy, scenario, options.seed, scenario=scenario)
                    for scenario in SCENARIOS
                    for policy in policies
                ]
    return points


def against_reference(runs: pd.DataFrame) -> pd.DataFrame:
    """Every run's metrics over those of the same network and log under the reference."""
    places = ["network", "log"]
    first = runs["policy"] == runs["network"].map(REFERENCES)
    base = runs[places].merge(runs[first & (runs["run_times"] == LOGGED)], on=places, how="left")
    ratios = {}
    for column in (*METRICS, "mean_run_s"):
        theirs = base[column].astype(float)
        ratios[f"{column}_ratio"] = (
            runs[column].astype(float).to_numpy() / theirs.where(theirs > 0).to_numpy()
        )
    return runs.assign(**ratios)


def break_even(percent: Sequence[float], ratio: Sequence[float]) -> float:
    """Percent off the run time at which a ratio falls to 1, linear between what is known.

    Parameters
    ----------
    percent, ratio : sequences of float
        Ascending percents, and the ratio with each.

    Returns
    -------
    float
        0 if the first ratio is at most 1; nan if none is.
    """
    for i, (x, y) in enumerate(zip(percent, ratio, strict=True)):
        if y <= 1:
            if i == 0:
                return 0.0
            x0, y0 = percent[i - 1], ratio[i - 1]
            return float(x0 + (x - x0) * (y0 - 1) / (y0 - y))
    return float("nan")


def break_even_table(runs: pd.DataFrame) -> pd.DataFrame:
    """By how much jobs of more than four nodes would have to be faster, by log and policy."""
    import pandas as pd

    rows = []
    constant = {"none": 0.0, "5%": 5.0, "10%": 10.0, "20%": 20.0}
    told = runs[(runs["network"] == "fattree") & runs["run_times"].isin(constant)]
    for (log, policy), part in groups(told, "log", "policy"):
        part = part.assign(x=part["run_times"].map(constant)).sort_values("x")
        row: dict[str, object] = {"log": log, "policy": policy}
        for column in METRICS:
            known = part[part[f"{column}_ratio"].notna()]
            row[column.removesuffix("_s")] = break_even(
                known["x"].tolist(), known[f"{column}_ratio"].tolist()
            )
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
    notes = () if options.quick else log_notes(LOGS, options)
    return Analysis(claims_frame(claims), tables, notes)


def _ratios(
    part: pd.DataFrame, policies: Sequence[str], run_times: Sequence[str]
) -> dict[str, dict[tuple[str, str], float]] | None:
    """By metric, of each policy with each run times; None unless all of these are there.

    Points may have failed or not been asked for.
    """
    metrics = ("mean_wait_s", "mean_turnaround_s", "makespan_s")
    found = {m: lookup(part, ("policy", "run_times"), f"{m}_ratio") for m in metrics}
    wanted = [(policy, label) for policy in policies for label in run_times]
    return found if all(key in found["makespan_s"] for key in wanted) else None


def fattree_claims(part: pd.DataFrame) -> list[Claim]:
    """Jigsaw's and Pollard's conclusions for one log; ratios are to Baseline."""
    ratios = _ratios(part, POLICIES["fattree"], (MAIN, "10%", "V2"))
    if ratios is None:
        return []
    log = str(part["log"].iloc[0])
    metric, word, where = (
        ("makespan_s", "makespan", "Jigsaw 6.3")
        if log in AT_ZERO
        else ("mean_turnaround_s", "turnaround", "Jigsaw 6.2")
    )
    queued, turnaround, wait = (ratios[m] for m in (metric, "mean_turnaround_s", "mean_wait_s"))
    assumed = f"{TOO}; expected: our run with the assumed "
    says = Says(where, MAIN)
    claims = [
        says.at_most(
            f"{log}: Jigsaw's {word} is not above Baseline's",
            queued["jigsaw", MAIN],
            1,
            expected=queued["jigsaw", "10%"],
            note=f"{assumed}10 %",
        )
    ]
    if log in AT_ZERO:
        claims.append(
            says.above(
                f"{log}: TA's makespan is above Baseline's (in all scenarios but 20 %)",
                queued["ta", MAIN],
                1,
                expected=queued["ta", "10%"],
                note=f"{assumed}10 %",
            )
        )
    claims += [
        Says("Jigsaw 6.2", MAIN).below(
            f"{log}: turnaround under Jigsaw below that under {other}",
            turnaround["jigsaw", MAIN] / turnaround[other, MAIN],
            1,
            expected=turnaround["jigsaw", "10%"] / turnaround[other, "10%"],
            note=f"Jigsaw over the other; {assumed}10 %",
        )
        for other in ("ta", "laas")
    ]
    claims.append(
        Says("Pollard V-E, VII", MAIN).at_most(
            f"{log}: speed-ups make up for TA's longer waits",
            wait["ta", MAIN],
            1.05,
            expected=wait["ta", "V2"],
            note=f"mean wait over Baseline's; {assumed}V2",
        )
    )
    return claims


def dragonfly_claims(part: pd.DataFrame) -> list[Claim]:
    """Level-Spread against the others; the paper has no queue, so there are no numbers beside."""
    ratios = _ratios(part, POLICIES["dragonfly"], (MAIN,))
    if ratios is None:
        return []
    log = str(part["log"].iloc[0])
    ratio = {("rdn", MAIN): 1.0, **ratios["mean_turnaround_s"]}
    says = Says("Level-Spread (communication time only)", MAIN)
    return [
        says.below(
            f"{log}: turnaround under Level-Spread below that under {other}",
            ratio["level-spread", MAIN] / ratio[other, MAIN],
            1,
        )
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
