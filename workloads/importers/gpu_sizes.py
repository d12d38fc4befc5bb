"""Sizes of the jobs of GPU clusters: in GPUs, or in entire nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from netsim.parameters import OneOf
from workloads.job import GPU, UNITS

if TYPE_CHECKING:
    from workloads.importers.logged import ParsedLog


SizeUnit = Annotated[
    str,
    "unit of a job's size where the log has GPUs: node (entire nodes), or gpu (a GPU is a node of "
    "the machines of family gpu-cluster)",
    OneOf(UNITS),
]
GpusPerNode = Annotated[int, "GPUs of a node, where the log has only GPUs", Ge(1)]


def count_by(parsed: ParsedLog, unit: str, gpus_per_node: int) -> None:
    """Set the sizes of all jobs in one of `UNITS`; those without a GPU are left out and counted.

    A job with GPUs but no nodes has as few nodes as hold them.
    """
    left, parts = [], 0
    for job in parsed.jobs:
        if not job.gpus:
            parsed.dropped["no GPU"] += 1
            continue
        nodes = job.nodes or -(-job.gpus // gpus_per_node)
        parts += job.gpus < nodes * gpus_per_node
        if unit == GPU:
            # lists of servers name no GPUs, and jobs on one server share none of them
            job.nodes, job.hosts, job.cpus = job.gpus, "", 0
        else:
            job.nodes = nodes
        left.append(job)
    parsed.jobs = left
    if unit == GPU:
        parsed.notes.append("sizes of jobs are GPUs")
    else:
        parsed.notes.append(
            f"sizes of jobs are entire nodes; {parts:,} jobs have fewer than {gpus_per_node} GPUs "
            'on a node, and each has exclusive nodes here (size_unit = "gpu" counts GPUs)'
        )
