"""HyperX (Ahn et al., SC 2009) and the hypercube, its case of all lengths two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.topologies.checks import MAX_DIMENSIONS, need_dims, need_int, need_size
from netsim.topologies.domains import grid_hierarchy
from netsim.topologies.family import Concentration, EqualLinks, Family, Name
from netsim.topologies.graph import topology_from_cables
from netsim.topologies.positions import grid
from netsim.topology import Topology


@dataclass(frozen=True)
class HyperXShape:
    """Parameters of a HyperX.

    Routers are numbered in C order (the last dimension fastest); node
    ``router*concentration + i``. Routers that differ in one coordinate are joined.
    """

    dims: tuple[int, ...]
    """Length of each dimension."""
    concentration: int = 1
    """Nodes a router."""

    def __post_init__(self) -> None:
        given = need_dims("hyperx", self.dims, self.concentration)
        routers = math.prod(self.dims)
        nodes = routers * self.concentration
        links = 2 * nodes + routers * sum(length - 1 for length in self.dims)
        need_size("hyperx", given, nodes, links)


def _build(family: str, name: str, shape: HyperXShape, links: EqualLinks) -> Topology:
    routers = np.arange(int(np.prod(shape.dims))).reshape(shape.dims)
    cables = []
    for d in range(len(shape.dims)):
        lines = np.moveaxis(routers, d, -1).reshape(-1, shape.dims[d])
        one, other = np.triu_indices(shape.dims[d], 1)
        cables.append(np.stack([lines[:, one], lines[:, other]], axis=-1).reshape(-1, 2))
    return topology_from_cables(
        family=family,
        name=name,
        shape=shape,
        nodes_per_router=np.full(routers.size, shape.concentration),
        cables=np.concatenate(cables),
        bandwidth_Bps=links.link_bandwidth_Bps,
        latency_s=links.link_latency_s,
        node_bandwidth_Bps=links.node_bandwidth_Bps,
        node_latency_s=links.node_latency_s,
    )


def hyperx(
    dims: Annotated[Sequence[int], "length of each dimension", Ge(1)],
    *,
    concentration: Concentration = 1,
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    name: Name = None,
) -> Topology:
    """Build a HyperX: all-to-all in every dimension. Parameters as in `HyperXShape`."""
    shape = HyperXShape(tuple(dims), concentration)
    shown = "x".join(map(str, shape.dims))
    return _build("hyperx", name or f"hyperx({shown})", shape, links)


def hypercube(
    dimension: Annotated[int, "dimensions; 2^dimension routers", Ge(1)],
    *,
    concentration: Concentration = 1,
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    name: Name = None,
) -> Topology:
    """Build a hypercube of 2^dimension routers; neighbours differ in one bit."""
    need_int("hypercube", "dimension", dimension, 1)
    if dimension > MAX_DIMENSIONS:
        raise NetcosimError(
            f"hypercube: dimension = {shown(dimension)}; at most {MAX_DIMENSIONS} are allowed"
        )
    shape = HyperXShape((2,) * dimension, concentration)
    return _build("hypercube", name or f"hypercube({dimension})", shape, links)


HYPERX = Family(
    name="hyperx",
    description="all-to-all in every dimension (dims)",
    builders=(hyperx,),
    default_routing="dimension-order",
    hierarchy=grid_hierarchy,
    layout=lambda topology: grid(topology.shape.dims),
    small=({"dims": [3, 4]},),
)
HYPERCUBE = Family(
    name="hypercube",
    description="2^dimension routers, neighbours differ in one bit",
    builders=(hypercube,),
    default_routing="dimension-order",
    hierarchy=grid_hierarchy,
    layout=lambda topology: grid(topology.shape.dims),
    small=({"dimension": 3},),
)
