"""Messages of the reference packet engine: their parts, the rails they take, and rendezvous."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netsim.packet.model import PacketConfig
from netsim.topology import Topology
from netsim.traffic import Traffic


@dataclass(frozen=True, eq=False)
class Part:
    """Packets that are in one port's queue side by side."""

    message: int
    number: int
    """Of the message's parts; a request and a clear-to-send come after them."""
    payloads: tuple[int, ...]
    """Bytes of each packet."""
    src_port: int
    dst_port: int
    draw_number: int
    """The message's number in random draws."""
    priority_class: int
    """0 is the highest."""
    is_control: bool
    """Whether it is a request or a clear-to-send."""

    @property
    def flow(self) -> tuple[int, int]:
        """From which port to which."""
        return self.src_port, self.dst_port


class Messages:
    """Sends messages between nodes as parts, and reports when one has arrived.

    ``send`` puts a part into its port's queue; ``arrive`` gets a message all of whose parts have
    come.
    """

    def __init__(
        self,
        traffic: Traffic,
        config: PacketConfig,
        topology: Topology,
        send: Callable[[Part], None],
        arrive: Callable[[int], None],
    ) -> None:
        self.traffic, self.program = traffic, traffic.program
        self.config, self.topology, self.rails = config, topology, topology.n_rails
        self.send, self.arrive = send, arrive
        self.sender = self.program.send_src()
        self.one_sided = np.logical_or(*self.program.nic_ends())
        self.random_shift = traffic.random_shift()
        self.group_class, _ = traffic.priority_classes()
        self.request = self.rails if config.rail_policy == "striped" else 1
        self.parts_left: dict[int, int] = {}
        self.begun: set[int] = set()
        """Steps that have begun in the present round of their rank: their receives are posted."""
        self.requests: dict[int, list[int]] = defaultdict(list)
        """Step -> messages whose requests wait for it to begin, in order of arrival."""

    def post(self, message: int) -> None:
        """Send a message to another node, or ask for leave to."""
        limit = self.config.eager_limit_bytes
        eager = limit is None or int(self.program.send_bytes[message]) <= limit
        if eager or self.one_sided[message]:
            self._send_data(message)
        else:
            self._send_control(message, self.request)

    def step_begins(self, step: int) -> None:
        """Post the receives of a step."""
        self.begun.add(step)
        for message in self.requests.pop(step, []):
            self._send_control(message, self.request + 1)

    def parts_of(self, message: int) -> int:
        """Return the number of parts in which a message between nodes is sent."""
        src, dst = int(self.sender[message]), int(self.program.send_dst[message])
        if self.config.rail_policy != "striped" or self._in_domain(src, dst):
            return 1
        packets = -(-int(self.program.send_bytes[message]) // self.config.packet_bytes)
        return min(self.rails, packets)

    def part_arrived(self, part: Part) -> None:
        """Handle the arrival of a part's last packet at its node."""
        message = part.message
        if part.number == self.request + 1:
            self._send_data(message)
        elif part.number == self.request:
            step = int(self.program.send_step[message])
            if step in self.begun:
                self._send_control(message, self.request + 1)
            else:
                self.requests[step].append(message)
        else:
            self.parts_left[message] -= 1
            if self.parts_left[message] == 0:
                self.arrive(message)

    def _rail(self, message: int) -> int:
        """Return the rail of the message's part 0."""
        rank = int(self.sender[message])
        if self.config.rail_policy == "pinned":
            group, node = self.traffic.rank_group, self.traffic.rank_node
            mates = [r for r in range(rank) if group[r] == group[rank] and node[r] == node[rank]]
            return len(mates) % self.rails
        first = int(self.program.send_ptr[self.program.rank_step_ptr[rank]])
        return (message - first) % self.rails

    def _send_data(self, message: int) -> None:
        size, full = int(self.program.send_bytes[message]), self.config.packet_bytes
        payloads = [min(full, size - at) for at in range(0, size, full)]
        src, dst = int(self.sender[message]), int(self.program.send_dst[message])
        n = self.parts_left[message] = self.parts_of(message)
        for number in range(n):
            rail = (self._rail(message) + number) % self.rails
            mine = tuple(payloads[number::n])
            self._send_part(message, number, mine, (src, dst), rail)

    def _send_control(self, message: int, number: int) -> None:
        ends = int(self.sender[message]), int(self.program.send_dst[message])
        if number > self.request:
            ends = ends[::-1]
        payloads = (self.config.control_bytes,)
        self._send_part(message, number, payloads, ends, self._rail(message))

    def _in_domain(self, *ranks: int) -> bool:
        """Return whether ranks are in one scale-up domain."""
        domain = self.topology.scale_up
        nodes = self.traffic.rank_node
        return domain is not None and len({int(domain[nodes[rank]]) for rank in ranks}) == 1

    def _send_part(
        self,
        message: int,
        number: int,
        payloads: tuple[int, ...],
        ends: tuple[int, int],
        rail: int,
    ) -> None:
        nodes = [int(self.traffic.rank_node[rank]) for rank in ends]
        out = into = rail
        if self.topology.scale_up is not None:
            # port 0 is on the scale-up switch
            out = into = 0 if self._in_domain(*ends) else rail + 1
        if self.topology.nic_rail is not None and len(set(self.topology.nic_rail[nodes])) > 1:
            into = 0
        src, dst = nodes[0] * self.topology.rails + out, nodes[1] * self.topology.rails + into
        group = self.traffic.rank_group[ends[0]]
        name = (message + int(self.random_shift[group])) % 2**64
        name_and_class = name, int(self.group_class[group]), number >= self.request
        self.send(Part(message, number, payloads, src, dst, *name_and_class))
