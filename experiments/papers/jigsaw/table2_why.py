"""Why our Table 2 differs from the paper's: the same runs, scheduled and counted in other ways.

One thing is changed at a time: what is counted and when, what walltimes the scheduler knows,
when jobs arrive, how far EASY looks and whether there is backfilling at all; without it, which
leaves TA takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.observables.machine import EACH, TO_LAST_START
from experiments.papers.jigsaw import printed
from experiments.papers.jigsaw.logs import ISOLATING, THUNDER, points
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import groups, lookup
from experiments.papers.kit.logs import log_notes
from experiments.papers.kit.points import OBSERVE
from experiments.papers.kit.queues import READINGS, reading_of
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

AS_TEXT = "EASY, window 50"
FIFO = "no backfilling"
MOST_MOVED = 5.0
CHANGES: tuple[dict[str, Sequence[object]], ...] = (
    {},
    {"workload.walltimes": ["exact"]},
    {"queue.window": [10]},
    {"queue.backfill": ["none"]},
    {"workload.all_at_zero": [False]},
)


def why_points(options: Options) -> list[Point]:
    """Thunder under the isolating policies, one change a point; TA's readings without backfill."""
    return [
        *(p for changes in CHANGES for p in points((THUNDER,), ISOLATING, options, changes)),
        *points((THUNDER,), READINGS, options, {"queue.backfill": ["none"]}),
    ]


def schedule_name(row: Mapping[Any, Any]) -> str:
    """What is special in how a row's run was scheduled."""
    if row["backfill"] == "none":
        return FIFO
    parts = ["EASY" if row["backfill"] == "easy" else str(row["backfill"])]
    parts.append(f"window {row['window']}")
    if row["walltimes"] == "exact":
        parts.append("exact walltimes")
    if row.get("all_at_zero") is False:
        parts.append("arrivals as logged")
    return ", ".join(parts)


def shares(counts: Sequence[int]) -> NDArray[np.float64]:
    """(6,) percent of the events in each range."""
    found = np.asarray(counts, dtype=np.float64)
    return np.asarray(100 * found / found.sum())


def why_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Each run's shares beside the paper's, and how many events sit in another range."""
    import pandas as pd

    steady = {
        (row["policy"], schedule_name(row)): 100 * row["steady_utilisation"]
        for row in frames["runs"].to_dict("records")
    }
    rows: list[dict[str, Any]] = []
    for row in frames["ranges"].to_dict("records"):
        reading, schedule = str(row["policy"]), schedule_name(row)
        events = [int(row[name]) for name in printed.RANGES]
        ours, theirs = shares(events), shares(printed.TABLE2[reading_of(reading)])
        rows.append(
            {
                "policy": reading_of(reading),
                "reading": reading,
                "schedule": schedule,
                "counting": row["counting"],
                "events": sum(events),
                **dict(zip(printed.RANGES, ours, strict=True)),
                "moved_percent": float(np.abs(ours - theirs).sum() / 2),
                "steady_percent": steady[reading, schedule],
            }
        )
    table = pd.DataFrame(rows)
    claims = []
    for schedule in (AS_TEXT, FIFO):
        part = table[(table["schedule"] == schedule) & (table["counting"] == EACH)]
        says = Says("Table 2", schedule)
        for reading, moved in lookup(part, ["reading"], "moved_percent").items():
            what = f"{reading}: events in another range than in the paper (%)"
            claims.append(says.at_most(what, moved, MOST_MOVED, paper=0.0))
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
        log_notes((THUNDER,), options),
    )


def _fifo_claims(table: pd.DataFrame) -> list[Claim]:
    """Two numbers that tell whether there was backfilling: how many events, and Fig. 6."""
    plain = table[(table["schedule"] == FIFO) & (table["reading"] == table["policy"])]
    claims = []
    for (policy,), part in groups(plain, "policy"):
        events = lookup(part, ["counting"], "events")[TO_LAST_START]
        says = Says("Table 2 (sum)", FIFO)
        paper = float(sum(printed.TABLE2[policy]))
        what = f"{policy}: starts and ends until the last job starts"
        claims.append(says.near(what, paper, events, within=10))
        says, low = Says("6.1", FIFO), printed.FIG6[policy].low
        steady = lookup(part, ["counting"], "steady_percent")[EACH]
        what = f"{policy}: steady-state utilisation far below Fig. 6's (%)"
        claims.append(says.below(what, steady, low - 5, paper=low, note="5 points"))
    return claims


def why_draw(analysis: Analysis, options: Options) -> Figure:
    """The paper's shares beside ours with EASY and without backfilling, one panel a policy."""
    from experiments.figures.style import INK, colour
    from experiments.papers.kit.panels import grouped_bars, panels

    table = analysis.tables["readings"]
    paper, own = table["reading"] == "paper", table["reading"] == table["policy"]
    ours = own & table["schedule"].isin([AS_TEXT, FIFO]) & (table["counting"] == EACH)
    shown = table[paper | ours].assign(series=table["schedule"].where(ours, "paper"))
    long = shown.melt(["policy", "series"], list(printed.RANGES), "utilisation (%)", "percent")
    kinds = {"paper": INK, AS_TEXT: colour(1), FIFO: colour(0)}

    def draw(axis: Any, rows: pd.DataFrame) -> None:
        by = {kind: i for i, kind in enumerate(kinds)}
        rows = rows.sort_values("series", key=lambda column: column.map(by), kind="stable")
        grouped_bars(
            axis, rows, "utilisation (%)", "series", "percent", order=printed.RANGES, colours=kinds
        )

    return panels(
        long.sort_values("policy", key=lambda column: column.map(ISOLATING.index), kind="stable"),
        "policy",
        draw,
        columns=len(ISOLATING),
        size_in=(3.2, 2.6),
        ylabel="starts and ends (%)",
        xlabel="utilisation (%)",
        share=True,
    )


TABLE2_WHY = PaperFigure(
    "table2-why",
    "Table 2 scheduled and counted in other ways",
    OBSERVE,
    why_points,
    why_analyse,
    why_draw,
)
