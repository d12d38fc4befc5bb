"""Logs, machines and queue of the Jigsaw paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.papers.kit.logs import PaperLog, known
from experiments.papers.kit.points import OBSERVE
from experiments.papers.kit.queues import READINGS, Judge, noted, queue_points
from experiments.papers.paper import Draw, Options, PaperFigure, Point

LINK_BPS = 5 * 10**9
"""5.4.2: peak bandwidth of a link."""
NEEDS_BPS = (0.5e9, 1.0e9, 1.5e9, 2.0e9)
"""Four classes from 0.5 to 2 GB/s; even steps are our reading."""
WINDOW = 50
"""5.4.3: how many jobs behind the head backfilling looks at."""
QUICK_DAYS = 14.0
"""Of Thunder's 105,764 jobs, ``--scale quick`` takes those of the first days: 6234."""

POLICIES = ("baseline", "ta", "laas", "jigsaw", "lc-s")
ISOLATING = ("laas", "jigsaw", "ta")
SPEEDS_UP = [*ISOLATING, *READINGS, "lc-s"]
"""5.4.1: LC+S too, though it shares links: its interference is "negligible"."""
OBSERVABLES = ("runs", "ranges", "timing")


def fat_tree(radix: int, **more: int) -> dict[str, Any]:
    """A machine of the fat-tree papers."""
    return {"family": "fattree", "radix": radix, "bandwidth_Bps": LINK_BPS, **more}


def _synthetic(mean: int, *, from_file: bool) -> PaperLog:
    quick: dict[str, Any] | None = {} if mean == 16 else None
    name, machine, at_zero = f"synth-{mean}", fat_tree(mean), {"all_at_zero": True}
    if from_file:
        files = (f"{name}.csv.gz", f"{name}.csv")
        source = "a CSV file (job, nodes, run_s, arrival_s) of the LaaS generator"
        return PaperLog(f"{name}-file", machine, at_zero, files, quick, source=source)
    made = {"synthetic": {"n_jobs": 10_000, "mean_nodes": mean}}
    return PaperLog(name, machine, {**made, **at_zero}, quick=quick)


SYNTHETIC = tuple(_synthetic(m, from_file=f) for f in (False, True) for m in (16, 22, 28))
THUNDER = known("thunder", "thunder", fat_tree(18), quick={"days": QUICK_DAYS}, all_at_zero=True)
ATLAS = known("atlas", "atlas", fat_tree(18), quick={}, all_at_zero=True)
THETA_TREE = fat_tree(26)
"""The full tree nearest above Theta's 4360 nodes: 4394."""
THETA = known("theta", "theta", THETA_TREE, stands_for="Cab")
KTH_TREE = fat_tree(10, pods=4)
"""100 nodes in 4 pods of 5 leaves of 5: KTH SP2's size in Cab's shape."""
KTH = known("kth-sp2", "kth-sp2", KTH_TREE, quick={}, stands_for="Cab")
CAB = {
    month: known(f"{month}-cab", f"cab-{month}", fat_tree(18), quick={}, arrival_factor=factor)
    for month, factor in (("aug", 0.5), ("sep", 1.0), ("oct", 1.0), ("nov", 0.5))
}


def points(
    logs: Sequence[PaperLog],
    policies: Sequence[str],
    options: Options,
    changes: Mapping[str, Sequence[object]] | None = None,
) -> list[Point]:
    """One point a log, policy and combination of changes (dotted keys of a config)."""
    chosen: dict[str, Sequence[object]] = {
        "queue.scenario": ["none"],
        "queue.window": [WINDOW],
        "queue.backfill": ["easy"],
        **(changes or {}),
    }
    found: list[Point] = []
    for policy in policies:
        queue = {"run_time_model": "assumed", "speeds_up": SPEEDS_UP}
        need = {"bandwidth_need_Bps": list(NEEDS_BPS)} if policy == "lc-s" else {}
        sections = {"queue": {**queue, **need}, "run": {"observables": list(OBSERVABLES)}}
        found += queue_points("jigsaw", logs, [policy], options, sections, chosen)
    return found


def figure(
    name: str,
    description: str,
    logs: Sequence[PaperLog],
    policies: Sequence[str],
    judge: Judge,
    draw: Draw | None = None,
    *,
    scenarios: Sequence[str] = ("none",),
) -> PaperFigure:
    """A figure on logs under policies and scenarios of speed-ups."""

    def runs(options: Options) -> list[Point]:
        return points(logs, policies, options, {"queue.scenario": scenarios})

    return PaperFigure(name, description, OBSERVE, runs, noted(judge, logs), draw)


def paper_name(log: str) -> str:
    """The paper's log that one of ours is: a stream from a file is the same as a made one."""
    return log.removesuffix("-file")


def distance(value: float, low: float, high: float) -> float:
    """How far a value lies outside a range; negative below it, 0 inside."""
    return min(value - low, 0.0) + max(value - high, 0.0)
