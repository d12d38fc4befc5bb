"""Data of jobs in a log besides sizes and times: their nodes, dependencies and others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEPENDENCY_KINDS = ("after", "afterok", "afterany", "afternotok")
"""After another job has begun, has ended well, has ended, has ended badly."""

Rows = NDArray[np.bool_] | NDArray[np.integer]
"""A mask over jobs, or their positions in the order that is wanted."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A word a job: its partition, its account."""

    code: NDArray[np.int32]
    """(n,) int32. Position in ``names``; -1 where the log has none."""
    names: tuple[str, ...]
    """In order of appearance; a name may be left without a job."""

    @classmethod
    def of(cls, words: Iterable[str | None]) -> Labels:
        """Build from one word per job; None and "" are missing."""
        known: dict[str, int] = {}
        code = [known.setdefault(w, len(known)) if w else -1 for w in words]
        return cls(np.array(code, dtype=np.int32), tuple(known))

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, job: int) -> str | None:
        code = self.code[job]
        return None if code < 0 else self.names[code]

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) which jobs have one."""
        return self.code >= 0

    def take(self, index: Rows) -> Labels:
        """Select jobs, with the same names."""
        return Labels(self.code[index], self.names)


@dataclass(frozen=True, eq=False)
class NodeLists:
    """The nodes that each job ran on."""

    ptr: NDArray[np.int64]
    """(n + 1,) int64. Job i has ``index[ptr[i]:ptr[i + 1]]``; none where the log has none."""
    index: NDArray[np.int32]
    """Int32. Positions in ``names``, in the log's order."""
    names: tuple[str, ...]
    """Of nodes; one may be left without a job."""

    @classmethod
    def of(cls, lists: Iterable[Sequence[str]]) -> NodeLists:
        """Build from each job's node names."""
        known: dict[str, int] = {}
        ptr, index = [0], []
        for names in lists:
            index += [known.setdefault(name, len(known)) for name in names]
            ptr.append(len(index))
        return cls(np.array(ptr, dtype=np.int64), np.array(index, dtype=np.int32), tuple(known))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __getitem__(self, job: int) -> NDArray[np.int32]:
        """Return the positions in ``names`` of a job's nodes."""
        return self.index[self.ptr[job] : self.ptr[job + 1]]

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) which jobs have nodes."""
        return np.diff(self.ptr) > 0

    def take(self, index: Rows) -> NodeLists:
        """Select jobs, with the same names."""
        ptr, kept = _taken(self.ptr, index)
        return NodeLists(ptr, self.index[kept], self.names)

    def without(self, jobs: NDArray[np.bool_]) -> NodeLists:
        """Return the same but for these jobs, of which nothing is known any more."""
        count = np.where(jobs, 0, np.diff(self.ptr))
        kept = np.repeat(~jobs, np.diff(self.ptr))
        return NodeLists(_pointers(count), self.index[kept], self.names)


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The jobs that each job waits for, with the kind of each dependency."""

    ptr: NDArray[np.int64]
    """(n + 1,) int64. Job i waits for ``job[ptr[i]:ptr[i + 1]]``."""
    job: NDArray[np.int64]
    """Int64. Job ids; one may be of no job in the workload (cut off, or never logged)."""
    kind: NDArray[np.int8]
    """Positions in `DEPENDENCY_KINDS`."""

    @classmethod
    def of(cls, lists: Iterable[Sequence[tuple[str, int]]]) -> Dependencies:
        """Build from each job's pairs of kind and job id."""
        ptr, job, kind = [0], [], []
        for pairs in lists:
            kind += [DEPENDENCY_KINDS.index(word) for word, _ in pairs]
            job += [number for _, number in pairs]
            ptr.append(len(job))
        return cls(
            np.array(ptr, dtype=np.int64),
            np.array(job, dtype=np.int64),
            np.array(kind, dtype=np.int8),
        )

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __getitem__(self, job: int) -> list[tuple[str, int]]:
        """Return the pairs of kind and job id of a job."""
        own = slice(self.ptr[job], self.ptr[job + 1])
        return [
            (DEPENDENCY_KINDS[kind], int(other))
            for kind, other in zip(self.kind[own], self.job[own], strict=True)
        ]

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) which jobs wait for others."""
        return np.diff(self.ptr) > 0

    def take(self, index: Rows) -> Dependencies:
        """Select jobs; the jobs that they wait for may be missing."""
        ptr, kept = _taken(self.ptr, index)
        return Dependencies(ptr, self.job[kept], self.kind[kept])


@dataclass(frozen=True, eq=False)
class JobDetails:
    """Optional columns of a workload, each None where the log has none."""

    partition: Labels | None = None
    account: Labels | None = None
    qos: Labels | None = None
    node_list: NodeLists | None = None
    """Return the job's nodes in the log; none for a job whose size was changed."""
    priority: NDArray[np.float64] | None = None
    """(n,) float64 or None. Larger goes first; nan: unknown."""
    dependency: Dependencies | None = None
    think_s: NDArray[np.float64] | None = None
    """(n,) float64 or None. From the end of the last job that it waits for to its own submission;
    nan: none."""
    pattern: Labels | None = None
    """What the job sends: a name of a communication."""
    communication_fraction: NDArray[np.float64] | None = None
    """(n,) float64 or None. Share of the run time in communication, 0 to 1; nan: unknown."""
    bytes_per_node_s: NDArray[np.float64] | None = None
    """(n,) float64 or None. Bytes that a node of the job sends in a second of its run; nan:
    unknown."""
    status: Labels | None = None
    """How the job ended: completed, failed, timeout, cancelled, node_fail, ..."""

    def take(self, index: Rows) -> JobDetails:
        """Return the columns of some jobs: of a mask, or of a list of positions in any order."""
        taken: dict[str, Any] = {}
        for name, column in self.columns().items():
            taken[name] = column[index] if isinstance(column, np.ndarray) else column.take(index)
        return JobDetails(**taken)

    def columns(self) -> dict[str, Labels | NodeLists | Dependencies | NDArray[np.float64]]:
        """Return the columns that there are, by name."""
        every = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: column for name, column in every if column is not None}

    def carried(self) -> dict[str, int]:
        """Return the number of jobs with a value, for each existing column."""
        return {
            name: int(
                np.count_nonzero(
                    ~np.isnan(column) if isinstance(column, np.ndarray) else column.known
                )
            )
            for name, column in self.columns().items()
        }


def _pointers(count: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where each of n lists of these lengths begins, and the end, (n + 1,)."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(count, dtype=np.int64)))


def _taken(ptr: NDArray[np.int64], index: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pointers of some jobs' lists, and the positions of their entries."""
    rows = np.arange(len(ptr) - 1)[index]
    count = np.diff(ptr)[rows]
    new = _pointers(count)
    return new, np.repeat(ptr[rows] - new[:-1], count) + np.arange(new[-1])
