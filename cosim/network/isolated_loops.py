"""Isolated loops of jobs: the baseline of loops among others.

A job communicates for a fraction f of its isolated time: it computes c (1 / f - 1) between
iterations, so a period is c / f long. What communication takes in a loop, c, is found in rounds: it
is less than that of one iteration, because ranks that are done begin to compute while others wait.
Where it falls as computing grows, as in a broadcast, the rounds are those of a bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.network.communication import Communication, remember, rounded_s
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.loops import LoopTimes, first_counted, means_s
from cosim.network.situation import Situation
from cosim.parameters import NOISE, PERIODS, PHASES
from netsim.packet.checks import packets_of
from netsim.packet.model import PS_PER_S
from queuesim.draws import job_streams, substitute_id

_KEPT = 1 << 17
_ROUNDS, EXACT, ABOUT, ROUGH = 16, 0.01, 0.03, 0.3
"""Of the search for the computing time: rounds, and how far from its fraction a job may remain, as
a part of the period; `ROUGH` in the first round only, in which it shows whether communication falls
as computing grows."""
PRECISION = 0.002
"""Standard error of an isolated period, over the period, at which its simulation ends."""
WARM_UP = 0.25
"""Part of a job's iterations, at the begin, that does not count."""
FEW_JOBS, MORE_JOBS, ALIKE = 3, 7, 1.1
"""Few jobs keep the phases that they happen to have for many iterations. So do more jobs where two
have periods within this ratio, but less depends on each."""
_SELDOM, _LEAST_PERIODS = 0.25, 3
"""Jobs that communicate for less of their time are watched for fewer periods, but at least so many:
the error of their run time is the smaller part of that of their communication."""
FIRST_LOOK = 0.55
"""Part of its longest time after which a simulation may end: three of six periods, and a start."""
_OTHERS = 4 / 3
"""What the job with the longest period needs less if the others are watched for so much more."""
_QUARTERS = 0, 2, 1, 3
"""Order of the phases of four draws: opposite ones first."""
FEW_PACKETS, MANY_PACKETS = 2000, 100_000
"""Packets of an iteration up to which a look takes longer than what it may save, and above which
the means of a few iterations may be near enough under any routing."""
SETTLED, DRIFT, MOST_SETTLED = 48, 0.005, 20_000
"""Periods after half of which ranks have drifted apart; by how much the later ones of few differ,
over them, where they do; and the most packets of an iteration for which that is simulated."""
LOOKED_AT = 3
"""Iterations of so many packets that a look sees."""
LEAST_FRACTION = 0.01
"""Jobs that communicate for less of their time are simulated as if for so much: periods stay short
enough to be simulated, and their neighbours are slowed by at most so much more."""


@dataclass(frozen=True, eq=False)
class IsolatedLoop:
    """A job that computes between iterations, and its period in isolation."""

    job: PlacedJob
    """With computing; it begins at 0."""
    period_s: float
    drift_s: float = 0.0
    """What a period takes more in the long run: mostly less, as ranks drift apart until their
    messages no longer meet."""
    simulated: Hashable = None
    """Equal for loops of equal simulations."""
    packet_hops: int = 0
    """Of the simulations that gave it."""

    @property
    def comm_s(self) -> float:
        """Time that communication adds to computing in a period; above 0."""
        return max(self.period_s - self.job.compute_s, LEAST_FRACTION**2 * self.period_s)

    def started(self, network: SharedNetwork, draw: int = 0, turn: int = 0) -> PlacedJob:
        """Return the job with noise of its computing, other for each draw, and a random start.

        Four draws have the same start in its first period, later by so many (``turn``) halves,
        quarters and three quarters of it: phases between jobs of other turns are spread evenly.
        """
        place = draw % PHASES
        first = job_streams(network.seed, self._number(draw - place))
        moment = float(first.start.random()) + turn * _QUARTERS[place] / PHASES
        return self.job.altered(
            job_id=self._number(draw),
            sends_as=self.job.sent_id,
            compute_noise=NOISE,
            start_s=rounded_s(moment % 1.0 * self.period_s),
        )

    def _number(self, draw: int) -> int:
        return substitute_id([self.job.job_id, draw]) if draw else self.job.job_id


