"""A run as a trace for the Perfetto viewer (ui.perfetto.dev), which also opens it offline.

Trace events in JSON, gzipped: a process a policy; in it the jobs as slices on the track of every
node, or of every group of nodes or of the machine where that is too much (`MOST_SLICES`); counters
for utilisation, the queue, and the load of each group's links at the snapshots. Simulated seconds
are the viewer's seconds.
"""

from __future__ import annotations

import gzip
import heapq
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netcosim.archive.values import ArchivedRun, ArchivedSchedule, over_time_columns
from netcosim.export.archive_tables import groups_columns, mean_stretch, named
from netcosim.export.files import archived_run
from netcosim.runs.store import Store
from netsim.atomic_files import atomic_write, make_folder

FILE = "trace.json.gz"
MOST_SLICES = 1_000_000
"""Of one trace; finer tracks would make a file that takes the viewer minutes to open."""
MOST_NODE_TRACKS = 4096
MOST_STEPS = 20_000
"""Of one counter: a longer series is read at so many evenly spaced instants."""
Event = dict[str, Any]
Series = tuple[str, str, np.ndarray, np.ndarray]
"""A counter: its name and unit, times in seconds, and values that hold from there on."""


@dataclass(frozen=True)
class SliceTrack:
    """Jobs on tracks."""

    places: tuple[str, ...]
    """What tracks are of: nodes, groups, or the machine."""
    job: np.ndarray
    place: np.ndarray
    """job, place: (k,) int64."""


def write_perfetto(store: Store, key: str | None, folder: Path) -> list[Path]:
    """Write ``folder/trace.json.gz`` of a point."""
    run = archived_run(store, key, "a trace")
    make_folder(folder)
    path = folder / FILE
    with (
        atomic_write(path) as part,
        part.open("wb") as raw,
        # no name and no time inside: the same run gives the same bytes
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
    ):
        before = '{"displayTimeUnit": "ms", "traceEvents": ['
        for event in trace_events(run):
            packed.write(f"{before}\n{json.dumps(event, allow_nan=False)}".encode())
            before = ","
        packed.write(b"\n]}\n")
    return [path]


def trace_events(run: ArchivedRun) -> Iterator[Event]:
    """Yield the events of all policies, each a process."""
    chosen = grain(run)
    for pid, (policy, schedule) in enumerate(run.schedules.items(), start=1):
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": policy}}
        for name, unit, times, values in _counters(run, schedule):
            for time_s, value in zip(times.tolist(), values.tolist(), strict=True):
                yield {"ph": "C", "pid": pid, "name": name, **_at(time_s), "args": {unit: value}}
        for event in _jobs(run, schedule, chosen):
            yield event | {"pid": pid}


def _at(time_s: float) -> Event:
    return {"ts": 1e6 * max(0.0, time_s)}


def grain(run: ArchivedRun) -> str:
    """Return the finest level of tracks that is not too large: "node", "group" or "machine"."""
    if run.machine.n_nodes <= MOST_NODE_TRACKS:
        count = sum(int(s.range_length.sum()) for s in run.schedules.values())
        if count <= MOST_SLICES:
            return "node"
    count = sum(len(slices_of(run, s, "group").job) for s in run.schedules.values())
    return "group" if count <= MOST_SLICES else "machine"


