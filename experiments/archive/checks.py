"""Checks that an archive is consistent: lengths, references, order; drawing relies on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.archive.values import (
    ArchivedMachine,
    ArchivedMeasured,
    ArchivedRun,
    ArchivedSchedule,
)


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
        for name in ("snapshot", "time_s", "yardstick_s", "alone_s"):
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
