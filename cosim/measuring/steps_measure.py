"""The measure "steps": do the jobs of an instant fall into step, over many iterations?

The jobs that run at an instant of the reference's schedule compute and send in turn for a thousand
iterations, packet by packet. It reports by windows of iterations what the others cost them, and how
often those that share links send at once, compared with independent timing. The
theory is in docs/isolation-steps.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from cosim.measuring.base import Generators, Measure
from cosim.measuring.measured import SpeedupTable
from cosim.measuring.neighbours import parts as met_parts
from cosim.measuring.parts import Columns, Progress, TaskRunner
from cosim.measuring.snapshots import FloatArray, Measurement, Ratio, Study
from cosim.measuring.steady import PHASES, ComputingNoise, Steadying, SteadyRules
from cosim.measuring.timed import TimedSnapshot, measurements
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.loops import LoopTimes
from netsim.packet.model import PS_PER_S
from netsim.parameters import Example, NamesIn

PERIODS = {
    "own": "each job's follows from its communication and its fraction of the time",
    "equal": "all jobs have the mean period: jobs that communicate longer compute less",
}
"""Time of an isolated iteration of a job."""

WINDOWS = (1, 4, 10, 30, 100, 300, 1000, 3000, 10000)
"""Where windows of iterations begin and end, up to the last one."""

FINE_S = 1e-9
"""Computing is an integer multiple where periods are equal: errors of a thousand iterations add
up."""

_ROUNDS, _EQUAL = 4, 2e-5
_REPEATS, _RANDOM_ROUTING, _NOISY = 8, 4, 8
"""Iterations of an isolated run, and the factors for random routing and for noise."""


@dataclass(frozen=True)
class StepRules:
    """Rules of the start, the loops and their length."""

    phases: Annotated[
        str, "when jobs start to communicate; locked: all at once", NamesIn(PHASES)
    ] = "random"
    noise: ComputingNoise = 0.0
    periods: Annotated[str, "periods of the jobs", NamesIn(PERIODS)] = "own"
    iterations: Annotated[
        int, "iterations of a job of mean period (by nodes)", Ge(10), Example(300)
    ] = 1000
    redraws: Annotated[
        int,
        "how often the first window is repeated with newly drawn phases",
        Ge(0),
        Example(8),
    ] = 0


@dataclass(frozen=True, eq=False)
class Loops:
    """Jobs that have looped together, and their isolated loops."""

    ends_s: tuple[FloatArray, ...]
    """Tuple of (n,) float64. When each job's iterations ended."""
    computes_s: tuple[FloatArray, ...]
    """Tuple of (>= n,) float64. Computing before each of them."""
    start_s: FloatArray
    alone_s: FloatArray
    compute_s: FloatArray
    send_s: FloatArray
    """start_s, alone_s, compute_s, send_s: (k,) float64. Begin of each job; its isolated period,
    the mean of its computing, and the rest of that."""

    def sends_s(self, job: int) -> FloatArray:
        """Return when a job begins to communicate in each of its iterations, (n + 1,)."""
        ends = np.concatenate([[self.start_s[job]], self.ends_s[job]])
        return np.asarray(ends + self.computes_s[job][: len(ends)])


def off_by_job(loops: Loops, begin_s: float, end_s: float) -> FloatArray:
    """Return by which fraction each job's iterations would be shorter in isolation, (k,).

    Only iterations that ended in the window count; nan without any. Computing noise counts on
    both sides: in isolation, an iteration is longer by as much as its computing.
    """
    found = np.full(len(loops.ends_s), np.nan)
    for job, ends in enumerate(loops.ends_s):
        first, last = np.searchsorted(ends, [begin_s, end_s], side="right").tolist()
        first = max(first, 1)
        if last > first:
            drawn = loops.computes_s[job][first:last] - loops.compute_s[job]
            alone = loops.alone_s[job] + drawn.mean()
            found[job] = 1 - alone / ((ends[last - 1] - ends[first - 1]) / (last - first))
    return found


