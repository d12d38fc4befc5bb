"""What the calibration runs: networks, loads, and the closed-form limits of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.papers.calibration.saturation import (
    FOLDED_CLOS,
    Limit,
    dragonfly_limit,
    torus_limit,
)
from experiments.papers.kit.data import read_data
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
    """A network of the calibration, all links alike; ``paper.toml`` explains the fields."""

    title: str
    family: str
    params: Mapping[str, object]
    routings: Sequence[str]
    window_cycles: int
    buffer_packets: int

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
STUDY = read_data("calibration")
NETWORKS = {name: Network(**network) for name, network in STUDY["networks"].items()}


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


def loads_of(network: str, routing: str, traffic: str) -> tuple[float, ...]:
    """Offered loads of one curve, ascending."""
    if traffic == "adversarial":
        limit = limit_of(network, "minimal", traffic).ceiling
        low = tuple(round(share * limit, 6) for share in STUDY["loads"]["direct"])
        if routing == "minimal":
            return tuple(sorted({*low, 0.3, 1.0}))
        return tuple(sorted({low[1], low[3], *STUDY["loads"][traffic]}))
    return tuple(STUDY["loads"]["valiant" if routing == "valiant" else traffic])


QUICK_SHARE = 0.2
"""Of the windows at the quick scale."""
