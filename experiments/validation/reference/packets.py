"""The reference packet engine: docs/packet-model.md in SimPy, simple to read and slow.

The tick is one picosecond. SimPy orders events by (time, priority, sequence); the priority is
the place in the order inside a tick, so no tie is left to luck. A stream of a rank is a SimPy
process; the network is in `experiments.validation.reference.network`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat

import numpy as np
import simpy

from experiments.validation.reference.crossbar import InputQueuedNetwork
from experiments.validation.reference.messages import Messages, Part
from experiments.validation.reference.network import Clock, Network, Order
from experiments.validation.reference.view import Choose
from netsim.packet.checks import check_run
from netsim.packet.deadlock import deadlock_error, stuck_error
from netsim.packet.jitter import RECEIVES, SENDS, draw_numbers, jitter_ps
from netsim.packet.model import MAX_DURATION_PS, PacketConfig, PacketResult, to_ps
from netsim.routing.base import Routing
from netsim.routing.pinned import pinned_for
from netsim.traffic import Program, Traffic

_Work = Generator[simpy.Event, None, None]


@dataclass(slots=True, eq=False)
class _Stream:
    number: int
    """Of all ranks' streams; the order inside a tick."""
    rank: int
    node: int
    steps: range
    state: str = "unstarted"
    """ "unstarted", "ready" (may begin a step), "working" (computes and sends),
    "waiting" (for a step's messages, perhaps receiving), "between" (rounds), "done"."""
    step: int = -1
    arrived: deque[int] = field(default_factory=deque)
    """Messages that wait for the processor, in order of arrival."""
    asleep: simpy.Event | None = None
    """What its idle process waits for; None if it works or is about to go on."""
    finish_ps: int = -1
    begin_ps: int = -1
    """Of its step."""
    exposed_ps: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Time in steps, by `Program.step_kind`."""
    loops: bool = False
    round_ps: int = -1
    """When it last began its first step, or could have."""
    unsent: int = 0
    """Parts of its messages that have not left its node."""
    uncounted: int = 0
    """Messages of its that have not been counted."""


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
        self.draw_numbers = draw_numbers(traffic)
        self.by_nic = self.program.nic_ends()
        self.counted = [0] * self.program.n_steps
        self.post_ps = [-1] * self.program.n_messages
        self.finish_ps = [-1] * self.program.n_messages
        self.last_event_ps = 0
        self.streams: list[_Stream] = []
        for rank in range(self.program.n_ranks):
            for number in streams_of(self.program, rank):
                first, end = (int(x) for x in self.program.step_ptr[number : number + 2])
                node = int(traffic.rank_node[rank])
                loops = bool(traffic.loops[traffic.rank_group[rank]])
                self.streams.append(_Stream(number, rank, node, range(first, end), loops=loops))
        self.stream_of_step = [stream for stream in self.streams for _ in stream.steps]
        self.stream_of_send = [self.streams[s] for s in self.program.send_stream_from()]
        waits = self.program.step_waits_sends
        self.waits = np.zeros(self.program.n_steps, dtype=bool) if waits is None else waits
        self.begin_ps: dict[int, int] = {}
        """Step -> time before which it does not compute."""
        for stream in self.streams:
            start_s = float(traffic.start_s[traffic.rank_group[stream.rank]])
            clock.at(to_ps(start_s), order.first_rank + stream.number, partial(self._start, stream))
            if self.program.step_start_s is not None:
                for s in stream.steps:
                    self.begin_ps[s] = to_ps(start_s) + to_ps(float(self.program.step_start_s[s]))
            clock.process(self._live(stream))

    def _live(self, stream: _Stream) -> _Work:
        """Run a stream's processor, from the first tick to the last."""
        program = self.program
        again = stream.loops and stream.steps
        for step in chain.from_iterable(repeat(stream.steps) if again else [stream.steps]):
            yield from self._idle(stream)
            stream.state, stream.step, stream.begin_ps = "working", step, self.clock.now
            assert self.messages is not None
            self.messages.step_begins(step)
            late_ps = max(0, self.begin_ps.get(step, 0) - self.clock.now)
            yield from self._work(stream, late_ps + to_ps(float(program.compute_s[step])))
            for message in range(int(program.send_ptr[step]), int(program.send_ptr[step + 1])):
                yield from self._work(stream, self._send_ps(message))
                self._post(stream, message)
            stream.state = "waiting"
            self._end_step(stream)
        yield from self._idle(stream)

    def _idle(self, stream: _Stream) -> _Work:
        """Receive what has arrived, until a step may begin; queued arrivals go first."""
        while True:
            while stream.arrived:
                message = stream.arrived.popleft()
                yield from self._work(stream, self._receive_ps(message))
                self._count(message)
                self._counted(message)
            if stream.state == "ready":
                return
            stream.asleep = simpy.Event(self.clock)
            yield stream.asleep

    def _work(self, stream: _Stream, duration_ps: int) -> _Work:
        if duration_ps > 0:
            yield self.clock.at(self.clock.now + duration_ps, self.order.first_rank + stream.number)
            self.last_event_ps = self.clock.now

    def _need_met(self, stream: _Stream) -> bool:
        if self.waits[stream.step] and stream.unsent > 0:
            return False
        return self.counted[stream.step] >= int(self.program.recv_need[stream.step])

    def _start(self, stream: _Stream) -> None:
        self.last_event_ps = stream.round_ps = self.clock.now
        if stream.steps:
            stream.state = "ready"
            self._go_on(stream)
        else:
            stream.state, stream.finish_ps = "done", self.clock.now

    def _end_step(self, stream: _Stream) -> None:
        """End a step whose messages have arrived."""
        if stream.state == "waiting" and self._need_met(stream):
            if self.program.step_kind is not None:
                kind = int(self.program.step_kind[stream.step])
                stream.exposed_ps[kind] += self.clock.now - stream.begin_ps
            stream.state = "ready"
            if stream.loops:
                self.counted[stream.step] -= int(self.program.recv_need[stream.step])
            if stream.step == stream.steps[-1]:
                stream.state = "between"
                self._begin_round(stream)

    def _begin_round(self, stream: _Stream) -> None:
        """Begin a program again, if all that the stream has sent has been counted.

        A stream is done if it does not loop, or has begun in this tick.
        """
        if stream.state != "between" or (stream.loops and stream.uncounted > 0):
            return
        if not stream.loops or stream.round_ps == self.clock.now:
            stream.state, stream.finish_ps = "done", self.clock.now
        else:
            stream.state, stream.round_ps = "ready", self.clock.now
            assert self.messages is not None
            self.messages.begun.difference_update(stream.steps)

    @property
    def others_ended(self) -> bool:
        """Whether there are groups that loop, and all others have finished."""
        ends = [stream.state == "done" for stream in self.streams if not stream.loops]
        return len(ends) < len(self.streams) and all(ends)

    def _go_on(self, stream: _Stream) -> None:
        """Put an idle stream that can do something at the end of the list of this tick."""
        if stream.asleep is not None and (stream.arrived or stream.state == "ready"):
            asleep, stream.asleep = stream.asleep, None
            self.clock.fire(asleep, self.clock.now, self.order.GO_ON)

    def _post(self, stream: _Stream, message: int) -> None:
        self.post_ps[message] = self.clock.now
        stream.uncounted += 1
        if self._receiver(message).node == stream.node:
            self.arrive(message)
        else:
            assert self.messages is not None
            stream.unsent += self.messages.parts_of(message)
            self.messages.post(message)

    def part_leaves(self, part: Part, time_ps: int) -> None:
        """Handle the start of a part's last packet, which will have left its node at a time."""
        stream = self.stream_of_send[part.message]
        assert self.messages is not None
        if part.number < self.messages.request and self.waits[stream.steps].any():
            self.clock.at(
                time_ps, self.order.first_sent + stream.number, partial(self._part_left, stream)
            )

    def _part_left(self, stream: _Stream) -> None:
        self.last_event_ps = self.clock.now
        stream.unsent -= 1
        self._end_step(stream)
        self._go_on(stream)

    def part_arrived(self, part: Part) -> None:
        """Handle the arrival of a part's last packet at its node."""
        self.last_event_ps = self.clock.now
        assert self.messages is not None
        self.messages.part_arrived(part)

    def arrive(self, message: int) -> None:
        """Handle the arrival of an entire message at its receiver's node."""
        self.last_event_ps = self.finish_ps[message] = self.clock.now
        stream = self._receiver(message)
        if self._receive_ps(message) > 0:
            stream.arrived.append(message)
            self._go_on(stream)
        else:
            self._count(message)
            self._go_on(stream)
            self._counted(message)

    def _send_ps(self, message: int) -> int:
        work_s = self.config.send_overhead_s, self.config.send_s_per_byte
        return self._work_ps(message, SENDS, *work_s)

    def _receive_ps(self, message: int) -> int:
        work_s = self.config.recv_overhead_s, self.config.copy_s_per_byte
        return self._work_ps(message, RECEIVES, *work_s)

    def _work_ps(self, message: int, side: int, overhead_s: float, s_per_byte: float) -> int:
        size, by_nic = int(self.program.send_bytes[message]), self.by_nic[:, message]
        if size == 0 or by_nic[side]:
            return 0
        if by_nic.any():
            size = 0
        jitter = jitter_ps(self.config, self.draw_numbers[message : message + 1], side)
        return to_ps(overhead_s + s_per_byte * size) + int(jitter[0])

    def _count(self, message: int) -> None:
        self.counted[int(self.program.send_step[message])] += 1
        self._end_step(self._receiver(message))

    def _counted(self, message: int) -> None:
        """Let the sender of a message that has been counted begin its next round."""
        sender = self.stream_of_send[message]
        sender.uncounted -= 1
        self._begin_round(sender)
        self._go_on(sender)

    def _receiver(self, message: int) -> _Stream:
        return self.stream_of_step[int(self.program.send_step[message])]


