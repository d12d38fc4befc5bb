"""The tests of benchmarks, simulated: from a row to the number that the benchmark would print."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.kit.packets import MOST_PACKETS, packets_for
from experiments.machines.match import gpcnet
from experiments.machines.match.machine import MatchMachine
from experiments.machines.match.rows import LONGER_IS_SLOWER, NAMES, UNITS, Row, plain
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig, PacketResult
from netsim.text_numbers import whole_number
from netsim.topologies.gpu_cluster import GpuClusterShape
from netsim.traffic import Program, Traffic, combine
from patterns.bisection_pairing import bisection_pairing
from patterns.build import Messages, build_program, join, make_messages, waiting_for_sends
from patterns.collectives.library import LIBRARY, Collective

WINDOW = 64
"""Messages at once in OSU's bandwidth tests, their default."""
ROUNDS, RANDOM_ROUNDS = 2, 256
"""Of pairs; more where hosts have jitter or the 99 % is wanted, up to `SMALL` bytes."""
SMALL = 4096
QUANTILES = {"median": 0.5, "p99": 0.99}
MOST_DISTANCES = 8
"""Of mpiGraph's p - 1, evenly spread."""
STAGE_BYTES = 64 << 10
"""Part of a message that is copied, or registered, before the rest streams."""
FRESH_BYTES = 32 << 20
"""Buffers from which memory comes from the system at each allocation, at most (glibc)."""
MOST_MESSAGES = 400_000
RUN_PACKETS = 1 << 19
"""Of a simulation: messages then have fewer and larger packets."""

LIBRARY_NAMES = re.compile(r"(_ompi|_mpich)$|^default-(?!default)")


@dataclass(frozen=True)
class Matched:
    """A row with the simulated value, or the reason why there is none."""

    row: Row
    algorithm: str
    """As simulated."""
    simulated: float
    """In the row's unit; NaN if there is none."""
    reason: str = ""
    fitted: str = ""
    """Parameters that were fitted on this row."""

    @property
    def ratio(self) -> float:
        """Simulated over measured time: above 1 where the simulation is slower."""
        over = self.simulated / self.row.value
        return over if self.row.unit in LONGER_IS_SLOWER else 1 / over


def match(row: Row, machine: MatchMachine, algorithms: Mapping[str, str] | None = None) -> Matched:
    """Simulate the test of a row.

    Parameters
    ----------
    algorithms : mapping, optional
        Algorithm of an operation, where the row names none.
    """
    algorithm = row.algorithm
    try:
        algorithm, value = _simulated(row, machine, algorithms or {})
    except NetcosimError as error:
        return Matched(row, algorithm, math.nan, str(error))
    return Matched(row, algorithm, value / UNITS[row.unit])


def _simulated(row: Row, machine: MatchMachine, algorithms: Mapping[str, str]) -> tuple[str, float]:
    """Return the algorithm and the value in SI."""
    test = plain(row.test)
    if test.startswith("gpcnet"):
        test_of = gpcnet.test_of(row)
        if test_of is None:
            raise NetcosimError(f"{row.test}: no test of GPCNeT that is simulated")
        return test_of.algorithm, gpcnet.simulated(row, test_of, machine, _send)
    if test == "mpigraph":
        return row.algorithm, _mpigraph(row, machine)
    if (mode := NAMES["pairs"].get(test.removeprefix("osu"))) is not None:
        return "", _pairs(row, mode, machine)
    operation = NAMES["operations"].get(test.removeprefix("osu").removeprefix("nccl"))
    if operation is None:
        raise NetcosimError(f"{row.test}: no test that is simulated")
    return _collective(row, operation, machine, algorithms)