def meetings(
    loops: Loops, weights: FloatArray, begin_s: float, end_s: float
) -> tuple[float, float]:
    """Return how often jobs begin to communicate while others do, in a window.

    Every communication counts from its begin for its isolated time, so that jobs which
    delay each other do not meet more often because of it.

    Parameters
    ----------
    weights : (k, k) float64
        Of each pair of jobs.

    Returns
    -------
    meeting : float
        Time in which two jobs communicate, over that of independent jobs (the product of their
        shares of the window): 1 for independent jobs, 0 out of step, 1 / f in step.
    order : float
        Mean cosine of the angle between the middles of their communication: 1, 0, down to -1 for
        two in opposite phase; of Kuramoto's order parameter the part of distinct pairs.
    """
    both = expected = cosine = total = 0.0
    begins = [loops.sends_s(job) for job in range(len(loops.ends_s))]
    inside = [of[(of >= begin_s) & (of < end_s)] for of in begins]
    for j, of in enumerate(begins):
        edges = np.stack([of, of + loops.send_s[j]], axis=1).ravel()
        sent = np.repeat(np.arange(len(of) + 1), 2)[1:-1] * loops.send_s[j]
        edges, middle = np.maximum.accumulate(edges), of + loops.send_s[j] / 2
        share = np.interp([begin_s, end_s], edges, sent)
        share_j = (share[1] - share[0]) / (end_s - begin_s)
        for i, mine in enumerate(inside):
            if i == j or weights[i, j] == 0 or not len(mine) or len(of) < 2:
                continue
            ends = mine + loops.send_s[i]
            both += (
                weights[i, j] * (np.interp(ends, edges, sent) - np.interp(mine, edges, sent)).sum()
            )
            expected += weights[i, j] * share_j * loops.send_s[i] * len(mine)
            turns = np.interp(mine + loops.send_s[i] / 2, middle, np.arange(len(of)))
            cosine += weights[i, j] * np.cos(2 * np.pi * turns).mean()
            total += weights[i, j]
    if not total or not expected:
        return float("nan"), float("nan")
    return both / expected, cosine / total


