"""Tables 1 to 3 and Figs. 6 to 8 of the Jigsaw paper.

The logs, what the machine was used for, turnaround, makespan, scheduling time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.kit.claims import Claim, ClaimBuilder
from experiments.kit.data import read_printed
from experiments.kit.fat_tree_logs import ISOLATING, KTH, LOGS, THETA, paper_name
from experiments.kit.frames import against_baseline, first_seen, groups, lookup
from experiments.kit.logs import present
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.papers import Analysis, Options, PaperFigure, Point
from experiments.kit.queues import Found, Frames, noted
from netcosim.config.content import checked_config
from netcosim.runs.draws import Draws
from netcosim.runs.store import Rows
from queuesim.observables.machine import EACH

printed = read_printed("jigsaw")
PAPER_LOGS = [log for log in LOGS.values() if not log.stands_for]
DESCRIBE = "experiments.jigsaw.figures:describe_log"
ANY_SIZE = 10**6
MAXIMUM_SCATTER = 1.81
"""Standard deviation of the difference of two largest exponential draws, in means: pi / sqrt(3)."""
SCENARIOS = ("none", "5%", "10%", "20%", "V2", "Random")
STAND_INS = (THETA.name, KTH.name)
CASE = ["policy", "scenario"]
FIG6 = "6.1 (words of Fig. 6)"


def table1_points(options: Options) -> list[Point]:
    """Return one point a log."""
    return [
        {
            "experiment": "jigsaw-log",
            "log": log.name,
            "config": checked_config(
                {**sections, "queue": {"policies": ["baseline"]}, "run": {"seed": options.seed}}
            ).resolved(),
        }
        for log, sections in present(PAPER_LOGS, options)
    ]


def describe_log(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return one row on a log: jobs, largest job, run times."""
    config = checked_config(point["config"])
    rng = Draws(config.resolved()).rng("workload")
    workload = config.workload.source().jobs(ANY_SIZE, rng)
    row = {
        "log": point["log"],
        "jobs": len(workload),
        "max_nodes": int(workload.n_nodes.max()),
        "min_run_s": float(workload.run_time_s.min()),
        "max_run_s": float(workload.run_time_s.max()),
        "mean_nodes": float(workload.n_nodes.mean()),
        "single_node_jobs": int((workload.n_nodes == 1).sum()),
        "notes": "; ".join(workload.notes),
    }
    return {"logs": [row]}


def table1_claims(frames: Frames) -> Found:
    """Compare jobs, largest job and run times of each log with the paper's row."""
    check, claims = ClaimBuilder("Table 1"), []
    for row in frames["logs"].to_dict("records"):
        log = str(row["log"])
        what = ("jobs", "max_nodes", "min_run_s", "max_run_s")
        for column, paper in zip(what, printed["table_1"][paper_name(log)], strict=True):
            simulated, text = float(row[column]), f"{log}: {column}"
            if not log.startswith("synth") or column == "jobs":
                claim = check.equal(text, float(paper), simulated)
            elif column == "max_nodes":
                scatter = MAXIMUM_SCATTER * float(row["mean_nodes"])
                claim = check.near(
                    text, float(paper), simulated, within=3 * scatter, note="3 sigma"
                )
            else:
                claim = check.near(
                    text, float(paper), simulated, within=15, unit="%", note="a draw"
                )
            claims.append(claim)
    return claims, {"logs": frames["logs"]}


