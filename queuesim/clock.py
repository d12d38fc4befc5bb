"""The clock of a queue: calls on SimPy's events, by time, then as they were planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nextafter

import simpy


class Clock:
    """Planned calls, and the time of the last one made.

    A call is all that an event has: with a process for each, SimPy would take more than half as
    long again.
    """

    def __init__(self, now_s: float) -> None:
        self._env = simpy.Environment(initial_time=now_s)

    @property
    def now_s(self) -> float:
        """The time of the last call."""
        return self._env.now

    @property
    def next_s(self) -> float:
        """The time of the next call; inf if none is planned."""
        return self._env.peek()

    def after(self, delay_s: float, call: Callable[[], None]) -> None:
        """Plan a call."""
        simpy.Timeout(self._env, delay_s).callbacks.append(lambda _: call())

    def at(self, time_s: float, call: Callable[[], None]) -> None:
        """Plan a call at a time that is not before now."""
        self.after(delay(self.now_s, time_s), call)

    def follow(self, times: Iterator[float]) -> None:
        """Advance an iterator now, and at each time that it yields."""
        time_s = next(times, None)
        if time_s is not None:
            self.at(time_s, partial(self.follow, times))

    def step(self) -> None:
        """Go to the next call and make it."""
        self._env.step()


def delay(now_s: float, time_s: float) -> float:
    """Return a delay that brings the clock to time_s, never a rounding step before it."""
    delay = time_s - now_s
    while now_s + delay < time_s:
        delay = nextafter(delay, inf)
    return delay
