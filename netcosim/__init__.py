"""netcosim: job logs, placement, communication and the queue in one loop.

The names that a notebook needs, each from the package that it belongs to::

    import netcosim as nc

    machine = nc.preset("dragonfly-272")
    result = nc.run("config.toml")

A name is imported when it is first used, so that ``import netcosim`` takes no time. All the
rest of the packages can be imported as well: these names are the same objects.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from alloc.policy import Request
    from alloc.registry import make_policy
    from cosim.network.communication import Communication
    from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
    from cosim.run_times.live import Live, LiveJob
    from netcosim.archive.extract import archive_of
    from netcosim.catalogue import describe, entries
    from netcosim.config.config import Config
    from netcosim.config.load import config_from, load_config
    from netcosim.report.policies import policy_table
    from netcosim.runs.cosim import run_cosim
    from netcosim.runs.cosim_tables import result_tables
    from netcosim.runs.run_result import Run, run
    from netcosim.runs.store import Store
    from netcosim.runs.sweep import run_points
    from netsim.errors import ModelWarning, NetcosimError
    from netsim.hierarchy import hierarchy_of
    from netsim.packet.engine import simulate_packets
    from netsim.packet.model import PacketConfig
    from netsim.routing.registry import make_routing
    from netsim.topologies.registry import make_topology, preset
    from netsim.topology import Topology
    from netsim.traffic import combine
    from patterns.registry import make_pattern
    from queuesim.metrics import summarise
    from queuesim.queue import simulate_queue
    from workloads.swf import read_swf, write_swf
    from workloads.synthetic import laas_workload


_HOMES = {
    "alloc.policy": ("Request",),
    "alloc.registry": ("make_policy",),
    "netcosim.config.config": ("Config",),
    "netcosim.config.load": ("config_from", "load_config"),
    "netcosim.runs.cosim": ("run_cosim",),
    "netcosim.runs.cosim_tables": ("result_tables",),
    "netcosim.archive.extract": ("archive_of",),
    "netcosim.runs.store": ("Store",),
    "netcosim.runs.sweep": ("run_points",),
    "netcosim.catalogue": ("describe", "entries"),
    "netcosim.report.policies": ("policy_table",),
    "netcosim.runs.run_result": ("Run", "run"),
    "netsim.errors": ("ModelWarning", "NetcosimError"),
    "netsim.hierarchy": ("hierarchy_of",),
    "netsim.packet.engine": ("simulate_packets",),
    "netsim.packet.model": ("PacketConfig",),
    "netsim.routing.registry": ("make_routing",),
    "netsim.topologies.registry": ("make_topology", "preset"),
    "netsim.topology": ("Topology",),
    "netsim.traffic": ("combine",),
    "patterns.registry": ("make_pattern",),
    "cosim.network.communication": ("Communication",),
    "cosim.network.ensemble": ("Ensemble", "PlacedJob", "SharedNetwork"),
    "cosim.run_times.live": ("Live", "LiveJob"),
    "queuesim.metrics": ("summarise",),
    "queuesim.queue": ("simulate_queue",),
    "workloads.swf": ("read_swf", "write_swf"),
    "workloads.synthetic": ("laas_workload",),
}
"""The imports above as data: type checkers read those, Python these; a test holds them equal."""

__all__ = [
    "Communication",
    "Config",
    "Ensemble",
    "Live",
    "LiveJob",
    "ModelWarning",
    "NetcosimError",
    "PacketConfig",
    "PlacedJob",
    "Request",
    "Run",
    "SharedNetwork",
    "Store",
    "Topology",
    "__version__",
    "archive_of",
    "combine",
    "config_from",
    "describe",
    "entries",
    "hierarchy_of",
    "laas_workload",
    "load_config",
    "make_pattern",
    "make_policy",
    "make_routing",
    "make_topology",
    "policy_table",
    "preset",
    "read_swf",
    "result_tables",
    "run",
    "run_cosim",
    "run_points",
    "simulate_packets",
    "simulate_queue",
    "summarise",
    "write_swf",
]


def __getattr__(name: str) -> Any:
    """Import a name on its first use, and keep it."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from netcosim.package_check import foreign_package

    foreign = foreign_package()
    if foreign is not None:
        raise ImportError(foreign)
    value: Any = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
