"""Figs. 1 and 7 to 10 and Table I of the topology-aware paper."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder
from experiments.kit.data import read_printed
from experiments.kit.frames import against_baseline, first_seen, groups, lookup
from experiments.kit.logs import read_logs
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.papers import Analysis, Options
from experiments.kit.queues import Found, Frames
from netcosim.report.figures.shapes import FIVE, boxes
from netcosim.report.figures.style import INK, colour
from queuesim.observables.hops import SEVERAL
from queuesim.observables.jobs import BINS

printed = read_printed("pollard")
LOGS = read_logs("pollard")
SPREAD_POLICIES = ("baseline", "slurm-tree", "ta")
H, FULL = 3600.0, 0.95
CASE = ["policy", "scenario"]


def fig1_claims(frames: Frames) -> Found:
    """Judge whether most jobs are more spread than necessary, and the effect of TA.

    The paper's figure is Cab's own record of August and September 2014: the nodes that Slurm
    gave to each job. That record is not public. This figure is simulated, not the
    same measurement: job logs go through our queue onto Cab's tree, with the lowest free nodes
    (Baseline), with Slurm's tree plugin and with TA.
    """
    hops = frames["hops"]
    spread = hops[hops["bin"] == SEVERAL][["log", "policy", "jobs", "mean_hops", "mean_least"]]
    spread.insert(3, "above_least_percent", 100 * hops["above_least"])
    check, claims = ClaimBuilder("Fig. 1", "simulated, not Cab's record"), []
    for (log,), part in groups(spread, "log"):
        base = part.set_index("policy").loc["baseline"]
        what = f"{log}: jobs of 2 and more nodes above the least hops, Baseline (%)"
        above = float(base["above_least_percent"])
        claims.append(check.above(what, above, 50, note='"most jobs"'))
        ratio = float(base["mean_hops"] / base["mean_least"])
        what = f"{log}: mean hops over the mean least, Baseline"
        claims.append(check.at_least(what, ratio, 1.25, note='"significantly higher"'))
    return claims, {"spread": spread, "jobs": frames["spread"]}


def fig1_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a dot a job, hops over nodes, a column a policy; the least possible as a line."""

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        ink = colour(SPREAD_POLICIES.index(rows["policy"].iloc[0]))
        axis.scatter(rows["nodes"], rows["hops"], s=7, color=ink, alpha=0.35, linewidths=0)
        least = rows.drop_duplicates("nodes").sort_values("nodes")
        axis.plot(least["nodes"], least["least"], color=INK, lw=1.2, label="least possible")
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_ylim(-0.1, 4.1)

    return panels(
        analysis.tables["jobs"],
        ["log", "policy"],
        draw,
        columns=len(SPREAD_POLICIES),
        size_in=(3.0, 2.3),
        xlabel="nodes of the job",
        ylabel="average pairwise hops",
        share=True,
    )


