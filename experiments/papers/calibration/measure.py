"""Open-loop runs: offered and accepted load and latency in a window, and lone messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netsim.packet.credit import buffer_warning
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig, serialisation_ps, to_ps
from netsim.routing.base import Routing
from netsim.traffic import Program, combine
from patterns.build import build_program, make_messages
from patterns.open_loop import open_loop

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Window:
    """When messages are counted: warm-up, window, and time for those in flight to arrive.

    Sources go on sending until the very end. All in seconds.
    """

    warm_up_s: float
    window_s: float
    drain_s: float

    @property
    def end_s(self) -> float:
        """When the run stops."""
        return self.warm_up_s + self.window_s + self.drain_s


@dataclass(frozen=True)
class LoadPoint:
    """One point of the curves; loads as fractions of a node's injection bandwidth.

    Attributes
    ----------
    offered : float
        Bytes posted in the window.
    accepted : float
        Bytes of messages that arrived in the window.
    latency_mean_s, latency_p99_s : float
        From post to arrival, of messages posted in the window that arrived; nan if none did.
    unfinished : float
        Share of the messages posted in the window that had not arrived at the end; if it is
        not 0, latencies are too low.
    messages : int
        Posted in the window.
    warning : str
        `buffer_warning`, or nothing.
    """

    offered: float
    accepted: float
    latency_mean_s: float
    latency_p99_s: float
    unfinished: float
    messages: int
    warning: str


def on_clock(program: Program, cycle_s: float) -> Program:
    """The same streams with every post at a whole cycle (nearest to where it was).

    A clock of whole cycles needs far fewer ticks than one of picoseconds; that is how a
    synchronous router would see the sources. Only for programs that never wait.
    """
    total = np.cumsum(program.compute_s)
    first = program.step_ptr[:-1]
    before = np.concatenate([[0.0], total])[first]
    cycles = np.rint((total - np.repeat(before, np.diff(program.step_ptr))) / cycle_s)
    gaps = np.diff(cycles, prepend=0.0)
    gaps[first] = cycles[first]
    return replace(program, compute_s=np.maximum(gaps, 0.0) * cycle_s)


def measure_load(
    routing: Routing,
    destinations: str,
    params: dict[str, object],
    load: float,
    window: Window,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    cycle_s: float | None = None,
) -> LoadPoint:
    """Run Poisson sources of single packets at one load.

    Parameters
    ----------
    routing : Routing
    destinations : str
        Of `patterns.open_loop`, with its ``params``.
    load : float
        Payload that each node offers, as a fraction of its injection bandwidth.
    window : Window
    config : PacketConfig
        A message is one full packet.
    rng : numpy.random.Generator
    cycle_s : float, optional
        Post at whole multiples of it (`on_clock`).

    Raises
    ------
    NetcosimError
        As `patterns.open_loop.open_loop`.
    """
    topology = routing.topology
    n, bandwidth = topology.n_nodes, int(topology.link_bandwidth_Bps[0])
    size = config.packet_bytes
    program = open_loop(n, destinations, size, load * bandwidth, window.end_s, rng, params=params)
    if cycle_s is not None:
        program = on_clock(program, cycle_s)
    traffic = combine([program], [np.arange(n)])
    result = simulate_packets(routing, traffic, config, rng, until_s=window.end_s)
    post, finish = result.message_post_ps, result.message_finish_ps
    begin, end = to_ps(window.warm_up_s), to_ps(window.warm_up_s + window.window_s)
    posted = (post >= begin) & (post < end)
    arrived = int(np.count_nonzero((finish >= begin) & (finish < end)))
    latency = (finish - post)[posted & (finish >= 0)] / PS_PER_S
    capacity = n * bandwidth * window.window_s
    count = int(np.count_nonzero(posted))
    return LoadPoint(
        offered=count * size / capacity,
        accepted=arrived * size / capacity,
        latency_mean_s=float(latency.mean()) if len(latency) else float("nan"),
        latency_p99_s=float(np.percentile(latency, 99)) if len(latency) else float("nan"),
        unfinished=1 - len(latency) / count if count else 0.0,
        messages=count,
        warning=buffer_warning(topology, config) or "",
    )


@dataclass(frozen=True)
class LoneMessages:
    """Messages that meet nobody.

    Attributes
    ----------
    links : float
        Mean number of links taken, injection and ejection among them.
    latency_mean_s : float
        Measured.
    expected_mean_s : float
        links x wire + (links - 1) x router + serialisation.
    worst_ps : int
        Largest difference of one message, where the routing has one path (static);
        else the difference of the sums.
    """

    links: float
    latency_mean_s: float
    expected_mean_s: float
    worst_ps: int


def lone_traffic(
    n: int, src: NDArray[np.int64], dst: NDArray[np.int64], size: int, gap_s: float
) -> Program:
    """Message i goes from src[i] to dst[i] at i x gap; sources are different nodes."""
    sends = np.zeros(n, dtype=np.int64)
    sends[src] = 1
    n_steps = sends + 1
    first = np.cumsum(n_steps) - n_steps
    compute = np.zeros(int(n_steps.sum()))
    compute[first[src]] = np.arange(len(src)) * gap_s
    order = np.argsort(src)
    messages = make_messages(src[order], 0, dst[order], sends[dst[order]], size)
    return build_program(n, n_steps, messages, compute_s=compute, wait=False)


def links_on_path(routing: Routing, src: int, dst: int) -> int | None:
    """Links from node to node if the routing has one path, else None."""
    topology = routing.topology
    router, state, links = int(topology.node_router[src]), 0, 1
    while True:
        hops = routing.choices(router, dst, state)
        if len(hops) != 1:
            return None
        links += 1
        vertex = int(topology.link_dst[hops[0].link])
        if vertex == dst:
            return links
        router, state = vertex - topology.n_nodes, hops[0].state


def measure_lone(
    routing: Routing, config: PacketConfig, rng: np.random.Generator, count: int = 500
) -> LoneMessages:
    """Send single packets between random nodes, one after the other has long arrived.

    All links of the topology must be alike.
    """
    topology = routing.topology
    n, size = topology.n_nodes, config.packet_bytes
    wire_ps, router_ps = to_ps(float(topology.link_latency_s[0])), to_ps(config.router_latency_s)
    ser_ps = serialisation_ps(size + config.header_bytes, int(topology.link_bandwidth_Bps[0]))
    src = rng.permutation(n)[:count].astype(np.int64)
    dst = (src + rng.integers(1, n, len(src))) % n
    gap_s = 100 * (wire_ps + router_ps + ser_ps) / PS_PER_S
    program = lone_traffic(n, src, dst, size, gap_s)
    result = simulate_packets(routing, combine([program], [np.arange(n)]), config, rng)
    latency = result.message_finish_ps - result.message_post_ps
    total = result.packet_hops
    expected = total * (wire_ps + router_ps) + len(src) * (ser_ps - router_ps)
    worst = abs(int(latency.sum()) - expected)
    order = np.argsort(src)
    paths = [
        links_on_path(routing, int(s), int(d)) for s, d in zip(src[order], dst[order], strict=True)
    ]
    known = [(i, links) for i, links in enumerate(paths) if links is not None]
    for i, links in known:
        alone = links * (wire_ps + router_ps) + ser_ps - router_ps
        worst = max(worst, abs(int(latency[i]) - alone))
    return LoneMessages(
        links=total / len(src),
        latency_mean_s=float(latency.mean()) / PS_PER_S,
        expected_mean_s=expected / len(src) / PS_PER_S,
        worst_ps=worst,
    )


def stable(curve: pd.DataFrame) -> pd.Series[bool]:
    """Which points have everything accepted that is offered."""
    return (curve["accepted"] >= 0.97 * curve["offered"]) & (curve["unfinished"] < 0.01)
