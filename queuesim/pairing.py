"""The measure "paired": the same jobs at the same instants, under every policy.

The reference's schedule says which jobs run together. They are timed on the nodes that they have
there, all together and each alone; then each other policy gives the same jobs, with the same
messages, the nodes that its own schedule has for them. An isolating policy's jobs are timed alone
on their own links, which is how they run there.

Jobs repeat their communication so that all last about equally long. With phases a job computes
between its iterations, so that alone it communicates for its share of the time (its duty), and
begins at a moment of its own: jobs feel each other only when both communicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from netsim.packet.model import PS_PER_S, PacketResult
from netsim.topologies.registry import family_of
from queuesim.communication import Communication
from queuesim.ensemble import WHOLE_S, Ensemble, PlacedJob
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.pairs import Pair, mean_ratio, speedup_rows, summary
from queuesim.snapshots import Measurement, Measurements, Progress, Ratio, Study, snapshot_times

LEAST_PERIODS = 4
"""Iterations of a job that computes too: it begins anywhere in the first of them."""


@dataclass(frozen=True)
class Snapshot:
    """Jobs of one instant, timed on all sides.

    Attributes
    ----------
    number : int
    running : sequence of int
        The jobs, by index.
    times_ps : dict of str to list of int
        As they run, by side, in the order of ``running``.
    packets : dict of str to PacketResult
        Of sides on which they ran together.
    pairs : list of Pair
    """

    number: int
    running: Sequence[int]
    times_ps: dict[str, list[int]] = field(default_factory=dict)
    packets: dict[str, PacketResult] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)


@dataclass
class Pairing:
    """A study's jobs under all its sides; what is known of them is kept for its next snapshots.

    Attributes
    ----------
    study : Study
        Its communications know what a node sends (``rank_bytes``).
    repeats : float
        A job goes on for about so long as a node's link takes for so many iterations of the most
        that a node sends.
    max_iterations : int
        No job repeats more often.
    phases : bool
        Whether jobs compute between iterations and begin at moments of their own; if not, all
        communicate all the time and begin at once.
    """

    study: Study
    repeats: float
    max_iterations: int
    phases: bool
    alone_ps: dict[tuple[str, int, int], int] = field(default_factory=dict)
    repeated: dict[int, tuple[int, float]] = field(default_factory=dict)

    def instants(self, name: str) -> Iterator[tuple[int, list[int]]]:
        """As `Study.instants`, without jobs that never communicate."""
        for number, running in self.study.instants(name):
            yield number, [index for index in running if self.duty(index) > 0]

    def communication(self, index: int) -> Communication:
        """What a job (by index) sends in an iteration."""
        side = self.study.sides[self.study.reference]
        ranks = int(side.schedule.workload.n_nodes[index]) * side.network.ranks_per_node
        return self.study.communication(index).for_ranks(ranks)

    def duty(self, index: int) -> float:
        """Share of its time alone in which a job communicates."""
        return float(self.study.fraction[index]) if self.phases else 1.0

    def repeat(self, index: int) -> tuple[int, float]:
        """How often a job repeats its communication, and how long once takes alone.

        On the reference's nodes; the same under every policy.
        """
        if index not in self.repeated:
            side = self.study.sides[self.study.reference]
            network = side.network
            once = Ensemble(network, [side.placed(index, self.communication(index))])
            one_s = float(once.packets(stream=index).time_ps[0] / PS_PER_S)
            sent = max(c.rank_bytes or 0 for c in self.study.communications)
            link_Bps = int(network.routing.topology.link_bandwidth_Bps[0])
            link_s = sent * network.ranks_per_node / link_Bps
            least = LEAST_PERIODS if self.duty(index) < 1 else 1
            wanted = self.repeats * link_s / one_s if one_s > 0 else least
            often = int(np.clip(round(wanted), least, self.max_iterations))
            self.repeated[index] = often, one_s
        return self.repeated[index]

    def job(self, name: str, index: int) -> PlacedJob:
        """A job where a side put it, repeated; with computing if its duty is below 1."""
        side = self.study.sides[name]
        often, one_s = self.repeat(index)
        job = replace(side.placed(index, self.communication(index)), repeats=often)
        duty = self.duty(index)
        if duty == 1:
            return job
        period_s = one_s / job.communication.iterations
        compute_s = max(1, round(period_s * (1 / duty - 1) / WHOLE_S)) * WHOLE_S
        u = side.network.streams(job).start.random()
        start_s = round(u * (period_s + compute_s) / WHOLE_S) * WHOLE_S
        return replace(job, compute_s=compute_s, start_s=start_s)

    def time_alone(self, name: str, index: int, stream: int | None = None) -> int:
        """Picoseconds of a job alone where a side put it, on its own links if it has some.

        The routing's draws are those of the stream, by default the job's index.
        """
        network = self.study.sides[name].network
        drawn = index if stream is None else stream
        key = (name, index, drawn if network.routing.chance_visits else 0)
        if key not in self.alone_ps:
            ensemble = Ensemble(network, [self.job(name, index)])
            self.alone_ps[key] = int(ensemble.packets(stream=drawn).time_ps[0])
        return self.alone_ps[key]

    def together(
        self, name: str, indices: Sequence[int], stream: int
    ) -> tuple[list[int], PacketResult]:
        """Picoseconds of jobs where a side put them, with all of them on the network."""
        jobs = [self.job(name, index) for index in indices]
        run = Ensemble(self.study.sides[name].network, jobs).packets(stream=stream)
        return run.time_ps.tolist(), run.packets

    def proofs(self) -> list[dict[str, object]]:
        """A row on each isolating side whose jobs' ways do not depend on who else is there."""
        return [
            self.proof(name)
            for name, side in self.study.sides.items()
            if side.isolates
            and (
                not side.network.routing.adaptive
                or family_of(side.network.routing.topology).keeps_own_links
            )
        ]

    def proof(self, name: str) -> dict[str, object]:
        """Of the jobs at one instant of an isolating side's own schedule: how many are untouched.

        They take the same time, to the picosecond, alone and with all others.
        """
        side = self.study.sides[name]
        running = side.running(float(snapshot_times(side.schedule, 1)[0]))
        running = [index for index in running if self.duty(index) > 0]
        apart = [0]
        if running:
            times, _ = self.together(name, running, 0)
            apart = [
                abs(time - self.time_alone(name, index, stream=0))
                for time, index in zip(times, running, strict=True)
            ]
        return {
            "policy": name,
            "jobs": len(running),
            "untouched": sum(far == 0 for far in apart[: len(running)]),
            "largest_difference_ps": max(apart),
        }

    def snapshot(self, number: int, running: Sequence[int]) -> Snapshot:
        """Time the jobs of one instant of the reference's schedule on all sides."""
        found = Snapshot(number, running)
        for name, side in self.study.sides.items():
            if side.isolates and name != self.study.reference:
                found.times_ps[name] = [self.time_alone(name, index) for index in running]
            else:
                times, found.packets[name] = self.together(name, running, number)
                found.times_ps[name] = times
        theirs = found.times_ps[self.study.reference]
        for name in self.study.others:
            for index, reference_ps, policy_ps in zip(
                running, theirs, found.times_ps[name], strict=True
            ):
                found.pairs.append(self._pair(number, name, index, reference_ps, policy_ps))
        return found

    def _pair(self, number: int, name: str, index: int, reference_ps: int, policy_ps: int) -> Pair:
        jobs = self.study.sides[name].schedule.workload
        return Pair(
            snapshot=number,
            policy=name,
            job_id=int(jobs.job_id[index]),
            n_nodes=int(jobs.n_nodes[index]),
            run_s=float(jobs.run_time_s[index]),
            pattern=self.communication(index).pattern,
            iterations=self.repeat(index)[0],
            duty=self.duty(index),
            reference_s=reference_ps / PS_PER_S,
            reference_alone_s=self.time_alone(self.study.reference, index) / PS_PER_S,
            policy_s=policy_ps / PS_PER_S,
            policy_alone_s=self.time_alone(name, index) / PS_PER_S,
        )


