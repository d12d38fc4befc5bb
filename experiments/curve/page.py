"""The page of ``netcosim curve``: what the network carries, with the figure and the tables."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from experiments.curve.config import CurveConfig
from experiments.curve.output import CURVE
from experiments.curve.output import summary as saturation
from experiments.curve.point import STEADY, UNSETTLED
from experiments.kit.results import write_tables
from netcosim.report.effect import Effect, Quantity, sentence, use
from netcosim.report.figures.drawing import Drawing
from netcosim.report.figures.style import save_figure
from netcosim.report.page import Section, render_page, write_page
from netcosim.report.recommendation import Recommendation
from netcosim.report.summary import write_summary
from netcosim.runs.points import PAGE_FILE
from netsim.files import read_text
from netsim.units import format_quantity

ACCEPTED = Quantity("accepted load", "%", "lowers", "raises", more_is_better=True)
LATENCY = Quantity("mean latency")
BUS_BANDWIDTH = Quantity("bus bandwidth", "B/s", "lowers", "raises", more_is_better=True)


def curve_effects(rows: pd.DataFrame, config: CurveConfig) -> list[Effect]:
    """Return each routing's largest accepted load under the traffic that suits it least.

    The order is that of the load, the largest first. Points of table "curve" settle when the
    window's halves agree within the tolerance, so smaller differences are none.
    """
    ranked = _worst(rows).sort_values("most_accepted", ascending=False, kind="stable")
    several = len(config.curve.traffic) > 1
    return [
        _level(
            str(row["routing"]),
            ACCEPTED,
            100 * row["most_accepted"],
            config,
            f"at {row['traffic']} traffic (its worst)" if several else "",
        )
        for row in ranked.to_dict("records")
    ]


def _worst(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the row of each routing's curve with the least accepted load."""
    found = saturation(rows).sort_values("most_accepted", kind="stable")
    return found.drop_duplicates("routing")


def _level(
    subject: str, quantity: Quantity, value: float, config: CurveConfig, part: str
) -> Effect:
    off = config.curve.tolerance
    own = {"sample": "part of the window", "samples": 2, "method": "tolerance of the halves"}
    ends = {"low": value * (1 - off), "high": value * (1 + off)}
    return Effect(subject, quantity, "", value, part=part, **ends, **own)  # type: ignore[arg-type]


def _change(level: Effect, other: Effect, off: float) -> Effect:
    """Return the change between two levels; its ends are the tolerance away."""
    ratio = level.value / other.value if other.value else math.inf
    value, low, high = (100 * (end - 1) for end in (ratio, ratio * (1 - off), ratio * (1 + off)))
    return replace(level, against=other.subject, value=value, low=low, high=high)


def _ahead(levels: Sequence[Effect], off: float) -> tuple[list[Effect], list[Effect]]:
    """Return the levels that do not differ from the first, which is the best, and the others."""
    alike = [one for one in levels if one is levels[0] or not _change(levels[0], one, off).better]
    return alike, [one for one in levels if one not in alike]


def _latencies(rows: pd.DataFrame, names: Sequence[str], config: CurveConfig) -> list[Effect]:
    """Return mean latencies at the largest load at which all these routings are steady."""
    steady = rows[(rows["state"] == STEADY) & rows["routing"].isin(names)]
    counts = steady.groupby(["load", "traffic"])["routing"].transform("nunique")
    shared = steady[counts == len(names)].sort_values(["load", "traffic"])
    if not len(shared):
        return []
    load, traffic = float(shared["load"].iloc[-1]), str(shared["traffic"].iloc[-1])
    at = shared[(shared["traffic"] == traffic) & (shared["load"] == load)]
    part = f"at {_percent(load)} of {traffic} traffic"
    found = [
        _level(str(row["routing"]), LATENCY, row["latency_mean_s"], config, part)
        for row in at.to_dict("records")
    ]
    return sorted(found, key=lambda effect: (math.isnan(effect.value), effect.value))


