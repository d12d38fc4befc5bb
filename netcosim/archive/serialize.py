"""Serialize the archive of a run: one compressed NumPy archive each for machine, jobs and policies.

Whole numbers are stored in the smallest type that holds them, texts as JSON in the archive. What is
read may come from anywhere: nothing is unpickled, and types, lengths and references are checked.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from netcosim.archive.values import (
    ArchivedJobs,
    ArchivedLinks,
    ArchivedMachine,
    ArchivedMeasured,
    ArchivedRun,
    ArchivedSchedule,
)
from netsim.errors import NetcosimError

MOST_BYTES = 1 << 33
"""Of one archive, unpacked."""

_LARGE_BYTES = 1 << 20
"""Of a column that is compressed at level 1: a third of the time, times as small as at level 6."""

_TYPES: dict[str, type[np.generic]] = {
    "FloatArray": np.float64,
    "LongArray": np.int64,
    "IntArray": np.int32,
    "NDArray[np.int8]": np.int8,
    "NDArray[np.int16]": np.int16,
    "NDArray[np.float32]": np.float32,
}
"""The columns' types, by what `netcosim.archive.values` calls them."""

Archived = TypeVar(
    "Archived", ArchivedMachine, ArchivedJobs, ArchivedLinks, ArchivedMeasured, ArchivedSchedule
)


def serialize(archive: ArchivedRun) -> dict[str, bytes]:
    """Return the archives of a run by name: "run", "machine", "jobs", "schedule 0", "links 0", ...

    Equal contents give equal bytes, so that a store can keep what several points share once.
    """
    names = list(archive.schedules)
    found = {
        "run": json.dumps({"policies": names}).encode(),
        "machine": _archive(archive.machine),
        "jobs": _archive(archive.jobs),
    }
    for place, schedule in enumerate(archive.schedules.values()):
        found[f"schedule {place}"] = _archive(schedule)
        if schedule.links is not None:
            found[f"links {place}"] = _archive(schedule.links)
        if schedule.measured is not None:
            found[f"measured {place}"] = _archive(schedule.measured)
    return found


def deserialize(archives: Mapping[str, bytes], where: str) -> ArchivedRun:
    """Restore a run from what `serialize` returned; errors say that it comes from ``where``."""
    try:
        policies = json.loads(archives["run"])["policies"]
        if not (isinstance(policies, list) and all(isinstance(name, str) for name in policies)):
            raise ValueError("policies are no list of names")
        schedules = {}
        for place, name in enumerate(policies):
            links, measured = (archives.get(f"{part} {place}") for part in ("links", "measured"))
            schedules[name] = _read(
                ArchivedSchedule,
                archives[f"schedule {place}"],
                links=None if links is None else _read(ArchivedLinks, links),
                measured=None if measured is None else _read(ArchivedMeasured, measured),
            )
        machine, jobs = (
            _read(ArchivedMachine, archives["machine"]),
            _read(ArchivedJobs, archives["jobs"]),
        )
        archive = ArchivedRun(machine, jobs, schedules)
        check(archive)
    except KeyError as error:
        raise NetcosimError(f"{where}: damaged results file: {error} is missing") from None
    except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise NetcosimError(f"{where}: damaged results file: {message}") from None
    return archive


def _columns(kind: type[Archived]) -> dict[str, type[np.generic]]:
    return {f.name: _TYPES[str(f.type)] for f in fields(kind) if str(f.type) in _TYPES}


def _archive(value: Archived) -> bytes:
    columns: dict[str, Any] = {n: _small(getattr(value, n)) for n in _columns(type(value))}
    words = {
        f.name: getattr(value, f.name)
        for f in fields(value)
        if f.name not in columns and f.name not in ("links", "measured")
    }
    columns["words"] = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, column in columns.items():
            file = io.BytesIO()
            np.save(file, column)
            # without a date, so that equal contents give equal bytes
            entry, level = zipfile.ZipInfo(f"{name}.npy"), 1 if column.nbytes > _LARGE_BYTES else 6
            archive.writestr(entry, file.getbuffer(), zipfile.ZIP_DEFLATED, level)
    return buffer.getvalue()


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Convert whole numbers to the smallest type that holds them; leave all else unchanged."""
    if values.dtype.kind != "i" or not values.size:
        return values
    return values.astype(
        np.promote_types(*(np.min_scalar_type(int(v)) for v in (values.min(), values.max())))
    )


_OLD_NAMES = {"baseline_s": "yardstick_s"}
"""Columns that files of version 0.1 have by other names."""


def _read(kind: type[Archived], data: bytes, **parts: object) -> Archived:
    """Restore a value from its archive; a damaged one raises what zipfile, zlib or NumPy raise."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"an archive of more than {MOST_BYTES:,} bytes")
    columns = _columns(kind)
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {
            name: found[name if name in found else _OLD_NAMES.get(name, name)].astype(
                of, casting="same_kind"
            )
            for name, of in columns.items()
        }
        words = json.loads(found["words"].tobytes())
    for f in fields(kind):
        if f.name in columns or f.name in parts:
            continue
        arrays[f.name] = _scalar(f.name, str(f.type), words[f.name])
    return kind(**arrays, **parts)  # type: ignore[arg-type]


