"""One machine on which each job may be placed by another rule."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import NodePolicy
from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError, need_name


class AnyRule(Policy):
    """Policies that place by free nodes, all on the same machine: one of them places each job.

    Every rule knows all jobs, whichever rule placed them. `allocate` uses the first one. ``rules``
    are for the empty machine; results name them ``called``.
    """

    name = "any-rule"
    description = "another rule for each job, selected by the decider"
    holds_any = True

    def __init__(self, rules: Mapping[str, Policy], called: str = "any-rule") -> None:
        if not rules:
            raise NetcosimError("no placement rule: give at least 1")
        self.rules: dict[str, NodePolicy] = {}
        for name, rule in rules.items():
            if not (isinstance(rule, NodePolicy) and rule.holds_any) or rule.replays:
                raise NetcosimError(
                    f"policy {name!r} cannot be a placement rule beside others: it goes by more "
                    "than which nodes are free"
                )
            self.rules[name] = rule
        first = next(iter(self.rules.values()))
        super().__init__(first.topology, first.rng)
        self.name = called
        self.default = next(iter(self.rules))
        self.counts_only = all(rule.counts_only for rule in self.rules.values())
        self.walltime_aware = any(rule.walltime_aware for rule in self.rules.values())
        self.placed_by: dict[int, str] = {}
        """By which rule each running job was placed, by its id."""

    @property
    def n_free(self) -> int:
        return self.rules[self.default].n_free

    def fits_empty(self, n_nodes: int) -> bool:
        """Return whether some rule can place a job of this size on the empty machine."""
        return any(rule.fits_empty(n_nodes) for rule in self.rules.values())

    def allocate(self, request: Request) -> Placement | None:
        """Place a job by the first rule."""
        return self.allocate_by(self.default, request)

    def allocate_by(self, rule: str, request: Request) -> Placement | None:
        """Place a job by a rule; None if that cannot place it."""
        need_name("placement rule", rule, self.rules)
        placement = self.rules[rule].allocate(request)
        if placement is not None:
            self._notify(placement, rule)
        return placement

    def take(self, job_id: int, nodes: NDArray[np.integer]) -> Placement:
        """Place a job on given nodes: see `alloc.nodes.NodePolicy.take`."""
        placement = self.rules[self.default].take(job_id, nodes)
        self._notify(placement, self.default)
        return placement

    def _notify(self, placement: Placement, by: str) -> None:
        self.placed_by[placement.job_id] = by
        for name, other in self.rules.items():
            if name != by:
                other.take(placement.job_id, placement.nodes)

    def release(self, placement: Placement) -> None:
        self.placed_by.pop(placement.job_id, None)
        for rule in self.rules.values():
            rule.release(placement)

    def hold(self, placement: Placement) -> None:
        for rule in self.rules.values():
            rule.hold(placement)

    def unhold(self) -> None:
        for rule in self.rules.values():
            rule.unhold()

    def clone(self) -> Self:
        copied = copy.copy(self)
        copied.placed_by = dict(self.placed_by)
        copied.rules = {name: rule.clone() for name, rule in self.rules.items()}
        return copied
