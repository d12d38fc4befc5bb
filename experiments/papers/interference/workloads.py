"""Random workloads that fill a fat-tree, what each job sends, and where its nodes lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Request
from alloc.registry import make_policy
from experiments.papers.interference.printed import PATTERNS
from netsim.errors import unknown_name
from netsim.topologies.fattree import fat_tree
from netsim.topology import Topology
from queuesim.communication import Communication

PATIENCE = 10
"""Draws in a row that find no place, after which a workload is full."""
LAWS = ("powers", "even", "log")
PLACEMENTS: dict[str, str] = {
    "ta": "TA on the empty machine, in the order of the draw",
    "random": "random free nodes, ranks in the order of node numbers",
    "random-order": "random free nodes, ranks in random order",
    "first-fit": "lowest free nodes of the empty machine",
    "aged": "lowest free nodes of a machine on which jobs came and went before",
}
"""Topology-oblivious is any but the first; the paper names none."""
GENERATIONS = 3
"""How often a machine was filled anew before the workload comes to an aged one."""


@dataclass(frozen=True)
class Case:
    """A machine and its jobs; every field stands in a point's config.

    Attributes
    ----------
    name : str
        As in `printed.SPEEDUPS`.
    radix, pods : int
        Of the fat-tree.
    smallest, largest : int
        Nodes of a job.
    ranks_per_node : int
    large_bytes, small_bytes : int
        A message of stencil and pairs; of mesh and sub-communicator all-to-all.
    dimensions : tuple of int
        Of the sub-communicator all-to-all (0, 1, 2 for x, y, z).
    exchange : str
        Order of its messages (`patterns.exchange.ORDERS`).
    degrees : (int, int)
        Of the mesh: from the first up to below the second; always the first if they are equal.
    law : str
        Of sizes: powers of two alike, or evenly, or evenly in the logarithm.
    communication_fraction : float
        Share of communication in an iteration of a job under TA.
    """

    name: str
    radix: int
    pods: int
    smallest: int
    largest: int
    ranks_per_node: int
    large_bytes: int
    small_bytes: int
    dimensions: tuple[int, ...]
    exchange: str = "pairwise"
    degrees: tuple[int, int] = (6, 12)
    law: str = "powers"
    communication_fraction: float = 1.0

    def config(self) -> dict[str, object]:
        """All fields, for a point."""
        lists = {"dimensions": list(self.dimensions), "degrees": list(self.degrees)}
        return {**asdict(self), **lists}


def case_of(config: Mapping[str, Any]) -> Case:
    """The case of a point's config."""
    tuples = {key: tuple(config[key]) for key in ("dimensions", "degrees")}
    return Case(**{**config, **tuples})


@dataclass(frozen=True)
class Job:
    """A job of a workload."""

    n_nodes: int
    pattern: str


@lru_cache(maxsize=2)
def machine(radix: int, pods: int) -> Topology:
    """The fat-tree of a case."""
    return fat_tree(radix, pods)


def draw_size(case: Case, rng: np.random.Generator) -> int:
    """Nodes of the next job.

    Raises
    ------
    NetcosimError
        An unknown law.
    """
    low, high = case.smallest, case.largest
    if case.law == "powers":
        return int(2 ** rng.integers(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1))
    if case.law == "even":
        return int(rng.integers(low, high + 1))
    if case.law == "log":
        return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
    raise unknown_name("law of job sizes", case.law, LAWS)


def draw_workload(
    topology: Topology, case: Case, rng: np.random.Generator
) -> tuple[list[Job], list[Placement]]:
    """Jobs packed on the machine by TA until `PATIENCE` draws in a row find no place.

    Returns
    -------
    list of Job, list of Placement
        In the order of the draw, with TA's placements.
    """
    policy = make_policy(topology, "ta", rng)
    jobs: list[Job] = []
    placements: list[Placement] = []
    missed = 0
    while missed < PATIENCE:
        n_nodes = draw_size(case, rng)
        placement = policy.allocate(Request(len(jobs), n_nodes))
        if placement is None:
            missed += 1
            continue
        missed = 0
        jobs.append(Job(n_nodes, PATTERNS[int(rng.integers(len(PATTERNS)))]))
        placements.append(placement)
    return jobs, placements


def place(
    topology: Topology,
    case: Case,
    jobs: Sequence[Job],
    isolated: Sequence[Placement],
    name: str,
    rng: np.random.Generator,
) -> list[NDArray[np.int32]]:
    """Nodes of each job, in the order of its ranks.

    Parameters
    ----------
    isolated : sequence of Placement
        TA's, from `draw_workload`.
    name : str
        One of `PLACEMENTS`.

    Raises
    ------
    NetcosimError
        An unknown placement.
    """
    if name == "ta":
        return [placement.nodes for placement in isolated]
    if name in ("random", "random-order"):
        policy = make_policy(topology, "random", rng)
        found = [_nodes(policy.allocate(Request(i, job.n_nodes))) for i, job in enumerate(jobs)]
        return [np.sort(nodes) for nodes in found] if name == "random" else found
    if name == "first-fit":
        policy = make_policy(topology, "baseline", rng)
        return [_nodes(policy.allocate(Request(i, job.n_nodes))) for i, job in enumerate(jobs)]
    if name == "aged":
        return _aged(topology, case, jobs, rng)
    raise unknown_name("placement", name, PLACEMENTS)


def _nodes(placement: Placement | None) -> NDArray[np.int32]:
    assert placement is not None, "a workload that TA can place has a node for each of its nodes"
    return placement.nodes


def _aged(
    topology: Topology, case: Case, jobs: Sequence[Job], rng: np.random.Generator
) -> list[NDArray[np.int32]]:
    """First fit after `GENERATIONS` machines of other jobs left one by one, in random order."""
    policy = make_policy(topology, "baseline", rng)
    running: list[Placement] = []
    most = GENERATIONS * topology.n_nodes
    drawn = [
        draw_size(case, rng) for _ in range(GENERATIONS * (topology.n_nodes // case.smallest + 1))
    ]
    before = np.cumsum([0, *drawn])
    old = [size for size, used in zip(drawn, before, strict=False) if used <= most]
    found: list[NDArray[np.int32]] = []
    for i, n_nodes in enumerate([*old, *(job.n_nodes for job in jobs)]):
        while (placement := policy.allocate(Request(i, n_nodes))) is None:
            policy.release(running.pop(int(rng.integers(len(running)))))
        if i < len(old):
            running.append(placement)
        else:
            found.append(placement.nodes)
    return found


def communication(case: Case, job: Job) -> Communication:
    """What a job sends in an iteration."""
    if job.pattern == "sub-a2a":
        sizes = [case.small_bytes if dim in case.dimensions else 0 for dim in range(3)]
        own: dict[str, object] = {"dimension_bytes": sizes, "order": case.exchange}
    elif job.pattern == "unstructured-mesh":
        own = {"min_degree": case.degrees[0], "max_degree": case.degrees[1]}
    else:
        own = {}
    large = job.pattern in ("stencil4d", "pairs")
    size = case.large_bytes if large else case.small_bytes
    return Communication(job.pattern, size, parameters=own)
