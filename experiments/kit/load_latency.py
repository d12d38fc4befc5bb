"""Load-latency measurements: what a network accepts of an offered load.

The traffic comes from outside (`experiments.kit.open_loop` makes it); all is counted by message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.packet.credit import buffer_warning
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig, PacketResult, to_ps
from netsim.routing.base import Routing
from netsim.topology import Topology
from netsim.traffic import Traffic


@dataclass(frozen=True)
class Window:
    """Measurement window: warm-up, window, and time for messages in flight to arrive.

    Sources send until the end. All in seconds.
    """

    warm_up_s: float
    window_s: float
    drain_s: float

    @property
    def end_s(self) -> float:
        """End of the run."""
        return self.warm_up_s + self.window_s + self.drain_s


@dataclass(frozen=True)
class LoadPoint:
    """One point of the curves; loads as fractions of a node's injection bandwidth."""

    offered: float
    """Bytes posted in the window."""
    accepted: float
    """Bytes of messages that arrived in the window."""
    latency_mean_s: float
    latency_p99_s: float
    """latency_mean_s, latency_p99_s: From post to arrival, of messages to other nodes posted in the
    window that arrived; nan if none did."""
    unfinished: float
    """Share of the messages posted in the window that had not arrived at the end; if it is not 0,
    latencies are too low."""
    messages: int
    """Posted in the window."""
    warning: str
    """`buffer_warning`, or nothing."""
    drift: float = float("nan")
    """Mean latency of what was posted in the second half of the window over that of the first half,
    less 1; nan if a half has none. Far from 0: the warm-up was too short, or the queues grow."""


def measure_load(
    routing: Routing,
    traffic: Traffic,
    window: Window,
    config: PacketConfig,
    rng: np.random.Generator,
) -> LoadPoint:
    """Run sources, one rank a node, that send until ``window.end_s``, and count.

    The sources are such as those of `experiments.kit.open_loop`.
    """
    result = simulate_packets(routing, traffic, config, rng, until_s=window.end_s)
    return count_messages(result, routing.topology, traffic, window, config)


def count_messages(
    result: PacketResult,
    topology: Topology,
    traffic: Traffic,
    window: Window,
    config: PacketConfig,
) -> LoadPoint:
    """Count the messages of a run that `measure_load` describes."""
    post, finish = result.message_post_ps, result.message_finish_ps
    begin, end = to_ps(window.warm_up_s), to_ps(window.warm_up_s + window.window_s)
    posted = (post >= begin) & (post < end)
    arrived = (finish >= begin) & (finish < end)
    unfinished = np.count_nonzero(posted & (finish < 0))
    size, program = traffic.program.send_bytes, traffic.program
    away = traffic.rank_node[program.send_src()] != traffic.rank_node[program.send_dst]
    known = posted & away & (finish >= 0)
    latency = (finish - post)[known] / PS_PER_S
    late = post[known] >= (begin + end) // 2
    halves = [
        float(half.mean()) if len(half) else np.nan for half in (latency[~late], latency[late])
    ]
    capacity = topology.n_ports * int(topology.link_bandwidth_Bps[0]) * window.window_s
    count = int(np.count_nonzero(posted))
    return LoadPoint(
        offered=int(size[posted].sum()) / capacity,
        accepted=int(size[arrived].sum()) / capacity,
        latency_mean_s=float(latency.mean()) if len(latency) else float("nan"),
        latency_p99_s=float(np.percentile(latency, 99)) if len(latency) else float("nan"),
        unfinished=unfinished / count if count else 0.0,
        messages=count,
        warning=buffer_warning(topology, config) or "",
        drift=halves[1] / halves[0] - 1,
    )


def keeps_up(offered: Any, accepted: Any, unfinished: Any) -> Any:
    """Return whether all that is offered is accepted, so that latencies mean something.

    Numbers or arrays, as in `LoadPoint`: at least 97 % of the load is accepted and less than
    1 % of the messages are still under way.
    """
    return (accepted >= 0.97 * offered) & (unfinished < 0.01)
