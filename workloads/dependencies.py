"""Jobs that wait for jobs: as text, and whether they wait for each other."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from netsim.errors import NetcosimError
from workloads.details import DEPENDENCY_KINDS
from workloads.job import Workload


def parse_dependency(text: str) -> list[tuple[str, str]]:
    """Return the pairs of kind and job of "afterok:12:13,after:9", as Slurm writes it.

    Examples
    --------
    >>> parse_dependency("afterok:12:13,after:9")
    [('afterok', '12'), ('afterok', '13'), ('after', '9')]
    """
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        kind, *jobs = part.split(":")
        if kind not in DEPENDENCY_KINDS or not jobs or not all(jobs):
            raise NetcosimError(
                f"dependency {text[:60]!r}; {', '.join(DEPENDENCY_KINDS)} are known, as in "
                '"afterok:12:13,after:9"'
            )
        pairs += [(kind, job) for job in jobs]
    return pairs


def dependency_text(pairs: list[tuple[str, int]]) -> str:
    """Format dependencies for `parse_dependency`; consecutive jobs of one kind are grouped."""
    parts: list[list[str]] = []
    for kind, job in pairs:
        if parts and parts[-1][0] == kind:
            parts[-1].append(str(job))
        else:
            parts.append([kind, str(job)])
    return ",".join(":".join(part) for part in parts)


def refuse_cycles(workload: Workload, where: str | Path) -> None:
    """Raise an error that names the log if jobs wait for each other."""
    cycle = find_cycle(workload)
    if cycle:
        shown = [str(job) for job in cycle] if len(cycle) < 9 else [*map(str, cycle[:8]), "..."]
        ring = " -> ".join([*shown, str(cycle[0])])
        raise NetcosimError(f"{where}: jobs that wait for each other never start: {ring}")


def find_cycle(workload: Workload) -> list[int]:
    """Return ids of jobs that wait for each other in a cycle; empty if there is none."""
    dependency = workload.details.dependency
    if dependency is None or not len(dependency.job):
        return []
    job_ids = set(workload.job_id.tolist())
    graph = {
        int(workload.job_id[k]): [job for _, job in dependency[int(k)] if job in job_ids]
        for k in np.flatnonzero(dependency.known)
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        first_to_last: list[int] = error.args[1]
        return first_to_last[:0:-1]
    return []
