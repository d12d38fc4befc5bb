"""What isolation gives under published communication shares, each read as what it is a share of.

Figure ``shares``: the same jobs at the same instants under mixes of `workloads.shares.mixes`, and
some of them read as a share of something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.fat_tree_logs import THUNDER, fat_tree
from experiments.kit.frames import groups
from experiments.kit.log_study import study_content, study_point
from experiments.kit.logs import log_notes, needed
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.study_mix import study_mix
from netcosim.report.figures.style import colour, grid, marker, new_figure
from queuesim.statistics import Interval
from workloads.registry import MIXES

POLICY = "jigsaw"
SNAPSHOTS = 4
DAYS = 14.0
STEADY = {"noise": 0.0, "precision": 0.05, "least_iterations": 4, "most_iterations": 8}
NODE_BYTES = 16 * 1024
"""Few iterations of the job with the longest are hundreds of the others, and so are packets."""
CHOSEN = ("pollard-cab", "seren-links", "amg-ranks")
"""Not frontier-congested: beside a job with 0.04 % of its link the others iterate 300 times."""
MISREAD = (("pollard-cab", "drive"), ("seren-links", "alone"))
"""Mixes that are run a second time, as a share of what they are not."""
QUICK_JOBS = {"n_jobs": 12, "mean_nodes": 5}


def readings() -> list[tuple[str, str]]:
    """Return the mixes with their own share, then those that are misread."""
    return [*((name, MIXES[name].share) for name in CHOSEN), *MISREAD]


def points(options: Options) -> list[Point]:
    """Return a point for each mix and reading."""
    sections: dict[str, Any]
    if options.quick:
        made = {"synthetic": QUICK_JOBS, "all_at_zero": True, "larger_jobs": "drop"}
        log, sections = "made", {"machine": fat_tree(4), "workload": made}
    else:
        [(found, sections)] = needed((THUNDER,), options)
        log = found.name
        sections = {**sections, "workload": {**sections["workload"], "days": DAYS}}
    return [
        study_point(
            "isolation-shares",
            study_content(
                sections,
                "fattree",
                ["baseline", POLICY],
                snapshots=2 if options.quick else SNAPSHOTS,
                seed=options.seed,
                changes={
                    "communication.mix": study_mix(None, NODE_BYTES),
                    "communication.from": name,
                    "run.steady": {**STEADY, "share": share},
                },
            ),
            {"log": log, "mix": name, "share": share},
        )
        for name, share in readings()
    ]


def gains(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row a mix and reading: the reduction, and the resulting three shares."""
    rows = []
    for (name, share), part in groups(frames["steady"], "mix", "share"):
        seen = frames["steady_shares"]
        [came] = seen[(seen["mix"] == name) & (seen["share"] == share)].to_dict("records")
        [off] = part.to_dict("records")
        rows.append(
            {
                "log": off["log"],
                "mix": name,
                "read_as": share,
                "own": share == MIXES[name].share,
                "mean": round(MIXES[name].fractions.mean, 3),
                "spread": round(MIXES[name].fractions.spread, 3),
                **{
                    key: round(float(off[key]), 2) if pd.notna(off[key]) else None
                    for key in (f"taken_off_percent{end}" for end in ("", "_low", "_high"))
                },
                **{
                    key: round(float(came[key]), 3)
                    for key in ("share_alone", "share_contended", "drive_alone", "drive_contended")
                },
                "jobs": int(off["jobs"]),
                "half_width_percent": came["half_width_percent"],
            }
        )
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Judge whether the effect of isolation is significant under each published mix."""
    table = gains(frames)
    check = ClaimBuilder("the gain of isolation", f"{POLICY} against baseline")
    claims = []
    for row in table[table["own"]].to_dict("records"):
        ends = (row["taken_off_percent"], row["taken_off_percent_low"])
        found = Interval(*ends, row["taken_off_percent_high"])
        what = f"{row['log']}, {row['mix']} ({row['read_as']}): isolation takes time off (%)"
        claims.append(check.above(what, found, 0, note="mean over jobs"))
    notes = () if options.quick else log_notes((THUNDER,), options)
    return Analysis(claims_frame(claims), {"gains": table}, notes)


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw the reduction, with intervals, over the resulting share of the link of each mix."""
    table = analysis.tables["gains"]
    figure, [axis] = new_figure(7.0, 4.0)
    for k, row in enumerate(table.to_dict("records")):
        off = row["taken_off_percent"]
        low, high = row["taken_off_percent_low"], row["taken_off_percent_high"]
        label = f"{row['mix']}, {row['read_as']}" + ("" if row["own"] else " (not its own)")
        axis.errorbar(
            [100 * row["drive_alone"]],
            [off],
            yerr=None if pd.isna(low) else [[off - low], [high - off]],
            fmt=marker(k),
            color=colour(k),
            capsize=3,
            fillstyle="full" if row["own"] else "none",
            label=label,
        )
    axis.axhline(0, color="0.6", linewidth=0.8)
    axis.set_xlabel("share of the time that a node's link is busy, alone (%)")
    axis.set_ylabel(f"time off under {POLICY} (%)")
    axis.legend(frameon=False, fontsize=8)
    grid(axis, "both")
    return figure
