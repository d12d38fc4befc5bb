"""From the sections of a config to the objects of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cosim.network.communication import Communication
from cosim.network.mix import CommunicationMix, PatternShare
from experiments.config_machine import MachineSection
from experiments.fields import InputFile
from netsim.inputs import checked_path, is_input
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from patterns.registry import PATTERNS
from workloads.shares.mixes import MIXES

if TYPE_CHECKING:
    from experiments.config import Config
    from experiments.config_communication import CommunicationSection


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


def communications(section: CommunicationSection) -> list[Communication]:
    """What the jobs of each entry of the mix send."""
    return [
        Communication(
            entry.pattern,
            entry.message_bytes,
            entry.iterations,
            entry.all_parameters(InputFile.checked),
            None
            if entry.node_bytes is None
            else max(1, entry.node_bytes // section.ranks_per_node),
        )
        for entry in section.mix
    ]


def communication_mix(section: CommunicationSection) -> CommunicationMix:
    """Patterns, weights and communication fractions of ``[communication]``.

    Raises
    ------
    NetcosimError
        What `cosim.network.mix.CommunicationMix` refuses.
    """
    shares = []
    for entry in section.mix:
        ranks = PATTERNS[entry.pattern].least_ranks(entry.all_parameters(InputFile.checked))
        least, most = entry.nodes or (1, None)
        least = max(least, -(-ranks // section.ranks_per_node))
        named = (entry.pattern, entry.weight, *entry.communication_fraction)
        shares.append(PatternShare(*named, least, most))
    return CommunicationMix(shares, section.law())


def other_share(config: Config) -> str | None:
    """What to know where the measure takes a named mix for a share of something else.

    Parameters
    ----------
    config : Config

    Returns
    -------
    str or None
        None where it is the same, or nothing is measured that knows what it is a share of.
    """
    name, run = config.communication.drawn_from, config.run
    taken = {"steady": run.steady.share, "paired": "alone"}.get(run.measure)
    if name is None or taken is None or run.snapshots == 0 or MIXES[name].share == taken:
        return None
    key = "run.steady.share" if run.measure == "steady" else "run.paired"
    return (
        f'communication.from = "{name}" has shares "{MIXES[name].share}", and {key} takes them for '
        f'shares "{taken}": another quantity'
    )
