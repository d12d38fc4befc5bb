"""Figs. 7 to 10 and Table I of the topology-aware paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.fattree.common import queue_points
from experiments.papers.fattree.logs import POLLARD_CAB, POLLARD_OTHERS, skipped_notes
from experiments.papers.fattree.point import QUEUE
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import against_baseline, groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.papers.pollard import printed
from experiments.papers.pollard.draw import fig7_draw, fig8_draw, fig9_draw, fig10_draw

if TYPE_CHECKING:
    import pandas as pd

POLICIES = ("baseline", "ta")
SCENARIOS = ("none", "5%", "10%", "20%", "V1", "V2")
QUEUE_DEPTH = 128
"""How many waiting jobs the authors' scheduler looked at."""
HOPS_LOGS = ("aug-2x on cab", "aug-2x on pinot", "kth-2x on small cab", "kth-2x on small pinot")
WAIT_LOGS = ("aug on cab", "aug-3x on pinot", "kth on small cab", "kth-3x on small pinot")
LOGS = {**POLLARD_CAB, **POLLARD_OTHERS}
H, FULL = 3600.0, 0.95


def _points(names: tuple[str, ...], options: Options, scenarios: tuple[str, ...]) -> list[Point]:
    return queue_points(
        [LOGS[name] for name in names],
        POLICIES,
        options,
        scenarios=scenarios,
        window=QUEUE_DEPTH,
        cut_at_walltime=True,
        hops=True,
    )


def _notes(names: tuple[str, ...], runs: pd.DataFrame, options: Options) -> tuple[str, ...]:
    there = set(runs["log"])
    return (
        *skipped_notes([LOGS[name] for name in names], options),
        *(
            f"{name} on {dict(LOGS[name].machine)} stands in for {LOGS[name].stands_for}"
            for name in names
            if LOGS[name].stands_for and name in there
        ),
        *(
            f"{log}: {left} jobs larger than the machine left out"
            for log, left in dict(zip(runs["log"], runs["left_out"], strict=True)).items()
            if left
        ),
    )


def model_of(log: str) -> str:
    """The paper's log that a log is, or stands for."""
    return LOGS[log].stands_for or log


def fig7_points(options: Options) -> list[Point]:
    """Doubled sizes on Cab and on Pinot, no speed-up."""
    return _points(HOPS_LOGS, options, ("none",))


def fig7_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Hops of TA against Baseline and against the least possible, by job size."""
    bins = frames["bins"]
    claims = []
    for (log,), part in groups(bins, "log"):
        pod = (LOGS[log].machine["radix"] // 2) ** 2
        ta = part[part["policy"] == "ta"].set_index("bin")
        base = part[part["policy"] == "baseline"].set_index("bin")
        small = [b for b in ("2-4", "5-18", "19-64", "65-128") if b in ta.index]
        # Below 128 nodes a job sits in a pod of Cab (324 nodes); here in its own pods.
        inside = [b for b in small if int(b.split("-")[1]) <= min(pod, 128)]
        if inside:
            most = float(ta.loc[inside, "hops_most"].max())
            claims.append(
                Claim(
                    f"{log}: most hops under TA of jobs that fit a pod (up to 128 nodes)",
                    "Fig. 7, V-A",
                    most < printed.MOST_HOPS_BELOW_128,
                    "below 2",
                    "",
                    printed.MOST_HOPS_BELOW_128,
                    most,
                )
            )
        held = [
            float(ta.loc[b, "hops_median"]) <= float(base.loc[b, "hops_median"]) for b in ta.index
        ]
        claims.append(
            Claim(
                f"{log}: median hops under TA not above Baseline's (% of bins)",
                "Fig. 7, V-A",
                all(held),
                "in all bins",
                "",
                100.0,
                100.0 * sum(held) / len(held),
            )
        )
    keep = ["log", "policy", "bin", "jobs", *(c for c in bins.columns if c.startswith("hops"))]
    return Analysis(
        claims_frame(claims), {"hops": bins[keep]}, _notes(HOPS_LOGS, frames["runs"], options)
    )


def fig8_points(options: Options) -> list[Point]:
    """Every log, every scenario."""
    return _points(tuple(LOGS), options, SCENARIOS)


def fig8_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """What TA loses of the utilisation, in loaded and in light scenarios."""
    minutes, claims = frames["minutes"], []
    for (log,), part in groups(minutes[minutes["scenario"] == "none"], "log"):
        median = dict(zip(part["policy"], part["median"], strict=True))
        drop = 100 * (median["baseline"] - median["ta"])
        own = not LOGS[log].stands_for
        loaded = log in printed.OVERLOADED if own else median["baseline"] >= FULL
        paper = printed.DROP_POINTS if loaded else 0.0
        claims.append(
            Claim(
                f"{log} ({'overloaded' if loaded else 'light'}): TA's drop of the median (points)",
                "Fig. 8, V-C",
                abs(drop - paper) <= 5.0,
                "within 5 points",
                "",
                paper,
                drop,
            )
        )
    return Analysis(
        claims_frame(claims), {"minutes": minutes}, _notes(tuple(LOGS), frames["runs"], options)
    )


def fig9_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Makespans over Baseline's."""
    table = against_baseline(frames["runs"], ["makespan_s"])
    claims = []
    for (log,), part in groups(table, "log"):
        ratio = dict(zip(part["scenario"], part["makespan_s_ratio"], strict=True))
        if log == "sep on cab":
            for scenario, paper in printed.SEP_MAKESPAN_PERCENT.items():
                ours = 100 * (ratio[scenario] - 1)
                claims.append(
                    Claim(
                        f"{log}, TA {scenario}: makespan above Baseline (%)",
                        "V-D",
                        abs(ours - paper) <= 2.0,
                        "within 2 percentage points",
                        "",
                        paper,
                        ours,
                    )
                )
        claims.append(
            Claim(
                f"{log}: TA's makespan without speed-ups at most 9 % above Baseline (%)",
                "Fig. 9, V-D",
                ratio["none"] <= 1.10,
                "at most 10",
                "",
                9.0,
                100 * (ratio["none"] - 1),
            )
        )
    keep = ["log", "policy", "scenario", "makespan_s", "makespan_s_ratio"]
    return Analysis(
        claims_frame(claims),
        {"makespan": table[keep]},
        _notes(tuple(LOGS), frames["runs"], options),
    )


