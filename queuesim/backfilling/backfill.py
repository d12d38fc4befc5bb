"""Backfilling: which waiting jobs may start before the head of the queue.

Every method is a `Backfill`: one scheduling pass over the waiting queue and the machine,
run after all arrivals and finishes of an instant. This file has the interface, strict
order; the methods with reservations have files of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.topologies.checks import need_int
from queuesim.machine import Machine, NodeReservation
from queuesim.waiting import WaitingQueue
from workloads.job import Workload

Start = Callable[[int], None]
"""Called with the index of each job that has just been placed."""


class Backfill(AbstractContextManager["Backfill"], ABC):
    """A method of starting waiting jobs; a run is inside of its context.

    ``queue`` reads ``depth(window)`` jobs deep: a pass looks at so many jobs behind the head (None:
    all). ``start`` is called with each started job, in order.
    """

    registered_in: ClassVar[str] = "queuesim.registry:BACKFILLS"

    name: str
    description: str
    windowed: ClassVar[bool] = True
    """Whether it considers jobs behind the head, at most ``window`` of them."""

    def __init__(
        self, machine: Machine, queue: WaitingQueue, window: int | None, start: Start
    ) -> None:
        self.machine = machine
        self.queue = queue
        self.window = window
        self.start = start
        self.promised_s: dict[int, float] = {}
        """First reserved start of each job that ever had a reservation."""
        self.first_blocked_s: float | None = None
        """First instant after 0 at which the head of the queue could not be placed."""
        self.until_s = inf
        """There is a pass then, even if nothing happens."""
        self.link_use: Callable[[], NDArray[np.float64] | None] = lambda: None
        """`queuesim.runtime.RunTimes.link_use` of the run."""
        self._set_up()

    def _set_up(self) -> None:
        """Prepare what a method keeps between passes."""
        return

    def enters_s(self, workload: Workload) -> NDArray[np.float64]:
        """Return when each job enters the waiting queue: its submit time, (n,)."""
        return np.asarray(workload.submit_s, dtype=np.float64)

    def push(self, job: int, now_s: float) -> None:
        """Add a job to the waiting queue."""
        self.queue.push(job)

    def ended(self, job: int, now_s: float) -> None:
        """Note that a job ends; the machine still has its placement."""
        return

    def __exit__(self, *error: object) -> None:
        return

    @abstractmethod
    def run_pass(self, now_s: float) -> None:
        """Start every job that may start now."""

    def start_heads(self, now_s: float) -> int | None:
        """Start jobs in strict order; the first that cannot be placed, or None."""
        queue, machine = self.queue, self.machine
        while len(queue):
            if machine.n_free == 0:
                # Nothing can start: the first job need not be found.
                self._note_blocked(now_s)
                return None
            job = queue.head(now_s)
            if machine.allocate(job, now_s) is None:
                self._note_blocked(now_s)
                return job
            self.begin(job, now_s)
        return None

    def promise(self, job: int, start_s: float) -> None:
        """Record a job's first reserved start; inf is none: it waits for a job without a limit."""
        if start_s < inf:
            self.promised_s.setdefault(job, start_s)

    def held_for(self, job: int) -> Sequence[NodeReservation]:
        """Return the reservations that a job keeps clear of as a head of the queue."""
        return ()

    def start_head(self, job: int, now_s: float) -> bool:
        """Start a waiting job before the pass, if it can be placed, and invalidate reservations."""
        if self.machine.allocate(job, now_s) is None:
            return False
        self.machine.forecast_broken = True
        self.begin(job, now_s)
        return True

    def begin(self, job: int, now_s: float) -> None:
        """Remove a placed job, and its partner, from the queue.

        Policies that pair jobs may start a second one here.
        """
        self.queue.remove(job)
        self.start(job)
        if self.machine.policy.pairs and len(self.queue):
            partner = self.machine.fill_partner(job, self.queue.front(now_s), now_s)
            if partner is not None:
                self.queue.remove(partner)
                self.start(partner)

    def _note_blocked(self, now_s: float) -> None:
        if self.first_blocked_s is None and now_s > 0:
            self.first_blocked_s = now_s


class NoBackfill(Backfill):
    """Strict order: no job overtakes the head."""

    name = "none"
    description = "strict order: no job starts before the head of the queue"
    windowed = False

    def run_pass(self, now_s: float) -> None:
        self.start_heads(now_s)


def check_window(window: int | None, name: str = "window") -> None:
    """Raise `NetcosimError` unless the window is None (for all) or a whole number >= 0."""
    if window is not None:
        need_int("backfilling", name, window, 0)
