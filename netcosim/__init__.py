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
    from alloc.policy import Request as Request
    from alloc.registry import make_policy as make_policy
    from cosim.network.communication import Communication as Communication
    from cosim.network.ensemble import (
        Ensemble as Ensemble,
    )
    from cosim.network.ensemble import (
        PlacedJob as PlacedJob,
    )
    from cosim.network.ensemble import (
        SharedNetwork as SharedNetwork,
    )
    from cosim.run_times.live import Live as Live
    from cosim.run_times.live import LiveJob as LiveJob
    from netcosim.archive.extract import archive_of as archive_of
    from netcosim.catalogue import describe as describe
    from netcosim.catalogue import entries as entries
    from netcosim.config.config import Config as Config
    from netcosim.config.load import config_from as config_from
    from netcosim.config.load import load_config as load_config
    from netcosim.report.policies import policy_table as policy_table
    from netcosim.runs.cosim import run_cosim as run_cosim
    from netcosim.runs.cosim_tables import result_tables as result_tables
    from netcosim.runs.run_result import Run as Run
    from netcosim.runs.run_result import run as run
    from netcosim.runs.store import Store as Store
    from netcosim.runs.sweep import run_points as run_points
    from netsim.errors import ModelWarning as ModelWarning
    from netsim.errors import NetcosimError as NetcosimError
    from netsim.hierarchy import hierarchy_of as hierarchy_of
    from netsim.packet.engine import simulate_packets as simulate_packets
    from netsim.packet.model import PacketConfig as PacketConfig
    from netsim.routing.registry import make_routing as make_routing
    from netsim.topologies.registry import make_topology as make_topology
    from netsim.topologies.registry import preset as preset
    from netsim.topology import Topology as Topology
    from netsim.traffic import combine as combine
    from patterns.registry import make_pattern as make_pattern
    from queuesim.metrics import summarise as summarise
    from queuesim.queue import simulate_queue as simulate_queue
    from workloads.swf import read_swf as read_swf
    from workloads.swf import write_swf as write_swf
    from workloads.synthetic import laas_workload as laas_workload


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

__all__ = sorted(["__version__", *(name for names in _HOMES.values() for name in names)])


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
