"""The same jobs at the same instants, timed under every policy: what "paired" measures with.

The reference's schedule determines which jobs run together. They are timed on the nodes that they
have there, all together and each in isolation; then each other policy gives the same jobs, with the
same messages, the nodes that its own schedule has for them. An isolating policy's jobs are timed in
isolation on their own links, which is how they run there.

Jobs repeat their communication so that all last about equally long. By share a job computes
between its iterations, so that in isolation it communicates for its share of the time (its duty),
and begins at a moment of its own: jobs feel each other only when both communicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.pairs import Pair
from cosim.measuring.snapshots import Study, format_snapshots, snapshot_times
from cosim.measuring.tasks import (
    Columns,
    Progress,
    ReportProgress,
    TaskRunner,
    cut,
    packet_columns,
    packets_from,
    within,
)
from cosim.measuring.timed import TimedSnapshot, pairs_of
from cosim.network.communication import TIME_STEP_S, Communication
from cosim.network.ensemble import Ensemble, PlacedJob
from netsim.packet.model import PS_PER_S, PacketResult
from netsim.topologies.registry import family_of

LEAST_PERIODS = 4
"""Iterations of a job that computes too: it begins anywhere in the first of them."""

_ALONE = 0.3
"""Share of the work spent on isolated runs, for the progress."""


@dataclass
class Pairing:
    """A study's jobs under all its sides; what is known of them is kept for its next snapshots."""

    study: Study
    """Its communications have a volume per node (``rank_bytes``)."""
    repeats: float
    """A job runs for about as long as a node's link takes for so many iterations of the most that a
    node sends."""
    max_iterations: int
    """No job repeats more often."""
    isolated_ps: dict[tuple[str, int, int], int] = field(default_factory=dict)
    repeated: dict[int, tuple[int, float]] = field(default_factory=dict)

    def running(self, name: str, number: int) -> list[int]:
        """Return `Study.running` without jobs that never communicate."""
        return [index for index in self.study.running(name, number) if self.duty(index) > 0]

    def communication(self, index: int) -> Communication:
        """Return the communication of a job (by index) in an iteration."""
        side = self.study.sides[self.study.reference]
        ranks = int(side.schedule.workload.n_nodes[index]) * side.network.ranks_per_node
        return self.study.communication(index).for_ranks(ranks)

    def duty(self, index: int) -> float:
        """Return the share of its isolated run time in which a job communicates."""
        return float(self.study.fraction[index]) if self.study.by_share else 1.0

    def repeat(self, index: int) -> tuple[int, float]:
        """Return how often a job repeats its communication, and the isolated time of one
        repetition.

        Runs are on the reference's nodes; the result is the same under every policy.
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
        """Return a job where a side put it, repeated; with computing if its duty is below 1."""
        side = self.study.sides[name]
        often, one_s = self.repeat(index)
        job = replace(side.placed(index, self.communication(index)), repeats=often)
        duty = self.duty(index)
        if duty == 1:
            return job
        period_s = one_s / job.communication.iterations
        compute_s = max(1, round(period_s * (1 / duty - 1) / TIME_STEP_S)) * TIME_STEP_S
        u = side.network.streams(job).start.random()
        start_s = round(u * (period_s + compute_s) / TIME_STEP_S) * TIME_STEP_S
        return replace(job, compute_s=compute_s, start_s=start_s)

    def isolated_time_ps(self, name: str, index: int, stream: int | None = None) -> int:
        """Return the time in picoseconds of an isolated run on the nodes of a side, and on the
        job's own links if it has some.

        The routing's draws are those of the stream, by default the job's index.
        """
        network = self.study.sides[name].network
        drawn = index if stream is None else stream
        key = self._isolated_key(name, index, drawn)
        if key not in self.isolated_ps:
            ensemble = Ensemble(network, [self.job(name, index)])
            self.isolated_ps[key] = int(ensemble.packets(stream=drawn).time_ps[0])
        return self.isolated_ps[key]

    def _isolated_key(self, name: str, index: int, drawn: int) -> tuple[str, int, int]:
        random = self.study.sides[name].network.routing.random_visits
        return name, index, drawn if random else 0

    def learn(self, indices: Sequence[int], runner: TaskRunner, progress: Progress | None) -> None:
        """Time jobs (by index) in isolation under all sides by `repeat`, `isolated_time_ps`."""

        def repeats(piece: Sequence[int], report: ReportProgress) -> Columns:
            often, one_s = zip(*[self.repeat(index) for index in piece], strict=True)
            return {"often": np.array(often), "one_s": np.array(one_s)}

        def isolated(piece: Sequence[tuple[str, int]], report: ReportProgress) -> Columns:
            return {
                "time_ps": np.array([self.isolated_time_ps(*key) for key in piece], dtype=np.int64)
            }

        pieces = {f"iterations {i}": (piece,) for i, piece in enumerate(cut(indices))}
        for piece, columns in runner.each(repeats, pieces, within(progress, 0.0, 0.5)):
            often, one_s = columns["often"].tolist(), columns["one_s"].tolist()
            self.repeated |= zip(piece, zip(often, one_s, strict=True), strict=True)
        keys = cut([(name, index) for name in self.study.sides for index in indices])
        pieces = {f"alone {i}": (piece,) for i, piece in enumerate(keys)}
        for piece, columns in runner.each(isolated, pieces, within(progress, 0.5, 1.0)):
            for (name, index), time_ps in zip(piece, columns["time_ps"].tolist(), strict=True):
                self.isolated_ps[self._isolated_key(name, index, index)] = time_ps

    def together(
        self, name: str, indices: Sequence[int], stream: int
    ) -> tuple[list[int], PacketResult]:
        """Return the picoseconds of jobs where a side put them, with all of them on the network."""
        jobs = [self.job(name, index) for index in indices]
        run = Ensemble(self.study.sides[name].network, jobs).packets(stream=stream)
        return run.time_ps.tolist(), run.packets

    def proofs(self, runner: TaskRunner) -> list[dict[str, object]]:
        """Return a row for each isolating side whose jobs' paths do not depend on other jobs."""
        names = [
            name
            for name, side in self.study.sides.items()
            if side.isolates
            and (
                not side.network.routing.adaptive
                or family_of(side.network.routing.topology).keeps_jobs_to_links
            )
        ]

        def compute(name: str, report: ReportProgress) -> Columns:
            return {key: np.array(value) for key, value in self.proof(name).items()}

        named = {f"{name}, jobs isolated and together": (name,) for name in names}
        return [
            {"policy": name, **{key: int(value) for key, value in columns.items()}}
            for name, columns in runner.each(compute, named)
        ]

    def proof(self, name: str) -> dict[str, int]:
        """Check isolation at one instant of an isolating side's own schedule: count the unaffected
        jobs.

        Check that they take the same time, to the picosecond, isolated and with all others.
        """
        side = self.study.sides[name]
        running = side.running(float(snapshot_times(side.schedule, 1)[0]))
        running = [index for index in running if self.duty(index) > 0]
        apart = [0]
        if running:
            times, _ = self.together(name, running, 0)
            apart = [
                abs(time - self.isolated_time_ps(name, index, stream=0))
                for time, index in zip(times, running, strict=True)
            ]
        return {
            "jobs": len(running),
            "untouched": sum(far == 0 for far in apart[: len(running)]),
            "largest_difference_ps": max(apart),
        }

    @property
    def gathered(self) -> list[str]:
        """Sides whose jobs are timed together; those of an isolating one are as in isolation."""
        sides = self.study.sides.items()
        return [n for n, side in sides if n == self.study.reference or not side.isolates]

    def compared(
        self,
        number: int,
        running: Sequence[int],
        together: Mapping[str, tuple[list[int], PacketResult]],
    ) -> TimedSnapshot:
        """Return the times of the jobs of one instant from `together`, and in isolation."""
        alone_s = {
            name: np.array([self.isolated_time_ps(name, index) for index in running]) / PS_PER_S
            for name in self.study.sides
        }
        there_s = {name: np.array(times_ps) / PS_PER_S for name, (times_ps, _) in together.items()}
        packets = {name: sent for name, (_, sent) in together.items()}
        return TimedSnapshot(number, running, alone_s | there_s, alone_s, packets)

    def pairs(self, found: TimedSnapshot) -> list[Pair]:
        """Return one pair a side and job."""
        often = np.array([self.repeat(index)[0] for index in found.running])
        duty = np.array([self.duty(index) for index in found.running])
        return pairs_of(self.study, found, often, duty)

    def snapshots(self, runner: TaskRunner, progress: Progress | None) -> list[TimedSnapshot]:
        """Return all snapshots at which jobs run; see `learn` for what is timed beforehand."""
        at = self.study.reference
        running = {n: jobs for n in self.study.numbers if (jobs := self.running(at, n))}
        indices = sorted({index for jobs in running.values() for index in jobs})
        self.learn(indices, runner, within(progress, 0.0, _ALONE))
        pieces = {
            f"{name}, {format_snapshots(piece)}": (name, piece)
            for piece in cut(list(running))
            for name in self.gathered
        }

        def compute(name: str, piece: Sequence[int], report: ReportProgress) -> Columns:
            found: dict[str, NDArray[Any]] = {}
            for done, number in enumerate(piece, start=1):
                times, packets = self.together(name, running[number], number)
                found[f"{number}.time_ps"] = np.array(times, dtype=np.int64)
                found |= packet_columns(packets, f"{number}.")
                report(done / len(piece))
            return found

        done = runner.each(compute, pieces, within(progress, _ALONE, 1.0))
        together: dict[int, dict[str, tuple[list[int], PacketResult]]] = {n: {} for n in running}
        for name, piece, found in done:
            for number in piece:
                times = found[f"{number}.time_ps"].tolist()
                together[number][name] = times, packets_from(found, f"{number}.")
        return [self.compared(n, jobs, together[n]) for n, jobs in running.items()]
