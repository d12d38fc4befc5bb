"""What the figures of the fat-tree papers share: rules, groups, ratios to Baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.papers.fattree.logs import (
    QUICK_THUNDER_DAYS,
    PaperLog,
    logs_folder,
    present,
)
from experiments.papers.fattree.point import queue_point
from experiments.papers.fattree.variants import VARIANTS
from experiments.papers.paper import Options, Point, check_no_packets
from netsim.errors import NetcosimError, unknown_name

POINT_RULE = "within 1 percentage point"
TOLERANCE = 1.0
QUICK_RADIX = 18
WALLTIMES = ("logged", "exact")
SETTINGS = ("logs", "walltimes", "ta")


def check(options: Options) -> None:
    """Raise NetcosimError for what these papers do not have."""
    check_no_packets(options, SETTINGS)
    walltimes, ta = options.settings.get("walltimes", "logged"), options.settings.get("ta", "ta")
    if walltimes not in WALLTIMES:
        raise unknown_name("walltimes", walltimes, WALLTIMES)
    if ta not in ("ta", *VARIANTS):
        raise unknown_name("reading of ta", ta, ("ta", *VARIANTS))
    logs_folder(options)


def queue_points(
    logs: Sequence[PaperLog],
    policies: Sequence[str],
    options: Options,
    *,
    scenarios: Sequence[str] = ("none",),
    **choices: Any,
) -> list[Point]:
    """One point a log, policy and scenario; Baseline has one scenario, it does not speed up.

    With ``--scale quick`` only logs for machines up to 1458 nodes, and of the long Thunder the
    first days. Of the settings, "walltimes" says what the scheduler knows, "ta" which reading of
    TA is taken.

    Raises
    ------
    NetcosimError
        None of the logs is there, or all that are there are left out.
    """
    points = []
    there = present(logs, options)
    choices = {"walltimes": options.settings.get("walltimes", "logged"), **choices}
    policies = [options.settings.get("ta", "ta") if p == "ta" else p for p in policies]
    for log, config in there:
        if options.quick and log.machine["radix"] > QUICK_RADIX:
            continue
        if options.quick and log.name == "thunder":
            config = {**config, "days": QUICK_THUNDER_DAYS}
        for policy in policies:
            points += [
                queue_point(
                    config, log.machine, policy, scenario=scenario, seed=options.seed, **choices
                )
                for scenario in (("none",) if policy == "baseline" else scenarios)
            ]
    if there and not points:
        names = ", ".join(log.name for log, _ in there)
        raise NetcosimError(
            f"scale = quick leaves out all job logs that are there ({names}): their machines have "
            f"a radix above {QUICK_RADIX}; --scale full takes them"
        )
    if not points:
        wanted = "; ".join(log.where_to_get for log in logs if log.files)
        raise NetcosimError(f"none of this figure's job logs is there (give --logs DIR): {wanted}")
    return points


def distance(value: float, low: float, high: float) -> float:
    """How far a value lies outside a range; negative below it, 0 inside."""
    return min(value - low, 0.0) + max(value - high, 0.0)
