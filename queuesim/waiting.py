"""The waiting queue: its head, its window, and the jobs behind the head that may be able to start.

A scheduling pass looks at the head and a window behind it, by default at all waiting jobs. With
all jobs of a log waiting at once, nothing here may cost a Python step for each of them at each
event: `WaitingQueue.candidates` filters jobs that cannot start, by array operations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from queuesim.ordering.orders import Order, bound, with_checks
from workloads.job import Workload

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]

FIRST_CHUNK, LARGEST_CHUNK = 64, 8192
"""Jobs looked at together: few at first, since a search mostly ends early."""


class WaitingQueue(ABC):
    """Waiting job indices in order, of which the first ``depth`` >= 1 can be read.

    Jobs of one ``kind`` (n,) are alike to the machine: an index into ``latest_end_s`` of
    `candidates`. None: all are.
    """

    changed: bool
    """Whether a job entered the readable front since this was last set to False."""

    def __init__(self, workload: Workload, depth: int, kind: IndexArray | None) -> None:
        self._depth = depth
        self._kind = np.zeros(len(workload), dtype=np.int64) if kind is None else kind
        self._requested = np.array(workload.requested_s, dtype=np.float64)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def holds(self, job: int) -> bool:
        """Return whether a job waits."""

    @abstractmethod
    def push(self, job: int) -> None:
        """Add a job that has arrived."""

    @abstractmethod
    def front(self, now_s: float) -> list[int]:
        """Return the first ``depth`` jobs in order, as a new list."""

    @abstractmethod
    def head(self, now_s: float) -> int:
        """Return the first job; the queue must not be empty."""

    @abstractmethod
    def remove(self, job: int) -> None:
        """Take out a job of the front."""

    def set_walltime(self, job: int, requested_s: float) -> None:
        """Set the walltime of a job that does not wait."""
        self._requested[job] = requested_s

    def started(self, job: int, now_s: float) -> None:
        """Record a start, for orders that depend on usage."""
        return

    def ended(self, job: int, now_s: float) -> None:
        """Record the end of a job."""
        return

    def few_behind(self, now_s: float) -> list[int] | None:
        """Return all jobs behind the head within the front, in order; None if arrays are faster."""
        return None

    @abstractmethod
    def candidates(self, now_s: float, latest_end_s: FloatArray) -> Iterator[int]:
        """Return the jobs behind the head within the front, in order, that would end early enough.

        ``latest_end_s`` has the latest end, by requested walltime, of each kind of job. The caller
        may change it, and `remove` the job it was just given, between two jobs.
        """


class StaticQueue(WaitingQueue):
    """Fixed keys: the rank of every job of the log is known beforehand."""

    def __init__(
        self, keys: FloatArray, workload: Workload, depth: int, kind: IndexArray | None = None
    ) -> None:
        super().__init__(workload, depth, kind)
        by_rank = np.argsort(keys, kind="stable")
        rank = np.empty(len(by_rank), dtype=np.int64)
        rank[by_rank] = np.arange(len(by_rank))
        self._job: list[int] = by_rank.tolist()
        self._rank: list[int] = rank.tolist()
        self._kind = self._kind[by_rank]
        # nan where no job waits: comparisons with it are false
        self._waiting_requested = np.full(len(by_rank), np.nan)
        self._waits = bytearray(len(by_rank))
        self._n = 0
        self._first = 0
        self._end = 0
        self._last: int | None = None
        self.changed = False

    def __len__(self) -> int:
        return self._n

    def holds(self, job: int) -> bool:
        return 0 <= job < len(self._rank) and bool(self._waits[self._rank[job]])

    def push(self, job: int) -> None:
        rank = self._rank[job]
        last = self._last_rank() if self._n >= self._depth else None
        self._waits[rank] = 1
        if last is None:
            self.changed = True
            self._last = None
        elif rank < last:
            self.changed = True
            # the front's last job is behind it now
            self._last = self._waits.rfind(1, rank, last)
        self._waiting_requested[rank] = self._requested[job]
        self._first = min(self._first, rank) if self._n else rank
        self._end = max(self._end, rank + 1) if self._n else rank + 1
        self._n += 1

    def remove(self, job: int) -> None:
        rank = self._rank[job]
        self._waits[rank] = 0
        self._waiting_requested[rank] = np.nan
        self._n -= 1
        if self._last is not None:
            # the first job behind the front moves up, if there is one
            self._last = self._waits.find(1, self._last + 1) if self._n >= self._depth else None
        if rank == self._first and self._n:
            self._first = self._waits.find(1, rank)
        if self._n >= self._depth:
            self.changed = True

    def front(self, now_s: float) -> list[int]:
        waits, job, rank, found = self._waits, self._job, self._first, []
        for _ in range(min(self._n, self._depth)):
            found.append(job[rank])
            rank = waits.find(1, rank + 1)
        return found

    def head(self, now_s: float) -> int:
        return self._job[self._first]

    def few_behind(self, now_s: float) -> list[int] | None:
        return self.front(now_s)[1:] if min(self._n, self._depth) <= FIRST_CHUNK else None

    def candidates(self, now_s: float, latest_end_s: FloatArray) -> Iterator[int]:
        requested, kind, job = self._waiting_requested, self._kind, self._job
        begin = self._first + 1
        stop = self._end if self._n <= self._depth else self._last_rank() + 1
        chunk = FIRST_CHUNK
        while begin < stop:
            end = min(begin + chunk, stop)
            early = now_s + requested[begin:end] <= latest_end_s[kind[begin:end]]
            k = int(early.argmax())
            if early[k]:
                yield job[begin + k]
                begin, chunk = begin + k + 1, FIRST_CHUNK
            else:
                begin, chunk = end, min(8 * chunk, LARGEST_CHUNK)

    def _last_rank(self) -> int:
        """Return the rank of the last job of a full front."""
        if self._last is None:
            self._last = next(islice(self._ranks(), self._depth - 1, None))
        return self._last

    def _ranks(self) -> Iterator[int]:
        waits, rank = self._waits, self._first
        for _ in range(self._n):
            yield rank
            rank = waits.find(1, rank + 1)


class ScoredQueue(WaitingQueue):
    """Scores that change with time: partial sort of all waiting jobs, when read."""

    def __init__(
        self, order: Order, workload: Workload, depth: int, kind: IndexArray | None = None
    ) -> None:
        super().__init__(workload, depth, kind)
        self._scores = bound(order, workload)
        self._jobs = np.empty(len(workload), dtype=np.int64)
        self._slot: dict[int, int] = {}
        self._sorted: list[int] = []
        self._sorted_at: float | None = None
        self.changed = True

    def started(self, job: int, now_s: float) -> None:
        self._scores.started(job, now_s)

    def ended(self, job: int, now_s: float) -> None:
        self._scores.ended(job, now_s)

    def __len__(self) -> int:
        return len(self._slot)

    def holds(self, job: int) -> bool:
        return job in self._slot

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
        if self._sorted_at is not None and job in self._sorted:
            self._sorted.remove(job)
        # The order moves with time, so a queue that scores is always checked again.
        self.changed = True

    def candidates(self, now_s: float, latest_end_s: FloatArray) -> Iterator[int]:
        last = self.head(now_s)
        if len(self) > self._depth:
            jobs = np.sort(self.front(now_s))
        else:
            jobs = np.sort(self._jobs[: len(self)])
        score = self._scores.score(jobs, now_s)
        ends, kind = now_s + self._requested[jobs], self._kind[jobs]
        k = int(np.flatnonzero(jobs == last)[0])
        while True:
            behind = (score < score[k]) | ((score == score[k]) & (jobs > last))
            able = np.flatnonzero(behind & (ends <= latest_end_s[kind]))
            if not len(able):
                return
            k = int(able[score[able].argmax()])
            last = int(jobs[k])
            yield last

    def _refresh(self, now_s: float, needed: int) -> None:
        if self._sorted_at == now_s and len(self._sorted) >= needed:
            return
        n = len(self)
        jobs = self._jobs[:n]
        score = self._scores.score(jobs, now_s)
        # More than needed, so that a pass which starts many heads seldom sorts again.
        k = min(n, max(2 * needed, FIRST_CHUNK))
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


def make_queue(
    order: Order, workload: Workload, depth: int, kind: IndexArray | None = None
) -> WaitingQueue:
    """Return an empty waiting queue for this order whose first ``depth`` jobs can be read."""
    order = with_checks(order)
    if order.static_key is not None:
        return StaticQueue(order.static_key(workload), workload, depth, kind)
    return ScoredQueue(order, workload, depth, kind)