def recommend_routing(
    rows: pd.DataFrame, config: CurveConfig, seconds_per_point: float
) -> Recommendation:
    """Return which routing accepts most, or of those that accept alike the one of least latency."""
    section, curves, off = config.curve, saturation(rows), config.curve.tolerance
    levels = curve_effects(rows, config)
    alike, less = _ahead(levels, off)
    latencies = _latencies(rows, [one.subject for one in alike], config) if len(alike) > 1 else []
    first, behind = _ahead(latencies, off) if latencies else (alike, less)
    chosen, shown = first[0], (*levels, *latencies)
    if len(first) == 1 and behind:
        decided = _change(chosen, behind[0], off)
        text, shown = use(decided), (decided, *shown)
    elif len(levels) == 1:
        text = sentence([chosen])
    else:
        names = ", ".join(one.subject for one in first)
        what = " and ".join(dict.fromkeys(one.quantity.name for one in shown))
        text = f"{names} do not differ in {what} by more than {_percent(off)}."
    row = _worst(rows).set_index("routing").loc[chosen.subject]
    above, low = (float(str(row[name])) for name in ("saturates_at", "steady_to"))
    limit = f"No load up to {_percent(low)} saturates {chosen.subject}."
    step = (
        "Add larger loads under curve.loads, up to 1." if low < 1 else "Vary traffic or routings."
    )
    if above == above:
        limit = f"{chosen.subject} saturates between {_percent(low)} and {_percent(above)}."
        points = len(curves)
        took = format_quantity(points * seconds_per_point, "time", 1)
        step = f"loads = [{(low + above) / 2:.3g}] would halve that, about {took} of computing."
    size = section.message_bytes or config.machine.packet.packet_bytes
    unsettled = int((rows["state"] == UNSETTLED).sum())
    ends = rows.merge(curves, left_on=[*CURVE, "load"], right_on=[*CURVE, "saturates_at"])
    return Recommendation(
        text,
        shown,
        f"{limit} Every node sends {size:,}-byte messages in a {section.process} process; 100 % is "
        "its injection bandwidth. Ends are the tolerance of settled points.",
        step,
        f"{unsettled} of {len(rows)} points had not settled and count as saturated."
        if unsettled
        else "",
        reliable=not (ends["state"] == UNSETTLED).any(),
        level=None,
    )


def _percent(load: float) -> str:
    return f"{100 * load:.3g} %"


def recommend_algorithm(
    rows: pd.DataFrame, pairs: pd.DataFrame, seconds_per_point: float
) -> Recommendation:
    """Return which algorithm of a collective is fastest, and from which size on.

    Beside simulated rows are measured ones (`experiments.curve.bandwidth.compared`).
    """
    fastest = rows.loc[rows.groupby("bytes")["time_s"].idxmin()].sort_values("bytes")
    small, large = fastest.iloc[0], fastest.iloc[-1]
    levels = [
        Effect(
            str(row["algorithm"]),
            BUS_BANDWIDTH,
            "",
            float(row["busbw_Bps"]),
            sample="operation",
            part=f"at {format_quantity(row['bytes'], 'bytes', 3)}",
        )
        for row in rows.to_dict("records")
    ]
    top = levels[[*rows.index].index(large.name)]
    shown = f"{large['operation']} with {sentence([top])}"
    if rows["algorithm"].nunique() > 1:
        same = fastest["algorithm"] == large["algorithm"]
        since = int(fastest["bytes"][same[::-1].cummin()].min())
        shown += f" It is the fastest from {format_quantity(since, 'bytes', 3)} on"
        small_is = small["algorithm"]
        shown += "." if small_is == large["algorithm"] else f"; {small_is} is below that."
    compared = ""
    if len(pairs):
        off = 100 * pairs["error"].abs().median()
        compared = f"Measured bus bandwidths differ by {off:.2g} % (median of {len(pairs)} rows). "
    again = f"a new size takes about {format_quantity(seconds_per_point, 'time', 1)} an algorithm"
    return Recommendation(
        shown,
        (top,),
        f"{compared}{large['gpus']} GPUs take part, and nothing else is on the network; one "
        "operation was simulated a size.",
        f"Compare with nccl-tests (--measured FILE); {again}."
        if not len(pairs)
        else f"Set start and channels under [collective]; {again}.",
        others=tuple(one for one in levels if one is not top),
    )


def publish(
    args: argparse.Namespace,
    out: Path,
    config: CurveConfig,
    answer: Recommendation,
    title: str,
    drawing: Drawing,
    sections: Sequence[Section],
    frames: Mapping[str, pd.DataFrame],
) -> dict[str, Path]:
    """Write tables, figure, page, and the summary if one is wanted; return the files.

    The figure has the name of the first table.
    """
    name, file = next(iter(frames)), Path(args.config)
    write_tables(out, frames)
    drawn = save_figure(drawing.draw(), out / f"{name}.{args.format}", args.format)
    sections = [Section("Curves", drawings=[drawing]), *sections]
    page = render_page(
        title,
        "",
        [answer.section(), *sections],
        command=f"netcosim curve {file.name}",
        config=read_text(file),
        seeds={"run.seed": config.run.seed},
    )
    if args.summary is not None:
        write_summary(args.summary, title, answer, sections)
    written = write_page(out / PAGE_FILE, page)
    return {"page": written, "figure": drawn, "table": out / f"{name}.csv"}