def n_starts(periods_s: Sequence[float] | NDArray[np.float64], phases: int = PHASES) -> int:
    """Return the number of random starts whose mean is taken.

    ``phases`` for two or three jobs, half of them for up to seven of which two are alike, else one.
    """
    periods = np.sort(periods_s)
    if 1 < len(periods) <= FEW_JOBS:
        return phases
    alike = 1 < len(periods) <= MORE_JOBS and bool((periods[1:] < ALIKE * periods[:-1]).any())
    return (phases + 1) // 2 if alike else 1


def wanted_s(loops: Sequence[IsolatedLoop], periods: int = PERIODS, longest: float = 1.0) -> float:
    """Return how long loops run together: ``periods`` of each job, fewer of those that seldom send.

    ``longest`` is the part of this that is enough for the job that needs the longest time, if all
    others get a third more than this: it meets them all the more often in each of its periods.
    """
    each_s = sorted(
        max(_LEAST_PERIODS, periods * min(1.0, loop.comm_s / loop.period_s / _SELDOM))
        * loop.period_s
        for loop in loops
    )
    others_s = _OTHERS * each_s[-2] if len(each_s) > 1 else 0.0
    return min(each_s[-1], max(longest * each_s[-1], others_s))


class LoopPeriod(NamedTuple):
    """What the simulations of an isolated loop give."""

    period_s: float
    drift_s: float = 0.0
    """As `IsolatedLoop.drift_s`."""
    packet_hops: int = 0


def loop_isolated(
    network: SharedNetwork, job: PlacedJob, about_s: float, stream: int
) -> LoopPeriod:
    """Simulate a job's isolated loop, whose period is about so long.

    Where routes are fixed the simulation ends at a look that finds `PRECISION`; elsewhere few
    periods scatter less than more of them do. Jobs of up to `FEW_PACKETS` have no look. One
    at those of more than `MANY_PACKETS` counts iterations: they may be much shorter than expected.
    """
    isolated, until_s = Ensemble(network, [job]), PERIODS * about_s
    packets = packets_of(network.program(job, 1), network.packet.packet_bytes)
    fixed, look, hops = isolated.routing.is_single_path, None, 0
    if packets > MANY_PACKETS:
        # One more than are counted: ranks that are done would leave the network to the others.
        run = isolated.loops(until_s, stream=stream, most=LOOKED_AT + 1)
        hops = run.packets.packet_hops
        if run.iterations[0] >= LOOKED_AT:
            ends_ps = (run.ends_ps[0][:LOOKED_AT],)
            look = replace(run, ends_ps=ends_ps, iterations=np.array([LOOKED_AT]))
    elif packets > FEW_PACKETS and fixed:
        look = isolated.watched(FIRST_LOOK * until_s, 1, stream=stream, least=3)
        hops = look.packets.packet_hops
    if look is None or period_error(network, [job], look, [about_s]) > PRECISION:
        look = isolated.watched(until_s, 1, stream=stream)
        hops += look.packets.packet_hops
    period_s = float(means_s(look.ends_ps, look.iterations, WARM_UP)[0])
    if packets > MOST_SETTLED or not fixed or not _drifts(look):
        return LoopPeriod(period_s, 0.0, hops)
    run = isolated.watched(SETTLED * period_s, 1, stream=stream)
    settled_s = float(means_s(run.ends_ps, run.iterations, 0.5)[0])
    return LoopPeriod(period_s, settled_s - period_s, hops + run.packets.packet_hops)


def _drifts(look: LoopTimes) -> bool:
    """Return whether the later periods that count differ from the first ones by `DRIFT`."""
    times_s = np.diff(look.ends_ps[0][int(first_counted(look.iterations, WARM_UP)[0]) - 1 :])
    half = len(times_s) // 2
    first_s, last_s = times_s[:half].sum(), times_s[len(times_s) - half :].sum()
    return bool(abs(last_s - first_s) > DRIFT * first_s)


def loop_together(
    network: SharedNetwork,
    loops: Sequence[IsolatedLoop],
    periods: int,
    *,
    n_watched: int | None = None,
    draw: int = 0,
    stream: int = 0,
    longest: float = 1.0,
) -> tuple[NDArray[np.float64], LoopTimes]:
    """Simulate jobs that loop together from random starts for `wanted_s`; return mean periods.

    The first ``n_watched`` are timed, by default all; others only add load. A mean leaves out the
    first iterations, and has the mean computing time in place of the drawn ones. ``draw`` is the
    number of the random starts, ``stream`` as in `cosim.network.ensemble.Ensemble.packets`.
    """
    jobs = [loop.started(network, draw, k) for k, loop in enumerate(loops)]
    together = Ensemble(network, jobs)
    watched = len(loops) if n_watched is None else n_watched
    until_s = wanted_s(loops, periods, longest)
    run = together.watched(until_s, watched, stream=stream, least=2)
    return periods_s(network, jobs, run), run


