"""Jobs in steady state: a snapshot's jobs in endless loops, watched until their means converge.

A snapshot's jobs last for hours, one of their iterations for milliseconds: the contention of one of
them is a mean over many iterations with all others there. So jobs repeat their iteration until a
moment, no job ends before another, the first iterations are left out, and the run is made longer
until the means hold still. Runs that send each job a few times and stop see too little of the
neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cosim.measuring.pairs import Pair
from cosim.measuring.snapshots import FloatArray, LongArray, Study
from cosim.measuring.timed import TimedSnapshot, pairs_of
from cosim.network.communication import rounded_s
from cosim.network.ensemble import Ensemble, PlacedJob
from cosim.network.loops import (
    LoopTimes,
    first_counted,
    least_iteration_s,
    means_s,
    without_messages,
)
from cosim.parameters import SteadyRules
from netsim.packet.model import PS_PER_S
from queuesim.statistics import batch_half_width

_ROUNDS, _NEAR = 8, 0.01


@dataclass(frozen=True, eq=False)
class SteadySnapshot(TimedSnapshot):
    """Result of one instant; times are means of an iteration."""

    compute_s: FloatArray
    """(k,) float64. Of an iteration."""
    half_width: FloatArray
    """(k,) float64. Of the mean under the reference, over that mean; nan where it is not known."""
    iterations: LongArray
    """(k,) int64. That count, the same on all sides."""
    once_s: FloatArray
    link_s: FloatArray
    """once_s, link_s: (k,) float64. Isolated time of one iteration's communication on the
    reference's nodes, and that for which the busiest node's link is busy in it."""


@dataclass
class Steadying:
    """A study's jobs in loops under all its sides."""

    study: Study
    rules: SteadyRules
    _once: dict[int, tuple[float, float]] = field(default_factory=dict)

    def at(self, number: int) -> Steadying:
        """Return the study of one snapshot, with its jobs placed by the study."""
        study = self.study.at(number)
        return self if study is self.study else Steadying(study, self.rules)

    def job(self, name: str, index: int, compute_s: float) -> PlacedJob:
        """Return a job where a side put it, with computing between its iterations."""
        side = self.study.sides[name]
        communication = self.study.communication(index)
        if communication.iterations != 1:
            communication = replace(communication, iterations=1)
        placed = side.placed(index, communication)
        noise = self.rules.noise if compute_s else 0.0
        return replace(placed, compute_s=compute_s, compute_noise=noise)

    def once(self, index: int) -> tuple[float, float]:
        """Return the seconds of a job's isolated communication on the reference's nodes, and of its
        node's link.

        Both are 0 for a job that sends nothing from node to node.
        """
        if index not in self._once:
            network = self.study.sides[self.study.reference].network
            job = self.job(self.study.reference, index, 0.0)
            program, nodes = network.program(job, 1), network.rank_node(job)
            link_s = least_iteration_s(network.routing.topology, program, nodes)
            alone_s = 0.0
            if link_s:
                alone_s = float(Ensemble(network, [job]).packets(stream=index).time_s[0])
            self._once[index] = alone_s, link_s
        return self._once[index]

    def watched(self, number: int) -> SteadySnapshot | None:
        """Return a snapshot of the reference's schedule; None if no job communicates then."""
        running = self.running(self.study.running(self.study.reference, number))
        return self.snapshot(number, running) if running else None

    def running(self, indices: Sequence[int]) -> list[int]:
        """Return the jobs that communicate at all."""
        return [i for i in indices if self.study.fraction[i] > 0 and self.once(i)[1] > 0]

    def computing(self, running: Sequence[int], stream: int) -> FloatArray:
        """Return the computing time between iterations, by what the fraction means, (k,) float64.

        Ranks that are done begin to compute while others still wait, so what an iteration in a loop
        takes is not the sum of computing and one iteration's communication: it is iterated.
        """
        fraction = np.array([self.study.fraction[i] for i in running])
        once_s, link_s = np.array([self.once(i) for i in running]).T
        compute_s: FloatArray = rounded_s(once_s * (1 / fraction - 1))
        if self.rules.share == "drive":
            compute_s = rounded_s(np.maximum(link_s / fraction - once_s, 0.0))
        for _ in range(_ROUNDS):
            period_s = self._periods(running, compute_s, stream)
            if self.rules.share == "drive":
                found = rounded_s(np.maximum(compute_s + link_s / fraction - period_s, 0.0))
            else:
                found = rounded_s((period_s - compute_s) * (1 / fraction - 1))
            near = np.abs(found - compute_s) <= _NEAR * period_s
            if near.all():
                break
            compute_s = found
        return compute_s

    def _periods(self, running: Sequence[int], compute_s: FloatArray, stream: int) -> FloatArray:
        """Return the time of an iteration, isolated or among the other jobs depending on the share,
        (k,)."""
        reference, rules = self.study.reference, self.rules
        # the share is that of the mean: what noise adds to an iteration or subtracts is not
        # communication, and over a few iterations it may be more than that
        jobs = [
            replace(job, compute_noise=0.0) for job in self.placed(reference, running, compute_s)
        ]
        once_s = np.array([self.once(i)[0] for i in running])
        until_s = rounded_s(rules.least_iterations * (once_s + compute_s))
        if rules.share == "contended":
            beside = self.io(reference, self.study.running(reference, stream))
            runs = [self._enough(reference, jobs, float(until_s.max()), stream, beside)]
        else:
            runs = [
                self._enough(reference, [job], float(longest) + job.start_s, stream)
                for job, longest in zip(jobs, until_s, strict=True)
            ]
        ends = [each for run in runs for each in run.ends_ps]
        return means_s(ends, np.array([len(each) for each in ends]), rules.warm_up)

    def placed(self, name: str, running: Sequence[int], compute_s: FloatArray) -> list[PlacedJob]:
        """Return the jobs on a side, each with the start that it has on all of them."""
        network = self.study.sides[self.study.reference].network
        jobs = []
        for index, pause_s in zip(running, compute_s.tolist(), strict=True):
            job = self.job(name, index, pause_s)
            if self.rules.phases == "random":
                u = float(network.streams(job).start.random())
                start_s = float(rounded_s(np.array(u * (self.once(index)[0] + pause_s))))
                job = replace(job, start_s=start_s)
            jobs.append(job)
        return jobs

    def snapshot(self, number: int, running: Sequence[int]) -> SteadySnapshot:
        """Simulate the jobs of an instant under all sides, and their isolated runs."""
        reference, rules = self.study.reference, self.rules
        compute_s = self.computing(running, number)
        once_s, link_s = np.array([self.once(i) for i in running]).T
        placed = {name: self.placed(name, running, compute_s) for name in self.study.sides}
        shared = [n for n, side in self.study.sides.items() if n == reference or not side.isolates]
        there = self.study.running(reference, number)
        io = {name: self.io(name, there) for name in shared}
        longest_s = float(np.max(once_s + compute_s))
        until_s = float(rounded_s(np.array(rules.least_iterations * longest_s)))
        while True:
            jobs, beside = placed[reference], io[reference]
            seen = {reference: self._enough(reference, jobs, until_s, number, beside)}
            half = self.half_widths(seen[reference])
            weight = np.array([len(job.nodes) for job in placed[reference]])
            if np.nanmax(half, initial=0.0) == 0:
                break
            mean_half = float(np.average(half, weights=weight))
            most = rules.most_iterations * longest_s / until_s
            if mean_half <= rules.precision or most < 2:
                break
            until_s *= times_longer(mean_half, rules.precision, most)
        for name in shared:
            if name not in seen:
                seen[name] = self._enough(name, placed[name], until_s, number, io[name])
        ends = {name: list(run.ends_ps) for name, run in seen.items()}
        for name in placed:
            if name not in shared and self.study.io is not None:
                ends[name] = self._crossed(name, running, placed[name], until_s, number)
        alone = {name: self._alone(name, placed[name], until_s, number) for name in placed}
        count = np.array(
            [
                min(len(of[k]) for of in (*ends.values(), *alone.values()))
                for k in range(len(running))
            ]
        )
        return SteadySnapshot(
            number,
            running,
            {n: means_s(ends.get(n, alone[n]), count, rules.warm_up) for n in placed},
            {n: means_s(alone[n], count, rules.warm_up) for n in placed},
            {name: without_messages(run.packets) for name, run in seen.items()},
            compute_s,
            half,
            count - first_counted(count, rules.warm_up),
            once_s,
            link_s,
        )

    def half_widths(self, run: LoopTimes) -> FloatArray:
        """Return the half-width of each job's mean iteration time over that mean, (k,)."""
        found = []
        for ends in run.ends_ps:
            begin = int(first_counted(np.array(len(ends)), self.rules.warm_up))
            times = np.diff(ends[begin - 1 :]) / PS_PER_S
            found.append(batch_half_width(times, self.rules.level) / times.mean())
        return np.array(found)

    def _alone(
        self, name: str, jobs: Sequence[PlacedJob], until_s: float, stream: int
    ) -> list[LongArray]:
        """Return the ends of each job's iterations in an isolated run."""
        runs = [self._enough(name, [job], until_s + job.start_s, stream) for job in jobs]
        return [run.ends_ps[0] for run in runs]

    def io(self, name: str, indices: Sequence[int]) -> list[PlacedJob]:
        """Return the gateway I/O of jobs (by index) on the nodes of a side; none if off."""
        side, writes = self.study.sides[name], self.study.io
        if writes is None:
            return []
        jobs = side.schedule.workload
        return [
            writes.of_job(
                side.network,
                int(jobs.job_id[i]),
                side.placement(i).nodes[: int(jobs.n_nodes[i])],
            )
            for i in indices
        ]

    def _crossed(
        self,
        name: str,
        running: Sequence[int],
        jobs: Sequence[PlacedJob],
        until_s: float,
        stream: int,
    ) -> list[LongArray]:
        """Return the iteration ends of isolated jobs while all concurrent jobs write via gateways.

        The jobs of an instant of the reference's run at other times here: each is watched at the
        middle of its run, with those of the others that run at that moment too.
        """
        schedule = self.study.sides[name].schedule
        ends: dict[int, LongArray] = {}
        for index in running:
            if index in ends:
                continue
            middle_s = float(schedule.start_s[index] + schedule.end_s[index]) / 2
            there = self.study.sides[name].running(middle_s)
            met = [k for k, other in enumerate(running) if other in there and other not in ends]
            run = self._enough(name, [jobs[k] for k in met], until_s, stream, self.io(name, there))
            ends |= {running[k]: each for k, each in zip(met, run.ends_ps, strict=True)}
        return [ends[index] for index in running]

    def _enough(
        self,
        name: str,
        jobs: Sequence[PlacedJob],
        until_s: float,
        stream: int,
        beside: Sequence[PlacedJob] = (),
    ) -> LoopTimes:
        """Simulate and time jobs in loops; those ``beside`` run too but are not timed."""
        network = self.study.sides[name].network
        return Ensemble(network, [*jobs, *beside]).watched(until_s, len(jobs), stream=stream)

    def pairs(self, found: SteadySnapshot) -> list[Pair]:
        """Return one a job and side, with times of one iteration."""
        duty = 1 - found.compute_s / found.alone_s[self.study.reference]
        return pairs_of(self.study, found, found.iterations, duty)


def times_longer(half_width: float, precision: float, most: float) -> int:
    """Estimate how many times longer a run must be to reach a half-width.

    It is a power of two, 2 or more and at most ``most``: half-widths, nan where they are not known,
    fall with the root of the time.
    """
    wanted = 2.0 if np.isnan(half_width) else (half_width / precision) ** 2
    return int(2 ** np.floor(np.log2(min(max(wanted, 2.0), most))))
