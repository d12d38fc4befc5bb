"""What the calibration runs: networks, loads, and the closed-form limits of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.papers.calibration.saturation import (
    FOLDED_CLOS,
    Limit,
    dragonfly_limit,
    torus_limit,
)
from netsim.topologies.registry import make_topology
from netsim.topology import Topology

CYCLE_S = 1e-9
FLIT_BYTES = 8
PACKET_FLITS = 8
PACKET_BYTES = FLIT_BYTES * PACKET_FLITS
LINK_BPS = 8 * 10**9
"""A flit a cycle on every link; a router and a wire take one cycle each."""


@dataclass(frozen=True)
class Network:
    """A network of the calibration: a family and its parameters, all links alike.

    ``window_cycles`` is the length of the warm-up, and of the window after it; half as much
    follows to drain. ``buffer_packets`` is the input buffer of a channel, enough for 98 % of what
    more would give (the figure "buffers" shows it).
    """

    title: str
    family: str
    params: Mapping[str, object]
    routings: tuple[str, ...]
    window_cycles: int
    buffer_packets: int = 32

    def build(self) -> Topology:
        """The topology, one flit a cycle on each link, one cycle of latency."""
        ends = {"_bandwidth_Bps": LINK_BPS, "_latency_s": CYCLE_S}
        kinds = ("node", *LINKS_OF[self.family])
        alike = {f"{kind}{end}": value for kind in kinds for end, value in ends.items()}
        return make_topology(self.family, {**self.params, **alike})


LINKS_OF = {
    "dragonfly": ("local", "global"),
    "fattree": ("level1", "level2"),
    "torus": ("link",),
}
_DRAGONFLY = ("minimal", "valiant", "ugal-l", "ugal-g")
_FATTREE = ("d-mod-k", "adaptive", "two-choice", "random-up")
_TORUS = ("dimension-order", "minimal-adaptive")

NETWORKS: dict[str, Network] = {
    "dragonfly-72": Network(
        "Dragonfly, 72 nodes", "dragonfly", {"p": 2, "a": 4, "h": 2, "g": 9}, _DRAGONFLY, 20_000
    ),
    "dragonfly-1056": Network(
        "Dragonfly, 1056 nodes", "dragonfly", {"p": 4, "a": 8, "h": 4, "g": 33}, _DRAGONFLY, 8_000
    ),
    "fattree-64": Network(
        "Fat-tree, 64 nodes", "fattree", {"m1": 4, "m2": 4, "m3": 4}, _FATTREE, 20_000
    ),
    "fattree-1024": Network(
        "Fat-tree, 1024 nodes", "fattree", {"m1": 8, "m2": 8, "m3": 16}, _FATTREE, 8_000
    ),
    "torus-8x8": Network("Torus, 8 x 8", "torus", {"dims": [8, 8]}, _TORUS, 40_000, 64),
}


def limit_of(network: str, routing: str, traffic: str) -> Limit:
    """The limit of one routing on one of `NETWORKS` under one of `TRAFFICS`."""
    entry = NETWORKS[network]
    if entry.family == "dragonfly":
        p, a, g = (int(str(entry.params[key])) for key in ("p", "a", "g"))
        return dragonfly_limit(p, a, g, routing, traffic)
    if entry.family == "fattree":
        return FOLDED_CLOS
    topology = entry.build()
    return torus_limit(topology.shape.dims[0], topology.n_nodes, traffic)


LOADS: dict[str, tuple[float, ...]] = {
    "uniform-random": (0.02, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0),
    "adversarial": (0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 1.0),
    "uniform": (0.1, 0.3, 0.5, 0.7, 0.9, 1.0),
    "tornado": (0.02, 0.1, 0.2, 0.25, 0.3, 0.32, 0.33, 0.36, 0.5, 1.0),
}
VALIANT_UNIFORM_LOADS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.7, 1.0)
DIRECT_LOADS = (0.2, 0.5, 0.8, 0.9, 0.96, 1.5)
"""Of the limit 1/(a p), for minimal routing under adversarial load; then those of all."""


def loads_of(network: str, routing: str, traffic: str) -> tuple[float, ...]:
    """Offered loads of one curve, ascending."""
    if traffic == "adversarial":
        limit = limit_of(network, "minimal", traffic).ceiling
        low = tuple(round(share * limit, 6) for share in DIRECT_LOADS)
        if routing == "minimal":
            return tuple(sorted({*low, 0.3, 1.0}))
        return tuple(sorted({low[1], low[3], *LOADS[traffic]}))
    if routing == "valiant":  # half of the bandwidth at most
        return VALIANT_UNIFORM_LOADS
    return LOADS[traffic]


QUICK_SHARE = 0.2
"""Of the windows at the quick scale."""


def _panels(dragonfly: str, *fattrees: str) -> tuple[tuple[str, str], ...]:
    uniform = [(network, "uniform-random") for network in (*fattrees, "torus-8x8")]
    uniform += [(network, "uniform") for network in ("fattree-64", "torus-8x8")]
    ends = [(dragonfly, traffic) for traffic in ("uniform-random", "adversarial")]
    return (*ends, *uniform, ("torus-8x8", "tornado"))


CURVES: dict[str, tuple[tuple[str, str], ...]] = {
    "quick": _panels("dragonfly-72", "fattree-64"),
    "full": _panels("dragonfly-1056", "fattree-64", "fattree-1024"),
}
"""Network and traffic of each panel."""

BUFFER_STUDY: tuple[tuple[str, str, str, float], ...] = (
    ("torus-8x8", "dimension-order", "uniform-random", 1.0),
    ("torus-8x8", "dimension-order", "tornado", 0.33),
    ("fattree-64", "d-mod-k", "uniform-random", 1.0),
    ("fattree-64", "adaptive", "uniform-random", 1.0),
    ("dragonfly-72", "minimal", "uniform-random", 1.0),
    ("dragonfly-72", "ugal-l", "adversarial", 0.45),
)
BUFFERS = (1, 2, 4, 8, 16, 32, 64, 128)
