"""Papers on queues: their logs under policies and scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from alloc.coded.ta import FullestLeaf, OneTypeALeaf, WholeLeaves, WholeLeavesOverPods
from experiments.frames import lookup
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.logs import PaperLog, log_notes, logs_folder, needed
from experiments.papers.kit.points import config_points
from experiments.papers.paper import Analyse, Analysis, Options, Point, check_no_packets
from netsim.errors import unknown_name

Frames = Mapping[str, "pd.DataFrame"]
Found = tuple[Sequence[Claim], Mapping[str, "pd.DataFrame"]]
"""Claims, and the tables of a figure by name."""
Judge = Callable[[Frames], Found]

BASELINE = "baseline"
READINGS = tuple(p.name for p in (OneTypeALeaf, WholeLeaves, FullestLeaf, WholeLeavesOverPods))
"""TA by other readings of its text: values of the setting "ta"."""
WALLTIMES = ("logged", "exact")
"""What the scheduler knows: values of the setting "walltimes"."""


def check_queues(options: Options) -> None:
    """Raise NetcosimError for what the fat-tree papers on queues do not have."""
    check_no_packets(options, ("logs", "walltimes", "ta"))
    walltimes, ta = options.settings.get("walltimes", "logged"), options.settings.get("ta", "ta")
    if walltimes not in WALLTIMES:
        raise unknown_name("walltimes", walltimes, WALLTIMES)
    if ta not in ("ta", *READINGS):
        raise unknown_name("reading of ta", ta, ("ta", *READINGS))
    logs_folder(options)


def reading_of(policy: str) -> str:
    """The policy that another reading is one of; other names as they are."""
    return "ta" if policy in READINGS else policy


def queue_points(
    experiment: str,
    logs: Iterable[PaperLog],
    policies: Sequence[str],
    options: Options,
    sections: Mapping[str, Any],
    changes: Mapping[str, Sequence[object]],
) -> list[Point]:
    """Points of the logs that are there, one for each policy and combination of changes.

    Of the settings, "walltimes" says what the scheduler knows, "ta" which reading of TA is taken.

    Parameters
    ----------
    experiment, changes
        See `experiments.papers.kit.points.config_points`.
    logs : iterable of PaperLog
    policies : sequence of str
        Baseline has one scenario: it does not speed up.
    options : Options
    sections : mapping
        What all points have in common: ``queue``, ``run`` and more of ``workload``.

    Raises
    ------
    NetcosimError
        As `experiments.papers.kit.logs.needed`.
    """
    points: list[Point] = []
    walltimes = options.settings.get("walltimes", "logged")
    for log, own in needed(logs, options):
        workload = {**own["workload"], **sections.get("workload", {})}
        run = {"seed": options.seed, "snapshots": 0, **sections["run"]}
        base = {**own, "workload": workload, "queue": sections["queue"], "run": run}
        for policy in policies:
            name = options.settings.get("ta", "ta") if policy == "ta" else policy
            chosen: dict[str, Sequence[object]] = {
                "queue.policies": [[name]],
                "workload.walltimes": [walltimes],
                **changes,
            }
            if policy == BASELINE and "queue.scenario" in chosen:
                chosen["queue.scenario"] = ["none"]
            points += config_points(experiment, base, chosen, {"log": log.name})
    return points


def noted(judge: Judge, logs: Sequence[PaperLog], *first: str, left_out: bool = False) -> Analyse:
    """The analysis of a figure on these logs: what is found, with the notes on its logs.

    Parameters
    ----------
    judge : callable (frames) -> (claims, tables)
    logs : sequence of PaperLog
    *first : str
        Notes that stand before those of `experiments.papers.kit.logs.log_notes`.
    left_out : bool
        Say too how many jobs of a log were left out.
    """

    def analyse(frames: Frames, options: Options) -> Analysis:
        claims, tables = judge(frames)
        used = {log for frame in frames.values() for log in frame.get("log", ())}
        left = lookup(frames["runs"], ["log"], "left_out") if left_out else {}
        notes = (
            *first,
            *log_notes(logs, options, used),
            *(f"{log}: {count:g} jobs left out" for log, count in left.items() if count),
        )
        return Analysis(claims_frame(claims), tables, notes)

    return analyse
