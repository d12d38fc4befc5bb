"""Every observable by name, for ``[run] observables``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from netsim.registry import Registry
from queuesim.observables.hops import hops, spread
from queuesim.observables.jobs import bins, classes, days, interrupted, needs, quantiles
from queuesim.observables.locality import jobs_locality, switches
from queuesim.observables.machine import minutes, ranges, runs, timing
from queuesim.result import QueueResult, Rows


@dataclass(frozen=True)
class Observable:
    """A statistic of a schedule."""

    registered_in: ClassVar[str] = "queuesim.observables.registry:OBSERVABLES"

    name: str
    description: str
    """One line."""
    rows: Callable[[QueueResult], Rows]
    """The rows of its table."""


OBSERVABLES: Registry[Observable] = Registry(
    "queuesim.observables.registry:OBSERVABLES",
    "observable",
    Observable,
    (
        Observable(
            "runs", "one row of metrics: waits, makespan, utilisations, jobs left out", runs
        ),
        Observable(
            "ranges",
            "starts and ends by range of utilisation, counted in five ways (Jigsaw, Table 2)",
            ranges,
        ),
        Observable("minutes", "quantiles of the utilisation every minute", minutes),
        Observable("timing", "wall-clock time of the policy and of the simulation", timing),
        Observable("bins", "waits and turnarounds by job size, 1 to more than 324 nodes", bins),
        Observable(
            "days", "sums over the jobs of each day of waits, slowdowns, lost capacity", days
        ),
        Observable("classes", "waits and slowdowns by size class of a Blue Gene machine", classes),
        Observable(
            "quantiles", "percentiles of waits and slowdowns by the same classes", quantiles
        ),
        Observable(
            "needs", "run times, waits and turnarounds by the bandwidth that jobs need", needs
        ),
        Observable(
            "interrupted",
            "jobs that were preempted or that failures sent back: lost work, restarts, checkpoints",
            interrupted,
        ),
        Observable("hops", "fat-trees: average pairwise hops by job size, and the least", hops),
        Observable("spread", "fat-trees: nodes, hops and least possible hops of 1500 jobs", spread),
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
    ),
)


def observed(schedules: Mapping[str, QueueResult], names: Sequence[str]) -> dict[str, Rows]:
    """Return tables of observables of schedules by policy.

    Raises
    ------
    NetcosimError
        An observable that the machine does not have.
    """
    return {
        name: [
            {"policy": policy, **row}
            for policy, result in schedules.items()
            for row in OBSERVABLES[name].rows(result.of_those_that_ran)
        ]
        for name in names
    }
