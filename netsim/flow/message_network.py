"""Jobs that share a network, message by message: the flow level of the queue loop.

A job repeats an iteration: its ranks compute and go through steps; the messages of a step travel
at once, and a rank posts the next step when all messages that it needs have arrived. In isolation,
a message takes as long as the fullest link of its path needs for all that the job sends over it in
that step. Among others it is slowed by two effects:

- *Shares.* A link is shared with those of the others that hold it at the time.
- *Waits.* A packet waits for the packets of others at each link of its path, and for the trains
  that queue there, but never for more than the buffers of the links that feed it.

Jobs communicate for a share of their time, and meet in other phases in each iteration. How long
they communicate depends on the time that an iteration takes them now, so all stretches depend on
each other, and are iterated until none moves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_messages as kernels
from netsim.flow.kernels_message_times import SETS, Run, record_size
from netsim.flow.kernels_shares import COLUMNS, Contention, LinkRows
from netsim.flow.message_load import MessageLoad

JobId = TypeVar("JobId", bound=Hashable)
FloatArray = NDArray[np.float64]

TOLERANCE = 0.015
"""Changes of a stretch below this part are not passed on."""
LEAST_SEEN = 1e-3
"""No job avoids a link that others keep busy for less of the time."""
_MAX_TRIES = 40
_Size = tuple[int, int, int]
"""Links, integers and floats of loads."""
_ROOM: _Size = (1024, 4096, 4096)
_SLOTS, _WIDTH = 16, 4
"""Jobs, and jobs on a link, at first; all of it grows, and no result depends on it."""


class MessageNetwork(Generic[JobId]):
    """Running jobs on shared links, message by message.

    A job's stretch is the time of its iteration among the others over its isolated time on the
    same nodes, both by this model. Jobs that share no link with another job have exactly 1.0.

    Parameters
    ----------
    tolerance : float
        Stretches are iterated until none moves by more than this part; a job whose
        stretch has moved less since it was last reported is not reported.

    Attributes
    ----------
    n_unsettled : int
        How often a job went to and fro until it was left where it was (after 40 tries).

    Notes
    -----
    A change recomputes the jobs that share links with it, then their neighbours, as far as
    stretches move. So the result depends on the history, by about ``tolerance``.
    """

    def __init__(self, n_links: int, *, tolerance: float = TOLERANCE) -> None:
        if not 0 < tolerance < 1:
            raise NetcosimError(f"tolerance = {tolerance}; need 0 < tolerance < 1")
        self.tolerance = tolerance
        self.n_unsettled = 0
        self._slot: dict[JobId, int] = {}
        self._ids: dict[int, JobId] = {}
        self._loads: dict[int, MessageLoad] = {}
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._room = _ROOM
        self._used: _Size = (0, 0, 0)
        self._jobs, self._rows = _jobs(_SLOTS, _ROOM), _rows(n_links, _WIDTH)
        self._work, self._run = _work(_SLOTS), _run((1, 1, 1))
        self._contention = _contention(_SLOTS, 1)
        self._n_started = 0

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._slot

    def change(
        self,
        add: Sequence[tuple[JobId, MessageLoad]],
        remove: Sequence[JobId],
        *,
        fractions: Sequence[float] | None = None,
    ) -> list[JobId]:
        """End and start several jobs at once; return those whose stretch changed by more than the
        tolerance.

        The jobs that start communicate for ``fractions`` of their isolated time, above 0; without
        them all the time.
        """
        shares = [1.0] * len(add) if fractions is None else list(fractions)
        if len(shares) != len(add) or not all(0 < share <= 1 for share in shares):
            raise NetcosimError(f"fractions = {shares}; need one above 0 and at most 1 a job added")
        names = [job_id for job_id, _ in add]
        for k, job_id in enumerate(names):
            if job_id in self._slot or job_id in names[:k]:
                raise NetcosimError(f"job {job_id!r} is in the network already")
        leaving = [self._find(job_id) for job_id in remove]
        if len(set(leaving)) < len(leaving):
            raise NetcosimError("a job is removed twice")
        while len(self._free) < len(add):
            self._more_slots()
        tail = self._leave(leaving, felt=True)
        for job_id, slot in zip(remove, leaving, strict=True):
            del self._slot[job_id], self._ids[slot]
        coming = [self._free.pop() for _ in add]
        for slot, (job_id, load), share in zip(coming, add, shares, strict=True):
            self._slot[job_id], self._ids[slot] = slot, job_id
            self._jobs.pause[slot] = (1.0 - share) / share
            self._jobs.key[slot] = self._n_started
            self._n_started += 1
            self._enter(slot, load)
        loads = [(load.links, load.busy_s) for _, load in add]
        changed = self._solve(coming, loads, tail)
        self._free += leaving
        return changed

    def _solve(
        self, slots: list[int], changes: list[tuple[NDArray[np.int32], FloatArray]], tail: int = 0
    ) -> list[JobId]:
        """Solve for the jobs in these slots and those they affect; return the jobs that changed.

        By slot ``changes`` has the links that a job keeps busy for more or fewer seconds than
        before.
        """
        work, jobs = self._work, self._jobs
        ptr = np.cumsum([0, *(len(links) for links, _ in changes)])
        links = np.concatenate([np.empty(0, np.int32), *(links for links, _ in changes)])
        busy_s = np.concatenate([np.empty(0), *(busy_s for _, busy_s in changes)])
        self.n_unsettled += kernels.solve(
            *(jobs, self._rows, work, self._run, self._contention),
            *((np.array(slots, dtype=np.int64), ptr, links, busy_s), tail),
            *(self.tolerance, _MAX_TRIES),
        )
        work.tries[:] = 0
        moved = np.flatnonzero(work.touched)
        work.touched[moved] = False
        return [self._ids[slot] for slot in moved.tolist()]

    def load(self, job_id: JobId) -> MessageLoad:
        """Return the load of a job on its current paths."""
        return self._loads[self._find(job_id)]

    def link_use(self) -> FloatArray:
        """Return the share of time that the current jobs keep each link busy, (n_links,)."""
        return np.array(self._rows.used)

    def others_busy_s(self, job_id: JobId) -> FloatArray:
        """Return how long other jobs keep each link busy during one present iteration of the job,
        (n_links,)."""
        slot, jobs = self._find(job_id), self._jobs
        stretch = float(jobs.stretch[slot])
        time_s = float(jobs.alone_s[slot]) * stretch
        load = self._loads[slot]
        others_s = self._rows.used * time_s
        others_s[load.links] -= load.busy_s * time_s / (float(jobs.compute_s[slot]) + time_s)
        # among them the remaining rounding error
        others_s[others_s < LEAST_SEEN * time_s] = 0.0
        return others_s

    def reroute(
        self, job_ids: Sequence[JobId], load_among: Callable[[JobId, FloatArray], MessageLoad]
    ) -> list[JobId]:
        """Reroute jobs, one after the other; all stretches are recomputed at the end. Returns the
        jobs whose stretch changed by more than the tolerance.

        A job's isolated time remains that at its start. ``load_among(job_id, others_busy_s)`` gives
        its messages on paths among the others.
        """
        slots, changes = [], []
        for job_id in job_ids:
            slot = self._find(job_id)
            old, load = self._loads[slot], load_among(job_id, self.others_busy_s(job_id))
            if any(not np.array_equal(getattr(old, x), getattr(load, x)) for x in load._fields):
                self._leave([slot], felt=False)
                self._enter(slot, load, settled=True)
                slots.append(slot)
                changes.append(difference(old, load))
        return self._solve(slots, changes)

    def stretch(self, job_id: JobId) -> float:
        """Return the last reported stretch of the job's communication (>= 1)."""
        return float(self._jobs.reported[self._find(job_id)])

    def alone_s(self, job_id: JobId) -> float:
        """Return the time of an isolated iteration on the same nodes."""
        return float(self._jobs.alone_s[self._find(job_id)])

    def _find(self, job_id: JobId) -> int:
        try:
            return self._slot[job_id]
        except KeyError:
            raise NetcosimError(f"job {job_id!r} is not in the network") from None

    def _leave(self, slots: list[int], *, felt: bool) -> int:
        """Remove jobs from their links; return the tail of the queue of those that feel it."""
        if not slots:
            return 0
        leaving = np.array(slots, dtype=np.int64)
        tail: int = kernels.leave(
            self._jobs, self._rows, self._work, leaving, felt, self.tolerance, 0
        )
        for slot in slots:
            del self._loads[slot]
        return tail

    def _enter(self, slot: int, load: MessageLoad, *, settled: bool = False) -> None:
        """Put a job on its links, after making room."""
        need = _size(load)
        self._reserve(need, load)
        rows, jobs = self._rows, self._jobs
        if len(load.links) and int(rows.n_jobs[load.links].max()) == rows.job.shape[1]:
            self._widen()
        jobs.int_begin[slot], jobs.float_begin[slot] = record_size(*self._used)
        self._used = _sum(self._used, need)
        self._loads[slot] = load
        kernels.enter(jobs, self._rows, self._run, self._contention, slot, load, settled)

    def _widen(self) -> None:
        """Make room in the rows of the links."""
        rows = self._rows
        wider = {
            name: np.concatenate([getattr(rows, name)] * 2, axis=-1)
            for name in ("job", "place", "column")
        }
        self._rows = rows._replace(**wider)

    def _reserve(self, need: _Size, load: MessageLoad) -> None:
        """Make room at the ends of the pools: move all jobs, into larger pools if need be."""
        ranks, steps, messages = load.ints[:3].tolist()
        run, c = self._run, self._contention
        room = len(run.ready), len(run.gate), len(run.took) // SETS
        if any(n > h for n, h in zip((ranks, steps, messages), room, strict=True)):
            ranks, steps, messages = map(max, (2 * ranks, 2 * steps, 2 * messages), room)
            self._run = _run((ranks, steps, messages))
        if need[0] > len(c.slow):
            self._contention = _contention(len(c.number), 2 * need[0])
        if all(u + n <= h for u, n, h in zip(self._used, need, self._room, strict=True)):
            return
        sizes = {slot: _size(load) for slot, load in self._loads.items()}
        live = [sum(column) for column in zip(need, *sizes.values(), strict=True)]
        links, ints, floats = (max(h, 2 * n) for h, n in zip(self._room, live, strict=True))
        self._room, self._used = (links, ints, floats), (0, 0, 0)
        old, new = self._jobs, self._jobs._replace(**_pools(self._room))
        for slot, size in sizes.items():
            at = record_size(*self._used)
            was = int(old.int_begin[slot]), int(old.float_begin[slot])
            n_ints, n_floats = record_size(*size)
            new.ints[at[0] : at[0] + n_ints] = old.ints[was[0] : was[0] + n_ints]
            new.floats[at[1] : at[1] + n_floats] = old.floats[was[1] : was[1] + n_floats]
            new.int_begin[slot], new.float_begin[slot] = at
            self._used = _sum(self._used, size)
        self._jobs = new

    def _more_slots(self) -> None:
        jobs, old = self._jobs, len(self._jobs.stretch)
        more = _jobs(old, (0, 0, 0))._asdict()
        grown = {
            name: np.concatenate([values, more[name]])
            for name, values in jobs._asdict().items()
            if name not in ("ints", "floats")
        }
        work = _work(2 * old)
        work.unrest[:old] = self._work.unrest
        self._jobs, self._work = jobs._replace(**grown), work
        self._contention = _contention(2 * old, len(self._contention.slow))
        # below those that are free: a network with more slots from the start gives out the same
        self._free = [*range(2 * old - 1, old - 1, -1), *self._free]


