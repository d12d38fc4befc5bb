"""Build the archive of a run from its result."""

from __future__ import annotations

from collections.abc import Sequence

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
from netcosim.runs.cosim_result import CosimResult
from netsim.kinds import need_kinds
from netsim.layout import layout_of
from netsim.topology import Topology
from queuesim.result import QueueResult

IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
_OF_JOBS = ("start_unix_s", "job_id", "submit_s", "run_time_s", "requested_s", "n_nodes", "user")
_OF_MACHINE = (
    *("name", "family", "rails", "port_router", "link_src", "link_dst", "link_kind"),
    *("link_bandwidth_Bps", "kinds", "node_names"),
)
_OF_LINKS = ("packets", "bytes", "busy_ps", "stall_ps")
"""What is archived by the name that it has."""
_NO_NODES = np.empty(0, dtype=np.int32)


def archive_of(result: CosimResult) -> ArchivedRun:
    """Return everything of a run that can be drawn or analysed later.

    Parameters
    ----------
    result : CosimResult

    Examples
    --------
    >>> import netcosim as nc
    >>> config = nc.config_from(
    ...     {
    ...         "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    ...         "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...         "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged"},
    ...         "run": {"snapshots": 2},
    ...     }
    ... )
    >>> kept = nc.archive_of(nc.run_cosim(config))
    >>> kept.schedules["simple"].nodes_of(0)
    array([0, 1, 2, 3])
    """
    need_kinds("archive_of", {"result": (result, CosimResult)})
    jobs = result.workload
    return ArchivedRun(
        machine_of(result.machine.topology),
        ArchivedJobs(
            log=jobs.name,
            **{name: getattr(jobs, name) for name in _OF_JOBS},
            pattern=result.share.astype(np.int16),
            fraction=result.fraction,
            patterns=tuple(entry.pattern for entry in result.config.communication.mix),
        ),
        {name: _schedule(result, name, one) for name, one in result.schedules.items()},
    )


def machine_of(topology: Topology) -> ArchivedMachine:
    """Return the archived part of a machine."""
    drawn = layout_of(topology)
    return ArchivedMachine(
        **{name: getattr(topology, name) for name in _OF_MACHINE},
        router_x=drawn.x,
        router_y=drawn.y,
        router_group=drawn.group,
        group_names=drawn.group_names,
    )


def _schedule(result: CosimResult, name: str, schedule: QueueResult) -> ArchivedSchedule:
    archive = schedule.placements
    if archive is None:
        places = _ranges(np.zeros(len(schedule) + 1, dtype=np.int64), _NO_NODES)
    else:
        places = _ranges(archive.node_ptr, archive.nodes)
    return ArchivedSchedule(
        schedule.start_s,
        schedule.end_s,
        schedule.eligible_s,
        schedule.outcome,
        schedule.allocated_nodes,
        *places,
        links=_links(result, name),
        measured=_measured(result, name),
    )


def ranges(placements: Sequence[IntArray]) -> tuple[LongArray, IntArray, IntArray]:
    """Return the nodes of several placements as ranges of consecutive nodes: ptr, first and length.

    Placement i has ``length[k]`` nodes from ``first[k]`` on, for k in ``ptr[i]:ptr[i + 1]``.
    """
    ptr = np.cumsum([0, *(len(nodes) for nodes in placements)])
    return _ranges(ptr, np.concatenate([np.empty(0, dtype=np.int32), *placements]))


def _ranges(ptr: LongArray, nodes: IntArray) -> tuple[LongArray, IntArray, IntArray]:
    begins = np.ones(len(nodes), dtype=bool)
    begins[1:] = np.diff(nodes) != 1
    begins[ptr[:-1][np.diff(ptr) > 0]] = True
    at = np.flatnonzero(begins)
    length = np.diff(np.append(at, len(nodes)))
    return np.searchsorted(at, ptr), nodes[at].astype(np.int32), length.astype(np.int32)


def _links(result: CosimResult, name: str) -> ArchivedLinks | None:
    measured = result.measured.get(name)
    if measured is None or measured.instant_s is None or not measured.packets:
        return None
    numbers = np.unique(measured.snapshot).astype(np.int32)
    runs = measured.packets
    return ArchivedLinks(
        time_s=measured.instant_s[numbers],
        number=numbers,
        span_s=np.array([run.end_ps for run in runs]) * 1e-12,
        **{name: np.array([getattr(run, f"link_{name}") for run in runs]) for name in _OF_LINKS},
    )


def _measured(result: CosimResult, name: str) -> ArchivedMeasured | None:
    measured = result.measured.get(name)
    if measured is None or result.study is None:
        return None
    study = result.study
    sides = {n: study.at(n).sides[name] for n in np.unique(measured.snapshot).tolist()}
    near = result.neighbours.get(name)
    none = np.full(len(measured.job), np.nan)
    sizes = study.sides[name].schedule.workload.n_nodes
    return ArchivedMeasured(
        measured.snapshot.astype(np.int32),
        measured.job,
        measured.time_s,
        measured.baseline_s,
        (none if measured.alone_s is None else measured.alone_s) if near is None else near.alone_s,
        *ranges(
            [
                sides[s].placement(j).nodes[: sizes[j]]
                for s, j in zip(measured.snapshot.tolist(), measured.job.tolist(), strict=True)
            ]
        ),
        neighbour_ptr=np.zeros(len(none) + 1, dtype=np.int64) if near is None else near.ptr,
        neighbour=np.empty(0, dtype=np.int64) if near is None else near.job,
        part=np.empty(0) if near is None else near.part,
    )
