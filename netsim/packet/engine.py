"""The fast packet engine: checks, arrays and the compiled loop (docs/packet-model.md)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netsim.kinds import FUNCTION, NONE, RNG, need_kinds, need_real
from netsim.packet import kernels_engine
from netsim.packet import tables as t
from netsim.packet.build import PacketClock, build_arrays, choose_clock, paces_of
from netsim.packet.checks import check_run, check_size, packets_of
from netsim.packet.credit import warn_of_buffers
from netsim.packet.footprint import check_memory
from netsim.packet.model import MAX_DURATION_PS, PS_PER_S, PacketConfig, PacketResult, to_ps
from netsim.packet.routing_tables import kernel_tables, tables_class
from netsim.packet.stuck import raise_stuck
from netsim.packet.tables import Arrays
from netsim.packet.thread_count import threads_used
from netsim.routing.base import Routing
from netsim.routing.tables import RouteTables
from netsim.traffic import Traffic

if TYPE_CHECKING:
    from netsim.packet.crossbar.tables import Crossbar

BUDGET = 5_000_000
"""Arrivals between two looks at the caller (progress, Ctrl-C)."""

NEVER = 1 << 61


def simulate_packets(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    until_s: float | None = None,
    record_messages: bool = True,
    progress: Callable[[float], None] | None = None,
    threads: int | str = 1,
) -> PacketResult:
    """Send every packet of the traffic over the routing's network.

    Parameters
    ----------
    routing, traffic, config
        Ranks of the traffic are on nodes of ``routing.topology``.
    rng : numpy.random.Generator
        One 63-bit seed is drawn from it, from which all random choices of the routing follow.
    until_s : float, optional
        Stop there; without it the run ends when nothing is left to happen, or where groups loop
        (`Traffic.group_loops`) when all others have finished.
    record_messages : bool
        Keep post and finish time of every message (16 bytes each).
    progress : callable (simulated seconds), optional
        Called every few million packet arrivals.
    threads : int or "auto"
        Parts of the machine that are simulated in parallel; the result is the same to the last
        bit. "auto" chooses by the size of the machine and the cores there are. What cannot be
        split (`netsim.packet.thread_count.why_one_thread`) runs on one.

    Raises
    ------
    NetcosimError
        Traffic that does not fit the topology.
    NetworkDeadlockError, ProgramStuckError
        See `netsim.packet.model`; never with ``until_s``.

    Examples
    --------
    10,000 bytes over links of 1 GB/s to the next node: 10 us, 2 links of 40 ns, a router of 100 ns.

    >>> import netcosim as nc
    >>> import numpy as np
    >>> machine = nc.make_topology("dragonfly", {"p": 2, "a": 2, "g": 3})
    >>> rng = np.random.default_rng(1)
    >>> one = nc.make_pattern("broadcast", 2, 10_000, 1, rng)
    >>> traffic = nc.combine([one], [np.array([0, 1])])
    >>> result = nc.simulate_packets(nc.make_routing(machine), traffic, nc.PacketConfig(), rng)
    >>> float(result.group_finish_ps[0] / 1e6), result.packet_hops
    (10.18, 10)
    """
    _check_arguments(routing, traffic, config, rng, until_s, record_messages, progress)
    seed = int(rng.integers(0, 2**63))
    return _simulate(routing, traffic, config, seed, until_s, record_messages, progress, threads)


def _check_arguments(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    rng: np.random.Generator,
    until_s: float | None,
    record_messages: bool,
    progress: Callable[[float], None] | None,
) -> None:
    """Refuse what is of another kind, does not fit together or is too much; warn of buffers."""
    need_kinds(
        "simulate_packets",
        {
            "routing": (routing, Routing),
            "traffic": (traffic, Traffic),
            "config": (config, PacketConfig),
            "rng": (rng, RNG),
            "record_messages": (record_messages, bool),
            "progress": (progress, (FUNCTION, NONE)),
        },
    )
    if until_s is not None:
        need_real("simulate_packets", "until_s", until_s, 0, MAX_DURATION_PS / PS_PER_S)
    check_run(routing, traffic, config, until_s)
    check_size(routing.topology, traffic, config, until_s)
    check_memory(routing, traffic, config, record_messages)
    warn_of_buffers(routing.topology, config)


def _simulate(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    seed: int,
    until_s: float | None,
    record_messages: bool,
    progress: Callable[[float], None] | None,
    threads: int | str,
) -> PacketResult:
    """Build the arrays, run to the end and return the result."""
    if routing.pin is not None:
        from netsim.routing.pinned import pinned_for

        routing = pinned_for(routing, traffic)
    clock = choose_clock(routing.topology, traffic, config, until_s)
    arrays = build_arrays(routing, traffic, config, clock, seed, record_messages)
    until = NEVER if until_s is None else to_ps(until_s) // clock.tick_ps
    arrays, crossbar = _run(routing, traffic, config, clock, arrays, until, threads, progress)
    others_ended = bool(arrays.sc[0].loops) and arrays.sc[0].unfinished == 0
    if until_s is None and not others_ended:
        raise_stuck(routing, traffic, arrays, crossbar)
    if until_s is None or others_ended:
        until = int(arrays.sc[0].end)
    if until_s is not None or others_ended:
        _cut(arrays, until)
    return _result(traffic, arrays, clock, until * clock.tick_ps, record_messages)


def _run(
    routing: Routing,
    traffic: Traffic,
    config: PacketConfig,
    clock: PacketClock,
    arrays: Arrays,
    until: int,
    threads: int | str,
    progress: Callable[[float], None] | None,
) -> tuple[Arrays, Crossbar | None]:
    """Run to the end on one thread or several; return the arrays, and those of crossbars."""
    sc = arrays.sc[0]
    sent = packets_of(traffic.program, config.packet_bytes)
    n_threads = 1 if sc.loops else threads_used(routing, config, threads, sent)
    tables = kernel_tables(routing.tables, clock.tick_ps)
    late = sc.tracks or sc.both_ways or config.paces_flows
    sc.until = -1 if late else until
    crossbar = None
    in_parts = int(sc.n_messages) or None
    if config.input_queued:
        from netsim.packet.crossbar.build import with_crossbars

        arrays, crossbar = with_crossbars(arrays, routing, config, clock)
    if n_threads > 1:
        from netsim.packet.domains import make_domains, router_load
        from netsim.packet.threads import run_in_domains

        load = router_load(routing.topology, traffic, config.packet_bytes)
        domains = make_domains(routing.topology, load, n_threads)
        arrays = run_in_domains(
            domains, arrays, crossbar, tables, routing, traffic, clock, until, progress
        )
    elif config.input_queued:
        from netsim.packet.crossbar.kernels_run import run as run_crossbars

        loop = partial(run_crossbars, None, crossbar, in_parts)
        arrays = _run_on_one(loop, arrays, tables, clock, until, progress)
    else:
        paces = paces_of(arrays, traffic, config, clock)
        if arrays.ends is None:
            tables = tables_class(routing, config)(*tables)
        loop = partial(kernels_engine.run, None, paces, in_parts)
        arrays = _run_on_one(loop, arrays, tables, clock, until, progress)
    return arrays, crossbar


def _cut(arrays: Arrays, until: int) -> None:
    """Count the stalls and the steps in which a run was cut up to that tick."""
    links, ranks = arrays.links, arrays.ranks
    stalled = links.stall_start >= 0
    arrays.counters.stall_time[stalled] += until - links.stall_start[stalled]
    rank = np.flatnonzero((ranks.kind > 0) & (ranks.must_begin == 0) & (ranks.finish < 0))
    ranks.exposed[rank, ranks.kind[rank] - 1] += until - ranks.began[rank]


def _result(
    traffic: Traffic, arrays: Arrays, clock: PacketClock, end_ps: int, record_messages: bool
) -> PacketResult:
    """Return what the arrays of an ended run hold, in picoseconds."""
    links, counters, tick = arrays.links, arrays.counters, clock.tick_ps
    program = traffic.program
    streams = program.stream_ptr
    first = slice(None) if streams is None else streams[:-1]
    rank_finish = in_ps(arrays.ranks.finish.copy(), tick)
    exposed = arrays.ranks.exposed[first, : len(program.kinds)] * tick
    if streams is not None:
        last = np.maximum.reduceat(rank_finish, streams[:-1])
        rank_finish = np.where(np.minimum.reduceat(rank_finish, streams[:-1]) < 0, -1, last)
    group = np.full(traffic.n_groups, -1, dtype=np.int64)
    lowest = np.full(traffic.n_groups, NEVER, dtype=np.int64)
    np.maximum.at(group, traffic.rank_group, rank_finish)
    np.minimum.at(lowest, traffic.rank_group, rank_finish)
    group[lowest < 0] = -1
    packets, common = links.packets.copy(), int(arrays.sc[0].common_class)
    common_ser = arrays.ser[links.bandwidth, common]
    recorded = program.n_messages if record_messages else 0
    return PacketResult(
        end_ps=end_ps,
        message_post_ps=in_ps(arrays.message_post[:recorded], tick),
        message_finish_ps=in_ps(arrays.message_finish[:recorded], tick),
        rank_finish_ps=rank_finish,
        group_finish_ps=group,
        link_packets=packets,
        link_bytes=packets * arrays.wire[common] + counters.more_bytes,
        link_busy_ps=(packets * common_ser + counters.more_busy) * tick,
        link_stalls=counters.stalls.copy(),
        link_stall_ps=counters.stall_time * tick,
        exposed_ps=exposed,
    )


def _run_on_one(
    loop: Callable[..., int],
    arrays: Arrays,
    tables: RouteTables,
    clock: PacketClock,
    until: int,
    progress: Callable[[float], None] | None,
) -> Arrays:
    """Run to the end on this thread; the arrays, whose pools may have grown."""
    while True:
        why = loop(arrays, tables, until, BUDGET)
        if why == kernels_engine.GROW:
            arrays = t.grown(arrays)
        elif why == kernels_engine.PAUSE:
            if progress is not None:
                progress(int(arrays.sc[0].now) * clock.tick_ps / PS_PER_S)
        else:
            return arrays


def in_ps(ticks: NDArray[np.int64], tick_ps: int) -> NDArray[np.int64]:
    """Convert ticks to picoseconds in place; -1 stays."""
    never = np.flatnonzero(ticks < 0) if len(ticks) and ticks.min() < 0 else None
    ticks *= tick_ps
    if never is not None:
        ticks[never] = -1
    return ticks
