"""Mean speed-ups of jobs in isolated partitions, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.bootstrap import bootstrap_ratio
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.fattree_workloads.cases import CAB_PART, CAB_SMALL, OBLIVIOUS
from experiments.kit.fattree_workloads.speedups import against_ta
from experiments.kit.frames import cells, first_seen, groups, lookup
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.papers import Analysis, Options
from netcosim.report.figures.style import INK
from netcosim.runs.points import point_rng
from queuesim.statistics import Interval

printed = read_printed("kit/fattree_workloads")
SPEEDUPS, ALL = printed["speedups"], "all"
LEFT_TOLERANCE = 0.15
"""By how much the part of the gain that 30 % communication leaves may differ."""
RULE = "within 0.03 and a quarter of the gain"
WHERE = "V-B"
GAIN = "speed-up under TA"
NAMES = (*printed["patterns"], ALL)
QUICK_NOTE = "a tree of 128 nodes replaces both machines"
PLACEMENT_NOTE = (
    "the paper names no topology-oblivious placement: random nodes, and lowest free nodes"
    " of a machine in use (aged), are two readings"
)


def near(simulated: float, paper: float) -> bool:
    """Return whether a speed-up counts as the paper's (`RULE`), stricter for small gains."""
    return abs(simulated - paper) <= 0.03 + 0.25 * (paper - 1)


def mean_of_jobs(part: pd.DataFrame, options: Options) -> Interval:
    """Return the mean speed-up over jobs; the interval draws whole workloads."""
    sums = part.groupby("workload")["speedup"].agg(["sum", "count"])
    rng = point_rng({"seed": options.seed, "column": "speedup"}, "bootstrap")
    return bootstrap_ratio(sums["sum"].to_numpy(), sums["count"].to_numpy(), rng)


def by_pattern(both: pd.DataFrame, key: Mapping[str, Any], options: Options) -> list[Any]:
    """Return rows of mean speed-ups by pattern and of all jobs, with the paper's.

    ``both`` comes from `against_ta`; ``key`` goes into each row and names the case.
    """
    parts = {name: both[(both["pattern"] == name) | (name == ALL)] for name in NAMES}
    return [
        {
            **key,
            "pattern": pattern,
            "jobs": len(mine),
            "paper": SPEEDUPS[key["case"]].get(pattern),
            **dict(zip(("packets", "low", "high"), mean_of_jobs(mine, options), strict=True)),
            "flow": float(mine["flow_speedup"].mean()),
            "least": float(mine["speedup"].min()),
            "most": float(mine["speedup"].max()),
            "slower_under_ta_percent": 100 * float((mine["speedup"] < 0.995).mean()),
        }
        for pattern, mine in parts.items()
        if len(mine)
    ]


