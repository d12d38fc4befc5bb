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

from experiments.archive.checks import check
from experiments.archive.values import (
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

_TYPES: dict[str, type[np.generic]] = {
    "FloatArray": np.float64,
    "LongArray": np.int64,
    "IntArray": np.int32,
    "NDArray[np.int8]": np.int8,
    "NDArray[np.int16]": np.int16,
    "NDArray[np.float32]": np.float32,
}
"""The columns' types, by what `experiments.archive.values` calls them."""

Archived = TypeVar(
    "Archived", ArchivedMachine, ArchivedJobs, ArchivedLinks, ArchivedMeasured, ArchivedSchedule
)


def serialize(archive: ArchivedRun) -> dict[str, bytes]:
    """The archives of a run, by name: "run", "machine", "jobs", "schedule 0", "links 0", ...

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
    """A run from its archives.

    Parameters
    ----------
    archives : mapping
        From `serialize`.
    where : str
        Where they come from, for errors.

    Raises
    ------
    NetcosimError
        An archive that is missing or damaged.
    """
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
    np.savez_compressed(buffer, **columns)
    return buffer.getvalue()


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Convert whole numbers to the smallest type that holds them; leave all else unchanged."""
    if values.dtype.kind != "i" or not values.size:
        return values
    return values.astype(
        np.promote_types(*(np.min_scalar_type(int(v)) for v in (values.min(), values.max())))
    )


def _read(kind: type[Archived], data: bytes, **parts: object) -> Archived:
    """A value from its archive.

    Raises
    ------
    KeyError, ValueError, TypeError, OSError, zipfile.BadZipFile, zlib.error
        A damaged archive.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"an archive of more than {MOST_BYTES:,} bytes")
    columns = _columns(kind)
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {name: found[name].astype(of, casting="same_kind") for name, of in columns.items()}
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