def fig6_claims(frames: Frames) -> Found:
    """Compare steady-state utilisation with the paper's ranges and order of policies."""
    runs, claims = frames["runs"], []
    for (log,), part in groups(runs, "log"):
        percent = {p: 100 * u for p, u in lookup(part, ["policy"], "steady_utilisation").items()}
        for policy, simulated in percent.items():
            ranges = printed["fig6"].get(policy)
            if ranges is not None:
                low, high = ranges.get(log, ranges["others"])
                check, what = ClaimBuilder(FIG6), f"{log}, {policy}: {low:g}-{high:g} %"
                claims.append(check.between(what, low, high, simulated, within=1, unit="points"))
        check = ClaimBuilder("6.1")
        if {"jigsaw", "lc-s"} <= percent.keys():
            above = percent["lc-s"] - percent["jigsaw"]
            what = f"{log}: LC+S above Jigsaw by at most 3.7 points"
            most = printed["lc-s"]["above_jigsaw"]
            rule = f"0 to {most:g}, within 1 percentage point"
            claims.append(check.holds(what, -1 <= above <= most + 1, rule, above, paper=most))
        if set(ISOLATING) <= percent.keys():
            ascending = {policy: percent[policy] for policy in ("ta", "laas", "jigsaw")}
            claims.append(check.ordered(f"{log}: TA < LaaS < Jigsaw", ascending))
    keep = ["log", "machine_nodes", "policy", "jobs", "steady_utilisation", "steady_allocated"]
    keep += ["to_last_start", "utilisation", "makespan_s", "notes"]
    return claims, {"utilisation": runs[keep]}


def fig6_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw bars from 80 %, as in the paper."""
    table = analysis.tables["utilisation"]

    marks = {
        (log, policy): ranges.get(log, ranges["others"])
        for policy, ranges in printed["fig6"].items()
        for log in first_seen(table, "log")
    }

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        percent = Heights("steady_utilisation", scale=100)
        grouped_bars(axis, rows, "log", "policy", percent, marks=marks)
        axis.set_ylim(80, 100)

    width = max(6.0, 1.2 * table["log"].nunique() + 1)
    return panels(table, (), draw, size_in=(width, 3.0), ylabel="steady-state utilisation (%)")


def table2_claims(frames: Frames) -> Found:
    """Compare shares of the counts in each range with the paper's."""
    check, claims, rows = ClaimBuilder("Table 2"), [], []
    ranges = frames["ranges"]
    for row in ranges[ranges["counting"] == EACH].to_dict("records"):
        policy = str(row["policy"])
        ranges, paper = printed["table_2"]["ranges"], printed["table_2"]["counts"][policy]
        simulated = [int(row[name]) for name in ranges]
        for name, published, mine in zip(ranges, paper, simulated, strict=True):
            their_share, my_share = 100 * published / sum(paper), 100 * mine / sum(simulated)
            rows.append((policy, name, published, mine, mine / published, their_share, my_share))
            what = f"{policy}: share of events at {name} % (%)"
            claims.append(check.near(what, their_share, my_share, within=5, unit="points"))
    columns = [
        "policy",
        "range_percent",
        "paper",
        "simulated",
        "ratio",
        "paper_percent",
        "simulated_percent",
    ]
    return claims, {"counts": pd.DataFrame(rows, columns=columns)}


