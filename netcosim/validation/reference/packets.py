"""The reference packet engine: docs/packet-model.md in SimPy, simple to read and slow.

The tick is one picosecond. SimPy orders events by (time, priority, sequence); the priority is
the place in the order inside a tick, so no tie is left to luck. A rank is a SimPy process; the
network is in `netcosim.validation.reference.network`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import simpy

from netcosim.validation.reference.crossbar import InputQueuedNetwork
from netcosim.validation.reference.messages import Messages, Part
from netcosim.validation.reference.network import Clock, Network, Order
from netsim.packet.checks import check_priorities, check_run
from netsim.packet.deadlock import deadlock_error, stuck_error
from netsim.packet.model import PacketConfig, PacketResult, to_ps
from netsim.routing.base import Routing
from netsim.routing.pinned import pinned_for
from netsim.traffic import Traffic

_Work = Generator[simpy.Event, None, None]


@dataclass(slots=True, eq=False)
class _Rank:
    number: int
    node: int
    steps: range
    state: str = "unstarted"
    """ "unstarted", "ready" (may begin its first step), "working" (computes and sends),
    "waiting" (for a step's messages, perhaps receiving), "done"."""
    step: int = -1
    arrived: deque[int] = field(default_factory=deque)
    """Messages that wait for the processor, in order of arrival."""
    asleep: simpy.Event | None = None
    """What its idle process waits for; None if it works or is about to go on."""
    finish_ps: int = -1


class _Ranks:
    """The end points: programs, processors, local messages."""

    def __init__(
        self,
        clock: Clock,
        order: Order,
        traffic: Traffic,
        config: PacketConfig,
    ) -> None:
        self.clock, self.order, self.config = clock, order, config
        self.traffic, self.program = traffic, traffic.program
        self.messages: Messages | None = None
        self.send_overhead_ps = to_ps(config.send_overhead_s)
        self.counted = [0] * self.program.n_steps
        self.post_ps = [-1] * self.program.n_messages
        self.finish_ps = [-1] * self.program.n_messages
        self.last_event_ps = 0
        ptr = self.program.step_ptr
        self.ranks = [
            _Rank(r, int(traffic.rank_node[r]), range(int(ptr[r]), int(ptr[r + 1])))
            for r in range(self.program.n_ranks)
        ]
        for rank in self.ranks:
            start_s = float(traffic.start_s[traffic.rank_group[rank.number]])
            clock.at(to_ps(start_s), order.first_rank + rank.number, partial(self._start, rank))
            clock.process(self._live(rank))

    def _live(self, rank: _Rank) -> _Work:
        """A rank's processor, from the first tick to the last."""
        program = self.program
        for step in rank.steps:
            yield from self._idle(rank)
            rank.state, rank.step = "working", step
            assert self.messages is not None
            self.messages.step_begins(step)
            yield from self._work(rank, to_ps(float(program.compute_s[step])))
            for message in range(int(program.send_ptr[step]), int(program.send_ptr[step + 1])):
                yield from self._work(rank, self.send_overhead_ps)
                self._post(rank, message)
            rank.state = "waiting"
            self._leave_last_step(rank)
        yield from self._idle(rank)

    def _idle(self, rank: _Rank) -> _Work:
        """Receive what has arrived, until a step may begin; queued arrivals go first."""
        while True:
            while rank.arrived:
                message = rank.arrived.popleft()
                yield from self._work(rank, self._receive_ps(message))
                self._count(message)
            if self._may_begin_step(rank):
                return
            rank.asleep = simpy.Event(self.clock)
            yield rank.asleep

    def _work(self, rank: _Rank, duration_ps: int) -> _Work:
        if duration_ps > 0:
            yield self.clock.at(self.clock.now + duration_ps, self.order.first_rank + rank.number)
            self.last_event_ps = self.clock.now

    def _may_begin_step(self, rank: _Rank) -> bool:
        return rank.state == "ready" or (rank.state == "waiting" and self._need_met(rank))

    def _need_met(self, rank: _Rank) -> bool:
        return self.counted[rank.step] >= int(self.program.recv_need[rank.step])

    def _start(self, rank: _Rank) -> None:
        self.last_event_ps = self.clock.now
        if rank.steps:
            rank.state = "ready"
            self._go_on(rank)
        else:
            rank.state, rank.finish_ps = "done", self.clock.now

    def _leave_last_step(self, rank: _Rank) -> None:
        if rank.state == "waiting" and rank.step == rank.steps[-1] and self._need_met(rank):
            rank.state, rank.finish_ps = "done", self.clock.now

    def _go_on(self, rank: _Rank) -> None:
        """Put an idle rank that can do something at the end of the list of this tick."""
        if rank.asleep is not None and (rank.arrived or self._may_begin_step(rank)):
            asleep, rank.asleep = rank.asleep, None
            self.clock.fire(asleep, self.clock.now, self.order.GO_ON)

    def _post(self, rank: _Rank, message: int) -> None:
        self.post_ps[message] = self.clock.now
        dst_node = self.ranks[int(self.program.send_dst[message])].node
        if dst_node == rank.node:
            self.arrive(message)
        else:
            assert self.messages is not None
            self.messages.post(message)

    def part_arrived(self, part: Part) -> None:
        """The last packet of a part is at its node."""
        self.last_event_ps = self.clock.now
        assert self.messages is not None
        self.messages.part_arrived(part)

    def arrive(self, message: int) -> None:
        """A whole message is at its receiver's node."""
        self.last_event_ps = self.finish_ps[message] = self.clock.now
        rank = self.ranks[int(self.program.send_dst[message])]
        if self._receive_ps(message) > 0:
            rank.arrived.append(message)
        else:
            self._count(message)
        self._go_on(rank)

    def _receive_ps(self, message: int) -> int:
        size = int(self.program.send_bytes[message])
        return to_ps(self.config.recv_overhead_s + self.config.copy_s_per_byte * size)

    def _count(self, message: int) -> None:
        self.counted[int(self.program.send_step[message])] += 1
        self._leave_last_step(self.ranks[int(self.program.send_dst[message])])


def _group_finish(traffic: Traffic, ranks: list[_Rank]) -> list[int]:
    """Finish of each group's last rank; -1 if one is not done or there is none."""
    groups: list[list[int]] = [[] for _ in range(traffic.n_groups)]
    for rank in ranks:
        groups[int(traffic.rank_group[rank.number])].append(rank.finish_ps)
    return [-1 if -1 in times else max(times, default=-1) for times in groups]


def simulate_reference(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    until_s: float | None = None,
) -> PacketResult:
    """Run traffic through a network, packet by packet, slowly and plainly.

    Parameters
    ----------
    routing : Routing
        Also sets the topology.
    traffic : Traffic
    config : PacketConfig
    rng : numpy.random.Generator
        One draw is taken from it: the seed of all random routing.
    until_s : float, optional
        End of the run in seconds, events at that very time included. By default the run
        ends when nothing is left to happen.

    Returns
    -------
    PacketResult
        Times in picoseconds.

    Raises
    ------
    NetcosimError
        Traffic that does not fit the topology, a negative time.
    NetworkDeadlockError
        Packets wait for each other in a ring (not with ``until_s``).
    ProgramStuckError
        A rank waits for a message that no rank sends (not with ``until_s``).

    Notes
    -----
    The model is described in docs/packet-model.md; `netsim.packet.engine` is the fast engine of
    the same model and gives the same result.
    """
    seed = int(rng.integers(0, 2**63))
    topology = routing.topology
    check_run(topology, traffic, until_s)
    check_priorities(routing, traffic, config)
    routing = pinned_for(routing, traffic)
    clock = Clock(initial_time=0)
    order = Order(traffic.program.n_ranks, topology.n_links)
    ranks = _Ranks(clock, order, traffic, config)
    kind = InputQueuedNetwork if config.input_queued else Network
    _, n_classes = traffic.priority_classes()
    network = kind(clock, order, routing, config, seed, ranks.part_arrived, n_classes)
    ranks.messages = Messages(traffic, config, topology, network.send, ranks.arrive)
    if until_s is None:
        clock.run()
        end_ps = ranks.last_event_ps
        if network.packets_wait():
            raise deadlock_error(topology, network.waits())
        for rank in ranks.ranks:
            if rank.state != "done":
                raise stuck_error(traffic, rank.number, rank.step, ranks.counted[rank.step])
    else:
        end_ps = to_ps(until_s)
        clock.run(until=end_ps + 1)
    for link in network.links:
        link.end_stall(end_ps)

    def links(what: str) -> np.ndarray:
        return np.array([getattr(link, what) for link in network.links], dtype=np.int64)

    return PacketResult(
        end_ps=end_ps,
        message_post_ps=np.array(ranks.post_ps, dtype=np.int64),
        message_finish_ps=np.array(ranks.finish_ps, dtype=np.int64),
        rank_finish_ps=np.array([rank.finish_ps for rank in ranks.ranks], dtype=np.int64),
        group_finish_ps=np.array(_group_finish(traffic, ranks.ranks), dtype=np.int64),
        link_packets=links("packets"),
        link_bytes=links("bytes"),
        link_busy_ps=links("busy_ps"),
        link_stalls=links("stalls"),
        link_stall_ps=links("stall_ps"),
    )
