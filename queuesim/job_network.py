"""Jobs on a network: what each sends, from where to where, and what that puts on the links."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.flow.bundles import JobLoad
from netsim.flow.loads import LinkLoads
from netsim.routing.base import Routing
from patterns.mapping import map_ranks
from queuesim.measured import CommunicationMix
from queuesim.multijob import Communication

_KEPT_PAIRS = 1 << 24


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
    ranks_per_node: int = 1
    task_mapping: str = "random"
    seed: int = 0
    partition_routing: bool = True

    def __post_init__(self) -> None:
        named = [communication.pattern for communication in self.communications]
        wanted = [share.pattern for share in self.mix.shares]
        if named != wanted:
            raise NetcosimError(f"communications {named} for a mix of {wanted}; give one each")


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


class Pairs(NamedTuple):
    """Bytes between the nodes of a job in one iteration; nodes by their place in its node list."""

    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    n_bytes: NDArray[np.float64]


class JobLoads:
    """Link loads of placed jobs; bytes between ranks are kept by pattern and number of nodes."""

    def __init__(self, network: JobNetwork) -> None:
        self.network = network
        self._links = LinkLoads(network.routing)
        self._pairs: OrderedDict[tuple[int, int], Pairs] = OrderedDict()
        self._n_kept = 0

    def rank_node(self, situation: Situation) -> NDArray[np.int32]:
        """(n_ranks,) int32: node of every rank."""
        network = self.network
        nodes = np.frombuffer(situation.nodes, dtype=np.int32)
        rng = np.random.default_rng(situation.seeds(network.seed))
        return map_ranks(network.task_mapping, nodes, network.ranks_per_node, rng)

    def load(self, situation: Situation) -> JobLoad:
        """Bytes of one iteration on router-to-router links, and its shortest time alone."""
        k = self.network.ranks_per_node
        pairs = self.pairs(situation.share, situation.n_nodes)
        node = self.rank_node(situation)[::k].astype(np.int64)
        seed = zlib.crc32(situation.nodes)
        load = self._links.of(node[pairs.src], node[pairs.dst], pairs.n_bytes, seed=seed)
        shared = np.searchsorted(load.links, 2 * self.network.routing.topology.n_nodes)
        return JobLoad(load.links[shared:], load.link_bytes[shared:], load.isolated_bound_s)

    def pairs(self, share: int, n_nodes: int) -> Pairs:
        """What the nodes of a job send each other, summed over their ranks."""
        key = (share, n_nodes)
        if key in self._pairs:
            self._pairs.move_to_end(key)
            return self._pairs[key]
        k = self.network.ranks_per_node
        program = self.network.communications[share].program(
            n_nodes * k, np.random.default_rng([self.network.seed, *key])
        )
        src = program.send_src().astype(np.int64) // k
        dst = program.send_dst.astype(np.int64) // k
        pair, index = np.unique(src * n_nodes + dst, return_inverse=True)
        amount = np.bincount(index.ravel(), weights=program.send_bytes, minlength=len(pair))
        between = pair // n_nodes != pair % n_nodes
        pair, amount = pair[between], amount[between]
        found = Pairs((pair // n_nodes).astype(np.int32), (pair % n_nodes).astype(np.int32), amount)
        self._pairs[key] = found
        self._n_kept += len(amount)
        while self._n_kept > _KEPT_PAIRS and len(self._pairs) > 1:
            _, oldest = self._pairs.popitem(last=False)
            self._n_kept -= len(oldest.n_bytes)
        return found