def fig7_claims(frames: Frames) -> Found:
    """Compare turnaround over Baseline's with the paper's text, on Cab or its substitute."""
    columns = ["mean_turnaround_s", "mean_turnaround_large_s"]
    table = against_baseline(frames["runs"], columns)
    claims: list[Claim] = []
    for (log,), part in groups(table, "log"):
        ratio = lookup(part, CASE, "mean_turnaround_s_ratio")
        large = lookup(part, CASE, "mean_turnaround_large_s_ratio")
        check = ClaimBuilder(
            "6.2, Fig. 7" + (" (other log)" if log in STAND_INS else ""), "all jobs"
        )
        for scenario in ("10%", "20%"):
            what = f"{log}, {scenario}: Jigsaw below Baseline"
            claims.append(check.below(what, ratio["jigsaw", scenario], 1))
        for other in ("ta", "laas"):
            held = [ratio["jigsaw", s] < ratio[other, s] for s in SCENARIOS]
            what = f"{log}: Jigsaw below {other} in every scenario"
            claims.append(check.everywhere(what, held, "scenarios"))
        if log == "oct-cab":
            for policy, papers in printed["oct_cab_10"].items():
                for kind, paper in papers.items():
                    simulated = (ratio if kind == "all" else large)[policy, "10%"]
                    check = ClaimBuilder("6.2", f"{kind} jobs")
                    claims.append(
                        check.near(f"{log}, 10%: {policy}", paper, simulated, within=0.05)
                    )
    keep = ["log", *CASE, "large_jobs", *columns, *(f"{c}_ratio" for c in columns)]
    return claims, {"turnaround": table[keep]}


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw all jobs as filled bars, and jobs of more than 100 nodes as outlines."""
    papers = printed["oct_cab_10"]
    marks = {("oct-cab", "10%", p): 100 * (ratio["all"] - 1) for p, ratio in papers.items()}
    return _scenario_bars(
        analysis.tables["turnaround"],
        "mean_turnaround_s_ratio",
        "turnaround above Baseline's (%)",
        outline="mean_turnaround_large_s_ratio",
        marks=marks,
    )


def fig8_claims(frames: Frames) -> Found:
    """Compare makespans over Baseline's with the worst and the best that the text states."""
    table = against_baseline(frames["runs"], ["makespan_s"])
    above = table.assign(percent=100 * (table["makespan_s_ratio"] - 1))
    check, claims = ClaimBuilder("6.3, Fig. 8"), []
    worst = above[above["scenario"] == "none"].groupby("policy")["percent"].max()
    for policy, paper in printed["makespan"]["worst"].items():
        if policy in worst.index:
            what = f"{policy}: makespan above Baseline, no speed-up, worst log (%)"
            claims.append(check.near(what, paper, float(worst[policy]), within=1, unit="points"))
    best = float(above.loc[above["policy"] == "jigsaw", "percent"].min())
    what, paper = "jigsaw: makespan above Baseline, best scenario (%)", printed["makespan"]
    claims.append(check.near(what, paper["best_jigsaw"], best, within=2, unit="points"))
    ta = above[(above["policy"] == "ta") & (above["scenario"] != "20%")]["percent"]
    what = "ta: makespan above Baseline in every scenario but 20 % (least, %)"
    claims.append(check.above(what, float(ta.min()), 0))
    keep = ["log", *CASE, "makespan_s", "makespan_s_ratio"]
    return claims, {"makespan": table[keep]}


def fig8_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw one panel a log, groups of bars by scenario; the paper's worst on the worst log."""
    table = analysis.tables["makespan"]
    plain = table[table["scenario"] == "none"].set_index(["log", "policy"])["makespan_s_ratio"]
    worst = {
        (str(plain.xs(policy, level="policy").idxmax()), "none", policy): percent
        for policy, percent in printed["makespan"]["worst"].items()
        if policy in plain.index.get_level_values("policy")
    }
    return _scenario_bars(table, "makespan_s_ratio", "makespan above Baseline's (%)", marks=worst)


def _scenario_bars(
    table: pd.DataFrame,
    column: str,
    label: str,
    *,
    outline: str | None = None,
    marks: Mapping[tuple[str, str, str], float],
) -> Figure:
    """Draw percent above Baseline, one panel a log; ``marks``: by log, scenario and policy."""

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        [log] = first_seen(rows, "log")
        here = {(case, policy): y for (of, case, policy), y in marks.items() if of == log}
        grouped_bars(
            axis,
            rows,
            "scenario",
            "policy",
            Heights(column, outline=outline, scale=100, zero=1),
            marks=here,
            order=first_seen(table, "scenario"),
        )

    return panels(table, "log", draw, ylabel=label)


def table3_claims(frames: Frames) -> Found:
    """Compare scheduling times a job; on another machine than the paper's, only slower fails."""
    check, claims = ClaimBuilder("Table 3"), []
    for row in frames["timing"].to_dict("records"):
        policy, log = str(row["policy"]), str(row["log"])
        paper_ms = 1e3 * printed["table_3"][policy][paper_name(log)]
        what = f"{log}, {policy}: scheduling a job (ms)"
        simulated_ms = 1e3 * float(row["mean_scheduling_s"])
        claims.append(check.at_most(what, simulated_ms, paper_ms, paper=paper_ms))
    return claims, {"timing": frames["timing"]}


ANALYSES = {
    "fig6": (fig6_claims, fig6_draw),
    "table2": (table2_claims,),
    "fig7": (fig7_claims, fig7_draw),
    "fig8": (fig8_claims, fig8_draw),
    "table3": (table3_claims,),
}
TABLE1 = PaperFigure(
    "table1", "the job logs", DESCRIBE, table1_points, noted(table1_claims, PAPER_LOGS)
)
