"""Tang et al., "Reducing Fragmentation on Torus-Connected Supercomputers", IPDPS 2011.

Intrepid's log of 2009 by month on Intrepid's menu; where it is not at hand, Mira 2018 on Mira's
menu and on Intrepid stands in. Two orders, six schemes; Cobalt's drains and windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.papers.kit.points import OBSERVE, config_points
from experiments.papers.paper import (
    Analyse,
    Draw,
    Options,
    Paper,
    PaperFigure,
    Point,
    check_no_packets,
)
from experiments.papers.walltime.figures import (
    COUNTED,
    METRIC_NAMES,
    ORDERS,
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
from experiments.papers.walltime.logs import chosen

SETTINGS = ("logs", "case")
SCHEMES = {
    "Base": ("cobalt", "requested"),
    "SL": ("cobalt-sl", "requested"),
    "PF": ("cobalt-pf", "requested"),
    "Combo": ("cobalt-combo", "requested"),
    "AdjEst": ("cobalt-combo", "adjusted"),
    "ActRun": ("cobalt-combo", "actual"),
}
"""Table I: a policy, and the run times that it is told; order and backfilling use the request."""
QUEUE = {"backfill": "cobalt", "run_time_model": "as-logged"}
OBSERVED = ("runs", "days", "timing")


def _points(
    *schemes: str, orders: Sequence[str] = ORDERS, one_month: bool = False
) -> Callable[[Options], list[Point]]:
    """Points of these schemes for every case, month and order; quick: the middle month."""

    def points(options: Options) -> list[Point]:
        found = []
        for case, sections in chosen(options):
            months = (case.middle,) if options.quick or one_month else case.months
            for scheme in schemes:
                policy, estimates = SCHEMES[scheme]
                observed = [*OBSERVED, *(("classes", "quantiles") if scheme in SHOWN else ())]
                base = {
                    **sections,
                    "queue": {"policies": [policy], "estimates": estimates, **QUEUE},
                    "run": {"seed": options.seed, "snapshots": 0, "observables": observed},
                }
                labels = {"case": case.log.name, "scheme": scheme}
                changes = {"workload.month": months, "queue.order": orders}
                found += config_points("walltime", base, changes, labels)
        return found

    return points


def _figure(
    name: str,
    description: str,
    points: Callable[[Options], list[Point]],
    analyse: Analyse,
    draw: Draw | None = None,
) -> PaperFigure:
    return PaperFigure(name, description, OBSERVE, points, analyse, draw)


_EVERY = _points(*SCHEMES)
_FIGURES = (
    _figure(
        "table2", "Base by month: loss of capacity, wait, slowdown", _points("Base"), table2_analyse
    ),
    _figure("levels", "all orders, schemes and months with intervals", _EVERY, levels_analyse),
    *(
        _figure(f"fig{n}", f"relative gains in {name}", _EVERY, gains_analyse(metric, n), gain_bars)
        for n, (metric, name) in zip("678", METRIC_NAMES.items(), strict=True)
    ),
    _figure(
        "fig9",
        "how often schemes gain, over all months and orders",
        _points("Base", *COUNTED),
        fig9_analyse,
        gain_distribution,
    ),
    *(
        _figure(
            f"fig{n}",
            f"{what} by job size, {order.upper()}",
            _points(*SHOWN, orders=(order,), one_month=True),
            class_analyse(metric, order, n),
            class_curves,
        )
        for n, metric, what, order in (
            ("10", "wait_min", "waits", "fcfs"),
            ("11", "bounded_slowdown", "slowdowns", "fcfs"),
            ("12", "wait_min", "waits", "wfp"),
            ("13", "bounded_slowdown", "slowdowns", "wfp"),
        )
    ),
)


def _check(options: Options) -> None:
    check_no_packets(options, SETTINGS)
    chosen(options)


PAPER = Paper(
    name="walltime",
    title="Reducing Fragmentation on Torus-Connected Supercomputers",
    figures={figure.name: figure for figure in _FIGURES},
    check=_check,
)
