"""Do jobs that compute and send in turn fall into step? What theory says, on a link or a few.

A job alone computes for p and sends for c, over and over. With others it sends at a part of its
rate. Its *clock*, the work that it has done, is then what time is to a job alone, and the
question is what becomes of the difference of two jobs' clocks.

*Two jobs that share a link evenly* lose clock only together and as much: each as long as both
send. So the difference never changes: they stay as far apart as they began, drift past each other
if their periods differ, and neither interleave nor fall into step. *Three or more* push each
other (who computes while two others meet gains on both), but no way is preferred: a link that is
shared evenly is a queue of the symmetric kind, and its stationary law with all who compute beside
it is a product (Baskett, Chandy, Muntz and Palacios 1975; the machine-repair model), whatever
times are distributed like, even if they do not vary. With any noise that law is the only one:
`even_periods_s`. It is that of clocks that are independent.

What breaks the evenness interleaves them: a link that serves whole bursts first come, first
served (`next_apart_s`), one that gives whoever began first more than the other
(`next_overlap_s`), and another link that makes one of them slow, so that the other does not hold
it up (`locked_at_s`). In step they would fall if late-comers were preferred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Rates = Callable[[tuple[int, ...]], Sequence[float]]
"""Of the jobs (by number) that send now: the part of its rate alone that each of them has."""


def link(loads: Sequence[float], weights: Sequence[float] | None = None) -> Rates:
    """One link, shared max-min fairly, or by weights.

    Parameters
    ----------
    loads : sequence of float
        Part of the link that each job takes alone, at most 1: below, another link is its slowest,
        as of a ring of messages that goes at the pace of its slowest link.
    weights : sequence of float, optional
        By default all alike, the link shared evenly.
    """
    share = [1.0] * len(loads) if weights is None else weights

    def rates(sending: tuple[int, ...]) -> list[float]:
        left, by_weight = 1.0, sum(share[job] for job in sending)
        found = {}
        for job in sorted(sending, key=lambda job: loads[job] / share[job]):
            given = min(loads[job], left * share[job] / by_weight)
            found[job] = given / loads[job]
            left, by_weight = left - given, by_weight - share[job]
        return [found[job] for job in sending]

    return rates


@dataclass(frozen=True)
class Looping:
    """A job alone.

    Attributes
    ----------
    compute_s : float or sequence of float
        Before each iteration's sending; as many iterations are done as numbers are given, a
        single number holds for all.
    send_s : float
        Above 0.
    start_s : float
        When it begins to compute.
    """

    compute_s: float | Sequence[float]
    send_s: float
    start_s: float = 0.0

    def computes_s(self, iteration: int) -> float:
        """How long before the sending of an iteration; infinite after the last."""
        if isinstance(self.compute_s, int | float):
            return float(self.compute_s)
        return self.compute_s[iteration] if iteration < len(self.compute_s) else np.inf


def fluid_ends_s(jobs: Sequence[Looping], rates: Rates, until_s: float) -> list[FloatArray]:
    """When each job's iterations end until a moment, sending as a fluid.

    Parameters
    ----------
    jobs : sequence of Looping
    rates : callable
        Such as `link` gives.
    until_s : float

    Returns
    -------
    list of (n_iterations,) float64
        By job.
    """
    now, done = 0.0, [0] * len(jobs)
    wakes = [job.start_s + job.computes_s(0) for job in jobs]
    left: dict[int, float] = {}
    ends: list[list[float]] = [[] for _ in jobs]
    while True:
        sending = tuple(sorted(left))
        rate = dict(zip(sending, rates(sending) if sending else (), strict=True))
        finish, first = min(((now + left[j] / rate[j], j) for j in sending), default=(np.inf, -1))
        begin, later = min((wakes[j], j) for j in range(len(jobs)))
        moment = min(finish, begin)
        if moment > until_s:
            return [np.array(of) for of in ends]
        for job in sending:
            left[job] -= rate[job] * (moment - now)
        now = moment
        if finish <= begin:
            del left[first]
            ends[first].append(now)
            done[first] += 1
            wakes[first] = now + jobs[first].computes_s(done[first])
        else:
            left[later] = jobs[later].send_s
            wakes[later] = np.inf


def next_apart_s(apart_s: float, send_s: float, feed: float, held_s: float = np.inf) -> float:
    """Two equal jobs on a link first come, first served: how far apart they are an iteration on.

    Their nodes feed the queue before the link ``feed`` times as fast as it serves. Who begins d
    later finds (feed - 1) d before it, and ends last in any case; the first is held up by less.
    So d grows by the factor ``feed`` until they take turns; with ``feed`` = 1 it stays. Buffers
    that hold less than that let it grow by what they hold.

    Parameters
    ----------
    apart_s : float
        Of their first bytes, 0 to ``send_s``; equal periods.
    send_s, feed : float
    held_s : float
        What the queue can hold of one job, as time on the link.
    """
    return min(apart_s + min((feed - 1) * apart_s, held_s), send_s)


def next_overlap_s(overlap_s: float, share: float) -> float:
    """Two equal jobs on a link of which the first to begin gets a share, and what it becomes.

    The overlap is how much of the first's sending is left when the second begins, c - d. The
    first gets ``share`` of the link and is ahead by more after each iteration, if that is above
    a half: the overlap shrinks by the same factor every time, and at a half it stays.

    Parameters
    ----------
    overlap_s : float
    share : float
        Above 0, at most 1; below a half the overlap grows until the second is the first to end,
        which is beyond this formula.
    """
    return overlap_s * (1 - share) / share


def locked_at_s(behind_s: float, send_s: float, held_up: float = 1.0) -> float:
    """Where a faster job stays behind one that it does not hold up, an iteration each.

    The faster has the shorter period, by ``behind_s``. Begun d later than the other it is held
    up by ``held_up`` (send_s - d), which pushes it back; both go on with one period where that
    equals ``behind_s`` (Adler's equation for bursts). With equal periods: d = send_s, interleaved.

    Returns
    -------
    float
        nan where nothing holds it: it drifts past.
    """
    apart = send_s - behind_s / held_up
    return apart if 0 <= apart <= send_s else float("nan")


def even_periods_s(compute_s: Sequence[float], send_s: Sequence[float]) -> FloatArray:
    """Mean time of an iteration of each of some jobs that share one link evenly, clocks apart.

    The set S of those that send has the weight |S|! times the product of c over S and of p over
    the others. For two jobs that is the isolated time and c_1 c_2 over the other's
    period: both lose the same part f_1 f_2 of their run time.

    Parameters
    ----------
    compute_s, send_s : sequence of float
        Means, of each job alone.
    """
    pairs = list(zip(compute_s, send_s, strict=True))

    def weigh(jobs: Sequence[tuple[float, float]]) -> float:
        of_size = np.array([1.0])  # products of c over sets of a size and of p over the others
        for p, c in jobs:
            of_size = np.append(of_size * p, 0) + np.append(0, of_size * c)
        return float(sum(factorial(m) * x for m, x in enumerate(of_size.tolist())))

    total = weigh(pairs)
    return np.array([total / weigh(pairs[:j] + pairs[j + 1 :]) for j in range(len(pairs))])


def one_link() -> pd.DataFrame:
    """Theory for equal jobs on one link: run time saved by isolation (%), by how they meet."""
    return pd.DataFrame(
        {
            "jobs": n,
            "share": f,
            "in_step_percent": 100 * (1 - 1 / (1 + (n - 1) * f)),
            "clocks_apart_percent": 100 * (1 - 1 / even_periods_s([1 - f] * n, [f] * n)[0]),
            "interleaved_percent": 100 * (1 - 1 / max(1.0, n * f)),
        }
        for n in (2, 3)
        for f in (0.1, 0.3, 0.5)
    )
