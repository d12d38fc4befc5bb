"""Recorded rates of other simulators, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.benchmarks.case import read_bench


@dataclass(frozen=True)
class Peer:
    """A recorded rate."""

    name: str
    unit: str
    """What is counted; netcosim's rate is counted the same way where it is compared."""
    low: float
    high: float
    """low, high: So many a second."""
    how: str
    """What was run."""
    beside: Sequence[str]
    """Measurements, or parts of them, that its rate is printed next to."""


PEERS = {name: Peer(name, **peer) for name, peer in read_bench()["peers"].items()}
PACKET_PEERS = tuple(name for name, peer in PEERS.items() if "size" in peer.beside)


def times_faster(peer: Peer, rate: float) -> str:
    """Format a rate as a multiple of a peer's, "60 to 75 x"."""
    least, most = rate / peer.high, rate / peer.low
    low, high = shown_ratio(least), shown_ratio(most)
    return f"{low} x" if low == high else f"{low} to {high} x"


def shown_ratio(ratio: float) -> str:
    """Format with two digits below 100, as a whole number above."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
