"""What others found: averages of a study on EASY, latencies in another simulator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A log of the study (Gaussier, Glesser, Reis, Trystram, SC'15).

    Attributes
    ----------
    files : tuple of str
        Names without ``.swf`` and ``.gz``; the first found is taken.
    jobs : int
        As many as the study's results count.
    requested, exact : float
        Mean bounded slowdown as printed, with the users' walltimes and with the run times.
    """

    files: tuple[str, ...]
    jobs: int
    requested: float
    exact: float


LOGS: dict[str, Published] = {
    "KTH-SP2": Published(("KTH-SP2-1996-2", "KTH-SP2-1996-2.1-cln"), 28_481, 92.6, 71.7),
    "CTC-SP2": Published(("CTC-SP2-1996-3.1-cln",), 77_199, 49.6, 37.2),
    "SDSC-SP2": Published(("SDSC-SP2-1998-4.2-cln",), 54_006, 87.9, 70.5),
    "SDSC-BLUE": Published(("SDSC-BLUE-2000-4.2-cln",), 232_542, 36.5, 30.6),
    "CEA-Curie": Published(("CEA-Curie-2011-2.1-cln",), 295_540, 202.1, 69.9),
}

BOOKSIM: dict[tuple[str, str], dict[float, float]] = {
    ("torus-8x8", "dimension-order"): {0.1: 21, 0.3: 28, 0.5: 38, 0.7: 61, 0.9: 163},
    ("fattree-64", "random-up"): {0.1: 20, 0.5: 36, 0.7: 55, 0.9: 127},
}
"""Mean packet latency in cycles by offered load (flits a cycle and node).

BookSim2, packets of 8 flits, routers near output queueing, one cycle a router and a channel. Its
"uniform" traffic includes the sender, its fat-tree routing is ``nca``. The torus at 0.9 takes 158
to 167 cycles by seed (185 to 198 if nobody sends to itself).
"""
