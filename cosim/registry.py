"""Run-time models, and ways to measure what policies do to jobs' communication, by name."""

from __future__ import annotations

from cosim.measuring.campaign import Stretch
from cosim.measuring.paired import Paired
from cosim.measuring.steady_measure import Steady
from cosim.run_times.coupled import CoupledFlow
from cosim.run_times.coupled_packets import CoupledPackets
from cosim.run_times.iterations import Iterations
from cosim.run_times.measured_times import Measured
from netsim.registry import Registry
from queuesim.assumed import Assumed
from queuesim.runtime import AsLogged, RunTimeModel

RUNTIME_MODELS: Registry[type[RunTimeModel]] = Registry(
    "cosim.registry:RUNTIME_MODELS",
    "run-time model",
    RunTimeModel,
    (
        AsLogged,
        Assumed,
        Measured,
        CoupledFlow,
        CoupledPackets,
        Iterations,
    ),
    classes=True,
    optional=("queuesim.bluegene.partition_bisection",),
)

MEASURES: dict[str, type[Stretch] | type[Paired] | type[Steady]] = {
    measure.name: measure for measure in (Stretch, Paired, Steady)
}
