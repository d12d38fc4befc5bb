"""`RouteTables` from lists, in the dtypes that the kernels are compiled for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.routing.base import Hop
from netsim.routing.tables import RouteTables
from netsim.topology import Topology


def _int32(values: Any) -> NDArray[np.int32]:
    # A copy: a read-only array would compile another variant of every kernel.
    return np.array(values, dtype=np.int32).ravel()


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
    return RouteTables(
        code=int(code),
        n_vcs=int(n_vcs),
        params=np.array(params, dtype=np.int64),
        port_router=_int32(topology.port_router),
        eject_link=_int32(topology.n_ports + np.arange(topology.n_ports)),
        table_a=_int32(table_a),
        table_b=_int32(table_b),
        table_c=_int32(table_c),
    )


def ejection(topology: Topology, dst_node: int, state: int) -> Hop:
    """The last hop, from the destination's router to the destination."""
    return Hop(topology.n_ports + dst_node, 0, state)
