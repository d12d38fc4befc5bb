"""Run times that depend on the geometry of a job's partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError
from netsim.topologies.torus import TorusShape
from queuesim.draws import draw_key, uniform_per_job
from queuesim.runtime import RunTimeModel, RunTimes
from workloads.job import Workload


def extents_of(shape: TorusShape, placement: Placement) -> tuple[int, ...]:
    """Edge lengths, in routers, of the cuboid a job sits on."""
    routers = np.asarray(placement.nodes, dtype=np.int64) // shape.concentration
    return tuple(len(np.unique(c)) for c in np.unravel_index(routers, shape.dims))


class _ByGeometry(RunTimes):
    def __init__(
        self,
        run_time_s: list[float],
        share: list[float],
        reference: list[float],
        shape: TorusShape,
        contention: Callable[[tuple[int, ...]], float],
    ) -> None:
        self._run_time_s, self._share, self._reference = run_time_s, share, reference
        self._shape, self._contention = shape, contention

    def work_s(self, job: int) -> float:
        return self._run_time_s[job]

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        share = self._share[job]
        if not share:
            return {}
        here = self._contention(extents_of(self._shape, placement))
        return {job: 1.0 / (1.0 - share + share * here / self._reference[job])}


@dataclass(frozen=True)
class PartitionBisection(RunTimeModel):
    """Contention-bound jobs run longer on partitions of less bisection.

    Of a bound job's logged time, a share is communication that is bound by the bisection. It
    grows with the time that bisection pairing takes on the partition it gets over
    that on the one it had when it was logged. Jobs are bound or not by a draw of their own, so
    all policies see the same ones.

    Parameters
    ----------
    bound_jobs : float
        Share of jobs that are contention-bound.
    communication : float
        Share of a bound job's logged time that is communication.
    contention : callable (extents) -> float
        Pairing time of a cuboid of routers, up to a common factor.
    logged : callable (n_nodes) -> extents
        The cuboid that a job of this size had in the log.
    """

    name = "partition-bisection"
    description = "communication of contention-bound jobs scaled by their partition's bisection"
    knows_needs = True
    bound_jobs: float
    communication: float
    contention: Callable[[tuple[int, ...]], float]
    logged: Callable[[int], tuple[int, ...]]

    def __post_init__(self) -> None:
        for key in ("bound_jobs", "communication"):
            if not 0 <= getattr(self, key) <= 1:
                raise NetcosimError(f"{key} = {getattr(self, key)}; allowed: 0 to 1")

    def bound(self, workload: Workload, rng: np.random.Generator) -> NDArray[np.bool_]:
        """(n,) bool: which jobs are contention-bound."""
        return uniform_per_job(draw_key(rng), 0, workload.job_id) < self.bound_jobs

    def bandwidth_needs(self, workload: Workload, rng: np.random.Generator) -> NDArray[np.float64]:
        """A bound job asks for all it can get, another for nothing."""
        return np.where(self.bound(workload, rng), np.inf, 0.0)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        """Bind to a workload and a policy on a torus.

        Raises
        ------
        NetcosimError
            A topology that is no torus.
        """
        shape = policy.topology.shape
        if not isinstance(shape, TorusShape):
            raise NetcosimError(
                f"run-time model {self.name!r} is for tori, not {policy.topology.name}"
            )
        share = np.where(self.bound(workload, rng), self.communication, 0.0)
        sizes = {int(n): self.contention(self.logged(int(n))) for n in np.unique(workload.n_nodes)}
        reference = [sizes[n] for n in workload.n_nodes.tolist()]
        return _ByGeometry(
            workload.run_time_s.tolist(), share.tolist(), reference, shape, self.contention
        )
