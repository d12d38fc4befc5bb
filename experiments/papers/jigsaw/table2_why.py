"""Why our Table 2 differs from the paper's: the same runs, scheduled and counted in other ways.

One thing is changed at a time: what is counted and when, what walltimes the scheduler knows,
when jobs arrive, how far EASY looks and whether there is backfilling at all; without it, which
leaves TA takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.papers.fattree.common import queue_points
from experiments.papers.fattree.logs import THUNDER, skipped_notes
from experiments.papers.fattree.point import simulate
from experiments.papers.fattree.variants import VARIANTS, base_policy
from experiments.papers.jigsaw import printed
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from queuesim.capacity import range_counts, sampled_utilisation, steady_state_utilisation
from queuesim.result import QueueResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COUNTS = "experiments.papers.jigsaw.table2_why:run_counts"
ISOLATING = ("laas", "jigsaw", "ta")
EACH = "each start and end"
TO_LAST_START = "to the last start"
AS_TEXT = "EASY, window 50"
FIFO = "no backfilling"
MOVED_RULE = "at most 5 % of the events in another range"
MOST_MOVED = 5.0
LongArray = NDArray[np.int64]


def why_points(options: Options) -> list[Point]:
    """Thunder under the isolating policies, one change a point; TA's readings without backfill."""
    readings: list[dict[str, Any]] = [
        {},
        {"walltimes": "exact"},
        {"window": 10},
        {"backfill": "none"},
    ]
    points = [
        point
        for choices in readings
        for point in queue_points((THUNDER,), ISOLATING, options, **choices)
    ]
    as_logged = replace(THUNDER, arrivals=1.0)
    points += queue_points((as_logged,), ISOLATING, options)
    points += queue_points((THUNDER,), tuple(VARIANTS), options, backfill="none")
    return [{**point, "experiment": "fattree-counts"} for point in points]


def counted(result: QueueResult) -> dict[str, LongArray]:
    """Counts of busy nodes by what is counted and when; the first as the text has it."""
    time_s, busy = result.busy_nodes(requested=True)
    _, allocated = result.busy_nodes()
    _, share = sampled_utilisation(result, requested=True)
    last_of_instant = np.append(time_s[1:] > time_s[:-1], True)
    return {
        EACH: busy,
        "allocated nodes": allocated,
        "once an instant": busy[last_of_instant],
        TO_LAST_START: busy[time_s <= result.start_s.max()],
        "every minute": np.rint(share * result.machine_nodes).astype(np.int64),
    }


