"""Run-time models by name."""

from __future__ import annotations

from cosim.run_times.coupled import CoupledFlow
from cosim.run_times.coupled_packets import CoupledPackets
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
    ),
    classes=True,
    optional=("queuesim.bluegene.partition_bisection",),
)
