"""Pollard et al., section V-B: jobs in isolated partitions against jobs that share links."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.papers.interference import printed
from experiments.papers.interference.point import FUNCTION, PACKET_BYTES, make_point
from experiments.papers.interference.point import ROUNDS as DEFAULT_ROUNDS
from experiments.papers.interference.workloads import Case
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.points import point_rng
from queuesim.statistics import Interval, bootstrap_ratio

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# The suite's scripts for the simulator have messages of 10 MiB and 1 MiB, its job script for a
# machine 2 MiB and 1 MiB. Here both are cut alike; so are packets and buffers, which keeps
# the packets of a message far fewer than they were.
SIMULATED = Case("10648", 44, 22, 512, 4096, 4, 30 * PACKET_BYTES, 3 * PACKET_BYTES, (1, 2))
CAB = Case("cab 4-512", 36, 4, 4, 512, 16, 8 * PACKET_BYTES, 4 * PACKET_BYTES, (0, 1, 2))
CAB_SMALL = dataclasses.replace(CAB, name="cab 4-128", largest=128)
CAB_PART = dataclasses.replace(CAB_SMALL, name="cab 4-128, 30 %", communication_fraction=0.3)
OBLIVIOUS = ("random", "aged")
"""Placements that stand for the topology-oblivious policy; the paper names none."""
ROUTING = "d-mod-k"
LEFT_TOLERANCE = 0.15
"""By how much the part of the gain that 30 % communication leaves may differ."""
RULE = "within 0.03 and a quarter of the gain"
WHERE = "V-B"
SETTINGS = [
    *("ranks_per_node", "large_bytes", "packet_bytes", "buffer_packets", "law"),
    *("exchange", "least_degree", "communication_fraction", "routing", "judge"),
]
SAME_JOB = ("case", "workload", "job", *SETTINGS)
"""Columns by which a job is the same in two placements."""


ROUNDS = {SIMULATED.name: 4.0}
"""Simulated time (see `interference_point.make_point`) where it is not the usual: an iteration
of a stencil under contention is long there."""


N_WORKLOADS = {SIMULATED.name: 15, CAB.name: 6, CAB_SMALL.name: 6, CAB_PART.name: 6}
"""The paper simulates 15; it does not say how many ran on Cab."""


def rounds_of(case: Case) -> float:
    """Simulated time of a case's points, in iterations of its longest job."""
    return ROUNDS.get(case.name, DEFAULT_ROUNDS)


def near(ours: float, paper: float) -> bool:
    """Whether a speed-up counts as the paper's (`RULE`): small gains are not near for nothing."""
    return abs(ours - paper) <= 0.03 + 0.25 * (paper - 1)


