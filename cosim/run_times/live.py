"""Contention among running jobs, for use by another simulator at each change.

A scheduler's simulator or a notebook has the clock, the queue and the placement;
`Live` has the network. Given which jobs have started and ended, it returns whose communication is
stretched by how much now, and what that makes of their run times. It is what the coupled run-time
models of the queue use (`cosim.run_times.stretches`), so the same jobs give the same numbers.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_network import JobLoads
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.live_checks import (
    need_items,
    need_job_id,
    need_nodes,
    need_ranks,
    need_traffic,
)
from cosim.run_times.packet_judge import PacketRecord
from cosim.run_times.stretches import FlowStretches, PacketStretches
from netsim.errors import NetcosimError, need_name
from netsim.flow.message_load import MessageLoad
from netsim.flow.message_network import TOLERANCE, MessageNetwork
from netsim.kinds import need_real
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.short_repr import short_repr
from netsim.topologies.registry import preset
from netsim.topology import Topology
from patterns.registry import PATTERNS

LEVELS: dict[str, str] = {
    "flow": "shares of links and waits on them, microseconds to a few milliseconds a change",
    "packets": "groups of jobs that share links are sent through the packet engine",
}
NODE_BYTES = 1_000_000
"""Bytes that a node sends in an iteration by default."""


@short_repr()
@dataclass(frozen=True, eq=False)
class LiveJob:
    """A job that starts.

    Attributes
    ----------
    job_id : hashable
        A number or a text; of one running job at a time.
    nodes : sequence of int
        Its nodes, in the order in which its ranks fill them.
    pattern : str
        Communication pattern: a name of `patterns.registry.PATTERNS`.
    node_bytes : int, optional
        Bytes that a node sends in one iteration of the pattern; those of its file for a pattern
        that is read from one, else a megabyte.
    communication_fraction : float
        Share of the isolated run time in which it communicates: 0 to 1.
    bytes_per_node_s : float, optional
        Mean rate at which a node sends, computing included. With it the others are slowed by this
        rate; without it, by what the job sends in its ``communication_fraction``.
    parameters : mapping
        The pattern's own parameters.

    Examples
    --------
    >>> import netcosim as nc
    >>> job = nc.LiveJob("climate-17", range(40, 80), "halo2d", node_bytes=20_000_000)
    >>> nc.Live("dragonfly-272").change([job])
    {'climate-17': Effect(stretch=1.0, slowdown=1.0)}
    """

    job_id: Hashable
    nodes: Sequence[int] | NDArray[np.integer]
    pattern: str = "all-to-all"
    node_bytes: int | None = None
    communication_fraction: float = 1.0
    bytes_per_node_s: float | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"job {need_job_id('job_id', self.job_id)!r}"
        object.__setattr__(self, "nodes", need_nodes(where, self.nodes))
        need_traffic(
            where,
            self.pattern,
            self.parameters,
            self.communication_fraction,
            self.node_bytes,
            self.bytes_per_node_s,
        )


class Effect(NamedTuple):
    """Present effect of other jobs on a job."""

    stretch: float
    """Of its communication: time over the isolated time on the same nodes, at least 1."""
    slowdown: float
    """Of its run time: 1 - f + f * stretch for a communication fraction of f."""


@dataclass
class _Senders:
    """The shared network and the communications of the jobs so far."""

    shared: SharedNetwork
    communications: list[Communication]
    known: dict[str, int] = field(default_factory=dict)

    def number_of(self, communication: Communication) -> int:
        """Return its index, adding it if it is new."""
        described = [
            communication.pattern,
            communication.rank_bytes,
            dict(communication.parameters),
        ]
        key = json.dumps(described, sort_keys=True, default=str)
        if key not in self.known:
            self.known[key] = len(self.communications)
            self.communications.append(communication)
        return self.known[key]


class Live:
    """Running jobs on a machine's network, and what they do to each other.

    Parameters
    ----------
    machine : Topology or str
        A topology, or the name of a known machine (`netcosim list machines`).
    routing : str, optional
        One of the machine's; its default routing if left out.
    packet : PacketConfig, optional
    level : str
        A key of `LEVELS`.
    ranks_per_node : int
    task_mapping : str
        A name of `patterns.mapping.MAPPINGS`.
    seed : int
        Of task mappings, random partners and routings that draw.
    budget : PacketBudget, optional
        What the packet level may cost.
    tolerance : float
        Changes of a flow stretch below this part are neither passed on to other jobs nor reported:
        the larger it is, the less a change takes. The default is the queue's.

    Raises
    ------
    NetcosimError
        An unknown machine, routing or level; a budget at flow level; a number out of range.

    Examples
    --------
    Two jobs on both sides of the one cable between two switches of a ring:

    >>> import netcosim as nc
    >>> machine = nc.make_topology("torus", {"dims": [4], "concentration": 2})
    >>> live = nc.Live(machine, task_mapping="in-order")
    >>> ends = {"a": [0, 2], "b": [1, 3]}
    >>> jobs = [nc.LiveJob(job, ends[job], communication_fraction=0.5) for job in ends]
    >>> {job: round(effect.stretch, 1) for job, effect in live.change(jobs).items()}
    {'a': 1.5, 'b': 1.5}
    >>> {job: effect.slowdown for job, effect in live.change(ended=["b"]).items()}
    {'a': 1.0}
    """

    def __init__(
        self,
        machine: Topology | str,
        *,
        routing: str | None = None,
        packet: PacketConfig | None = None,
        level: str = "flow",
        ranks_per_node: int = 1,
        task_mapping: str = "random",
        seed: int = 0,
        budget: PacketBudget | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        need_name("level", level, LEVELS)
        if level == "flow" and budget is not None:
            raise NetcosimError("a budget is for packets; level is 'flow'")
        if level != "flow" and tolerance != TOLERANCE:
            raise NetcosimError("tolerance is the flow level's; budget has that of packets")
        if packet is not None and not isinstance(packet, PacketConfig):
            raise NetcosimError(f"packet = {packet!r}; it must be a PacketConfig")
        if budget is not None and not isinstance(budget, PacketBudget):
            raise NetcosimError(f"budget = {budget!r}; it must be a PacketBudget")
        need_real("Live", "tolerance", tolerance, 0)
        topology = preset(machine) if isinstance(machine, str) else machine
        if not isinstance(topology, Topology):
            raise NetcosimError(
                f"machine = {machine!r}; it must be a Topology or a name (netcosim list machines)"
            )
        shared = SharedNetwork(
            make_routing(topology, routing),
            PacketConfig() if packet is None else packet,
            ranks_per_node,
            task_mapping,
            seed,
        )
        self._senders = _Senders(shared, [])
        self._loads = JobLoads(self._senders)
        self._stretches = FlowStretches(self._loads, tolerance)
        if level == "packets":
            given = PacketBudget() if budget is None else budget
            self._stretches = PacketStretches(self._loads, given, PacketRecord())
        self._alone: MessageNetwork[int] = MessageNetwork(topology.n_links)
        self._owner = np.full(topology.n_nodes, -1, dtype=np.int64)
        self._number: dict[Hashable, int] = {}
        self._name: dict[int, Hashable] = {}
        self._job: dict[int, tuple[NDArray[np.int32], float]] = {}
        self._next = 0

    @property
    def topology(self) -> Topology:
        """The machine."""
        return self._senders.shared.routing.topology

    def __len__(self) -> int:
        return len(self._job)

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._number

    def effect(self, job_id: Hashable) -> Effect:
        """Return the present effect of other jobs on a running job.

        Raises
        ------
        NetcosimError
            The job does not run.
        """
        number = self._found(job_id)
        return self._effect(number, self._stretches.stretch(number))

    def change(
        self, started: Iterable[LiveJob] = (), ended: Iterable[Hashable] = ()
    ) -> dict[Hashable, Effect]:
        """End and start jobs in one instant; ends come first.

        Parameters
        ----------
        ended : iterable of job ids

        Returns
        -------
        dict of job id to Effect
            The jobs that started, and all others whose stretch has changed.

        Raises
        ------
        NetcosimError
            A job that runs already or does not run, nodes that are busy or do not exist, a pattern
            or a number that is refused. The state is unchanged then.
        """
        leaving = [self._found(job_id) for job_id in need_items("ended", ended)]
        if len(set(leaving)) < len(leaving):
            raise NetcosimError("a job ends twice")
        coming = self._checked(need_items("started", started), leaving)
        for number in leaving:
            nodes, _ = self._job.pop(number)
            self._owner[nodes] = -1
            self._stretches.end(number)
            del self._number[self._name.pop(number)]
        for number, (job, nodes, sent) in coming.items():
            self._number[job.job_id], self._name[number] = number, job.job_id
            self._job[number] = (nodes, job.communication_fraction)
            self._owner[nodes] = number
            if sent is not None:
                self._stretches.start(number, *sent)
        changed = dict.fromkeys(coming, 1.0) | self._stretches.settle()
        return {self._name[n]: self._effect(n, stretch) for n, stretch in changed.items()}

    def report(self) -> Mapping[str, Mapping[str, float]]:
        """Return the cost of the packet level so far, and the errors of the flow level; by
        table."""
        return self._stretches.report()

    def _effect(self, number: int, stretch: float) -> Effect:
        return Effect(stretch, 1.0 + self._job[number][1] * (stretch - 1.0))

    def _found(self, job_id: Hashable) -> int:
        if not isinstance(job_id, Hashable) or job_id not in self._number:
            raise NetcosimError(f"job {job_id!r} does not run")
        return self._number[job_id]

    def _checked(
        self, started: list[LiveJob], leaving: list[int]
    ) -> dict[int, tuple[LiveJob, NDArray[np.int32], tuple[Situation, MessageLoad] | None]]:
        """Return the starting jobs with internal numbers, without changing anything."""
        left = set(leaving)
        taken: dict[int, Hashable] = {}
        seen: set[Hashable] = set()
        found = {}
        for job in started:
            if not isinstance(job, LiveJob):
                raise NetcosimError(f"started: {job!r}; it must be a LiveJob")
            where = f"job {job.job_id!r}"
            known = self._number.get(job.job_id)
            if job.job_id in seen or (known is not None and known not in left):
                raise NetcosimError(f"{where} runs already")
            seen.add(job.job_id)
            nodes = np.asarray(job.nodes, dtype=np.int32)
            if nodes.max() >= len(self._owner):
                raise NetcosimError(
                    f"{where}: its nodes must be some of 0 to {len(self._owner) - 1}"
                )
            self._check_free(where, nodes, left, taken)
            taken |= dict.fromkeys(nodes.tolist(), job.job_id)
            found[self._next] = (job, nodes, self._sends(where, job, nodes))
            self._next += 1
        return found

    def _check_free(
        self, where: str, nodes: NDArray[np.int32], left: set[int], taken: dict[int, Hashable]
    ) -> None:
        """Raise NetcosimError unless a job's nodes are free once the leaving jobs are gone."""
        for node, owner in zip(nodes.tolist(), self._owner[nodes].tolist(), strict=True):
            if node in taken or (owner >= 0 and owner not in left):
                other = taken.get(node, self._name.get(owner))
                raise NetcosimError(f"{where}: node {node} is job {other!r}'s")

    def _sends(
        self, where: str, job: LiveJob, nodes: NDArray[np.int32]
    ) -> tuple[Situation, MessageLoad] | None:
        """Return its communication and nodes; None for a job that sends nothing over the
        network."""
        ranks = need_ranks(where, len(nodes), self._senders.shared.ranks_per_node)
        pattern = PATTERNS[job.pattern]
        least = pattern.least_ranks(job.parameters)
        if ranks < least:
            raise NetcosimError(f"{where}: {ranks} ranks; its {job.pattern} has {least}")
        if len(nodes) == 1 or job.communication_fraction == 0:
            return None
        node_bytes = job.node_bytes
        if node_bytes is None and pattern.recorded_ranks is None:
            node_bytes = NODE_BYTES
        per_node = self._senders.shared.ranks_per_node
        rank_bytes = None if node_bytes is None else max(1, node_bytes // per_node)
        communication = Communication(job.pattern, parameters=job.parameters, rank_bytes=rank_bytes)
        number, fraction = self._senders.number_of(communication), job.communication_fraction
        situation = Situation(number, nodes.tobytes(), fraction)
        load = self._loads.load(situation)
        if job.bytes_per_node_s is not None and len(load.links):
            share = self._link_share(where, job.bytes_per_node_s, situation, load)
            situation = situation._replace(fraction=share)
        return situation, load

    def _link_share(
        self, where: str, bytes_per_node_s: float, situation: Situation, load: MessageLoad
    ) -> float:
        """Return the share of its time in which a job must communicate to send at this rate."""
        self._alone.change([(0, load)], [])
        alone_s = self._alone.alone_s(0)
        self._alone.change([], [0])
        sent = self._loads.messages(situation).pair_bytes.sum() / situation.n_nodes
        share = bytes_per_node_s * alone_s / sent
        if share > 1:
            raise NetcosimError(
                f"{where}: bytes_per_node_s = {bytes_per_node_s:g}; in isolation on its nodes "
                "its pattern "
                f"sends {sent / alone_s:g} at most"
            )
        return float(share)