def _scalar(name: str, kind: str, value: object) -> Any:
    if kind == "tuple[str, ...]":
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return tuple(value)
    elif kind == "str":
        if isinstance(value, str):
            return value
    elif kind == "int":
        if isinstance(value, int):
            return value
    elif value is None or isinstance(value, (int, float)):
        return value
    raise ValueError(f"{name} is {value!r:.40}")


def check(archive: ArchivedRun) -> None:
    """Raise ValueError unless a run's columns fit together."""
    _check_machine(archive.machine)
    jobs, n = archive.jobs, len(archive.jobs)
    for name in ("submit_s", "run_time_s", "requested_s", "n_nodes", "user", "pattern", "fraction"):
        _long(name, getattr(jobs, name), n)
    _within("pattern", jobs.pattern, len(jobs.patterns))
    for schedule in archive.schedules.values():
        _check_schedule(archive, schedule)


def _check_machine(machine: ArchivedMachine) -> None:
    n_links = _flat("link_src", machine.link_src)
    n_ports, n_routers = _flat("port_router", machine.port_router), len(machine.router_x)
    if machine.rails < 1 or n_ports % machine.rails or n_links < 2 * n_ports:
        raise ValueError(f"{n_ports} ports, {n_links} links and {machine.rails} rails")
    for name in ("link_dst", "link_kind", "link_bandwidth_Bps"):
        _long(name, getattr(machine, name), n_links)
    for name in ("router_x", "router_y", "router_group"):
        _long(name, getattr(machine, name), n_routers)
    _within("port_router", machine.port_router, n_routers)
    _within("link_src", machine.link_src, n_ports + n_routers)
    _within("link_dst", machine.link_dst, n_ports + n_routers)
    _within("link_kind", machine.link_kind, len(machine.kinds))
    _within("router_group", machine.router_group, len(machine.group_names))
    if len(machine.node_names) not in (0, machine.n_nodes):
        raise ValueError(f"{len(machine.node_names)} names of {machine.n_nodes} nodes")


def _check_schedule(archive: ArchivedRun, schedule: ArchivedSchedule) -> None:
    n = len(archive.jobs)
    for name in ("start_s", "end_s", "eligible_s", "outcome", "allocated_nodes"):
        _long(name, getattr(schedule, name), n)
    _check_ranges(archive.machine, schedule, n)
    links, measured = schedule.links, schedule.measured
    if links is not None:
        snapshots = _flat("time_s", links.time_s)
        _long("number", links.number, snapshots)
        _long("span_s", links.span_s, snapshots)
        for name in ("packets", "bytes", "busy_ps", "stall_ps"):
            shape = getattr(links, name).shape
            if shape != (snapshots, len(archive.machine.link_src)):
                raise ValueError(f"{name} of links: {shape}")
    if measured is not None:
        rows = _flat("job", measured.job)
        for name in ("snapshot", "time_s", "baseline_s", "alone_s"):
            _long(name, getattr(measured, name), rows)
        _within("job", measured.job, n)
        _check_ranges(archive.machine, measured, rows)
        _pointers("neighbour_ptr", measured.neighbour_ptr, rows, len(measured.neighbour))
        _long("part", measured.part, _flat("neighbour", measured.neighbour))
        _within("neighbour", measured.neighbour, n)


def _check_ranges(
    machine: ArchivedMachine, of: ArchivedSchedule | ArchivedMeasured, n: int
) -> None:
    _long("range_length", of.range_length, _flat("range_first", of.range_first))
    _pointers("range_ptr", of.range_ptr, n, len(of.range_first))
    ends = of.range_first.astype(np.int64) + of.range_length
    if len(ends) and (of.range_first.min() < 0 or of.range_length.min() < 1):
        raise ValueError("a range of nodes below 0, or of none")
    _within("the last node of a range", ends - 1, machine.n_nodes)


def _flat(name: str, values: NDArray[Any]) -> int:
    if values.ndim != 1:
        raise ValueError(f"{name} has {values.ndim} dimensions")
    return len(values)


def _long(name: str, values: NDArray[Any], length: int) -> None:
    if values.shape != (length,):
        raise ValueError(f"{name}: {values.shape} where ({length},) was expected")


def _within(name: str, values: NDArray[Any], end: int) -> None:
    if len(values) and (values.min() < 0 or values.max() >= end):
        raise ValueError(f"{name}: {values.min()} to {values.max()}; must be 0 to {end - 1}")


def _pointers(name: str, values: NDArray[Any], n: int, total: int) -> None:
    _long(name, values, n + 1)
    if values[0] != 0 or values[-1] != total or (np.diff(values) < 0).any():
        raise ValueError(f"{name} does not lead from 0 up to {total}")
