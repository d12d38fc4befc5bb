"""Recorded rates of other simulators, for comparison."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A recorded rate.

    Attributes
    ----------
    name : str
    unit : str
        What is counted; netcosim's rate is counted the same way where it is compared.
    low, high : float
        So many a second.
    how : str
        What was run.
    """

    name: str
    unit: str
    low: float
    high: float
    how: str


SST, BOOKSIM, CODES, NS3 = "SST 16", "BookSim2", "CODES", "ns-3 3.44"
SIMGRID_DRAGONFLY, SIMGRID_FATTREE = "SimGrid 4.1, dragonfly", "SimGrid 4.1, fat-tree"
SIMGRID_DIFFERENT = "SimGrid 4.1, all different"

_FLOWS = 1024 * 1023

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(SST, "router hops", 49e3, 61e3, "merlin: all-to-all jobs on dragonflies"),
        Peer(BOOKSIM, "router hops", 50e3, 50e3, "dragonfly of 1056 nodes, packets of 8 flits"),
        Peer(
            CODES, "router hops", 195e3, 195e3,
            "sequential, dragonfly of 1056 nodes; 71,000 with 8320 nodes",
        ),
        Peer(NS3, "router hops", 50e3, 124e3, "point-to-point links, drop-tail queues"),
        Peer(
            SIMGRID_DRAGONFLY, "flows", _FLOWS / 18.4, _FLOWS / 18.4,
            "all-to-all of 1024 hosts, 18.4 CPU-s",
        ),
        Peer(
            SIMGRID_FATTREE, "flows", _FLOWS / 6.8, _FLOWS / 6.8,
            "all-to-all of 1024 hosts, 6.8 CPU-s",
        ),
        Peer(
            SIMGRID_DIFFERENT, "flows", 128 * 127 / 198, 128 * 127 / 198,
            "all-to-all of 128 hosts, each flow of another size, 198 CPU-s",
        ),
    )
}  # fmt: skip
"""Each was run on one core of a machine like the one of docs/speed.md."""

PACKET_PEERS = (SST, BOOKSIM, CODES, NS3)


def times_faster(peer: Peer, rate: float) -> str:
    """A rate in multiples of a peer's, as "60 to 75 x"."""
    least, most = rate / peer.high, rate / peer.low
    low, high = shown_ratio(least), shown_ratio(most)
    return f"{low} x" if low == high else f"{low} to {high} x"


def shown_ratio(ratio: float) -> str:
    """Two digits below 100, whole numbers above."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
