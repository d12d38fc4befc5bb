"""What the interactive views of a run are drawn from, packed for a page.

A part is the length of its head (4 bytes, little-endian), the head as JSON, then the columns one
after the other. ``assets/data.js`` reads it.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netcosim.archive.values import (
    ArchivedLinks,
    ArchivedMachine,
    ArchivedMeasured,
    ArchivedRun,
    ArchivedSchedule,
    FloatArray,
    LongArray,
)
from netcosim.report.figures.style import policy_colours

Column = NDArray[np.integer] | NDArray[np.floating] | NDArray[np.bool_]

WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.int32)
"""Kinds that whole numbers are kept in, the smallest first."""

LEVEL = 6
"""Of gzip: 9 takes five times as long for a few per cent."""


def packed(facts: Mapping[str, object], columns: Mapping[str, Column]) -> str:
    """Return facts, names and numbers as JSON has them, and columns of any length as Base64 text.

    Floats are kept to 7 digits, whole numbers exactly up to 2^53.
    """
    table, parts = [], []
    for name, column in columns.items():
        kept, steps = _smallest(column.ravel())
        table.append([name, kept.dtype.str[1:], len(kept), steps])
        parts.append(kept.astype(kept.dtype.newbyteorder("<")).tobytes())
    head = json.dumps({**facts, "columns": table}, ensure_ascii=True, allow_nan=False).encode()
    body = b"".join([len(head).to_bytes(4, "little"), head, *parts])
    return base64.b64encode(gzip.compress(body, LEVEL, mtime=0)).decode("ascii")


def _smallest(column: Column) -> tuple[NDArray[np.number], bool]:
    """Return the column in the smallest type that holds it, and whether it has steps."""
    if column.dtype.kind == "f":
        return column.astype(np.float32), False
    integers = column.astype(np.int64)
    steps = np.diff(integers, prepend=0)
    # what never falls is small as steps, and packs far better
    if len(integers) and integers[0] >= 0 and steps.min() >= 0:
        return _fitting(steps), True
    return _fitting(integers), False


def _fitting(integers: NDArray[np.int64]) -> NDArray[np.number]:
    low, high = int(integers.min(initial=0)), int(integers.max(initial=0))
    for kind in WHOLE:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return integers.astype(kind)
    return integers.astype(np.float64)


Loads = Mapping[str, LongArray]
"""Busy and stalled time of every cable by snapshot, by name; nothing where no packets were sent."""

NEVER = -1
"""Wait and run time of a job that never ran."""

BASELINE = "isolated baseline"
"""What a job's time is divided by, where the measure of a run is not known."""

LOAD_STEPS = 10_000
"""A share of the time is kept to a ten-thousandth."""


def parts_of(kept: ArchivedRun, baseline: str = BASELINE) -> list[str]:
    """Return base64 texts: what all policies share, then one a policy."""
    unit_s = time_unit_s(kept)
    cables = Cables(kept.machine)
    loads = {
        name: {} if schedule.links is None else _loads(schedule.links, cables)
        for name, schedule in kept.schedules.items()
    }
    return [
        _common(kept, unit_s, cables, loads.values(), baseline),
        *(_policy(kept, name, unit_s, load) for name, load in loads.items()),
    ]


def time_unit_s(kept: ArchivedRun) -> float:
    """Return the power of ten, in seconds, of stored times: a ten-millionth of the total or less.

    Examples
    --------
    The last of Thunder's jobs ends after 157 days: whole seconds.
    """
    return 10.0 ** math.floor(math.log10(_last_s(kept)) - 7)


def _last_s(kept: ArchivedRun) -> float:
    """Return when the last job of all schedules has ended, or was submitted if that is later.

    Raise ValueError for an end that is no time: a results file may come from anywhere.
    """
    ends = [s.end_s[~np.isnan(s.end_s)] for s in kept.schedules.values()]
    last = max(1e-9, *(float(times.max(initial=0.0)) for times in (*ends, kept.jobs.submit_s)))
    if not math.isfinite(last):
        raise ValueError(f"the last job ends at {last} s")
    return last


