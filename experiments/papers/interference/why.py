"""What the gain of isolated jobs hangs on: message and packet size, buffers, ranks, placement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from experiments.papers.interference import printed
from experiments.papers.interference.figures import (
    CAB_SMALL,
    RULE,
    SAME_JOB,
    SIMULATED,
    WHERE,
    against_ta,
    mean_of_jobs,
    near,
    point_of,
    quick,
)
from experiments.papers.interference.point import BUFFER_PACKETS, FUNCTION, PACKET_BYTES
from experiments.papers.interference.workloads import Case
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

N_WORKLOADS = {SIMULATED.name: 1, CAB_SMALL.name: 2}
PACKET_TOLERANCE = 0.05


class Variant(NamedTuple):
    """Something changed: the case, the placement, or the network."""

    name: str
    change: Callable[[Case], Case] = lambda case: case
    placement: str = "random"
    choices: Mapping[str, int | bool | str] = {}
    cases: tuple[str, ...] = (SIMULATED.name, CAB_SMALL.name)


def _messages(factor: float) -> Callable[[Case], Case]:
    return lambda case: dataclasses.replace(
        case,
        large_bytes=int(case.large_bytes * factor),
        small_bytes=int(case.small_bytes * factor),
    )


def _one_rank(case: Case) -> Case:
    """One rank a node with all the bytes that the node's ranks had, so that buffers count alike."""
    return dataclasses.replace(
        case,
        ranks_per_node=1,
        large_bytes=case.large_bytes * case.ranks_per_node,
        small_bytes=case.small_bytes * case.ranks_per_node,
    )


