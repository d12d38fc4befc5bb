"""The entry of a topology family: builders, routing, the paths of its jobs, its groups.

A family's entry is at the end of its own file. Code that depends on a topology's family uses the
entry (`netsim.topologies.registry.family_of`) and names no family.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt

from netsim.parameters import Parameter, parameters_of
from netsim.routing.base import RoutingEntry
from netsim.topologies.checks import LINK_BANDWIDTH_BPS, LINK_LATENCY_S
from netsim.topologies.domains import Hierarchy, router_hierarchy
from netsim.topologies.positions import Layout
from netsim.topology import Topology

Builder = Callable[..., Topology]

# Parameters that several families have.
Concentration = Annotated[int, "nodes a router", Ge(1)]
NodeBandwidthBps = Annotated[int, "of the links between a node and its router", Gt(0)]
NodeLatencyS = Annotated[float, "of the wire between a node and its router", Ge(0)]
LinkBandwidthBps = Annotated[int, "of a link between routers", Gt(0)]
LinkLatencyS = Annotated[float, "of a wire between routers", Ge(0)]
Name = Annotated[str | None, "what the machine is called in results"]


@dataclass(frozen=True)
class NodeLinks:
    """Bandwidth and latency of the links of nodes; families add those between routers."""

    node_bandwidth_Bps: NodeBandwidthBps = LINK_BANDWIDTH_BPS
    node_latency_s: NodeLatencyS = LINK_LATENCY_S


@dataclass(frozen=True)
class EqualLinks(NodeLinks):
    """Bandwidths and latencies where all links between routers are alike."""

    link_bandwidth_Bps: LinkBandwidthBps = LINK_BANDWIDTH_BPS
    link_latency_s: LinkLatencyS = LINK_LATENCY_S


@dataclass(frozen=True)
class SmallFile:
    """A small machine of a family whose machines come from files: one of the folder ``small``."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The file's content."""
        return files("netsim.topologies").joinpath("small", self.name).read_text("utf-8")


@dataclass(frozen=True)
class Family:
    """An entry of `netsim.topologies.registry.FAMILIES`."""

    registered_in: ClassVar[str] = "netsim.topologies.registry:FAMILIES"

    name: str
    description: str
    builders: tuple[Builder, ...]
    """Each declares its parameters (`netsim.parameters`). The first is used unless all that another
    one needs is given."""
    default_routing: str = "shortest-path"
    """The default static routing."""
    hierarchy: Callable[[Topology], Hierarchy] = router_hierarchy
    """``hierarchy(topology)``: the nested domains of its nodes."""
    layout: Callable[[Topology], Layout] | None = None
    """``layout(topology)``: where a drawing has its routers; None: by the domains of its nodes."""
    keeps_jobs_to_links: bool = False
    """Whether `netsim.routing.partition` can keep a job on its allocated links."""
    routings: tuple[RoutingEntry, ...] = ()
    """Those in the family's own file; others have their own files."""
    small: tuple[Mapping[str, Any], ...] = ()
    """Parameters of machines small enough to walk every path: on them the laws that hold for all
    families and routings are tested."""
    small_files: tuple[SmallFile, ...] = ()
    """The same for a family whose machines come from files."""
    notes: Callable[[Topology], tuple[str, ...]] = lambda topology: ()
    """``notes(topology)``: what a user should know of a machine, such as what was assumed, left out
    or rounded; a line each."""
    only_links: tuple[str, ...] = ()
    """Parameters that change links alone, and neither the nodes nor which of them are close."""
    reads: Callable[[Path, str], bool] | None = None
    """``reads(path, beginning of the text)``: whether a file looks like one of the family's."""
    from_object: Callable[[Any], Topology] | None = None
    """``from_object(value)``: builds a topology of what Python has in place of parameters."""

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters of all its builders, by name."""
        return {n: p for builder in self.builders for n, p in parameters_of(builder).items()}

    def builder_for(self, given: Collection[str]) -> Builder:
        """Return the builder that these parameters are for."""
        for builder in self.builders[1:]:
            if set(needed(builder)) <= set(given):
                return builder
        return self.builders[0]


def needed(builder: Builder) -> list[str]:
    """Return the names of the parameters without which a builder cannot build."""
    return [name for name, parameter in parameters_of(builder).items() if parameter.required]
