"""The machine of ``netcosim match``: its network and end points, with any of them replaced."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netcosim.config.config import Config
from netcosim.config.content import file_keys, plugins_of, validated_sections
from netcosim.config.errors import ConfigError
from netcosim.config.fields import Number, Section, Text, Whole, known
from netcosim.config.load import parse_toml
from netcosim.config.machine import BuiltMachine, MachineSection, build_machine
from netcosim.runs.points import canonical_json
from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.packet.model import PacketConfig
from netsim.plugins import installed_plugins, used_by, using
from netsim.routing.base import Routing
from netsim.topology import Topology

MAX_BYTES = 1 << 22
PLACES = ("first", "random")


class MatchSection(Section):
    """``[match]``: what measured rows need besides the network.

    ``reduce_s_per_byte`` is the processor time of a reduction for each byte that it adds up,
    ``stage_s_per_byte`` that of the first 64 KiB of a message, ``allocate_s_per_byte`` that of a
    library's own buffers from 32 MiB on. ``exchange_efficiency`` is the share of a NIC's bandwidth
    with which two ranks send such buffers to each other.
    ``nodes`` are those of a test: the first ones of the machine, or drawn. ``fitted`` lists what
    was fitted from which rows; nothing reads it.
    """

    reduce_s_per_byte: Annotated[Number, Field(ge=0)] = 0.0
    stage_s_per_byte: Annotated[Number, Field(ge=0)] = 0.0
    allocate_s_per_byte: Annotated[Number, Field(ge=0)] = 0.0
    exchange_efficiency: Annotated[Number, Field(gt=0, le=1)] = 1.0
    nodes: Annotated[Text, known("nodes", PLACES)] = "first"
    seed: Annotated[Whole, Field(ge=0)] = 1
    fitted: dict[str, str] = Field(default_factory=dict)


class MatchConfig(Section):
    """What of a file ``netcosim match`` reads."""

    machine: MachineSection
    match: MatchSection = MatchSection()
    plugins: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class MatchMachine:
    """A machine with its end points, from the content of a config in SI units."""

    content: Mapping[str, Any]
    """``machine`` and ``match``, as `MatchConfig` dumps them."""

    @property
    def seed(self) -> int:
        """Of the nodes, rings and routes that are drawn."""
        return int(self.content["match"]["seed"])

    @property
    def topology(self) -> Topology:
        """The network."""
        return self._built.topology

    @property
    def routing(self) -> Routing:
        """Its routing."""
        return self._built.routing

    @property
    def _built(self) -> BuiltMachine:
        network = {key: v for key, v in self.content["machine"].items() if key != "packet"}
        return _built(canonical_json(network))

    def packets(
        self, reduced: float = 0.0, staged: float = 0.0, *, exchange: bool = False
    ) -> PacketConfig:
        """Return its packet model.

        Parameters
        ----------
        reduced, staged : float
            Shares of the received bytes that a reduction adds up, and that wait to be staged.
        exchange : bool
            Whether pairs of ranks send large messages to each other at the same time.
        """
        packets, costs = PacketConfig(**self.content["machine"]["packet"]), self.content["match"]
        if exchange and costs["exchange_efficiency"] < 1:
            duplex = packets.nic_duplex_efficiency or packets.nic_efficiency
            duplex *= costs["exchange_efficiency"]
            packets = replace(packets, nic_duplex_efficiency=duplex)
        added = reduced * costs["reduce_s_per_byte"] + staged * costs["stage_s_per_byte"]
        return replace(packets, copy_s_per_byte=packets.copy_s_per_byte + added)

    def nodes(self, n: int) -> NDArray[np.int64] | None:
        """Return the nodes of a test in the order of its ranks, ascending; None if too few."""
        total = self.topology.n_nodes
        if n > total:
            return None
        if self.content["match"]["nodes"] == "first":
            return np.arange(n)
        drawn = np.random.default_rng([self.seed, n]).permutation(total)[:n]
        return np.sort(drawn)

    def value(self, path: tuple[str, ...]) -> Any:
        """Return a number of the content; None if it is left at its default."""
        level: Any = self.content
        for part in path:
            level = level.get(part) if isinstance(level, Mapping) else None
        return level

    def with_values(self, values: Mapping[tuple[str, ...], Any]) -> MatchMachine:
        """Return the machine with numbers replaced, by their paths in the content."""
        content = deepcopy(dict(self.content))
        for path, value in values.items():
            level = content
            for part in path[:-1]:
                level = level[part]
            level[path[-1]] = value
        return MatchMachine(content)


@lru_cache(maxsize=8)
def _built(network: str) -> BuiltMachine:
    return build_machine(MachineSection.model_validate_json(network))


_ELSEWHERE = set(Config.model_fields) - set(MatchConfig.model_fields)


def load_match(path: Path) -> tuple[MatchMachine, dict[str, Any]]:
    """Read ``[machine]`` and ``[match]`` of a file; return the machine and the file's content.

    Sections of other commands may be in the same file.
    """
    raw = parse_toml(read_text(path, limit_bytes=MAX_BYTES).replace("\r\n", "\n"), path)
    try:
        return match_from(raw, path.parent), raw
    except NetcosimError as error:
        text = str(error)
        raise NetcosimError(text if str(path) in text else f"{path}: {text}") from None


def match_from(raw: Mapping[str, Any], folder: Path | None = None) -> MatchMachine:
    """Build the machine from the content of a file; see `load_match`."""
    content = {key: value for key, value in raw.items() if key not in _ELSEWHERE}
    if "machine" not in content:
        raise ConfigError("machine", None, "missing; rows are compared with a machine")
    files = [key for key in file_keys() if key.startswith("machine.")]
    with using((*installed_plugins(), *plugins_of(content, folder))) as plugins:
        content["plugins"] = [*used_by(content, plugins)]
        config = validated_sections(content, MatchConfig, files, folder)
    return MatchMachine(config.model_dump(mode="json"))
