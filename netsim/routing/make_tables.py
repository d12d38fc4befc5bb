"""`RouteTables` from lists, in the dtypes that the kernels are compiled for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.routing.base import Hop
from netsim.routing.check_tables import check_tables
from netsim.routing.tables import RouteTables
from netsim.topology import Topology


def _int32(values: Any) -> NDArray[np.int32]:
    # Writable: a read-only array would compile another variant of every kernel.
    return np.require(np.ravel(values), np.int32, ["C", "W"])


def make_tables(
    topology: Topology,
    code: int,
    n_vcs: int,
    params: Sequence[int],
    table_a: Any = (),
    table_b: Any = (),
    table_c: Any = (),
) -> RouteTables:
    """Fill in what every routing has: the ports' routers and ejection links."""
    scalars = np.array(params, dtype=np.int64)
    tables = _int32(table_a), _int32(table_b), _int32(table_c)
    check_tables(topology, int(code), int(n_vcs), scalars, tables)
    return RouteTables(
        code=int(code),
        n_vcs=int(n_vcs),
        params=scalars,
        port_router=_int32(topology.port_router),
        eject_link=_int32(topology.n_ports + np.arange(topology.n_ports)),
        table_a=tables[0],
        table_b=tables[1],
        table_c=tables[2],
    )


def choices_of(
    topology: Topology, links: Callable[[int, int], Iterable[int]], channel_step: int
) -> Callable[[int, int, int], list[Hop]]:
    """Return `Routing.choices` of the links from a router toward a node on another one.

    The state is the channel, which rises by ``channel_step`` a hop.
    """

    def choices(router: int, dst_node: int, state: int) -> list[Hop]:
        if router == topology.port_router[dst_node]:
            return [ejection(topology, dst_node, state)]
        return [Hop(link, state, state + channel_step) for link in links(router, dst_node)]

    return choices


def ejection(topology: Topology, dst_node: int, state: int) -> Hop:
    """Return the last hop, from the destination's router to the destination."""
    return Hop(topology.n_ports + dst_node, 0, state)
