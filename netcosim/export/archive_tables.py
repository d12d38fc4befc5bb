"""What a run kept, as tables: jobs, links, neighbours, the queue over time, groups of the machine.

Every table has the policy as its first column, and units in column names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from netcosim.archive.values import (
    ArchivedLinks,
    ArchivedMachine,
    ArchivedMeasured,
    ArchivedRun,
    ArchivedSchedule,
    over_time_columns,
)
from netsim.packet.model import PS_PER_S
from queuesim.result import OUTCOMES

if TYPE_CHECKING:
    import pandas as pd

Columns = dict[str, Any]


def archive_frames(run: ArchivedRun, names: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """Return tables of a run by name (all by default); those without rows are left out.

    - ``kept_jobs``: a row a policy and job. ``nodes`` are ranges in the order of the job's ranks,
      ``stretch`` the mean over its snapshots of communication time over the isolated baseline.
    - ``kept_over_time``: busy nodes and the queue's length from each instant to the next.
    - ``kept_links``: counters of every link at every snapshot; ends are nodes or routers.
    - ``kept_groups``: the load of the links that leave each group's routers, by snapshot and kind.
    - ``kept_measured``: every measured job at its snapshot: its nodes there, its communication
      time, the isolated baseline, and its time in an isolated run on the same nodes.
    - ``kept_neighbours``: jobs that send over the links of such a job, and their share of it.
    """
    found = {name: _over_policies(run, TABLES[name]) for name in names or TABLES}
    return {name: frame for name, frame in found.items() if len(frame)}


def _over_policies(
    run: ArchivedRun, make: Callable[[ArchivedRun, ArchivedSchedule], Columns]
) -> pd.DataFrame:
    import pandas as pd

    frames = []
    for policy, schedule in run.schedules.items():
        columns = make(run, schedule)
        if columns:
            frame = pd.DataFrame(columns)
            frame.insert(0, "policy", policy)
            frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def jobs_columns(run: ArchivedRun, schedule: ArchivedSchedule) -> Columns:
    """Return the jobs of one policy, in the order of their submission."""
    jobs = run.jobs
    return {
        "job_id": jobs.job_id,
        "user": jobs.user,
        "submit_s": jobs.submit_s,
        "eligible_s": schedule.eligible_s,
        "start_s": schedule.start_s,
        "end_s": schedule.end_s,
        "wait_s": schedule.start_s - jobs.submit_s,
        "turnaround_s": schedule.end_s - jobs.submit_s,
        "log_run_time_s": jobs.run_time_s,
        "requested_s": jobs.requested_s,
        "n_nodes": jobs.n_nodes,
        "allocated_nodes": schedule.allocated_nodes,
        "nodes": [ranges(schedule, i) for i in range(len(jobs))],
        "pattern": named(jobs.patterns, jobs.pattern),
        "communication_fraction": jobs.fraction,
        "stretch": mean_stretch(run, schedule),
        "outcome": named(OUTCOMES, schedule.outcome),
    }


def ranges(schedule: ArchivedSchedule | ArchivedMeasured, job: int) -> str:
    """Format a job's (or measured row's) nodes as ranges in the order of ranks: "0-3 7"."""
    own = slice(schedule.range_ptr[job], schedule.range_ptr[job + 1])
    return format_ranges(schedule.range_first[own], schedule.range_length[own])


def format_ranges(firsts: np.ndarray, lengths: np.ndarray) -> str:
    """Format ranges by their first nodes and lengths: "0-3 7"."""
    return " ".join(
        f"{first}-{first + length - 1}" if length > 1 else f"{first}"
        for first, length in zip(firsts.tolist(), lengths.tolist(), strict=True)
    )


def named(names: tuple[str, ...], index: np.ndarray) -> list[str]:
    """Return names by their positions; empty for a position that no name has."""
    return [names[i] if 0 <= i < len(names) else "" for i in index.tolist()]


def mean_stretch(run: ArchivedRun, schedule: ArchivedSchedule) -> np.ndarray:
    """Return each job's mean of communication time over baseline, (n,); nan if not measured."""
    measured = schedule.measured
    total, count = np.zeros(len(run.jobs)), np.zeros(len(run.jobs))
    if measured is not None:
        np.add.at(total, measured.job, measured.time_s / measured.baseline_s)
        np.add.at(count, measured.job, 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count)


