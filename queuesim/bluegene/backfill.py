"""Cobalt's backfilling on a partition menu: drains, then windows.

Not EASY. In a pass the jobs are tried in order. Each that cannot be placed *drains* the
partition of its size with the earliest free time: it and all that conflict with it are barred
for the rest of the pass. The first job that can be placed is started and the pass begins anew. If
none can, jobs are tried in order once more without bars, and the first whose walltime fits
into the window of an idle partition is started.

A partition's free time: if it is blocked, the last promised end of the running jobs that
block it, at least 5 minutes from now; if it is idle, the earliest free time of the blocked
partitions that it would hold up (now if there are none). Its window lasts until then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.bluegene.cobalt import Cobalt
from netsim.errors import NetcosimError
from queuesim.backfilling.backfill import Backfill

BUSY_AT_LEAST_S = 300.0
"""A busy partition is not expected to be free before this."""


class CobaltBackfill(Backfill):
    """Drains and windows; see the module's text."""

    name = "cobalt"
    description = "Blue Gene's Cobalt: blocked jobs drain a partition, others fill its window"

    def _set_up(self) -> None:
        machine = self.machine
        if not isinstance(machine.policy, Cobalt):
            raise NetcosimError(
                f"backfill 'cobalt' needs a partition menu; policy {machine.policy.name!r} has "
                "none: use cobalt, cobalt-sl, cobalt-pf or cobalt-combo"
            )
        self.policy: Cobalt = machine.policy
        classes = np.searchsorted(self.policy.tables.sizes, machine.n_nodes)
        self._class: list[int] = classes.tolist()

    def run_pass(self, now_s: float) -> None:
        while len(self.queue) and self._start_one(now_s):
            pass

    def free_times(self, now_s: float) -> NDArray[np.float64]:
        """Return each partition's free time (defined in the module's docstring)."""
        tables, idle = self.policy.tables, self.policy.idle
        free = np.full(len(idle), now_s)
        running = self.policy.running
        machine = self.machine
        jobs = list(machine.placements)
        if not jobs:
            return free
        where = [running[machine.placements[job].job_id] for job in jobs]
        ends = np.array([machine.promised_end[job] for job in jobs])
        last = np.where(tables.conflicts[where], ends[:, None], -np.inf).max(axis=0)
        blocked = np.flatnonzero(~idle)
        free[blocked] = np.maximum(last[blocked], now_s + BUSY_AT_LEAST_S)
        some = np.flatnonzero(idle)
        held_up = np.where(tables.harms[np.ix_(some, blocked)], free[blocked], np.inf).min(
            axis=1, initial=np.inf
        )
        free[some] = np.where(held_up < np.inf, held_up, now_s)
        return free

    def _start_one(self, now_s: float) -> bool:
        """Start a job (and its partner); return whether one could start."""
        idle, tables = self.policy.idle, self.policy.tables
        if not idle.any():
            self._note_blocked(now_s)
            return False
        waiting = self.queue.front(now_s)
        free = self.free_times(now_s)
        usable = idle.copy()
        failed: set[int] = set()
        for job in waiting:
            size = self._class[job]
            if size in failed:
                continue  # jobs of one size drain the same partition
            members = tables.classes[size]
            if usable[members].any():
                return self._start(job, usable, now_s)
            failed.add(size)
            drained = members[int(np.argmin(free[members]))]
            self.promise(job, float(free[drained]))
            usable &= ~tables.conflicts[drained]
            if len(failed) == len(tables.sizes) or not usable.any():
                break
        self._note_blocked(now_s)
        longest = [
            float(np.max(free[members], where=idle[members], initial=-np.inf))
            for members in tables.classes
        ]
        requested = self.machine.requested_s
        for job in waiting:
            end = now_s + requested[job]
            if end <= longest[self._class[job]]:
                return self._start(job, idle & (free >= end), now_s)
        return False

    def _start(self, job: int, usable: NDArray[np.bool_], now_s: float) -> bool:
        self.policy.only(usable)
        placement = self.machine.allocate(job, now_s)
        self.policy.only(None)
        assert placement is not None, "an idle partition of the job's size was found"
        self.begin(job, now_s)
        return True


PLUGIN = [CobaltBackfill]
