"""The measure "paired": the same jobs at the same instants, under every policy.

The reference's schedule says which jobs run together. They are timed on the nodes that they have
there, all together and each alone; then each other policy gives the same jobs, with the same
messages, the nodes that its own schedule has for them (`cosim.measuring.pairing`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.pairing import LEAST_PERIODS, Pairing, Snapshot
from cosim.measuring.pairs import Pair, job_ids, mean_ratio, speedup_rows, summary
from cosim.measuring.parts import SerialExecutor, TaskRunner
from cosim.measuring.snapshots import Measurement, Measurements, Progress, Ratio, Study
from netsim.packet.model import PS_PER_S, PacketResult
from queuesim.statistics import NO_INTERVAL


@dataclass(frozen=True)
class Paired:
    """The same jobs under every policy; see `Pairing` for the attributes."""

    name = "paired"
    description = "the same jobs at the reference's instants, timed under every policy"
    compares = "each job's time as it runs there over the same job's under the reference"
    baseline = "isolated time under the reference"
    ignores = ()
    repeats: float = 5.0
    max_iterations: int = 32

    def sent(self, study: Study) -> dict[str, float]:
        """How often what runs at a side's instants is sent, by side, about."""
        ways = 2 + sum(1 if side.isolates else 2 for side in study.others.values())
        often = max(self.repeats, LEAST_PERIODS if study.by_share else 1)
        return {study.reference: ways * min(often, self.max_iterations)}

    def loops(self, study: Study) -> bool:
        """See `cosim.measuring.measure.Measure`."""
        return False

    def measure(
        self,
        study: Study,
        rng: Callable[[], np.random.Generator],
        parts: TaskRunner | None = None,
        progress: Progress | None = None,
    ) -> Measurement:
        """Time all sides; see `cosim.measuring.measure.Measure`."""
        pairing = Pairing(study, self.repeats, self.max_iterations)
        parts = SerialExecutor() if parts is None else parts
        snapshots = pairing.snapshots(parts, progress)
        pairs = [pair for snapshot in snapshots for pair in snapshot.pairs]
        seen = sum(len(snapshot.running) for snapshot in snapshots)
        by_policy, rows, ratios = compared(study, pairs, seen, rng)
        counted = self._counted(study)
        told = [
            {"policy": name}
            | summary(mine, [counted[pair.job_id] for pair in mine], rng(), study.confidence)
            for name, mine in by_policy.items()
        ]
        proof = pairing.proofs(parts) if 0 in study.numbers else []
        return Measurement(
            {name: _measurements(pairing, name, snapshots) for name in study.sides},
            ratios,
            SpeedupTable(study.reference, tuple(rows), whole_runs=study.by_share),
            {"paired": told, "pairs": [pair.row() for pair in pairs]}
            | ({"proof": proof} if proof else {}),
            tuple(policy_note(row, study.reference) for row in told) + _proved(proof),
        )

    def _counted(self, study: Study) -> dict[int, float]:
        """Share of each job's run time to which its ratio applies, by id.

        Runs by share were timed with their computing; of others communication was.
        """
        jobs = study.sides[study.reference].schedule.workload.job_id
        share = np.ones(len(jobs)) if study.by_share else study.fraction
        return dict(zip(jobs.tolist(), share.tolist(), strict=True))


def compared(
    study: Study, pairs: Sequence[Pair], n_seen: int, rng: Callable[[], np.random.Generator]
) -> tuple[dict[str, list[Pair]], list[SpeedupRow], dict[str, Ratio]]:
    """Pairs by policy, their speed-ups by pattern and size, and their mean ratios.

    Parameters
    ----------
    study : Study
    pairs : sequence of Pair
    n_seen : int
        Jobs of the reference.
    rng : callable
        As in `cosim.measuring.measure.Measure`.
    """
    by_policy = {
        name: mine
        for name in study.others
        if (mine := [pair for pair in pairs if pair.policy == name])
    }
    patterns = list(dict.fromkeys(said.pattern for said in study.communications))
    rows = [
        row
        for name, mine in by_policy.items()
        for row in speedup_rows(
            name,
            [pair.pattern for pair in mine],
            [pair.n_nodes for pair in mine],
            [pair.snapshot for pair in mine],
            [pair.run_ratio for pair in mine],
            job_ids(mine),
            patterns,
            rng(),
            study.confidence,
        )
    ]
    ratios = {name: mean_ratio(mine, rng(), study.confidence) for name, mine in by_policy.items()}
    return by_policy, rows, ratios | {study.reference: Ratio(1.0, 1.0, 1.0, n_seen)}


class Seen(Protocol):
    """Jobs of one instant that were timed on all sides."""

    @property
    def number(self) -> int: ...
    @property
    def running(self) -> Sequence[int]: ...
    @property
    def packets(self) -> Mapping[str, PacketResult]: ...


def measurements(
    study: Study,
    name: str,
    snapshots: Sequence[Seen],
    *,
    time_s: NDArray[np.float64],
    yardstick_s: NDArray[np.float64],
    alone_s: NDArray[np.float64],
) -> Measurements:
    """Times of the reference's jobs under a side, one row a job and snapshot."""
    job, side = jobs_of(snapshots), study.sides[name]
    return Measurements(
        policy=side.schedule.policy,
        snapshot=np.array([s.number for s in snapshots for _ in s.running], dtype=np.int64),
        job=job,
        share=np.asarray(study.share, dtype=np.int64)[job],
        n_nodes=side.schedule.workload.n_nodes[job].astype(np.int64),
        time_s=time_s,
        yardstick_s=yardstick_s,
        packets=tuple(s.packets[name] for s in snapshots if name in s.packets),
        alone_s=alone_s,
        instant_s=study.instants_s(study.reference),
    )


def jobs_of(snapshots: Sequence[Seen]) -> NDArray[np.int64]:
    """(k,) int64: the jobs of all snapshots, by index, one after the other."""
    return np.array([j for s in snapshots for j in s.running], dtype=np.int64)


def _measurements(pairing: Pairing, name: str, snapshots: Sequence[Snapshot]) -> Measurements:
    """Times under a side over those alone under the reference."""
    study = pairing.study
    jobs = jobs_of(snapshots).tolist()
    alone, there = ([pairing.time_alone(s, job) for job in jobs] for s in (study.reference, name))
    return measurements(
        study,
        name,
        snapshots,
        time_s=np.array([t for s in snapshots for t in s.times_ps[name]]) / PS_PER_S,
        yardstick_s=np.array(alone) / PS_PER_S,
        alone_s=np.array(there) / PS_PER_S,
    )


def policy_note(row: Mapping[str, object], reference: str) -> str:
    """What a policy takes off the run time, as a line."""
    low, high = row["taken_off_percent_low"], row["taken_off_percent_high"]
    interval = NO_INTERVAL if low is None else f"{low:.1f} to {high:.1f}"
    return (
        f"{row['policy']}: {row['taken_off_percent']:.1f} % ({interval}) less run time than under "
        f"{reference}, by node-hours, {row['jobs']} jobs"
    )


def _proved(proof: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    return tuple(
        f"{row['policy']}: {row['untouched']} of {row['jobs']} isolated jobs take the same time "
        "alone and with all others, to the picosecond"
        for row in proof
    )
