"""Tang et al., "Reducing Fragmentation on Torus-Connected Supercomputers", IPDPS 2011.

Intrepid's log of 2009 by month on Intrepid's menu; where it is not at hand, Mira 2018 on Mira's
menu and on Intrepid is the substitute. Two orders, six schemes; Cobalt's drains and windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from experiments.kit.data import read_data
from experiments.kit.paper_folder import NO_PACKETS, checker
from experiments.kit.papers import Options, Paper, PaperFigure, Point
from experiments.kit.points import OBSERVE, config_points
from experiments.walltime.figures import (
    SHOWN,
    class_analyse,
    class_curves,
    fig9_analyse,
    gain_bars,
    gain_distribution,
    gains_analyse,
    levels_analyse,
    table2_analyse,
)
from experiments.walltime.logs import chosen

SETTINGS = ("logs", "case")
STUDY = read_data("walltime")
SCHEMES: dict[str, tuple[str, str]] = STUDY["schemes"]
QUEUE = {"backfill": "cobalt", "run_time_model": "as-logged"}
OBSERVED = ("runs", "days", "timing")


def scheme_points(figure: Mapping[str, Any], options: Options) -> list[Point]:
    """Return a figure's schemes for every case, month and order; quick: the middle month."""
    found = []
    for case, sections in chosen(options):
        middle = options.quick or figure.get("middle_month", False)
        changes = {
            "workload.month": (case.middle,) if middle else case.months,
            "queue.order": figure["orders"],
        }
        for scheme in figure["schemes"]:
            policy, estimates = SCHEMES[scheme]
            observed = [*OBSERVED, *(("classes", "quantiles") if scheme in SHOWN else ())]
            base = {
                **sections,
                "queue": {"policies": [policy], "estimates": estimates, **QUEUE},
                "run": {"seed": options.seed, "snapshots": 0, "observables": observed},
            }
            labels = {"case": case.log.name, "scheme": scheme}
            found += config_points("walltime", base, changes, labels)
    return found


def _figure(name: str, figure: Mapping[str, Any]) -> PaperFigure:
    number, metric = name.removeprefix("fig"), figure.get("metric", "")
    if figure.get("middle_month"):
        own: Any = (class_analyse(metric, figure["orders"][0], number), class_curves)
    elif metric:
        own = (gains_analyse(metric, number), gain_bars)
    else:
        own = ANALYSES[name]
    points = partial(scheme_points, figure)
    return PaperFigure(name, figure["description"], OBSERVE, points, *own)


ANALYSES = {
    "table2": (table2_analyse,),
    "levels": (levels_analyse,),
    "fig9": (fig9_analyse, gain_distribution),
}


def _check(options: Options) -> None:
    checker("queues", SETTINGS, no_routing=NO_PACKETS)(options)
    chosen(options)


PAPER = Paper(
    name="walltime",
    title=STUDY["title"],
    figures={name: _figure(name, figure) for name, figure in STUDY["figures"].items()},
    check=_check,
)
