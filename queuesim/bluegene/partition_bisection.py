"""Run times that depend on the geometry of a job's partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from alloc.bluegene.menus import partition_menu
from alloc.bluegene.pairing import pairing_s
from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError
from netsim.topologies.torus import TorusShape
from queuesim.bluegene.parameters import PartitionKeys
from queuesim.draws import draw_key, uniform_per_job
from queuesim.runtime import RunTimeModel, RunTimes
from workloads.job import Workload


def extents_of(shape: TorusShape, placement: Placement) -> tuple[int, ...]:
    """Return the edge lengths, in routers, of a job's cuboid."""
    routers = np.asarray(placement.nodes, dtype=np.int64) // shape.concentration
    return tuple(len(np.unique(c)) for c in np.unravel_index(routers, shape.dims))


def contention(extents: tuple[int, ...]) -> float:
    """Return the pairing time of a cuboid of midplanes in any orientation."""
    return pairing_s(tuple(sorted(extents, reverse=True)))


def logged_geometry(midplanes: int, menu: str = "mira-current") -> tuple[int, ...]:
    """Return the partition that a job had: the smallest on a menu of `MENUS` that holds it."""
    holding = [g for g in partition_menu(menu).geometries if prod(g) >= midplanes]
    if not holding:
        raise NetcosimError(f"partition menu {menu!r} has nothing for {midplanes} midplanes")
    return min(holding, key=prod)


class _ByGeometry(RunTimes):
    def __init__(
        self,
        run_time_s: list[float],
        share: list[float],
        reference: list[float],
        shape: TorusShape,
    ) -> None:
        self._run_time_s, self._share, self._reference = run_time_s, share, reference
        self._shape = shape

    def work_s(self, job: int) -> float:
        return self._run_time_s[job]

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        share = self._share[job]
        if not share:
            return {}
        here = contention(extents_of(self._shape, placement))
        return {job: 1.0 / (1.0 - share + share * here / self._reference[job])}


@dataclass(frozen=True)
class PartitionBisection(PartitionKeys, RunTimeModel):
    """Contention-bound jobs run longer on partitions of less bisection.

    Of a bound job's logged time, a share is communication that is bound by the bisection. It
    grows with the time that bisection pairing takes on the partition it gets over
    that on the one it had when it was logged. Jobs are bound or not by a draw of their own, so
    all policies see the same ones.

    The machine is a torus whose routers are midplanes of Blue Gene/Q, as "mira-midplanes" has them.
    """

    name = "partition-bisection"
    description = "communication of contention-bound jobs scaled by their partition's bisection"
    reads = ()
    knows_needs = True
    solves_flows = "flows"
    parameters = PartitionKeys

    @classmethod
    def from_config(cls, context: object, parameters: PartitionKeys) -> PartitionBisection:
        return cls(parameters.bound_jobs, parameters.communication, parameters.logged_menu)

    def bound(self, workload: Workload, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which jobs are contention-bound, (n,) bool."""
        return uniform_per_job(draw_key(rng), 0, workload.job_id) < self.bound_jobs

    def bandwidth_needs(self, workload: Workload, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return infinite bandwidth for contention-bound jobs and 0 for the others."""
        return np.where(self.bound(workload, rng), np.inf, 0.0)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        """Bind to a workload and a policy on a torus."""
        shape = policy.topology.shape
        if not isinstance(shape, TorusShape):
            raise NetcosimError(
                f"run-time model {self.name!r} is for tori, not {policy.topology.name}"
            )
        share = np.where(self.bound(workload, rng), self.communication, 0.0)
        sizes = {n: contention(logged_geometry(n, self.logged_menu)) for n in workload.sizes}
        reference = [sizes[n] for n in workload.n_nodes.tolist()]
        return _ByGeometry(workload.run_time_s.tolist(), share.tolist(), reference, shape)


PLUGIN = [PartitionBisection]
