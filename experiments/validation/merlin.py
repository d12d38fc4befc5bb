"""SST's merlin: its documented times under the packet preset "merlin", and its mean job times.

Host and local links 1 GB/s, all links 40 ns. A packet counts there when its head arrives, so one
packet takes the same time whatever its size. A message has a header of 45 bytes there; here one
a packet, so it is charged where a message is few packets (the jobs), and not in the long message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.kit.offered import links_on_path
from experiments.kit.sst import LONG_MESSAGE_US, ONE_WAY_NS
from experiments.validation.posted import posted_messages
from experiments.validation.row import Measured, Row, Setting, exact, within
from netsim.packet.engine import simulate_packets
from netsim.packet.presets import packet_preset
from netsim.routing.base import Routing
from netsim.routing.registry import RECIPES
from netsim.topologies.registry import make_topology
from netsim.traffic import combine
from patterns.registry import make_pattern

SST = "SST 16 merlin, measured"
BPS, WIRE_S = 10**9, 40e-9
PACKET_NS = 2048
HEADER_BYTES = 45
JOBS = {"4 x 68": (4, 68), "17 x 16": (17, 16)}
CLOSE = 0.05
ROUTINGS = {
    "minimal": "merlin",
    "valiant": "merlin-valiant",
    "adaptive-local": "merlin-adaptive-local",
    "ugal": "merlin-ugal",
}
"""Recipes by merlin's name of the routing."""
OWN_GENERATOR = "xorshift"
"""It begins with nearly equal draws on all routers, so the first packets of scattered jobs detour
alike under Valiant. Those rows were measured with SST's other generator in its place."""
DRAWS = 4
"""Simulations of a routing that draws; one alone is up to 4 % off their mean."""
TIMES, SCATTERED = "merlin_times.csv", "merlin_scattered.csv"
"""Mean job times in SST, and the nodes of its scattered jobs in the order of their ranks: a
permutation drawn once, of which each job takes the next ones."""


@dataclass(frozen=True)
class JobTime:
    """Mean job time in SST of one workload on one machine."""

    workload: str
    placement: str
    pattern: str
    message_bytes: int
    global_Bps: int
    crossbar_Bps: int
    routing: str
    generator: str
    time_us: float


def measure(setting: Setting) -> Measured:
    """Measure one message, two flows on a link, and all-to-alls of grouped jobs."""
    minimal = _machine("minimal")
    hops = range(len(ONE_WAY_NS))
    rows = [_one_way(minimal, links, size) for links in hops for size in (8, 1000)]
    rows += [_one_way(minimal, links, 100_000) for links in hops]
    rows.append(_two_flows(minimal))
    cases = [case for case in job_times() if not setting.quick or case.workload == "17 x 16"]
    return Measured([*rows, *(_jobs(case, setting) for case in cases)])


def job_times() -> list[JobTime]:
    """Return all rows of the shipped table."""
    return [JobTime(*row) for row in _shipped(TIMES).itertuples(index=False)]


def _shipped(name: str) -> pd.DataFrame:
    # Python's floats are the nearest ones; those of the default parser need not be
    return pd.read_csv(Path(__file__).parent / name, engine="python")


def _machine(routing: str, global_Bps: int = BPS) -> Routing:
    speeds = {f"{kind}_bandwidth_Bps": BPS for kind in ("node", "local")}
    wires = {f"{kind}_latency_s": WIRE_S for kind in ("node", "local", "global")}
    shape = {"p": 4, "a": 4, "g": 17, "arrangement": "absolute"}
    links = {**speeds, "global_bandwidth_Bps": global_Bps, **wires}
    return RECIPES[ROUTINGS[routing]].make_routing(make_topology("dragonfly", {**shape, **links}))


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
    (simulated,) = _finish_ns(routing, [0], [target], size)
    later = LONG_MESSAGE_US * 1000 if size > PACKET_NS else 0.0
    what = f"message of {size:,} bytes over {links} router links"
    return exact(what, round(ONE_WAY_NS[links] + later, 3), simulated, "ns", SST)


def _two_flows(routing: Routing) -> Row:
    """Measure two flows from one router to its neighbour, which share only one link."""
    size, packets = 100_000, 49
    ends = _finish_ns(routing, [0, 1], [4, 5], size)
    last = size - (packets - 1) * PACKET_NS
    expected = ONE_WAY_NS[1] + 2 * (packets - 1) * PACKET_NS + last
    what = "two flows of 100,000 bytes on one link: the last ends"
    note = f"the other {max(ends) - min(ends):,.1f} ns before: half the link each"
    return exact(what, expected, max(ends), "ns", "one packet's time + all packets before it", note)


def _jobs(case: JobTime, setting: Setting) -> Row:
    draws = DRAWS if case.routing != "minimal" else 1
    rngs = np.random.default_rng(setting.seed).spawn(draws)
    netcosim_us = float(np.mean([_job_time_us(case, rng) for rng in rngs]))
    return within(_described(case), case.time_us, netcosim_us, "us", SST, share=CLOSE)


def _job_time_us(case: JobTime, rng: np.random.Generator) -> float:
    """Return the mean time of a case's jobs for one stream of draws."""
    jobs, size = JOBS[case.workload]
    options = {"algorithm": "binary"} if case.pattern == "broadcast" else {}
    programs = [
        make_pattern(case.pattern, size, case.message_bytes, 1, rng, options) for _ in range(jobs)
    ]
    config = replace(
        packet_preset("merlin"),
        header_bytes=HEADER_BYTES,
        crossbar_bandwidth_Bps=case.crossbar_Bps,
    )
    traffic = combine(programs, np.split(nodes_of(case)[: jobs * size], jobs))
    result = simulate_packets(_machine(case.routing, case.global_Bps), traffic, config, rng)
    return float(result.group_finish_ps.mean()) / 1e6


def nodes_of(case: JobTime) -> NDArray[np.int64]:
    """Return the nodes of all jobs, job by job, in the order of their ranks."""
    if case.placement == "grouped":
        return np.arange(272)
    return _shipped(SCATTERED)["node"].to_numpy(dtype=np.int64)


def _described(case: JobTime) -> str:
    speeds = f"global links {case.global_Bps / 1e9:g} GB/s"
    if case.crossbar_Bps != max(BPS, case.global_Bps):
        speeds += f", crossbar {case.crossbar_Bps / 1e9:g} GB/s"
    if case.generator != OWN_GENERATOR:
        speeds += f", draws by {case.generator}"
    return (
        f"{case.workload} nodes {case.placement}, {case.pattern} of {case.message_bytes:,} bytes, "
        f"{speeds}, {case.routing}: mean job time"
    )
