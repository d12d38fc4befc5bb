"""Kueue's topology-aware scheduling: required, preferred and unconstrained levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from alloc.hierarchy.base import Domains, HierarchyPolicy, best_fit
from alloc.hierarchy.greedy import largest_then_tight, smallest_first
from alloc.nodes import Nodes
from netsim.errors import NetcosimError
from netsim.parameters import Example, OneOf
from netsim.topology import Topology

PROFILES = ("best-fit", "least-free")
NODE = "node"
"""The lowest level of a topology whose nodes are levels of their own (kubernetes.io/hostname)."""

Profile = Annotated[
    str,
    "domains with most free nodes first and a tight last one, or with fewest first",
    OneOf(PROFILES),
]
LowestLevel = Annotated[
    str,
    "lowest level of the topology: node, or a level of the machine such as its leaves",
    Example("leaf"),
]


@dataclass(frozen=True)
class Unconstrained:
    """A workload without a level."""

    profile: Profile = "least-free"
    lowest_level: LowestLevel = NODE


@dataclass(frozen=True)
class Levelled:
    """A workload with a level: ``podset-required-topology`` or ``podset-preferred-topology``."""

    level: Annotated[
        str | None,
        "level of the machine that every job names; if left out the lowest that could hold the "
        "job (required), or the lowest (preferred)",
        Example("pod"),
    ] = None
    profile: Profile = "best-fit"
    lowest_level: LowestLevel = NODE


class Kueue(HierarchyPolicy):
    """Common part of the three policies: KEP-2724's descent, with entire nodes instead of pods.

    Level by level downwards the domains in the chosen ones are sorted together, and as many of
    them taken as the job needs: by most free nodes with the last one as tight as can be
    (best-fit), or by fewest (least-free). Ties go to the lowest number. Where the nodes are the
    lowest level (the default) they are all alike, so the lowest-numbered free nodes of the chosen
    domains are taken; with a lowest level above them the last descent's counts are cached, and
    inside of a domain the lowest-numbered nodes are taken.
    """

    parameters: ClassVar[type[Levelled] | type[Unconstrained]] = Levelled

    def __init__(
        self,
        topology: Topology,
        rng: np.random.Generator,
        parameters: Levelled | Unconstrained | None = None,
    ) -> None:
        super().__init__(topology, rng)
        given = self.parameters() if parameters is None else parameters
        self._profile, lowest = given.profile, given.lowest_level
        self._node_level = lowest == NODE
        self._lowest = self.n_levels - 1 if self._node_level else self.level_named(lowest)
        # Kueue has no level above its topology's: the machine is one only if it has no other level
        self._top = min(1, self._lowest)
        self._level = self._named(given.level) if isinstance(given, Levelled) else None

    def _named(self, level: str | None) -> int | None:
        """Return the number of the level that every job names."""
        if level is None:
            return None
        found = self.level_named(level)
        if found > self._lowest:
            raise NetcosimError(
                f"policy {self.name}: level {level!r} lies below lowest_level "
                f"{self.hierarchy.levels[self._lowest]!r}"
            )
        return found

    def _in_turn(self, level: int, domains: Domains, n_nodes: int) -> Domains:
        """Return as many of these domains as the job needs, in the profile's order."""
        count = self._count[level][domains]
        pick = largest_then_tight if self._profile == "best-fit" else smallest_first
        return domains[pick(count, n_nodes)]

    def _one(self, level: int, n_nodes: int) -> Domains | None:
        """Return the fullest domain of a level that holds the job."""
        best = best_fit(self._count[level], n_nodes)
        return None if best is None else np.array([best])

    def _spread(self, level: int, n_nodes: int) -> Domains:
        """Return domains of a level for a job that no single one of them holds."""
        return self._in_turn(level, np.arange(len(self._count[level])), n_nodes)

    def _down(self, level: int, domains: Domains, n_nodes: int) -> Nodes:
        """Return the job's nodes, descending from the domains that hold it."""
        for lower in range(level + 1, self._lowest + 1):
            inside = np.isin(self._above[lower], domains)
            domains = self._in_turn(lower, np.flatnonzero(inside), n_nodes)
        if self._node_level:
            inside = np.isin(self._of[self._lowest], domains)
            return np.flatnonzero(self._free & inside)[:n_nodes]
        return np.sort(self._fill(domains, n_nodes, self._lowest))


class KueueRequired(Kueue):
    """One domain of the level that the job names holds it, or it waits.

    Kueue's ``podset-required-topology``. Every job names ``level``; jobs that none of its domains
    could hold are refused. Without a ``level`` each job names the lowest that could hold it on the
    empty machine. The domain is the one with the fewest free nodes that holds the job (both
    profiles), and the descent is `Kueue`'s.
    """

    name = "kueue-required"
    description = "Kueue's required topology: one domain of a level holds the job, or it waits"

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Levelled | None = None
    ) -> None:
        super().__init__(topology, rng, parameters)
        self._largest = [int(self.hierarchy.sizes(k).max()) for k in range(self.n_levels)]

    def _required(self, n_nodes: int) -> int | None:
        """Return the level that a job of this size names; None if it can never run."""
        levels = range(self._lowest, -1, -1) if self._level is None else [self._level]
        return next((k for k in levels if self._largest[k] >= n_nodes), None)

    def fits_empty(self, n_nodes: int) -> bool:
        return super().fits_empty(n_nodes) and self._required(n_nodes) is not None

    def _select(self, n_nodes: int) -> Nodes | None:
        level = self._required(n_nodes)
        domain = None if level is None else self._one(level, n_nodes)
        return None if level is None or domain is None else self._down(level, domain, n_nodes)


class KueuePreferred(Kueue):
    """One domain of the level that the job names, else of a level above, else several.

    Kueue's ``podset-preferred-topology``. Where no domain of the top level below the whole machine
    holds the job, several of them are used.
    """

    name = "kueue-preferred"
    description = "Kueue's preferred topology: one domain of a level, else higher up, else several"
    counts_only = True

    def _select(self, n_nodes: int) -> Nodes:
        lowest = self._lowest if self._level is None else self._level
        for level in range(lowest, self._top - 1, -1):
            domain = self._one(level, n_nodes)
            if domain is not None:
                return self._down(level, domain, n_nodes)
        return self._down(self._top, self._spread(self._top, n_nodes), n_nodes)


class KueueUnconstrained(Kueue):
    """Any nodes, with as little left over as can be.

    Kueue's ``podset-unconstrained-topology``, also of workloads without a setting: one search at
    the lowest level. Whole nodes are all alike, so where the nodes are that level the
    lowest-numbered free ones are taken. With ``lowest_level`` a level of the machine its domains
    are filled, by default those with the fewest free nodes first.
    """

    name = "kueue-unconstrained"
    description = "Kueue's unconstrained topology: any nodes, least free capacity first"
    counts_only = True
    parameters = Unconstrained

    def _select(self, n_nodes: int) -> Nodes:
        if self._node_level:
            return np.flatnonzero(self._free)[:n_nodes]
        one = self._one(self._lowest, n_nodes)
        domains = self._spread(self._lowest, n_nodes) if one is None else one
        return self._down(self._lowest, domains, n_nodes)
