"""Checks of the tables that each routing code needs.

Kernels index tables without looking at their lengths, so `check_tables` refuses tables that do not
fit their code before any kernel reads them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.routing.kernels_codes import CODES, RULES, RoutingCode, RoutingRule
from netsim.routing.kernels_tables import PIN_WIDTH
from netsim.topology import Topology

Ints = NDArray[np.integer]
_Lengths = tuple[int, int, int]
"""Of table_a, table_b and table_c."""


def check_tables(
    topology: Topology,
    code: int,
    n_vcs: int,
    params: NDArray[np.int64],
    tables: tuple[Ints, Ints, Ints],
) -> None:
    """Raise NetcosimError unless scalars and tables have the sizes that a code's kernel reads.

    Entries are checked where a wrong one leads out of an array: links, and places of lists.
    """
    if code not in list(RoutingCode):
        valid = ", ".join(f"{known.value} ({known.name})" for known in RoutingCode)
        raise NetcosimError(f"routing code = {code}; valid: {valid}")
    where = f"tables of routing code {code} ({RoutingCode(code).name}) on {topology.name}"
    if n_vcs < 1:
        raise NetcosimError(f"{where}: n_vcs = {n_vcs}; it must be at least 1")
    least, lengths = _LENGTHS[RULES[RoutingCode(code)]]
    if code == RoutingCode.EQUAL_COST:
        least = PIN_WIDTH + 1
    if len(params) < least:
        raise NetcosimError(f"{where}: {len(params)} params; {least} are needed")
    wanted = lengths(topology, where, code, params)
    for name, table, length in zip(("table_a", "table_b", "table_c"), tables, wanted, strict=True):
        if len(table) < length:
            raise NetcosimError(f"{where}: {name} has {len(table)} entries; {length} are needed")
    _check_entries(topology, where, RoutingCode(code), tables)
    if code == RoutingCode.EQUAL_COST and params[PIN_WIDTH] > 0:
        _check_pins(where, tables[1], topology.n_ports, int(params[PIN_WIDTH]))


def _need(where: str, what: str, value: int, wanted: int) -> None:
    if value != wanted:
        raise NetcosimError(f"{where}: params name {value} {what}; it has {wanted}")


def _by_router(topology: Topology, where: str, code: int, params: NDArray[np.int64]) -> _Lengths:
    by_port = code == RoutingCode.BY_DESTINATION
    row = topology.n_ports if by_port else topology.n_routers
    _need(where, "entries a router", int(params[1]), row)
    lists = code in _LISTS_OF_LINKS
    pinned = code == RoutingCode.EQUAL_COST and params[PIN_WIDTH] > 0
    return topology.n_routers * row, int(pinned) * (topology.n_ports + 1), int(lists)


def _dragonfly(topology: Topology, where: str, code: int, params: NDArray[np.int64]) -> _Lengths:
    a, g, k, first_local, n, n_global = (int(params[i]) for i in (1, 2, 3, 5, 7, 8))
    _need(where, "routers", n, topology.n_routers)
    _need(where, "routers in groups", a * g, topology.n_routers)
    _need(where, "as the first link", first_local, topology.first_router_link)
    links = topology.n_links - first_local
    return 2 * a * a, (n + g) * g * max(k, 1), n + 2 * n_global + links


def _fat_tree(topology: Topology, where: str, code: int, params: NDArray[np.int64]) -> _Lengths:
    leaves, first_l2, first_spine, row = (int(params[i]) for i in (4, 5, 6, 11))
    if not 0 < leaves <= first_l2 <= first_spine <= topology.n_routers:
        raise NetcosimError(f"{where}: params name levels outside its {topology.n_routers} routers")
    ports = topology.n_ports
    l2 = first_spine - first_l2
    at_l2 = row * max(l2 - 1, 0) + ports if l2 else 0
    return row * (leaves - 1) + ports, at_l2, topology.n_routers


def _torus(topology: Topology, where: str, code: int, params: NDArray[np.int64]) -> _Lengths:
    n, dims = topology.n_routers, int(params[1])
    if dims < 1 or len(params) != 4 + 2 * dims:
        raise NetcosimError(f"{where}: {len(params)} params; {dims} dimensions need {4 + 2 * dims}")
    _need(where, "routers", int(np.prod(params[3 : 3 + dims])), n)
    return 2 * n * dims, n * dims, n


def _plus(topology: Topology, where: str, code: int, params: NDArray[np.int64]) -> _Lengths:
    leaves, spines, g, k = (int(params[i]) for i in range(1, 5))
    _need(where, "routers", (leaves + spines) * g, topology.n_routers)
    pairs = g * g * max(k, 1)
    return pairs, pairs, 2 * g * spines * g


_LENGTHS: dict[
    RoutingRule,
    tuple[int, Callable[[Topology, str, int, NDArray[np.int64]], _Lengths]],
] = {
    RoutingRule.NEXT_LINK: (3, _by_router),
    RoutingRule.TABLES: (3, _by_router),
    RoutingRule.DECIDES_ONCE: (15, _dragonfly),
    RoutingRule.DECIDES_AGAIN: (15, _dragonfly),
    RoutingRule.MERLIN: (15, _dragonfly),
    RoutingRule.BY_NODE: (15, _dragonfly),
    RoutingRule.FAT_TREE: (12, _fat_tree),
    RoutingRule.TORUS: (5, _torus),
    RoutingRule.PLUS: (8, _plus),
}
"""By rule: the least number of params, and the lengths of the tables."""

_LISTS_OF_LINKS = {RoutingCode.LEAST_LOADED, RoutingCode.WEIGHTED, RoutingCode.EQUAL_COST}
_LISTS_OF_PORTS = {RoutingCode.ADAPTIVE, RoutingCode.RANDOM_UP, RoutingCode.TWO_CHOICE}
_LINKS = {
    RoutingCode.SHORTEST_PATH,
    RoutingCode.BY_DESTINATION,
    *CODES[RoutingRule.TORUS],
    *CODES[RoutingRule.PLUS],
}
"""What table_a holds (and table_b, of ports), by code."""


def _check_entries(
    topology: Topology, where: str, code: RoutingCode, tables: tuple[Ints, Ints, Ints]
) -> None:
    table_a, table_b, table_c = tables
    if code in _LISTS_OF_LINKS:
        _check_lists(where, table_a, table_c, 1 + (code == RoutingCode.WEIGHTED))
    elif code in _LISTS_OF_PORTS:
        for places in (table_a, table_b):
            _check_lists(where, places, table_c, 1)
    elif code in _LINKS:
        low, high = table_a.min(initial=0), table_a.max(initial=0)
        if low < -1 or high >= topology.n_links:
            raise NetcosimError(
                f"{where}: table_a has links {low} to {high}; valid: -1 to {topology.n_links - 1}"
            )


def _check_lists(where: str, places: Ints, lists: Ints, width: int) -> None:
    """Check that every list, its length and ``width`` numbers an entry, ends in the table."""
    low, high = places.min(initial=0), places.max(initial=-1)
    if low < 0 or high >= len(lists):
        raise NetcosimError(
            f"{where}: lists begin at {low} to {high}; table_c has {len(lists)} entries"
        )
    count = lists[places].astype(np.int64)
    if np.any(count < 0) or np.any(places + width * count >= len(lists)):
        raise NetcosimError(f"{where}: a list does not end within table_c")


def _check_pins(where: str, table_b: Ints, n_ports: int, width: int) -> None:
    """Check that the rows of every source port end in the table."""
    begin = table_b[: n_ports + 1]
    if begin[0] != 0 or np.any(np.diff(begin) < 0):
        raise NetcosimError(f"{where}: rows of pinned flows do not follow each other")
    if len(table_b) < n_ports + 1 + width * int(begin[-1]):
        raise NetcosimError(f"{where}: a row of pinned flows does not end within table_b")
