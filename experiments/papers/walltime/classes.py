"""Figs. 10 to 13: waits and slowdowns by job size under Base and Combo, in one month."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, Point
from experiments.papers.walltime import printed
from experiments.papers.walltime.logs import chosen, notes
from experiments.papers.walltime.point import CLASSES, SHOWN, month_point

if TYPE_CHECKING:
    import pandas as pd

LARGE = CLASSES[-1]
LITTLE = 0.9
"""Under WFP the paper sees "little improvement" for the largest jobs."""


def class_points(order: str) -> Callable[[Options], list[Point]]:
    """Base and Combo in the middle month of each case."""

    def points(options: Options) -> list[Point]:
        return [
            month_point(case.name, path, case.middle, order, scheme, options.seed)
            for case, path in chosen(options)
            for scheme in SHOWN
        ]

    return points


def class_analyse(metric: str, order: str, figure: str) -> Callable[..., Analysis]:
    """What the text reads off the curves, and whether Combo is ahead in every class."""

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        classes, quantiles = frames["classes"], frames["quantiles"]
        shown = quantiles[quantiles["metric"] == metric].reset_index(drop=True)
        where = f"V-D.4, Fig. {figure}"
        mean = "mean_wait_min" if metric == "wait_min" else "mean_slowdown"
        claims = []
        for (case, name), part in groups(classes, "case", "class"):
            by_scheme = part.set_index("scheme")
            if not set(SHOWN) <= set(by_scheme.index):
                continue
            base, combo = (by_scheme.loc[scheme] for scheme in SHOWN)
            if not float(base[mean]) > 0:
                continue  # nobody waits
            ratio = float(combo[mean]) / float(base[mean])
            little = order == "wfp" and name == LARGE
            claims.append(
                Claim(
                    f"{name}: Combo over Base, mean {'wait' if metric == 'wait_min' else 'BSD'}",
                    where,
                    ratio >= LITTLE if little else ratio < 1,
                    f"little improvement: not below {LITTLE}" if little else "below 1",
                    f"{case}, {order.upper()}",
                    None,
                    ratio,
                )
            )
            if metric == "wait_min":
                claims += _printed_waits(name, order, base, combo, where, case)
        return Analysis(
            claims_frame(claims), {"classes": classes, "quantiles": shown}, notes(options)
        )

    return analyse


def _printed_waits(
    name: str, order: str, base: pd.Series, combo: pd.Series, where: str, case: str
) -> list[Claim]:
    """Shares and medians that the text gives for May 2009."""
    claims = []
    shares = (
        ("near_zero", "no wait to speak of", printed.NEAR_ZERO_FCFS),
        ("within_300_min", "a wait within 300 min", printed.WITHIN_300_FCFS),
    )
    for column, text, known in shares if order == "fcfs" else ():
        for scheme, row, paper in zip(SHOWN, (base, combo), known.get(name, ()), strict=False):
            ours = float(row[column])
            claims.append(
                Claim(
                    f"{name}: share with {text}, {scheme}",
                    where,
                    abs(ours - paper) <= 0.10,
                    "within 10 percentage points",
                    f"{case}, {order.upper()}",
                    paper,
                    ours,
                )
            )
    if name == LARGE:
        ours, paper = float(base["median_wait_min"]), printed.MEDIAN_LARGE_MIN[order]
        claims.append(
            Claim(
                f"{name}: median wait in minutes, Base",
                where,
                abs(ours / paper - 1) <= 0.25,
                "within 25 %",
                f"{case}, {order.upper()}",
                paper,
                ours,
            )
        )
    return claims
