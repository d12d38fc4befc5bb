"""Random processor time of hosts (docs/end-points.md, "Jitter of hosts")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.packet.model import EXPONENTIAL, PacketConfig
from netsim.traffic import Traffic

SENDS, RECEIVES = range(2)

SIGMA = 1.2
"""Of "lognormal": 1 % of the times are above 7.9 times the mean, as on large machines."""


def draw_numbers(traffic: Traffic) -> NDArray[np.int64]:
    """Return the number of each message in random draws (mod 2^64), (n_messages,) int64."""
    group = traffic.rank_group[traffic.program.send_src()]
    return np.arange(len(group)) + traffic.random_shift()[group]


def jitter_ps(config: PacketConfig, numbers: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    """Return the extra time of the processor on each message, in whole nanoseconds; ``numbers`` are
    its `draw_numbers`, ``side`` is `SENDS` or `RECEIVES`."""
    with np.errstate(over="ignore"):
        key = _mix(_mix(np.uint64(config.jitter_seed) + numbers.astype(np.uint64) * _STEP) + side)
    uniform = ((key >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    if config.jitter_distribution == EXPONENTIAL:
        times = -np.log(uniform)
    else:
        from scipy.special import ndtri

        times = np.exp(SIGMA * ndtri(uniform) - SIGMA**2 / 2)
    return 1000 * np.rint(1e9 * config.jitter_s * times).astype(np.int64)


_STEP = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits as `netsim.routing.kernels_random.mix64` does."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