@dataclass(frozen=True)
class Paired:
    """The same jobs under every policy; see `Pairing` for the attributes."""

    name = "paired"
    description = "the same jobs at the reference's instants, timed under every policy"
    compares = "each job's time as it runs there over the same job's under the reference"
    repeats: float = 5.0
    max_iterations: int = 32
    phases: bool = True

    def sent(self, study: Study) -> dict[str, float]:
        """How often what runs at a side's instants is sent, by side, about."""
        ways = 2 + sum(1 if side.isolates else 2 for side in study.others.values())
        often = max(self.repeats, LEAST_PERIODS if self.phases else 1)
        return {study.reference: ways * min(often, self.max_iterations)}

    def measure(
        self,
        study: Study,
        rng: Callable[[], np.random.Generator],
        progress: Progress | None = None,
    ) -> Measurement:
        """Time all sides; see `queuesim.measure.Measure`."""
        pairing = Pairing(study, self.repeats, self.max_iterations, self.phases)
        snapshots = []
        for number, running in pairing.instants(study.reference):
            if running:
                snapshots.append(pairing.snapshot(number, running))
            if progress is not None:
                done, total = study.numbers.index(number) + 1, len(study.numbers)
                progress(f"snapshot {done}/{total}", done / total)
        pairs = [pair for snapshot in snapshots for pair in snapshot.pairs]
        seen = sum(len(snapshot.running) for snapshot in snapshots)
        by_policy, rows, ratios = compared(study, pairs, seen, rng)
        counted = self._counted(study)
        told = [
            {"policy": name}
            | summary(mine, [counted[pair.job_id] for pair in mine], rng(), study.confidence)
            for name, mine in by_policy.items()
        ]
        proof = pairing.proofs() if 0 in study.numbers else []
        return Measurement(
            {name: _measurements(pairing, name, snapshots) for name in study.sides},
            ratios,
            SpeedupTable(study.reference, tuple(rows), whole_runs=self.phases),
            {"paired": told, "pairs": [pair.row() for pair in pairs]}
            | ({"proof": proof} if proof else {}),
            tuple(_note(row, study.reference) for row in told) + _proved(proof),
        )

    def _counted(self, study: Study) -> dict[int, float]:
        """Share of each job's run time to which its ratio applies, by id.

        Runs with phases were timed whole; without, communication alone was.
        """
        jobs = study.sides[study.reference].schedule.workload.job_id
        share = np.ones(len(jobs)) if self.phases else study.fraction
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
        As in `queuesim.measure.Measure`.
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
            patterns,
            rng(),
            study.confidence,
        )
    ]
    ratios = {name: mean_ratio(mine, rng(), study.confidence) for name, mine in by_policy.items()}
    return by_policy, rows, ratios | {study.reference: Ratio(1.0, 1.0, 1.0, n_seen)}


