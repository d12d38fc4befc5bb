"""Random small cases: both packet engines must agree on them, and any law must hold.

Machines and routings come from the registries, so whatever is registered is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from experiments.kit.small_machines import n_small
from experiments.kit.small_machines import small_machine as small
from netsim.errors import NetcosimError
from netsim.packet.checks import check_channels, check_priorities
from netsim.packet.model import (
    ARBITRATIONS,
    CONGESTION_CONTROLS,
    CROSSING_REQUIRES,
    DELIVERIES,
    INPUT_QUEUED,
    JITTERS,
    RAIL_POLICIES,
    UNLIMITED,
    PacketConfig,
)
from netsim.parameters import parameters_of
from netsim.routing.any_graph import HASH_SEEDS
from netsim.routing.base import SWITCHED, Routing
from netsim.routing.dragonfly import GLOBAL_LINKS, INTERMEDIATES
from netsim.routing.dragonfly_reference import COMPARES
from netsim.routing.registry import ROUTINGS, make_routing, routings_for
from netsim.routing.torus import RING_TIES
from netsim.topologies.graph import graph
from netsim.topologies.registry import FAMILIES, make_topology
from netsim.topology import Topology
from netsim.traffic import Program, Traffic, combine

SPEEDS_BPS = (10**9, 250_000_000, 3_300_000_000)
LATENCIES_S = (40e-9, 0.0, 13.7e-9)
CONFIG_VALUES: Mapping[str, Sequence[Any]] = {
    "packet_bytes": (500, 1000),
    "header_bytes": (0, 24),
    "buffer_bytes": (1, 1.5, 2, 10),
    "router_latency_s": (0.0, 1e-9, 100e-9),
    "send_overhead_s": (0.0, 0.0, 5e-10, 70e-9),
    "recv_overhead_s": (0.0, 0.0, 5e-10, 70e-9),
    "copy_s_per_byte": (0.0, 0.0, 4e-13, 3e-12),
    "send_s_per_byte": (0.0, 0.0, 4e-13, 3e-12),
    "jitter_s": (0.0, 0.0, 3e-9, 200e-9),
    "jitter_distribution": JITTERS,
    "jitter_seed": (0, 1),
    "port_messages": (1, 1, 2, 3),
    "control_first": (False, True),
    "nic_efficiency": (1.0, 1.0, 0.9, 0.5),
    "nic_duplex_efficiency": (None, None, 0.5, 0.4),
    "rail_policy": RAIL_POLICIES,
    "eager_limit_bytes": (None, None, 0, 500, 1000),
    "control_bytes": (8, 64),
    "congestion_control": CONGESTION_CONTROLS,
    "congestion_threshold_bytes": (1, 1000, 4096),
    "congestion_delay_s": (0.0, 1e-6, 7e-9),
    "congestion_interval_s": (None, 3e-9, 1e-6),
    "congestion_recovery_s": (None, 5e-6, 3e-9),
}
"""What is drawn for each field of `PacketConfig` but those of `with_router`; buffers in packets."""
ROUTING_VALUES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "dragonfly": {
        "ugal_compares": COMPARES,
        "ugal_weight": (1, 2),
        "ugal_counts_bids": (False,),
        "valiant_intermediate": INTERMEDIATES,
        "minimal_global_link": GLOBAL_LINKS,
    },
    "torus": {"ring_ties": RING_TIES},
    **{name: {"queue_pairs": (2, 3), "hash_seeds": HASH_SEEDS} for name in SWITCHED},
}
"""What is drawn for parameters of routings, by topology family."""
CROSSBARS: Sequence[Mapping[str, Any]] = (
    {},
    *({"crossbar_speedup": speedup} for speedup in (0.5, 1, 1.5, 2, 4, UNLIMITED)),
    *({"crossbar_bandwidth_Bps": bandwidth} for bandwidth in (1e9, 4e8, 1.7e9, 1e10)),
)
OUTPUT_QUEUED: Mapping[str, Any] = {
    name: PacketConfig.__dataclass_fields__[name].default
    for name in (
        "router",
        "crossbar_bandwidth_Bps",
        "crossbar_speedup",
        "output_buffer_bytes",
        "arbitration",
        "crossing_requires",
        "crossing_overhead_s",
        "channels_per_class",
        "congestion_control",
    )
}
"""What priorities need."""


@dataclass(frozen=True)
class Send:
    """A message: receiver, bytes, and the receiver's step (counted from its own first).

    0 bytes are a signal to a stream of the same rank.
    """

    dst: int
    size: int
    step: int = 0


@dataclass(frozen=True)
class Step:
    """One step of a rank."""

    sends: Sequence[Send] = ()
    need: int = 0
    compute_ps: int = 0
    kind: int = 0
    waits_sends: bool = False
    start_ps: int = 0


@dataclass(frozen=True, eq=False)
class Case:
    """All that an engine takes but its generator."""

    routing: Routing
    traffic: Traffic
    config: PacketConfig


def program(
    *ranks: Sequence[Step], streams: Sequence[Sequence[int]] = (), kinds: tuple[str, ...] = ()
) -> Program:
    """Build a program from each rank's list of steps; messages are numbered in that order.

    ``streams`` has the number of steps of each stream of each rank; by default one has all.
    """
    steps = [step for rank in ranks for step in rank]
    first = np.cumsum([0] + [len(rank) for rank in ranks])
    sends = [send for step in steps for send in step.sends]
    lengths = [n for rank in streams for n in rank] or [len(rank) for rank in ranks]
    stream_ptr = np.cumsum([0] + [len(rank) for rank in streams]).astype(np.int64)
    return Program(
        n_ranks=len(ranks),
        step_ptr=np.cumsum([0, *lengths]).astype(np.int64),
        compute_s=np.array([step.compute_ps * 1e-12 for step in steps], dtype=np.float64),
        recv_need=np.array([step.need for step in steps], dtype=np.int32),
        send_ptr=np.cumsum([0] + [len(step.sends) for step in steps]).astype(np.int64),
        send_dst=np.array([send.dst for send in sends], dtype=np.int32),
        send_bytes=np.array([send.size for send in sends], dtype=np.int64),
        send_step=np.array([first[send.dst] + send.step for send in sends], dtype=np.int32),
        stream_ptr=stream_ptr if streams else None,
        kinds=kinds,
        step_kind=np.array([step.kind for step in steps], dtype=np.int8) if kinds else None,
        step_waits_sends=_stated([step.waits_sends for step in steps], np.bool_),
        step_start_s=_stated([step.start_ps * 1e-12 for step in steps], np.float64),
    )


def _stated(values: Sequence[float], dtype: type) -> NDArray[Any] | None:
    """Return the values of steps; None if all are 0."""
    return np.array(values, dtype=dtype) if any(values) else None


KINDS = ("tp", "dp", "pp")


def random_program(rng: np.random.Generator, n_ranks: int) -> Program:
    """Draw a program that always ends: a send of step s of a stream counts toward a step >= s.

    Half of the programs have ranks of up to three streams, with signals between them, and kinds of
    communication. Half have steps that wait for their sends, half steps that begin late. Times are
    whole multiples of 500 ps, so that many things fall into one tick. Some steps need fewer
    messages than they get.
    """
    with_streams = bool(rng.random() < 0.5)
    lengths = [
        rng.integers(0, 4, rng.integers(1, 4) if with_streams else 1).tolist()
        for _ in range(n_ranks)
    ]
    waits, late = (0.5 * (rng.random(2) < 0.5)).tolist()
    # of each step of a rank: its place in its stream
    place = [np.concatenate([np.arange(n) for n in of_rank]) for of_rank in lengths]
    kinds = KINDS[: rng.integers(0, 1 + len(KINDS))] if with_streams else ()
    need = [np.zeros(len(steps), dtype=np.int64) for steps in place]
    sends: list[list[list[Send]]] = [[[] for _ in steps] for steps in place]
    for rank, step in [(r, s) for r in range(n_ranks) for s in range(len(place[r]))]:
        for _ in range(rng.integers(0, 4)):
            signal = with_streams and rng.random() < 0.3
            dst = rank if signal else int(rng.integers(n_ranks))
            later = np.flatnonzero(place[dst] >= place[rank][step])
            if len(later):
                to = int(rng.choice(later))
                size = 0 if signal else int(rng.choice([1, 8, 500, 1000, 3700]))
                sends[rank][step].append(Send(dst, size, to))
                need[dst][to] += int(rng.random() < 0.9)
    return program(
        *(
            [
                Step(
                    sends[r][s],
                    int(need[r][s]),
                    compute_ps=500 * int(rng.choice([0, 0, 1, 2, 4000])),
                    kind=int(rng.integers(0, 1 + len(kinds))),
                    waits_sends=bool(rng.random() < waits),
                    start_ps=500 * int(rng.choice([0, 0, 3, 9000])) if late else 0,
                )
                for s in range(len(place[r]))
            ]
            for r in range(n_ranks)
        ),
        streams=lengths if with_streams else (),
        kinds=kinds,
    )


def random_traffic(rng: np.random.Generator, n_nodes: int) -> Traffic:
    """Draw one to three random programs on random nodes, often several ranks a node."""
    programs = [random_program(rng, int(rng.integers(1, 9))) for _ in range(rng.integers(1, 4))]
    loops = np.append(False, rng.random(len(programs) - 1) < 0.4)
    return combine(
        programs,
        [rng.integers(0, n_nodes, p.n_ranks) for p in programs],
        [1e-9 * int(rng.choice([0, 0, 1, 2000])) for _ in programs],
        group_loops=loops.tolist() if loops.any() else None,
    )


def random_config(rng: np.random.Generator) -> PacketConfig:
    """Draw small packets, tight and wide buffers, and sometimes end-point costs."""
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in CONFIG_VALUES.items()}
    wire_bytes = drawn["packet_bytes"] + drawn["header_bytes"]
    drawn["buffer_bytes"] = int(wire_bytes * drawn["buffer_bytes"])
    if drawn["congestion_control"] != CONGESTION_CONTROLS[0]:
        # a control orders the messages of a port itself
        drawn |= {"port_messages": 1, "control_first": False}
    return with_router(PacketConfig(**drawn), rng)


def with_router(plain: PacketConfig, rng: np.random.Generator) -> PacketConfig:
    """Return the configuration with a random router and delivery."""
    mixed = replace(plain, delivery=str(rng.choice(DELIVERIES)))
    # input-queued routers know no congestion control, and one rate of a port
    slower = plain.paces_flows or plain.nic_duplex_efficiency is not None
    if rng.random() < 0.4 or slower:
        return mixed
    wire = plain.packet_bytes + plain.header_bytes
    space = rng.choice([0, wire, int(1.5 * wire), 2 * wire, 10 * wire])
    routed = replace(
        mixed,
        router=INPUT_QUEUED,
        **CROSSBARS[int(rng.integers(len(CROSSBARS)))],
        output_buffer_bytes=int(space) or None,
        arbitration=[None, *ARBITRATIONS][rng.integers(1 + len(ARBITRATIONS))],
    )
    if routed.crossbar_speedup != UNLIMITED:
        needs = [None, *CROSSING_REQUIRES][rng.integers(1 + len(CROSSING_REQUIRES))]
        routed = replace(routed, crossing_requires=needs)
    return routed


def small_machine(
    family: str, number: int, speed_Bps: Callable[[], int], latency_s: Callable[[], float]
) -> Topology:
    """Build a small machine of a family (`Family.small`), drawing speed and latency of its links.

    A family that names none (its machines come from files) gives the Petersen graph.
    """
    entry = FAMILIES[family]
    if not n_small(family):
        network = nx.petersen_graph()
        for cable in network.edges:
            network.edges[cable]["bandwidth_Bps"] = speed_Bps()
            network.edges[cable]["latency_s"] = latency_s()
        return graph(
            network,
            name="petersen",
            node_bandwidth_Bps=speed_Bps(),
            node_latency_s=latency_s(),
        )
    number %= n_small(family)
    mine = entry.small[number].keys() if number < len(entry.small) else ("file",)
    return small(family, number, _links(family, mine, speed_Bps, latency_s))


def with_links(
    family: str,
    params: Mapping[str, object],
    speed_Bps: Callable[[], int],
    latency_s: Callable[[], float],
) -> Topology:
    """Build a machine of a family with a new speed and latency for each parameter of links."""
    return make_topology(family, {**params, **_links(family, params, speed_Bps, latency_s)})


def _links(
    family: str,
    given: Collection[str],
    speed_Bps: Callable[[], int],
    latency_s: Callable[[], float],
) -> dict[str, float]:
    """Return a speed or latency for each parameter of links of the family's builder."""
    found: dict[str, float] = {}
    for name in parameters_of(FAMILIES[family].builder_for(given)):
        if name.endswith("bandwidth_Bps"):
            found[name] = speed_Bps()
        elif name.endswith("latency_s"):
            found[name] = latency_s()
    return found


