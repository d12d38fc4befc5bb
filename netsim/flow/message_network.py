"""Jobs that share a network, message by message: the flow level of the queue loop.

A job repeats an iteration: its ranks go through steps; the messages of a step travel at once, and
a rank goes on when the longest of its step has arrived. Alone, a message takes as long as
the fullest link of its way needs for all that the job sends over it in that step. Among
others it is slowed in two ways:

- *Shares.* While a job uses a link it has what the others leave of it, or its fair share
  by links that feed it if that is more.
- *Waits.* A packet waits for the packets of others at each link of its way, as in an M/D/1
  queue, but never for more than one from each link that feeds it.

What others use is their mean use: bytes over the time that an iteration takes them now. So
all stretches hang together, and are iterated until none moves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_messages as kernels
from netsim.flow.message_load import MessageLoad

JobId = TypeVar("JobId", bound=Hashable)
FloatArray = NDArray[np.float64]

TOLERANCE = 0.015
"""Changes of a stretch below this part are not passed on."""
_MAX_TRIES = 200


class MessageNetwork(Generic[JobId]):
    """Running jobs on shared links, message by message.

    A job's stretch is the time of its iteration among the others over its time alone on the
    same nodes, both by this model. Jobs that share no link with anybody have exactly 1.0.

    Parameters
    ----------
    n_links : int
    tolerance : float
        Stretches are iterated until none moves by more than this part; a job whose
        stretch has moved less since it was last reported is not reported.

    Attributes
    ----------
    n_unsettled : int
        How often a job went to and fro until it was left where it was (after 200 tries).

    Notes
    -----
    A change works out again the jobs that share links with it, then theirs, as far as
    stretches move. So the result depends on the history, by about ``tolerance``.
    """

    def __init__(self, n_links: int, *, tolerance: float = TOLERANCE) -> None:
        if not 0 < tolerance < 1:
            raise NetcosimError(f"tolerance = {tolerance}; need 0 < tolerance < 1")
        slots, width = 16, 4
        self.tolerance = tolerance
        self.n_unsettled = 0
        self._n_links = n_links
        self._slot: dict[JobId, int] = {}
        self._ids: dict[int, JobId] = {}
        self._loads: dict[int, MessageLoad] = {}
        self._free = list(range(slots - 1, -1, -1))
        self._used = [0, 0, 0]
        self._b = kernels.Jobs(
            link_begin=np.zeros(slots, dtype=np.int64),
            link_end=np.zeros(slots, dtype=np.int64),
            int_begin=np.zeros(slots, dtype=np.int64),
            float_begin=np.zeros(slots, dtype=np.int64),
            link=np.empty(1024, dtype=np.int32),
            busy_s=np.empty(1024),
            inputs=np.empty(1024),
            packet_s=np.empty(1024),
            row_at=np.empty(1024, dtype=np.int32),
            slow=np.empty(1024),
            wait_s=np.empty(1024),
            ints=np.empty(4096, dtype=np.int32),
            floats=np.empty(4096),
            alone_s=np.zeros(slots),
            stretch=np.ones(slots),
            told=np.ones(slots),
            row_count=np.zeros(n_links, dtype=np.int32),
            row_job=np.empty((n_links, width), dtype=np.int32),
            row_place=np.empty((n_links, width), dtype=np.int32),
            row_values=np.empty((n_links, width, 3)),
            sums=np.zeros((n_links, 5)),
            hungriest=np.full(n_links, -1, dtype=np.int32),
        )
        self._w = _work(slots)

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._slot

    def change(
        self, add: Sequence[tuple[JobId, MessageLoad]], remove: Sequence[JobId]
    ) -> list[JobId]:
        """End and start several jobs at once.

        Returns
        -------
        list of job ids
            Jobs whose stretch changed by more than the tolerance.

        Raises
        ------
        NetcosimError
            A job that is there already, or not there, or named twice; then nothing has changed.
        """
        names = [job_id for job_id, _ in add]
        for k, job_id in enumerate(names):
            if job_id in self._slot or job_id in names[:k]:
                raise NetcosimError(f"job {job_id!r} is in the network already")
        leaving = np.array([self._find(job_id) for job_id in remove], dtype=np.int64)
        if len(np.unique(leaving)) < len(leaving):
            raise NetcosimError("a job is removed twice")
        while len(self._free) < len(add):
            self._more_slots()
        tail = int(kernels.leave(self._b, self._w, leaving, self.tolerance, 0))
        for job_id, slot in zip(remove, leaving.tolist(), strict=True):
            del self._slot[job_id], self._ids[slot], self._loads[slot]
        self._b.link_end[leaving] = self._b.link_begin[leaving]
        coming = [self._insert(job_id, load) for job_id, load in add]
        changed = self._solve(coming, tail)
        self._free += leaving.tolist()
        return changed

    def _solve(self, coming: list[int], tail: int) -> list[JobId]:
        """Work out the jobs in these slots and all that feel it: jobs whose stretch changed."""
        self.n_unsettled += kernels.solve(
            self._b,
            self._w,
            np.array(coming, dtype=np.int64),
            tail,
            self.tolerance,
            _MAX_TRIES,
        )
        self._w.tries[:] = 0
        moved = np.flatnonzero(self._w.touched)
        self._w.touched[moved] = False
        return [self._ids[slot] for slot in moved.tolist()]

    def load(self, job_id: JobId) -> MessageLoad:
        """What a job puts on the links, on the ways that it has now."""
        return self._loads[self._find(job_id)]

    def link_use(self) -> FloatArray:
        """(n_links,) share of the time for which jobs keep each link busy, as they are now."""
        return np.array(self._b.sums[:, kernels.USED])

    def others_busy_s(self, job_id: JobId) -> FloatArray:
        """How long the others keep each link busy while the job does an iteration as it is now.

        Returns
        -------
        (n_links,) float64
        """
        slot, b = self._find(job_id), self._b
        mine = slice(int(b.link_begin[slot]), int(b.link_end[slot]))
        time_s = float(b.alone_s[slot] * b.stretch[slot])
        others_s = b.sums[:, kernels.USED] * time_s
        others_s[b.link[mine]] -= b.busy_s[mine]
        # what is left of rounding is nobody's
        others_s[others_s < 1e-9 * time_s] = 0.0
        return others_s

    def reroute(
        self, job_ids: Sequence[JobId], load_among: Callable[[JobId, FloatArray], MessageLoad]
    ) -> list[JobId]:
        """Let jobs take other ways, one after the other; all stretches are worked out at the end.

        A job's time alone stays what it was when it started.

        Parameters
        ----------
        job_ids : sequence of job ids
        load_among : callable (job_id, others_busy_s) -> MessageLoad
            The job's messages on ways among the others (see `others_busy_s`).

        Returns
        -------
        list of job ids
            Jobs whose stretch changed by more than the tolerance.

        Raises
        ------
        NetcosimError
            A job that is not there.
        """
        slots, tail = [self._find(job_id) for job_id in job_ids], 0
        for job_id, slot in zip(job_ids, slots, strict=True):
            load = load_among(job_id, self.others_busy_s(job_id))
            old = self._b
            now = old.alone_s[slot], old.stretch[slot], old.told[slot]
            tail = int(kernels.leave(self._b, self._w, np.array([slot]), self.tolerance, tail))
            del self._loads[slot]
            self._b.link_end[slot] = self._b.link_begin[slot]
            self._place(slot, load)
            b = self._b
            b.alone_s[slot], b.stretch[slot], b.told[slot] = now
            mine = slice(int(b.link_begin[slot]), int(b.link_end[slot]))
            b.slow[mine], b.wait_s[mine] = 1.0, 0.0
            kernels.insert(b, slot)
        return self._solve(slots, tail)

    def stretch(self, job_id: JobId) -> float:
        """How much longer the job's communication takes than alone (>= 1), as last reported."""
        return float(self._b.told[self._find(job_id)])

    def alone_s(self, job_id: JobId) -> float:
        """Time of an iteration alone on the same nodes."""
        return float(self._b.alone_s[self._find(job_id)])

    def _find(self, job_id: JobId) -> int:
        try:
            return self._slot[job_id]
        except KeyError:
            raise NetcosimError(f"job {job_id!r} is not in the network") from None

    def _insert(self, job_id: JobId, load: MessageLoad) -> int:
        slot = self._free.pop()
        self._slot[job_id], self._ids[slot] = slot, job_id
        self._place(slot, load)
        kernels.settle_alone(self._b, slot)
        kernels.insert(self._b, slot)
        return slot

    def _place(self, slot: int, load: MessageLoad) -> None:
        """Put a job into the pools, and make room in the rows of its links."""
        need = (len(load.links), len(load.ints), len(load.floats))
        self._reserve(need)
        self._loads[slot] = load
        self._write(slot, load)
        b = self._b
        if need[0] and int(b.row_count[load.links].max()) == b.row_job.shape[1]:
            self._b = b._replace(
                row_job=np.concatenate([b.row_job, b.row_job], axis=1),
                row_place=np.concatenate([b.row_place, b.row_place], axis=1),
                row_values=np.concatenate([b.row_values, b.row_values], axis=1),
            )

    def _write(self, slot: int, load: MessageLoad) -> None:
        """Put a job at the end of the pools."""
        b, (at, ints, floats) = self._b, self._used
        end = at + len(load.links)
        b.link_begin[slot], b.link_end[slot] = at, end
        b.int_begin[slot], b.float_begin[slot] = ints, floats
        b.link[at:end], b.busy_s[at:end] = load.links, load.busy_s
        b.inputs[at:end], b.packet_s[at:end] = load.inputs, load.packet_s
        b.ints[ints : ints + len(load.ints)] = load.ints
        b.floats[floats : floats + len(load.floats)] = load.floats
        self._used = [end, ints + len(load.ints), floats + len(load.floats)]

    def _reserve(self, need: tuple[int, int, int]) -> None:
        """Make room at the ends of the pools: write all jobs anew, into larger pools if need be."""
        b = self._b
        have = (len(b.link), len(b.ints), len(b.floats))
        if all(u + n <= h for u, n, h in zip(self._used, need, have, strict=True)):
            return
        live = [0, 0, 0]
        for load in self._loads.values():
            for k, n in enumerate((len(load.links), len(load.ints), len(load.floats))):
                live[k] += n
        size = [max(h, 2 * (u + n)) for h, u, n in zip(have, live, need, strict=True)]
        places = {
            slot: b.row_at[b.link_begin[slot] : b.link_end[slot]].copy() for slot in self._loads
        }
        self._b = b._replace(
            link=np.empty(size[0], dtype=np.int32),
            busy_s=np.empty(size[0]),
            inputs=np.empty(size[0]),
            packet_s=np.empty(size[0]),
            row_at=np.empty(size[0], dtype=np.int32),
            slow=np.ones(size[0]),
            wait_s=np.empty(size[0]),
            ints=np.empty(size[1], dtype=np.int32),
            floats=np.empty(size[2]),
        )
        self._used = [0, 0, 0]
        for slot, load in self._loads.items():
            self._write(slot, load)
            self._b.row_at[self._b.link_begin[slot] : self._b.link_end[slot]] = places[slot]

    def _more_slots(self) -> None:
        b, old = self._b, len(self._b.stretch)
        self._b = b._replace(
            link_begin=np.concatenate([b.link_begin, np.zeros_like(b.link_begin)]),
            link_end=np.concatenate([b.link_end, np.zeros_like(b.link_end)]),
            int_begin=np.concatenate([b.int_begin, np.zeros_like(b.int_begin)]),
            float_begin=np.concatenate([b.float_begin, np.zeros_like(b.float_begin)]),
            alone_s=np.concatenate([b.alone_s, np.zeros_like(b.alone_s)]),
            stretch=np.concatenate([b.stretch, np.ones_like(b.stretch)]),
            told=np.concatenate([b.told, np.ones_like(b.told)]),
        )
        self._free += range(2 * old - 1, old - 1, -1)
        work = _work(2 * old)
        work.unrest[:old] = self._w.unrest
        self._w = work


def _work(slots: int) -> kernels.Work:
    return kernels.Work(
        queue=np.empty(slots + 1, dtype=np.int32),
        queued=np.zeros(slots, dtype=np.bool_),
        touched=np.zeros(slots, dtype=np.bool_),
        tries=np.zeros(slots, dtype=np.int32),
        unrest=np.zeros(slots),
        effect=np.full(slots, -1.0),
        felt=np.empty(slots, dtype=np.int32),
    )
