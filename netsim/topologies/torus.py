"""Tori and meshes of any number of dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from netsim.errors import NetcosimError
from netsim.parameters import ReadIf
from netsim.topologies.checks import need_dims, need_int, need_size
from netsim.topologies.domains import grid_hierarchy
from netsim.topologies.family import Concentration, EqualLinks, Family, Name
from netsim.topologies.positions import grid
from netsim.topology import Ports, RouterLinks, Topology, build_topology


@dataclass(frozen=True)
class TorusShape:
    """Parameters of a torus or mesh, and the numbering of its parts.

    Routers are numbered in C order: the *last* dimension changes fastest (as in
    `numpy.ravel_multi_index`). Node ``router*concentration + i``. Router links come by
    dimension, then + before -, then by sending router; a router without that link (the
    end of a mesh) is passed over.
    """

    dims: tuple[int, ...]
    """Length of each dimension. A dimension of length 1 has no links."""
    wrap: tuple[bool, ...]
    """Whether each dimension is a ring."""
    bandwidth_factor: tuple[float, ...]
    """Times the link bandwidth, for each dimension."""
    concentration: int = 1
    """Nodes a router."""
    double_links_for_two: bool = False
    """A wrapped dimension of length 2 has one cable between the two routers (False), or two, one of
    them the wrap link (True; so Blue Gene/Q counts them)."""

    def __post_init__(self) -> None:
        given = need_dims("torus", self.dims, self.concentration)
        for what in ("wrap", "bandwidth_factor"):
            if len(getattr(self, what)) != len(self.dims):
                raise NetcosimError(
                    f"torus: {what} has {len(getattr(self, what))} values for "
                    f"{len(self.dims)} dimensions"
                )
        for factor in self.bandwidth_factor:
            if not 0 < factor < math.inf:
                raise NetcosimError(
                    f"torus: bandwidth_factor {factor}; it must be above 0 and finite"
                )
        links = 2 * self.n_nodes + 2 * len(self.dims) * self.n_routers
        need_size("torus", given, self.n_nodes, links)

    @property
    def n_routers(self) -> int:
        """Routers in all."""
        return math.prod(self.dims)

    @property
    def n_nodes(self) -> int:
        """Nodes in all."""
        return self.n_routers * self.concentration

    def is_ring(self, d: int) -> bool:
        """Return whether dimension ``d`` really has wrap links."""
        return self.wrap[d] and (
            self.dims[d] > 2 or (self.dims[d] == 2 and self.double_links_for_two)
        )

    def coords(self, router: int) -> tuple[int, ...]:
        """Return the coordinates of a router."""
        out = []
        for length in reversed(self.dims):
            router, c = divmod(router, length)
            out.append(c)
        return tuple(reversed(out))

    def all_coords(self) -> np.ndarray:
        """Return the coordinates of every router, (n_routers, dimensions) int64."""
        grid = np.unravel_index(np.arange(self.n_routers), self.dims)
        return np.stack(grid, axis=1).astype(np.int64)

    def link_table(self) -> np.ndarray:
        """Return links by 2*d (+) and 2*d+1 (-), -1 if none, (n_routers, 2*dimensions)."""
        coords = self.all_coords()
        table = np.full((self.n_routers, 2 * len(self.dims)), -1, dtype=np.int64)
        link = 2 * self.n_nodes
        for d, length in enumerate(self.dims):
            for sign, end in ((0, length - 1), (1, 0)):
                has = np.full(self.n_routers, True) if self.is_ring(d) else coords[:, d] != end
                count = int(has.sum())
                table[has, 2 * d + sign] = link + np.arange(count)
                link += count
        return table


def torus(
    dims: Annotated[Sequence[int], "length of each dimension", Ge(1)],
    *,
    wrap: Annotated[bool | Sequence[bool], "whether dimensions are rings, all or each"] = True,
    bandwidth_factor: Annotated[
        Sequence[float] | None, "times the link bandwidth, for each dimension", Gt(0)
    ] = None,
    concentration: Concentration = 1,
    double_links_for_two: Annotated[
        bool,
        "two cables around a dimension of length 2, as Blue Gene/Q counts them",
        ReadIf(("dims",), lambda dims: 2 in dims, "a length in machine.dims is 2"),
    ] = False,
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    name: Name = None,
) -> Topology:
    """Build a torus, a mesh, or a mixture, of link kinds "d0+", "d0-", "d1+", ...

    The last dimension changes fastest in router numbers.
    """
    lengths = tuple(need_int("torus", "a dimension's length", d, 1) for d in dims)
    wraps = (wrap,) * len(lengths) if isinstance(wrap, bool) else tuple(bool(w) for w in wrap)
    factors = (
        (1.0,) * len(lengths) if bandwidth_factor is None else tuple(map(float, bandwidth_factor))
    )
    s = TorusShape(lengths, wraps, factors, concentration, double_links_for_two)
    coords, table = s.all_coords(), s.link_table()
    src, dst, kind, bandwidth = [], [], [], []
    for d, length in enumerate(lengths):
        for sign in (0, 1):
            routers = np.flatnonzero(table[:, 2 * d + sign] >= 0)
            neighbour = coords[routers].copy()
            neighbour[:, d] = (neighbour[:, d] + (1, -1)[sign]) % length
            src.append(routers)
            dst.append(np.ravel_multi_index(tuple(neighbour.T), lengths))
            kind.append(np.full(len(routers), 2 * d + sign))
            bandwidth.append(np.full(len(routers), links.link_bandwidth_Bps * factors[d]))
    shown = "x".join(map(str, lengths))
    on_router = np.repeat(np.arange(s.n_routers), s.concentration)
    return build_topology(
        family="torus",
        name=name or f"{'torus' if any(wraps) else 'mesh'}({shown})",
        shape=s,
        n_routers=s.n_routers,
        ports=Ports(on_router, links.node_bandwidth_Bps, links.node_latency_s),
        links=RouterLinks(
            src=np.concatenate(src),
            dst=np.concatenate(dst),
            kind=np.concatenate(kind),
            kinds=tuple(f"d{d}{sign}" for d in range(len(lengths)) for sign in "+-"),
            bandwidth_Bps=np.concatenate(bandwidth),
            latency_s=links.link_latency_s,
        ),
    )


FAMILY = Family(
    name="torus",
    description="torus or mesh of any number of dimensions (dims, wrap)",
    builders=(torus,),
    default_routing="dimension-order",
    hierarchy=grid_hierarchy,
    layout=lambda topology: grid(topology.shape.dims),
    small=(
        {"dims": [4, 3]},
        {"dims": [5]},
        {"dims": [2, 3, 4], "wrap": [True, False, True], "double_links_for_two": True},
        {"dims": [2, 1, 4], "concentration": 2},
        {"dims": [3, 2, 3], "wrap": False},
    ),
)
