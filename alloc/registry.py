"""Every allocation policy by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from netsim.errors import need_name
from netsim.kinds import NONE, RNG, need_kinds
from netsim.registry import Registry
from netsim.topology import Topology

if TYPE_CHECKING:
    from alloc.policy import Policy


POLICIES: Registry[type[Policy]] = Registry(
    "alloc.registry:POLICIES",
    "allocation policy",
    "alloc.policy:Policy",
    (
        "alloc.first_free:Baseline",
        "alloc.random_nodes:RandomNodes",
        "alloc.dragonfly.orders:Simple",
        "alloc.dragonfly.slurm:Slurm",
        "alloc.dragonfly.slurm:SlurmDragonfly",
        "alloc.dragonfly.orders:RandomNode",
        "alloc.dragonfly.orders:RandomRouter",
        "alloc.dragonfly.orders:RandomGroup",
        "alloc.dragonfly.orders:RoundRobinNode",
        "alloc.dragonfly.orders:RoundRobinRouter",
        "alloc.dragonfly.level_spread:LevelSpread",
        "alloc.dragonfly.jokanovic:Jokanovic",
        "alloc.hierarchy.slurm_linear:SlurmLinear",
        "alloc.hierarchy.slurm_tree:SlurmTree",
        "alloc.hierarchy.slurm_leaves:SlurmTreeCoded",
        "alloc.hierarchy.slurm_block:SlurmBlock",
        "alloc.hierarchy.kueue:KueueRequired",
        "alloc.hierarchy.kueue:KueuePreferred",
        "alloc.hierarchy.kueue:KueueUnconstrained",
        "alloc.hierarchy.pbs_sets:PbsPlacementSets",
        "alloc.hierarchy.flux:FluxLow",
        "alloc.hierarchy.flux:FluxHigh",
        "alloc.hierarchy.flux:FluxLocality",
        "alloc.hierarchy.idle_time:LongestIdle",
        "alloc.hierarchy.idle_time:ShortestIdle",
        "alloc.hierarchy.group_spread:GroupSpread",
        "alloc.hierarchy.group_spread:Balanced",
        "alloc.hierarchy.segment:Segment",
        "alloc.hierarchy.hived:Hived",
        "alloc.hierarchy.replay:Replay",
        "alloc.fattree.ta:TopologyAware",
        "alloc.fattree.laas:Laas",
        "alloc.fattree.jigsaw:Jigsaw",
        "alloc.fattree.lc:LeastConstrained",
        "alloc.fattree.lc_s:LeastConstrainedShared",
        "alloc.torus.first_fit_cuboid:FirstFitCuboid",
        "alloc.torus.cuboid_bisection:CuboidBest",
        "alloc.torus.cuboid_bisection:CuboidWorst",
        "alloc.torus.contention_aware:ContentionAware",
        "alloc.torus.tpu_slices:TpuSlices",
    ),
    classes=True,
    optional=("experiments.kit.coded.plugin", "alloc.bluegene.plugin"),
)


def policies_for(family: str) -> list[str]:
    """Return the names of the policies that work on a topology family, sorted."""
    return sorted(POLICIES.serving(family))


def make_policy(
    topology: Topology,
    name: str,
    rng: np.random.Generator,
    parameters: Mapping[str, object] | None = None,
) -> Policy:
    """Return a policy for an empty machine.

    Parameters
    ----------
    topology : Topology
    name : str
        A key of `POLICIES`.
    rng : numpy.random.Generator
        For the policies that draw.
    parameters : mapping, optional
        The values in ``[policies.NAME]``, in SI units; defaults for the rest.

    Returns
    -------
    Policy
        With all nodes free.

    Raises
    ------
    NetcosimError
        An unknown name or a policy for another family (the message lists the policies for
        this one), parameters that it does not take, or a topology that it cannot work on.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> machine = nc.make_topology("fattree", {"radix": 4})
    >>> policy = nc.make_policy(machine, "jigsaw", np.random.default_rng(1))
    >>> placement = policy.allocate(nc.Request(job_id=1, n_nodes=3))
    >>> placement.nodes.tolist(), len(placement.links)
    ([0, 1, 2], 4)
    """
    need_kinds(
        "make_policy", {"topology": (topology, Topology), "name": (name, str), "rng": (rng, RNG)}
    )
    need_kinds("make_policy", {"parameters": (parameters, (Mapping, NONE))})
    if name not in POLICIES or not POLICIES[name].serves(topology.family):
        valid = policies_for(topology.family)
        need_name(f"allocation policy for a {topology.family}", name, valid)
    policy = POLICIES[name]
    if name not in POLICIES.own:
        from alloc.checked import checked_policy

        policy = checked_policy(policy)
    if topology.islands is not None:
        from alloc.islands import Islands

        return Islands(lambda: policy.from_config(topology, rng, parameters or {}))
    return policy.from_config(topology, rng, parameters or {})
