"""Slurm's topology/block: base blocks of fixed size, aggregated by powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from alloc.hierarchy.base import HierarchyPolicy
from alloc.hierarchy.greedy import largest_then_tight
from alloc.nodes import Counts, Nodes
from netsim.errors import NetcosimError
from netsim.parameters import Example
from netsim.topology import Topology

DEFAULT_LEVELS = range(5)
"""1, 2, 4, 8 and 16 base blocks: Slurm's own where BlockSizes is not given."""


@dataclass(frozen=True)
class Blocks:
    """Settings of blocks in topology.conf."""

    block_sizes: Annotated[
        Sequence[int],
        "nodes planned for a base block, then of the aggregates that are enforced, as Slurm's "
        "BlockSizes; those of the machine's file, or 1, 2, 4, 8 and 16 base blocks, if left out",
        Ge(1),
        Example([2, 4, 16]),
    ] = ()
    block_level: Annotated[
        str | None,
        "level of the machine whose domains are base blocks; the lowest if left out",
        Example("leaf"),
    ] = None


class _Plan(NamedTuple):
    """Placement of a size, in base blocks."""

    width: int
    """A block that may hold the job."""
    part: int
    """The lower-level blocks that it takes as few of as it can."""
    most: int
    """So many of those it may use."""
    bound: bool
    """Whether that is fewer than a block has."""


class SlurmBlock(HierarchyPolicy):
    """Blocks of base blocks, as Slurm's topology/block plugin of version 26.11 enforces them.

    Base blocks are consecutive domains of one level; 2, 4, 8, ... of them that are adjacent
    make the blocks of the levels above. The block of a job is of the smallest enforced size that
    holds it (the whole machine if none does). Of the blocks that have its nodes free in as many
    lower-level blocks as the job needs at least, the one with the fewest free nodes is taken. In
    it a job uses lower-level blocks that it has begun, then one that holds the rest (fewest free
    nodes), else the one with most; and base blocks by the same rule. Ties go to the highest number,
    as in the code. Ranks are laid in order of node numbers.

    A job that finds no such block waits, however many nodes are free elsewhere.
    """

    name = "slurm-block"
    description = "Slurm's topology/block: enforced blocks of 1, 2, 4, ... base blocks, best fit"
    parameters = Blocks

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Blocks | None = None
    ) -> None:
        super().__init__(topology, rng)
        given = parameters or Blocks()
        self._level = self.level_named(given.block_level, self.n_levels - 1)
        self._sizes = self.hierarchy.sizes(self._level)
        sizes = tuple(given.block_sizes)
        if not sizes and given.block_level is None:
            sizes = getattr(topology.shape, "block_sizes", ())
        self._base = sizes[0] if sizes else int(self._sizes.min())
        if self._base > self._sizes.min():
            small = int(self._sizes.argmin())
            raise NetcosimError(
                f"policy {self.name}: block_sizes plans {self._base} nodes a base block, and "
                f"{self.hierarchy.name(self._level, small)} has {self._sizes[small]}"
            )
        self._enforced = sorted(set(map(self._doublings, sizes)) or DEFAULT_LEVELS)

    def _doublings(self, size: int) -> int:
        times, rest = divmod(size, self._base)
        if rest or times & (times - 1) or not times:
            raise NetcosimError(
                f"policy {self.name}: block_sizes has {size}, which is not the first size "
                f"({self._base}) times a power of two"
            )
        return times.bit_length() - 1

    def fits_empty(self, n_nodes: int) -> bool:
        if not super().fits_empty(n_nodes):
            return False
        return self._block(self._sizes, n_nodes, self._plan(n_nodes)) is not None

    def _plan(self, n_nodes: int) -> _Plan:
        blocks = -(-n_nodes // self._base)
        level = (blocks - 1).bit_length()
        lower = max((k for k in self._enforced if k < level), default=0)
        enforced = min((k for k in self._enforced if k >= level), default=None)
        width = len(self._sizes) if enforced is None else 1 << enforced
        part = 1 << lower
        most = -(-n_nodes // (part * self._base))
        return _Plan(width, part, most, width != part * most)

    def _block(self, free: Counts, n_nodes: int, plan: _Plan) -> int | None:
        """Return the block that holds the job; None if there is none."""
        number = np.arange(len(free)) // plan.width
        held = _sums(number, free)
        usable = held
        if plan.bound:
            usable = np.array(
                [
                    np.sort(_sums(np.arange(len(mine)) // plan.part, mine))[::-1][: plan.most].sum()
                    for mine in np.split(free, range(plan.width, len(free), plan.width))
                ]
            )
        fits = np.flatnonzero(usable >= n_nodes)
        if not len(fits):
            return None
        return int(fits[len(fits) - 1 - np.argmin(held[fits][::-1])])

    def _select(self, n_nodes: int) -> Nodes | None:
        plan, count = self._plan(n_nodes), self._count[self._level]
        block = self._block(count, n_nodes, plan)
        if block is None:
            return None
        first = block * plan.width
        free = count[first : first + plan.width]
        order = first + (
            _by_parts(free, n_nodes, plan.part) if plan.bound else _tight(free, n_nodes)
        )
        return np.sort(self._fill(order, n_nodes, self._level))


def _sums(number: NDArray[np.int64], free: Counts) -> Counts:
    return np.bincount(number, weights=free).astype(np.int64)


def _tight(free: Counts, n_nodes: int) -> NDArray[np.int64]:
    return largest_then_tight(free, n_nodes, -np.arange(len(free)))


def _suits(free: Counts, rest: int) -> Counts:
    """Rate domains, larger is better: tight ones that hold the rest, then by their free nodes."""
    return np.where(free >= rest, 2 * int(free.max()) + 1 - free, free)


def _by_parts(free: Counts, n_nodes: int, width: int) -> NDArray[np.int64]:
    """Return base blocks in the order of use, one lower-level block after another."""
    part = np.arange(len(free)) // width
    held, rest = _sums(part, free), n_nodes
    used: list[NDArray[np.int64]] = []
    while rest > 0:
        suits = _suits(held, rest)
        # of lower-level blocks that suit alike, the one with the best base block
        among = np.flatnonzero((suits == suits.max())[part])
        chosen = part[among[len(among) - 1 - np.argmax(_suits(free[among], rest)[::-1])]]
        inside = np.flatnonzero(part == chosen)
        taken = min(rest, int(held[chosen]))
        used.append(inside[_tight(free[inside], taken)])
        rest -= taken
        held[chosen] = 0
    return np.concatenate(used)
