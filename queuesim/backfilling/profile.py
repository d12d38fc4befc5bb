"""Free nodes over future time, as a step function."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Profile:
    """Number of free nodes over time.

    Parameters
    ----------
    now_s : float
    n_free : int
        Free now.
    releases : iterable of (float, int)
        (time > now_s, nodes) given back, sorted by time.
    """

    def __init__(self, now_s: float, n_free: int, releases: Iterable[tuple[float, int]]) -> None:
        self.times = [now_s]
        self.free = [n_free]
        for end, n_nodes in releases:
            if end > self.times[-1]:
                self.times.append(end)
                self.free.append(self.free[-1] + n_nodes)
            else:
                self.free[-1] += n_nodes

    def earliest(self, n_nodes: int, duration_s: float, from_s: float) -> float:
        """The first time >= from_s from which n_nodes are free for duration_s; inf if never."""
        times, free = self.times, self.free
        k = max(0, bisect_right(times, from_s) - 1)
        start = max(from_s, times[k])
        while k < len(times):
            if free[k] < n_nodes:
                k += 1
                if k < len(times):
                    start = times[k]
                continue
            end = start + duration_s
            short = k + 1
            while short < len(times) and times[short] < end and free[short] >= n_nodes:
                short += 1
            if short == len(times) or times[short] >= end:
                return start
            k = short
        return float("inf")

    def take(self, n_nodes: int, start_s: float, duration_s: float) -> None:
        """Take n_nodes for ``[start_s, start_s + duration_s)``; negative gives them back."""
        first = self._split(start_s)
        last = self._split(start_s + duration_s)
        for k in range(first, last):
            self.free[k] -= n_nodes

    def next_change(self, after_s: float) -> float:
        """The first later time at which another number of nodes is free; inf if there is none."""
        times, free = self.times, self.free
        k = bisect_right(times, after_s)
        while k < len(times) and free[k] == free[k - 1]:
            k += 1
        return times[k] if k < len(times) else float("inf")

    def _split(self, time_s: float) -> int:
        """Return the index of the step that begins at time_s, made if it is not there."""
        k = bisect_left(self.times, time_s)
        if k == len(self.times) or self.times[k] != time_s:
            self.times.insert(k, time_s)
            self.free.insert(k, self.free[k - 1])
        return k