def slices_of(run: ArchivedRun, schedule: ArchivedSchedule, fine: str) -> SliceTrack:
    """Return where each job that ran is shown: once a node, once a group, or once."""
    machine = run.machine
    ran = np.isfinite(schedule.start_s) & np.isfinite(schedule.end_s)
    if fine == "machine":
        jobs = np.flatnonzero(ran)
        return SliceTrack((machine.name,), jobs, np.zeros(len(jobs), dtype=np.int64))
    job = np.repeat(np.arange(len(run.jobs)), np.diff(schedule.range_ptr))
    each = np.repeat(job, schedule.range_length)
    start = np.repeat(schedule.range_first, schedule.range_length).astype(np.int64)
    ends = np.cumsum(schedule.range_length.astype(np.int64))
    inside = np.arange(len(each)) - np.repeat(ends - schedule.range_length, schedule.range_length)
    node = start + inside
    kept = ran[each] & (node >= 0) & (node < machine.n_nodes)
    each, node = each[kept], node[kept]
    if fine == "node":
        names = machine.node_names or tuple(f"node {i}" for i in range(machine.n_nodes))
        return SliceTrack(names, each, node)
    group = machine.router_group[machine.port_router[node * machine.rails]].astype(np.int64)
    pairs = np.unique(each * np.int64(len(machine.group_names)) + group)
    n = len(machine.group_names)
    return SliceTrack(machine.group_names, pairs // n, pairs % n)


def _jobs(run: ArchivedRun, schedule: ArchivedSchedule, fine: str) -> Iterator[Event]:
    """Yield tracks and the jobs on them."""
    slices = slices_of(run, schedule, fine)
    start = schedule.start_s[slices.job]
    end = np.maximum(schedule.end_s[slices.job], start)
    order = np.lexsort((slices.job, start, slices.place))
    job, place = slices.job[order], slices.place[order]
    start, end = start[order], end[order]
    lane = lanes(place, start, end)
    keys, track = np.unique(place * np.int64(lane.max(initial=0) + 1) + lane, return_inverse=True)
    first = np.zeros(len(keys), dtype=np.int64)
    first[track] = np.arange(len(track))
    for tid, where in enumerate(place[first].tolist(), start=1):
        # lanes of a place have one name
        name = {"name": slices.places[where]}
        yield {"ph": "M", "tid": tid, "name": "thread_name", "args": name}
        yield {"ph": "M", "tid": tid, "name": "thread_sort_index", "args": {"sort_index": where}}
    notes, ids = _notes(run, schedule), run.jobs.job_id.tolist()
    for at in np.argsort(track, kind="stable").tolist():
        times = {**_at(float(start[at])), "dur": 1e6 * float(end[at] - start[at])}
        what = {"name": f"job {ids[job[at]]}", "args": notes[job[at]]}
        yield {"ph": "X", "tid": int(track[at]) + 1, **times, **what}


def lanes(place: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the lowest lane of its place that is free when each slice starts, (k,) int64.

    Slices are sorted by place, then by start: those on a track must not overlap.
    """
    found = np.zeros(len(place), dtype=np.int64)
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    before, most = None, 0
    for at, (where, begin, until) in enumerate(
        zip(place.tolist(), start.tolist(), end.tolist(), strict=True)
    ):
        if where != before:
            before, free, busy, most = where, [], [], 0
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, most = most, most + 1
        found[at] = lane
        heapq.heappush(busy, (until, lane))
    return found


def _notes(run: ArchivedRun, schedule: ArchivedSchedule) -> list[Event]:
    """Return what a slice of each job shows when it is clicked."""
    from queuesim.result import OUTCOMES

    columns = {
        "nodes": run.jobs.n_nodes.tolist(),
        "wait (s)": (schedule.start_s - run.jobs.submit_s).tolist(),
        "pattern": named(run.jobs.patterns, run.jobs.pattern),
        "stretch": mean_stretch(run, schedule).tolist(),
        "outcome": named(OUTCOMES, schedule.outcome),
    }
    unknown = ("", math.inf, -math.inf)
    rows = (zip(columns, row, strict=True) for row in zip(*columns.values(), strict=True))
    return [{key: one for key, one in row if one == one and one not in unknown} for row in rows]


def _counters(run: ArchivedRun, schedule: ArchivedSchedule) -> Iterator[Series]:
    """Yield utilisation, queue and load of groups' links."""
    over = over_time_columns(run, schedule)
    time_s = over["time_s"]
    if len(time_s) > MOST_STEPS:
        at = np.linspace(time_s[0], time_s[-1], MOST_STEPS)
        some = np.searchsorted(time_s, at, side="right") - 1
    else:
        at, some = time_s, np.arange(len(time_s))
    yield "utilisation", "%", at, 100 * over["utilisation"][some]
    yield "waiting jobs", "jobs", at, over["waiting_jobs"][some]
    yield "waiting nodes", "nodes", at, over["waiting_nodes"][some]
    yield from _loads(run, schedule)


def _loads(run: ArchivedRun, schedule: ArchivedSchedule) -> Iterator[Series]:
    """Yield the mean busy share of the links between routers that leave each group."""
    columns = groups_columns(run, schedule)
    if not columns:
        return
    import pandas as pd

    machine, frame = run.machine, pd.DataFrame(columns)
    between = np.unique(machine.link_kind[machine.first_router_link :]).tolist()
    frame = frame.assign(busy=100 * frame["busy_share"] * frame["links"])
    frame = frame[frame["kind"].isin([machine.kinds[kind] for kind in between])]
    for group, rows in frame.groupby("group", sort=False):
        # over the kinds
        total = rows.groupby("time_s")[["busy", "links"]].sum()
        percent = total["busy"] / total["links"]
        yield f"link load, {group}", "%", total.index.to_numpy(), percent.to_numpy()
