"""The clock of a queue: planned calls, by time, then as they were planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from math import inf, nextafter


class Clock:
    """Planned calls, and the time of the last one made."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._n_planned = 0

    @property
    def next_s(self) -> float:
        """The time of the next call; inf if none is planned."""
        return self._calls[0][0] if self._calls else inf

    def after(self, delay_s: float, call: Callable[[], None]) -> None:
        """Plan a call."""
        heappush(self._calls, (self.now_s + delay_s, self._n_planned, call))
        self._n_planned += 1

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
        self.now_s, _, call = heappop(self._calls)
        call()


def delay(now_s: float, time_s: float) -> float:
    """Return a delay that brings the clock to time_s, never a rounding step before it."""
    delay = time_s - now_s
    while now_s + delay < time_s:
        delay = nextafter(delay, inf)
    return delay
