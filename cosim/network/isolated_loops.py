"""Isolated loops of jobs: the baseline of loops among others.

A job communicates for a fraction f of its isolated time: it computes c (1 / f - 1) between
iterations, so a period is c / f long. What communication takes in a loop, c, is found in rounds: it
is less than that of one iteration, because ranks that are done begin to compute while others wait.
Where it falls as computing grows, as in a broadcast, the rounds are those of a bisection.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cosim.network.communication import Communication, rounded_s
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.loops import LoopTimes, means_s
from cosim.network.situation import Situation
from cosim.parameters import PERIODS, PHASES
from netsim.packet.model import PacketResult
from queuesim.draws import substitute_id

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_KEPT = 1 << 17
_ROUNDS, _NEAR = 16, 0.01
WARM_UP = 0.25
"""Part of a job's iterations, at the begin, that does not count."""
FEW_JOBS = 3
"""Periodic jobs of like periods keep the phases that they happen to have while they are so few."""
LEAST_FRACTION = 0.01
"""Jobs that communicate for less of their time are simulated as if for so much: periods stay short
enough to be simulated, and their neighbours are slowed by at most so much more."""


@dataclass(frozen=True, eq=False)
class IsolatedLoop:
    """A job that computes between iterations, and its period in isolation."""

    job: PlacedJob
    """With computing; it begins at 0."""
    period_s: float

    def started(self, network: SharedNetwork, draw: int) -> PlacedJob:
        """Return the job with a random start in its first period, another for each draw."""
        rng = network.streams(self.job).start
        moment = float(rng.random(draw + 1)[draw])
        return replace(self.job, start_s=rounded_s(moment * self.period_s))


def n_starts(n_jobs: int, phases: int = PHASES) -> int:
    """Return random starts whose mean is taken: ``phases`` for two or three jobs, else one."""
    return phases if 1 < n_jobs <= FEW_JOBS else 1


def loop_isolated(
    network: SharedNetwork, job: PlacedJob, about_s: float, stream: int
) -> tuple[float, PacketResult]:
    """Return a job's isolated period, which is about so long, and the packets of some of them."""
    run = Ensemble(network, [job]).watched(PERIODS * about_s, 1, stream=stream)
    return float(means_s(run.ends_ps, run.iterations, WARM_UP)[0]), run.packets


def loop_together(
    network: SharedNetwork,
    loops: Sequence[IsolatedLoop],
    periods: int,
    *,
    n_watched: int | None = None,
    draw: int = 0,
    stream: int = 0,
) -> tuple[NDArray[np.float64], LoopTimes]:
    """Simulate jobs that loop together from random starts.

    Parameters
    ----------
    periods : int
        Length of the simulation in isolated periods of the job with the longest one, at least.
    n_watched : int or None
        Number of ``loops``, from the first, that are timed (None: all); others only add load.
    draw : int
        Number of the random starts.
    stream : int
        As in `cosim.network.ensemble.Ensemble.packets`.

    Returns
    -------
    (n_watched,) float64
        Mean period of each watched job, its first iterations left out.
    LoopTimes
        Of the watched jobs.
    """
    together = Ensemble(network, [loop.started(network, draw) for loop in loops])
    until_s = periods * max(loop.period_s for loop in loops)
    watched = len(loops) if n_watched is None else n_watched
    run = together.watched(until_s, watched, stream=stream)
    return means_s(run.ends_ps, run.iterations, WARM_UP), run


class IsolatedLoops:
    """Isolated loops by situation, each simulated once.

    Parameters
    ----------
    communications : sequence of Communication
        What the jobs of each situation's ``share`` send; it may grow.
    """

    def __init__(self, network: SharedNetwork, communications: Sequence[Communication]) -> None:
        self._network, self._communications = network, communications
        self._known: dict[tuple[Situation, float], IsolatedLoop | None] = {}

    def of(self, situation: Situation, message_scale: float) -> IsolatedLoop | None:
        """Return the loop of a job whose messages are shortened by a factor; None if it sends
        nothing."""
        key = (situation, message_scale)
        if key not in self._known:
            remember(self._known, key, self._simulated(situation, message_scale), _KEPT)
        return self._known[key]

    def _simulated(self, situation: Situation, message_scale: float) -> IsolatedLoop | None:
        communication = self._communications[situation.share].shortened(message_scale)
        job = situation.job(communication)
        stream = substitute_id([job.job_id])
        isolated = Ensemble(self._network, [job])
        if not isolated.least_s.all():
            return None
        once_s = float(isolated.packets(stream=stream).time_s[0])
        pause = 1 / max(situation.fraction, LEAST_FRACTION) - 1
        compute_s = once_s * pause
        low_s, high_s = 0.0, np.inf
        for _ in range(_ROUNDS):
            looping = replace(job, compute_s=rounded_s(compute_s))
            period_s, _ = loop_isolated(self._network, looping, once_s + compute_s, stream)
            found_s = (period_s - looping.compute_s) * pause
            if abs(found_s - compute_s) <= _NEAR * period_s:
                break
            low_s, high_s = (compute_s, high_s) if found_s > compute_s else (low_s, compute_s)
            compute_s = found_s if low_s < found_s < high_s else (low_s + high_s) / 2
        return IsolatedLoop(looping, period_s)


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Insert a value into a dictionary of at most ``most`` entries, removing the oldest one."""
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
    return value
