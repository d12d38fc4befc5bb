"""Up-down routings of fat-trees: D-mod-k, and up ports chosen at random or by load.

A packet climbs until it is above its destination's leaf; the path down is determined. Up
before down: one channel is free of deadlock.

- D-mod-k (Zahavi, 2010): up port ``dst mod w2`` at a leaf and ``leaf(dst) mod w3`` at an L2
  switch, destinations (ports, where nodes have several) counted leaf by leaf. With w2 = m1 and
  w3 = m2 every shift permutation uses each link at most once.
- "random-up": any up port, blindly (BookSim's ``nca``: nearest common ancestor).
- "two-choice": the less loaded of two different random up ports, the first of them where they
  are alike (the power of two choices; BookSim's ``anca``, which may draw one port twice).
- "adaptive": a random up port if it has no load; else the least loaded of all, one of those
  at random. Ties must not all go to one port: messages that start together would.

State: always 0. Kernel tables: params = 0, m2, w2, w3, leaves, first L2 switch, first spine,
first links of the blocks up1, down1, up2, down2, then 0: one row of ports serves all switches
of a level. table_a, table_b: for each destination the entries at a leaf and at an L2
switch: the up port of D-mod-k, or where in table_c the list of ports begins: their number, then
the ports. table_c: pod of each leaf and L2 switch, position of each spine, then those lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.routing import kernels_fattree as kernels
from netsim.routing.base import Hop, Routing, RoutingEntry
from netsim.routing.make_tables import ejection, make_tables
from netsim.topologies.fattree import FatTreeShape
from netsim.topology import Topology

STATIC = "d-mod-k"
CODES = {
    "adaptive": kernels.ADAPTIVE,
    "random-up": kernels.RANDOM_UP,
    "two-choice": kernels.TWO_CHOICE,
}
"""The rules that choose among several up ports."""

RANDOM_VISITS = 2
"""A leaf and an L2 switch send up."""


class UpDown:
    """A routing in plain Python, only from the shape's arithmetic.

    Its ``rule`` is "d-mod-k" or one of `CODES`.
    """

    def __init__(self, topology: Topology, rule: str) -> None:
        assert isinstance(topology.shape, FatTreeShape)
        self.topology, self.s, self.rule = topology, topology.shape, rule

    def positions(self, leaf: int, dst_node: int) -> tuple[Sequence[int], int]:
        """Return the L2 positions that a leaf may send to, and the one of static routing."""
        return range(self.s.w2), self.s.place_of_port(dst_node) % self.s.w2

    def spines(self, pod: int, position: int, dst_node: int) -> tuple[Sequence[int], int]:
        """Return the spines that an L2 switch may send to, and the one of static routing."""
        return range(self.s.w3), self.s.leaf_of_port(dst_node) % self.s.w3

    def links(self, router: int, dst_node: int) -> list[int]:
        """Return every link that the routing could take toward a destination elsewhere."""
        s = self.s
        leaf = s.leaf_of_port(dst_node)
        pod = leaf // s.m2
        if router < s.n_leaves:
            ports, static = self.positions(router, dst_node)
            up = [s.leaf_up(router, port) for port in ports]
        elif router < s.n_leaves + s.n_l2:
            own_pod, position = divmod(router - s.n_leaves, s.w2)
            if own_pod == pod:
                return [s.leaf_down(leaf, position)]
            ports, static = self.spines(own_pod, position, dst_node)
            up = [s.l2_up(own_pod, position, port) for port in ports]
        else:
            position, spine = divmod(router - s.n_leaves - s.n_l2, s.w3)
            return [s.l2_down(pod, position, spine)]
        return [up[static]] if self.rule == STATIC else up

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        """Return all allowed hops (see `netsim.routing.base.Routing`)."""
        if router == self.s.leaf_of_port(dst_node):
            return [ejection(self.topology, dst_node, state)]
        return [Hop(link, 0, state) for link in self.links(router, dst_node)]


class PortLists:
    """Lists of ports behind the places of switches in table_c, each list kept once."""

    def __init__(self, place: NDArray[np.int64]) -> None:
        self._table = place.tolist()
        self._known: dict[tuple[int, ...], int] = {}

    def at(self, ports: Sequence[int]) -> int:
        """Return the offset of a list."""
        key = tuple(ports)
        if key not in self._known:
            self._known[key] = len(self._table)
            self._table += [len(key), *key]
        return self._known[key]

    def table(self) -> NDArray[np.int64]:
        """Return table_c."""
        return np.array(self._table, dtype=np.int64)


def up_down_params(s: FatTreeShape, row: int) -> tuple[int, ...]:
    """Return the scalars of the kernel tables; ``row`` is the number of entries a switch."""
    blocks = (s.first_up1, s.first_down1, s.first_up2, s.first_down2)
    return (0, s.m2, s.w2, s.w3, s.n_leaves, s.n_leaves, s.n_leaves + s.n_l2, *blocks, row)


def switch_places(s: FatTreeShape) -> NDArray[np.int64]:
    """Return the pod of each leaf and L2 switch, and the position of each spine."""
    return np.concatenate(
        [
            np.arange(s.n_leaves) // s.m2,
            np.arange(s.n_l2) // s.w2,
            np.arange(s.n_spines) // max(s.w3, 1),
        ]
    )


def d_mod_k_ports(s: FatTreeShape) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return D-mod-k's up ports toward each port at a leaf and at an L2 switch, (n_ports,)."""
    ports = np.arange(s.n_ports)
    return s.place_of_port(ports) % s.w2, s.leaf_of_port(ports) % max(s.w3, 1)


def fattree_routing(topology: Topology, name: str) -> Routing:
    """Build "d-mod-k", "random-up", "two-choice" or "adaptive" on a fat-tree."""
    s = topology.shape
    assert isinstance(s, FatTreeShape)
    at_leaf, at_l2 = d_mod_k_ports(s)
    lists = PortLists(switch_places(s))
    if name != STATIC:
        at_leaf = np.full(s.n_ports, lists.at(range(s.w2)))
        at_l2 = np.full(s.n_ports, lists.at(range(max(s.w3, 1))))
    return up_down_routing(
        name,
        UpDown(topology, name),
        CODES.get(name, kernels.D_MOD_K),
        (at_leaf, at_l2, lists.table()),
        row=0,
    )


def up_down_routing(
    name: str,
    reference: UpDown,
    code: int,
    tables: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    row: int,
) -> Routing:
    """Return a `Routing` from its reference and table_a, table_b, table_c (see above)."""
    params = up_down_params(reference.s, row)
    return Routing(
        name=name,
        topology=reference.topology,
        n_vcs=1,
        adaptive=reference.rule in ("adaptive", "two-choice"),
        random_visits=0 if reference.rule == STATIC else RANDOM_VISITS,
        tables=make_tables(reference.topology, code, 1, params, *tables),
        choices=reference.choices,
    )


_DESCRIPTIONS = {
    "d-mod-k": "static up port by destination digit",
    "adaptive": "least loaded up port, ties at random",
    "two-choice": "less loaded of two random up ports (BookSim: anca)",
    "random-up": "random up port (BookSim: nca)",
}


def _entry(name: str, description: str) -> RoutingEntry:
    return RoutingEntry(
        name, description, ("fattree",), lambda topology: fattree_routing(topology, name)
    )


ROUTINGS = tuple(_entry(name, description) for name, description in _DESCRIPTIONS.items())
