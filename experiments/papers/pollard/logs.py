"""Logs, machines and queue of the topology-aware paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.papers.jigsaw.logs import KTH_TREE, THETA_TREE, fat_tree
from experiments.papers.kit.logs import PaperLog, known
from experiments.papers.kit.queues import queue_points
from experiments.papers.paper import Options, Point

SCENARIOS = ("none", "5%", "10%", "20%", "V1", "V2")
QUEUE_DEPTH = 128
"""How many waiting jobs the authors' scheduler looked at."""

CAB, PINOT = fat_tree(36, pods=4), fat_tree(36, pods=8)
# KTH SP2's tree in Cab's shape, and with twice the pods as Pinot.
SMALL_CAB, SMALL_PINOT = KTH_TREE, fat_tree(10, pods=8)


def _by_name(*logs: PaperLog) -> dict[str, PaperLog]:
    return {log.name: log for log in logs}


OWN = _by_name(
    known("aug on cab", "cab-aug", CAB),
    known("sep on cab", "cab-sep", CAB, days=15.0),
    known("nov on cab", "cab-nov", CAB),
    known("aug-2x on cab", "cab-aug", CAB, size_factor=2),
    known("nov-2x on cab", "cab-nov", CAB, size_factor=2),
    known("aug-2x on pinot", "cab-aug", PINOT, size_factor=2),
    known("nov-2x on pinot", "cab-nov", PINOT, size_factor=2),
    known("aug-3x on pinot", "cab-aug", PINOT, size_factor=3),
)


KTH = _by_name(
    *(
        known(name, "kth-sp2", machine, quick={}, size_factor=times, stands_for=stands_for)
        for name, machine, times, stands_for in (
            ("kth on small cab", SMALL_CAB, 1, "aug on cab"),
            ("kth-2x on small cab", SMALL_CAB, 2, "aug-2x on cab"),
            ("kth-2x on small pinot", SMALL_PINOT, 2, "aug-2x on pinot"),
            ("kth-3x on small pinot", SMALL_PINOT, 3, "aug-3x on pinot"),
        )
    )
)
THETA = known("theta on radix 26", "theta", THETA_TREE, stands_for="sep on cab")
LOGS = OWN | KTH | _by_name(THETA)
SLURM = _by_name(
    known("thunder on cab", "thunder", CAB, stands_for="aug on cab"),
    known("atlas on cab", "atlas", CAB, stands_for="aug on cab"),
)
"""Logs of other LLNL Linux clusters under Slurm, of nearly Cab's size, on Cab's tree."""


def points(
    logs: Iterable[PaperLog],
    policies: Sequence[str],
    options: Options,
    observables: Sequence[str] = ("runs", "bins", "minutes", "hops"),
    scenarios: Sequence[str] = ("none",),
    *,
    run_times: str = "to-walltime",
) -> list[Point]:
    """One point a log, policy and scenario; in Flux a job ends at its requested time."""
    sections = {
        "workload": {"run_times": run_times},
        "queue": {"window": QUEUE_DEPTH, "run_time_model": "assumed"},
        "run": {"observables": list(observables)},
    }
    changes = {"queue.scenario": scenarios}
    return queue_points("pollard", logs, policies, options, sections, changes)
