"""What is measured for the verdict: logs, networks, loads, and which case is the main one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.papers.jigsaw.logs import ATLAS, THETA, THUNDER, fat_tree
from experiments.papers.kit.logs import needed
from experiments.papers.kit.routers import OUTPUT_QUEUED
from experiments.papers.paper import Options

PATTERNS = (
    "all-to-all",
    "sub-a2a",
    "fft3d",
    "halo3d",
    "stencil4d",
    "unstructured-mesh",
    "pairs",
    "bisection-pairing",
)
"""Equally likely; each job has one, drawn by its id."""

SMALL_LOG = "synth-small"
AT_ZERO = ("thunder", "atlas", SMALL_LOG)
"""Logs with all arrivals at 0: there the makespan is what counts (Jigsaw, 6.3)."""

LARGE_RANKS = 512
"""Above this an all-to-all of all ranks is no longer what applications do: sub-a2a instead."""

LOADS: dict[str, tuple[int, float]] = {"large": (256 * 1024, 5.0), "small": (16 * 1024, 12.0)}
"""Bytes that a node sends an iteration, and for about how long a job repeats it: as long as a
node's link would take for so many iterations."""

MOST_ITERATIONS = 32

LOGS = (THUNDER, ATLAS, THETA)

REFERENCES = {"fattree": "baseline", "dragonfly": "rdn"}
POLICIES = {
    "fattree": ("ta", "laas", "jigsaw"),
    "dragonfly": ("rdg", "simple", "level-spread"),
}


@dataclass(frozen=True)
class Case:
    """One way to measure.

    Attributes
    ----------
    routing : str
    load : str
        A key of `LOADS`.
    mapping : str
        Task mapping.
    duty : float
        Share of the time alone in which a job communicates; 1: all the time.
    order : str
        Policy that chooses the reference's nodes; empty: the network's reference itself. One
        that places by count alone leaves the schedule as it is and changes the nodes only.
    ranks_per_node : int
        The bytes that a node sends stay the same.
    length : int
        Every job repeats its iteration so many times as often as `LOADS` says.
    router : str
        One of `experiments.papers.kit.routers.ROUTERS`.
    """

    routing: str
    load: str = "large"
    mapping: str = "in-order"
    duty: float = 1.0
    order: str = ""
    ranks_per_node: int = 1
    length: int = 1
    router: str = OUTPUT_QUEUED

    @property
    def name(self) -> str:
        """For tables; the main case of a network is named by its routing alone."""
        words = [self.routing]
        words += ["small messages"] if self.load == "small" else []
        words += ["random mapping"] if self.mapping == "random" else []
        words += [f"reference on {self.order} nodes"] if self.order else []
        words += [f"{self.ranks_per_node} ranks a node"] if self.ranks_per_node > 1 else []
        words += [f"{self.length} times as long"] if self.length > 1 else []
        words += [f"communicating {self.duty:.0%} of the time"] if self.duty < 1 else []
        words += [self.router] if self.router != OUTPUT_QUEUED else []
        return ", ".join(words)


def _cases(routing: str, other: str) -> tuple[Case, ...]:
    """Ways to measure on a network: by one routing, and by another one."""
    return (
        Case(routing),
        Case(routing, duty=0.3),
        Case(other),
        Case(routing, duty=0.1),
        Case(routing, duty=0.5),
        Case(routing, load="small"),
        Case(routing, mapping="random"),
    )


CASES = {"fattree": _cases("d-mod-k", "adaptive"), "dragonfly": _cases("ugal-l", "minimal")}
"""By network; the first is the main one."""

LIVE = {network: known[1] for network, known in CASES.items()}
"""Jobs communicate 30 % of the time, as those of Pollard et al. on Cab."""

ORDERS = ("", "slurm-tree", "random")
"""Whose nodes the reference of the fat-trees has: the lowest free ones, those of the tree rule,
random ones. All place by count, so the schedule is the same job by job."""

SENSITIVITY: tuple[Case, ...] = (
    *(Case("d-mod-k", duty=0.3, order=order) for order in ORDERS),
    Case("d-mod-k", duty=0.3, order="random", ranks_per_node=4),
    *(Case("d-mod-k", order=order) for order in ORDERS),
    *(Case("d-mod-k", duty=0.3, order=order, length=8) for order in ORDERS),
)
"""What `CASES` hold fixed, varied: the reference's nodes, ranks a node, how long jobs repeat."""


@dataclass(frozen=True)
class Machine:
    """A log's machine in one of the networks.

    Attributes
    ----------
    log : str
        Its name.
    network : {"fattree", "dragonfly"}
    sections : mapping
        ``machine`` and ``workload`` of a config.
    snapshots : (int, int)
        How many instants of the schedule are measured in the main case, in each other case.
    n_cases : int
        Of the network's cases, so many are measured.
    """

    log: str
    network: str
    sections: Mapping[str, Any]
    snapshots: tuple[int, int]
    n_cases: int

    def n_snapshots(self, case: Case) -> int:
        """How many instants of the schedule a case measures."""
        known = CASES[self.network]
        place = known.index(case) if case in known else 1
        return 0 if place >= self.n_cases else self.snapshots[min(place, 1)]


# In the main case, in the others. A snapshot of Thunder has about 45 jobs of more than one node,
# one of Atlas or Theta about ten; one of Theta takes ten times as long.
SNAPSHOTS = {"thunder": (24, 12), "atlas": (40, 16), "theta": (16, 6)}
# A snapshot of Theta's dragonfly takes half a minute: the main case, f = 0.3, minimal routing.
FIRST_CASES = {("dragonfly", "theta"): 3}
DRAGONFLIES = {"thunder": "dragonfly-1056", "atlas": "dragonfly-1056", "theta": "theta"}
SMALL = {
    "fattree": fat_tree(8),
    "dragonfly": {"family": "dragonfly", "p": 2, "a": 4, "g": 9},
}


def machines(network: str, options: Options) -> list[Machine]:
    """The machines whose logs are there; with ``--scale quick`` one small machine and made jobs.

    Raises
    ------
    NetcosimError
        No log is there.
    """
    if options.quick:
        workload = {"synthetic": {"n_jobs": 300, "mean_nodes": 10}, "all_at_zero": True}
        workload["larger_jobs"] = "drop"
        sections = {"machine": SMALL[network], "workload": workload}
        return [Machine(SMALL_LOG, network, sections, (3, 2), 3)]
    found = []
    for log, sections in needed(LOGS, options):
        if network == "dragonfly":
            sections["machine"] = {"preset": DRAGONFLIES[log.name]}
        n_cases = FIRST_CASES.get((network, log.name), len(CASES[network]))
        found.append(Machine(log.name, network, sections, SNAPSHOTS[log.name], n_cases))
    return found


def asked_for(known: Sequence[Case], options: Options) -> tuple[Case, ...]:
    """Those of the routings of ``--routing``; all by default."""
    return tuple(c for c in known if not options.routings or c.routing in options.routings)
