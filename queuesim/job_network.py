"""Jobs on a network: what each sends, from where to where, and what that puts on the links."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.flow.job_messages import JobMessages, job_messages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.message_load import MessageLoad, message_load
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.traffic import Program
from patterns.mapping import map_ranks
from queuesim.measured import CommunicationMix
from queuesim.multijob import Communication

_KEPT_NUMBERS = 1 << 26


@dataclass(frozen=True, eq=False)
class JobNetwork:
    """The network that the jobs of a queue share, and what they send over it.

    Attributes
    ----------
    routing : Routing
    mix : CommunicationMix
        Pattern and communication fraction of every job.
    communications : sequence of Communication
        What the jobs of each entry of ``mix.shares`` send.
    packet : PacketConfig
        Packets and routers of the network, at both levels.
    ranks_per_node : int
    task_mapping : str
        A name of `patterns.mapping.MAPPINGS`.
    seed : int
        Of random patterns, random task mappings and routings that draw.
    partition_routing : bool
        Jobs of policies that isolate keep to the links that they have reserved, so nobody
        touches them. False: they take the machine's routing like all others.

    Raises
    ------
    NetcosimError
        Not one communication an entry of the mix, or of another pattern.
    """

    routing: Routing
    mix: CommunicationMix
    communications: Sequence[Communication]
    packet: PacketConfig = field(default_factory=PacketConfig)
    ranks_per_node: int = 1
    task_mapping: str = "random"
    seed: int = 0
    partition_routing: bool = True

    def __post_init__(self) -> None:
        named = [communication.pattern for communication in self.communications]
        wanted = [share.pattern for share in self.mix.shares]
        if named != wanted:
            raise NetcosimError(f"communications {named} for a mix of {wanted}; give one each")

    def program(self, communication: Communication, share: int, n_nodes: int) -> Program:
        """What jobs of a share and a size send: random partners are the same for all of them."""
        rng = np.random.default_rng([self.seed, share, n_nodes])
        return communication.program(n_nodes * self.ranks_per_node, rng)


class Situation(NamedTuple):
    """A job as the network sees it: equal situations send the same over the same links.

    Attributes
    ----------
    share : int
        Index of its communication.
    nodes : bytes
        Its nodes (int32), in the order of the placement.
    """

    share: int
    nodes: bytes

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes) // 4

    def seeds(self, seed: int) -> list[int]:
        """For a generator that belongs to this situation alone."""
        return [seed, self.share, self.n_nodes, zlib.crc32(self.nodes)]


class JobLoads:
    """Loads of placed jobs; what they send is kept by pattern and number of nodes."""

    def __init__(self, network: JobNetwork) -> None:
        self.network = network
        self._routes = JobRoutes(network.routing)
        self._messages: OrderedDict[tuple[int, int], JobMessages] = OrderedDict()
        self._n_kept = 0

    def rank_node(self, situation: Situation) -> NDArray[np.int32]:
        """(n_ranks,) int32: node of every rank."""
        network = self.network
        nodes = np.frombuffer(situation.nodes, dtype=np.int32)
        rng = np.random.default_rng(situation.seeds(network.seed))
        return map_ranks(network.task_mapping, nodes, network.ranks_per_node, rng)

    @property
    def looks_at_others(self) -> bool:
        """Whether the ways of a job depend on what others put on the links."""
        return self._routes.looks_at_others

    def load(
        self, situation: Situation, background_s: NDArray[np.float64] | None = None
    ) -> MessageLoad:
        """What one iteration puts on router-to-router links, message by message.

        Parameters
        ----------
        situation : Situation
        background_s : (n_links,) float64, optional
            How long others keep each link busy in an iteration: see `looks_at_others`.
        """
        network = self.network
        return message_load(
            self._routes,
            self.messages(situation.share, situation.n_nodes),
            self.rank_node(situation)[:: network.ranks_per_node],
            network.packet,
            seed=zlib.crc32(situation.nodes),
            background_s=background_s,
        )

    def messages(self, share: int, n_nodes: int) -> JobMessages:
        """What the nodes of a job send each other in one iteration."""
        key = (share, n_nodes)
        if key in self._messages:
            self._messages.move_to_end(key)
            return self._messages[key]
        network = self.network
        program = network.program(network.communications[share], share, n_nodes)
        found = job_messages(program, network.ranks_per_node, network.packet)
        self._messages[key] = found
        self._n_kept += found.n_kept
        while self._n_kept > _KEPT_NUMBERS and len(self._messages) > 1:
            self._n_kept -= self._messages.popitem(last=False)[1].n_kept
        return found
