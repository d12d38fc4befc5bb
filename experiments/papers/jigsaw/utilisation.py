"""Table 1, Fig. 6 and Table 2 of the Jigsaw paper: the logs and what the machine was used for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.fattree.common import POINT_RULE, TOLERANCE, distance, queue_points
from experiments.papers.fattree.logs import (
    ATLAS,
    JIGSAW_CAB,
    SYNTHETIC,
    THUNDER,
    present,
    skipped_notes,
)
from experiments.papers.fattree.point import DESCRIBE, QUEUE
from experiments.papers.jigsaw import printed
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POLICIES = ("baseline", "ta", "laas", "jigsaw", "lc-s")
ISOLATING = ("laas", "jigsaw", "ta")
LOGS = (*SYNTHETIC, THUNDER, ATLAS, *JIGSAW_CAB.values())


def paper_name(log: str) -> str:
    """The paper's log that one of ours is: a stream from a file is the same as a made one."""
    return log.removesuffix("-file")


def table1_points(options: Options) -> list[Point]:
    """One point a log."""
    return [
        {"experiment": "fattree-log", "log": config, "seed": options.seed}
        for _, config in present(LOGS, options)
    ]


def table1_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Jobs, largest job and run times of each log against the paper's row."""
    logs, claims = frames["logs"], []
    what = ("jobs", "max_nodes", "min_run_s", "max_run_s")
    for row in logs.to_dict("records"):
        log = str(row["log"])
        for column, paper in zip(what, printed.TABLE1[paper_name(log)], strict=True):
            drawn = log.startswith("synth") and column != "jobs"
            ours = float(row[column])
            claims.append(
                Claim(
                    f"{log}: {column}",
                    "Table 1",
                    abs(ours - paper) <= 0.15 * paper if drawn else ours == paper,
                    "within 15 % (a draw)" if drawn else "equal",
                    "",
                    float(paper),
                    ours,
                )
            )
    return Analysis(claims_frame(claims), {"logs": logs}, skipped_notes(LOGS, options))


def fig6_points(options: Options) -> list[Point]:
    """Every log under every policy."""
    return queue_points(LOGS, POLICIES, options)


def fig6_range(policy: str, log: str) -> printed.Range | None:
    """What the paper says of a policy on a log, in percent; None if it says nothing.

    LaaS has one log at 93 % that the paper does not name, so no log of ours is given it.
    """
    if policy == "jigsaw" and log == "atlas":
        return printed.FIG6_ATLAS
    if log == "oct-cab" and policy == "jigsaw":
        return printed.Range(93, 93, printed.FIG6_ATLAS.where)
    return printed.FIG6.get(policy)


def fig6_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Steady-state utilisation against the paper's ranges, and the paper's order of policies."""
    runs, claims = frames["runs"], []
    for (log,), part in groups(runs, "log"):
        share = {
            p: 100 * u for p, u in zip(part["policy"], part["steady_utilisation"], strict=True)
        }
        for policy, ours in share.items():
            said = fig6_range(policy, log)
            if said is None:
                continue
            off = distance(ours, said.low, said.high)
            claims.append(
                Claim(
                    f"{log}, {policy}: {said.low:g}-{said.high:g} %",
                    said.where,
                    abs(off) <= TOLERANCE,
                    f"{POINT_RULE} of the range",
                    "",
                    said.low,
                    ours,
                    paper_high=said.above,
                )
            )
        if {"jigsaw", "lc-s"} <= share.keys():
            claims.append(
                Claim(
                    f"{log}: LC+S above Jigsaw by at most 3.7 points",
                    "6.1",
                    -TOLERANCE <= share["lc-s"] - share["jigsaw"] <= 3.7 + TOLERANCE,
                    f"0 to 3.7, {POINT_RULE}",
                    "",
                    printed.LC_S_ABOVE_JIGSAW,
                    share["lc-s"] - share["jigsaw"],
                )
            )
        if set(ISOLATING) <= share.keys():
            claims.append(
                Claim(
                    f"{log}: TA < LaaS < Jigsaw",
                    "6.1",
                    share["ta"] < share["laas"] < share["jigsaw"],
                    "in this order",
                )
            )
    keep = ["log", "machine_nodes", "policy", "jobs", "steady_utilisation", "steady_allocated"]
    keep += ["to_last_start", "utilisation", "makespan_s", "notes"]
    return Analysis(claims_frame(claims), {"utilisation": runs[keep]}, skipped_notes(LOGS, options))


def fig6_draw(analysis: Analysis, options: Options) -> Figure:
    """Bars from 80 %, as in the paper."""
    import numpy as np

    from experiments.figures.style import colour, grid, new_figure

    table = analysis.tables["utilisation"]
    logs = list(dict.fromkeys(table["log"]))
    figure, [axis] = new_figure(max(6.0, 1.2 * len(logs) + 1), 3.8)
    width = 0.8 / len(POLICIES)
    for i, policy in enumerate(POLICIES):
        mine = table[table["policy"] == policy].set_index("log")["steady_utilisation"]
        heights = 100 * mine.reindex(logs).to_numpy(dtype=float)
        x = np.arange(len(logs)) + (i - (len(POLICIES) - 1) / 2) * width
        axis.bar(x, heights, width * 0.92, label=policy, color=colour(i))
    axis.set_xticks(range(len(logs)), logs, fontsize=8)
    axis.set_ylim(80, 100)
    axis.set_ylabel("steady-state utilisation (%)")
    grid(axis)
    figure.legend(loc="outside upper left", ncols=len(POLICIES), frameon=False, fontsize=9)
    return figure


def table2_points(options: Options) -> list[Point]:
    """Thunder under the three isolating policies."""
    return queue_points((THUNDER,), ISOLATING, options)


def table2_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Shares of the counts in each range beside the paper's."""
    import pandas as pd

    claims, rows = [], []
    for row in frames["ranges"].to_dict("records"):
        policy = str(row["policy"])
        paper = printed.TABLE2[policy]
        ours = [int(row[name]) for name in printed.RANGES]
        for name, theirs, mine in zip(printed.RANGES, paper, ours, strict=True):
            their_share, my_share = 100 * theirs / sum(paper), 100 * mine / sum(ours)
            rows.append(
                {
                    "policy": policy,
                    "range_percent": name,
                    "paper": theirs,
                    "ours": mine,
                    "ratio": mine / theirs,
                    "paper_percent": their_share,
                    "ours_percent": my_share,
                }
            )
            claims.append(
                Claim(
                    f"{policy}: share of events at {name} % (%)",
                    "Table 2",
                    abs(their_share - my_share) <= 5.0,
                    "within 5 percentage points",
                    "",
                    their_share,
                    my_share,
                )
            )
    return Analysis(
        claims_frame(claims), {"counts": pd.DataFrame(rows)}, skipped_notes((THUNDER,), options)
    )


TABLE1 = PaperFigure("table1", "the job logs", DESCRIBE, table1_points, table1_analyse)
FIG6 = PaperFigure(
    "fig6", "utilisation by log and policy", QUEUE, fig6_points, fig6_analyse, fig6_draw
)
TABLE2 = PaperFigure(
    "table2", "utilisation at each start and end, Thunder", QUEUE, table2_points, table2_analyse
)
