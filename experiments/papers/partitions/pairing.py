"""Figures 3 and 4: bisection pairing on two geometries of each size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.panels import panels
from experiments.papers.paper import Analysis, Options
from experiments.papers.partitions.bars import two_sides
from experiments.papers.partitions.printed import PAIRING, PAIRING_MIRA_24

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PERCENT = {"flow": 1, "packet": 5}
"""How near each engine must come."""
KEYS = ["engine", "Midplanes"]
VALUES = ["geometry", "bisection", "time_s", "slowest_s"]
UNSURE = " (not what Table 1 gives)"
WHAT = {"flow": "16 chunks of 0.1342 GB", "packet": "scaled messages"}


def pairing_table(pairing: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Times of two choices side by side, one row an engine and size.

    Columns ``speedup`` (first over second) and ``by_bisection`` (what the bisections alone
    say).
    """
    old, new = (
        pairing[pairing["choice"] == choice].set_index(KEYS)[VALUES].add_prefix(f"{side}_")
        for choice, side in ((first, "first"), (second, "second"))
    )
    table = old.join(new, how="inner").sort_index().reset_index()
    table["speedup"] = table["first_time_s"] / table["second_time_s"]
    table["by_bisection"] = table["second_bisection"] / table["first_bisection"]
    return table


def _speedups(table: pd.DataFrame, machine: str, printed_table: int, figure: str) -> list[Claim]:
    claims = []
    for row in table.to_dict("records"):
        size, percent = int(row["Midplanes"]), PERCENT[row["engine"]]
        condition = f"{size} midplanes, {row['engine']}"
        says = Says(f"section 4.1, {figure}", condition)
        ours, links = float(row["speedup"]), float(row["by_bisection"])
        large = (machine, size) == ("mira", 24)
        predicted, measured = PAIRING_MIRA_24 if large else PAIRING
        unsure = UNSURE if predicted != links else ""
        claims += [
            Says(f"Table {printed_table}, {figure}", condition).holds(
                "speedup as the bisections of the two partitions",
                abs(ours / links - 1.0) <= percent / 100,
                f"within {percent} %",
                ours,
                expected=links,
            ),
            says.near(
                f"speedup as predicted in the text{unsure}",
                predicted,
                ours,
                within=percent,
                unit="%",
            ),
            says.at_least(
                "speedup as measured on the machine, at least",
                ours,
                measured * (1 - percent / 100),
                paper=measured,
                note=f"{percent} % below the paper's",
            ),
        ]
    return claims


def _growth(
    says_where: str, table: pd.DataFrame, side: str, small: int, large: int, paper: float, what: str
) -> list[Claim]:
    """How the time grows from one size to another, in each engine that has both."""
    claims = []
    for engine, part in table.groupby("engine"):
        times = part.set_index("Midplanes")[f"{side}_time_s"]
        if {small, large} <= set(times.index):
            says = Says(says_where, f"{small} to {large} midplanes, {engine}")
            ours = float(times[large] / times[small])
            claims.append(says.near(what, paper, ours, within=PERCENT[str(engine)], unit="%"))
    return claims


def analyse_mira(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Figure 3: Mira's current against the proposed partitions."""
    table = pairing_table(frames["pairing"], "mira-current", "mira-proposed")
    claims = _speedups(table, "mira", 1, "Fig. 3")
    for side, paper, what in (
        ("first", 1.097, "current partitions: time grows by 9.7 %"),
        ("second", 1.5, "proposed partitions: more nodes on the same bisection"),
    ):
        claims += _growth("section 4.1", table, side, 16, 24, paper, what)
    return Analysis(claims_frame(claims), {"pairing": table})


def analyse_juqueen(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Figure 4: JUQUEEN's worst against the best partitions."""
    table = pairing_table(frames["pairing"], "worst", "best")
    claims = _speedups(table, "juqueen", 2, "Fig. 4")
    for side, name in (("first", "worst"), ("second", "best")):
        for large, paper in ((8, 1.0), (6, 1.5)):
            what = f"{name} cases: time follows the bisection a node"
            claims += _growth("Fig. 4, caption", table, side, 4, large, paper, what)
    return Analysis(claims_frame(claims), {"pairing": table})


def _pairing_bars(analysis: Analysis, machine: str, first: str, second: str) -> Figure:
    """One panel an engine, seconds (or milliseconds) for the counted rounds."""
    table = analysis.tables["pairing"]
    sides = {"first_time_s": first, "second_time_s": second}
    slow = table.groupby("engine")["first_time_s"].transform("max") > 0.1
    scaled = {side: table[side].where(slow, 1e3 * table[side]) for side in sides}
    return panels(
        table.assign(unit=slow.map({True: "s", False: "ms"}), **scaled),
        ("engine", "unit"),
        lambda axis, part: two_sides(axis, part, sides, "speedup"),
        columns=2,
        size_in=(4.6, 3.0),
        xlabel="midplanes",
        ylabel="time of the counted rounds",
        title=lambda engine, unit: f"{machine}, {engine} engine, {WHAT[engine]} ({unit})",
    )


def mira_bars(analysis: Analysis, options: Options) -> Figure:
    """Figure 3."""
    return _pairing_bars(analysis, "Mira", "current", "proposed")


def juqueen_bars(analysis: Analysis, options: Options) -> Figure:
    """Figure 4."""
    return _pairing_bars(analysis, "JUQUEEN", "worst case", "best case")
