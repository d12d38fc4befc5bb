"""The network of a config."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from experiments.config_machine import MachineSection
from netsim.inputs import checked_path, is_input
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.topology import Topology


@dataclass(frozen=True, eq=False)
class BuiltMachine:
    """The network of a config.

    Attributes
    ----------
    section : MachineSection
    topology : Topology
    packets : PacketConfig
    """

    section: MachineSection
    topology: Topology
    packets: PacketConfig

    @cached_property
    def routing(self) -> Routing:
        """Made when it is asked for: a queue alone needs none."""
        section = self.section
        return make_routing(self.topology, section.routing, section.routing_parameters)


def build_machine(section: MachineSection) -> BuiltMachine:
    """The network of ``[machine]``.

    Raises
    ------
    NetcosimError
        What the builders refuse, such as more groups than global links can join.
    """
    parameters = {
        name: checked_path(value) if is_input(value) else value
        for name, value in section.parameters.items()
    }
    topology = make_topology(section.family, parameters)
    return BuiltMachine(section, topology, PacketConfig(**section.packet.model_dump()))
