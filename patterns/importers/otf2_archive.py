"""OTF2 archives, what Score-P writes of MPI programs, read by the format's own library."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from netsim.files import check_file
from patterns.importers.mpi_goal import Converted, MpiEvent, mpi_goal

_MARK = b"OTF2"
_SIMPLE = {
    "MpiSend": ("send", "receiver"),
    "MpiIsend": ("isend", "receiver"),
    "MpiRecv": ("recv", "sender"),
    "MpiIrecv": ("irecv", "sender"),
}


def otf2_goal(
    path: str | Path, compute_scale: float = 1.0, leave_out: tuple[str, ...] = ()
) -> Converted:
    """Return the schedule of an archive, ``traces.otf2``, as `mpi_goal` makes it."""
    check_file(path)
    with Path(path).open("rb") as file:
        if _MARK not in file.read(8):
            raise NetcosimError(f"{path}: not an OTF2 archive (its anchor file, traces.otf2)")
    try:
        import otf2
    except ImportError:
        raise NetcosimError(
            f"{path}: OTF2 needs the otf2 library, which is not installed; pip install "
            '"netcosim[otf2]" brings it'
        ) from None
    try:
        with _quiet():
            ranks, comms, left_out = _read(otf2, str(path))
    except NetcosimError as error:
        raise NetcosimError(f"{path}: {error}") from None
    except (
        Exception
    ) as error:  # the library and its tables raise any exception for a truncated file
        reason = " ".join(str(error).split()) or type(error).__name__
        raise NetcosimError(
            f"{path}: the OTF2 library cannot read this archive ({reason[:80]}); a complete "
            "archive has traces.def and a folder traces beside traces.otf2"
        ) from None
    try:
        made = mpi_goal(ranks, comms, compute_scale, leave_out)
    except NetcosimError as error:
        raise NetcosimError(f"{path}: {error}") from None
    return replace(made, left_out=left_out + made.left_out)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress messages of the C library on stderr: its errors are also raised."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _read(
    otf2: Any, path: str
) -> tuple[list[list[MpiEvent]], dict[int, tuple[int, ...]], Counter[str]]:
    """Return each rank's events, each communicator's members, and counts of other records."""
    left_out: Counter[str] = Counter()
    with otf2.reader.open(path) as trace:
        definitions = trace.definitions
        mpi = [
            group
            for group in definitions.groups
            if group.paradigm == otf2.Paradigm.MPI
            and group.group_type == otf2.GroupType.COMM_LOCATIONS
        ]
        if not mpi:
            raise NetcosimError("the archive names no MPI ranks")
        rank_of = {id(location): rank for rank, location in enumerate(mpi[0].members)}
        comm_of: dict[int, int] = {}
        comms: dict[int, tuple[int, ...]] = {}
        for i, comm in enumerate(definitions.comms):
            if comm.group.paradigm == otf2.Paradigm.MPI:
                comm_of[id(comm)] = i
                comms[i] = tuple(rank_of[id(location)] for location in comm.group.members)
        ranks: list[list[MpiEvent]] = [[] for _ in rank_of]
        start: int | None = None
        for location, event in trace.events:
            name = type(event).__name__
            if name.startswith(("Rma", "MpiRequestCancelled")):
                left_out["one-sided operations" if name[0] == "R" else "requests cancelled"] += 1
                continue
            start = event.time if start is None else start
            time_ns = (event.time - start) * 1e9 / trace.timer_resolution
            made = _event(otf2, name, event, time_ns, comm_of)
            if made is None:
                continue
            rank = rank_of.get(id(location))
            if rank is None:
                left_out["events of threads that are no MPI rank"] += 1
            else:
                ranks[rank].append(made)
    return ranks, comms, left_out


def _event(
    otf2: Any, name: str, event: Any, time_ns: float, comm_of: dict[int, int]
) -> MpiEvent | None:
    """Convert an event of the archive; None for one without MPI."""
    if name in ("Enter", "Leave"):
        if event.region.paradigm != otf2.Paradigm.MPI:
            return None
        return MpiEvent(name.lower(), time_ns)
    if name == "MpiIsendComplete":
        return MpiEvent("isend-done", time_ns, request=event.request_id)
    if name == "MpiIrecvRequest":
        return MpiEvent("irecv-posted", time_ns, request=event.request_id)
    collective = name in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete")
    if name not in _SIMPLE and not collective:
        return None
    comm = comm_of.get(id(event.communicator))
    if comm is None:
        raise NetcosimError(
            f"{name} on {event.communicator.name!r}, which is no MPI communicator inside one group"
        )
    if not collective:
        kind, peer = _SIMPLE[name]
        return MpiEvent(
            kind,
            time_ns,
            comm,
            int(getattr(event, peer)),
            int(event.msg_length),
            tag=int(event.msg_tag),
            request=getattr(event, "request_id", -1),
        )
    # "CollectiveOp.ALLREDUCE"; those that do not block are kinds of their own.
    operation = str(event.collective_op).rpartition(".")[2].lower()
    return MpiEvent(
        "collective",
        time_ns,
        comm,
        int(event.root),
        int(event.size_sent),
        int(event.size_received),
        name=operation if name == "MpiCollectiveEnd" else f"i{operation}",
    )
