"""SST's merlin: its documented times under the packet preset "merlin", and its mean job times.

All links 1 GB/s and 40 ns. A packet counts there when its head arrives, so one packet takes the
same time whatever its size. A message has a header of 45 bytes there; ours has one a packet, so it
is charged where a message is one packet (the jobs), and not in the long message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.papers.level_spread.sst import LONG_MESSAGE_US, ONE_WAY_NS, SST_TIMES_US
from netcosim.validation.posted import posted_messages
from netcosim.validation.row import Measured, Row, Setting, exact, not_judged, within
from netsim.analysis.load_latency import links_on_path
from netsim.packet.cases import with_links
from netsim.packet.engine import simulate_packets
from netsim.packet.presets import packet_preset
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.traffic import combine
from patterns.registry import make_pattern

SST = "SST 16 merlin, measured"
BPS, WIRE_S = 10**9, 40e-9
PACKET_NS = 2048
HEADER_BYTES = 45
JOBS = {"4 x 68": (4, 68), "17 x 16": (17, 16)}
CLOSE = 0.01
WHY = {
    "minimal": "",
    "valiant": "there it detours inside a group too, now and then",
    "ugal-l": "the nearest rule here: output queue, weight 2, bias 400 ns; there channel 0 alone",
}
UGAL = {"ugal_compares": "output-queue", "ugal_weight": 2, "ugal_bias_s": 400e-9}
"""Bytes of the local output buffer, twice the detour's and 50 flits of 8 bytes, are as good as
time where all links are alike; what still bids for the crossbar does not count."""


def measure(setting: Setting) -> Measured:
    """One message, two flows on a link, all-to-alls of grouped jobs."""
    minimal = _machine("minimal")
    rows = [_one_way(minimal, links, size) for links in ONE_WAY_NS for size in (8, 1000)]
    rows += [_one_way(minimal, links, 100_000) for links in ONE_WAY_NS]
    rows.append(_two_flows(minimal))
    cases = [case for case in SST_TIMES_US if not setting.quick or case[0] == "17 x 16"]
    return Measured([*rows, *(_jobs(*case, setting) for case in cases)])


def _machine(routing: str) -> Routing:
    params = {"p": 4, "a": 4, "g": 17}
    machine = with_links("dragonfly", params, lambda: BPS, lambda: WIRE_S)
    return make_routing(machine, routing, UGAL if routing == "ugal-l" else None)


def _finish_ns(routing: Routing, src: Sequence[int], dst: Sequence[int], size: int) -> list[float]:
    traffic = posted_messages(
        routing.topology.n_nodes, np.array(src), np.array(dst), size, np.zeros(len(src))
    )
    rng = np.random.default_rng(1)
    result = simulate_packets(routing, traffic, packet_preset("merlin"), rng)
    return [finish / 1000 for finish in result.message_finish_ps.tolist()]


def _one_way(routing: Routing, links: int, size: int) -> Row:
    n = routing.topology.n_nodes
    target = next(k for k in range(1, n) if links_on_path(routing, 0, k) == links + 2)
    (ours,) = _finish_ns(routing, [0], [target], size)
    later = LONG_MESSAGE_US * 1000 if size > PACKET_NS else 0.0
    what = f"message of {size:,} bytes over {links} router links"
    return exact(what, round(ONE_WAY_NS[links] + later, 3), ours, "ns", SST)


def _two_flows(routing: Routing) -> Row:
    """From two nodes of a router to two of its neighbour; each link but one carries one flow."""
    size, packets = 100_000, 49
    ends = _finish_ns(routing, [0, 1], [4, 5], size)
    last = size - (packets - 1) * PACKET_NS
    expected = ONE_WAY_NS[1] + 2 * (packets - 1) * PACKET_NS + last
    what = "two flows of 100,000 bytes on one link: the last ends"
    note = f"the other {max(ends) - min(ends):,.1f} ns before: half the link each"
    return exact(what, expected, max(ends), "ns", "one packet's time + all packets before it", note)


def _jobs(workload: str, name: str, setting: Setting) -> Row:
    routing, (jobs, size) = _machine(name), JOBS[workload]
    rng = np.random.default_rng(setting.seed)
    programs = [make_pattern("all-to-all", size, 1000, 1, rng) for _ in range(jobs)]
    nodes = [np.arange(job * size, (job + 1) * size) for job in range(jobs)]
    config = replace(packet_preset("merlin"), header_bytes=HEADER_BYTES)
    result = simulate_packets(routing, combine(programs, nodes), config, rng)
    what = f"{workload} nodes grouped, all-to-all of 1000 bytes, {name}: mean job time"
    ours, expected = float(result.group_finish_ps.mean()) / 1e6, SST_TIMES_US[workload, name]
    if name == "minimal":
        return within(what, expected, ours, "us", SST, share=CLOSE)
    return not_judged(what, expected, ours, "us", SST, WHY[name])
