"""A routing: tables for the kernels and a plain description for the reference and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.parameters import Parameter, parameters_of
from netsim.routing.tables import RouteTables
from netsim.short_repr import short_repr
from netsim.topology import Topology


class Hop(NamedTuple):
    """The next link of a packet, and the routing state that it carries there.

    ``state`` is one small non-negative integer; every packet has state 0 when it comes
    from its node's injection link. ``vc`` is the virtual channel on ``link``.
    """

    link: int
    vc: int
    state: int


class Pin(Protocol):
    """Chooses the paths of flows; see `Routing`."""

    def __call__(
        self,
        src: NDArray[np.int64],
        dst: NDArray[np.int64],
        amount: NDArray[np.float64],
        busy_s: NDArray[np.float64] | None = None,
    ) -> Routing:
        """Return the routing with these flows pinned."""


@short_repr()
@dataclass(frozen=True, eq=False)
class Routing:
    """A named routing on one topology.

    ``room``, ``used`` and other link state that a kernel may look at are those of
    docs/packet-model.md, "Link state visible to routings".
    """

    name: str
    """As a user types it ("minimal", "ugal-l", "d-mod-k", ...)."""
    topology: Topology
    n_vcs: int
    """Virtual channels it needs for deadlock freedom."""
    adaptive: bool
    """Whether it looks at loads."""
    tables: RouteTables
    """For the kernels."""
    choices: Callable[[int, int, int], list[Hop]]
    """Callable (router, dst_node, state) -> list[Hop]. Every hop the routing could take there, for
    any loads and draws; the deadlock test walks it. Ejection (router is the destination's) is one
    Hop with vc 0. The kernel picks one of them by loads and by ``key``, a 64-bit number that is
    fresh for every (message, packet, router visit) (`netsim.routing.kernels_random`)."""
    random_visits: int = 1
    """At how many routers, counted from the first, the kernel looks at ``key``: engines make no
    more keys than that. 0 for none."""
    room_vc: int = -1
    """The channel whose ``room`` it looks at on links that leave the router; -1 for none."""
    compares_credits: bool = False
    """Whether it looks at ``used`` or ``room`` of the links that its kernels name beforehand
    (`netsim.routing.kernels.links_compared`), at routers where it draws."""
    looks_far: bool = False
    """Whether it looks at links that leave other routers than the packet's own."""
    counts_bids: bool = True
    """Whether ``room``, ``queued`` and ``used`` count the heads that bid for the crossbar."""
    compares_queues: bool = False
    """Whether it looks at ``queue_bytes`` or ``queue_free``; needs ``counts_bids = False``."""
    queue_pairs: int = 0
    """Above 0 if ``key`` is the same for all packets of a flow: those from one port to another
    whose numbers have the same remainder by it (their *queue pair*)."""
    seed_each_hop: bool = True
    """Whether such a key differs from one visit to the next."""
    pin: Pin | None = None
    """Callable (src_port, dst_port, bytes, busy_s) -> Routing, optional. The routing with ``pins``
    chosen for some flows; ``busy_s``: how long others keep each link busy, or None. Engines call it
    with the flows of their run."""

    @property
    def is_single_path(self) -> bool:
        """Whether a route depends on nothing but its two ends, and is never split."""
        return not (self.adaptive or self.random_visits)

    def __getstate__(self) -> tuple[dict[str, object], bytes]:
        """Return the state with its functions by value: most are local to what built them."""
        import cloudpickle

        functions = {name: getattr(self, name) for name in ("choices", "pin")}
        return {**vars(self), **dict.fromkeys(functions)}, cloudpickle.dumps(functions)

    def __setstate__(self, state: tuple[dict[str, object], bytes]) -> None:
        """Restore the functions."""
        import cloudpickle

        self.__dict__.update(state[0], **cloudpickle.loads(state[1]))


SWITCHED = ("fattree", "gpu-cluster", "graph", "cables", "ibnetdiscover", "topology.conf")
"""Families of machines whose switches choose among equal-cost links by a hash."""


@dataclass(frozen=True)
class RoutingEntry:
    """An entry of `netsim.routing.registry.ROUTINGS`."""

    registered_in: ClassVar[str] = "netsim.routing.registry:ROUTINGS"

    name: str
    description: str
    families: tuple[str, ...]
    """The topology families that it serves; empty: all."""
    build: Callable[..., Routing]
    """``build(topology, parameters by name) -> Routing``; its parameters are declared as described
    in `netsim.parameters`."""
    avoids_down: bool = False
    """Whether it finds paths without the links that are down (`Topology.down`)."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters besides the topology."""
        return parameters_of(self.build)