def speedup_table(both: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Return mean speed-ups by case, placement, routing, pattern; flows of jobs that only send."""
    rows: list[dict[str, object]] = []
    for key, part in cells(both, "case", "placement", "routing"):
        busy = bool((part["communication_fraction"] == 1).all())
        found = by_pattern(part, key, options)
        rows += found if busy else [row | {"flow": None} for row in found]
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return speed-ups with the paper's, jobs a workload, and whether TA's jobs share no link."""
    jobs, runs = frames["jobs"], frames["runs"]
    table = speedup_table(against_ta(jobs), options)
    claims = []
    for row in table.to_dict("records"):
        simulated = Interval(row["packets"], row["low"], row["high"])
        what = f"{row['case']}, {row['pattern']}: mean speed-up of jobs under TA"
        check = ClaimBuilder(WHERE, f"{row['placement']}, {row['routing']}")
        paper = printed["speedups"][row["case"]].get(row["pattern"])
        if paper is not None:
            claims.append(
                check.holds(what, near(simulated.value, paper), RULE, simulated, paper=paper)
            )
    for (case,), part in groups(runs[runs["placement"] == "ta"], "case"):
        what = f"{case}: links that two jobs could share under TA"
        claims.append(ClaimBuilder("III-B").equal(what, 0.0, float(part["shared_links"].max())))
        typical = printed["jobs"].get(case)
        if typical is not None and not options.quick:
            simulated_jobs = float(part.drop_duplicates("workload")["jobs"].mean())
            what = f"{case}: jobs of a workload"
            claims.append(
                ClaimBuilder(WHERE).near(what, float(typical), simulated_jobs, within=25, unit="%")
            )
    claims += between_claims(table) + fraction_claims(table)
    notes = (QUICK_NOTE, PLACEMENT_NOTE) if options.quick else (PLACEMENT_NOTE,)
    return Analysis(claims_frame(claims), {"speedups": table, "runs": runs}, notes)


def between_claims(table: pd.DataFrame) -> list[Claim]:
    """Return whether the paper's mean of all jobs lies between the two readings of oblivious."""
    claims = []
    for (case,), part in groups(table[table["pattern"] == ALL], "case"):
        mean = lookup(part, ["placement"], "packets")
        if set(OBLIVIOUS) <= mean.keys():
            low, high = sorted(mean[name] for name in OBLIVIOUS)
            paper = printed["speedups"][case][ALL]
            both = " and ".join(OBLIVIOUS)
            what = f"{case}: the paper's mean of all jobs between those simulated for {both}"
            check = ClaimBuilder(WHERE, ", ".join(f"{name} {mean[name]:.2f}" for name in OBLIVIOUS))
            claims.append(check.holds(what, low <= paper <= high, "between the two", paper=paper))
    return claims


def with_computing(speedup: float, communication_fraction: float) -> float:
    """Return the speed-up of a job that communicates for a share of its time, at equal contention.

    ``(1 - f) + f s`` for the share f of the time under TA, as the paper gives it; the same as
    ``1 / ((1 - g) + g / s)`` with g the share in the slower run.
    """
    return 1 - communication_fraction + communication_fraction * speedup


def fraction_claims(table: pd.DataFrame) -> list[Claim]:
    """Compare the case of 30 % communication with what follows from 100 % communication."""
    claims = []
    mean = lookup(table[table["pattern"] == ALL], ["case", "placement"], "packets")
    paper_speedups = {name: means[ALL] for name, means in printed["speedups"].items()}
    follows = with_computing(paper_speedups[CAB_SMALL.name], printed["communication_fraction"])
    paper = (paper_speedups[CAB_PART.name] - 1) / (follows - 1)
    what = (
        f"{CAB_PART.name}: gain measured over the gain (f (s - 1)) that contention"
        " undiminished would give"
    )
    for placement in OBLIVIOUS:
        part, full = (mean.get((case.name, placement)) for case in (CAB_PART, CAB_SMALL))
        if part is not None and full is not None:
            simulated = (part - 1) / (with_computing(full, CAB_PART.communication_fraction) - 1)
            check = ClaimBuilder(WHERE, f"{placement}, {CAB_PART.routing}")
            note = "of the paper's"
            claims.append(check.near(what, paper, simulated, within=LEFT_TOLERANCE, note=note))
    return claims


def case_title(case: str) -> str:
    """Return a case's name for a panel."""
    return case if case.startswith("cab") else f"{case} nodes"


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw bars by pattern, one panel a case: packets by placement, flows as dots, the paper."""
    table = analysis.tables["speedups"]
    table = table[table["placement"].isin(OBLIVIOUS)]

    def bars(axis: Axes, part: pd.DataFrame) -> None:
        published = SPEEDUPS[part["case"].iloc[0]]
        placements = first_seen(part, "placement")
        grouped_bars(
            axis,
            part,
            "pattern",
            "placement",
            Heights("packets", ends=("low", "high")),
            marks={(name, by): paper for name, paper in published.items() for by in placements},
            order=NAMES,
            name=lambda placement: f"packets, {placement}",
        )
        axis.axhline(1.0, color=INK, lw=1.0)
        flow = lookup(part, ["pattern", "placement"], "flow")
        for container, by in zip(axis.containers, placements, strict=True):
            at = [bar.get_x() + bar.get_width() / 2 for bar in container]
            heights = [flow.get((name, by), np.nan) for name in NAMES]
            axis.plot(at, heights, "o", color=INK, ms=3.5, mfc="white", label="flow level")

    return panels(table, "case", bars, size_in=(8.0, 2.7), ylabel=GAIN, title=case_title)
