"""What the gain of isolated jobs depends on: message and packet size, buffers, ranks, placement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.fattree_workloads.cases import CAB_SMALL, SETTINGS, SIMULATED, Case, scaled
from experiments.kit.fattree_workloads.speedups import SAME_JOB, against_ta
from experiments.kit.frames import groups, lookup
from experiments.kit.panels import MarkStyle, dots, panels
from experiments.kit.papers import Analysis, Options
from experiments.pollard.interference.speedups import (
    ALL,
    GAIN,
    NAMES,
    RULE,
    WHERE,
    by_pattern,
    case_title,
    near,
    printed,
)
from netcosim.report.figures.style import INK, colour, grid, marker

CASES = (SIMULATED, CAB_SMALL)
PACKET_TOLERANCE = 0.05


BASE = "as in the figures"
SMALL_PACKETS = "packets a quarter"
VARIANTS: dict[str, dict[str, Any]] = read_data("pollard/interference")["variants"]


def chosen(case: Case) -> Iterator[tuple[str, Case, str, bool]]:
    """Yield variants of a case: name, changed case, placement, whether each job is isolated."""
    for name, variant in VARIANTS.items():
        if variant.get("only_cab") and case.name == SIMULATED.name:
            continue
        times = variant.get("times", {})
        fields = dict(variant.get("fields", {}))
        if variant.get("one_rank"):
            times = dict.fromkeys(("large_bytes", "small_bytes"), case.ranks_per_node)
            fields["ranks_per_node"] = 1
        fields |= {field: int(getattr(case, field) * factor) for field, factor in times.items()}
        placement = variant.get("placement", "random")
        yield name, replace(case, **fields), placement, variant.get("isolated", False)


def _rows_of(jobs: pd.DataFrame, case: Case, placement: str, alone: bool) -> pd.DataFrame:
    """Return the rows of a variant's placement and of its TA."""
    keep = (jobs["case"] == case.name) & jobs["placement"].isin(["ta", placement])
    for column in SETTINGS:
        keep &= jobs[column] == getattr(case, column)
    found: pd.DataFrame = jobs[keep & ((jobs["alone"] == alone) | (jobs["placement"] == "ta"))]
    return found


def variant_table(jobs: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Return the mean speed-ups of every variant by case and pattern."""
    rows: list[dict[str, object]] = []
    for case in scaled(CASES, options):
        for variant, changed, placement, alone in chosen(case):
            both = against_ta(_rows_of(jobs, changed, placement, alone))
            key = {"case": case.name, "variant": variant}
            rows += by_pattern(both[both["placement"] == placement], key, options)
    return pd.DataFrame(rows)


def isolation_error(jobs: pd.DataFrame, case: str) -> float:
    """Return the largest relative difference of a job's time under TA, together and isolated."""
    ta = jobs[(jobs["placement"] == "ta") & (jobs["case"] == case)]
    keys = list(SAME_JOB)
    both = ta[ta["alone"]].merge(ta[~ta["alone"]], on=keys, suffixes=("_alone", ""))
    return float((both["time_s_alone"] / both["time_s"] - 1).abs().max())


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return every variant next to the figures' choice, and whether isolation is exact."""
    jobs = frames["jobs"]
    table = variant_table(jobs, options)
    claims = []
    for (case,), part in groups(table[table["pattern"] == ALL], "case"):
        mean = lookup(part, ["variant"], "packets")
        what = f"{case}: a job under TA takes the same time isolated and with the others (error)"
        claims.append(ClaimBuilder("III-B").equal(what, 0.0, isolation_error(jobs, case)))
        if SMALL_PACKETS in mean:
            ratio = mean[SMALL_PACKETS] / mean[BASE]
            good = abs(ratio - 1) <= PACKET_TOLERANCE
            what = (
                f"{case}: mean speed-up with packets a quarter as large, over that with usual ones"
            )
            claims.append(
                ClaimBuilder("simulated").holds(what, good, "within 5 % of 1", ratio, expected=1.0)
            )
        paper = printed["speedups"][case][ALL]
        for variant, value in mean.items():
            what, check = f"{case}: mean speed-up of all jobs", ClaimBuilder(WHERE, str(variant))
            claims.append(check.holds(what, near(value, paper), RULE, value, paper=paper))
    return Analysis(claims_frame(claims), {"variants": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw means of all jobs and of each pattern, a row a variant, one panel a case."""
    names = list(VARIANTS)
    styles = {name: MarkStyle(colour(i), marker(i)) for i, name in enumerate(NAMES)}
    styles[ALL] = styles[ALL]._replace(colour=INK)
    table = analysis.tables["variants"]

    def variants(axis: Axes, part: pd.DataFrame) -> None:
        rows = part.assign(row=part["variant"].map(names.index))
        dots(axis, rows, "packets", "row", "pattern", styles=styles)
        published = printed["speedups"][part["case"].iloc[0]]
        for pattern in NAMES:
            axis.axvline(published[pattern], color=styles[pattern].colour, lw=0.9, ls=":")
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.4, -0.6)
        grid(axis, "x")

    return panels(
        table,
        "case",
        variants,
        columns=2,
        size_in=(4.6, 4.0),
        xlabel=f"{GAIN} (dotted: the paper)",
        title=case_title,
    )
