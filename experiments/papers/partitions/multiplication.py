"""Figures 5 and 6: communication of Strassen-Winograd multiplication on Mira."""

from __future__ import annotations

import pandas as pd

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.paper import Analysis
from experiments.papers.partitions.printed import MULTIPLICATION_FACTORS, SCALING_FACTORS

KEYS = ["mapping", "first_groups", "Midplanes"]
CHOICES = {"mira-current": "current", "mira-proposed": "proposed"}


def totals(multiplication: pd.DataFrame) -> pd.DataFrame:
    """Seconds of both choices, summed over the levels; ``factor`` is current over proposed."""
    sums = multiplication.groupby([*KEYS, "choice"], as_index=False)["time_s"].sum()
    seconds: pd.DataFrame = sums.pivot(index=KEYS, columns="choice", values="time_s")
    wide = seconds.rename(columns=CHOICES)
    wide = wide.rename(columns=lambda c: f"{c}_s").reset_index()
    wide.columns.name = None
    wide["factor"] = wide["current_s"] / wide["proposed_s"]
    return wide


def analyse_multiplication(multiplication: pd.DataFrame) -> Analysis:
    """Figure 5: current against proposed partitions, for every task mapping.

    The paper does not say how ranks were laid on nodes, so all mappings are compared with
    its range.
    """
    table = totals(multiplication)
    low, high = MULTIPLICATION_FACTORS
    claims = []
    for row in table.to_dict("records"):
        factor = float(row["factor"])
        claims.append(
            Claim(
                claim="communication is faster on proposed partitions",
                where="section 4.2, Fig. 5",
                condition=f"{row['Midplanes']} midplanes, ranks {row['mapping']}, "
                f"first groups {row['first_groups']}",
                paper=low,
                paper_high=high,
                ours=factor,
                holds=low <= factor <= high,
                rule=f"a factor of {low} to {high}",
            )
        )
    return Analysis(claims_frame(claims), {"totals": table, "levels": multiplication})


def analyse_scaling(multiplication: pd.DataFrame) -> Analysis:
    """Figure 6: strong scaling from 2 to 8 midplanes, for every task mapping."""
    table = totals(multiplication)
    claims = []
    for (mapping, first), part in table.groupby(["mapping", "first_groups"]):
        by_size = part.set_index("Midplanes")
        gained = {}
        for choice, paper in SCALING_FACTORS.items():
            times = by_size[f"{choice}_s"]
            gained[choice] = float(times[2] / times[8])
            claims.append(
                Claim(
                    claim=f"communication time on 2 over 8 midplanes, {choice}",
                    where="section 4.3, Fig. 6",
                    condition=f"ranks {mapping}, first groups {first}",
                    paper=paper,
                    ours=gained[choice],
                    holds=abs(gained[choice] / paper - 1) <= 0.15,
                    rule="within 15%",
                )
            )
        claims.append(
            Claim(
                claim="proposed partitions scale better than current ones, by",
                where="section 4.3, Fig. 6",
                condition=f"ranks {mapping}, first groups {first}",
                paper=SCALING_FACTORS["proposed"] / SCALING_FACTORS["current"],
                ours=gained["proposed"] / gained["current"],
                holds=gained["proposed"] > gained["current"] * 1.02,
                rule="more than 2% better",
            )
        )
    return Analysis(claims_frame(claims), {"totals": table, "levels": multiplication})
