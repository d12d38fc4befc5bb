"""What ``netcosim curve --collective`` leaves: tables, a figure, and lines on the screen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import plain_numbers
from netcosim.report.figures.style import SOFT, colour, literal, marker
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def matching(measured: pd.DataFrame, operation: str, gpus: int) -> pd.DataFrame:
    """Return the measured rows of an operation and number of GPUs, or with neither known."""
    same = measured["operation"].isin(["", operation]) & measured["gpus"].isin([0, gpus])
    if not same.any():
        cases = measured[["operation", "gpus"]].drop_duplicates().itertuples(index=False)
        listed = "; ".join(f"{name or 'operation not named'} on {n}" for name, n in cases)
        raise NetcosimError(f"no measured row of {operation} on {gpus} GPUs; there are {listed}")
    return measured[same & (measured["bytes"] > 0)]


def compared(rows: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return simulated beside measured bus bandwidths, and their ratio less one ("error")."""
    pairs = rows.merge(
        measured[["run", "bytes", "time_s", "busbw_Bps"]],
        on="bytes",
        suffixes=("", "_measured"),
    )
    return pairs.assign(error=pairs["time_s_measured"] / pairs["time_s"] - 1)


def format_rows(rows: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Return the table of nccl-tests' users, and the largest errors of each run."""
    first = rows.iloc[0]
    lines = [f"{first['operation']} on {first['gpus']} GPUs"]
    lines.append("         bytes  algorithm           time (us)  algbw (GB/s)  busbw (GB/s)")
    lines += [
        f"{row['bytes']:14,}  {row['algorithm']:18}  {1e6 * row['time_s']:9.1f}  "
        f"{row['algbw_Bps'] / 1e9:12.2f}  {row['busbw_Bps'] / 1e9:12.2f}"
        for row in rows.to_dict("records")
    ]
    for (run, algorithm), part in pairs.groupby(["run", "algorithm"], sort=False):
        found = [
            f"{100 * part['error'][part['bytes'] >= 2**20 * limit].abs().max():.2g} % from {limit} "
            "MiB on"
            for limit in (1, 64)
            if (part["bytes"] >= 2**20 * limit).any()
        ]
        median = f"{100 * part['error'].abs().median():.2g} % (median of {len(part)} sizes)"
        lines.append(
            f"{algorithm} against {run}: bus bandwidth differs by "
            f"{', at most '.join([median, *found])}"
        )
    return lines


def draw(rows: pd.DataFrame, measured: pd.DataFrame, title: str) -> Drawing:
    """Return bus bandwidth over bytes, both logarithmic: lines are simulated, marks measured."""
    panel = Panel(partial(_bandwidths, rows=rows, measured=measured), title)
    caption = "Lines: simulated; marks: measured."
    return Drawing("collective", title, [panel], caption, (8.0, 4.5), lines="both")


def _bandwidths(axis: Axes, rows: pd.DataFrame, measured: pd.DataFrame) -> None:
    for i, (algorithm, curve) in enumerate(rows.groupby("algorithm", sort=False)):
        curve = curve.sort_values("bytes")
        axis.plot(curve["bytes"], curve["busbw_Bps"] / 1e9, color=colour(i), label=algorithm)
    for i, (run, points) in enumerate(measured.groupby("run", sort=False)):
        shown = points[points["busbw_Bps"] > 0]
        look: dict[str, Any] = {"mfc": "white", "color": SOFT, "label": f"measured: {literal(run)}"}
        axis.plot(shown["bytes"], shown["busbw_Bps"] / 1e9, marker(i), **look)
    axis.set_xscale("log", base=2)
    axis.set(yscale="log", xlabel="bytes", ylabel="bus bandwidth (GB/s)")
    plain_numbers(axis.yaxis)
