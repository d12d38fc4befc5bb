"""Serialize the archive of a run: one compressed NumPy archive each for machine, jobs and policies.

Whole numbers are stored in the smallest type that holds them, texts as JSON in the archive. What is
read may come from anywhere: nothing is unpickled, and types, lengths and references are checked.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError, create_model

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


def _declared(kind: type[Any]) -> tuple[dict[str, Any], type[BaseModel]]:
    """Return the types of the columns of a kind, and a model of its texts and single numbers."""
    columns: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        if get_origin(hint) is np.ndarray:
            [columns[name]] = get_args(get_args(hint)[1])
        elif name not in ("links", "measured"):
            words[name] = (hint, ...)
    return columns, create_model(kind.__name__, **words)


# for mypy a class is not hashable
_fields: Callable[[type[Any]], tuple[dict[str, Any], type[BaseModel]]]
_fields = cache(_declared)  # type: ignore[assignment]
"""Once for each kind: building a model takes most of a millisecond."""


def _archive(value: Archived) -> bytes:
    of, model = _fields(type(value))
    columns: dict[str, Any] = {n: _small(getattr(value, n)) for n in of}
    words = {n: getattr(value, n) for n in model.model_fields}
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
    columns, model = _fields(kind)
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {
            name: found[name if name in found else _OLD_NAMES.get(name, name)].astype(
                of, casting="same_kind"
            )
            for name, of in columns.items()
        }
        text = found["words"].tobytes()
    try:
        words: Mapping[str, Any] = dict(model.model_validate_json(text, strict=True))
    except ValidationError as error:
        where, reason = error.errors()[0]["loc"], error.errors()[0]["msg"]
        raise ValueError(f"{where[0] if where else 'words'}: {reason}") from None
    return kind(**arrays, **parts, **words)  # type: ignore[arg-type]


def check(archive: ArchivedRun) -> None:
    """Raise ValueError unless a run's columns fit together."""
    machine, jobs = archive.machine, archive.jobs
    n_ports, n_links, n_routers = (
        len(column) for column in (machine.port_router, machine.link_src, machine.router_x)
    )
    if machine.rails < 1 or n_ports % machine.rails or n_links < 2 * n_ports:
        raise ValueError(f"{n_ports} ports, {n_links} links and {machine.rails} rails")
    _columns_fit(machine, "port_router", n_ports, n_routers)
    _columns_fit(machine, "link_src link_dst", n_links, n_ports + n_routers)
    _columns_fit(machine, "link_kind", n_links, len(machine.kinds))
    _columns_fit(machine, "link_bandwidth_Bps", n_links)
    _columns_fit(machine, "router_x router_y", n_routers)
    _columns_fit(machine, "router_group", n_routers, len(machine.group_names))
    if len(machine.node_names) not in (0, machine.n_nodes):
        raise ValueError(f"{len(machine.node_names)} names of {machine.n_nodes} nodes")
    _columns_fit(jobs, "job_id submit_s run_time_s requested_s n_nodes user fraction", len(jobs))
    _columns_fit(jobs, "pattern", len(jobs), len(jobs.patterns))
    for schedule in archive.schedules.values():
        _check_schedule(machine, schedule, len(jobs))


def _check_schedule(machine: ArchivedMachine, schedule: ArchivedSchedule, n: int) -> None:
    _columns_fit(schedule, "start_s end_s eligible_s outcome allocated_nodes", n)
    _ranges_fit(machine, schedule, n)
    links, measured = schedule.links, schedule.measured
    if links is not None:
        snapshots = len(links.time_s)
        _columns_fit(links, "time_s number span_s", snapshots)
        of_links = snapshots, len(machine.link_src)
        for name in ("packets", "bytes", "busy_ps", "stall_ps"):
            if getattr(links, name).shape != of_links:
                raise ValueError(f"{name} of links: {getattr(links, name).shape}")
    if measured is not None:
        rows, neighbours = len(measured.job), len(measured.neighbour)
        _columns_fit(measured, "snapshot time_s baseline_s alone_s", rows)
        _columns_fit(measured, "job", rows, n)
        _ranges_fit(machine, measured, rows)
        _pointers_fit(measured, "neighbour_ptr", rows, neighbours)
        _columns_fit(measured, "part", neighbours)
        _columns_fit(measured, "neighbour", neighbours, n)


def _columns_fit(of: object, names: str, length: int, end: int | None = None) -> None:
    """Check the length of columns, and that they have whole numbers below an end."""
    for name in names.split():
        values = getattr(of, name)
        if values.shape != (length,):
            raise ValueError(f"{name}: {values.shape} where ({length},) was expected")
        if end is not None and len(values) and (values.min() < 0 or values.max() >= end):
            raise ValueError(f"{name}: {values.min()} to {values.max()}; must be 0 to {end - 1}")


def _ranges_fit(machine: ArchivedMachine, of: ArchivedSchedule | ArchivedMeasured, n: int) -> None:
    _columns_fit(of, "range_first range_length", len(of.range_first), machine.n_nodes + 1)
    _pointers_fit(of, "range_ptr", n, len(of.range_first))
    ends = of.range_first.astype(np.int64) + of.range_length
    if len(ends) and (of.range_length.min() < 1 or ends.max() > machine.n_nodes):
        raise ValueError(f"a range of no nodes, or of nodes above {machine.n_nodes - 1}")


def _pointers_fit(of: object, name: str, n: int, total: int) -> None:
    _columns_fit(of, name, n + 1)
    values = getattr(of, name)
    if values[0] != 0 or values[-1] != total or (np.diff(values) < 0).any():
        raise ValueError(f"{name} does not lead from 0 up to {total}")