def period_error(
    network: SharedNetwork, jobs: Sequence[PlacedJob], run: LoopTimes, alone_s: Sequence[float]
) -> float:
    """Return the relative standard error of the mean over jobs of period over ``alone_s``.

    Iterations count as independent. Those of a job with one that counts scatter as the others'; the
    error is infinite if no job has two.
    """
    first = first_counted(run.iterations, WARM_UP)
    mean, variance, counted = np.zeros((3, len(run.ends_ps)))
    for k, (job, ends) in enumerate(zip(jobs, run.ends_ps, strict=False)):
        period = np.diff(ends[first[k] - 1 :]) / PS_PER_S
        if job.compute_noise:
            drawn_s = network.computing_s(job, len(ends))
            period += job.compute_s - np.broadcast_to(drawn_s, (len(ends),))[first[k] :]
        period /= alone_s[k]
        mean[k], counted[k] = period.mean(), len(period)
        variance[k] = period.var(ddof=1) if len(period) > 1 else np.nan
    if np.isnan(variance).all():
        return np.inf
    variance = np.where(np.isnan(variance), np.nanmean(variance), variance)
    return float(np.sqrt(np.sum(variance / counted)) / mean.sum())


def periods_s(
    network: SharedNetwork, jobs: Sequence[PlacedJob], run: LoopTimes
) -> NDArray[np.float64]:
    """Return the mean period of each watched job, with mean computing in place of the drawn.

    What noise has added to the counted iterations is no contention. Without it the mean over few of
    them would be that of the draws.
    """
    found = means_s(run.ends_ps, run.iterations, WARM_UP)
    first = first_counted(run.iterations, WARM_UP)
    for k, (job, count) in enumerate(zip(jobs, run.iterations.tolist(), strict=False)):
        if job.compute_s:
            drawn_s = np.broadcast_to(network.computing_s(job, count), (count,))
            found[k] += job.compute_s - drawn_s[first[k] :].mean()
    return found