def _measurements(pairing: Pairing, name: str, snapshots: Sequence[Snapshot]) -> Measurements:
    """Times under a side over those alone under the reference."""
    study = pairing.study
    job = np.array([j for s in snapshots for j in s.running], dtype=np.int64)
    alone, there = ([pairing.time_alone(s, int(j)) for j in job] for s in (study.reference, name))
    return Measurements(
        policy=study.sides[name].schedule.policy,
        snapshot=np.array([s.number for s in snapshots for _ in s.running], dtype=np.int64),
        job=job,
        share=np.asarray(study.share, dtype=np.int64)[job],
        n_nodes=study.sides[name].schedule.workload.n_nodes[job].astype(np.int64),
        time_s=np.array([t for s in snapshots for t in s.times_ps[name]]) / PS_PER_S,
        yardstick_s=np.array(alone) / PS_PER_S,
        packets=tuple(s.packets[name] for s in snapshots if name in s.packets),
        alone_s=np.array(there) / PS_PER_S,
        instant_s=snapshot_times(study.sides[study.reference].schedule, study.n_snapshots),
    )


def _note(row: Mapping[str, object], reference: str) -> str:
    low, high = row["taken_off_percent_low"], row["taken_off_percent_high"]
    interval = "one snapshot: no interval" if low is None else f"{low:.1f} to {high:.1f}"
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
