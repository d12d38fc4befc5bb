"""Figs. 7 and 8 and Table 3 of the Jigsaw paper: turnaround, makespan, scheduling time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.papers.jigsaw import printed
from experiments.papers.jigsaw.logs import (
    ATLAS,
    CAB,
    KTH,
    POLICIES,
    SYNTHETIC,
    THETA,
    THUNDER,
    paper_name,
    points,
)
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import against_baseline, first_seen, groups, lookup
from experiments.papers.kit.logs import log_notes
from experiments.papers.kit.points import OBSERVE
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SCENARIOS = ("none", "5%", "10%", "20%", "V2", "Random")
FIG7_LOGS = (CAB["aug"], CAB["oct"], THETA, KTH)
FIG8_LOGS = (THUNDER, ATLAS)
TABLE3_LOGS = (SYNTHETIC[0], CAB["sep"], THUNDER, SYNTHETIC[2])
STAND_INS = tuple(log.name for log in FIG7_LOGS if log.stands_for)
CASE = ["policy", "scenario"]


def fig7_points(options: Options) -> list[Point]:
    """Logs with real arrivals, every policy and scenario."""
    return points(FIG7_LOGS, POLICIES, options, {"queue.scenario": SCENARIOS})


def fig7_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Turnaround over Baseline's: the paper's words, on Cab or on what stands in for it."""
    columns = ["mean_turnaround_s", "mean_turnaround_large_s"]
    table = against_baseline(frames["runs"], columns)
    claims: list[Claim] = []
    for (log,), part in groups(table, "log"):
        ratio = lookup(part, CASE, "mean_turnaround_s_ratio")
        large = lookup(part, CASE, "mean_turnaround_large_s_ratio")
        says = Says("6.2, Fig. 7" + (" (other log)" if log in STAND_INS else ""), "all jobs")
        for scenario in ("10%", "20%"):
            what = f"{log}, {scenario}: Jigsaw below Baseline"
            claims.append(says.below(what, ratio["jigsaw", scenario], 1))
        for other in ("ta", "laas"):
            held = [ratio["jigsaw", s] < ratio[other, s] for s in SCENARIOS]
            what = f"{log}: Jigsaw below {other} in every scenario"
            claims.append(says.everywhere(what, held, "scenarios"))
        if log == "oct-cab":
            for (policy, kind), paper in printed.OCT_CAB_10.items():
                ours = (ratio if kind == "all" else large)[policy, "10%"]
                says = Says("6.2", f"{kind} jobs")
                claims.append(says.near(f"{log}, 10%: {policy}", paper, ours, within=0.05))
    keep = ["log", *CASE, "large_jobs", *columns, *(f"{c}_ratio" for c in columns)]
    notes = log_notes(FIG7_LOGS, options, table["log"])
    return Analysis(claims_frame(claims), {"turnaround": table[keep]}, notes)


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Filled bars: all jobs; outlines: jobs of more than 100 nodes."""
    return _scenario_bars(
        analysis.tables["turnaround"],
        "mean_turnaround_s_ratio",
        "turnaround above Baseline's (%)",
        outline="mean_turnaround_large_s_ratio",
    )


def fig8_points(options: Options) -> list[Point]:
    """Thunder and Atlas, every policy and scenario."""
    return points(FIG8_LOGS, POLICIES, options, {"queue.scenario": SCENARIOS})


def fig8_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Makespans over Baseline's: the worst and the best that the text tells."""
    table = against_baseline(frames["runs"], ["makespan_s"])
    above = table.assign(percent=100 * (table["makespan_s_ratio"] - 1))
    says, claims = Says("6.3, Fig. 8"), []
    worst = above[above["scenario"] == "none"].groupby("policy")["percent"].max()
    for policy, paper in printed.MAKESPAN_WORST.items():
        if policy in worst.index:
            what = f"{policy}: makespan above Baseline, no speed-up, worst log (%)"
            claims.append(says.near(what, paper, float(worst[policy]), within=1, unit="points"))
    best = float(above.loc[above["policy"] == "jigsaw", "percent"].min())
    what = "jigsaw: makespan above Baseline, best scenario (%)"
    claims.append(says.near(what, printed.MAKESPAN_BEST_JIGSAW, best, within=2, unit="points"))
    ta = above[(above["policy"] == "ta") & (above["scenario"] != "20%")]["percent"]
    what = "ta: makespan above Baseline in every scenario but 20 % (least, %)"
    claims.append(says.above(what, float(ta.min()), 0))
    keep = ["log", *CASE, "makespan_s", "makespan_s_ratio"]
    notes = log_notes(FIG8_LOGS, options)
    return Analysis(claims_frame(claims), {"makespan": table[keep]}, notes)


def fig8_draw(analysis: Analysis, options: Options) -> Figure:
    """One panel a log, groups of bars by scenario; the paper's worst case on our worst log."""
    table = analysis.tables["makespan"]
    plain = table[table["scenario"] == "none"].set_index(["log", "policy"])["makespan_s_ratio"]
    worst = {
        (str(plain.xs(policy, level="policy").idxmax()), policy): percent
        for policy, percent in printed.MAKESPAN_WORST.items()
        if policy in plain.index.get_level_values("policy")
    }
    return _scenario_bars(table, "makespan_s_ratio", "makespan above Baseline's (%)", marks=worst)


def _scenario_bars(
    table: pd.DataFrame,
    column: str,
    label: str,
    *,
    outline: str | None = None,
    marks: Mapping[tuple[str, str], float] | None = None,
) -> Figure:
    """Percent above Baseline, one panel a log; ``marks``: the paper's, without speed-ups."""
    from experiments.papers.kit.panels import grouped_bars, panels

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        [log] = first_seen(rows, "log")
        here = {("none", p): height for (where, p), height in (marks or {}).items() if where == log}
        grouped_bars(
            axis,
            rows,
            "scenario",
            "policy",
            column,
            scale=100,
            zero=1,
            outline=outline,
            marks=here,
            order=first_seen(table, "scenario"),
        )

    return panels(table, "log", draw, ylabel=label)


def table3_points(options: Options) -> list[Point]:
    """Four logs, the policies that search."""
    return points(TABLE3_LOGS, POLICIES[1:], options)


def table3_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Seconds a job spent in the policy; the paper's is another machine, so slower fails only."""
    says, claims = Says("Table 3"), []
    for row in frames["timing"].to_dict("records"):
        policy, log = str(row["policy"]), str(row["log"])
        paper_ms = 1e3 * printed.TABLE3[policy][paper_name(log)]
        what = f"{log}, {policy}: scheduling a job (ms)"
        ours_ms = 1e3 * float(row["mean_scheduling_s"])
        claims.append(says.at_most(what, ours_ms, paper_ms, paper=paper_ms))
    notes = log_notes(TABLE3_LOGS, options)
    return Analysis(claims_frame(claims), {"timing": frames["timing"]}, notes)


FIG7 = PaperFigure(
    "fig7", "turnaround by speed-up scenario", OBSERVE, fig7_points, fig7_analyse, fig7_draw
)
FIG8 = PaperFigure(
    "fig8", "makespan by speed-up scenario", OBSERVE, fig8_points, fig8_analyse, fig8_draw
)
TABLE3 = PaperFigure("table3", "scheduling time a job", OBSERVE, table3_points, table3_analyse)
