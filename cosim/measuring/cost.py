"""Estimated computing cost of a campaign's packets, or of a queue's jobs at flow level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.base import Measure
from cosim.measuring.snapshots import Study, snapshot_times
from cosim.network.communication import Communication
from cosim.network.isolated_loops import LEAST_FRACTION
from cosim.network.placed_job import SharedNetwork
from cosim.parameters import PERIODS
from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, need_memory, shown
from netsim.packet.checks import MAX_PACKET_HOPS, packets_of
from netsim.routing.base import Routing
from netsim.units import format_quantity
from patterns.build import need_messages
from patterns.registry import make_pattern

HOPS_PER_S = 10e6
"""What the packet engine does on one idle core; a shared one does half."""
LONG_S = 60.0
"""A run of more than this is announced."""

_KNOWN = 128
_SAMPLED_PAIRS = 64
_BEGUN = 0.5
"""Of the iteration that a loop has begun when it ends, in the mean."""
_SAMPLED_SNAPSHOTS = 50


def carried_on(cost: Callable[[int], float], n: int) -> float:
    """Return ``cost(n)``, extrapolated beyond 128 by the growth from 64 to 128.

    Counting an all-to-all of 10,000 ranks directly takes gigabytes.
    """
    if n > _KNOWN:
        try:
            half, full = (cost(known) for known in (_KNOWN // 2, _KNOWN))
        except NetcosimError:
            pass  # a pattern with restrictions on the number of ranks
        else:
            power = math.log2(full / half) if half > 0 and full > 0 else 1.0
            return full * float((n / _KNOWN) ** power)
    return cost(n)


@dataclass
class PacketCounts:
    """Packets that a job sends, by communication and ranks, each counted once.

    The growth of large ones (`carried_on`) is within a third for most patterns; an fft3d, whose
    messages shrink until each is one packet, has up to some times more.
    """

    packet_bytes: int
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    def of(self, which: int, communication: Communication, n_ranks: int) -> float:
        """Return the packets of communication number ``which`` on ``n_ranks`` ranks."""
        key = (which, n_ranks)
        if key not in self.known:
            once = carried_on(lambda ranks: self._program_cost(communication, ranks), n_ranks)
            self.known[key] = communication.iterations * once
        return self.known[key]

    def _program_cost(self, communication: Communication, n_ranks: int) -> float:
        rng = np.random.default_rng(0)
        scaled = communication.for_ranks(n_ranks)
        name, size = scaled.pattern, scaled.message_bytes
        program = make_pattern(name, n_ranks, size, 1, rng, scaled.parameters)
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
    """Return the links on the path of a packet between two random nodes, including those of the
    nodes.

    For adaptive routings, the first choice is used, which is a minimal path.
    """
    topology = routing.topology
    nodes = np.random.default_rng(0).integers(0, topology.n_nodes, (_SAMPLED_PAIRS, 2))
    total = 0
    for source, target in nodes * topology.rails:
        router, state, ejected = int(topology.port_router[source]), 0, False
        total += 1
        while not ejected:
            hop = routing.choices(router, int(target), state)[0]
            end = int(topology.link_dst[hop.link])
            router, state, ejected = end - topology.n_ports, hop.state, end < topology.n_ports
            total += 1
    return total / _SAMPLED_PAIRS


def campaign_hops(study: Study, measure: Measure) -> float:
    """Estimate the packet hops of all snapshots of a study and of its isolated jobs.

    Jobs that loop send as often as their periods fit into the longest one; a period is taken to be
    a node's packets over the communication fraction.
    """
    network = study.sides[study.reference].network
    counts = PacketCounts(network.packet.packet_bytes)
    looked_at = min(study.n_snapshots, _SAMPLED_SNAPSHOTS)
    measured = study.n_snapshots if study.only is None else 1
    packets = 0.0
    loops, communications = measure.loops(study), study.communications
    if loops:  # independent of the number of iterations in a config
        communications = [replace(each, iterations=1) for each in communications]
    for name, often in measure.sent(study).items():
        side = study.sides[name]
        nodes = side.schedule.workload.n_nodes
        for time_s in snapshot_times(side.schedule, looked_at):
            running = np.array(side.running(float(time_s)), dtype=np.int64)
            one = np.zeros(len(running))
            for place, job in enumerate(running.tolist()):
                which, ranks = int(study.share[job]), int(nodes[job]) * network.ranks_per_node
                one[place] = counts.of(which, communications[which], ranks)
            times = np.full(len(running), often)
            if loops:
                times *= _periods_of_longest(one / nodes[running], study.fraction[running])
                times += _BEGUN * (times > 0)
            packets += float(times @ one) * measured / looked_at
    return (packets + sum(counts.known.values())) * mean_hops(network.routing)


def isolated_hops(
    shared: SharedNetwork,
    communications: Sequence[Communication],
    share: NDArray[np.int64],
    n_nodes: NDArray[np.int32],
) -> float:
    """Estimate the packet hops of six isolated periods of each job, on two sets of nodes."""
    counts = PacketCounts(shared.packet.packet_bytes)
    packets = sum(
        counts.of(which, replace(communications[which], iterations=1), size * shared.ranks_per_node)
        for which, size in zip(share.tolist(), n_nodes.tolist(), strict=True)
        if size > 1
    )
    return 2 * PERIODS * packets * mean_hops(shared.routing)


def _periods_of_longest(
    packets: NDArray[np.float64], fraction: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how many periods of each job take as long as the longest; 0 for jobs that send
    nothing."""
    period = packets / np.maximum(fraction, LEAST_FRACTION)
    sends = (period > 0) & (fraction > 0)
    longest: float = period.max(initial=0.0, where=sends)
    return np.divide(longest, period, out=np.zeros(len(period)), where=sends)


