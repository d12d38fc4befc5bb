"""How much the packets of a run will cost, told before the first of them is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from experiments.config_errors import ConfigError
from experiments.units import format_quantity
from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, need_memory, shown
from netsim.packet.checks import MAX_PACKET_HOPS, packets_of
from netsim.routing.base import Routing
from patterns.build import need_messages
from patterns.registry import make_pattern
from queuesim.communication import Communication
from queuesim.snapshots import Study, snapshot_times

HOPS_PER_S = 10e6
"""What the packet engine does on one idle core; a shared one does half."""
MAX_SNAPSHOTS = 100_000
LONG_S = 60.0
"""A run of more than this is announced."""

_KNOWN_RANKS = 128
_SAMPLED_PAIRS = 64
_SAMPLED_SNAPSHOTS = 50
_RESULT_BYTES_A_LINK = 40


@dataclass
class PacketCounts:
    """Packets that a job sends, by communication and ranks, each counted once.

    Up to 128 ranks the pattern is asked; beyond, its growth from 64 to 128 ranks is carried on,
    since an all-to-all of 10,000 ranks takes gigabytes only to be counted. That is within a third
    for most patterns; an fft3d, whose messages shrink until each is one packet, has up to some
    times more.
    """

    packet_bytes: int
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    def of(self, which: int, communication: Communication, n_ranks: int) -> float:
        """Packets of communication number ``which`` on so many ranks."""
        key = (which, n_ranks)
        if key not in self.known:
            self.known[key] = communication.iterations * self._once(communication, n_ranks)
        return self.known[key]

    def _once(self, communication: Communication, n_ranks: int) -> float:
        if n_ranks > _KNOWN_RANKS:
            try:
                half, full = (self._asked(communication, n) for n in (64, _KNOWN_RANKS))
            except NetcosimError:
                pass  # a pattern for numbers of ranks of its own
            else:
                power = math.log2(full / half) if half > 0 and full > 0 else 1.0
                return full * float((n_ranks / _KNOWN_RANKS) ** power)
        return self._asked(communication, n_ranks)

    def _asked(self, communication: Communication, n_ranks: int) -> float:
        rng = np.random.default_rng(0)
        said = communication.for_ranks(n_ranks)
        name, size = said.pattern, said.message_bytes
        program = make_pattern(name, n_ranks, size, 1, rng, said.parameters)
        rounds = communication.iterations
        given = f"communication.mix.iterations = {shown(rounds)} of {name} on {n_ranks} ranks"
        need_messages(program.n_messages * rounds, program.n_steps * rounds, given)
        if program.n_messages and program.send_bytes.max() > MAX_INDEX * self.packet_bytes:
            raise NetcosimError(
                f"communication.mix.message_bytes = {shown(size)}: a message of {name} has more "
                f"than {MAX_INDEX:,} packets of {self.packet_bytes} bytes"
            )
        return packets_of(program, self.packet_bytes)


def mean_hops(routing: Routing) -> float:
    """Links on the way of a packet between two random nodes, those of the nodes among them.

    Of adaptive routings the first choice is taken, which is a minimal way.
    """
    topology = routing.topology
    pairs = np.random.default_rng(0).integers(0, topology.n_nodes, (_SAMPLED_PAIRS, 2))
    total = 0
    for source, target in pairs:
        router, state, ejected = int(topology.node_router[source]), 0, False
        total += 1
        while not ejected:
            hop = routing.choices(router, int(target), state)[0]
            end = int(topology.link_dst[hop.link])
            router, state, ejected = end - topology.n_nodes, hop.state, end < topology.n_nodes
            total += 1
    return total / _SAMPLED_PAIRS


def campaign_hops(study: Study, sent: Mapping[str, float]) -> float:
    """Packet hops of all snapshots of a study, and of the jobs alone, about.

    Parameters
    ----------
    study : Study
    sent : mapping of str to float
        How often what runs at a side's instants is sent; from the measure.

    Raises
    ------
    NetcosimError
        What a pattern refuses.
    """
    network = study.sides[study.reference].network
    counts = PacketCounts(network.packet.packet_bytes)
    looked_at = min(study.n_snapshots, _SAMPLED_SNAPSHOTS)
    measured = study.n_snapshots if study.only is None else 1
    packets = 0.0
    for name, often in sent.items():
        side = study.sides[name]
        nodes = side.schedule.workload.n_nodes
        for time_s in snapshot_times(side.schedule, looked_at):
            for job in side.running(float(time_s)):
                which, ranks = int(study.share[job]), int(nodes[job]) * network.ranks_per_node
                one = counts.of(which, study.communications[which], ranks)
                packets += often * one * measured / looked_at
    return (packets + sum(counts.known.values())) * mean_hops(network.routing)


def check_snapshots(n_snapshots: int, n_policies: int, n_links: int) -> None:
    """Refuse more snapshots than can be kept.

    Raises
    ------
    ConfigError, NetcosimError
    """
    if n_snapshots > MAX_SNAPSHOTS:
        raise ConfigError("run.snapshots", shown(n_snapshots), f"at most {MAX_SNAPSHOTS:,}")
    need_memory(
        f"key run.snapshots: {n_snapshots:,} under {n_policies} policies on {n_links:,} links",
        n_snapshots * n_policies * n_links * _RESULT_BYTES_A_LINK,
    )


def estimate_line(hops: float, n_snapshots: int) -> str | None:
    """What the user should know before packets are sent; None if it is soon done.

    Raises
    ------
    NetcosimError
        More than anybody will wait for; names the keys that make it so.
    """
    if hops > MAX_PACKET_HOPS:
        raise NetcosimError(
            f"{n_snapshots:,} snapshots take {hops:.2g} packet hops, "
            f"{hops / HOPS_PER_S / 86400:.2g} days; at most {MAX_PACKET_HOPS:.0e} hops "
            "are simulated: lower communication.mix.message_bytes or iterations, "
            "communication.ranks_per_node or run.snapshots, or raise machine.packet.packet_bytes"
        )
    seconds = hops / HOPS_PER_S
    if seconds < LONG_S:
        return None
    return (
        f"about {format_quantity(seconds, 'time', 2)} of packet simulation ahead: "
        f"{n_snapshots:,} snapshots, {hops:.2g} packet hops"
    )