def _send(
    machine: MatchMachine,
    parts: list[tuple[Program, NDArray[np.int64]]],
    packets: PacketConfig | None = None,
    **groups: Any,
) -> PacketResult:
    """Send programs of ranks on nodes, whose steps also wait for their own sends.

    Parameters
    ----------
    packets : PacketConfig, optional
        By default the machine's.
    groups : Any
        Of `combine`.
    """
    programs, nodes = [waiting_for_sends(p) for p, _ in parts], [n for _, n in parts]
    n_messages = sum(p.n_messages for p in programs)
    if n_messages > MOST_MESSAGES * len(parts):
        raise NetcosimError(f"{n_messages:,} messages; at most {MOST_MESSAGES:,} are simulated")
    most = min(MOST_PACKETS, max(2, RUN_PACKETS // max(1, n_messages)))
    largest = max(int(p.send_bytes.max(initial=1)) for p in programs)
    packets = packets_for(packets or machine.packets(), largest, most)
    traffic: Traffic = combine(programs, nodes, **groups)
    rng = np.random.default_rng(machine.seed)
    result = simulate_packets(machine.routing, traffic, packets, rng)
    if result.end_ps <= 0:
        raise NetcosimError("all messages stay inside a node, where they take no time")
    return result


def _placed(row: Row, machine: MatchMachine) -> NDArray[np.int64]:
    """Return the node of each rank: consecutive ranks are on one node."""
    n_ranks = row.ranks
    n_nodes = n_ranks if isinstance(machine.topology.shape, GpuClusterShape) else row.nodes
    if not 1 <= n_nodes <= n_ranks:
        raise NetcosimError(f"{n_ranks} ranks on {n_nodes} nodes")
    nodes = machine.nodes(n_nodes)
    if nodes is None:
        raise NetcosimError(f"{n_nodes} nodes; the machine has {machine.topology.n_nodes}")
    return nodes[np.arange(n_ranks) * n_nodes // n_ranks]


def _pairs(row: Row, mode: str, machine: MatchMachine) -> float:
    size, placed = max(1, row.bytes), _placed(row, machine)
    p = len(placed) // 2 * 2
    if p < 2:
        raise NetcosimError("one rank; a pair is needed")
    is_latency = row.unit in LONGER_IS_SLOWER
    chunks = 1 if is_latency else WINDOW
    if row.statistic == "p99" and (size > SMALL or not is_latency):
        raise NetcosimError(f"the 99 % is simulated of latencies up to {SMALL} B")
    random = size <= SMALL and (row.statistic == "p99" or machine.packets().jitter_s > 0)
    rounds = RANDOM_ROUNDS if random else ROUNDS
    program = bisection_pairing(
        p, size, 1, rounds=rounds, warmup_rounds=0, chunks=chunks, mode=mode
    )
    result = _send(machine, [(program, placed[:p])])
    # the latency of a ping-pong is half a round; that of a put or get an entire one
    part = 0.5 if mode == "ping-pong" else 1.0
    if random and is_latency and row.statistic in QUANTILES:
        each_s = gpcnet.exchange_s(program, result.message_post_ps, rounds)
        return float(np.quantile(each_s, QUANTILES[row.statistic])) * part
    finish = result.rank_finish_ps / PS_PER_S
    if is_latency:
        return float(finish[: p // 2].mean()) * part / rounds
    messages = p // 2 * rounds * chunks * (2 if mode == "both" else 1)
    rate = messages / float(finish.max())
    return rate if row.unit == "1/s" else rate * size


def _mpigraph(row: Row, machine: MatchMachine) -> float:
    window = whole_number(row.algorithm.removeprefix("window "), 1) or WINDOW
    placed, p = _placed(row, machine), row.ranks
    distances = np.unique(np.linspace(1, p - 1, min(p - 1, MOST_DISTANCES)).round().astype(int))
    times = []
    for distance in distances:
        src = np.arange(p)
        one = make_messages(src, 0, (src + distance) % p, 0, row.bytes)
        program = build_program(p, 1, join([one] * window))
        times.append(_send(machine, [(program, placed)]).rank_finish_ps)
    seconds = np.concatenate(times) / PS_PER_S
    return window * row.bytes / float(seconds.max() if row.statistic == "min" else seconds.mean())


def _collective(
    row: Row, operation: str, machine: MatchMachine, algorithms: Mapping[str, str]
) -> tuple[str, float]:
    placed, p, size = _placed(row, machine), row.ranks, max(1, row.bytes)
    of_osu = row.test.lower().startswith("osu")
    if of_osu and operation in NAMES["of_each_rank"]:
        size *= p
    nccl = plain(row.test).startswith("nccl")
    name = "auto" if nccl else algorithm_of(row, operation, p, size, algorithms)
    shape = machine.topology.shape
    g = shape.gpus_per_node if isinstance(shape, GpuClusterShape) else 1
    one = Collective(operation, name, g if nccl else 1, chunks=None if nccl else 1)
    messages, n_steps = one.messages(np.arange(p)[None, :], size)
    if len(messages) > MOST_MESSAGES:
        raise NetcosimError(f"{len(messages):,} messages; at most {MOST_MESSAGES:,}")
    program = build_program(p, n_steps, messages)
    packets = None
    if not nccl:
        exchange = name in NAMES["exchanges"] and size >= FRESH_BYTES
        shares = reduced_share(operation, name), staged_share(messages)
        packets = machine.packets(*shares, exchange=exchange)
    finish = _send(machine, [(program, placed)], packets).rank_finish_ps / PS_PER_S
    seconds = float(finish.mean() if of_osu else finish.max())
    return one.named(p, size), seconds + _allocation_s(machine, operation, name, size)


def _allocation_s(machine: MatchMachine, operation: str, algorithm: str, size: int) -> float:
    """Return the time that a library's fresh buffers of an operation take, see ``names.toml``."""
    fresh = NAMES["fresh_buffers"].get(operation, {}).get(algorithm, 0) * size
    if fresh < FRESH_BYTES:
        return 0.0
    return float(fresh * machine.content["match"]["allocate_s_per_byte"])


def staged_share(messages: Messages) -> float:
    """Return which share of the received bytes waits until it is staged.

    That is up to `STAGE_BYTES` of a message. Messages that a rank receives in one step are staged
    beside each other, as one of their mean size.
    """
    step = messages.dst * (messages.dst_step.max(initial=0) + 1) + messages.dst_step
    size = np.minimum(messages.n_bytes, STAGE_BYTES) / np.bincount(step)[step]
    return float(size.sum() / max(1, messages.n_bytes.sum()))


def reduced_share(operation: str, algorithm: str) -> float:
    """Return which share of the received bytes a processor adds up, or packs for the next step."""
    if operation == "all-to-all":
        return 1.0 if algorithm == "bruck" else 0.0
    if operation == "all-reduce":
        return 1.0 if algorithm == "recursive-doubling" else 0.5
    if operation == "reduce":
        return 0.5 if algorithm == "recursive-halving" else 1.0
    return 1.0 if operation == "reduce-scatter" else 0.0


def algorithm_of(
    row: Row, operation: str, p: int, buffer_bytes: int, algorithms: Mapping[str, str]
) -> str:
    """Return the algorithm that a row names, or else that of the mapping, or MPICH's choice."""
    name = plain(LIBRARY_NAMES.sub("", row.algorithm)) or "default"
    known = {plain(name): name for name in LIBRARY[operation]}
    found = known.get(name) or NAMES["algorithms"].get(name)
    if row.algorithm.endswith("_ompi"):
        found = NAMES["open_mpi"].get(operation, {}).get(name, found)
    if operation == "all-gather" and name == "recursivedoubling":
        found = "recursive-halving"  # its steps backwards are the doubling
    if found is None or found not in (*LIBRARY[operation], "auto"):
        raise NetcosimError(f"{row.algorithm}: no {operation} of that name")
    if found != "auto":
        return found
    return algorithms.get(operation) or mpich_choice(operation, p, buffer_bytes)


def mpich_choice(operation: str, p: int, buffer_bytes: int) -> str:
    """Return the algorithm that MPICH chooses by size (Thakur, Rabenseifner, Gropp, IJHPCA 2005).

    Open MPI, Cray MPICH and vendors' libraries choose at other sizes.
    """
    power_of_two, each = p & (p - 1) == 0, buffer_bytes // p
    if operation in ("all-reduce", "reduce"):
        small = "recursive-doubling" if operation == "all-reduce" else "binomial"
        return small if buffer_bytes <= 2048 else "recursive-halving"
    if operation == "all-gather":
        if buffer_bytes < 512 << 10 and power_of_two:
            return "recursive-halving"
        return "bruck" if buffer_bytes < 80 << 10 else "ring"
    if operation == "broadcast":
        if buffer_bytes < 12 << 10 or p < 8:
            return "binomial"
        return "scatter-doubling" if buffer_bytes < 512 << 10 and power_of_two else "scatter-ring"
    if operation == "all-to-all":
        if each <= 256 and p >= 8:
            return "bruck"
        return "direct" if each <= 32 << 10 else "pairwise"
    if operation == "reduce-scatter":
        return "recursive-halving" if buffer_bytes < 512 << 10 else "pairwise"
    return "binomial" if operation in ("gather", "scatter") else "direct"
