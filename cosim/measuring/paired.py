"""The measure "paired": the same jobs at the same instants, under every policy.

The reference's schedule determines which jobs run together. They are timed on the nodes that they
have there, all together and each in isolation; then each other policy gives the same jobs, with the
same messages, the nodes that its own schedule has for them (`cosim.measuring.pairing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cosim.measuring.base import Generators, Measure, timings
from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.pairing import LEAST_PERIODS, Pairing
from cosim.measuring.pairs import Pair, mean_ratio, speedup_rows, summary
from cosim.measuring.snapshots import Measurement, Ratio, Study
from cosim.measuring.tasks import Progress, TaskRunner
from cosim.measuring.timed import measurements
from queuesim.statistics import NO_INTERVAL


@dataclass(frozen=True)
class Paired(Measure):
    """The same jobs under every policy; see `Pairing` for the attributes."""

    name = "paired"
    description = "the same jobs at the reference's instants, timed under every policy"
    compares = "each job's time as it runs there over the same job's under the reference"
    baseline = "isolated time under the reference"
    repeats: float = 5.0
    max_iterations: int = 32

    def sent(self, study: Study) -> dict[str, float]:
        often = max(self.repeats, LEAST_PERIODS if study.by_share else 1)
        return {study.reference: timings(study) * min(often, self.max_iterations)}

    def measure(
        self, study: Study, rng: Generators, runner: TaskRunner, progress: Progress | None = None
    ) -> Measurement:
        pairing = Pairing(study, self.repeats, self.max_iterations)
        snapshots = pairing.snapshots(runner, progress)
        pairs = [pair for snapshot in snapshots for pair in pairing.pairs(snapshot)]
        seen = sum(len(snapshot.running) for snapshot in snapshots)
        by_policy, rows, ratios = compared(study, pairs, seen, rng)
        counted = self._counted(study)
        summaries = [
            {"policy": name}
            | summary(mine, [counted[pair.job_id] for pair in mine], rng(), study.confidence)
            for name, mine in by_policy.items()
        ]
        proof = pairing.proofs(runner) if 0 in study.numbers else []
        return Measurement(
            {name: measurements(study, name, snapshots) for name in study.sides},
            ratios,
            SpeedupTable(study.reference, tuple(rows), of_run_times=study.by_share),
            {"paired": summaries, "pairs": [pair.row() for pair in pairs]}
            | ({"proof": proof} if proof else {}),
            tuple(policy_note(row, study.reference) for row in summaries) + _proved(proof),
        )

    def _counted(self, study: Study) -> dict[int, float]:
        """Return the share of each job's run time to which its ratio applies, by id.

        Runs by share were timed with their computing; of others communication was.
        """
        jobs = study.sides[study.reference].schedule.workload.job_id
        share = np.ones(len(jobs)) if study.by_share else study.fraction
        return dict(zip(jobs.tolist(), share.tolist(), strict=True))


def compared(
    study: Study, pairs: Sequence[Pair], n_seen: int, rng: Generators
) -> tuple[dict[str, list[Pair]], list[SpeedupRow], dict[str, Ratio]]:
    """Return the pairs by policy, their speed-ups by pattern and size, and their mean ratios.

    ``n_seen`` is the number of jobs of the reference.
    """
    by_policy = {
        name: mine
        for name in study.others
        if (mine := [pair for pair in pairs if pair.policy == name])
    }
    patterns = list(dict.fromkeys(communication.pattern for communication in study.communications))
    rows = [
        row
        for name, mine in by_policy.items()
        for row in speedup_rows(
            name, [pair.row() for pair in mine], patterns, rng(), study.confidence
        )
    ]
    ratios = {name: mean_ratio(mine, rng(), study.confidence) for name, mine in by_policy.items()}
    return by_policy, rows, ratios | {study.reference: Ratio(1.0, 1.0, 1.0, n_seen)}


def policy_note(row: Mapping[str, object], reference: str) -> str:
    """Describe the reduction of run time by a policy in one line."""
    low, high = row["taken_off_percent_low"], row["taken_off_percent_high"]
    interval = NO_INTERVAL if low is None else f"{low:.1f} to {high:.1f}"
    return (
        f"{row['policy']}: {row['taken_off_percent']:.1f} % ({interval}) less run time than under "
        f"{reference}, by node-hours, {row['jobs']} jobs"
    )


def _proved(proof: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    return tuple(
        f"{row['policy']}: {row['untouched']} of {row['jobs']} isolated jobs take the same time "
        "isolated and with all others, to the picosecond"
        for row in proof
    )
