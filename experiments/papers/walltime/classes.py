"""Figs. 10 to 13: waits and slowdowns by job size under Base and Combo, in one month."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from experiments.figures.style import colour
from experiments.observables.jobs import CLASSES
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.kit.panels import curves, panels
from experiments.papers.paper import Analysis, Options
from experiments.papers.walltime import printed
from experiments.papers.walltime.logs import notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = ("Base", "Combo")
"""Schemes whose distributions are shown."""
LARGE = list(CLASSES)[-1]
LITTLE = 0.9
"""Under WFP the paper sees "little improvement" for the largest jobs."""
DASHES = {"Base": "--", "Combo": "-"}


def class_analyse(metric: str, order: str, figure: str) -> Callable[..., Analysis]:
    """What the text reads off the curves, and whether Combo is ahead in every class."""
    mean, short = {
        "wait_min": ("mean_wait_min", "wait"),
        "bounded_slowdown": ("mean_slowdown", "BSD"),
    }[metric]

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        classes, quantiles = frames["classes"], frames["quantiles"]
        claims: list[Claim] = []
        for (case, name), part in groups(classes, "case", "class"):
            by_scheme = part.set_index("scheme")
            if not set(SHOWN) <= set(by_scheme.index):
                continue
            base, combo = (by_scheme.loc[scheme] for scheme in SHOWN)
            if not float(base[mean]) > 0:
                continue  # nobody waits
            says = Says(f"V-D.4, Fig. {figure}", f"{case}, {order.upper()}")
            what = f"{name}: Combo over Base, mean {short}"
            ratio = float(combo[mean]) / float(base[mean])
            if order == "wfp" and name == LARGE:
                claims.append(says.at_least(what, ratio, LITTLE, note="little improvement"))
            else:
                claims.append(says.below(what, ratio, 1))
            if metric == "wait_min":
                claims += _printed_waits(says, name, order, base, combo)
        shown = quantiles[quantiles["metric"] == metric].reset_index(drop=True)
        tables = {"classes": classes, "quantiles": shown}
        return Analysis(claims_frame(claims), tables, notes(options))

    return analyse


def _printed_waits(
    says: Says, name: str, order: str, base: pd.Series, combo: pd.Series
) -> list[Claim]:
    """Shares and medians that the text gives for May 2009."""
    claims = []
    for column, text, known in (
        ("near_zero", "no wait to speak of", printed.NEAR_ZERO_FCFS),
        ("within_300_min", "a wait within 300 min", printed.WITHIN_300_FCFS),
    ):
        if order == "fcfs" and name in known:
            for scheme, row, paper in zip(SHOWN, (base, combo), known[name], strict=True):
                what = f"{name}: share with {text}, {scheme}"
                claims.append(says.near(what, paper, float(row[column]), within=0.10))
    if name == LARGE:
        what, paper = f"{name}: median wait in minutes, Base", printed.MEDIAN_LARGE_MIN[order]
        claims.append(says.near(what, paper, float(base["median_wait_min"]), within=25, unit="%"))
    return claims


def class_curves(analysis: Analysis, options: Options) -> Figure:
    """Figs. 10 to 13: cumulative distributions by size class, Combo solid, Base dashed."""
    table = analysis.tables["quantiles"]
    table = table.assign(curve=table["class"] + " " + table["scheme"])
    looks = {f"{c} {s}": (colour(i), DASHES[s]) for i, c in enumerate(CLASSES) for s in SHOWN}
    waits = bool((table["metric"] == "wait_min").any())

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        curves(axis, part, "value", "share", "curve", looks=looks)
        if waits:
            axis.set_xlim(0, max(300.0, float(part[part["share"] <= 0.95]["value"].max())))
        else:
            axis.set_xscale("log")

    return panels(
        table,
        ("case", "month"),
        draw,
        columns=2,
        size_in=(5.5, 3.2),
        xlabel="wait (minutes)" if waits else "bounded slowdown",
        ylabel="fraction of jobs",
    )
