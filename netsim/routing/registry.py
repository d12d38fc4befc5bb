"""Routings by name, and which topology families each serves."""

from __future__ import annotations

from collections.abc import Callable
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
    """A registered routing.

    Attributes
    ----------
    description : str
        One line.
    families : tuple of str
        The families that it serves ("any": all).
    build : callable
        ``build(topology)``, or ``build(topology, bias_ps=...)`` where it has a bias.
    has_bias : bool
        Whether ``ugal_bias_s`` applies.
    """

    description: str
    families: tuple[str, ...]
    build: Callable[..., Routing]
    has_bias: bool = False


def _named(build: Callable[..., Routing], name: str) -> Callable[..., Routing]:
    """A builder of several routings, bound to the one of this name."""

    def built(topology: Topology, **parameters: int) -> Routing:
        return build(topology, name, **parameters)

    return built


ROUTINGS: dict[str, RoutingEntry] = {
    "d-mod-k": RoutingEntry(
        "static up port by destination digit", ("fattree",), _named(fattree_routing, "d-mod-k")
    ),
    "adaptive": RoutingEntry(
        "least loaded up port", ("fattree",), _named(fattree_routing, "adaptive")
    ),
    "minimal": RoutingEntry(
        "at most one global link", ("dragonfly",), _named(dragonfly_routing, "minimal")
    ),
    "valiant": RoutingEntry(
        "by way of a random intermediate group",
        ("dragonfly",),
        _named(dragonfly_routing, "valiant"),
    ),
    "ugal-l": RoutingEntry(
        "minimal or Valiant, by the loads of the source router's links",
        ("dragonfly",),
        _named(dragonfly_routing, "ugal-l"),
        has_bias=True,
    ),
    "ugal-g": RoutingEntry(
        "minimal or Valiant, by the loads of the source group's global links",
        ("dragonfly",),
        _named(dragonfly_routing, "ugal-g"),
        has_bias=True,
    ),
    "dimension-order": RoutingEntry(
        "one dimension after the other, shorter way",
        ("torus",),
        _named(torus_routing, "dimension-order"),
    ),
    "minimal-adaptive": RoutingEntry(
        "least loaded productive link, dimension order as escape",
        ("torus",),
        _named(torus_routing, "minimal-adaptive"),
    ),
    "shortest-path": RoutingEntry(
        "next-hop table, one channel a hop", (ANY,), shortest_path_routing
    ),
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

    Examples
    --------
    >>> import netcosim as nc
    >>> torus = nc.make_topology("torus", {"dims": [4, 4]})
    >>> nc.make_routing(torus).name, nc.make_routing(torus, "minimal-adaptive").name
    ('dimension-order', 'minimal-adaptive')
    """
    name = default_routing(topology) if name is None else name
    valid = routings_for(topology.family)
    if name not in valid:
        raise unknown_name(f"routing for {topology.family}", name, valid)
    entry = ROUTINGS[name]
    if ugal_bias_s and not entry.has_bias:
        raise NetcosimError(f"ugal_bias_s = {ugal_bias_s}: routing {name!r} has no bias")
    # a third of what 64 bits hold: loads are added to it
    if not abs(ugal_bias_s) < 3e6:
        raise NetcosimError(f"ugal_bias_s = {ugal_bias_s}; it must be below 3e6 s")
    if entry.has_bias:
        return entry.build(topology, bias_ps=round(ugal_bias_s * 1e12))
    return entry.build(topology)