def fig10_points(options: Options) -> list[Point]:
    """Two logs by job size, every scenario."""
    return _points(WAIT_LOGS, options, SCENARIOS)


def fig10_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Waits by job size: TA's are longer, and speed-ups bring them back."""
    import pandas as pd

    bins, runs, claims = frames["bins"], frames["runs"], []
    extra = {"aug on cab": printed.AUG_EXTRA_WAIT_H, "aug-3x on pinot": printed.AUG_3X_EXTRA_WAIT_H}
    for (log,), part in groups(runs, "log"):
        wait = {
            (p, s): w / H
            for p, s, w in zip(part["policy"], part["scenario"], part["mean_wait_s"], strict=True)
        }
        more = wait["ta", "none"] - wait["baseline", "none"]
        paper = extra.get(log)
        claims.append(
            Claim(
                f"{log}: additional mean wait under TA (h)",
                "V-E",
                more > 0 if paper is None else abs(more - paper) <= 0.25 * paper,
                "above 0" if paper is None else "within 25 %",
                "",
                paper,
                more,
            )
        )
        claims.append(
            Claim(
                f"{log}: TA's wait falls with 5, 10, 20 % (h at 20 %)",
                "Fig. 10, V-E",
                wait["ta", "none"] > wait["ta", "5%"] > wait["ta", "10%"] > wait["ta", "20%"],
                "in this order",
                "",
                None,
                wait["ta", "20%"],
            )
        )
    whole = runs.assign(bin="all")[["log", "policy", "scenario", "bin", "jobs", "mean_wait_s"]]
    table = pd.concat([bins[list(whole.columns)], whole], ignore_index=True)
    return Analysis(claims_frame(claims), {"waits": table}, _notes(WAIT_LOGS, runs, options))


def table1_points(options: Options) -> list[Point]:
    """Every log under Baseline, TA, TA V1 and TA V2."""
    return _points(tuple(LOGS), options, ("none", "V1", "V2"))


def table1_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Mean waits in hours beside the paper's; for stand-ins the orders that the text tells."""
    import pandas as pd

    rows, claims = [], []
    for (log,), part in groups(frames["runs"], "log"):
        wait = {
            (p, s): w / H
            for p, s, w in zip(part["policy"], part["scenario"], part["mean_wait_s"], strict=True)
        }
        paper = printed.TABLE1_WAIT_H.get(log)
        for i, column in enumerate(printed.WAIT_COLUMNS):
            name = " ".join(column).removesuffix(" none")
            theirs = None if paper is None else paper[i]
            rows.append({"log": log, "case": name, "paper_h": theirs, "ours_h": wait[column]})
            if theirs is not None:
                claims.append(
                    Claim(
                        f"{log}, {name}: mean wait (h)",
                        "Table I",
                        abs(wait[column] - theirs) <= 0.25 * theirs,
                        "within 25 %",
                        "",
                        theirs,
                        wait[column],
                    )
                )
        to, ta, v1, v2 = (wait[column] for column in printed.WAIT_COLUMNS)
        claims.append(
            Claim(
                f"{log}: TA > TA V1 > TA V2, TA > Baseline (TA over Baseline)",
                "Table I",
                ta > v1 > v2 and ta > to,
                "in this order",
                "",
                None,
                ta / to if to > 0 else None,
            )
        )
    return Analysis(
        claims_frame(claims),
        {"waits": pd.DataFrame(rows)},
        _notes(tuple(LOGS), frames["runs"], options),
    )


FIG7 = PaperFigure("fig7", "average pairwise hops", QUEUE, fig7_points, fig7_analyse, fig7_draw)
FIG8 = PaperFigure("fig8", "utilisation every minute", QUEUE, fig8_points, fig8_analyse, fig8_draw)
FIG9 = PaperFigure("fig9", "makespans", QUEUE, fig8_points, fig9_analyse, fig9_draw)
FIG10 = PaperFigure("fig10", "waits by job size", QUEUE, fig10_points, fig10_analyse, fig10_draw)
TABLE1 = PaperFigure("table1", "mean waits", QUEUE, table1_points, table1_analyse)
