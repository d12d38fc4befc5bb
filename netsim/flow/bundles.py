"""Jobs that share a network, each one bundle of flows: the fluid limit, of no message size.

The queue's flow level follows messages (`netsim.flow.message_network`); this is what is left of
contention when they are long, exact and without any parameter.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_bundles as kernels

JobId = TypeVar("JobId", bound=Hashable)
_OVER = 1e-6  # a job's own load may exceed a link by this much (rounding)


class BundleNetwork(Generic[JobId]):
    """Running jobs on shared links, at max-min fair rates.

    A job at rate ``x`` (0 < x <= 1, 1 = as if alone) takes ``x * load[l]`` of each of its
    links. Rates are max-min fair over the jobs under the link capacities and the cap of
    1; a job's communication takes ``stretch = 1 / x`` times as long as alone. Jobs that
    share no over-subscribed link have stretch exactly 1.0.

    Parameters
    ----------
    capacity_Bps : (n_links,) float
        ``topology.link_bandwidth_Bps``.

    Notes
    -----
    Each change solves again only the jobs joined to it through over-subscribed links.
    The result depends on the jobs that are there, not on their history (up to rounding).
    """

    def __init__(self, capacity_Bps: ArrayLike) -> None:
        capacity = np.array(capacity_Bps, dtype=np.float64)
        if len(capacity) and not (np.all(np.isfinite(capacity)) and capacity.min() > 0):
            raise NetcosimError(f"link capacity {capacity.min()} bytes/s; it must be positive")
        n_links, slots, width = len(capacity), 16, 4
        self._slot: dict[JobId, int] = {}
        self._ids: dict[int, JobId] = {}
        self._free = list(range(slots - 1, -1, -1))
        self._entries_used = 0
        self._b = kernels.Bundles(
            capacity=capacity,
            job_begin=np.zeros(slots, dtype=np.int64),
            job_end=np.zeros(slots, dtype=np.int64),
            entry_link=np.empty(1024, dtype=np.int32),
            entry_load=np.empty(1024, dtype=np.float64),
            link_count=np.zeros(n_links, dtype=np.int32),
            link_jobs=np.empty((n_links, width), dtype=np.int32),
            link_loads=np.empty((n_links, width), dtype=np.float64),
            rate=np.ones(slots, dtype=np.float64),
        )
        self._c = _component(slots, n_links)

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._slot

    def add(self, job_id: JobId, links: ArrayLike, load_Bps: ArrayLike) -> list[JobId]:
        """Start a job.

        Parameters
        ----------
        job_id : hashable
        links : (k,) int
            No link twice.
        load_Bps : (k,) float
            Bytes per second on each link while the job communicates alone: bytes on the link
            over the time alone. Zeros are dropped.

        Returns
        -------
        list of job ids
            Jobs whose stretch changed; the new one is among them if its stretch is not 1.

        Raises
        ------
        NetcosimError
            A job that is there already, a link out of range or twice, a load that is negative
            or above the link's capacity (no job can be that fast alone).
        """
        return self.change([(job_id, links, load_Bps)], [])

    def remove(self, job_id: JobId) -> list[JobId]:
        """End a job; returns the jobs whose stretch changed."""
        return self.change([], [job_id])

    def change(
        self, add: Sequence[tuple[JobId, ArrayLike, ArrayLike]], remove: Sequence[JobId]
    ) -> list[JobId]:
        """End and start several jobs at once, solved once.

        Parameters
        ----------
        add : sequence of (job_id, links, load_Bps)
            As in `add`.
        remove : sequence of job ids
            Jobs that are there; none of them is started again in the same call.

        Returns
        -------
        list of job ids
            Jobs whose stretch changed.

        Raises
        ------
        NetcosimError
            As `add` and `remove`; then nothing has changed.
        """
        entries: dict[JobId, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for job_id, links, load_Bps in add:
            if job_id in self._slot or job_id in entries:
                raise NetcosimError(f"job {job_id!r} is in the network already")
            entries[job_id] = self._checked(job_id, links, load_Bps)
        leaving = np.array([self._find(job_id) for job_id in remove], dtype=np.int64)
        if len(np.unique(leaving)) < len(leaving):
            raise NetcosimError("a job is removed twice")
        while len(self._free) < len(entries):
            self._more_slots()
        n_reached = int(kernels.leave(self._b, self._c, leaving))
        self._b.job_end[leaving] = self._b.job_begin[leaving]
        for job_id, slot in zip(remove, leaving.tolist(), strict=True):
            del self._slot[job_id], self._ids[slot]
        coming = [self._insert(job_id, index, load) for job_id, (index, load) in entries.items()]
        changed = np.empty(len(self._b.rate), dtype=np.int32)
        n = kernels.solve(self._b, self._c, np.array(coming, dtype=np.int64), n_reached, changed)
        self._free += leaving.tolist()
        return [self._ids[s] for s in changed[:n].tolist()]

    def _insert(self, job_id: JobId, index: NDArray[np.int64], load: NDArray[np.float64]) -> int:
        """Write a job into a free slot and into the rows of its links."""
        slot = self._free.pop()
        self._reserve(len(index))
        b, begin = self._b, self._entries_used
        self._entries_used = end = begin + len(index)
        b.entry_link[begin:end], b.entry_load[begin:end] = index, load
        b.job_begin[slot], b.job_end[slot], b.rate[slot] = begin, end, 1.0
        if len(index) and int(b.link_count[index].max()) == b.link_jobs.shape[1]:
            self._widen()
        self._slot[job_id], self._ids[slot] = slot, job_id
        kernels.insert(self._b, slot)
        return slot

    def stretch(self, job_id: JobId) -> float:
        """How much longer the job's communication takes than alone (>= 1)."""
        return 1.0 / float(self._b.rate[self._find(job_id)])

    def _find(self, job_id: JobId) -> int:
        try:
            return self._slot[job_id]
        except KeyError:
            raise NetcosimError(f"job {job_id!r} is not in the network") from None

    def _checked(
        self, job_id: JobId, links: ArrayLike, load_Bps: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        index, load = np.asarray(links, dtype=np.int64), np.asarray(load_Bps, dtype=np.float64)
        capacity = self._b.capacity
        if index.shape != load.shape:
            raise NetcosimError(f"job {job_id!r}: {index.size} links but {load.size} loads")
        if len(index) == 0:
            return index, load
        if index.min() < 0 or index.max() >= len(capacity):
            raise NetcosimError(f"job {job_id!r}: a link is outside 0..{len(capacity) - 1}")
        if not (np.all(np.isfinite(load)) and load.min() >= 0):
            raise NetcosimError(f"job {job_id!r}: load {load.min()} bytes/s; it must be >= 0")
        index, load = index[load > 0], load[load > 0]
        if len(np.unique(index)) < len(index):
            raise NetcosimError(f"job {job_id!r}: a link is given twice")
        over = load > capacity[index] * (1 + _OVER)
        if over.any():
            k = int(np.flatnonzero(over)[0])
            raise NetcosimError(
                f"job {job_id!r}: load {load[k]:.6g} bytes/s alone on link {index[k]} of "
                f"{capacity[index[k]]:.6g}; divide by a longer time alone"
            )
        return index, np.minimum(load, capacity[index])

    def _more_slots(self) -> None:
        b, old = self._b, len(self._b.rate)
        self._b = b._replace(
            job_begin=np.concatenate([b.job_begin, np.zeros_like(b.job_begin)]),
            job_end=np.concatenate([b.job_end, np.zeros_like(b.job_end)]),
            rate=np.concatenate([b.rate, np.ones_like(b.rate)]),
        )
        self._free += range(2 * old - 1, old - 1, -1)
        self._c = _component(2 * old, len(b.capacity))

    def _reserve(self, need: int) -> None:
        """Make room for entries at the end: close the gaps of jobs that left, or grow."""
        b = self._b
        if self._entries_used + need <= len(b.entry_link):
            return
        live = int((b.job_end - b.job_begin).sum())
        size = max(len(b.entry_link), 2 * (live + need))
        entry_link, entry_load = np.empty(size, dtype=np.int32), np.empty(size)
        at = 0
        for slot in self._ids:
            begin, end = int(b.job_begin[slot]), int(b.job_end[slot])
            to = at + end - begin
            entry_link[at:to], entry_load[at:to] = b.entry_link[begin:end], b.entry_load[begin:end]
            b.job_begin[slot], b.job_end[slot] = at, to
            at = to
        self._b, self._entries_used = b._replace(entry_link=entry_link, entry_load=entry_load), at

    def _widen(self) -> None:
        b = self._b
        self._b = b._replace(
            link_jobs=np.concatenate([b.link_jobs, b.link_jobs], axis=1),
            link_loads=np.concatenate([b.link_loads, b.link_loads], axis=1),
        )


def _component(slots: int, n_links: int) -> kernels.Component:
    return kernels.Component(
        job_in=np.zeros(slots, dtype=np.bool_),
        job_list=np.empty(slots, dtype=np.int32),
        link_seen=np.zeros(n_links, dtype=np.bool_),
        seen_list=np.empty(n_links, dtype=np.int32),
        link_list=np.empty(n_links, dtype=np.int32),
        rising=np.zeros(slots, dtype=np.bool_),
        heap_key=np.empty(n_links, dtype=np.float64),
        heap_link=np.empty(n_links, dtype=np.int32),
    )