def difference(old: MessageLoad, new: MessageLoad) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the links of two loads of a job, and for how many seconds only one is there."""
    links, place = np.unique(np.concatenate([old.links, new.links]), return_inverse=True)
    more_s = np.bincount(place, np.concatenate([-old.busy_s, new.busy_s]), len(links))
    return links, np.abs(more_s)


def _size(load: MessageLoad) -> _Size:
    return len(load.links), len(load.ints), len(load.floats)


def _sum(a: _Size, b: _Size) -> _Size:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _pools(room: _Size) -> dict[str, NDArray[Any]]:
    """Return memory pools, integers and floats, for the records of loads of at most this size."""
    ints, floats = record_size(*room)
    return {"ints": np.empty(ints, dtype=np.uint32), "floats": np.empty(floats)}


def _rows(n_links: int, width: int) -> LinkRows:
    return LinkRows(
        n_jobs=np.zeros(n_links, dtype=np.int32),
        job=np.empty((n_links, width), dtype=np.uint32),
        place=np.empty((n_links, width), dtype=np.uint32),
        column=np.empty((n_links, COLUMNS, width)),
        used=np.zeros(n_links),
        inputs=np.zeros(n_links),
    )


def _run(room: tuple[int, int, int]) -> Run:
    """Return scratch space for so many streams, steps and messages."""
    ranks, steps, messages = room
    ready, port, after = np.empty((3, max(1, ranks)))
    posted, gate = np.empty((2, max(1, steps)))
    took, serve = np.empty((2, max(1, messages) * SETS))
    done, hold = np.empty(max(1, messages)), np.empty(max(1, steps) * SETS)
    stream = np.empty(max(1, steps), dtype=np.int64)
    return Run(took, serve, done, hold, posted, gate, ready, port, after, stream)


def _contention(slots: int, n_links: int) -> Contention:
    slow, wait_s, met = np.empty((3, n_links, SETS))
    return Contention(
        slow=slow,
        wait_s=wait_s,
        met=met,
        present=np.empty((slots, SETS)),
        span_s=np.empty(slots),
        rest=np.empty(slots),
        train=np.empty(slots),
        shared=np.empty(slots),
        turn=np.empty(SETS),
        who=np.empty(slots, dtype=np.uint32),
        number=np.full(slots, -1, dtype=np.int32),
    )


def _jobs(slots: int, room: _Size) -> kernels.Jobs:
    return kernels.Jobs(
        n_links=np.zeros(slots, dtype=np.int64),
        int_begin=np.zeros(slots, dtype=np.int64),
        float_begin=np.zeros(slots, dtype=np.int64),
        alone_s=np.zeros(slots),
        compute_s=np.zeros(slots),
        span_s=np.zeros(slots),
        train=np.ones(slots),
        meets=np.zeros(slots),
        felt=np.ones(slots),
        key=np.zeros(slots, dtype=np.int64),
        pause=np.zeros(slots),
        stretch=np.ones(slots),
        reported=np.ones(slots),
        **_pools(room),
    )


def _work(slots: int) -> kernels.Work:
    return kernels.Work(
        queue=np.empty(slots + 1, dtype=np.uint32),
        queued=np.zeros(slots, dtype=np.bool_),
        touched=np.zeros(slots, dtype=np.bool_),
        tries=np.zeros(slots, dtype=np.int32),
        unrest=np.zeros(slots),
        effect=np.full(slots, -1.0),
        felt=np.empty(slots, dtype=np.uint32),
    )
