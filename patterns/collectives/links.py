"""Constants of collectives between nodes, by class of links: start-up, efficiency, protocol.

NCCL sends small buffers by a protocol of low latency and less bandwidth. Of each protocol a class
has the time that does not depend on the size, and the share of the NICs' bandwidth that is reached.
"""

from __future__ import annotations

from dataclasses import dataclass

from netsim.errors import need_name

NONE = "none"


@dataclass(frozen=True)
class Protocol:
    """How a buffer is sent between nodes."""

    start_s: float
    """Of each operation: launch, synchronisation, first messages."""
    efficiency: float
    """Share of the bandwidth between nodes."""


@dataclass(frozen=True)
class LinkClass:
    """Links inside and between nodes of GPUs."""

    scale_up: str
    scale_out: str
    algorithm: str
    """Of all-reduces between nodes by "auto"."""
    switch_bytes: int
    """Smaller buffers are sent by the first protocol."""
    small: Protocol
    large: Protocol
    step_s: float = 0.0
    """What each of a ring's 2 (p - 1) steps adds to the start."""

    def protocol(self, message_bytes: int) -> Protocol:
        """Return the protocol of a buffer."""
        return self.small if message_bytes < self.switch_bytes else self.large

    def start_s(self, n_ranks: int, message_bytes: int) -> float:
        """Return the start-up of an operation of so many ranks."""
        return self.protocol(message_bytes).start_s + 2 * (n_ranks - 1) * self.step_s


# Fitted by experiments/curve/links.py, see the page beside it.
LINKS: dict[str, LinkClass] = {
    "a100-efa": LinkClass(
        *("NVLink 3 of A100s", "4 EFA NICs of 100 Gbit/s a node", "hierarchical", 1 << 25),
        Protocol(244e-6, 0.35),
        Protocol(1097e-6, 0.9),
    ),
    "h100-efa": LinkClass(
        *("NVLink 4 of H100s", "32 EFA NICs of 100 Gbit/s a node", "hierarchical", 1 << 25),
        Protocol(109e-6, 0.275),
        Protocol(337e-6, 1.0),
    ),
    "gh200-slingshot": LinkClass(
        *("one GH200 a node", "a Slingshot-11 NIC of 200 Gbit/s", "ring", 1 << 23),
        Protocol(293e-6, 0.925),
        Protocol(134e-6, 0.95),
    ),
    "hgx-400g": LinkClass(
        *("NVLink of 8 GPUs", "8 NICs of 400 Gbit/s a node", "ring", 0),
        Protocol(50e-6, 0.97),
        Protocol(50e-6, 0.97),
        step_s=4.3e-6,
    ),
}
"""By name."""


def link_class(name: str) -> LinkClass | None:
    """Return a class of `LINKS`; None for `NONE`."""
    if name == NONE:
        return None
    need_name("links of a collective", name, LINKS)
    return LINKS[name]