def random_case(rng: np.random.Generator, family: str) -> Case:
    """Draw a small machine of the family, one of its routings, traffic and a configuration."""
    topology = small_machine(
        family,
        int(rng.integers(1 << 16)),
        lambda: int(rng.choice(SPEEDS_BPS)),
        lambda: float(rng.choice(LATENCIES_S)),
    )
    names = routings_for(topology.family)
    name = names[rng.integers(len(names))]
    routing = make_routing(topology, name, random_parameters(rng, topology.family, name))
    traffic, config = random_traffic(rng, topology.n_nodes), random_config(rng)
    if traffic.program.step_waits_sends is not None:
        # by rendezvous, ranks that wait for their sends may wait for each other
        config = replace(config, eager_limit_bytes=None)
    case = Case(routing, traffic, config)
    return with_allocation(with_priorities(case, rng), rng)


def with_allocation(case: Case, rng: np.random.Generator) -> Case:
    """Return the case with channels that are allocated, half of the time if it can."""
    overhead_s = 1e-12 * int(rng.choice([0, 1, 500, 40_007, 3_000_000]))
    n = int(rng.integers(1, 4))
    try:
        config = replace(case.config, crossing_overhead_s=overhead_s, channels_per_class=n)
        check_channels(case.routing, config)
    except NetcosimError:
        return case
    return case if rng.random() < 0.5 else replace(case, config=config)


def with_priorities(case: Case, rng: np.random.Generator) -> Case:
    """Return the case with random priorities and output queues, half of the time if it can."""
    # a group that loops with a higher priority might keep others from ever ending
    priorities = rng.integers(0, 3, case.traffic.n_groups)
    traffic = replace(case.traffic, group_priority=priorities, group_loops=None)
    config = replace(case.config, **OUTPUT_QUEUED)
    prioritised = Case(case.routing, traffic, config)
    try:
        check_priorities(prioritised.routing, traffic, config)
    except NetcosimError:
        return case
    return case if rng.random() < 0.5 else prioritised


def random_parameters(rng: np.random.Generator, family: str, routing: str) -> dict[str, Any]:
    """Return parameters of a routing, each half of the time its default."""
    values = ROUTING_VALUES.get(family, {})
    known = [name for name in ROUTINGS[routing].parameters if name in values]
    return {
        name: values[name][int(rng.integers(len(values[name])))]
        for name in known
        if rng.random() < 0.5
    }
