"""Figs. 7 and 8 and Table 3 of the Jigsaw paper: turnaround, makespan, scheduling time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.fattree.common import queue_points
from experiments.papers.fattree.logs import (
    ATLAS,
    JIGSAW_CAB,
    KTH,
    SYNTHETIC,
    THETA,
    THUNDER,
    PaperLog,
    skipped_notes,
)
from experiments.papers.fattree.point import QUEUE
from experiments.papers.jigsaw import printed
from experiments.papers.jigsaw.utilisation import POLICIES, paper_name
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import against_baseline, groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SCENARIOS = ("none", "5%", "10%", "20%", "V2", "Random")
FIG7_LOGS = (JIGSAW_CAB["aug"], JIGSAW_CAB["oct"], THETA, KTH)
FIG8_LOGS = (THUNDER, ATLAS)
TABLE3_LOGS = (SYNTHETIC[0], JIGSAW_CAB["sep"], THUNDER, SYNTHETIC[2])
STAND_INS = tuple(log.name for log in FIG7_LOGS if log.stands_for)
RATIO_RULE = "within 0.05"


def fig7_points(options: Options) -> list[Point]:
    """Logs with real arrivals, every policy and scenario."""
    return queue_points(FIG7_LOGS, POLICIES, options, scenarios=SCENARIOS)


def fig7_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Turnaround over Baseline's: the paper's words, on Cab or on what stands in for it."""
    columns = ["mean_turnaround_s", "mean_turnaround_large_s"]
    table = against_baseline(frames["runs"], columns)
    claims: list[Claim] = []
    for (log,), part in groups(table, "log"):
        ratio = part.set_index(["policy", "scenario"])["mean_turnaround_s_ratio"].to_dict()
        large = part.set_index(["policy", "scenario"])["mean_turnaround_large_s_ratio"].to_dict()
        where = "6.2, Fig. 7" + (" (other log)" if log in STAND_INS else "")
        for scenario in ("10%", "20%"):
            claims.append(
                Claim(
                    f"{log}, {scenario}: Jigsaw below Baseline",
                    where,
                    ratio["jigsaw", scenario] < 1,
                    "ratio below 1",
                    "all jobs",
                    None,
                    ratio["jigsaw", scenario],
                )
            )
        for other in ("ta", "laas"):
            worse = [s for s in SCENARIOS if ratio["jigsaw", s] >= ratio[other, s]]
            claims.append(
                Claim(
                    f"{log}: Jigsaw below {other} in every scenario",
                    where,
                    not worse,
                    "all six",
                    "all jobs",
                    6.0,
                    6.0 - len(worse),
                )
            )
        if log == "oct-cab":
            for (policy, kind), paper in printed.OCT_CAB_10.items():
                ours = (ratio if kind == "all" else large)[policy, "10%"]
                claims.append(
                    Claim(
                        f"{log}, 10%: {policy}",
                        "6.2",
                        abs(ours - paper) <= 0.05,
                        RATIO_RULE,
                        f"{kind} jobs",
                        paper,
                        ours,
                    )
                )
    keep = ["log", "policy", "scenario", "large_jobs", *columns, *(f"{c}_ratio" for c in columns)]
    return Analysis(
        claims_frame(claims), {"turnaround": table[keep]}, _notes(FIG7_LOGS, table, options)
    )


