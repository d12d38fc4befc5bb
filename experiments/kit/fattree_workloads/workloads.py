"""Random workloads that fill a fat-tree, what each job sends, and where its nodes lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy, Request
from alloc.registry import make_policy
from cosim.network.communication import Communication
from experiments.kit.data import read_printed
from experiments.kit.fattree_workloads.cases import Case
from netsim.errors import NetcosimError, need_name
from netsim.topologies.fattree import fat_tree
from netsim.topology import Topology

PATTERNS = read_printed("kit/fattree_workloads")["patterns"]
PATIENCE = 10
"""Draws in a row that find no place, after which a workload is full."""
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
class Job:
    """A job of a workload."""

    n_nodes: int
    pattern: str


machine = lru_cache(maxsize=2)(fat_tree)
"""The fat-tree of a case, by radix and pods."""


def draw_workload(
    topology: Topology, case: Case, rng: np.random.Generator
) -> tuple[list[Job], list[Placement]]:
    """Pack jobs by TA until `PATIENCE` draws in a row find no place; return them placed."""
    policy = make_policy(topology, "ta", rng)
    jobs: list[Job] = []
    placements: list[Placement] = []
    missed = 0
    while missed < PATIENCE:
        n_nodes = case.draw_size(rng)
        placement = policy.allocate(Request(len(jobs), n_nodes))
        missed += 1
        if placement is not None:
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
    """Return the nodes of each job, in the order of its ranks."""
    need_name("placement", name, PLACEMENTS)
    if name == "ta":
        return [placement.nodes for placement in isolated]
    policy = make_policy(topology, "random" if name.startswith("random") else "baseline", rng)
    before = _sizes_before(topology, case, rng) if name == "aged" else []
    found = allocate_after(policy, before, [job.n_nodes for job in jobs], rng)
    return [np.sort(p.nodes) if name == "random" else p.nodes for p in found]


def _sizes_before(topology: Topology, case: Case, rng: np.random.Generator) -> list[int]:
    """Return sizes of jobs that fill `GENERATIONS` machines one after the other."""
    most = GENERATIONS * topology.n_nodes
    enough = GENERATIONS * (topology.n_nodes // case.smallest + 1)
    drawn = [case.draw_size(rng) for _ in range(enough)]
    before = np.cumsum([0, *drawn])
    return [size for size, used in zip(drawn, before, strict=False) if used <= most]


def communication(case: Case, job: Job) -> Communication:
    """Return a job's communication in an iteration."""
    own: dict[str, object] = {}
    if job.pattern == "sub-a2a":
        sizes = [case.small_bytes if dim in case.dimensions else 0 for dim in range(3)]
        own = {"dimension_bytes": sizes, "order": case.exchange}
    elif job.pattern == "unstructured-mesh":
        own = {"min_degree": case.least_degree, "max_degree": case.degree_end}
    large = job.pattern in ("stencil4d", "pairs")
    size = case.large_bytes if large else case.small_bytes
    return Communication(job.pattern, size, parameters=own)


def allocate_after(
    policy: Policy, before: Sequence[int], sizes: Sequence[int], rng: np.random.Generator
) -> list[Placement]:
    """Place jobs one by one; while there is no room, earlier jobs leave in random order.

    Earlier jobs came in their order, and leave room for each other in the same way. Those that need
    not leave stay. Each of the requested jobs fits with all the others of them on the empty
    machine.
    """
    running: list[Placement] = []
    found: list[Placement] = []
    for i, n_nodes in enumerate([*before, *sizes]):
        while (placement := policy.allocate(Request(i, n_nodes))) is None:
            if not running:
                raise NetcosimError(f"{n_nodes} nodes: {policy.name} finds no place for this job")
            policy.release(running.pop(int(rng.integers(len(running)))))
        (running if i < len(before) else found).append(placement)
    return found
