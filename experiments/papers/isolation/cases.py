"""What is measured for the verdict: logs, networks, loads, and which case is the main one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.papers.jigsaw.logs import ATLAS, THETA, THUNDER
from experiments.papers.kit.logs import present
from experiments.papers.paper import Options
from netsim.topologies.registry import PRESETS

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

AT_ZERO = ("thunder", "atlas", "synth-small")
"""Logs with all arrivals at 0: there the makespan is what counts (Jigsaw, 6.3)."""

LARGE_RANKS = 512
"""Above this an all-to-all of all ranks is no longer what applications do: sub-a2a instead."""

LOADS: dict[str, tuple[int, float]] = {"large": (256 * 1024, 5.0), "small": (16 * 1024, 12.0)}
"""Bytes that a node sends an iteration, and for about how long a job repeats it: as long as a
node's link would take for so many iterations."""

MOST_ITERATIONS = 32

LINK_BPS = 5 * 10**9
"""Of the fat-trees: Jigsaw, 5.4.2."""

LOGS = (THUNDER, ATLAS, THETA)

FATTREE_POLICIES = ("ta", "laas", "jigsaw")
DRAGONFLY_POLICIES = ("rdg", "simple", "level-spread")
REFERENCES = {"fattree": "baseline", "dragonfly": "rdn"}
POLICIES = {"fattree": FATTREE_POLICIES, "dragonfly": DRAGONFLY_POLICIES}


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
    """

    routing: str
    load: str = "large"
    mapping: str = "in-order"
    duty: float = 1.0
    order: str = ""
    ranks_per_node: int = 1
    length: int = 1

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
        return ", ".join(words)


CASES: dict[str, tuple[Case, ...]] = {
    "fattree": (
        Case("d-mod-k"),
        Case("d-mod-k", duty=0.3),
        Case("adaptive"),
        Case("d-mod-k", duty=0.1),
        Case("d-mod-k", duty=0.5),
        Case("d-mod-k", load="small"),
        Case("d-mod-k", mapping="random"),
    ),
    "dragonfly": (
        Case("ugal-l"),
        Case("ugal-l", duty=0.3),
        Case("minimal"),
        Case("ugal-l", duty=0.1),
        Case("ugal-l", duty=0.5),
        Case("ugal-l", load="small"),
        Case("ugal-l", mapping="random"),
    ),
}
"""By network; the first is the main one."""

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


def duties() -> dict[str, float]:
    """Share of the time in which jobs communicate, by the name of the case."""
    known = [case for cases in (*CASES.values(), SENSITIVITY) for case in cases]
    return {case.name: case.duty for case in known}


@dataclass(frozen=True)
class Machine:
    """A log's machine in one of the networks.

    Attributes
    ----------
    log : mapping
        Its name and the config's section ``workload``.
    network : {"fattree", "dragonfly"}
    parameters : mapping
        Of the network's builder.
    snapshots : (int, int)
        How many instants of the schedule are measured in the main case, in each other case.
    n_cases : int
        Of the network's cases, so many are measured.
    """

    log: Mapping[str, object]
    network: str
    parameters: Mapping[str, object]
    snapshots: tuple[int, int]
    n_cases: int

    def config(self) -> dict[str, object]:
        """As it stands in a point's config."""
        return {
            "log": dict(self.log),
            "network": self.network,
            "parameters": dict(self.parameters),
        }

    def n_snapshots(self, case: Case) -> int:
        """How many instants of the schedule a case measures."""
        if case not in CASES[self.network]:
            return self.snapshots[1]
        place = CASES[self.network].index(case)
        if place >= self.n_cases:
            return 0
        return self.snapshots[0 if place == 0 else 1]


# In the main case, in the others. A snapshot of Thunder has about 45 jobs of more than one node,
# one of Atlas or Theta about ten; one of Theta takes ten times as long.
SNAPSHOTS = {"thunder": (24, 12), "atlas": (40, 16), "theta": (16, 6)}
# A snapshot of Theta's dragonfly takes half a minute: the main case, f = 0.3, minimal routing.
FIRST_CASES = {("dragonfly", "theta"): 3}
DRAGONFLIES = {"thunder": "dragonfly-1056", "atlas": "dragonfly-1056", "theta": "theta"}


def _dragonfly(log: str) -> dict[str, object]:
    return dict(PRESETS[DRAGONFLIES[log]].params)


def machines(network: str, options: Options) -> list[Machine]:
    """The machines whose logs are there; with ``--scale quick`` one small machine and made jobs."""
    if options.quick:
        return [_small(network)]
    found = []
    for log, sections in present(LOGS, options):
        parameters: dict[str, object] = (
            {k: v for k, v in log.machine.items() if k != "family"}
            if network == "fattree"
            else _dragonfly(log.name)
        )
        config = {"name": log.name, "workload": sections["workload"]}
        n_cases = FIRST_CASES.get((network, log.name), len(CASES[network]))
        found.append(Machine(config, network, parameters, SNAPSHOTS[log.name], n_cases))
    return found


def _small(network: str) -> Machine:
    """128 or 72 nodes and 300 synthetic jobs."""
    made = {"n_jobs": 10_000, "mean_nodes": 10}
    workload = {"synthetic": made, "all_at_zero": True, "larger_jobs": "drop"}
    config = {"name": "synth-small", "workload": workload, "jobs": 300}
    parameters: dict[str, object] = (
        {"radix": 8, "bandwidth_Bps": LINK_BPS}
        if network == "fattree"
        else {"p": 2, "a": 4, "g": 9}
    )
    return Machine(config, network, parameters, (3, 2), 3)


def cases(network: str, options: Options) -> tuple[Case, ...]:
    """All cases, or those of the routings that one asks for with ``--routing``."""
    known = CASES[network]
    if options.routings:
        known = tuple(case for case in known if case.routing in options.routings)
    return known