def node_pairs(communication: Communication, n_nodes: int) -> int:
    """Return the pairs of nodes that exchange anything in a job, one rank a node; see
    `carried_on`."""
    found = carried_on(lambda nodes: _n_pairs_of(communication, nodes), n_nodes)
    return min(round(found), n_nodes**2)


def _n_pairs_of(communication: Communication, n_nodes: int) -> int:
    name, size = communication.pattern, communication.message_bytes
    program = make_pattern(
        name, n_nodes, size, 1, np.random.default_rng(0), communication.parameters
    )
    source, target = program.send_src().astype(np.int64), program.send_dst
    return len(np.unique(source * n_nodes + target))


def flow_level_s(
    routing: Routing,
    communications: Sequence[Communication],
    share: NDArray[np.int64],
    n_nodes: NDArray[np.int32],
) -> tuple[float, float]:
    """Return the seconds that it takes to put all jobs on the network once, and the longest of
    them.

    ``share`` has the number of each job's communication.
    """
    from netsim.flow.job_routes import load_cost

    seconds, longest = 0.0, 0.0
    kinds, jobs = np.unique(np.stack([share, n_nodes]), axis=1, return_counts=True)
    for (which, size), count in zip(kinds.T.tolist(), jobs.tolist(), strict=True):
        if size < 2:
            continue
        communication = communications[which]
        cost = load_cost(routing, node_pairs(communication, size))
        need_memory(
            f"queue.run_time_model: {communication.pattern} of a job of {size:,} nodes at flow "
            "level",
            round(cost.memory_bytes),
        )
        seconds += cost.seconds * count
        longest = max(longest, cost.seconds)
    return seconds, longest


def estimate_line(hops: float, n_snapshots: int) -> str | None:
    """Return a note on the run time before packets are simulated; None if it is short."""
    if hops > MAX_PACKET_HOPS:
        raise NetcosimError(
            f"{n_snapshots:,} snapshots take {hops:.2g} packet hops, "
            f"{hops / HOPS_PER_S / 86400:.2g} days; at most {MAX_PACKET_HOPS:.0e} hops "
            "are simulated: lower communication.mix.message_bytes or iterations, "
            "communication.ranks_per_node, run.snapshots or queue.measured.rounds, or raise "
            "machine.packet.packet_bytes"
        )
    seconds = hops / HOPS_PER_S
    if seconds < LONG_S:
        return None
    return (
        f"about {format_quantity(seconds, 'time', 2)} of packet simulation ahead: "
        f"{n_snapshots:,} snapshots, {hops:.2g} packet hops"
    )


def flow_level_line(seconds: float, longest_s: float) -> str | None:
    """Return a note on the run time before jobs are put on the network; None if it is short.

    ``seconds`` are those of all jobs under all policies, ``longest_s`` those of one job.
    """
    if seconds < LONG_S:
        return None
    return (
        f"about {format_quantity(seconds, 'time', 2)} at flow level ahead to put jobs on the "
        f"network, {format_quantity(longest_s, 'time', 2)} for the largest"
    )
