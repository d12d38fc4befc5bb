"""Contention of a measured job: its isolated time on its nodes, and the other jobs on its links.

A measure returns how long a job's communication takes among other jobs. What the others cost it is
that over its isolated time on the same nodes; each of them has a part in it, by what it sends over
the links that the job uses. Both come from one more simulation of each job, in isolation: the
packets go as they would on an empty machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.snapshot_loops import isolated_period
from cosim.measuring.snapshots import Measurements, Study, format_snapshots
from cosim.measuring.tasks import Columns, Progress, ReportProgress, TaskRunner, cut
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from netsim.short_repr import short_repr

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]

MOST_REPORTED = 12
"""Neighbours of a job that are kept: those with the largest parts."""


@short_repr()
@dataclass(frozen=True, eq=False)
class Neighbours:
    """Measured jobs, one row each as in `Measurements`, and the jobs that delay them."""

    alone_s: FloatArray
    """(k,) float64. Isolated time on the same nodes."""
    ptr: LongArray
    """(k + 1,) int64. Row i's neighbours are ``job[ptr[i]:ptr[i + 1]]``, those with the largest
    parts first."""
    job: LongArray
    """(m,) int64. Index into the workload."""
    part: FloatArray
    """(m,) float64. See `parts`; at most `MOST_REPORTED` a row, so a row's need not add up to 1."""


def parts(sent_bytes: csr_array, bandwidth_Bps: FloatArray) -> FloatArray:
    """Return the share of each job in the traffic of all others on the links that a job uses.

    On each link the others are counted by the time for which they keep it busy, and the link by
    what the job itself sends over it: the part of j for i is the sum over links of
    ``sent[i] * sent[j] / bandwidth``, over the same sum for all j but i.

    Returns
    -------
    (k, k) float64
        Rows add up to 1, or to 0 for a job that shares no link; 0 on the diagonal.
    """
    busy_s = sent_bytes.copy()
    busy_s.data /= bandwidth_Bps[busy_s.indices]
    met: FloatArray = (sent_bytes @ busy_s.T).toarray()
    np.fill_diagonal(met, 0.0)
    total = met.sum(axis=1, keepdims=True)
    found: FloatArray = np.divide(met, total, out=np.zeros_like(met), where=total > 0)
    return found


def neighbours(
    study: Study,
    name: str,
    measured: Measurements,
    progress: Callable[[int, int], None] | None = None,
) -> Neighbours:
    """Simulate each measured job of a side once more, in isolation.

    Jobs of a policy that isolates have no neighbours, and are not sent. ``progress`` is called with
    the number of jobs done and of all jobs.
    """
    side, n_rows = study.sides[name], len(measured.job)
    alone_s, found_parts = measured.alone_s, list[tuple[LongArray, FloatArray]]()
    if alone_s is None:
        alone_s = measured.time_s if side.isolates else np.full(n_rows, np.nan)
    if side.isolates:
        found_parts = [(np.empty(0, dtype=np.int64), np.empty(0))] * n_rows
    known: dict[int, tuple[float, LongArray, FloatArray]] = {}
    bandwidth_Bps = side.network.routing.topology.link_bandwidth_Bps.astype(np.float64)
    for number in () if side.isolates else np.unique(measured.snapshot).tolist():
        rows = np.flatnonzero(measured.snapshot == number)
        here = study.at(number)
        network = side.network_at(float(study.instants_s(name)[number]))
        changes = side.routing_at is not None
        if changes or network.routing.random_visits or here is not study:
            known.clear()  # each snapshot has a stream, or places, of its own
        sent: list[tuple[LongArray, FloatArray]] = []
        for row in rows.tolist():
            index = int(measured.job[row])
            if index not in known:
                job = here.sides[name].placed(index, study.communication(index))
                if measured.compute_s is not None:
                    job = replace(job, compute_s=float(measured.compute_s[row]))
                known[index] = _isolated(network, job, measured.compute_s is not None, number)
            one_s, links, carried = known[index]
            sent.append((links, carried))
            if measured.alone_s is None:
                alone_s[row] = one_s
            if progress is not None:
                progress(row + 1, n_rows)
        of_jobs = parts(_rows(sent, len(bandwidth_Bps)), bandwidth_Bps)
        found_parts += _largest(of_jobs, measured.job[rows])
    return Neighbours(
        alone_s,
        np.cumsum([0, *(len(job) for job, _ in found_parts)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(job for job, _ in found_parts)]),
        np.concatenate([np.empty(0), *(part for _, part in found_parts)]),
    )


