"""A run as a trace for the Perfetto viewer (ui.perfetto.dev), which also opens it offline.

Perfetto's own format, TrackEvent (protobuf), gzipped: a process a policy; under it the jobs as
slices on the track of every node, or of every group of nodes or of the machine where that is too
much (`MOST_SLICES`); counters for utilisation, the queue, and the load of each group's links at
the snapshots. Simulated seconds are the viewer's seconds.

A field is its number and kind as a varint, then its value: a varint, eight bytes, or bytes with
their length before them (protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import gzip
import heapq
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from netcosim.archive.values import ArchivedRun, ArchivedSchedule, over_time_columns
from netcosim.export.archive_tables import groups_columns, mean_stretch, named
from netcosim.export.files import archived_run
from netcosim.runs.store import Store
from netsim.atomic_files import atomic_write, make_folder

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """Encode a number of 0 to 2**64 - 1, seven bits a byte, the least significant first.

    Examples
    --------
    >>> varint(150).hex()
    '9601'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uint(field: int, value: int) -> bytes:
    """Encode a field of an integer (an int64 below 0 as 2**64 more)."""
    return varint(field << 3 | _VARINT) + varint(value & 0xFFFFFFFFFFFFFFFF)


def double(field: int, value: float) -> bytes:
    """Encode a field of a floating-point number."""
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def message(field: int, *parts: bytes) -> bytes:
    """Encode a field of a message, given by its own fields."""
    inside = b"".join(parts)
    return varint(field << 3 | _BYTES) + varint(len(inside)) + inside


def text(field: int, value: str) -> bytes:
    """Encode a field of text; what is no UTF-8 becomes escapes."""
    return message(field, value.encode("utf-8", errors="backslashreplace"))


FILE = "trace.pftrace.gz"

MOST_SLICES = 1_000_000
"""Of one trace; finer tracks would make a file that takes the viewer minutes to open."""
MOST_NODE_TRACKS = 4096
MOST_STEPS = 20_000
"""Of one counter: a longer series is read at so many evenly spaced instants."""

# TracePacket
_PACKET, _TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _TRACK = 1, 8, 10, 11, 12, 13, 60
_CLEARED, _NEEDS = 1, 2
# TrackDescriptor
_UUID, _NAME, _PROCESS, _PARENT, _COUNTER, _ORDERING, _RANK = 1, 2, 3, 5, 8, 11, 12
_EXPLICIT = 3
# TrackEvent
_ANNOTATION, _TYPE, _ON, _EVENT_NAME, _DOUBLE = 4, 9, 11, 23, 44
_BEGIN, _END, _COUNT = 1, 2, 4
_SEQUENCE_ID = 1
_NOTES = ("nodes", "wait (s)", "pattern", "stretch", "outcome")
"""What a slice shows when it is clicked, interned by its position from 1."""


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
    """Write ``folder/trace.pftrace.gz`` of a point."""
    run = archived_run(store, key, "a trace")
    make_folder(folder)
    path = folder / FILE
    with (
        atomic_write(path) as part,
        part.open("wb") as raw,
        # no name and no time inside: the same run gives the same bytes
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
    ):
        write_trace(run, packed)
    return [path]


def write_trace(run: ArchivedRun, file: BinaryIO | gzip.GzipFile) -> None:
    """Write the packets of a run, uncompressed."""
    names = b"".join(
        message(3, uint(1, iid), text(2, name)) for iid, name in enumerate(_NOTES, start=1)
    )
    file.write(_packet(uint(_FLAGS, _CLEARED | _NEEDS), message(_INTERNED, names)))
    chosen = grain(run)
    uuid = 1
    for pid, (policy, schedule) in enumerate(run.schedules.items(), start=1):
        process = uuid
        uuid += 1
        described = message(_PROCESS, uint(1, pid), text(6, policy))
        file.write(_track(process, described, uint(_ORDERING, _EXPLICIT)))
        uuid = _counters(file, run, schedule, process, uuid)
        uuid = _jobs(file, run, schedule, process, uuid, chosen)


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


def _jobs(
    file: BinaryIO | gzip.GzipFile,
    run: ArchivedRun,
    schedule: ArchivedSchedule,
    process: int,
    uuid: int,
    fine: str,
) -> int:
    """Write tracks with the jobs on them, and return the next free number of a track."""
    slices = slices_of(run, schedule, fine)
    root = uuid
    uuid += 1
    title = {"node": "jobs on nodes", "group": "jobs in groups", "machine": "jobs"}[fine]
    file.write(
        _track(root, text(_NAME, title), uint(_PARENT, process), uint(_RANK, 100),
               uint(_ORDERING, _EXPLICIT))
    )  # fmt: skip
    start = schedule.start_s[slices.job]
    end = np.maximum(schedule.end_s[slices.job], start)
    order = np.lexsort((slices.job, start, slices.place))
    job, place = slices.job[order], slices.place[order]
    start, end = start[order], end[order]
    lane = lanes(place, start, end)
    keys, track = np.unique(place * np.int64(lane.max() + 1 if len(lane) else 1) + lane,
                            return_inverse=True)  # fmt: skip
    first = np.zeros(len(keys), dtype=np.int64)
    first[track] = np.arange(len(track))
    for at, example in enumerate(first.tolist()):
        where = int(place[example])
        # lanes of a place have one name: the viewer shows them as one track
        file.write(
            _track(uuid + at, text(_NAME, slices.places[where]), uint(_PARENT, root),
                   uint(_RANK, where))
        )  # fmt: skip
    notes = _notes(run, schedule)
    ids = run.jobs.job_id.tolist()
    for at in np.argsort(track, kind="stable").tolist():
        on = uint(_ON, uuid + int(track[at]))
        index = int(job[at])
        file.write(
            _event(start[at], uint(_TYPE, _BEGIN), on, text(_EVENT_NAME, f"job {ids[index]}"),
                   notes[index])
        )  # fmt: skip
        file.write(_event(end[at], uint(_TYPE, _END), on))
    return uuid + len(keys)


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