class Cables:
    """Pairs of routers that are joined, ``one`` and ``other``, and the worst link of each."""

    def __init__(self, machine: ArchivedMachine) -> None:
        ports = len(machine.port_router)
        self.first = machine.first_router_link
        ends = np.stack([machine.link_src[self.first :], machine.link_dst[self.first :]]) - ports
        low, high = ends.min(axis=0), ends.max(axis=0)
        pairs, cable = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
        self.one: LongArray = pairs[0].astype(np.int64)
        self.other: LongArray = pairs[1].astype(np.int64)
        self._order = np.argsort(np.ravel(cable), kind="stable")
        self._starts = np.searchsorted(np.ravel(cable)[self._order], np.arange(len(self.one)))

    def worst(self, links: ArrayLike) -> FloatArray:
        """Return the largest value, by row, of each cable's links, (s, n_cables) float64."""
        mine = np.asarray(links, dtype=np.float64)[:, self.first :][:, self._order]
        if not len(self.one) or not len(mine):
            return np.zeros((len(mine), len(self.one)))
        return np.maximum.reduceat(mine, self._starts, axis=1)


def _common(
    kept: ArchivedRun, unit_s: float, cables: Cables, loads: Iterable[Loads], baseline: str
) -> str:
    machine, jobs = kept.machine, kept.jobs
    colours = policy_colours(list(kept.schedules))
    facts = {
        "machine": machine.name,
        "log": jobs.log,
        "unit_s": unit_s,
        "last_end": _last_s(kept) / unit_s,
        "most": _most(loads),
        "nodes": machine.n_nodes,
        "baseline": baseline,
        "policies": list(kept.schedules),
        "colours": [colours[name] for name in kept.schedules],
        "patterns": list(jobs.patterns),
        "groups": list(machine.group_names),
        "node_names": list(machine.node_names),
    }
    columns: dict[str, Column] = {
        "job_id": jobs.job_id,
        "submit": _in_units(jobs.submit_s, unit_s),
        "n_nodes": jobs.n_nodes,
        "pattern": jobs.pattern,
        "node_router": machine.port_router[:: machine.rails],
        "router_x": _place(machine.router_x),
        "router_y": _place(machine.router_y),
        "router_group": machine.router_group,
        "cable_one": cables.one,
        "cable_other": cables.other,
    }
    return packed(facts, columns)


def _place(share: NDArray[np.float32]) -> LongArray:
    """Convert 0 to 1 to 0 to 65,535."""
    inside = np.clip(np.nan_to_num(share.astype(np.float64)), 0.0, 1.0)
    return np.rint(inside * 65535.0).astype(np.int64)


def _policy(kept: ArchivedRun, name: str, unit_s: float, load: Loads) -> str:
    schedule = kept.schedules[name]
    submit = _in_units(kept.jobs.submit_s, unit_s)
    start, end = _in_units(schedule.start_s, unit_s), _in_units(schedule.end_s, unit_s)
    never = np.isnan(schedule.start_s)
    columns: dict[str, Column] = {
        "wait": np.where(never, NEVER, np.maximum(start - submit, 0)),
        "run": np.where(never, NEVER, np.maximum(end - start, 0)),
        "ranges": np.diff(schedule.range_ptr),
        "range_first": schedule.range_first,
        "range_length": schedule.range_length,
    }
    facts: dict[str, object] = {"policy": name, "snapshots": []}
    links, measured = schedule.links, schedule.measured
    if links is not None or measured is not None:
        numbers, times = _snapshots(links, measured)
        facts["snapshots"] = [
            [number, None if math.isnan(time) else time]
            for number, time in zip(numbers.tolist(), times.tolist(), strict=True)
        ]
        facts["same"] = _is_of(schedule, numbers, times)
        columns |= _load(facts, links, numbers, load)
        columns |= _measured(measured, numbers)
    return packed(facts, columns)


