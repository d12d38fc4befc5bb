"""The memory that a packet run will use, estimated before any of it is allocated."""

from __future__ import annotations

from netsim.limits import need_memory
from netsim.packet import tables as t
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.traffic import Traffic

_WORD = 8
_SIZE_BYTES = 8
"""A message's packets and last packet, kept where messages are of several sizes."""
_RESULT_WORDS = 5
"""Of a link: packets, bytes, busy time, stalls and their time."""
_SLOT_WORDS = 6
"""Of a channel of an input-queued router, while the rows are made."""
_LINK_WORDS = 4
"""Of a link beside its row: its place in lists."""


def run_bytes(
    routing: Routing, traffic: Traffic, config: PacketConfig, record_messages: bool
) -> int:
    """Return the bytes that `netsim.packet.engine.simulate_packets` takes beside its input.

    Waiting packets are counted up to the initial capacity; a network full of small
    packets in large buffers takes more.
    """
    topology, program = routing.topology, traffic.program
    links, ports, messages = topology.n_links, topology.n_ports, program.n_messages
    _, classes = traffic.priority_classes()
    n_vcs = routing.n_vcs * config.fifos_per_class
    vcs = 1 << ((n_vcs - 1).bit_length() + (classes - 1).bit_length())
    packets = min(4 * (ports + 64) + links, _most_packets(traffic, config))
    events = min(4 * (ports + 2 * links), packets)
    parts = 1 if config.eager_limit_bytes is None else 3
    if topology.rails > 1:
        parts += topology.rails
    total = links * (t.LINK.itemsize + t.COUNTER.itemsize + _WORD * (_LINK_WORDS + _RESULT_WORDS))
    total += links * vcs * t.CHANNEL.itemsize
    total += classes * ports * t.NODE_QUEUE.itemsize
    total += packets * (t.PACKET.itemsize + t.CREDIT.itemsize + t.CHAINED.itemsize)
    total += events * (t.CHAINED.itemsize + t.TIMED.itemsize)
    total += program.n_streams * (t.RANK.itemsize + _WORD * 3)
    works = bool(program.kinds) or bool(program.compute_s.any())
    total += program.n_steps * (t.STEP.itemsize + (2 * _WORD if works else 0))
    total += messages * t.MESSAGE.itemsize * parts
    if messages and program.send_bytes.min() < program.send_bytes.max():
        total += messages * _SIZE_BYTES
    for costs in (
        config.send_overhead_s or config.send_s_per_byte or config.jitter_s,
        config.recv_overhead_s or config.copy_s_per_byte or config.jitter_s,
    ):
        total += messages * 2 * _WORD if costs else 0
    total += 2 * ports * t.PORT.itemsize if config.nic_duplex_efficiency is not None else 0
    total += 2 * _WORD * messages if record_messages else 0
    if config.input_queued:
        from netsim.packet.crossbar import tables as x

        # two ports for every link, slots of channels, and bits by output and slot
        slots_a_router = -(-links * n_vcs // topology.n_routers)
        total += links * (x.INPUT_PORT.itemsize + x.OUTPUT_PORT.itemsize)
        total += links * vcs * (x.SLOT.itemsize + _WORD * _SLOT_WORDS)
        total += links * _WORD * (1 + slots_a_router // 64)
        total += links * vcs * x.GRANT.itemsize if config.allocates_channels else 0
    return total


def _most_packets(traffic: Traffic, config: PacketConfig) -> int:
    """Return the maximum number of packets in flight: at most all that are sent, and some of each
    rank's."""
    program = traffic.program
    sent = int(program.send_bytes.sum()) // config.packet_bytes + program.n_messages
    return min(sent, _WINDOW * program.n_ranks)


_WINDOW = 64


def check_memory(
    routing: Routing, traffic: Traffic, config: PacketConfig, record_messages: bool
) -> None:
    """Refuse a run that needs more memory than there is."""
    program, topology = traffic.program, routing.topology
    need_memory(
        f"packets: {program.n_messages:,} messages on {topology.n_links:,} links of "
        f"{topology.name}, {routing.n_vcs} channels each",
        run_bytes(routing, traffic, config, record_messages),
    )
