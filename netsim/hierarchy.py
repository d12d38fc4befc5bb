"""The nested domains of a machine's nodes, as defined by its family."""

from __future__ import annotations

from netsim.kinds import need_kinds
from netsim.topologies.domains import Hierarchy
from netsim.topologies.registry import family_of
from netsim.topology import Topology

__all__ = ["Hierarchy", "hierarchy_of"]


def hierarchy_of(topology: Topology) -> Hierarchy:
    """Return the nested domains of a machine's nodes, from the whole machine down.

    Parameters
    ----------
    topology : Topology

    Returns
    -------
    Hierarchy
        One level after the other, each with the domain of every node.

    Examples
    --------
    >>> import netcosim as nc
    >>> h = nc.hierarchy_of(nc.make_topology("dragonfly", {"p": 2, "a": 4, "g": 9}))
    >>> h.levels, h.counts
    (('machine', 'group', 'router'), (1, 9, 36))
    """
    need_kinds("hierarchy_of", {"topology": (topology, Topology)})
    return family_of(topology).hierarchy(topology)