def streams_of(program: Program, rank: int) -> range:
    """Return the streams of a rank."""
    if program.stream_ptr is None:
        return range(rank, rank + 1)
    return range(int(program.stream_ptr[rank]), int(program.stream_ptr[rank + 1]))


def _last(times: Iterable[int]) -> int:
    """Return the last finish; -1 if one is not done or there is none."""
    found = list(times)
    return -1 if -1 in found else max(found, default=-1)


def simulate_reference(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    until_s: float | None = None,
    choose: Choose | None = None,
) -> PacketResult:
    """Run traffic through a network, packet by packet, slowly and plainly.

    The model is described in docs/packet-model.md; `netsim.packet.engine.simulate_packets`, the
    fast engine of the same model, has the same arguments, result and errors. Events at ``until_s``
    itself are included. ``choose`` replaces the routing's decisions.
    """
    seed = int(rng.integers(0, 2**63))
    topology = routing.topology
    check_run(routing, traffic, config, until_s)
    routing = pinned_for(routing, traffic)
    clock = Clock(initial_time=0)
    program = traffic.program
    order = Order(program.n_streams, topology.n_links)
    ranks = _Ranks(clock, order, traffic, config)
    kind = InputQueuedNetwork if config.input_queued else Network
    _, n_classes = traffic.priority_classes()
    ends = ranks.part_arrived, ranks.part_leaves
    network = kind(clock, order, routing, config, seed, *ends, n_classes, choose)
    ranks.messages = Messages(traffic, config, topology, network.send, ranks.arrive)
    last_ps = MAX_DURATION_PS if until_s is None else to_ps(until_s)
    loops, others_ended = bool(traffic.loops.any()), False
    while clock.peek() <= last_ps and not others_ended:
        clock.step()
        others_ended = loops and ranks.others_ended
    if others_ended:
        clock.run(until=clock.now + 1)
        end_ps = ranks.last_event_ps
    elif until_s is None:
        end_ps = ranks.last_event_ps
        if network.packets_wait():
            raise deadlock_error(topology, network.waits())
        for stream in ranks.streams:
            if stream.state != "done":
                raise stuck_error(traffic, stream.step, ranks.counted[stream.step])
    else:
        end_ps = to_ps(until_s)
    if until_s is not None or others_ended:
        for stream in ranks.streams:
            if stream.state in ("working", "waiting") and program.step_kind is not None:
                stream.exposed_ps[int(program.step_kind[stream.step])] += end_ps - stream.begin_ps
    for link in network.links:
        link.end_stall(end_ps)

    def links(what: str) -> np.ndarray:
        return np.array([getattr(link, what) for link in network.links], dtype=np.int64)

    of_rank = [[ranks.streams[s] for s in streams_of(program, r)] for r in range(program.n_ranks)]
    finish_ps = [_last(stream.finish_ps for stream in streams) for streams in of_rank]
    groups: list[list[int]] = [[] for _ in range(traffic.n_groups)]
    for group, time_ps in zip(traffic.rank_group, finish_ps, strict=True):
        groups[int(group)].append(time_ps)
    exposed_ps = [
        [streams[0].exposed_ps[kind + 1] for kind in range(len(program.kinds))]
        for streams in of_rank
    ]
    return PacketResult(
        end_ps=end_ps,
        message_post_ps=np.array(ranks.post_ps, dtype=np.int64),
        message_finish_ps=np.array(ranks.finish_ps, dtype=np.int64),
        rank_finish_ps=np.array(finish_ps, dtype=np.int64),
        group_finish_ps=np.array([_last(times) for times in groups], dtype=np.int64),
        link_packets=links("packets"),
        link_bytes=links("bytes"),
        link_busy_ps=links("busy_ps"),
        link_stalls=links("stalls"),
        link_stall_ps=links("stall_ps"),
        exposed_ps=np.array(exposed_ps, dtype=np.int64).reshape(program.n_ranks, -1),
    )