def quick(case: Case) -> Case:
    """The case on a tree of 128 nodes; ranges of sizes that differ stay apart."""
    return dataclasses.replace(
        case,
        radix=8,
        pods=8,
        smallest=max(2, case.smallest // 32),
        largest=min(32, max(8, case.largest // 16)),
        ranks_per_node=min(4, case.ranks_per_node),
    )


def point_of(
    case: Case, placement: str, workload: int, options: Options, **choices: object
) -> Point:
    """A workload of a case in one placement, with the figures' routing and time if not chosen."""
    chosen = {"routing": ROUTING, "rounds": rounds_of(case), **choices}
    return make_point(case, placement, workload=workload, seed=options.seed, **chosen)  # type: ignore[arg-type]


def case_points(cases: Sequence[Case], options: Options) -> list[Point]:
    """Every case under TA and under each reading of topology-oblivious, workload by workload."""
    if options.quick:
        cases = [quick(case) for case in cases]
    n_workloads = {case.name: 2 if options.quick else N_WORKLOADS[case.name] for case in cases}
    return [
        point_of(case, placement, workload, options)
        for workload in range(max(n_workloads.values()))
        for case in cases
        for placement in ("ta", *OBLIVIOUS)
        if workload < n_workloads[case.name]
    ]


def simulated_points(options: Options) -> list[Point]:
    """10,648 nodes."""
    return case_points((SIMULATED,), options)


def cab_points(options: Options) -> list[Point]:
    """1296 nodes: two ranges of sizes, and 30 % communication."""
    return case_points((CAB, CAB_SMALL, CAB_PART), options)


def against_ta(jobs: pd.DataFrame, same: Sequence[str] = SAME_JOB) -> pd.DataFrame:
    """Jobs in other placements with TA's columns as ``ta_...`` and speed-ups.

    Returns
    -------
    DataFrame
        ``speedup`` by the judge; ``flow_speedup`` of whole jobs' flows, communication alone.
    """
    keys = list(same)
    ta = jobs[(jobs["placement"] == "ta") & ~jobs["alone"]]
    ta = ta[[*keys, "time_s", "bound_s", "stretch"]].rename(
        columns={"time_s": "ta_time_s", "bound_s": "ta_bound_s", "stretch": "ta_stretch"}
    )
    both = jobs.merge(ta, on=keys, how="inner", validate="many_to_one")
    flow = both["bound_s"] * both["stretch"] / (both["ta_bound_s"] * both["ta_stretch"])
    return both.assign(speedup=both["time_s"] / both["ta_time_s"], flow_speedup=flow)


def mean_of_jobs(part: pd.DataFrame, column: str, options: Options) -> Interval:
    """Mean over jobs; the interval draws whole workloads."""
    sums = part.groupby("workload")[column].agg(["sum", "count"])
    rng = point_rng({"seed": options.seed, "column": column}, "bootstrap")
    return bootstrap_ratio(sums["sum"].to_numpy(), sums["count"].to_numpy(), rng)


def speedup_table(both: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Mean speed-ups by case, placement, routing and pattern, the paper's beside them."""
    import pandas as pd

    rows = []
    for (case, placement, routing), part in groups(both, "case", "placement", "routing"):
        if placement == "ta":
            continue
        for pattern in (*printed.PATTERNS, printed.ALL):
            mine = part if pattern == printed.ALL else part[part["pattern"] == pattern]
            if not len(mine):
                continue
            packets = mean_of_jobs(mine, "speedup", options)
            busy = bool((mine["communication_fraction"] == 1).all())
            rows.append(
                {
                    "case": case,
                    "placement": placement,
                    "routing": routing,
                    "pattern": pattern,
                    "jobs": len(mine),
                    "paper": printed.SPEEDUPS[case].get(pattern),
                    "packets": packets.value,
                    "low": packets.low,
                    "high": packets.high,
                    "flow": float(mine["flow_speedup"].mean()) if busy else None,
                    "least": float(mine["speedup"].min()),
                    "most": float(mine["speedup"].max()),
                    "slower_under_ta_percent": 100 * float((mine["speedup"] < 0.995).mean()),
                }
            )
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Speed-ups beside the paper's, jobs a workload, and that TA's jobs share no link."""
    jobs, runs = frames["jobs"], frames["runs"]
    table = speedup_table(against_ta(jobs), options)
    claims = []
    for row in table.to_dict("records"):
        paper = printed.SPEEDUPS[row["case"]].get(row["pattern"])
        if paper is None:
            continue
        claims.append(
            Claim(
                f"{row['case']}, {row['pattern']}: mean speed-up of jobs under TA",
                WHERE,
                near(row["packets"], paper),
                RULE,
                f"{row['placement']}, {row['routing']}",
                paper,
                row["packets"],
                row["low"],
                row["high"],
            )
        )
    for (case,), part in groups(runs[runs["placement"] == "ta"], "case"):
        claims.append(
            Claim(
                f"{case}: links that two jobs could share under TA",
                "III-B",
                bool((part["shared_links"] == 0).all()),
                "none",
                "",
                0.0,
                float(part["shared_links"].max()),
            )
        )
        typical = printed.JOBS[case]
        if typical is not None and not options.quick:
            ours = float(part.drop_duplicates("workload")["jobs"].mean())
            claims.append(
                Claim(
                    f"{case}: jobs of a workload",
                    WHERE,
                    abs(ours / typical - 1) <= 0.25,
                    "within 25 %",
                    "",
                    float(typical),
                    ours,
                )
            )
    claims += between_claims(table) + fraction_claims(table)
    return Analysis(
        claims_frame(claims),
        {"speedups": table, "runs": runs},
        (
            *(("a tree of 128 nodes stands in for both machines",) if options.quick else ()),
            "the paper names no topology-oblivious placement: random nodes, and lowest free nodes"
            " of a machine in use (aged), are two readings",
        ),
    )


def between_claims(table: pd.DataFrame) -> list[Claim]:
    """Whether the paper's mean of all jobs lies between the two readings of oblivious."""
    claims = []
    for (case,), part in groups(table[table["pattern"] == printed.ALL], "case"):
        mean = dict(zip(part["placement"], part["packets"], strict=True))
        if not set(OBLIVIOUS) <= mean.keys():
            continue
        low, high = sorted(mean[name] for name in OBLIVIOUS)
        paper = printed.SPEEDUPS[case][printed.ALL]
        claims.append(
            Claim(
                f"{case}: the paper's mean of all jobs between ours for {' and '.join(OBLIVIOUS)}",
                WHERE,
                low <= paper <= high,
                "between the two",
                ", ".join(f"{name} {mean[name]:.2f}" for name in OBLIVIOUS),
                paper,
            )
        )
    return claims


def with_computing(speedup: float, communication_fraction: float) -> float:
    """Speed-up of a job that communicates for a share of its time, if contention stays as it is.

    ``(1 - f) + f s`` for the share f of the time under TA, as the paper gives it; the same as
    ``1 / ((1 - g) + g / s)`` with g the share in the slower run.
    """
    return 1 - communication_fraction + communication_fraction * speedup


def fraction_claims(table: pd.DataFrame) -> list[Claim]:
    """The case of 30 % communication against what follows from 100 % communication."""
    claims = []
    whole = table[table["pattern"] == printed.ALL]
    mean = dict(
        zip(zip(whole["case"], whole["placement"], strict=True), whole["packets"], strict=True)
    )
    theirs = {name: printed.SPEEDUPS[name][printed.ALL] for name in printed.SPEEDUPS}
    for placement in OBLIVIOUS:
        part, full = mean.get((CAB_PART.name, placement)), mean.get((CAB_SMALL.name, placement))
        if part is None or full is None:
            continue
        fraction = CAB_PART.communication_fraction
        follows = with_computing(theirs[CAB_SMALL.name], printed.COMMUNICATION_FRACTION)
        paper = (theirs[CAB_PART.name] - 1) / (follows - 1)
        ours = (part - 1) / (with_computing(full, fraction) - 1)
        claims.append(
            Claim(
                f"{CAB_PART.name}: gain measured over the gain (f (s - 1)) that contention"
                " undiminished would give",
                WHERE,
                abs(ours - paper) <= LEFT_TOLERANCE,
                f"within {LEFT_TOLERANCE} of the paper's",
                f"{placement}, {ROUTING}",
                paper,
                ours,
            )
        )
    return claims


def draw(analysis: Analysis, options: Options) -> Figure:
    """Bars by pattern, one panel a case: the paper, packets by placement, flows as dots."""
    import numpy as np

    from experiments.figures.style import INK, colour, grid, new_figure, shared_legend

    table = analysis.tables["speedups"]
    cases = list(dict.fromkeys(table["case"]))
    series = [p for p in OBLIVIOUS if p in set(table["placement"])]
    names = [*printed.PATTERNS, printed.ALL]
    figure, axes = new_figure(8.0, 0.6 + 2.7 * len(cases), len(cases), 1)
    width = 0.84 / (len(series) + 1)
    for axis, case in zip(axes, cases, strict=True):
        paper = printed.SPEEDUPS[case]
        x = np.arange(len(names)) - len(series) / 2 * width
        heights = [paper.get(name, np.nan) for name in names]
        axis.bar(x, heights, width * 0.92, color="#8b949e", label="paper")
        for i, placement in enumerate(series):
            mine = table[(table["case"] == case) & (table["placement"] == placement)]
            mine = mine.set_index("pattern").reindex(names)
            x = np.arange(len(names)) + (i + 1 - len(series) / 2) * width
            value = mine["packets"].to_numpy(dtype=float)
            error = np.vstack([value - mine["low"], mine["high"] - value]).astype(float)
            axis.bar(
                x,
                value,
                width * 0.92,
                yerr=np.maximum(np.nan_to_num(error), 0),
                color=colour(i),
                label=f"packets, {placement}",
                error_kw={"elinewidth": 1.0, "ecolor": INK, "capsize": 2.0},
            )
            if case != CAB_PART.name:
                axis.plot(
                    x,
                    mine["flow"],
                    "o",
                    color=INK,
                    ms=3.5,
                    mfc="white",
                    label="flow level" if i == 0 else None,
                )
        axis.axhline(1.0, color=INK, lw=1.0)
        axis.set_xticks(range(len(names)), names)
        axis.set_ylabel("speed-up under TA")
        axis.set_title(case if case.startswith("cab") else f"{case} nodes")
        axis.set_ylim(0, None)
        grid(axis)
    shared_legend(figure, axes[:1], 5)
    return figure


SIMULATED_FIGURE = PaperFigure(
    "interference-10648",
    "isolated against shared, simulated workloads on 10,648 nodes",
    FUNCTION,
    simulated_points,
    analyse,
    draw,
)
CAB_FIGURE = PaperFigure(
    "interference-cab",
    "isolated against shared, as measured on Cab",
    FUNCTION,
    cab_points,
    analyse,
    draw,
)
