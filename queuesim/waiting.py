"""The waiting queue: its first few jobs at hand, the rest kept cheaply.

A scheduling pass looks at the head and a window behind it. With all jobs of a log
waiting at once, nothing here may cost time in proportion to the queue at each event;
only a dynamic order has to score every waiting job, once per pass that looks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from heapq import heappop, heappush

import numpy as np

from queuesim.orders import Order
from workloads.job import Workload


class WaitingQueue(ABC):
    """Waiting job indices in order, of which the first ``depth`` can be read."""

    changed: bool
    """Whether a job entered the readable front since this was last set to False."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def push(self, job: int) -> None:
        """A job has arrived."""

    @abstractmethod
    def front(self, now_s: float) -> list[int]:
        """The first ``depth`` jobs in order, as a new list."""

    @abstractmethod
    def head(self, now_s: float) -> int:
        """The first job; the queue must not be empty."""

    @abstractmethod
    def remove(self, job: int) -> None:
        """Take out a job of the front."""


class StaticQueue(WaitingQueue):
    """Fixed keys: a short sorted front, a heap behind it; O(log n) an operation."""

    def __init__(self, keys: list[float], depth: int) -> None:
        self._keys = keys
        self._depth = depth
        self._front: list[tuple[float, int]] = []
        self._rest: list[tuple[float, int]] = []
        self.changed = False

    def __len__(self) -> int:
        return len(self._front) + len(self._rest)

    def push(self, job: int) -> None:
        entry = (self._keys[job], job)
        front = self._front
        if len(front) < self._depth:
            insort(front, entry)
            self.changed = True
        elif entry < front[-1]:
            heappush(self._rest, front.pop())
            insort(front, entry)
            self.changed = True
        else:
            heappush(self._rest, entry)

    def front(self, now_s: float) -> list[int]:
        return [job for _, job in self._front]

    def head(self, now_s: float) -> int:
        return self._front[0][1]

    def remove(self, job: int) -> None:
        front = self._front
        del front[bisect_left(front, (self._keys[job], job))]
        if self._rest:
            front.append(heappop(self._rest))
            self.changed = True


class ScoredQueue(WaitingQueue):
    """Scores that change with time: partial sort of all waiting jobs, when read."""

    def __init__(self, order: Order, workload: Workload, depth: int) -> None:
        assert order.score is not None
        self._score = order.score
        self._workload = workload
        self._depth = depth
        self._jobs = np.empty(len(workload), dtype=np.int64)
        self._slot: dict[int, int] = {}
        self._sorted: list[int] = []
        self._sorted_at: float | None = None
        self.changed = True

    def __len__(self) -> int:
        return len(self._slot)

    def push(self, job: int) -> None:
        slot = len(self._slot)
        self._jobs[slot] = job
        self._slot[job] = slot
        self._sorted_at = None
        self.changed = True

    def front(self, now_s: float) -> list[int]:
        self._refresh(now_s, min(self._depth, len(self)))
        return self._sorted[: self._depth]

    def head(self, now_s: float) -> int:
        self._refresh(now_s, 1)
        return self._sorted[0]

    def remove(self, job: int) -> None:
        slot = self._slot.pop(job)
        last = len(self._slot)
        moved = int(self._jobs[last])
        if moved != job:
            self._jobs[slot] = moved
            self._slot[moved] = slot
        if self._sorted_at is not None:
            self._sorted.remove(job)
        # The order moves with time, so a queue that scores is always worth another look.
        self.changed = True

    def _refresh(self, now_s: float, needed: int) -> None:
        if self._sorted_at == now_s and len(self._sorted) >= needed:
            return
        n = len(self)
        jobs = self._jobs[:n]
        score = self._score(self._workload, jobs, now_s)
        # Twice the depth, so that a pass which starts many heads seldom sorts again.
        k = min(n, 2 * self._depth)
        if k < n:
            threshold = np.partition(score, n - k)[n - k]
            above = np.flatnonzero(score > threshold)
            tied = np.flatnonzero(score == threshold)
            tied = tied[np.argsort(jobs[tied])][: k - len(above)]
            chosen = np.concatenate([above, tied])
        else:
            chosen = np.arange(n)
        order = np.lexsort((jobs[chosen], -score[chosen]))
        self._sorted = [int(job) for job in jobs[chosen][order]]
        self._sorted_at = now_s


def make_queue(order: Order, workload: Workload, depth: int) -> WaitingQueue:
    """An empty waiting queue for this order whose first ``depth`` jobs can be read."""
    if order.static_key is not None:
        return StaticQueue(order.static_key(workload).tolist(), depth)
    return ScoredQueue(order, workload, depth)