def _isolated(
    network: SharedNetwork, job: PlacedJob, by_share: bool, number: int
) -> tuple[float, LongArray, FloatArray]:
    """Return a job's isolated time, its links between routers, and its bytes on each.

    By share these are bytes per second.
    """
    if by_share:
        time_s, run = isolated_period(network, job, number)
        packets, seconds = run.packets, time_s * float(run.iterations[0])
    else:
        times = Ensemble(network, [job]).packets(stream=number)
        time_s, packets, seconds = float(times.time_s[0]), times.packets, 1.0
    first = network.routing.topology.first_router_link
    links = np.flatnonzero(packets.link_bytes[first:]) + first
    return time_s, links, packets.link_bytes[links] / seconds


def neighbours_of(
    study: Study,
    measured: Mapping[str, Measurements],
    runner: TaskRunner,
    progress: Progress | None = None,
) -> dict[str, Neighbours]:
    """Compute `neighbours` of some sides, a few snapshots at a time."""
    pieces = {
        f"isolated jobs, {name}, {format_snapshots(piece)}": (name, piece)
        for name, mine in measured.items()
        for piece in cut(np.unique(mine.snapshot).tolist(), _PIECES)
    }

    def compute(name: str, piece: Sequence[int], report: ReportProgress) -> Columns:
        mine = _of_snapshots(measured[name], piece)
        found = neighbours(study, name, mine, lambda done, total: report(done / total))
        return {"alone_s": found.alone_s, "ptr": found.ptr, "job": found.job, "part": found.part}

    found = runner.each(compute, pieces, progress)
    return {
        name: _together([columns for one, _, columns in found if one == name]) for name in measured
    }


_PIECES = 16
"""Parts of a side: jobs that run at snapshots of two parts are sent twice."""


def _of_snapshots(measured: Measurements, numbers: Sequence[int]) -> Measurements:
    rows = np.isin(measured.snapshot, numbers)
    columns = ("snapshot", "job", "share", "n_nodes", "time_s", "baseline_s")
    known = [name for name in ("alone_s", "compute_s") if getattr(measured, name) is not None]
    return replace(measured, **{name: getattr(measured, name)[rows] for name in (*columns, *known)})


def _together(found: Sequence[Columns]) -> Neighbours:
    def joined(name: str, kind: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype=kind), *(one[name] for one in found)])

    counts = [np.diff(one["ptr"]) for one in found]
    return Neighbours(
        joined("alone_s", np.float64),
        np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), *counts])),
        joined("job", np.int64),
        joined("part", np.float64),
    )


def _rows(sent: list[tuple[LongArray, FloatArray]], n_links: int) -> csr_array:
    """Return the bytes by job and link, of the links between routers that each uses."""
    from scipy.sparse import csr_array

    ptr = np.cumsum([0, *(len(links) for links, _ in sent)])
    links = np.concatenate([links for links, _ in sent])
    values = np.concatenate([values for _, values in sent]).astype(np.float64)
    return csr_array((values, links, ptr), shape=(len(sent), n_links))


def _largest(found: FloatArray, jobs: LongArray) -> list[tuple[LongArray, FloatArray]]:
    """Return the jobs with the largest parts of each row, and the parts."""
    first = np.argsort(-found, axis=1, kind="stable")[:, :MOST_REPORTED]
    return [
        (jobs[order[row[order] > 0]], row[order[row[order] > 0]])
        for row, order in zip(found, first, strict=True)
    ]
