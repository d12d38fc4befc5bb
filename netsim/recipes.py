"""Recipes: a packet model and the routing that goes with it, by one name.

They are those of other simulators, and of real machines as experiments/machines fits them.

A config names one as ``recipe`` under ``[machine]``. Keys beside it override its own: another
``routing`` replaces the recipe's routing with its parameters, and a key of ``[machine.packet]``
replaces that of the packet model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from netsim.packet.model import PacketConfig
from netsim.packet.presets import MACHINES, PACKET_PRESETS, packet_preset
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topology import Topology


@dataclass(frozen=True)
class Recipe:
    """A packet model with a routing and its parameters.

    Examples
    --------
    >>> import netcosim as nc
    >>> from netsim.routing.registry import RECIPES
    >>> machine = nc.make_topology("dragonfly", {"p": 2, "a": 4, "g": 9})
    >>> recipe = RECIPES["merlin-ugal"]
    >>> recipe.make_routing(machine).name, recipe.packet_config().arbitration
    ('merlin-ugal', 'merlin-lru')
    """

    registered_in: ClassVar[str] = "netsim.routing.registry:RECIPES"

    name: str
    description: str
    packet_preset: str
    """One of `netsim.packet.presets.PACKET_PRESETS`."""
    routing: str | None = None
    """The default of the machine's family if left out."""
    routing_parameters: Mapping[str, Any] = field(default_factory=dict)
    """In SI units."""
    families: tuple[str, ...] = ()
    """The topology families that it serves; empty: all."""

    @property
    def packet_keys(self) -> Mapping[str, Any]:
        """Keys of a `PacketConfig` that it sets."""
        return PACKET_PRESETS[self.packet_preset].params

    def packet_config(self) -> PacketConfig:
        """Return its packet model."""
        return packet_preset(self.packet_preset)

    def make_routing(self, topology: Topology) -> Routing:
        """Build its routing on a topology."""
        return make_routing(topology, self.routing, self.routing_parameters)

    def serves(self, family: str) -> bool:
        """Return whether it works on a family."""
        return not self.families or family in self.families


def _merlin(routing: str, what: str) -> Recipe:
    name, description = f"merlin-{routing}", f"SST's merlin under its {what}"
    return Recipe(name, description, "merlin", name, families=("dragonfly",))


OF_SIMULATORS = (
    Recipe("merlin", "SST's merlin under static minimal routing", "merlin"),
    _merlin("valiant", "Valiant routing"),
    _merlin("adaptive-local", "adaptive-local routing"),
    _merlin("ugal", "UGAL routing"),
    Recipe(
        "booksim2",
        "BookSim2's dragonfly example under its UGAL, with channels that cannot deadlock",
        "booksim2",
        "ugal-l",
        {
            "ugal_compares": "used-credits",
            "ugal_weight": 2,
            "ugal_bias_s": 240e-9,  # 30 flits of 8 bytes at 1 GB/s
            "ugal_counts_bids": False,
            "valiant_intermediate": "node",
        },
        ("dragonfly",),
    ),
)
OF_MACHINES = tuple(
    Recipe(name, one["description"], name, one["routing"], families=(one["family"],))
    for name, one in MACHINES.items()
)
