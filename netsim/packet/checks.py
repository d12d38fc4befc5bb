"""Checks of the input that both packet engines make before they run."""

from __future__ import annotations

import math

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.packet.model import MAX_CHANNELS, MAX_DURATION_PS, PS_PER_S, PacketConfig
from netsim.routing.base import Routing
from netsim.routing.kernels_dragonfly import ADAPTIVE_LOCAL
from netsim.topology import Topology
from netsim.traffic import PRIORITIES, Program, Traffic

MAX_PACKET_HOPS = 10**13
"""About 12 days at the engine's 10 million a second; larger requests are mistakes."""

_LEAST_HOPS = 2
"""Links that every packet takes: into the network and out of it."""


def packets_of(program: Program, packet_bytes: int) -> float:
    """Return the number of packets that a program sends, as a float, which cannot overflow."""
    size = program.send_bytes
    if len(size) and size.min() == size.max():
        return float(len(size)) * -(-int(size[0]) // packet_bytes)
    return float(np.sum(-(-size // packet_bytes), dtype=np.float64))


def check_size(
    topology: Topology, traffic: Traffic, config: PacketConfig, until_s: float | None
) -> None:
    """Refuse a run that would never end, or would end beyond the clock."""
    program = traffic.program
    hops = _LEAST_HOPS * packets_of(program, config.packet_bytes)
    if hops > MAX_PACKET_HOPS:
        raise NetcosimError(
            f"{program.n_messages:,} messages of up to {shown(int(program.send_bytes.max()))} "
            f"bytes in packets of {config.packet_bytes} bytes take at least {shown(int(hops))} "
            f"packet hops; at most {MAX_PACKET_HOPS:,} are simulated (message_bytes, iterations)"
        )
    if program.n_messages == 0 or until_s is not None:
        return
    source = np.asarray(traffic.rank_node)[program.send_src()]
    sent = np.bincount(source, weights=program.send_bytes.astype(np.float64))
    # what keeps to one port of several may take that many times longer
    rails = topology.n_rails if config.rail_policy == "striped" else 1
    port_Bps = topology.link_bandwidth_Bps[topology.rails - 1 : topology.n_ports : topology.rails]
    needed_s = float(np.max(sent / port_Bps[: len(sent)])) / rails
    # an eighth leaves room for waiting before the clock's whole numbers overflow
    if needed_s * PS_PER_S > MAX_DURATION_PS / 8:
        raise NetcosimError(
            f"a node needs {needed_s:g} s to send its {sent.max():g} bytes; the clock counts "
            f"{MAX_DURATION_PS // 8 // PS_PER_S:,} s of packets (message_bytes, bandwidth)"
        )


def check_run(
    routing: Routing, traffic: Traffic, config: PacketConfig, until_s: float | None
) -> None:
    """Raise NetcosimError where the arguments of a run do not fit together."""
    _check_traffic(traffic, routing.topology)
    if until_s is not None and not (math.isfinite(until_s) and until_s >= 0):
        raise NetcosimError(f"until_s = {until_s}; it must be >= 0")
    check_priorities(routing, traffic, config)
    check_channels(routing, config)


def _check_traffic(traffic: Traffic, topology: Topology) -> None:
    """Raise NetcosimError where traffic and topology do not fit together."""
    program = traffic.program
    program.validate()
    for what in ("rank_node", "rank_group"):
        values = getattr(traffic, what)
        top = topology.n_nodes if what == "rank_node" else traffic.n_groups
        if len(values) != program.n_ranks:
            raise NetcosimError(f"traffic: {len(values)} {what} for {program.n_ranks} ranks")
        if len(values) and (values.min() < 0 or values.max() >= top):
            raise NetcosimError(f"traffic: {what} has a value outside 0..{top - 1}")
    if traffic.n_groups > 1:
        of_step = np.repeat(traffic.rank_group, np.diff(program.rank_step_ptr))
        of_send = np.repeat(of_step, np.diff(program.send_ptr))
        crossing = np.flatnonzero(of_send != np.asarray(traffic.rank_group)[program.send_dst])
        if len(crossing):
            raise NetcosimError(f"traffic: message {crossing[0]} goes from one group to another")
    if topology.islands is not None:
        node = np.asarray(traffic.rank_node)
        ends = np.stack([node[program.send_src()], node[program.send_dst]])
        for message in np.flatnonzero(np.diff(topology.islands[ends], axis=0)[0])[:1].tolist():
            topology.need_one_island(f"traffic: message {message}", ends[:, message])
    for start_s in traffic.start_s:
        if not (math.isfinite(start_s) and start_s >= 0):
            raise NetcosimError(f"traffic: start_s has {start_s}; it must be >= 0")
    if len(traffic.loops) != traffic.n_groups or (traffic.n_groups and traffic.loops.all()):
        raise NetcosimError(
            f"traffic: group_loops has {int(traffic.loops.sum())} of {traffic.n_groups} groups; "
            "it needs a value for each, and at least one group that ends"
        )


def check_channels(routing: Routing, config: PacketConfig) -> None:
    """Raise NetcosimError where a routing cannot have several channels per class."""
    n = config.fifos_per_class
    if n == 1:
        return
    looks = routing.room_vc >= 0 or routing.compares_queues
    if looks or routing.tables.code == ADAPTIVE_LOCAL:
        raise NetcosimError(
            f"channels_per_class = {n}; routing {routing.name} looks at the space of single "
            "channels; use another routing, or leave it out"
        )
    if n * routing.n_vcs > MAX_CHANNELS:
        raise NetcosimError(
            f"channels_per_class = {n}; routing {routing.name} has {routing.n_vcs} channels, "
            f"allowed: 1 to {MAX_CHANNELS // routing.n_vcs}"
        )


def check_priorities(routing: Routing, traffic: Traffic, config: PacketConfig) -> None:
    """Raise NetcosimError where priorities are out of range or cannot be simulated."""
    if traffic.group_priority is None:
        return
    low, high = traffic.group_priority.min(initial=0), traffic.group_priority.max(initial=0)
    if len(traffic.group_priority) != traffic.n_groups or low < 0 or high >= PRIORITIES:
        raise NetcosimError(
            f"traffic: priorities {low} to {high} of {len(traffic.group_priority)} groups; "
            f"one from 0 to {PRIORITIES - 1} for each of {traffic.n_groups}"
        )
    _, classes = traffic.priority_classes()
    if classes == 1:
        return
    unfit = ""
    if config.input_queued:
        unfit = f"router = {config.router}"
    elif config.paces_flows:
        unfit = f"congestion_control = {config.congestion_control}"
    elif routing.room_vc >= 0 or routing.compares_credits or routing.compares_queues:
        unfit = f"routing {routing.name}, which looks at the free space of channels"
    if unfit:
        raise NetcosimError(f"messages have {classes} priorities; not available with {unfit}")
    channels = classes << (routing.n_vcs - 1).bit_length()
    if channels > MAX_CHANNELS:
        raise NetcosimError(
            f"{classes} priorities need {channels} channels a link under routing {routing.name}; "
            f"at most {MAX_CHANNELS}; use fewer priorities"
        )
