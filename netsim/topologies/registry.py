"""Topology families and named machines, each with one line of description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from netsim.errors import NetcosimError, need_name
from netsim.kinds import need_kinds
from netsim.parameters import call, checked
from netsim.plugin_entries import given_by
from netsim.registry import Registry
from netsim.topologies.presets import PRESETS
from netsim.topology import Topology

if TYPE_CHECKING:
    import networkx as nx

    from netsim.topologies.family import Family


FAMILIES: Registry[Family] = Registry(
    "netsim.topologies.registry:FAMILIES",
    "topology family",
    "netsim.topologies.family:Family",
    (
        "netsim.topologies.fattree:FAMILY",
        "netsim.topologies.dragonfly:FAMILY",
        "netsim.topologies.dragonfly_plus:FAMILY",
        "netsim.topologies.torus:FAMILY",
        "netsim.topologies.hyperx:HYPERCUBE",
        "netsim.topologies.hyperx:HYPERX",
        "netsim.topologies.slimfly:FAMILY",
        "netsim.topologies.gpu_cluster:FAMILY",
        "netsim.topologies.graph:FAMILY",
        "netsim.topologies.topology_conf:FAMILY",
        "netsim.topologies.ibnetdiscover:FAMILY",
        "netsim.topologies.cables:FAMILY",
    ),
)


def family_of(topology: Topology) -> Family:
    """Return the entry of a topology's family, or that of "graph" if it is not registered."""
    return FAMILIES[topology.family if topology.family in FAMILIES else "graph"]


def make_topology(family: str, params: Mapping[str, object] | nx.Graph[Any]) -> Topology:
    """Build a topology from a family's name and parameters, as a config gives them.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    params : mapping, or networkx.Graph
        Parameters of the family's builder, by name. For the family "graph" also a graph, as
        `Topology.from_networkx` takes it.

    Returns
    -------
    Topology

    Raises
    ------
    NetcosimError
        An unknown family or parameter, a missing one, a value out of range.

    Examples
    --------
    >>> import netcosim as nc
    >>> topology = nc.make_topology("dragonfly", {"p": 2, "a": 4, "g": 9})
    >>> topology.n_nodes, topology.n_routers, int(topology.kind_mask("global").sum())
    (72, 36, 72)
    """
    need_kinds("make_topology", {"family": (family, str)})
    need_name("topology", family, FAMILIES)
    build = FAMILIES[family].from_object
    if build is not None and not isinstance(params, Mapping):
        return build(params)
    need_kinds("make_topology", {"params": (params, Mapping)})
    given = cast("Mapping[str, object]", params)
    builder = FAMILIES[family].builder_for(given)
    values = checked(f"topology {family}", builder, given)
    try:
        topology: Topology = given_by(FAMILIES[family], call(builder, values), Topology)
    except OverflowError as error:
        raise NetcosimError(f"topology {family}: a parameter is too large ({error})") from None
    return topology


def preset(name: str) -> Topology:
    """Build a named machine.

    Parameters
    ----------
    name : str
        What ``netcosim list machines`` shows.

    Returns
    -------
    Topology

    Raises
    ------
    NetcosimError
        A name that `PRESETS` does not know.

    Examples
    --------
    >>> import netcosim as nc
    >>> cab = nc.preset("cab")
    >>> cab.family, cab.n_nodes
    ('fattree', 1296)
    """
    need_kinds("preset", {"name": (name, str)})
    need_name("machine", name, PRESETS)
    entry = PRESETS[name]
    return make_topology(entry.family, {**entry.params, "name": name})
