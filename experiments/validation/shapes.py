"""Curves of load and latency of one switch beside published ones.

A switch of N inputs and N outputs under uniform traffic is the textbook case (Karol, Hluchyj,
Morgan, IEEE Trans. Commun. 35, 1987): with queues at the outputs it takes all that is offered, and
packets wait (N - 1) / N x p / (2 (1 - p)) slots; with one FIFO an input it takes 0.75 (N = 2) to
0.586 (many), because the packet at the head blocks those behind it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.validation.posted import posted_messages
from experiments.validation.row import Curve, Measured, Setting, at_least, within
from netsim.packet.engine import simulate_packets
from netsim.packet.model import INPUT_QUEUED, PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.family import EqualLinks
from netsim.topologies.hyperx import hyperx
from netsim.traffic import Traffic

KAROL = "Karol, Hluchyj, Morgan 1987"
SLOT_S = 1e-9
PACKET_BYTES = 8
LINK_BPS = 8 * 10**9
ROOM_BYTES = 1 << 24
"""A buffer that never limits."""
PORTS = 16
FIFO_SATURATES = {2: 0.75, 4: 0.6553, 8: 0.6184, 64: 0.586}
"""By ports; the last one for many ports (2 - sqrt(2))."""
LOADS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
JUDGED_LOADS = (0.5, 0.8)


def measure(setting: Setting) -> Measured:
    """Measure the ideal router: packets are not lost, and wait as long as they should."""
    slots = 20_000 if setting.quick else 200_000
    config = ideal()
    fifo = replace(config, router=INPUT_QUEUED)
    fast = replace(fifo, crossbar_speedup=2.0)
    loads = JUDGED_LOADS if setting.quick else LOADS
    waits = [mean_wait(config, load, slots, setting.seed) for load in loads]
    rows = [
        at_least(
            f"switch of {PORTS} ports, output-queued, saturated: accepted",
            0.98,
            throughput(config, PORTS, slots // 10, setting.seed),
            "",
            f"{KAROL}: 1 in the long run",
        ),
        *(
            within(
                f"switch of {ports} ports, input-queued, saturated: accepted",
                accepted,
                throughput(fifo, ports, slots // 5, setting.seed),
                "",
                f"{KAROL}: the head of a FIFO blocks those behind it",
                share=0.03 if setting.quick else 0.02,
            )
            for ports, accepted in FIFO_SATURATES.items()
        ),
        at_least(
            f"switch of {PORTS} ports, input-queued, crossbar speedup 2, saturated: accepted",
            0.9,
            throughput(fast, PORTS, slots // 10, setting.seed),
            "",
            "twice 0.586 is more than 1: the FIFOs no longer limit",
        ),
        *(
            within(
                f"switch of {PORTS} ports, output-queued, load {load:g}: mean wait",
                published_wait(load),
                wait,
                "slots",
                f"{KAROL}: (N - 1) / N x p / (2 (1 - p))",
                share=0.05 if setting.quick else 0.02,
            )
            for load, wait in zip(loads, waits, strict=True)
            if load in JUDGED_LOADS
        ),
    ]
    fine = np.linspace(0.05, 0.95, 50).tolist()
    panel = f"a switch of {PORTS} ports: mean wait (slots)"
    curves = [
        Curve(panel, "output queues, published", fine, [published_wait(p) for p in fine], True),
        Curve(panel, "netcosim, output-queued", loads, waits),
    ]
    for name, router, most in (("speedup 1", fifo, 0.5), ("speedup 2", fast, 0.9)):
        below = [load for load in loads if load <= most]
        found = [mean_wait(router, load, slots, setting.seed) for load in below]
        curves.append(Curve(panel, f"netcosim, input-queued, {name}", below, found))
    return Measured(rows, curves)


def ideal() -> PacketConfig:
    """Return the router with queues at its outputs and a latency of one slot."""
    return PacketConfig(packet_bytes=PACKET_BYTES, buffer_bytes=ROOM_BYTES, router_latency_s=SLOT_S)


def switch(ports: int) -> Routing:
    """Build one router; nodes 0 to ports - 1 send, the others receive."""
    topology = hyperx(
        (1,),
        concentration=2 * ports,
        links=EqualLinks(
            node_bandwidth_Bps=LINK_BPS,
            link_bandwidth_Bps=LINK_BPS,
            node_latency_s=SLOT_S,
            link_latency_s=SLOT_S,
        ),
    )
    return make_routing(topology)


def published_wait(load: float) -> float:
    """Return the mean wait in slots of a switch with output queues."""
    return (PORTS - 1) / PORTS * load / (2 * (1 - load))


def streams(ports: int, load: float, slots: int, seed: int) -> Traffic:
    """Draw traffic: an input posts a packet in a slot with this probability, to a random output."""
    rng = np.random.default_rng(seed)
    posts = rng.random((ports, slots)) < load
    src, slot = np.nonzero(posts)
    dst = ports + rng.integers(0, ports, len(src))
    return posted_messages(2 * ports, src, dst, PACKET_BYTES, slot * SLOT_S)


def mean_wait(config: PacketConfig, load: float, slots: int, seed: int) -> float:
    """Return the mean wait in slots of packets posted after the first tenth of the time."""
    traffic = streams(PORTS, load, slots, seed)
    result = simulate_packets(switch(PORTS), traffic, config, np.random.default_rng(seed))
    late = result.message_post_ps > slots * SLOT_S * 1e12 / 10
    took = (result.message_finish_ps - result.message_post_ps)[late].mean() * 1e-12 / SLOT_S
    return float(took - 4)  # two wires, a router, the packet itself


def throughput(config: PacketConfig, ports: int, slots: int, seed: int) -> float:
    """Return the used share of the outputs' time when every input always has packets.

    Only the second half of the time counts.
    """
    traffic = streams(ports, 1.0, slots, seed)
    end_s = slots * SLOT_S
    rng = np.random.default_rng(seed)
    result = simulate_packets(switch(ports), traffic, config, rng, until_s=end_s)
    arrived = np.count_nonzero(result.message_finish_ps > end_s * 1e12 / 2)
    return float(arrived / (ports * slots / 2))