def run_counts(config: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Simulate a point; "counts": one row a way of counting, with the events by range."""
    result = simulate(config)
    labels = {
        "log": config["log"]["name"],
        "policy": base_policy(config["policy"]),
        "reading": config["policy"],
        "schedule": schedule_name(config),
        "steady_percent": 100 * steady_state_utilisation(result),
    }
    return {
        "counts": [
            {**labels, "counting": name, **range_counts(busy, result.machine_nodes)}
            for name, busy in counted(result).items()
        ]
    }


def schedule_name(config: Mapping[str, Any]) -> str:
    """What is special in how a point was scheduled."""
    if config["backfill"] == "none":
        return FIFO
    parts = ["EASY" if config["backfill"] == "easy" else str(config["backfill"])]
    parts.append(f"window {config['window']}")
    if config.get("walltimes") == "exact":
        parts.append("exact walltimes")
    if config["log"]["arrivals"] is not None:
        parts.append("arrivals as logged")
    return ", ".join(parts)


def shares(counts: Sequence[int]) -> NDArray[np.float64]:
    """(6,) percent of the events in each range."""
    found = np.asarray(counts, dtype=np.float64)
    return np.asarray(100 * found / found.sum())


def why_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Each run's shares beside the paper's, and how many events sit in another range."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for row in frames["counts"].to_dict("records"):
        events = [int(row[name]) for name in printed.RANGES]
        ours, theirs = shares(events), shares(printed.TABLE2[str(row["policy"])])
        rows.append(
            {
                **{k: row[k] for k in ("policy", "reading", "schedule", "counting")},
                "events": sum(events),
                **dict(zip(printed.RANGES, ours, strict=True)),
                "moved_percent": float(np.abs(ours - theirs).sum() / 2),
                "steady_percent": row["steady_percent"],
            }
        )
    table = pd.DataFrame(rows)
    claims = []
    for schedule in (AS_TEXT, FIFO):
        part = table[(table["schedule"] == schedule) & (table["counting"] == EACH)]
        for row in part.to_dict("records"):
            claims.append(
                Claim(
                    f"{row['reading']}: events in another range than in the paper (%)",
                    "Table 2",
                    row["moved_percent"] <= MOST_MOVED,
                    MOVED_RULE,
                    schedule,
                    0.0,
                    row["moved_percent"],
                )
            )
    claims += _fifo_claims(table)
    paper_rows = [
        {
            "policy": policy,
            "reading": "paper",
            "events": sum(counts),
            **dict(zip(printed.RANGES, shares(counts), strict=True)),
        }
        for policy, counts in printed.TABLE2.items()
    ]
    return Analysis(
        claims_frame(claims),
        {"readings": pd.concat([pd.DataFrame(paper_rows), table], ignore_index=True)},
        skipped_notes((THUNDER,), options),
    )


def _fifo_claims(table: pd.DataFrame) -> list[Claim]:
    """Two numbers that tell whether there was backfilling: how many events, and Fig. 6."""
    plain = table[(table["schedule"] == FIFO) & (table["reading"] == table["policy"])]
    claims = []
    for (policy,), part in groups(plain, "policy"):
        counting = part.set_index("counting")
        events = int(counting.loc[TO_LAST_START, "events"])
        paper = sum(printed.TABLE2[policy])
        claims.append(
            Claim(
                f"{policy}: starts and ends until the last job starts",
                "Table 2 (sum)",
                abs(events - paper) <= 10,
                "within 10",
                FIFO,
                float(paper),
                float(events),
            )
        )
        said, steady = printed.FIG6[policy], float(counting.loc[EACH, "steady_percent"])
        claims.append(
            Claim(
                f"{policy}: steady-state utilisation far below Fig. 6's (%)",
                "6.1",
                steady < said.low - 5,
                "more than 5 points",
                FIFO,
                said.low,
                steady,
            )
        )
    return claims


def why_draw(analysis: Analysis, options: Options) -> Figure:
    """The paper's shares beside ours with EASY and without backfilling, one panel a policy."""
    from experiments.figures.style import INK, colour, grid, new_figure

    table = analysis.tables["readings"]
    series: list[tuple[str, str | None, str]] = [("paper", None, INK)]
    series += [(AS_TEXT, AS_TEXT, colour(1)), (FIFO, FIFO, colour(0))]
    figure, axes = new_figure(9.0, 3.2, 1, len(ISOLATING), share=True)
    for axis, policy in zip(axes, ISOLATING, strict=True):
        mine = table[table["policy"] == policy]
        for i, (name, schedule, ink) in enumerate(series):
            if schedule is None:
                rows = mine[mine["reading"] == "paper"]
            else:
                rows = mine[(mine["schedule"] == schedule) & (mine["counting"] == EACH)]
                rows = rows[rows["reading"] == policy]
            if len(rows):
                x = np.arange(len(printed.RANGES)) + 0.27 * (i - 1)
                heights = rows.iloc[0][list(printed.RANGES)].to_numpy(dtype=float)
                axis.bar(x, heights, 0.25, color=ink, label=name)
        axis.set_xticks(range(len(printed.RANGES)), printed.RANGES, fontsize=7.5)
        axis.set_xlabel("utilisation (%)", fontsize=8)
        axis.set_title(policy, fontsize=9)
        grid(axis)
    axes[0].set_ylabel("starts and ends (%)", fontsize=8)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside upper left", ncols=len(names), frameon=False, fontsize=9
    )
    return figure


TABLE2_WHY = PaperFigure(
    "table2-why",
    "Table 2 scheduled and counted in other ways",
    COUNTS,
    why_points,
    why_analyse,
    why_draw,
)
