"""Jobs that share nodes with others: in the network model, nodes are exclusive."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from workloads.details import NodeLists
from workloads.importers.logged import LoggedJob

SHARED = ("refuse", "drop", "whole")
"""Stop; leave out all jobs that share; give each of them its nodes as if they were its own."""

SharedNodes = Annotated[str, "jobs that share nodes with others", OneOf(SHARED)]
CoresPerNode = Annotated[
    int | None, "a job with fewer on its nodes shares them; else node lists decide", Ge(1)
]


def shared_nodes(
    jobs: list[LoggedJob],
    node_list: NodeLists | None,
    path: str | Path,
    shared: str,
    cores_per_node: int | None,
    dropped: Counter[str],
    notes: list[str],
) -> tuple[list[LoggedJob], NodeLists | None]:
    """Return the jobs that are to be used, where some share nodes.

    ``shared`` is one of `SHARED`. Counts and notes of what was done are added to ``dropped`` and
    ``notes``.
    """
    share, example = _sharing(jobs, node_list, cores_per_node, notes)
    count = int(share.sum())
    if count == 0:
        return jobs, node_list
    if shared == "refuse":
        raise NetcosimError(
            f"{path}: {count:,} of {len(jobs):,} jobs share nodes with others ({example}), and a "
            'job here has exclusive nodes; shared_nodes = "drop" leaves them out, "whole" takes '
            "their nodes for their own (netcosim trace import ... --shared-nodes drop)"
            + ('; size_unit = "gpu" counts GPUs' if any(job.gpus for job in jobs) else "")
        )
    if shared == "whole":
        notes.append(f"{count:,} jobs share nodes with others; each is given exclusive nodes")
        return jobs, node_list
    dropped["shares nodes with other jobs"] += count
    left = [job for job, out in zip(jobs, share, strict=True) if not out]
    if not left:
        raise NetcosimError(f"{path}: all {count:,} jobs share nodes with others ({example})")
    return left, None if node_list is None else node_list.take(~share)


def _sharing(
    jobs: list[LoggedJob],
    node_list: NodeLists | None,
    cores_per_node: int | None,
    notes: list[str],
) -> tuple[NDArray[np.bool_], str]:
    """Return which jobs share nodes, and an example.

    Two jobs on a node at the same time share it; so does a job with fewer cores on its nodes,
    whatever its node list. A job that was suspended while others ran on its nodes is shortened to
    the time in which it ran.
    """
    share = np.zeros(len(jobs), dtype=np.bool_)
    example = ""
    if node_list is not None:
        start_s = np.array([job.start_s for job in jobs])
        end_s = np.array([job.end_s for job in jobs])
        share, pair = overlapping(node_list, start_s, end_s)
        sliced = share & np.array([job.suspended_s > 0 for job in jobs])
        if sliced.any():
            for k in np.flatnonzero(sliced).tolist():
                jobs[k].end_s = max(jobs[k].end_s - jobs[k].suspended_s, jobs[k].start_s + 1)
            share, pair = overlapping(node_list.without(sliced), start_s, end_s)
            notes.append(
                f"{int(sliced.sum()):,} of them while others ran on their nodes: these run for the "
                "time in which they were not suspended"
            )
        if pair is not None:
            node, one, other = pair
            example = f"jobs {jobs[one].id} and {jobs[other].id} on {node_list.names[node]}"
    if cores_per_node is not None:
        few = np.array([0 < job.cpus < job.nodes * cores_per_node for job in jobs])
        if few.any() and not example:
            job = jobs[int(np.argmax(few))]
            example = f"job {job.id} has {job.cpus} cores on {job.nodes} nodes"
        share = share | few
    return share, example


def overlapping(
    node_list: NodeLists, start_s: NDArray[np.float64], end_s: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], tuple[int, int, int] | None]:
    """Return which jobs are on a node while another is, and one example: the node and two jobs."""
    job = np.repeat(np.arange(len(node_list)), np.diff(node_list.ptr))
    share = np.zeros(len(node_list), dtype=np.bool_)
    if len(job) < 2:
        return share, None
    order = np.lexsort((start_s[job], node_list.index))
    job, node = job[order], node_list.index[order].astype(np.float64)
    # nodes one after the other on one axis of time, so that one running maximum serves them all
    begin_s = start_s.min()
    span_s = end_s.max() - begin_s + 1
    start = start_s[job] - begin_s + node * span_s
    end = end_s[job] - begin_s + node * span_s
    last_end = np.maximum.accumulate(end)
    new = np.concatenate(([True], end[1:] > last_end[:-1]))
    whose = np.maximum.accumulate(np.where(new, np.arange(len(end)), 0))
    over = np.flatnonzero(start[1:] < last_end[:-1] - 1e-3) + 1
    if not len(over):
        return share, None
    share[job[over]] = True
    share[job[whose[over - 1]]] = True
    first = int(over[0])
    return share, (int(node[first]), int(job[whose[first - 1]]), int(job[first]))
