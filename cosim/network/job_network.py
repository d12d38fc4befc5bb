"""Jobs on a network: what each sends, from where to where, and what that puts on the links."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from cosim.network.communication import BY_SHARE, Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.isolated_loops import IsolatedLoops
from cosim.network.mix import CommunicationMix
from cosim.network.situation import Situation
from netsim.errors import NetcosimError
from netsim.flow.job_messages import JobMessages, job_messages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.message_load import MessageLoad, message_load
from workloads.job import Workload

_CACHED_NUMBERS = 1 << 26
_CACHED_SITUATIONS, _CACHED_LOADS = 256, 8


@dataclass(frozen=True, eq=False)
class JobNetwork:
    """The network that the jobs of a queue share, and what they send over it."""

    shared: SharedNetwork
    """What they share; packets and routers hold at both levels."""
    mix: CommunicationMix
    """Pattern and communication fraction of every job."""
    communications: Sequence[Communication]
    """What the jobs of each entry of ``mix.shares`` send."""
    partition_routing: bool = True
    """Jobs of policies that isolate keep to the links that they have reserved, so no other job
    touches them. False: they take the machine's routing like all others."""
    together: str = BY_SHARE
    """A key of `cosim.network.communication.TOGETHER`."""

    def __post_init__(self) -> None:
        named = [communication.pattern for communication in self.communications]
        wanted = [share.pattern for share in self.mix.shares]
        if named != wanted:
            raise NetcosimError(f"communications {named} for a mix of {wanted}; give one each")

    def __getstate__(self) -> dict[str, object]:
        """Return the state without `loads`, which refers to this network."""
        return {name: value for name, value in vars(self).items() if name != "loads"}

    def check(self, workload: Workload, policy: Policy) -> None:
        """Raise NetcosimError unless a policy places jobs of known run times on its nodes."""
        n_nodes = self.shared.routing.topology.n_nodes
        if policy.topology.n_nodes != n_nodes:
            raise NetcosimError(
                f"policy {policy.name!r} places on {policy.topology.n_nodes} nodes, the routing "
                f"has {n_nodes}"
            )
        if not np.all(np.isfinite(workload.run_time_s) & (workload.run_time_s > 0)):
            raise NetcosimError(f"{workload.name}: a run time is not > 0")

    @cached_property
    def loads(self) -> JobLoads:
        """Loads of placed jobs: routes and messages shared by all runs on it."""
        return JobLoads(self)


class Senders(Protocol):
    """Shared network, and the communications by number; a `JobNetwork` is one."""

    @property
    def shared(self) -> SharedNetwork: ...
    @property
    def communications(self) -> Sequence[Communication]: ...


class JobLoads:
    """Loads of placed jobs, and their isolated loops; what they send is cached.

    Without random partners, all jobs of a size send the same. With random partners, each
    situation has its own partners, and only those of the most recent ones are cached.
    """

    def __init__(self, network: Senders) -> None:
        self.network = network
        self.isolated = IsolatedLoops(network.shared, network.communications)
        self._routes = JobRoutes(network.shared.routing)
        self._messages: OrderedDict[tuple[int, int], JobMessages] = OrderedDict()
        self._n_cached = 0
        self._with_randomness = lru_cache(maxsize=_CACHED_SITUATIONS)(self._made)
        self._isolated_load = lru_cache(maxsize=_CACHED_LOADS)(self._placed)

    def __reduce__(self) -> tuple[type[JobLoads], tuple[Senders]]:
        """Pickle it without what is cached."""
        return JobLoads, (self.network,)

    def rank_node(self, situation: Situation) -> NDArray[np.int32]:
        """Return the node of every rank, (n_ranks,) int32."""
        job = situation.job(self.network.communications[situation.share])
        return self.network.shared.rank_node(job)

    @property
    def looks_at_others(self) -> bool:
        """Whether the paths of a job depend on what others put on the links."""
        return self._routes.looks_at_others

    def load(
        self, situation: Situation, background_s: NDArray[np.float64] | None = None
    ) -> MessageLoad:
        """Return the load of one iteration on router-to-router links, message by message.

        Others keep each link busy for ``background_s`` (n_links,) in an iteration, where a routing
        `looks_at_others`.
        """
        if background_s is not None:
            return self._placed(situation, background_s)
        return self._isolated_load(situation._replace(fraction=1.0, compute_s=None, once_s=0.0))

    def bound_s(self, situation: Situation) -> float:
        """Return for how long an isolated iteration of a job keeps its busiest link busy."""
        if situation.partition:
            return self.isolated.bound_s(situation)
        busy_s = self.load(situation).busy_s.max(initial=0.0)
        return max(float(busy_s), self.isolated.least_s(situation))

    def _placed(
        self, situation: Situation, background_s: NDArray[np.float64] | None = None
    ) -> MessageLoad:
        shared = self.network.shared
        return message_load(
            self._routes,
            self.messages(situation),
            self.rank_node(situation)[:: shared.ranks_per_node],
            shared.packet,
            seed=zlib.crc32(situation.nodes),
            background_s=background_s,
        )

    def messages(self, situation: Situation) -> JobMessages:
        """Return the messages between the nodes of a job in one iteration."""
        if self.network.communications[situation.share].draws:
            return self._with_randomness(situation)
        key = (situation.share, situation.n_nodes)
        if key in self._messages:
            self._messages.move_to_end(key)
            return self._messages[key]
        found = self._messages[key] = self._made(situation)
        self._n_cached += found.n_numbers
        while self._n_cached > _CACHED_NUMBERS and len(self._messages) > 1:
            self._n_cached -= self._messages.popitem(last=False)[1].n_numbers
        return found

    def _made(self, situation: Situation) -> JobMessages:
        shared, communication = self.network.shared, self.network.communications[situation.share]
        program = shared.program(situation.job(communication), communication.iterations)
        return job_messages(program, shared.ranks_per_node, shared.packet)
