"""Nested domains of nodes: the view of a machine for placement policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.short_repr import short_repr
from netsim.topology import Topology

MACHINE = "machine"


@short_repr()
@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Nested domains of nodes, from the whole machine down to those behind one router.

    Examples
    --------
    >>> import netcosim as nc
    >>> h = nc.hierarchy_of(nc.make_topology("fattree", {"radix": 4, "pods": 2}))
    >>> h.levels, h.counts
    (('machine', 'pod', 'leaf'), (1, 2, 4))
    >>> h.domain[2].tolist(), h.nodes_in(1, 1).tolist()
    ([0, 0, 1, 1, 2, 2, 3, 3], [4, 5, 6, 7])
    """

    levels: tuple[str, ...]
    """Names of the levels from top to bottom: ("machine", "pod", "leaf")."""
    domain: NDArray[np.int32]
    """(n_levels, n_nodes) int32. Domain of each node at each level. Domains of a level are numbered
    from 0, each has at least one node, and each lies inside one domain of the level above."""
    names: tuple[tuple[str, ...], ...] = ()
    """Of the domains, by level; an empty tuple where the machine names none."""

    def __post_init__(self) -> None:
        domain = np.array(self.domain, dtype=np.int32, ndmin=2)
        domain.flags.writeable = False
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "names", self.names or ((),) * len(self.levels))
        if not len(self.levels) == len(domain) == len(self.names) or not domain.size:
            raise NetcosimError(
                f"hierarchy: {len(self.levels)} levels, {len(domain)} rows of domains, names of "
                f"{len(self.names)} levels and {domain.shape[-1]} nodes do not fit"
            )
        if domain[0].any():
            raise NetcosimError(f"hierarchy: the top level {self.levels[0]!r} is not one domain")
        for level, row in enumerate(domain):
            what = f"hierarchy: level {self.levels[level]!r}"
            if row.min() < 0 or not np.bincount(row).all():
                raise NetcosimError(f"{what}: domains must be 0, 1, ... with a node each")
            if self.names[level] and len(self.names[level]) != self.counts[level]:
                raise NetcosimError(
                    f"{what}: {self.counts[level]} domains, {len(self.names[level])} names"
                )
            if level and np.any(self.above(level)[row] != domain[level - 1]):
                raise NetcosimError(
                    f"{what}: a domain lies in two of level {self.levels[level - 1]!r}"
                )

    @property
    def n_nodes(self) -> int:
        """Nodes of the machine."""
        return int(self.domain.shape[1])

    @property
    def counts(self) -> tuple[int, ...]:
        """Domains of each level."""
        return tuple((self.domain.max(axis=1) + 1).tolist())

    def sizes(self, level: int) -> NDArray[np.int64]:
        """Return the number of nodes in each domain of a level, int64."""
        return np.bincount(self.domain[level]).astype(np.int64)

    def above(self, level: int) -> NDArray[np.int32]:
        """Return the domain of the level above that contains each domain of a level, int32."""
        above = np.zeros(int(self.domain[level].max()) + 1, dtype=np.int32)
        if level:
            above[self.domain[level]] = self.domain[level - 1]
        return above

    def name(self, level: int, number: int) -> str:
        """Return the name of a domain: its own name, or level and number ("pod 3")."""
        names = self.names[level]
        return names[number] if names else f"{self.levels[level]} {number}"


def hierarchy(
    levels: Sequence[str], rows: Sequence[ArrayLike], names: Sequence[Sequence[str]] = ()
) -> Hierarchy:
    """Build a `Hierarchy` below the whole machine, its domains numbered without gaps.

    A row has any numbers that identify the domains of a level; ``names`` are at those numbers.
    """
    domains, domain_names = [np.zeros(np.shape(rows[0]), dtype=np.int64)], [()]
    for i, row in enumerate(rows):
        numbers, inverse = np.unique(np.asarray(row), return_inverse=True)
        domains.append(inverse)
        domain_names.append(
            tuple(names[i][n] for n in numbers.tolist()) if names and names[i] else ()
        )
    return Hierarchy((MACHINE, *levels), np.stack(domains).astype(np.int32), tuple(domain_names))


def router_hierarchy(topology: Topology) -> Hierarchy:
    """Return the hierarchy of machine and router, by the nodes' first ports."""
    return hierarchy(("router",), (topology.node_router,))


def grid_hierarchy(topology: Topology) -> Hierarchy:
    """Return the hierarchy that fixes one more leading coordinate a level: slab, plane, line.

    For shapes with ``dims`` whose routers are numbered with the last dimension fastest. Dimensions
    of length 1 make no level.
    """
    dims = [length for length in topology.shape.dims if length > 1]
    names, rows = [], []
    behind = topology.n_routers
    for left, length in zip(range(len(dims) - 1, -1, -1), dims, strict=True):
        behind //= length
        names.append({0: "router", 1: "line", 2: "plane"}.get(left, f"{left}d-slab"))
        rows.append(topology.node_router // behind)
    return hierarchy(names, rows) if rows else router_hierarchy(topology)
