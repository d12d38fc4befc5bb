"""Coupled run times at flow level: running jobs share the network as it is placed now.

A job with communication fraction f whose communication is stretched by s moves at the rate
1 / ((1 - f) + f s). The stretch is that of `netsim.flow.message_network.MessageNetwork`: shares
and waits on links among the others, against an isolated run on the same nodes. Every start and
finish changes the stretch of only the jobs that it affects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from cosim.network.communication import ALWAYS
from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from cosim.parameters import RUNTIME_REFERENCES, CoupledParameters
from cosim.run_times.model_context import ModelContext
from cosim.run_times.stretches import FlowStretches
from netsim.errors import NetcosimError, need_name
from queuesim.result import CUT, FAILED, NEVER_RUN, OUTCOMES, QueueResult
from queuesim.runtime import NO_CHANGE, RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]


def isolated_work(
    workload: Workload,
    fraction: FloatArray,
    runtime_reference: str,
    reference_stretch: FloatArray | None,
) -> FloatArray:
    """Return isolated run times.

    Parameters
    ----------
    fraction : (n,) float64
        Share of them that is communication.
    runtime_reference : str
        A key of `RUNTIME_REFERENCES`.
    reference_stretch : (n,) float64 or None
        With "contended-baseline": stretch of every job's communication in the run that the
        log is taken for.

    Returns
    -------
    (n,) float64
    """
    logged = np.asarray(workload.run_time_s, dtype=np.float64)
    need_name("runtime_reference", runtime_reference, RUNTIME_REFERENCES)
    if (reference_stretch is None) != (runtime_reference == "isolated"):
        raise NetcosimError(
            f"runtime_reference {runtime_reference!r} "
            + ("needs" if reference_stretch is None else "takes no")
            + " reference_stretch"
        )
    if reference_stretch is None:
        return logged
    stretch = np.asarray(reference_stretch, dtype=np.float64)
    if stretch.shape != logged.shape or not np.all(np.isfinite(stretch) & (stretch >= 1)):
        raise NetcosimError("reference_stretch: one value >= 1 a job is needed")
    work_s: FloatArray = logged / (1 + fraction * (stretch - 1))
    return work_s


def mean_stretches(result: QueueResult, fraction: FloatArray) -> FloatArray:
    """Return the stretch of every job's communication over its life, from a coupled run.

    Parameters
    ----------
    result : QueueResult
        Of a run whose run times were "isolated".
    fraction : (n,) float64
        Communication share of each job.

    Returns
    -------
    (n,) float64
        >= 1; 1 for jobs that do not communicate.
    """
    for outcome in (CUT, FAILED, NEVER_RUN):
        if count := int((result.outcome == outcome).sum()):
            raise NetcosimError(
                f"{count} jobs were {OUTCOMES[outcome]}, which hides their stretch: mean_stretches "
                "needs a run that sees all jobs through"
            )
    factor = (result.end_s - result.start_s) / result.workload.run_time_s
    if result.spent is not None:
        factor = result.spent.held_s / (result.spent.held_s - result.spent.contention_s)
    talks = fraction > 0
    stretch = np.ones(len(factor))
    stretch[talks] = (factor[talks] - (1 - fraction[talks])) / fraction[talks]
    return np.maximum(stretch, 1.0)


def stretch_of_reference(
    context: ModelContext,
    parameters: CoupledParameters,
    alone: Callable[[JobNetwork], RunTimeModel],
) -> FloatArray | None:
    """Return the stretches for a ``runtime_reference``; None if it needs none.

    With "contended-baseline" the reference policy's queue runs first, with a model whose run
    times are "isolated": it determines how contended the log's jobs were.

    Parameters
    ----------
    alone : callable
        Makes that model of the reference policy's network.
    """
    if parameters.runtime_reference == "isolated":
        return None
    return mean_stretches(*context.pilot(alone))


FLOW_KEYS = (
    *("packet_bytes", "header_bytes", "buffer_bytes", "eager_limit_bytes", "router_latency_s"),
    "rail_policy",
)
"""Parameters of `netsim.packet.model.PacketConfig` that count at flow level."""


@dataclass(frozen=True, eq=False)
class CoupledFlow(RunTimeModel):
    """Run times from live contention at flow level.

    Notes
    -----
    A neighbour loads its links for the share of time in which it communicates (docs/flow-model.md).
    """

    name = "coupled-flow"
    description = "live: running jobs slow each other on shared links, as flows do"
    section = "coupled"
    solves_flows = "flows of jobs"
    reads = (
        *("communication", "machine.parameters", "machine.routing", "machine.routing_parameters"),
        *(f"machine.packet.{key}" for key in FLOW_KEYS),
    )
    parameters = CoupledParameters
    network: JobNetwork = field()
    runtime_reference: str = "isolated"
    """Meaning of the log's run time. "isolated", the default: that of an isolated run. It needs no
    further assumption, and under a policy that isolates the run is then exactly the one with logged
    times; all differences are contention. "contended-baseline": the time under a baseline policy,
    as the studies that assume speed-ups of isolated jobs have it; isolated jobs then run shorter
    than logged. It needs ``reference_stretch``, from a run of that policy (`mean_stretches`)."""
    reference_stretch: FloatArray | None = None
    """(n_jobs,) float64 or None."""

    @classmethod
    def from_config(cls, context: ModelContext, parameters: CoupledParameters) -> CoupledFlow:
        """Build the model on the run's network with the config's ``runtime_reference``."""
        stretch = stretch_of_reference(context, parameters, cls)
        return cls(context.network(), parameters.runtime_reference, stretch)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        priorities = sorted({c.priority for c in self.network.communications})
        if len(priorities) > 1:
            raise NetcosimError(
                f"communication.mix has priorities {priorities}; {self.name} has none: use "
                'run_time_model = "coupled-packets", or the same priority for all'
            )
        share, fraction = self.network.mix.draw(workload, rng)
        work_s = isolated_work(workload, fraction, self.runtime_reference, self.reference_stretch)
        stretches = FlowStretches(self.network.loads)
        return LiveRunTimes(self.network, workload, policy, share, fraction, work_s, stretches)


class LiveRunTimes(RunTimes):
    """The live side of the coupled models.

    Parameters
    ----------
    share : (n,) int64
        Index of every job's communication.
    fraction : (n,) float64
        Share of the isolated run time in which each job communicates.
    work_s : (n,) float64
        From `isolated_work`.
    """

    def __init__(
        self,
        network: JobNetwork,
        workload: Workload,
        policy: Policy,
        share: NDArray[np.int64],
        fraction: FloatArray,
        work_s: FloatArray,
        stretches: FlowStretches,
    ) -> None:
        topology = network.shared.routing.topology
        if policy.topology.n_nodes != topology.n_nodes:
            raise NetcosimError(
                f"policy {policy.name!r} places on {policy.topology.n_nodes} nodes, the routing "
                f"has {topology.n_nodes}"
            )
        if not (np.all(np.isfinite(work_s)) and np.all(work_s > 0)):
            raise NetcosimError(f"{workload.name}: a run time is not > 0")
        self.stretches = stretches
        self._untouched = policy.isolates and network.partition_routing
        self._always = network.together == ALWAYS
        self._n_nodes = workload.n_nodes
        self._share = share
        self._fraction = fraction
        self._work_s = work_s

    def work_s(self, job: int) -> float:
        return float(self._work_s[job])

    def report(self) -> Mapping[str, Mapping[str, float]]:
        return self.stretches.report()

    def stretch(self, job: int) -> float:
        """Return the stretch of a running job's communication; 1 for one that loads no link."""
        return self.stretches.stretch(job)

    def link_use(self) -> FloatArray:
        return self.stretches.link_use()

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        n_nodes = int(self._n_nodes[job])
        if n_nodes > 1 and self._fraction[job] > 0 and not self._untouched:
            nodes = np.asarray(placement.nodes[:n_nodes], dtype=np.int32)
            fraction = 1.0 if self._always else float(self._fraction[job])
            self.stretches.start(job, Situation(int(self._share[job]), nodes.tobytes(), fraction))
        return NO_CHANGE

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self.stretches.end(job)
        return NO_CHANGE

    def settle(self, now_s: float) -> Mapping[int, float]:
        changed = self.stretches.settle()
        return {job: rate_of(float(self._fraction[job]), s) for job, s in changed.items()}


def rate_of(fraction: float, stretch: float) -> float:
    """Return the work per second of a job whose communication, this share of its isolated run time,
    is stretched."""
    return 1.0 if stretch == 1.0 else 1.0 / ((1.0 - fraction) + fraction * stretch)
