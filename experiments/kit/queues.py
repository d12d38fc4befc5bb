"""Papers on queues: their logs under policies and scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from experiments.kit.claims import Claim, claims_frame
from experiments.kit.coded.ta import FullestLeaf, OneTypeALeaf, WholeLeaves, WholeLeavesOverPods
from experiments.kit.data import read_data
from experiments.kit.frames import lookup
from experiments.kit.logs import PaperLog, log_notes, needed, read_logs
from experiments.kit.paper_folder import NO_PACKETS, checker
from experiments.kit.papers import Analyse, Analysis, Options, PaperFigure, Point
from experiments.kit.points import OBSERVE, config_points
from netcosim.runs.points import replaced
from netsim.errors import need_name, unknown_name

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
    checker("queues", ("logs", "walltimes", "ta"), no_routing=NO_PACKETS)(options)
    walltimes, ta = options.settings.get("walltimes", "logged"), options.settings.get("ta", "ta")
    need_name("walltimes", walltimes, WALLTIMES)
    if ta not in ("ta", *READINGS):
        raise unknown_name("reading of ta", ta, ("ta", *READINGS))


def reading_of(policy: str) -> str:
    """Return the policy of which another one is a reading; other names as they are."""
    return "ta" if policy in READINGS else policy


def sweep_points(paper: str, sweep: Mapping[str, Any], options: Options) -> list[Point]:
    """Return points of the available logs, one for each policy and combination of changes.

    Of the settings, "walltimes" is what the scheduler knows, "ta" the interpretation of TA. The
    paper's ``paper.toml`` has what its sweeps share: ``config``, ``policy_config`` and ``changes``.
    A sweep names ``logs`` and ``policies`` (Baseline has one scenario: it is not sped up), its own
    ``config`` and ``changes``, both by dotted keys.
    """
    shared, logs = read_data(paper), read_logs(paper)
    points: list[Point] = []
    there = needed([logs[name] for name in sweep["logs"]], options)
    pairs = [(log, own, policy) for log, own in there for policy in sweep["policies"]]
    if shared.get("policies_first"):
        pairs.sort(key=lambda pair: sweep["policies"].index(pair[2]))
    for log, own, policy in pairs:
        of_policy = shared.get("policy_config", {}).get(policy, {})
        run = {"run.seed": options.seed, "run.snapshots": 0}
        config = {**shared["config"], **of_policy, **run, **sweep.get("config", {})}
        chosen: dict[str, Sequence[object]] = {
            "queue.policies": [[options.settings.get("ta", "ta") if policy == "ta" else policy]],
            "workload.walltimes": [options.settings.get("walltimes", "logged")],
            **shared["changes"],
            **sweep.get("changes", {}),
        }
        if policy == BASELINE:
            chosen["queue.assumed.scenario"] = ["none"]
        points += config_points(paper, replaced(own, config), chosen, {"log": log.name})
    return points


def queue_figures(paper: str, analyses: Mapping[str, tuple[Any, ...]]) -> tuple[PaperFigure, ...]:
    """Return ``[figures]`` of a paper's ``paper.toml``, each with its analysis: (judge, draw).

    Without ``draw`` it has no drawing. A figure is a sweep (`sweep_points`), or has several
    ``sweeps`` that differ from it in some keys.
    """
    logs, found = read_logs(paper), []
    for name, figure in read_data(paper)["figures"].items():
        sweeps = [{**figure, **own} for own in figure.get("sweeps", [{}])]
        used = [logs[log] for log in dict.fromkeys(log for one in sweeps for log in one["logs"])]
        judge, *draw = analyses[name]
        first = [figure["note"]] if "note" in figure else []
        analyse = noted(judge, used, *first, left_out="note_left_out" in figure)
        points = partial(_points, paper, sweeps)
        found.append(PaperFigure(name, figure["description"], OBSERVE, points, analyse, *draw))
    return tuple(found)


def _points(paper: str, sweeps: Sequence[Mapping[str, Any]], options: Options) -> list[Point]:
    return [point for sweep in sweeps for point in sweep_points(paper, sweep, options)]


def noted(judge: Judge, logs: Sequence[PaperLog], *first: str, left_out: bool = False) -> Analyse:
    """Return the analysis of a figure on these logs: what is found, with the notes on its logs.

    Other notes come ``first``; ``left_out``: also how many jobs of a log were left out.
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
