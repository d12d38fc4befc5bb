"""Routings by name, and which topology families each serves."""

from __future__ import annotations

from dataclasses import dataclass

from netsim.errors import NetcosimError, unknown_name
from netsim.routing.base import Routing
from netsim.routing.dragonfly import dragonfly_routing
from netsim.routing.fattree import fattree_routing
from netsim.routing.shortest_path import shortest_path_routing
from netsim.routing.torus import torus_routing
from netsim.topology import Topology

ANY = "any"


@dataclass(frozen=True)
class RoutingEntry:
    """A routing's one line of description and the families that it serves ("any": all)."""

    description: str
    families: tuple[str, ...]


ROUTINGS: dict[str, RoutingEntry] = {
    "d-mod-k": RoutingEntry("static up port by destination digit", ("fattree",)),
    "adaptive": RoutingEntry("least loaded up port", ("fattree",)),
    "minimal": RoutingEntry("at most one global link", ("dragonfly",)),
    "valiant": RoutingEntry("by way of a random intermediate group", ("dragonfly",)),
    "ugal-l": RoutingEntry(
        "minimal or Valiant, by the loads of the source router's links", ("dragonfly",)
    ),
    "ugal-g": RoutingEntry(
        "minimal or Valiant, by the loads of the source group's global links", ("dragonfly",)
    ),
    "dimension-order": RoutingEntry("one dimension after the other, shorter way", ("torus",)),
    "minimal-adaptive": RoutingEntry(
        "least loaded productive link, dimension order as escape", ("torus",)
    ),
    "shortest-path": RoutingEntry("next-hop table, one channel a hop", (ANY,)),
}

_DEFAULTS = {"fattree": "d-mod-k", "dragonfly": "minimal", "torus": "dimension-order"}


def routings_for(family: str) -> tuple[str, ...]:
    """Names of the routings that serve a topology family."""
    return tuple(
        name
        for name, entry in ROUTINGS.items()
        if family in entry.families or ANY in entry.families
    )


def default_routing(topology: Topology) -> str:
    """Name of the static routing that a family uses if none is asked for."""
    return _DEFAULTS.get(topology.family, "shortest-path")


def make_routing(
    topology: Topology, name: str | None = None, *, ugal_bias_s: float = 0.0
) -> Routing:
    """Build a routing by name.

    Parameters
    ----------
    topology : Topology
    name : str, optional
        One of `ROUTINGS` that serves the family; by default `default_routing`.
    ugal_bias_s : float
        Only for "ugal-l" and "ugal-g": added to the Valiant side of the comparison.

    Raises
    ------
    NetcosimError
        A name that is unknown or does not serve the family; a bias where none applies.
    """
    name = default_routing(topology) if name is None else name
    valid = routings_for(topology.family)
    if name not in valid:
        raise unknown_name(f"routing for {topology.family}", name, valid)
    if ugal_bias_s and not name.startswith("ugal"):
        raise NetcosimError(f"ugal_bias_s = {ugal_bias_s}: routing {name!r} has no bias")
    # a third of what 64 bits hold: loads are added to it
    if not abs(ugal_bias_s) < 3e6:
        raise NetcosimError(f"ugal_bias_s = {ugal_bias_s}; it must be below 3e6 s")
    if name == "shortest-path":
        return shortest_path_routing(topology)
    if topology.family == "fattree":
        return fattree_routing(topology, name)
    if topology.family == "torus":
        return torus_routing(topology, name)
    return dragonfly_routing(topology, name, bias_ps=round(ugal_bias_s * 1e12))
