"""Observables of locality: how many domains of the machine each job spans, and the least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import switch_levels
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topologies.spans import domains_spanned, least_domains
from queuesim.observables.jobs import BINS, by_size
from queuesim.observables.registry import Observable
from queuesim.result import QueueResult, Rows

MOST_JOBS = 1500
"""Number of jobs that "locality" reports, evenly spaced over the log."""


@dataclass(frozen=True, eq=False)
class Locality:
    """Domains that jobs span, level by level from top to bottom; the whole machine is left out."""

    levels: tuple[str, ...]
    """The last one's domains are the switches that schedulers count."""
    spanned: NDArray[np.int64]
    """(n_levels, n) int64."""
    least: NDArray[np.int64]
    """(n_levels, n) int64. The fewest that could hold as many nodes on the empty machine."""


def locality(result: QueueResult) -> Locality:
    """Return the domains that each job of a schedule spans.

    Raises
    ------
    NetcosimError
        A schedule without placements.
    """
    kept = result.placements
    if kept is None:
        raise NetcosimError("locality needs placements: simulate with keep_placements=True")
    h = hierarchy_of(result.topology)
    if len(h.levels) > 2:
        h = switch_levels(result.topology)
    spanned = domains_spanned(h, kept.nodes, kept.node_ptr)
    least = least_domains(h, np.diff(kept.node_ptr))
    # a machine that is one domain has no other level to report
    first = min(1, len(h.levels) - 1)
    return Locality(h.levels[first:], spanned[first:], least[first:])


def switches(result: QueueResult) -> Rows:
    """Return the domains that jobs span by level and job size, beside the fewest possible."""
    found = locality(result)
    return [
        {
            "level": level,
            "bin": name,
            "jobs": int(mine.sum()),
            "mean_spanned": float(spanned[mine].mean()),
            "median_spanned": float(np.median(spanned[mine])),
            "most_spanned": int(spanned[mine].max()),
            "mean_least": float(least[mine].mean()),
            "above_least": float(np.mean(spanned[mine] > least[mine])),
        }
        for level, spanned, least in zip(found.levels, found.spanned, found.least, strict=True)
        for name, mine in by_size(result.workload.n_nodes, BINS)
    ]


def jobs_locality(result: QueueResult) -> Rows:
    """Return the domains that each job spans at each level, and the fewest possible."""
    found = locality(result)
    n = len(result)
    some = np.unique(np.linspace(0, n - 1, min(n, MOST_JOBS)).astype(np.int64))
    return [
        {
            "job_id": int(result.workload.job_id[i]),
            "level": level,
            "nodes": int(result.workload.n_nodes[i]),
            "spanned": int(found.spanned[row, i]),
            "least": int(found.least[row, i]),
        }
        for i in some
        for row, level in enumerate(found.levels)
    ]


OBSERVABLES = (
    Observable(
        "switches",
        "domains (switches, groups, ...) that jobs span by level and job size, the least",
        switches,
    ),
    Observable(
        "locality",
        "nodes, domains spanned and fewest possible of 1500 jobs at each level",
        jobs_locality,
    ),
)