@dataclass(frozen=True)
class StepsMeasure(StepRules, Measure):
    """Jobs in loops over many iterations; see `StepRules` for the attributes."""

    name = "steps"
    description = "the jobs at the reference's instants over many iterations: in or out of step?"
    compares = "nothing: what others cost a job on the reference's nodes, by windows of iterations"
    baseline = "isolated time under the reference"
    ignores = (
        *("communication.mix.*.iterations", "communication.together"),
        "run.confidence",
    )

    def sent(self, study: Study) -> dict[str, float]:
        return {study.reference: self.iterations + WINDOWS[1] * self.redraws + 2.0 * _REPEATS}

    def measure(
        self, study: Study, rng: Generators, parts: TaskRunner, progress: Progress | None = None
    ) -> Measurement:
        steadying = Steadying(study, SteadyRules(least_iterations=_REPEATS))

        seen = self._each_snapshot(study, partial(self._columns, steadying), parts, progress)
        rows = [row for of in seen for row in _rows(of)]
        reference = study.reference
        snapshots = [
            TimedSnapshot(
                int(of["number"]),
                of["running"].tolist(),
                {reference: of["mean_s"]},
                {reference: of["alone_s"]},
                {},
            )
            for of in seen
        ]
        found = measurements(study, reference, snapshots)
        return Measurement(
            {reference: found},
            {reference: Ratio(1.0, 1.0, 1.0, len(found.job))},
            SpeedupTable(reference, (), of_run_times=True),
            {"steps": rows},
            _summary(rows),
        )

    def _columns(self, steadying: Steadying, number: int) -> Columns:
        """Return the results of an instant, a row per window."""
        study = steadying.study
        network = study.sides[study.reference].network
        running = steadying.running(study.running(study.reference, number))
        if len(running) < 2:
            return {}
        alone = self._alone(steadying, running, number)
        jobs, nodes = alone.jobs, np.array([len(job.nodes) for job in alone.jobs])
        period_s = float(np.average(alone.period_s, weights=nodes))
        weights = nodes[:, None] * alone.parts

        def watch(again: int, count: int) -> Loops:
            placed = self._begun(network, jobs, alone.period_s, again)
            until_s = np.ceil(count * period_s / FINE_S) * FINE_S  # no finer clock than the jobs'
            run = Ensemble(network, placed).loops(float(until_s), stream=number)
            means = np.array([job.compute_s for job in placed])
            return Loops(
                tuple(ends / PS_PER_S for ends in run.ends_ps),
                tuple(
                    np.broadcast_to(network.computing_s(job, len(ends) + 1), (len(ends) + 1,))
                    for job, ends in zip(placed, run.ends_ps, strict=True)
                ),
                np.array([job.start_s for job in placed]),
                alone.period_s,
                means,
                alone.period_s - means,
            )

        edges = [edge for edge in WINDOWS if edge < self.iterations] + [self.iterations]
        full_run = watch(0, self.iterations)
        found = [(0, *edge, full_run) for edge in pairwise(edges)]
        for again in range(1, self.redraws + 1):
            found.append((again, edges[0], edges[1], watch(again, edges[1])))
        windows = []
        for again, begin, end, loops in found:
            off = off_by_job(loops, begin * period_s, end * period_s)
            known = ~np.isnan(off)
            mean = np.average(off[known], weights=nodes[known]) if known.any() else np.nan
            meeting, order = meetings(loops, weights, begin * period_s, end * period_s)
            windows.append([again, begin, end, 100 * mean, meeting, order, known.sum()])
        return {
            "number": np.array(number),
            "running": np.array(running),
            "alone_s": alone.period_s,
            "mean_s": np.array([_later_mean_s(ends) for ends in full_run.ends_s]),
            "nodes": nodes,
            "share": full_run.send_s / alone.period_s,
            "windows": np.array(windows, dtype=np.float64),
        }

    def _alone(self, steadying: Steadying, running: Sequence[int], number: int) -> _IsolatedRuns:
        """Return the jobs with their computing times, and their isolated runs."""
        reference = steadying.study.reference
        network = steadying.study.sides[reference].network
        compute_s, aim_s = steadying.computing(running, number), 0.0
        often = _RANDOM_ROUTING * _REPEATS if network.routing.random_visits else _REPEATS
        once_s = [steadying.once(index)[0] for index in running]

        def alone(jobs: Sequence[PlacedJob], often: int) -> list[LoopTimes]:
            return [
                Ensemble(network, [job]).loops(often * (one_s + job.compute_s), stream=number)
                for job, one_s in zip(jobs, once_s, strict=True)
            ]

        for _ in range(_ROUNDS):
            jobs = [
                steadying.job(reference, index, pause_s)
                for index, pause_s in zip(running, compute_s.tolist(), strict=True)
            ]
            runs = alone(jobs, often)
            period_s = np.array([_later_mean_s(run.ends_ps[0] / PS_PER_S) for run in runs])
            aim_s = aim_s or float(np.average(period_s, weights=[len(job.nodes) for job in jobs]))
            more_s = np.round((aim_s - period_s) / FINE_S) * FINE_S
            if self.periods == "own" or np.abs(more_s).max() <= _EQUAL * aim_s:
                break
            compute_s = np.maximum(compute_s + more_s, FINE_S)
        if self.noise:
            noisy = [replace(job, compute_noise=self.noise) for job in jobs]
            period_s = np.array(
                [
                    _without_noise_s(run.ends_ps[0] / PS_PER_S, network, job)
                    for run, job in zip(alone(noisy, _NOISY * _REPEATS), noisy, strict=True)
                ]
            )
        from scipy.sparse import csr_array

        sent = np.stack([run.packets.link_bytes for run in runs]).astype(np.float64)
        topology = network.routing.topology
        sent[:, : topology.first_router_link] = 0
        bandwidth_Bps = topology.link_bandwidth_Bps.astype(np.float64)
        return _IsolatedRuns(jobs, period_s, met_parts(csr_array(sent), bandwidth_Bps))

    def _begun(
        self, network: SharedNetwork, jobs: Sequence[PlacedJob], period_s: FloatArray, again: int
    ) -> list[PlacedJob]:
        """Return the jobs with a begin each: where all communicate at once, or the one drawn so
        often."""
        computing = np.array([job.compute_s for job in jobs])
        start_s = computing.max() - computing
        if self.phases == "random":
            drawn = [network.streams(job).start.random(again + 1)[again] for job in jobs]
            start_s = np.round(np.array(drawn) * period_s / FINE_S) * FINE_S
        return [
            replace(job, start_s=begin_s, compute_noise=self.noise)
            for job, begin_s in zip(jobs, start_s.tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _IsolatedRuns:
    """Jobs, their periods in isolation, and each job's part of the traffic on shared links."""

    jobs: Sequence[PlacedJob]
    period_s: FloatArray
    parts: FloatArray


def _without_noise_s(ends_s: FloatArray, network: SharedNetwork, job: PlacedJob) -> float:
    """Return the mean time of an isolated iteration, corrected for the noise of its computing."""
    computing = np.broadcast_to(network.computing_s(job, len(ends_s)), len(ends_s))
    return float((np.diff(ends_s) - computing[1:]).mean()) + job.compute_s


def _later_mean_s(ends_s: FloatArray) -> float:
    """Return the mean time of the iterations of the second half."""
    first = len(ends_s) // 2
    return float((ends_s[-1] - ends_s[first]) / (len(ends_s) - 1 - first))


def _rows(of: Columns) -> list[dict[str, object]]:
    """Return a row a window of an instant."""
    nodes, share = of["nodes"], of["share"]
    common = {
        "snapshot": int(of["number"]),
        "jobs": len(nodes),
        "nodes": int(nodes.sum()),
        "share_alone": float(np.average(share, weights=nodes)),
    }
    return [
        {
            **common,
            "redrawn": int(again),
            "from_iteration": int(begin),
            "to_iteration": int(end),
            "off_percent": float(off),
            "meeting": float(meeting),
            "order": float(order),
            "jobs_counted": int(counted),
        }
        for again, begin, end, off, meeting, order, counted in of["windows"].tolist()
    ]


def _summary(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Describe the last window."""
    last = max((row["to_iteration"] for row in rows), default=0)
    mine = [row for row in rows if row["to_iteration"] == last and not row["redrawn"]]
    if not mine:
        return ()
    nodes = [row["nodes"] for row in mine]
    off, meeting = (
        float(np.average([row[k] for row in mine], weights=nodes))
        for k in ("off_percent", "meeting")
    )
    return (
        f"steps: others cost {off:.1f} % of the run time in iterations {mine[0]['from_iteration']} "
        f"to {last}; jobs that share links meet {meeting:.2f} times as often as independent jobs",
    )