BASE = "as in the figures"
SMALL_PACKETS = "packets a quarter"
ALONE = "alone on random nodes"
VARIANTS = (
    Variant(BASE),
    Variant("messages a quarter", _messages(0.25)),
    Variant("messages four times", _messages(4), cases=(CAB_SMALL.name,)),
    Variant(
        SMALL_PACKETS,
        choices={"packet_bytes": PACKET_BYTES // 4, "buffer_packets": 4 * BUFFER_PACKETS},
        cases=(CAB_SMALL.name,),
    ),
    Variant("buffers of 4 packets", choices={"buffer_packets": 4}),
    Variant("buffers of 16 packets", choices={"buffer_packets": 16}),
    Variant("all-to-all at once", lambda case: dataclasses.replace(case, exchange="at-once")),
    Variant("mesh: 8 neighbours each", lambda case: dataclasses.replace(case, degrees=(8, 8))),
    Variant("one rank a node", _one_rank),
    Variant(
        "60 % communication", lambda case: dataclasses.replace(case, communication_fraction=0.6)
    ),
    Variant("sizes even in the logarithm", lambda case: dataclasses.replace(case, law="log")),
    Variant("adaptive routing", choices={"routing": "adaptive"}),
    Variant("random nodes in random order", placement="random-order"),
    Variant("first fit, aged machine", placement="aged"),
    Variant("first fit, empty machine", placement="first-fit"),
    Variant("messages as flows", choices={"judge": "flows"}, cases=(CAB_SMALL.name,)),
    Variant(ALONE, choices={"alone": True}),
)


def points(options: Options) -> list[Point]:
    """Every variant of two cases, under TA and in its placement, workload by workload."""
    cases = [quick(case) if options.quick else case for case in (SIMULATED, CAB_SMALL)]
    n_workloads = {case.name: 1 if options.quick else N_WORKLOADS[case.name] for case in cases}
    return [
        point_of(variant.change(case), placement, workload, options, **variant.choices)
        for workload in range(max(n_workloads.values()))
        for case in cases
        if workload < n_workloads[case.name]
        for variant in VARIANTS
        if case.name in variant.cases
        for placement in ("ta", variant.placement)
    ]


def _rows_of(jobs: pd.DataFrame, variant: Variant, case: Case) -> pd.DataFrame:
    """The rows of a variant's placement and of its TA."""
    changed = variant.change(case)
    wanted = {
        "case": case.name,
        "ranks_per_node": changed.ranks_per_node,
        "large_bytes": changed.large_bytes,
        "judge": variant.choices.get("judge", "packets"),
        "law": changed.law,
        "communication_fraction": changed.communication_fraction,
        "exchange": changed.exchange,
        "least_degree": changed.degrees[0],
        "packet_bytes": variant.choices.get("packet_bytes", PACKET_BYTES),
        "buffer_packets": variant.choices.get("buffer_packets", BUFFER_PACKETS),
        "routing": variant.choices.get("routing", "d-mod-k"),
    }
    keep = jobs["placement"].isin(["ta", variant.placement])
    for column, value in wanted.items():
        keep &= jobs[column] == value
    alone = bool(variant.choices.get("alone", False))
    found: pd.DataFrame = jobs[keep & ((jobs["alone"] == alone) | (jobs["placement"] == "ta"))]
    return found


def variant_table(jobs: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Mean speed-ups of every variant by case and pattern."""
    import pandas as pd

    rows = []
    for whole in (SIMULATED, CAB_SMALL):
        case = quick(whole) if options.quick else whole
        for variant in (v for v in VARIANTS if case.name in v.cases):
            both = against_ta(_rows_of(jobs, variant, case))
            both = both[both["placement"] == variant.placement]
            for pattern in (*printed.PATTERNS, printed.ALL):
                mine = both if pattern == printed.ALL else both[both["pattern"] == pattern]
                if not len(mine):
                    continue
                found = mean_of_jobs(mine, "speedup", options)
                rows.append(
                    {
                        "case": case.name,
                        "variant": variant.name,
                        "pattern": pattern,
                        "jobs": len(mine),
                        "paper": printed.SPEEDUPS[case.name][pattern],
                        "packets": found.value,
                        "low": found.low,
                        "high": found.high,
                        "flow": float(mine["flow_speedup"].mean()),
                    }
                )
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
    for (case,), part in groups(table[table["pattern"] == printed.ALL], "case"):
        mean = dict(zip(part["variant"], part["packets"], strict=True))
        error = isolation_error(jobs, case)
        claims.append(
            Claim(
                f"{case}: a job under TA takes the same time alone and with the others (error)",
                "III-B",
                error == 0.0,
                "equal to the picosecond",
                "",
                0.0,
                error,
            )
        )
        if SMALL_PACKETS in mean:
            claims.append(
                Claim(
                    f"{case}: mean speed-up with packets a quarter as large, over ours",
                    "ours",
                    abs(mean[SMALL_PACKETS] / mean[BASE] - 1) <= PACKET_TOLERANCE,
                    "within 5 % of 1",
                    "",
                    None,
                    mean[SMALL_PACKETS] / mean[BASE],
                    expected=1.0,
                )
            )
        for variant, value in mean.items():
            paper = printed.SPEEDUPS[case][printed.ALL]
            claims.append(
                Claim(
                    f"{case}: mean speed-up of all jobs",
                    WHERE,
                    near(value, paper),
                    RULE,
                    str(variant),
                    paper,
                    value,
                )
            )
    return Analysis(claims_frame(claims), {"variants": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Means of all jobs and of each pattern, a row a variant, one panel a case."""
    from experiments.figures.style import INK, colour, grid, marker, new_figure, shared_legend

    table = analysis.tables["variants"]
    cases = list(dict.fromkeys(table["case"]))
    names = [variant.name for variant in VARIANTS]
    figure, axes = new_figure(9.0, 4.6, 1, len(cases), share=True)
    for axis, case in zip(axes, cases, strict=True):
        for i, pattern in enumerate((*printed.PATTERNS, printed.ALL)):
            mine = table[(table["case"] == case) & (table["pattern"] == pattern)]
            mine = mine.set_index("variant").reindex(names)
            ink = INK if pattern == printed.ALL else colour(i)
            axis.plot(mine["packets"], range(len(names)), marker(i), color=ink, label=pattern, ms=6)
            paper = printed.SPEEDUPS[case][pattern]
            axis.axvline(paper, color=ink, lw=0.9, ls=":")
        axis.set_yticks(range(len(names)), names)
        axis.set_xlabel("speed-up under TA (dotted: the paper)")
        axis.set_title(case if case.startswith("cab") else f"{case} nodes")
        grid(axis, "both")
    axes[0].invert_yaxis()
    shared_legend(figure, axes[:1], 5)
    return figure


WHY = PaperFigure(
    "interference-why",
    "what the gain of isolated jobs hangs on",
    FUNCTION,
    points,
    analyse,
    draw,
)
