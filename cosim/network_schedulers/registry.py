"""Network schedulers by name."""

from __future__ import annotations

from cosim.network_schedulers.base import NetworkScheduler, Unscheduled
from cosim.network_schedulers.cassini import Cassini
from cosim.network_schedulers.crux import Crux
from netsim.registry import Registry

NETWORK_SCHEDULERS: Registry[type[NetworkScheduler]] = Registry(
    "cosim.network_schedulers.registry:NETWORK_SCHEDULERS",
    "network scheduler",
    NetworkScheduler,
    (Unscheduled, Crux, Cassini),
    classes=True,
)