def fig7_claims(frames: Frames) -> Found:
    """Compare hops of TA with Baseline's and with the least possible, by job size."""
    hops = frames["hops"]
    hops = hops[hops["bin"].isin(list(BINS))]
    check, claims = ClaimBuilder("Fig. 7, V-A"), []
    for (log,), part in groups(hops, "log"):
        most = lookup(part, ["policy", "bin"], "hops_most")
        median = lookup(part, ["policy", "bin"], "hops_median")
        names = [name for policy, name in most if policy == "ta"]
        # Below 128 nodes a job sits in a pod of Cab (324 nodes); here in its own pods.
        pod = min((LOGS[log].machine["radix"] // 2) ** 2, 128)
        inside = [most["ta", n] for n in names if "-" in n and int(n.split("-")[1]) <= pod]
        if inside:
            what = f"{log}: most hops under TA of jobs that fit a pod (up to 128 nodes)"
            bound = printed["most_hops_below_128"]
            claims.append(check.below(what, max(inside), bound, paper=bound))
        held = [median["ta", name] <= median["baseline", name] for name in names]
        what = f"{log}: median hops under TA not above Baseline's (% of bins)"
        claims.append(check.everywhere(what, held, "bins"))
    keep = ["log", "policy", "bin", "jobs", *(c for c in hops.columns if c.startswith("hops"))]
    return claims, {"hops": hops[keep]}


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw boxes of the hops by job size, one panel a log; the least possible as a mark."""

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        order = [name for name in BINS if name in set(rows["bin"])]
        boxes(axis, rows, "bin", "policy", quantiles=[f"hops_{q}" for q in FIVE], order=order)
        least = lookup(rows, ["bin"], "hops_ideal")
        for at, name in enumerate(order):
            label = "least possible (median)"
            axis.hlines(least[name], at - 0.45, at + 0.45, color=INK, ls=":", label=label)

    return panels(
        analysis.tables["hops"],
        "log",
        draw,
        size_in=(7.5, 2.3),
        xlabel="nodes of the job",
        ylabel="average pairwise hops",
    )


def fig8_claims(frames: Frames) -> Found:
    """Judge how much utilisation TA loses, in loaded and in light scenarios."""
    minutes = frames["minutes"]
    check, claims = ClaimBuilder("Fig. 8, V-C"), []
    for (log,), part in groups(minutes[minutes["scenario"] == "none"], "log"):
        median = lookup(part, ["policy"], "median")
        drop = 100 * (median["baseline"] - median["ta"])
        own = not LOGS[log].stands_for
        loaded = log in printed["overloaded"] if own else median["baseline"] >= FULL
        what = f"{log} ({'overloaded' if loaded else 'light'}): TA's drop of the median (points)"
        paper = printed["drop_points"] if loaded else 0.0
        claims.append(check.near(what, paper, drop, within=5, unit="points"))
    return claims, {"minutes": minutes}


def fig8_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw boxes of the utilisation every minute: Baseline, then TA by scenario."""

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        boxes(axis, rows, "case", "policy", scale=100, order=first_seen(rows, "case"))
        axis.tick_params(axis="x", labelsize=7.5)
        axis.set_ylim(0, 104)

    return panels(
        _with_case(analysis.tables["minutes"]),
        "log",
        draw,
        columns=2,
        size_in=(4.6, 2.3),
        ylabel="utilisation every minute (%)",
    )


def _with_case(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column "case": Baseline, or TA with its scenario."""
    return table.assign(case=("TA " + table["scenario"]).where(table["policy"] == "ta", "baseline"))


def _waits_h(runs: pd.DataFrame) -> dict[Any, float]:
    return {case: s / H for case, s in lookup(runs, CASE, "mean_wait_s").items()}


def fig9_claims(frames: Frames) -> Found:
    """Compare makespans with Baseline's."""
    table = against_baseline(frames["runs"], ["makespan_s"])
    claims = []
    for (log,), part in groups(table, "log"):
        ratio = lookup(part, ["scenario"], "makespan_s_ratio")
        above = {scenario: 100 * (value - 1) for scenario, value in ratio.items()}
        if log == "sep on cab":
            check = ClaimBuilder("V-D")
            for scenario, paper in printed["sep_makespan_percent"].items():
                what = f"{log}, TA {scenario}: makespan above Baseline (%)"
                claims.append(check.near(what, paper, above[scenario], within=2, unit="points"))
        check = ClaimBuilder("Fig. 9, V-D")
        what = f"{log}: TA's makespan without speed-ups at most 9 % above Baseline (%)"
        claims.append(check.at_most(what, above["none"], 10, paper=9.0))
    keep = ["log", *CASE, "makespan_s", "makespan_s_ratio"]
    return claims, {"makespan": table[keep]}


def fig9_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw makespan above Baseline's, a group a log, a bar a scenario."""
    table = analysis.tables["makespan"]
    table = table.assign(log=table["log"].str.replace(" on ", "\non "))

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        grouped_bars(
            axis,
            rows,
            "log",
            "scenario",
            Heights("makespan_s_ratio", scale=100, zero=1),
            marks={("sep\non cab", s): p for s, p in printed["sep_makespan_percent"].items()},
            name="TA {}".format,
        )

    width = max(6.0, 1.0 + 1.5 * table["log"].nunique())
    label = "makespan above Baseline's (%)"
    return panels(table, (), draw, size_in=(width, 2.8), ylabel=label)


def fig10_claims(frames: Frames) -> Found:
    """Judge waits by job size: TA's are longer, and speed-ups shorten them again."""
    bins, runs, claims = frames["bins"], frames["runs"], []
    for (log,), part in groups(runs, "log"):
        wait = _waits_h(part)
        more = wait["ta", "none"] - wait["baseline", "none"]
        paper, check = printed["extra_wait_h"].get(log), ClaimBuilder("V-E")
        what = f"{log}: additional mean wait under TA (h)"
        if paper is None:
            claims.append(check.above(what, more, 0))
        else:
            claims.append(check.near(what, paper, more, within=25, unit="%"))
        check = ClaimBuilder("Fig. 10, V-E")
        what = f"{log}: TA's wait falls with 5, 10, 20 % (h at 20 %)"
        ascending = {f"TA {s}": wait["ta", s] for s in ("20%", "10%", "5%", "none")}
        claims.append(check.ordered(what, ascending, wait["ta", "20%"]))
    all_sizes = runs.assign(bin="all")[["log", *CASE, "bin", "jobs", "mean_wait_s"]]
    table = pd.concat([bins[list(all_sizes.columns)], all_sizes], ignore_index=True)
    return claims, {"waits": table}


def fig10_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw mean waits by job size, one bar a scenario, one panel a log."""
    table = analysis.tables["waits"]

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        order = [name for name in (*BINS, "all") if name in set(rows["bin"])]
        grouped_bars(axis, rows, "bin", "case", Heights("mean_wait_s", scale=1 / H), order=order)

    return panels(
        _with_case(table),
        "log",
        draw,
        size_in=(8.0, 2.3),
        xlabel="nodes of the job",
        ylabel="mean wait (h)",
    )


def table1_claims(frames: Frames) -> Found:
    """Compare mean waits in hours with the paper's; for substitutes the orders in the text."""
    check, claims, rows = ClaimBuilder("Table I"), [], []
    columns = [tuple(case) for case in printed["table_1"]["cases"]]
    for (log,), part in groups(frames["runs"], "log"):
        wait = _waits_h(part)
        papers = printed["table_1"]["wait_h"].get(log, [None] * 4)
        for case, paper in zip(columns, papers, strict=True):
            name = " ".join(case).removesuffix(" none")
            rows.append({"log": log, "case": name, "paper_h": paper, "ours_h": wait[case]})
            if paper is not None:
                what = f"{log}, {name}: mean wait (h)"
                claims.append(check.near(what, paper, wait[case], within=25, unit="%"))
        to, ta, v1, v2 = (wait[case] for case in columns)
        what = f"{log}: TA > TA V1 > TA V2, TA > Baseline (TA over Baseline)"
        holds = ta > v1 > v2 and ta > to
        claims.append(check.holds(what, holds, "in this order", ta / to if to > 0 else None))
    return claims, {"waits": pd.DataFrame(rows)}


ANALYSES = {
    "fig1": (fig1_claims, fig1_draw),
    "fig7": (fig7_claims, fig7_draw),
    "fig8": (fig8_claims, fig8_draw),
    "fig9": (fig9_claims, fig9_draw),
    "fig10": (fig10_claims, fig10_draw),
    "table1": (table1_claims,),
}
