"""The page of ``netcosim curve``: what the network carries, with the figure and the tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netcosim.curve.config import CurveConfig
from netcosim.curve.output import CURVE
from netcosim.curve.output import summary as saturation
from netcosim.curve.point import UNSETTLED
from netcosim.report.page import Section, render_page, write_page
from netcosim.report.recommendation import Recommendation
from netcosim.report.summary import write_summary
from netcosim.study.results import PAGE_FILE
from netsim.files import read_text
from netsim.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def recommend_routing(
    rows: pd.DataFrame, config: CurveConfig, seconds_per_point: float
) -> Recommendation:
    """Return which routing carries most, and the load that it carries.

    Parameters
    ----------
    rows : DataFrame
        Of table "curve".
    """
    section, found = config.curve, saturation(rows)
    keys = ["steady_to", "most_accepted"]
    # a routing is as good as under the traffic that suits it least
    worst = found.sort_values(keys).groupby("routing", sort=False).head(1).set_index("routing")
    ranked = worst.sort_values(keys, ascending=False, kind="stable")
    best, row = str(ranked.index[0]), ranked.iloc[0]
    under = f"under {row['traffic']}" + (" (its worst)" if len(section.traffic) > 1 else "")
    carries = f"all that is offered up to {_percent(row['steady_to'])} {under}"
    sentence = f"With {best} routing the network carries {carries}."
    if row["steady_to"] == 0:
        sentence = f"The network saturates at all of these loads {under}."
    elif len(ranked) > 1:
        loads = ranked["steady_to"]
        alike = ", ".join(map(str, loads.index[loads == loads.iloc[0]]))
        others = [f"{name} {_percent(load)}" for name, load in loads[loads < loads.iloc[0]].items()]
        if alike == best:
            sentence = f"Use {best} routing: it carries {carries}; {', '.join(others)}."
        else:
            sentence = f"No routing carries more than the others ({alike}): {carries}."
    above, low = row["saturates_at"], row["steady_to"]
    interval = f"No load up to {_percent(low)} saturates it."
    step = (
        "Add larger loads under curve.loads, up to 1." if low < 1 else "Vary traffic or routings."
    )
    if above == above:
        interval = f"It saturates between {_percent(low)} and {_percent(above)} of the bandwidth."
        points = len(found)
        took = format_quantity(points * seconds_per_point, "time", 1)
        step = f"loads = [{(low + above) / 2:.3g}] would halve that, about {took} of computing."
    size = section.message_bytes or config.machine.packet.packet_bytes
    unsettled = int((rows["state"] == UNSETTLED).sum())
    ends = rows.merge(found, left_on=[*CURVE, "load"], right_on=[*CURVE, "saturates_at"])
    return Recommendation(
        sentence,
        interval,
        f"Every node sends {size:,}-byte messages in a {section.process} process; 100 % is its "
        "injection bandwidth.",
        step,
        f"{unsettled} of {len(rows)} points had not settled and count as saturated."
        if unsettled
        else "",
        reliable=not (ends["state"] == UNSETTLED).any(),
    )


def _percent(load: float) -> str:
    return f"{100 * load:.3g} %"


def recommend_algorithm(
    rows: pd.DataFrame, pairs: pd.DataFrame, seconds_per_point: float
) -> Recommendation:
    """Return which algorithm of a collective is fastest, and from which size on.

    Parameters
    ----------
    rows, pairs : DataFrame
        Simulated rows, and those with measured ones beside (`netcosim.curve.bandwidth.compared`).
    """
    fastest = rows.loc[rows.groupby("bytes")["time_s"].idxmin()].sort_values("bytes")
    small, large = fastest.iloc[0], fastest.iloc[-1]
    reaches = (
        f"reaches {format_quantity(large['busbw_Bps'], 'bandwidth', 3)} of bus bandwidth at "
        f"{format_quantity(large['bytes'], 'bytes', 3)}"
    )
    sentence = f"{large['operation']} with {large['algorithm']} {reaches}."
    if rows["algorithm"].nunique() > 1:
        sentence = f"Use {large['algorithm']}: it {reaches}"
        same = fastest["algorithm"] == large["algorithm"]
        since = int(fastest["bytes"][same[::-1].cummin()].min())
        if small["algorithm"] != large["algorithm"]:
            sentence += f"; below {format_quantity(since, 'bytes', 3)} use {small['algorithm']}"
        sentence += "."
    interval = "None: the network has no noise, and one operation was simulated a size."
    if len(pairs):
        off = 100 * pairs["error"].abs().median()
        interval = f"Measured bus bandwidths differ by {off:.2g} % (median of {len(pairs)} rows)."
    again = f"a new size takes about {format_quantity(seconds_per_point, 'time', 1)} an algorithm"
    return Recommendation(
        sentence,
        interval,
        f"{large['gpus']} GPUs take part, and nothing else is on the network.",
        f"Compare with nccl-tests (--measured FILE); {again}."
        if not len(pairs)
        else f"Set start and channels under [collective]; {again}.",
    )


def write_report(
    out: Path,
    config_file: Path,
    config: CurveConfig,
    answer: Recommendation,
    title: str,
    figure: Figure,
    tables: Sequence[Section],
    summary: Path | None,
) -> Path:
    """Write the page, and the summary if one is wanted; return the page's path."""
    sections = [Section("Figure", figure=figure, caption=title), *tables]
    page = render_page(
        title,
        "",
        [answer.section(), *sections],
        config=read_text(config_file),
        seeds={"run.seed": config.run.seed},
    )
    if summary is not None:
        write_summary(summary, title, answer, sections)
    return write_page(out / PAGE_FILE, page)
