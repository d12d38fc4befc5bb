"""The Level-Spread paper's simulated machines (Table I, and what its scripts gave SST)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np

from experiments.papers.paper import Options
from netsim.errors import NetcosimError, unknown_name
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topology import Topology
from patterns.broadcast import ALGORITHMS
from queuesim.ensemble import SharedNetwork

LOCAL_BPS = 10**9
LINK_LATENCY_S = 40e-9
# 50 ns input and 50 ns output latency and one and a half cycles of the crossbar: with the
# link's 40 ns, SST takes 152 ns from router to router.
ROUTER_LATENCY_S = 112e-9

MACHINES: dict[int, tuple[int, int]] = {272: (4, 17), 528: (4, 33), 544: (8, 17), 1056: (8, 33)}
"""Routers a group and groups, by number of nodes; always 4 nodes a router."""

ENDPOINTS: dict[str, dict[str, float]] = {
    "free": {"send_overhead_s": 0.0, "recv_overhead_s": 0.0, "copy_s_per_byte": 0.0},
    # Send: enter 30, set up 130, transmit delay 50, return 30 ns. Receive: set up 100, match
    # 150 + 100, enter and return 60 ns. Copy 344 ps a byte.
    "firefly": {
        "send_overhead_s": 240e-9,
        "recv_overhead_s": 410e-9,
        "copy_s_per_byte": 344e-12,
    },
}
"""End-point costs by name: none, or about those of SST's firefly NIC and MPI."""


@dataclass(frozen=True)
class Network:
    """How packets travel; every field stands in a point's config.

    Attributes
    ----------
    routing : str
    arrangement : str
        Of global links.
    packet_bytes, header_bytes, buffer_bytes : int
        SST put 45 bytes of header on a message; here they are on every packet.
    router_latency_s : float
    endpoint : str
        A name of `ENDPOINTS`.
    broadcast : str
        Algorithm of broadcasts (`patterns.broadcast`); SST's MPI uses a binary tree.
    ranks_per_node : int
    """

    routing: str = "ugal-l"
    arrangement: str = "absolute"
    packet_bytes: int = 2048
    header_bytes: int = 45
    buffer_bytes: int = 14000
    router_latency_s: float = ROUTER_LATENCY_S
    endpoint: str = "free"
    broadcast: str = "binary"
    ranks_per_node: int = 2

    def packet_config(self) -> PacketConfig:
        """For the engine."""
        return PacketConfig(
            packet_bytes=self.packet_bytes,
            header_bytes=self.header_bytes,
            buffer_bytes=self.buffer_bytes,
            router_latency_s=self.router_latency_s,
            **ENDPOINTS[self.endpoint],
        )

    def shared(
        self, routing: Routing, task_mapping: str, rng: np.random.Generator
    ) -> SharedNetwork:
        """What jobs on it share, with a seed from the generator."""
        seed = int(rng.integers(0, 2**32))
        return SharedNetwork(routing, self.packet_config(), self.ranks_per_node, task_mapping, seed)


# What one may vary from the command line, and its type.
SETTINGS: dict[str, type] = {
    "arrangement": str,
    "packet_bytes": int,
    "header_bytes": int,
    "buffer_bytes": int,
    "endpoint": str,
    "broadcast": str,
}


def networks(options: Options, default: tuple[str, ...]) -> list[Network]:
    """One network a routing, with the options' settings.

    Raises
    ------
    NetcosimError
        An unknown setting, or a value that does not fit.
    """
    given: dict[str, str | int] = {}
    for key, value in options.settings.items():
        if key not in SETTINGS:
            raise unknown_name("setting of level-spread", key, SETTINGS)
        try:
            given[key] = SETTINGS[key](value)
        except ValueError:
            raise NetcosimError(f"setting {key} = {value!r}; a whole number is needed") from None
    if given.get("endpoint", "free") not in ENDPOINTS:
        raise unknown_name("endpoint", str(given["endpoint"]), ENDPOINTS)
    if given.get("broadcast", "flat") not in ALGORITHMS:
        raise unknown_name("broadcast algorithm", str(given["broadcast"]), ALGORITHMS)
    found = []
    for routing in options.routings or default:
        network = Network(routing=routing, **given)  # type: ignore[arg-type]
        network.packet_config()
        routing_of(272, 1.0, network)
        found.append(network)
    return found


def network_of(config: Mapping[str, object]) -> Network:
    """The network that `network_config` wrote."""
    return Network(**config)  # type: ignore[arg-type]


def network_config(network: Network) -> dict[str, object]:
    """As it stands in a point's config."""
    return asdict(network)


@lru_cache(maxsize=16)
def machine(n_nodes: int, alpha: float, arrangement: str = "absolute") -> Topology:
    """A machine of Table I.

    Parameters
    ----------
    n_nodes : int
        A key of `MACHINES`.
    alpha : float
        Bandwidth of a global link over that of a local link.
    arrangement : str

    Raises
    ------
    NetcosimError
        Another number of nodes, an unknown arrangement.
    """
    if n_nodes not in MACHINES:
        raise unknown_name("machine size of level-spread", str(n_nodes), map(str, MACHINES))
    a, g = MACHINES[n_nodes]
    return dragonfly(
        p=4,
        a=a,
        g=g,
        arrangement=arrangement,
        node_bandwidth_Bps=LOCAL_BPS,
        local_bandwidth_Bps=LOCAL_BPS,
        global_bandwidth_Bps=round(alpha * LOCAL_BPS),
        node_latency_s=LINK_LATENCY_S,
        local_latency_s=LINK_LATENCY_S,
        global_latency_s=LINK_LATENCY_S,
    )


@lru_cache(maxsize=32)
def _routing(n_nodes: int, alpha: float, arrangement: str, name: str) -> Routing:
    return make_routing(machine(n_nodes, alpha, arrangement), name)


def routing_of(n_nodes: int, alpha: float, network: Network) -> Routing:
    """The routing on a machine; built once a process."""
    return _routing(n_nodes, alpha, network.arrangement, network.routing)
