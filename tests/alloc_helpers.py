"""What the allocation tests share: small machines, states to compare, random histories."""

from __future__ import annotations

from collections import Counter

import numpy as np
from alloc_reference import State
from hypothesis import strategies as st

from alloc.isolation import shared_links
from alloc.policy import Placement, Policy, Request
from alloc.registry import POLICIES, make_policy, policies_for
from experiments.kit.small_machines import n_small, small_machine
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.dragonfly_plus import dragonfly_plus
from netsim.topologies.fattree import fat_tree, xgft
from netsim.topologies.gpu_cluster import GpuFabric, gpu_cluster
from netsim.topologies.torus import torus
from netsim.topology import Topology

MACHINES: dict[str, Topology] = {
    "dragonfly": dragonfly(p=2, a=3, g=5),
    "dragonfly-plus": dragonfly_plus(p=2, leaves=3, spines=2, g=5),
    "fattree-6": fat_tree(6),
    "fattree-partial": fat_tree(8, pods=3),
    "fattree-uneven": xgft(3, 4, 3),
    "fattree-2": fat_tree(6, levels=2),
    "torus": torus((4, 3, 2)),
    "mesh": torus((5, 4), wrap=(True, False), concentration=2),
    "gpus": gpu_cluster(10, gpus_per_node=4, fabric=GpuFabric(nodes_per_leaf=2, nodes_per_pod=4)),
}
# a small machine of each family that has policies of its own and none above
MACHINES |= {
    family: small_machine(family, 0, {})
    for family in {family for policy in POLICIES.values() for family in policy.families}
    - {machine.family for machine in MACHINES.values()}
    if n_small(family)
}
SOME_MACHINES = ("dragonfly", "fattree-uneven", "mesh", "gpus")
"""For the many policies that see any machine as nested domains."""
ANY_MACHINE = {n for n, p in POLICIES.items() if p.__module__.startswith("alloc.hierarchy")}
CASES = [
    (machine, name)
    for machine, topology in MACHINES.items()
    for name in policies_for(topology.family)
    if name not in ANY_MACHINE or machine in SOME_MACHINES
]


def fresh(machine: str, name: str, seed: int = 1) -> Policy:
    return make_policy(MACHINES[machine], name, np.random.default_rng(seed))


def take(policy: Policy, job_id: int, n_nodes: int) -> Placement:
    placement = policy.allocate(Request(job_id, n_nodes))
    assert placement is not None
    return placement


def snapshot(policy: Policy) -> dict[str, object]:
    """Everything a policy remembers, in a form that compares with ==."""

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            return value.tobytes()
        if isinstance(value, np.random.Generator):
            return str(value.bit_generator.state)
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        if isinstance(value, dict):
            return {str(k): plain(v) for k, v in value.items()}
        return value

    # Scratch arrays hold no state, n_cut is a statistic, and `_back` (when nodes were given back)
    # is what a release is meant to change.
    return {
        k: plain(v)
        for k, v in vars(policy).items()
        if k not in ("topology", "n_cut", "_back") and "scratch" not in k
    }


def histories(max_events: int = 25) -> st.SearchStrategy[list[tuple[bool, float, int]]]:
    """Events: (release?, size as a fraction of the machine, which running job)."""
    size = st.one_of(st.floats(0, 0.15), st.floats(0, 0.5), st.floats(0, 1))
    return st.lists(
        st.tuples(st.booleans(), size, st.integers(0, 1000)), min_size=1, max_size=max_events
    )


def churn(topology, policy, seed, events):
    """A machine kept nearly full: yields (state before, size, placement or None)."""
    rng, state, running = np.random.default_rng(seed), State(topology.shape), []
    mean = topology.n_nodes * rng.choice([0.05, 0.1, 0.25])
    for job_id in range(events):
        if running and rng.random() < 0.45:
            gone = running.pop(rng.integers(len(running)))
            policy.release(gone)
            state.change(gone.nodes.tolist(), gone.links.tolist(), False)
            continue
        n_nodes = min(topology.n_nodes, max(1, int(rng.exponential(mean))))
        if n_nodes > policy.n_free:
            assert policy.allocate(Request(job_id, n_nodes)) is None
            continue
        job = policy.allocate(Request(job_id, n_nodes))
        yield state, n_nodes, job
        if job is not None:
            state.change(job.nodes.tolist(), job.links.tolist(), True)
            running.append(job)
            assert shared_links(topology, running) == []


def shared_nodes(placements: list[Placement]) -> list[int]:
    """Return the nodes of more than one placement, ascending."""
    counts = Counter(node for p in placements for node in p.nodes.tolist())
    return sorted(node for node, times in counts.items() if times > 1)
