"""Routings by name, and which topology families each serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netsim.errors import NetcosimError, need_name
from netsim.kinds import need_kinds
from netsim.parameters import call, checked
from netsim.plugin_entries import given_by
from netsim.registry import Registry
from netsim.routing.base import Routing
from netsim.topologies.registry import FAMILIES, family_of
from netsim.topology import Topology

if TYPE_CHECKING:
    from netsim.recipes import Recipe
    from netsim.routing.base import RoutingEntry


ROUTINGS: Registry[RoutingEntry] = Registry(
    "netsim.routing.registry:ROUTINGS",
    "routing",
    "netsim.routing.base:RoutingEntry",
    (
        "netsim.routing.fattree:ROUTINGS",
        "netsim.routing.dragonfly:ROUTINGS",
        "netsim.routing.torus:ROUTINGS",
        *(f"{place}.routings" for place in FAMILIES.places),
        "netsim.routing.any_graph:ROUTINGS",
        "netsim.routing.pinned:ROUTINGS",
    ),
)
RECIPES: Registry[Recipe] = Registry(
    "netsim.routing.registry:RECIPES",
    "recipe",
    "netsim.recipes:Recipe",
    ("netsim.recipes:OF_SIMULATORS", "netsim.recipes:OF_MACHINES"),
)


def routings_for(family: str) -> tuple[str, ...]:
    """Return the names of the routings that serve a topology family."""
    return tuple(ROUTINGS.serving(family))


def default_routing(topology: Topology) -> str:
    """Return the name of a family's default static routing."""
    return family_of(topology).default_routing


def make_routing(
    topology: Topology, name: str | None = None, parameters: Mapping[str, object] | None = None
) -> Routing:
    """Build a routing by name.

    Parameters
    ----------
    topology : Topology
    name : str, optional
        One of `ROUTINGS` that serves the family; by default `default_routing`.
    parameters : mapping, optional
        Those of the routing, in SI units: ``{"ugal_bias_s": 1e-6}``.

    Returns
    -------
    Routing

    Raises
    ------
    NetcosimError
        A name that is unknown or does not serve the family; a parameter that it does not take.

    Examples
    --------
    >>> import netcosim as nc
    >>> torus = nc.make_topology("torus", {"dims": [4, 4]})
    >>> nc.make_routing(torus).name, nc.make_routing(torus, "minimal-adaptive").name
    ('dimension-order', 'minimal-adaptive')
    """
    need_kinds(
        "make_routing",
        {
            "topology": (topology, Topology),
            "name": (name, (str, type(None))),
            "parameters": (parameters, (Mapping, type(None))),
        },
    )
    name = default_routing(topology) if name is None else name
    valid = routings_for(topology.family)
    need_name(f"routing for {topology.family}", name, valid)
    if topology.down is not None and not ROUTINGS[name].avoids_down:
        others = [other for other in valid if ROUTINGS[other].avoids_down]
        raise NetcosimError(
            f"routing {name!r} does not route around links that are down; these do: "
            f"{', '.join(others)}"
        )
    build = ROUTINGS[name].build
    routing: Routing = call(build, checked(f"routing {name}", build, parameters or {}), topology)
    return given_by(ROUTINGS[name], routing, Routing)
