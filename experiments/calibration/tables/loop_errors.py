"""Write ``loop-errors.csv``.

    python experiments/calibration/tables/loop_errors.py CONFIG.toml GROUPS HELD_OUT_GROUPS

Runs the exact loop of ``coupled-packets`` over the first jobs of a config's first point and policy
until so many groups are judged, and replays them with other tolerances
(`replayed`): how many groups each judges, and how far off the
slowdowns are that it works with. The tolerance that run-times.md names was chosen on these. The
next seed is held out: there jobs send other things and run elsewhere.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cosim.run_times.slowdown_cache import FloatArray, Judgement, SlowdownCache, cache_errors
from numpy.typing import NDArray

from alloc.policy import Policy
from cosim.parameters import PacketBudget
from cosim.run_times.coupled_packets import CoupledPackets
from netcosim.config.load import config_from, load_sweep
from netcosim.runs.points import replaced
from netcosim.runs.run_context import run_context
from queuesim.runtime import RunTimes
from workloads.job import Workload

TABLE = Path(__file__).resolve().parent / "loop-errors.csv"
FIRST_JOBS = 1000
TOLERANCES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 1e9)
"""With the last flows alone are asked."""


class EnoughError(Exception):
    """So many groups are judged."""


class Journal(list[Judgement]):
    """Judgements with their instants, until there are so many."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.now_s = most, 0.0
        self.at_s: list[float] = []

    def append(self, judgement: Judgement) -> None:
        super().append(judgement)
        self.at_s.append(self.now_s)
        if len(self) == self.most:
            raise EnoughError

    def lasting_s(self) -> list[list[float]]:
        """For each judgement and job, until the job is in another or the journal ends."""
        after: dict[int, float] = {}
        found = []
        for at_s, judgement in zip(self.at_s[::-1], self[::-1], strict=True):
            found.append([after.get(job, self.at_s[-1]) - at_s for job in judgement.group])
            after.update(dict.fromkeys(judgement.group, at_s))
        return found[::-1]


class Dated(RunTimes):
    """Run times that note in the journal what time it is."""

    def __init__(self, live: RunTimes, journal: Journal) -> None:
        self.live, self.journal = live, journal

    def work_s(self, job: int) -> float:
        return self.live.work_s(job)

    def on_start(self, job, placement, now_s):
        return self.live.on_start(job, placement, now_s)

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        return self.live.on_finish(job, now_s)

    def settle(self, now_s: float) -> Mapping[int, float]:
        self.journal.now_s = now_s
        return self.live.settle(now_s)


@dataclass(frozen=True, eq=False)
class DatedPackets(CoupledPackets):
    """The exact loop with a dated journal."""

    dated: Journal = field(kw_only=True)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return Dated(super().prepare(workload, policy, rng), self.dated)


class BudgetReplay(NamedTuple):
    """Effect that a budget would have had on a run that judged every group.

    Attributes
    ----------
    n_groups, n_judged : int
        Groups of several jobs that had changed, and those with jobs that the budget judges too. A
        job among its neighbours is taken to have the slowdown that it has in its whole group.
    judgement : (k,) int64
        For each job of each group: the place of its judgement in the journal.
    estimate, packet : (k,) float64
        Slowdown with the budget, where it judges that of packets; and that of packets.
    """

    n_groups: int
    n_judged: int
    judgement: NDArray[np.int64]
    estimate: FloatArray
    packet: FloatArray


def replayed(journal: Sequence[Judgement], tolerance: float) -> BudgetReplay:
    """Go through the judgements of an exact run with a budget: nothing is simulated.

    Parameters
    ----------
    journal : sequence of Judgement
        Of a run with a ``tolerance`` of 0.
    tolerance : float
        As in `PacketBudget`.
    """
    kept, n_groups, n_judged = SlowdownCache(tolerance), 0, 0
    rows: list[tuple[int, float, float]] = []
    for place, (group, flow, packet) in enumerate(journal):
        if len(group) == 1:
            kept.judged(group, flow, None)
            continue
        n_groups += 1
        stale = set(kept.stale(group, flow))
        n_judged += bool(stale)
        at = [k for k, job in enumerate(group) if job in stale]
        kept.judged([group[k] for k in at], [flow[k] for k in at], [packet[k] for k in at])
        rows += zip([place] * len(group), kept.estimates(group, flow), packet, strict=True)
    judgement, estimate, truth = np.array(rows).reshape(-1, 3).T
    return BudgetReplay(n_groups, n_judged, judgement.astype(np.int64), estimate, truth)


def exact_journal(path: str, n_groups: int, later: int) -> Journal:
    """The first judgements of the exact loop, with a seed that is so much higher."""
    point = load_sweep(path).points[0].resolved()
    changes = {"workload.first_jobs": FIRST_JOBS, "run.seed": point["run"]["seed"] + later}
    bench = run_context(config_from(replaced(point, changes)))
    journal = Journal(n_groups)
    model = DatedPackets(bench.network, PacketBudget(), journal=journal, dated=journal)
    with suppress(EnoughError):
        bench.queues.under(bench.config.queue.policies[0], model)
    return journal


def errors(journal: Journal, tolerance: float) -> dict[str, float]:
    """What a tolerance judges of the groups of several jobs, and its `cache_errors`."""
    found = replayed(journal, tolerance)
    pairs = zip(journal.lasting_s(), journal, strict=True)
    lasting_s: NDArray[np.float64] = np.concatenate([w for w, j in pairs if len(j.group) > 1])
    error = found.estimate / found.packet - 1
    off = cache_errors(found.estimate, found.packet)
    off["kept_mean_by_time"] = float(np.average(error, weights=lasting_s))
    counts = {"groups": found.n_groups, "judged": found.n_judged, "slowdowns": len(error)}
    return counts | {name.removeprefix("kept_"): round(value, 4) for name, value in off.items()}


def rows(chosen: Journal, held_out: Journal) -> Iterator[dict[str, object]]:
    """One a tolerance."""
    for tolerance in TOLERANCES:
        row: dict[str, object] = {"tolerance": tolerance}
        for name, journal in (("chosen", chosen), ("held_out", held_out)):
            found = errors(journal, tolerance)
            row |= {f"{name}_{key}": value for key, value in found.items()}
        yield row


def main(arguments: Sequence[str]) -> None:
    """Run, replay, write and print."""
    path, n_chosen, n_held_out = arguments[0], int(arguments[1]), int(arguments[2])
    found = list(rows(exact_journal(path, n_chosen, 0), exact_journal(path, n_held_out, 1)))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    for row in found:
        print(*row.values())


if __name__ == "__main__":
    main(sys.argv[1:])
