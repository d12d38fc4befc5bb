"""What the gain of isolated jobs hangs on: message and packet size, buffers, ranks, placement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.panels import Look, dots, panels
from experiments.figures.style import INK, colour, grid, marker
from experiments.frames import groups, lookup
from experiments.papers.interference.cases import CAB_SMALL, SETTINGS, SIMULATED, Case, scaled
from experiments.papers.interference.speedups import (
    ALL,
    GAIN,
    NAMES,
    RULE,
    SAME_JOB,
    WHERE,
    against_ta,
    by_pattern,
    case_title,
    near,
    printed,
)
from experiments.papers.kit.claims import ClaimBuilder, claims_frame
from experiments.papers.paper import Analysis, Options

CASES = (SIMULATED, CAB_SMALL)
PACKET_TOLERANCE = 0.05


class Variant(NamedTuple):
    """Something changed: the case, the placement, or whether jobs have company."""

    name: str
    change: Callable[[Case], Case] = lambda case: case
    placement: str = "random"
    alone: bool = False
    cases: tuple[str, ...] = (SIMULATED.name, CAB_SMALL.name)


def _messages(case: Case, factor: float) -> Case:
    large, small = (int(size * factor) for size in (case.large_bytes, case.small_bytes))
    return replace(case, large_bytes=large, small_bytes=small)


def _one_rank(case: Case) -> Case:
    """One rank a node with all the bytes that the node's ranks had, so that buffers count alike."""
    return replace(_messages(case, case.ranks_per_node), ranks_per_node=1)


BASE = "as in the figures"
SMALL_PACKETS = "packets a quarter"
ALONE = "alone on random nodes"
_SMALL_ONLY = (CAB_SMALL.name,)
VARIANTS = (
    Variant(BASE),
    Variant("messages a quarter", lambda case: _messages(case, 0.25)),
    Variant("messages four times", lambda case: _messages(case, 4), cases=_SMALL_ONLY),
    Variant(
        SMALL_PACKETS,
        lambda case: replace(
            case, packet_bytes=case.packet_bytes // 4, buffer_packets=4 * case.buffer_packets
        ),
        cases=_SMALL_ONLY,
    ),
    Variant("buffers of 4 packets", lambda case: replace(case, buffer_packets=4)),
    Variant("buffers of 16 packets", lambda case: replace(case, buffer_packets=16)),
    Variant("all-to-all at once", lambda case: replace(case, exchange="at-once")),
    Variant("mesh: 8 neighbours each", lambda case: replace(case, least_degree=8, degree_end=8)),
    Variant("one rank a node", _one_rank),
    Variant("60 % communication", lambda case: replace(case, communication_fraction=0.6)),
    Variant("sizes even in the logarithm", lambda case: replace(case, law="log")),
    Variant("adaptive routing", lambda case: replace(case, routing="adaptive")),
    Variant("random nodes in random order", placement="random-order"),
    Variant("first fit, aged machine", placement="aged"),
    Variant("first fit, empty machine", placement="first-fit"),
    Variant("messages as flows", lambda case: replace(case, judge="flows"), cases=_SMALL_ONLY),
    Variant(ALONE, alone=True),
)


def _rows_of(jobs: pd.DataFrame, variant: Variant, case: Case) -> pd.DataFrame:
    """The rows of a variant's placement and of its TA."""
    changed = variant.change(case)
    keep = (jobs["case"] == case.name) & jobs["placement"].isin(["ta", variant.placement])
    for column in SETTINGS:
        keep &= jobs[column] == getattr(changed, column)
    found: pd.DataFrame = jobs[
        keep & ((jobs["alone"] == variant.alone) | (jobs["placement"] == "ta"))
    ]
    return found


def variant_table(jobs: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Mean speed-ups of every variant by case and pattern."""
    rows: list[dict[str, object]] = []
    for case in scaled(CASES, options):
        for variant in (v for v in VARIANTS if case.name in v.cases):
            both = against_ta(_rows_of(jobs, variant, case))
            key = {"case": case.name, "variant": variant.name}
            rows += by_pattern(both[both["placement"] == variant.placement], key, options)
    return pd.DataFrame(rows)


def isolation_error(jobs: pd.DataFrame, case: str) -> float:
    """Largest relative difference of a job's time under TA, together against alone."""
    ta = jobs[(jobs["placement"] == "ta") & (jobs["case"] == case)]
    keys = list(SAME_JOB)
    both = ta[ta["alone"]].merge(ta[~ta["alone"]], on=keys, suffixes=("_alone", ""))
    return float((both["time_s_alone"] / both["time_s"] - 1).abs().max())


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Every variant beside the figures' own choice, and that isolation is exact."""
    jobs = frames["jobs"]
    table = variant_table(jobs, options)
    claims = []
    for (case,), part in groups(table[table["pattern"] == ALL], "case"):
        mean = lookup(part, ["variant"], "packets")
        what = f"{case}: a job under TA takes the same time alone and with the others (error)"
        claims.append(ClaimBuilder("III-B").equal(what, 0.0, isolation_error(jobs, case)))
        if SMALL_PACKETS in mean:
            ours = mean[SMALL_PACKETS] / mean[BASE]
            good = abs(ours - 1) <= PACKET_TOLERANCE
            what = f"{case}: mean speed-up with packets a quarter as large, over ours"
            claims.append(
                ClaimBuilder("ours").holds(what, good, "within 5 % of 1", ours, expected=1.0)
            )
        paper = printed["speedups"][case][ALL]
        for variant, value in mean.items():
            what, says = f"{case}: mean speed-up of all jobs", ClaimBuilder(WHERE, str(variant))
            claims.append(says.holds(what, near(value, paper), RULE, value, paper=paper))
    return Analysis(claims_frame(claims), {"variants": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Means of all jobs and of each pattern, a row a variant, one panel a case."""
    names = [variant.name for variant in VARIANTS]
    looks = {name: Look(colour(i), marker(i)) for i, name in enumerate(NAMES)}
    looks[ALL] = looks[ALL]._replace(colour=INK)
    table = analysis.tables["variants"]

    def variants(axis: Axes, part: pd.DataFrame) -> None:
        rows = part.assign(row=part["variant"].map(names.index))
        dots(axis, rows, "packets", "row", "pattern", looks=looks)
        told = printed["speedups"][part["case"].iloc[0]]
        for pattern in NAMES:
            axis.axvline(told[pattern], color=looks[pattern].colour, lw=0.9, ls=":")
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
