"""Figures 5 and 6: communication of Strassen-Winograd multiplication on Mira."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.panels import panels
from experiments.papers.paper import Analysis, Options
from experiments.papers.partitions.bars import two_sides
from experiments.papers.partitions.printed import MULTIPLICATION_FACTORS, SCALING_FACTORS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

KEYS = ["mapping", "first_groups", "Midplanes"]
CHOICES = {"mira-current": "current_s", "mira-proposed": "proposed_s"}


def totals(multiplication: pd.DataFrame) -> pd.DataFrame:
    """Seconds of both choices, summed over the levels; ``factor`` is current over proposed."""
    sums = multiplication.groupby([*KEYS, "choice"], as_index=False)["time_s"].sum()
    seconds: pd.DataFrame = sums.pivot(index=KEYS, columns="choice", values="time_s")
    wide = seconds.rename(columns=CHOICES).rename_axis(columns=None).reset_index()
    wide["factor"] = wide["current_s"] / wide["proposed_s"]
    return wide


def analyse_multiplication(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Figure 5: current against proposed partitions, for every task mapping.

    The paper does not say how ranks were laid on nodes, so all mappings are compared with
    its range.
    """
    table = totals(frames["multiplication"])
    low, high = MULTIPLICATION_FACTORS
    claims = []
    for row in table.to_dict("records"):
        condition = (
            f"{row['Midplanes']} midplanes, ranks {row['mapping']}, "
            f"first groups {row['first_groups']}"
        )
        says = Says("section 4.2, Fig. 5", condition)
        what = "communication is faster on proposed partitions"
        claims.append(says.between(what, low, high, float(row["factor"])))
    tables = {"totals": table, "levels": frames["multiplication"]}
    return Analysis(claims_frame(claims), tables)


def analyse_scaling(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Figure 6: strong scaling from 2 to 8 midplanes, for every task mapping."""
    table = totals(frames["multiplication"])
    current, proposed = SCALING_FACTORS
    claims = []
    for (mapping, first), part in table.groupby(["mapping", "first_groups"]):
        says = Says("section 4.3, Fig. 6", f"ranks {mapping}, first groups {first}")
        times = part.set_index("Midplanes")
        gained = {choice: float(times[choice][2] / times[choice][8]) for choice in CHOICES.values()}
        for choice, paper in (("current", current), ("proposed", proposed)):
            what = f"communication time on 2 over 8 midplanes, {choice}"
            claims.append(says.near(what, paper, gained[f"{choice}_s"], within=15, unit="%"))
        claims.append(
            says.above(
                "proposed partitions scale better than current ones, by",
                gained["proposed_s"] / gained["current_s"],
                1.02,
                paper=proposed / current,
            )
        )
    tables = {"totals": table, "levels": frames["multiplication"]}
    return Analysis(claims_frame(claims), tables)


def multiplication_bars(analysis: Analysis, options: Options) -> Figure:
    """Figures 5 and 6: one panel a task mapping and order of the breadth-first steps."""
    table = analysis.tables["totals"]
    sides = {"current_s": "current", "proposed_s": "proposed"}
    return panels(
        table.assign(**{side: 1e3 * table[side] for side in sides}),
        ("first_groups", "mapping"),
        lambda axis, part: two_sides(axis, part, sides, "factor"),
        columns=table["mapping"].nunique(),
        size_in=(4.0, 2.6),
        xlabel="midplanes",
        ylabel="communication (ms)",
        title=lambda first, mapping: f"Mira, ranks {mapping}, first groups {first}",
        share=True,
    )
