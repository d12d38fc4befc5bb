"""Every allocation policy by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from alloc.checked import checked_policy
from alloc.dragonfly.jokanovic import Jokanovic
from alloc.dragonfly.level_spread import LevelSpread
from alloc.dragonfly.orders import (
    RandomGroup,
    RandomNode,
    RandomRouter,
    RoundRobinNode,
    RoundRobinRouter,
    Simple,
)
from alloc.dragonfly.slurm import Slurm, SlurmDragonfly
from alloc.fattree.jigsaw import Jigsaw
from alloc.fattree.laas import Laas
from alloc.fattree.lc import LeastConstrained
from alloc.fattree.lc_s import LeastConstrainedShared
from alloc.fattree.ta import TopologyAware
from alloc.first_free import Baseline
from alloc.hierarchy.flux import FluxHigh, FluxLocality, FluxLow
from alloc.hierarchy.group_spread import Balanced, GroupSpread
from alloc.hierarchy.hived import Hived
from alloc.hierarchy.idle_time import LongestIdle, ShortestIdle
from alloc.hierarchy.kueue import KueuePreferred, KueueRequired, KueueUnconstrained
from alloc.hierarchy.pbs_sets import PbsPlacementSets
from alloc.hierarchy.replay import Replay
from alloc.hierarchy.segment import Segment
from alloc.hierarchy.slurm_block import SlurmBlock
from alloc.hierarchy.slurm_linear import SlurmLinear
from alloc.hierarchy.slurm_tree import SlurmTree
from alloc.policy import Policy
from alloc.random_nodes import RandomNodes
from alloc.torus.contention_aware import ContentionAware
from alloc.torus.cuboid_bisection import CuboidBest, CuboidWorst
from alloc.torus.first_fit_cuboid import FirstFitCuboid
from alloc.torus.tpu_slices import TpuSlices
from netsim.errors import need_name
from netsim.kinds import NONE, RNG, need_kinds
from netsim.registry import Registry
from netsim.topology import Topology

POLICIES: Registry[type[Policy]] = Registry(
    "alloc.registry:POLICIES",
    "allocation policy",
    Policy,
    (
        Baseline,
        RandomNodes,
        Simple,
        Slurm,
        SlurmDragonfly,
        RandomNode,
        RandomRouter,
        RandomGroup,
        RoundRobinNode,
        RoundRobinRouter,
        LevelSpread,
        Jokanovic,
        SlurmLinear,
        SlurmTree,
        SlurmBlock,
        KueueRequired,
        KueuePreferred,
        KueueUnconstrained,
        PbsPlacementSets,
        FluxLow,
        FluxHigh,
        FluxLocality,
        LongestIdle,
        ShortestIdle,
        GroupSpread,
        Balanced,
        Segment,
        Hived,
        Replay,
        TopologyAware,
        Laas,
        Jigsaw,
        LeastConstrained,
        LeastConstrainedShared,
        FirstFitCuboid,
        CuboidBest,
        CuboidWorst,
        ContentionAware,
        TpuSlices,
    ),
    classes=True,
    optional=("alloc.coded.plugin", "alloc.bluegene.plugin"),
)


def policies_for(family: str) -> list[str]:
    """Return the names of the policies that work on a topology family, sorted."""
    return sorted(name for name, kind in POLICIES.items() if kind.serves(family))


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
    policy = POLICIES[name] if name in POLICIES.own else checked_policy(POLICIES[name])
    return policy.from_config(topology, rng, parameters or {})