def _notes(logs: tuple[PaperLog, ...], table: pd.DataFrame, options: Options) -> tuple[str, ...]:
    """What was skipped, and what stood in for it."""
    used = [log for log in logs if log.stands_for and (table["log"] == log.name).any()]
    return (
        *skipped_notes(logs, options),
        *(f"{log.name} on {dict(log.machine)} stands in for {log.stands_for}" for log in used),
    )


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Filled bars: all jobs; outlines: jobs of more than 100 nodes."""
    return _scenario_bars(
        analysis.tables["turnaround"],
        "mean_turnaround_s_ratio",
        "turnaround above Baseline's (%)",
        "mean_turnaround_large_s_ratio",
    )


def fig8_points(options: Options) -> list[Point]:
    """Thunder and Atlas, every policy and scenario."""
    return queue_points(FIG8_LOGS, POLICIES, options, scenarios=SCENARIOS)


def fig8_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Makespans over Baseline's: the worst and the best that the text tells."""
    table = against_baseline(frames["runs"], ["makespan_s"])
    above = table.assign(percent=100 * (table["makespan_s_ratio"] - 1))
    claims = []
    worst = above[above["scenario"] == "none"].groupby("policy")["percent"].max()
    for policy, paper in printed.MAKESPAN_WORST.items():
        if policy in worst.index:
            ours = float(worst[policy])
            claims.append(
                Claim(
                    f"{policy}: makespan above Baseline, no speed-up, worst log (%)",
                    "6.3, Fig. 8",
                    abs(ours - paper) <= 1.0,
                    "within 1 percentage point",
                    "",
                    paper,
                    ours,
                )
            )
    mine = above[above["policy"] == "jigsaw"]
    best = float(mine["percent"].min())
    claims.append(
        Claim(
            "jigsaw: makespan above Baseline, best scenario (%)",
            "6.3, Fig. 8",
            abs(best - printed.MAKESPAN_BEST_JIGSAW) <= 2.0,
            "within 2 percentage points",
            "",
            printed.MAKESPAN_BEST_JIGSAW,
            best,
        )
    )
    ta = above[(above["policy"] == "ta") & ~above["scenario"].isin(["20%"])]
    claims.append(
        Claim(
            "ta: makespan above Baseline in every scenario but 20 % (least, %)",
            "6.3, Fig. 8",
            bool((ta["percent"] > 0).all()),
            "above 0",
            "",
            None,
            float(ta["percent"].min()),
        )
    )
    keep = ["log", "policy", "scenario", "makespan_s", "makespan_s_ratio"]
    return Analysis(
        claims_frame(claims), {"makespan": table[keep]}, skipped_notes(FIG8_LOGS, options)
    )


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
    outline_column: str | None = None,
    marks: Mapping[tuple[str, str], float] | None = None,
) -> Figure:
    """Percent above Baseline, one panel a log; ``marks``: the paper's, without speed-ups."""
    import numpy as np

    from experiments.figures.style import INK, colour, grid, new_figure, shared_legend

    logs = list(dict.fromkeys(table["log"]))
    scenarios = list(dict.fromkeys(table["scenario"]))
    policies = list(dict.fromkeys(table["policy"]))
    figure, axes = new_figure(7.5, 0.8 + 2.4 * len(logs), len(logs), 1)
    width = 0.8 / len(policies)
    for axis, log in zip(axes, logs, strict=True):
        for i, policy in enumerate(policies):
            mine = table[(table["log"] == log) & (table["policy"] == policy)]
            mine = mine.set_index("scenario").reindex(scenarios)
            x = np.arange(len(scenarios)) + (i - (len(policies) - 1) / 2) * width
            if outline_column is not None:
                heights = 100 * (mine[outline_column].to_numpy(dtype=float) - 1)
                axis.bar(x, heights, width * 0.9, fill=False, edgecolor=colour(i))
            heights = 100 * (mine[column].to_numpy(dtype=float) - 1)
            axis.bar(x, heights, width * 0.9, color=colour(i), label=policy)
            if marks is not None and (log, policy) in marks and "none" in scenarios:
                at = x[scenarios.index("none")]
                half = 0.45 * width
                axis.hlines(marks[log, policy], at - half, at + half, color=INK, lw=2)
        if marks is not None and any(where == log for where, _ in marks):
            axis.hlines([], 0, 0, color=INK, lw=2, label="paper, worst log")
        axis.axhline(0, color=INK, lw=0.8)
        axis.set_xticks(range(len(scenarios)), scenarios)
        axis.set_ylabel(label, fontsize=8)
        axis.set_title(log, fontsize=9)
        grid(axis)
    shared_legend(figure, axes)
    return figure


def table3_points(options: Options) -> list[Point]:
    """Four logs, the policies that search."""
    return queue_points(TABLE3_LOGS, POLICIES[1:], options)


def table3_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Seconds a job spent in the policy; the paper's is another machine, so slower fails only."""
    claims = []
    for row in frames["timing"].to_dict("records"):
        policy, log = str(row["policy"]), str(row["log"])
        paper, ours = printed.TABLE3[policy][paper_name(log)], float(row["mean_scheduling_s"])
        claims.append(
            Claim(
                f"{log}, {policy}: scheduling a job (ms)",
                "Table 3",
                ours <= paper,
                "not slower",
                "",
                1e3 * paper,
                1e3 * ours,
            )
        )
    return Analysis(
        claims_frame(claims), {"timing": frames["timing"]}, skipped_notes(TABLE3_LOGS, options)
    )


FIG7 = PaperFigure(
    "fig7", "turnaround by speed-up scenario", QUEUE, fig7_points, fig7_analyse, fig7_draw
)
FIG8 = PaperFigure(
    "fig8", "makespan by speed-up scenario", QUEUE, fig8_points, fig8_analyse, fig8_draw
)
TABLE3 = PaperFigure("table3", "scheduling time a job", QUEUE, table3_points, table3_analyse)