def _in_units(time_s: FloatArray, unit_s: float) -> LongArray:
    return np.rint(np.nan_to_num(time_s) / unit_s).astype(np.int64)


def _snapshots(
    links: ArchivedLinks | None, measured: ArchivedMeasured | None
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return numbers of a policy's snapshots, ascending, and their instants; nan if unknown."""
    found = [] if links is None else [links.number]
    found += [] if measured is None else [measured.snapshot]
    numbers = np.unique(np.concatenate(found)).astype(np.int64)
    times = np.full(len(numbers), np.nan)
    if links is not None:
        times[np.searchsorted(numbers, links.number)] = links.time_s
    return numbers, times


def _is_of(schedule: ArchivedSchedule, numbers: NDArray[np.int64], times: FloatArray) -> bool:
    """Return whether all measured jobs run on their nodes at that instant in the stored schedule.

    With run times that are measured they were sent as they ran with logged ones.
    """
    measured = schedule.measured
    if measured is None:
        return True
    at = times[np.searchsorted(numbers, measured.snapshot)]
    known = ~np.isnan(at)
    job = measured.job[known]
    runs = (schedule.start_s[job] <= at[known]) & (at[known] < schedule.end_s[job])
    return bool(runs.all()) and all(
        _within(measured, row, schedule, job) for row, job in enumerate(measured.job.tolist())
    )


def _within(measured: ArchivedMeasured, row: int, schedule: ArchivedSchedule, job: int) -> bool:
    """Return whether a measured job was on nodes that it has in the schedule."""
    mine = slice(measured.range_ptr[row], measured.range_ptr[row + 1])
    first = measured.range_first[mine].astype(np.int64)
    last = first + measured.range_length[mine] - 1
    ends = np.stack([first, last]).ravel()
    return bool(np.isin(ends, schedule.nodes_of(job)).all())


def _load(
    facts: dict[str, object],
    links: ArchivedLinks | None,
    numbers: NDArray[np.int64],
    load: Loads,
) -> dict[str, Column]:
    """Return the load of cables by snapshot, and each snapshot's row (-1: nothing was sent)."""
    row = np.full(len(numbers), -1, dtype=np.int64)
    facts["load"] = links is not None
    if links is None:
        return {"load_row": row}
    row[np.searchsorted(numbers, links.number)] = np.arange(len(links.number))
    return {"load_row": row, **load}


def _loads(links: ArchivedLinks, cables: Cables) -> Loads:
    """Return busy and stalled time of every cable over the time that packets took, by snapshot."""
    span_ps = np.where(links.span_s > 0, links.span_s, np.inf)[:, None] * 1e12
    return {
        name: np.rint(cables.worst(time_ps / span_ps) * LOAD_STEPS).astype(np.int64)
        for name, time_ps in (("busy", links.busy_ps), ("stalled", links.stall_ps))
    }


def _most(loads: Iterable[Loads]) -> dict[str, int]:
    """Return the largest load of all policies and snapshots: one scale for all."""
    most = {"busy": 0, "stalled": 0}
    for of_policy in loads:
        for name, load in of_policy.items():
            most[name] = max(most[name], int(load.max(initial=0)))
    return most


def _measured(measured: ArchivedMeasured | None, numbers: NDArray[np.int64]) -> dict[str, Column]:
    if measured is None:
        return {}
    return {
        "measured_snapshot": np.searchsorted(numbers, measured.snapshot),
        "measured_job": measured.job,
        "measured_time": measured.time_s,
        "measured_baseline": measured.baseline_s,
        "measured_alone": measured.alone_s,
        "measured_ranges": np.diff(measured.range_ptr),
        "measured_first": measured.range_first,
        "measured_length": measured.range_length,
        "neighbours": np.diff(measured.neighbour_ptr),
        "neighbour": measured.neighbour,
        "part": measured.part,
    }
