"""The same job under two policies: times, their ratios, and what follows for run times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosim.measuring.measured import SpeedupRow
from cosim.measuring.snapshots import ALL_SIZES, SIZE_CLASSES, Ratio, in_several, size_class
from queuesim.statistics import LEAST_SAMPLES, LEVEL, Interval, known_ends, mean_of_snapshots

FACTORS = ("ratio", "interference_ratio", "locality_ratio")
"""Of a `Pair`: the ratio, and the two of which it is the product."""


@dataclass(frozen=True)
class Pair:
    """A job under the reference and under another policy.

    Where a job computes too (a duty below 1), its computing is subtracted from its times for all
    ratios but `run_ratio`: the share 1 - duty of its isolated run time on the reference's nodes.
    """

    snapshot: int
    policy: str
    job_id: int
    n_nodes: int
    run_s: float
    """Run time in the log."""
    pattern: str
    iterations: int
    """How often it goes through its communication."""
    duty: float
    """Share of its isolated run time in which it communicates; 1: all the time."""
    reference_s: float
    reference_alone_s: float
    """reference_s, reference_alone_s: Under the reference, with all others and in isolation."""
    policy_s: float
    policy_alone_s: float
    """policy_s, policy_alone_s: As it runs under the policy (where that isolates: in isolation),
    and in isolation."""

    def _communicating(self, time_s: float) -> float:
        return time_s - (1 - self.duty) * self.reference_alone_s

    @property
    def stretch(self) -> float:
        """Communication time under the reference over that of an isolated run there."""
        return over(
            self._communicating(self.reference_s), self._communicating(self.reference_alone_s)
        )

    @property
    def ratio(self) -> float:
        """Communication time over the reference's."""
        return over(self._communicating(self.policy_s), self._communicating(self.reference_s))

    @property
    def interference_ratio(self) -> float:
        """Ratio of interference: its stretch under the policy over that under the reference."""
        mine = over(self._communicating(self.policy_s), self._communicating(self.policy_alone_s))
        return mine / self.stretch

    @property
    def locality_ratio(self) -> float:
        """Effect of other nodes and routes: both in isolation."""
        return over(
            self._communicating(self.policy_alone_s), self._communicating(self.reference_alone_s)
        )

    @property
    def run_ratio(self) -> float:
        """Time over the reference's, with the computing; `ratio` where nothing is computed."""
        return over(self.policy_s, self.reference_s)

    def row(self) -> dict[str, object]:
        """Return attributes and ratios, for tables."""
        ratios = ("stretch", *FACTORS, "run_ratio")
        return {**asdict(self), **{name: getattr(self, name) for name in ratios}}


def over(time_s: float, other_s: float) -> float:
    """Return the ratio of two times; 1 if nothing is sent and both are 0."""
    return time_s / other_s if other_s != 0 else 1.0


def run_time_reduction(ratio: ArrayLike, share: ArrayLike) -> NDArray[np.float64]:
    """Return the relative reduction of run time by faster communication: f (1 - ratio).

    ``ratio`` is time over the reference's, ``share`` the share f of the run time under the
    reference to which it applies.
    """
    return np.asarray(share, dtype=np.float64) * (1.0 - np.asarray(ratio, dtype=np.float64))


def speedup_rows(
    policy: str,
    pairs: Sequence[Mapping[Any, Any]],
    patterns: Sequence[str],
    rng: np.random.Generator,
    confidence: float = LEVEL,
    *,
    least_samples: int = LEAST_SAMPLES,
) -> list[SpeedupRow]:
    """Return a policy's rows of a speed-up table, from its pairs.

    A ratio is the mean over the jobs seen of a pattern and size class: run times are linear in
    it. A class that only one snapshot has is left out: its jobs take the nearest class. A pattern
    not seen in several snapshots has the mean of all jobs. Fewer than
    ``least_samples`` snapshots or jobs have no interval.

    Parameters
    ----------
    pairs : sequence of mapping
        ``pattern``, ``n_nodes``, ``snapshot``, ``job_id`` and ``run_ratio``, as of `Pair.row`.
    patterns : sequence of str
        That the table must have.
    """
    names, numbers, jobs, n_nodes = (
        np.array([pair[key] for pair in pairs])
        for key in ("pattern", "snapshot", "job_id", "n_nodes")
    )
    ratios = np.array([pair["run_ratio"] for pair in pairs], dtype=np.float64)
    classes = size_class(n_nodes)

    def row(of: str, sizes: tuple[int, int], mine: NDArray[np.bool_]) -> SpeedupRow:
        at = numbers[mine]
        found = mean_of_snapshots(
            ratios[mine], 1, at, rng, confidence, job=jobs[mine], least_samples=least_samples
        )
        return SpeedupRow(of, *sizes, policy, found.value, *known_ends(found))

    rows = []
    for name in sorted(set(names.tolist())):
        for index in np.unique(classes[names == name]).tolist():
            mine = (names == name) & (classes == index)
            if in_several(numbers[mine]):
                rows.append(row(name, SIZE_CLASSES[index], mine))
    known = {found.pattern for found in rows}
    everyone = np.ones(len(names), dtype=bool)
    return rows + [row(name, ALL_SIZES, everyone) for name in patterns if name not in known]


def mean_ratio(pairs: Sequence[Pair], rng: np.random.Generator, confidence: float = LEVEL) -> Ratio:
    """Return the mean communication ratio over all pairs, all jobs alike."""
    ratios, snapshots = [pair.ratio for pair in pairs], [pair.snapshot for pair in pairs]
    found = mean_of_snapshots(ratios, 1, snapshots, rng, confidence, job=job_ids(pairs))
    return Ratio(found.value, *known_ends(found), len(pairs))


def summary(
    pairs: Sequence[Pair],
    fraction: ArrayLike,
    rng: np.random.Generator,
    confidence: float = LEVEL,
) -> dict[str, object]:
    """Return one row on a policy's pairs.

    Parameters
    ----------
    fraction : (n,) float
        Share of each pair's run time to which its `Pair.run_ratio` applies.

    Returns
    -------
    dict
        ``stretch`` and the ratios of `FACTORS` are means over jobs; ``taken_off_percent`` is the
        mean over node-hours, since snapshots lie at equal work and a job is weighed by its nodes,
        with its interval.
    """
    off = off_percent(pairs, fraction)
    return summary_with(pairs, mean_of_snapshots(*off, rng, confidence, job=job_ids(pairs)))


def job_ids(pairs: Sequence[Pair]) -> list[int]:
    """Return the job of each pair."""
    return [pair.job_id for pair in pairs]


def off_percent(
    pairs: Sequence[Pair], fraction: ArrayLike
) -> tuple[NDArray[np.float64], list[int], list[int]]:
    """Return each pair's reduction of run time in percent, the weight of its job, and its
    snapshot."""
    nodes = [pair.n_nodes for pair in pairs]
    off = 100 * run_time_reduction([pair.run_ratio for pair in pairs], fraction)
    return off, nodes, [pair.snapshot for pair in pairs]


def summary_with(pairs: Sequence[Pair], taken_off_percent: Interval) -> dict[str, object]:
    """Return `summary` with the given reduction of run time and its interval."""
    low, high = known_ends(taken_off_percent)
    return {
        "jobs": len(pairs),
        **{
            name: float(np.mean([getattr(pair, name) for pair in pairs]))
            for name in ("stretch", *FACTORS)
        },
        "taken_off_percent": taken_off_percent.value,
        "taken_off_percent_low": low,
        "taken_off_percent_high": high,
    }
