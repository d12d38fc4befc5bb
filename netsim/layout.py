"""Positions of routers in a drawing of a machine, as defined by its family."""

from __future__ import annotations

from netsim.topologies.positions import Layout, by_domains
from netsim.topologies.registry import family_of
from netsim.topology import Topology

__all__ = ["Layout", "layout_of"]


def layout_of(topology: Topology) -> Layout:
    """Return the positions of a machine's routers: groups in a ring, pods side by side, ...

    Families without a layout are drawn by the domains of their nodes. The result is deterministic.

    Examples
    --------
    >>> import netcosim as nc
    >>> from netsim.layout import layout_of
    >>> layout = layout_of(nc.make_topology("fattree", {"radix": 4, "pods": 2}))
    >>> layout.group_names, layout.group.tolist()
    (('pod 0', 'pod 1', 'spines'), [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 2])
    """
    family = family_of(topology)
    if family.layout is None:
        return by_domains(topology, family.hierarchy(topology))
    return family.layout(topology)
