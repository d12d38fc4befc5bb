"""Run-time models, measures of what policies do to communication, and network schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netsim.registry import Registry

if TYPE_CHECKING:
    from cosim.measuring.base import Measure
    from cosim.network_schedulers.base import NetworkScheduler
    from queuesim.runtime import RunTimeModel


RUNTIME_MODELS: Registry[type[RunTimeModel]] = Registry(
    "cosim.registry:RUNTIME_MODELS",
    "run-time model",
    "queuesim.runtime:RunTimeModel",
    (
        "queuesim.runtime:AsLogged",
        "queuesim.assumed:Assumed",
        "cosim.run_times.measured_times:Measured",
        "cosim.run_times.coupled:CoupledFlow",
        "cosim.run_times.coupled_packets:CoupledPackets",
        "cosim.run_times.iterations:Iterations",
    ),
    classes=True,
    optional=("queuesim.bluegene.partition_bisection",),
)

MEASURES: Registry[type[Measure]] = Registry(
    "cosim.registry:MEASURES",
    "measure",
    "cosim.measuring.base:Measure",
    (
        "cosim.measuring.campaign:Stretch",
        "cosim.measuring.paired:Paired",
        "cosim.measuring.steady_measure:Steady",
    ),
    classes=True,
)
NETWORK_SCHEDULERS: Registry[type[NetworkScheduler]] = Registry(
    "cosim.registry:NETWORK_SCHEDULERS",
    "network scheduler",
    "cosim.network_schedulers.base:NetworkScheduler",
    (
        "cosim.network_schedulers.base:Unscheduled",
        "cosim.network_schedulers.crux:Crux",
        "cosim.network_schedulers.cassini:Cassini",
    ),
    classes=True,
)