class IsolatedLoops:
    """Isolated loops by situation, each simulated once.

    Jobs that are equal for the network are one: their messages take links in the same order, as
    fast, and in the same order of their numbers. That is known under routings whose paths depend on
    nothing but their ends. The list of what the jobs of each situation's ``share`` send may grow.
    """

    def __init__(
        self,
        network: SharedNetwork,
        communications: Sequence[Communication],
    ) -> None:
        self._network, self._communications = network, communications
        self.n_nodes = network.routing.topology.n_nodes
        self._known: dict[tuple[Situation, float, float], IsolatedLoop | None] = {}
        self._once: dict[tuple[Hashable, float], tuple[float, int]] = {}
        self._periods: dict[Hashable, LoopPeriod] = {}
        self._places: dict[Situation, Hashable] = {}
        self._shortened: dict[tuple[int, float], Communication] = {}

    def of(
        self, situation: Situation, message_scale: float, near: float = EXACT
    ) -> IsolatedLoop | None:
        """Return the loop of a job whose messages are shortened by a factor; None if it sends
        nothing.

        Its communication may remain ``near``, over the period, to its fraction of the period.
        """
        key = (situation, message_scale, near)
        if key not in self._known:
            remember(self._known, key, self._loop(*key), _KEPT)
        return self._known[key]

    def once(self, situation: Situation, message_scale: float = 1.0) -> tuple[float, int]:
        """Simulate one isolated iteration without computing; return its time and packet hops.

        Both are 0 for a job that sends nothing.
        """
        key = (self.place(situation), message_scale)
        if key not in self._once:
            job, found = self._job(situation, message_scale), (0.0, 0)
            if self._network.least_s(job):
                stream = substitute_id([job.job_id])
                run = Ensemble(self._network, [job]).packets(stream=stream)
                found = float(run.time_s[0]), run.packets.packet_hops
            remember(self._once, key, found, _KEPT)
        return self._once[key]

    def least_s(self, situation: Situation) -> float:
        """Return a time that no iteration of a job is below; 0 for one that sends nothing."""
        return self._network.least_s(self._job(situation, 1.0))

    def bound_s(self, situation: Situation) -> float:
        """Return for how long an iteration of a job with own links keeps the busiest busy."""
        return Ensemble(self._network, [self._job(situation, 1.0)]).loads[0].isolated_bound_s

    def _job(self, situation: Situation, message_scale: float) -> PlacedJob:
        key = (situation.share, message_scale)
        if key not in self._shortened:  # one object, which keeps its programs
            self._shortened[key] = self._communications[situation.share].shortened(message_scale)
        return situation.job(self._shortened[key])

    def _loop(self, situation: Situation, message_scale: float, near: float) -> IsolatedLoop | None:
        given_s, job = situation.compute_s, self._job(situation, message_scale)
        once_s, hops = message_scale * situation.once_s, 0
        if not once_s:
            once_s, hops = self.once(situation, message_scale)
        elif not self._network.least_s(job):
            once_s = 0.0
        if not once_s:
            return None
        if given_s is not None:
            given_s = rounded_s(message_scale * given_s)
        place, tried = self.place(situation), {}

        def period(compute_s: float) -> LoopPeriod:
            key = (place, message_scale, once_s, compute_s)
            if key not in self._periods:
                found = self._period(job.altered(compute_s=compute_s), once_s)
                remember(self._periods, key, found, _KEPT)
            tried[compute_s] = self._periods[key]
            return tried[compute_s]

        if given_s is None:
            given_s = _by_fraction(lambda c: period(c).period_s, situation.fraction, once_s, near)
        period_s, drift_s, _ = period(given_s)
        hops += sum(found.packet_hops for found in tried.values())
        simulated = place, message_scale, once_s, given_s
        return IsolatedLoop(job.altered(compute_s=given_s), period_s, drift_s, simulated, hops)

    def _period(self, looping: PlacedJob, once_s: float) -> LoopPeriod:
        stream = substitute_id([looping.job_id])
        about_s = once_s + looping.compute_s
        return loop_isolated(self._network, looping, about_s, stream)

    def place(self, situation: Situation) -> Hashable:
        """Return what of a job's nodes, pattern and draws is visible to the network."""
        kind = situation._replace(fraction=1.0, compute_s=None, once_s=0.0)
        if kind not in self._places:
            remember(self._places, kind, self._seen(kind), _KEPT)
        return self._places[kind]

    def _seen(self, situation: Situation) -> Hashable:
        from netsim.flow.paths import flow_paths

        job = self._job(situation, 1.0)
        routing = Ensemble(self._network, [job]).routing
        topology = routing.topology
        if situation.draw is None or topology.rails > 1 or not routing.is_single_path:
            return situation
        program, nodes = self._network.program(job, 1), self._network.rank_node(job)
        ends = nodes[program.send_src()], nodes[program.send_dst]
        away = ends[0] != ends[1]
        paths = flow_paths(routing, ends[0][away], ends[1][away])
        links, order = np.unique(paths.links, return_inverse=True)
        # a task mapping that is drawn shows in the order of the nodes
        draw = situation.draw if job.communication.draws else None
        digest = blake2b(repr((situation.share, situation.n_nodes, draw)).encode())
        for part in (
            *(np.unique(nodes, return_inverse=True)[1], paths.ptr, order),
            *(topology.link_bandwidth_Bps[links], topology.link_latency_s[links]),
        ):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.digest()


def _by_fraction(
    period_s: Callable[[float], float], fraction: float, once_s: float, near: float
) -> float:
    """Return the computing of a job that communicates for a share of its period.

    Parameters
    ----------
    period_s : callable (computing) -> period
    """
    pause = 1 / max(fraction, LEAST_FRACTION) - 1
    compute_s = once_s * pause
    low_s, high_s = 0.0, np.inf
    for turn in range(_ROUNDS):
        tried_s = rounded_s(compute_s)
        period = period_s(tried_s)
        found_s = (period - tried_s) * pause
        if abs(found_s - compute_s) <= (min(near, ABOUT) if turn else near) * period:
            break
        low_s, high_s = (compute_s, high_s) if found_s > compute_s else (low_s, compute_s)
        compute_s = found_s if low_s < found_s < high_s else (low_s + high_s) / 2
    return tried_s
