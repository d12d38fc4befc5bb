"""Networks under an offered load for some cycles, with the calibration's packets."""

from __future__ import annotations

import numpy as np

from experiments.kit.load_latency import LoadPoint, Window
from experiments.kit.load_networks import CYCLE_S, packet_config
from experiments.kit.offered import offered_load
from netsim.routing.base import Routing


def measure(
    routing: Routing, traffic: str, load: float, cycles: int, buffer_packets: int = 32
) -> LoadPoint:
    window = Window(cycles * CYCLE_S, cycles * CYCLE_S, cycles * CYCLE_S / 2)
    rng = np.random.default_rng(5)
    packets = packet_config(buffer_packets)
    return offered_load(routing, traffic, load, window, packets, rng, cycle_s=CYCLE_S)
