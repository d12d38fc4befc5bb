"""Networks under an offered load, all links alike, and the closed-form limits of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.kit.data import read_data
from netsim.packet.model import PacketConfig
from netsim.topologies.registry import make_topology
from netsim.topology import Topology


@dataclass(frozen=True)
class Limit:
    """Theoretical throughput of one routing under one load.

    All as fractions of a node's injection bandwidth.
    """

    ceiling: float
    """No more can be accepted."""
    floor: float
    """At least so much is expected."""
    rule: str
    """Where the numbers come from."""
    at_least: bool = False
    """Whether the rule is "above `floor`" (else: "about `ceiling`")."""

    @property
    def quoted(self) -> float:
        """The number that the rule names."""
        return self.floor if self.at_least else self.ceiling

    @property
    def text(self) -> str:
        """The rule's number for a legend."""
        return f"> {self.floor:.3g}" if self.at_least else f"limit {self.ceiling:.3f}"


def dragonfly_limit(p: int, a: int, g: int, routing: str, traffic: str) -> Limit:
    """Return the limits of a dragonfly with one global link a pair of groups, g = a*h + 1.

    Kim et al., ISCA 2008, with the exact counts of this Valiant (the group in between is
    neither the source's nor the destination's).
    """
    group, n = a * p, a * p * g
    if traffic == "adversarial":
        # The one direct link carries all; Valiant leaves it idle and loads the g - 2 others twice.
        direct, detour = 1 / group, (g - 2) / (2 * group)
        if routing == "minimal":
            return Limit(direct, 0.95 * direct, "1/(a p): one global link for a group")
        if routing == "valiant":
            return Limit(
                detour, 0.9 * detour, "(g-2)/(2 a p), about 1/2: two global links a packet"
            )
        return Limit(
            direct + detour,
            0.8 * detour,
            "at most direct link and detours together; our floor: 0.8 of Valiant's limit",
        )
    if routing == "valiant":
        both = (n - 1) / (2 * group * group)
        return Limit(min(1.0, both), 0.9 * both, "about 1/2: two global links a packet")
    rule = "above 0.9 with a = 2p = 2h"
    if routing != "minimal":
        rule = "no closed form; checked against minimal routing, 0.9"
    return Limit(1.0, 0.9, rule, at_least=True)


def torus_limit(length: int, n_nodes: int, traffic: str) -> Limit:
    """Return the limits of a torus of rings of one even length (dimension order, adaptive)."""
    if traffic == "tornado":
        hops = (length + 1) // 2 - 1
        return Limit(1 / hops, 0.95 / hops, f"1/{hops}: {hops} hops one way in each ring")
    to_others = (n_nodes - 1) / n_nodes if traffic == "uniform-random" else 1.0
    ceiling = min(1.0, 8 * to_others / length)  # a link carries k/8 of what a node sends to others
    return Limit(ceiling, 0.9, "above 0.9 with enough buffers", at_least=True)


FOLDED_CLOS = Limit(1.0, 0.95, "above 0.95: a folded Clos does not block", at_least=True)


CYCLE_S = 1e-9
FLIT_BYTES = 8
PACKET_FLITS = 8
PACKET_BYTES = FLIT_BYTES * PACKET_FLITS
LINK_BPS = 8 * 10**9
"""A flit a cycle on every link; a router and a wire take one cycle each."""


@dataclass(frozen=True)
class Network:
    """A network with all links alike; ``networks.toml`` explains the fields."""

    title: str
    family: str
    params: Mapping[str, object]
    routings: Sequence[str]
    window_cycles: int
    buffer_packets: int

    def build(self) -> Topology:
        """Build the topology, with one flit a cycle on each link and one cycle of latency."""
        ends = {"_bandwidth_Bps": LINK_BPS, "_latency_s": CYCLE_S}
        kinds = ("node", *LINKS_OF[self.family])
        alike = {f"{kind}{end}": value for kind in kinds for end, value in ends.items()}
        return make_topology(self.family, {**self.params, **alike})


LINKS_OF = {
    "dragonfly": ("local", "global"),
    "fattree": ("level1", "level2"),
    "torus": ("link",),
}
NETWORKS = {name: Network(**one) for name, one in read_data("kit", "networks.toml").items()}


def limit_of(network: str, routing: str, traffic: str) -> Limit:
    """Return the limit of one routing on one of `NETWORKS` under one of `TRAFFICS`."""
    entry = NETWORKS[network]
    if entry.family == "dragonfly":
        p, a, g = (int(str(entry.params[key])) for key in ("p", "a", "g"))
        return dragonfly_limit(p, a, g, routing, traffic)
    if entry.family == "fattree":
        return FOLDED_CLOS
    topology = entry.build()
    return torus_limit(topology.shape.dims[0], topology.n_nodes, traffic)


def packet_config(buffer_packets: int) -> PacketConfig:
    """Return a configuration with packets of 8 flits, one cycle a router and no headers."""
    return PacketConfig(
        packet_bytes=PACKET_BYTES,
        header_bytes=0,
        buffer_bytes=buffer_packets * PACKET_BYTES,
        router_latency_s=CYCLE_S,
    )
