"""Counter-based random numbers: a function of packet and visit, independent of the order of calls.

Two engines that treat simultaneous events in another order still draw the same numbers,
and a run with one more job draws the same for the others. The mixer is SplitMix64's
finaliser (Steele, Lea, Flood, OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import KERNEL


@njit(**KERNEL, inline="always")
def mix64(x):  # type: ignore[no-untyped-def]
    """Return a bijective scramble of 64 bits."""
    x = np.uint64(x)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@njit(**KERNEL, inline="always")
def packet_key(seed, message, packet, hop):  # type: ignore[no-untyped-def]
    """Return the key of one router visit: visit ``hop`` (0 at the first router) of a packet."""
    x = mix64(np.uint64(seed) + np.uint64(message) * np.uint64(0x9E3779B97F4A7C15))
    return mix64(x + np.uint64(packet) * np.uint64(0xD1B54A32D192ED03) + np.uint64(hop))


@njit(**KERNEL, inline="always")
def below(key, n):  # type: ignore[no-untyped-def]
    """Return a number in 0..n-1 from a key (upper 32 bits scaled; bias below n/2^32)."""
    return np.int64(((np.uint64(key) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
