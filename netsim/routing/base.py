"""A routing: tables for the kernels and a plain description for the reference and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.parameters import Parameter, parameters_of
from netsim.routing.kernels_tables import EQUAL_COST, PIN_WIDTH
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


class View(Protocol):
    """State that a router may read when it chooses (all at the present tick)."""

    def load(self, link: int) -> int:
        """Return the ticks until the link could start one more packet, without credit stalls.

        This is the rest of the running transmission plus the serialisation of all packets that wait
        for the link on any channel.
        """

    def room(self, link: int, vc: int) -> int:
        """Return the free bytes in the buffer behind (link, vc), less those of waiting packets."""

    def queued(self, link: int) -> int:
        """Return the wire bytes of all packets that wait for the link."""

    def used(self, link: int) -> int:
        """Return the used credits of a link between routers, in bytes: those that wait for it, or
        whose space in the buffers behind it is not free for the sender."""

    def queue_bytes(self, link: int, vc: int) -> int:
        """Return the wire bytes in the output FIFO of (link, vc), without bidding heads."""

    def queue_free(self, link: int, vc: int) -> int:
        """Return the bytes of the output buffer of (link, vc) that its packets leave free."""


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
    """A named routing on one topology."""

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
    Hop with vc 0."""
    choose: Callable[[View, int, int, int, int, int], Hop]
    """Callable (view, router, dst_node, state, key, wire_bytes) -> Hop. The selected hop: plain
    Python, slow, used as the reference. ``key`` is a 64-bit number that is fresh for every
    (message, packet, router visit); all random choices follow from it
    (`netsim.routing.kernels_random`)."""
    random_visits: int = 1
    """At how many routers, counted from the first, ``choose`` looks at ``key``: engines make no
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "choose", _naming(self.name, self.choose))

    @property
    def is_single_path(self) -> bool:
        """Whether a route depends on nothing but its two ends, and is never split."""
        return not (self.adaptive or self.random_visits)

    def __getstate__(self) -> tuple[dict[str, object], bytes]:
        """Return the state with its functions by value: most are local to what built them."""
        import cloudpickle

        functions = {name: getattr(self, name) for name in ("choices", "choose", "pin")}
        return {**vars(self), **dict.fromkeys(functions)}, cloudpickle.dumps(functions)

    def __setstate__(self, state: tuple[dict[str, object], bytes]) -> None:
        """Restore the functions."""
        import cloudpickle

        self.__dict__.update(state[0], **cloudpickle.loads(state[1]))

    @cached_property
    def pins(self) -> dict[tuple[int, int, int], list[int]]:
        """``key`` of pinned flows at each visit: the place of their link in ``choices``.

        By source port, destination port and queue pair.
        """
        table, n_ports = self.tables.table_b, self.topology.n_ports
        width = int(self.tables.params[PIN_WIDTH]) if self.tables.code == EQUAL_COST else 0
        if not width:
            return {}
        source = np.repeat(np.arange(n_ports), np.diff(table[: n_ports + 1])).tolist()
        rows = table[n_ports + 1 :].reshape(-1, width).tolist()
        return {
            (src, *divmod(flow, self.queue_pairs)): [place for place in places if place >= 0]
            for src, (flow, *places) in zip(source, rows, strict=True)
        }


SWITCHED = ("fattree", "gpu-cluster", "graph", "cables", "ibnetdiscover", "topology.conf")
"""Families of machines whose switches choose among equal-cost links by a hash."""


def _naming(name: str, choose: Callable[..., Hop]) -> Callable[..., Hop]:
    """Return ``choose`` with an error that names the routing for a key that it takes as signed."""

    def chosen(view: View, *visit: int) -> Hop:
        try:
            return choose(view, *visit)
        except OverflowError as error:
            raise NetcosimError(
                f"routing {name!r}: choose: {error}; its key is a 64-bit number without sign: "
                "use np.uint64(key), or netsim.routing.choosing"
            ) from error

    return chosen


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