def _notes(run: ArchivedRun, schedule: ArchivedSchedule) -> list[bytes]:
    """Encode the annotations of each job, once for all its slices."""
    from queuesim.result import OUTCOMES

    patterns = named(run.jobs.patterns, run.jobs.pattern)
    outcomes = named(OUTCOMES, schedule.outcome)
    wait = (schedule.start_s - run.jobs.submit_s).tolist()
    stretch = mean_stretch(run, schedule).tolist()
    encoded = []
    for i, nodes in enumerate(run.jobs.n_nodes.tolist()):
        parts = [message(_ANNOTATION, uint(1, 1), uint(4, nodes))]
        if math.isfinite(wait[i]):
            parts.append(message(_ANNOTATION, uint(1, 2), double(5, wait[i])))
        if patterns[i]:
            parts.append(message(_ANNOTATION, uint(1, 3), text(6, patterns[i])))
        if math.isfinite(stretch[i]):
            parts.append(message(_ANNOTATION, uint(1, 4), double(5, stretch[i])))
        parts.append(message(_ANNOTATION, uint(1, 5), text(6, outcomes[i])))
        encoded.append(b"".join(parts))
    return encoded


def _counters(
    file: BinaryIO | gzip.GzipFile,
    run: ArchivedRun,
    schedule: ArchivedSchedule,
    process: int,
    uuid: int,
) -> int:
    """Write utilisation, queue and load of groups' links, and return the next free track."""
    over = over_time_columns(run, schedule)
    time_s = over["time_s"]
    if len(time_s) > MOST_STEPS:
        at = np.linspace(time_s[0], time_s[-1], MOST_STEPS)
        some = np.searchsorted(time_s, at, side="right") - 1
    else:
        at, some = time_s, np.arange(len(time_s))
    series: list[Series] = [
        ("utilisation", "%", at, 100 * over["utilisation"][some]),
        ("waiting jobs", "jobs", at, over["waiting_jobs"][some]),
        ("waiting nodes", "nodes", at, over["waiting_nodes"][some]),
    ]
    series += list(_loads(run, schedule))
    for rank, (name, unit, times, values) in enumerate(series):
        counter = message(_COUNTER, text(6, unit))
        file.write(
            _track(uuid, text(_NAME, name), uint(_PARENT, process), uint(_RANK, rank), counter)
        )
        on = uint(_TYPE, _COUNT) + uint(_ON, uuid)
        for time, value in zip(times, values, strict=True):
            file.write(_event(float(time), on, double(_DOUBLE, float(value))))
        uuid += 1
    return uuid


def _loads(run: ArchivedRun, schedule: ArchivedSchedule) -> Iterator[Series]:
    """Yield the mean busy share of the links between routers that leave each group."""
    columns = groups_columns(run, schedule)
    if not columns:
        return
    # by group and time: busy links and all links, summed over the kinds
    links_of: dict[str, dict[float, tuple[float, float]]] = {}
    machine = run.machine
    between_routers = np.unique(machine.link_kind[machine.first_router_link :])
    between = {machine.kinds[int(i)] for i in between_routers}
    for group, kind, time_s, busy_share, n_links in zip(
        *(columns[c] for c in ("group", "kind", "time_s", "busy_share", "links")), strict=True
    ):
        if kind in between:
            by_time = links_of.setdefault(str(group), {})
            busy, links = by_time.get(float(time_s), (0.0, 0.0))
            by_time[float(time_s)] = busy + busy_share * n_links, links + n_links
    for group, by_time in links_of.items():
        times_s = sorted(by_time)
        percent = [100 * by_time[t][0] / by_time[t][1] for t in times_s]
        yield f"link load, {group}", "%", np.array(times_s), np.array(percent)


def _event(time_s: float, *fields: bytes) -> bytes:
    stamp = uint(_TIMESTAMP, max(0, round(float(time_s) * 1e9)))
    return _packet(stamp, uint(_FLAGS, _NEEDS), message(_EVENT, *fields))


def _track(uuid: int, *fields: bytes) -> bytes:
    return _packet(message(_TRACK, uint(_UUID, uuid), *fields))


def _packet(*fields: bytes) -> bytes:
    return message(_PACKET, uint(_SEQUENCE, _SEQUENCE_ID), *fields)