def links_columns(run: ArchivedRun, schedule: ArchivedSchedule) -> Columns:
    """Return every link at every snapshot."""
    links, machine = schedule.links, run.machine
    if links is None or not len(links.number):
        return {}
    n_snapshots, n_links = links.packets.shape
    names = vertex_names(machine)
    each = np.tile(np.arange(n_links), n_snapshots)
    return {
        "snapshot": np.repeat(links.number, n_links),
        "time_s": np.repeat(links.time_s, n_links),
        "link": each,
        "src": names[machine.link_src[each]],
        "dst": names[machine.link_dst[each]],
        "kind": np.array(machine.kinds, dtype=object)[machine.link_kind[each]],
        "bandwidth_Bps": machine.link_bandwidth_Bps[each],
        "packets": links.packets.ravel(),
        "bytes": links.bytes.ravel(),
        "busy_s": links.busy_ps.ravel() / PS_PER_S,
        "busy_share": (links.busy_ps / PS_PER_S / _spans(links)).ravel(),
        "stall_s": links.stall_ps.ravel() / PS_PER_S,
    }


def vertex_names(machine: ArchivedMachine) -> np.ndarray:
    """Name a topology's vertices: its nodes (and their ports, if several), then its routers."""
    ports = len(machine.port_router)
    nodes = machine.node_names or tuple(f"node {i}" for i in range(machine.n_nodes))
    at = [
        nodes[i // machine.rails] + (f" port {i % machine.rails}" if machine.rails > 1 else "")
        for i in range(ports)
    ]
    return np.array([*at, *(f"router {i}" for i in range(len(machine.router_group)))], dtype=object)


def _spans(links: ArchivedLinks) -> np.ndarray:
    """Return the simulated seconds of each snapshot, none of them 0, (s, 1)."""
    return np.maximum(links.span_s, 1 / PS_PER_S)[:, None]


def link_groups(machine: ArchivedMachine) -> np.ndarray:
    """Return each link's group: of its sending router, or of its sending node's, (n_links,)."""
    of_vertex = np.concatenate([machine.router_group[machine.port_router], machine.router_group])
    return np.asarray(of_vertex[machine.link_src])


def groups_columns(run: ArchivedRun, schedule: ArchivedSchedule) -> Columns:
    """Return the load of the links by the group that they leave, by snapshot and kind."""
    links, machine = schedule.links, run.machine
    if links is None or not len(links.number):
        return {}
    n_kinds = len(machine.kinds)
    where = link_groups(machine) * n_kinds + machine.link_kind
    places, index = np.unique(where, return_inverse=True)
    count = np.bincount(index)
    share = links.busy_ps / PS_PER_S / _spans(links)

    def summed(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.bincount(index, weights=row) for row in values])

    most = np.zeros((len(links.number), len(places)))
    for row, values in zip(most, share, strict=True):
        np.maximum.at(row, index, values)
    times = len(links.number)
    return {
        "snapshot": np.repeat(links.number, len(places)),
        "time_s": np.repeat(links.time_s, len(places)),
        "group": np.tile(np.array(machine.group_names, dtype=object)[places // n_kinds], times),
        "kind": np.tile(np.array(machine.kinds, dtype=object)[places % n_kinds], times),
        "links": np.tile(count, times),
        "bytes": summed(links.bytes).astype(np.int64),
        "busy_share": summed(share) / np.tile(count, times),
        "busiest_share": most.ravel(),
        "stall_s": summed(links.stall_ps / PS_PER_S),
    }


def measured_columns(run: ArchivedRun, schedule: ArchivedSchedule) -> Columns:
    """Return jobs at snapshots with their nodes at that time."""
    measured = schedule.measured
    if measured is None or not len(measured.job):
        return {}
    return {
        "snapshot": measured.snapshot,
        "job_id": run.jobs.job_id[measured.job],
        "nodes": [ranges(measured, i) for i in range(len(measured.job))],
        "time_s": measured.time_s,
        "baseline_s": measured.baseline_s,
        "alone_s": measured.alone_s,
    }


def neighbours_columns(run: ArchivedRun, schedule: ArchivedSchedule) -> Columns:
    """Return the jobs that send over the links of each measured job."""
    measured = schedule.measured
    if measured is None or not len(measured.neighbour):
        return {}
    rows = np.repeat(np.arange(len(measured.job)), np.diff(measured.neighbour_ptr))
    return {
        "snapshot": measured.snapshot[rows],
        "job_id": run.jobs.job_id[measured.job[rows]],
        "neighbour_job_id": run.jobs.job_id[measured.neighbour],
        "part": measured.part,
    }


TABLES: Mapping[str, Callable[[ArchivedRun, ArchivedSchedule], Columns]] = {
    "kept_jobs": jobs_columns,
    "kept_over_time": over_time_columns,
    "kept_links": links_columns,
    "kept_groups": groups_columns,
    "kept_measured": measured_columns,
    "kept_neighbours": neighbours_columns,
}
"""Tables of one policy, by the name of their file."""
