"""What the packet kernels get of a routing."""

from __future__ import annotations

import numpy as np

from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.kernels_codes import RULES, RoutingCode, RoutingRule
from netsim.routing.kernels_dragonfly import FIRST_GLOBAL, MINIMAL
from netsim.routing.tables import RouteTables, StaticTables, UgalTables


def tables_class(routing: Routing, config: PacketConfig) -> type[RouteTables]:
    """Return the class of tables that a run on one thread gets, whose kernels are compiled for it.

    What is seldom used shares the kernels that have all routings in them.
    """
    paced = config.paces_flows
    in_parts = config.eager_limit_bytes is not None or routing.topology.rails > 1
    if paced or in_parts or config.input_queued:
        return RouteTables
    if not (routing.adaptive or routing.random_visits):
        return StaticTables
    rule = RULES[RoutingCode(routing.tables.code)]
    return UgalTables if rule == RoutingRule.DECIDES_ONCE else RouteTables


def kernel_tables(tables: RouteTables, tick_ps: int) -> RouteTables:
    """Return writable copies in the kernels' types, with the bias (``params[0]``) in ticks."""
    params = np.array(tables.params, dtype=np.int64)
    params[0] //= tick_ps
    return RouteTables(
        code=int(tables.code),
        n_vcs=int(tables.n_vcs),
        params=params,
        port_router=np.array(tables.port_router, dtype=np.int32),
        eject_link=np.array(tables.eject_link, dtype=np.int32),
        table_a=np.array(tables.table_a, dtype=np.int32),
        table_b=np.array(tables.table_b, dtype=np.int32),
        table_c=np.array(tables.table_c, dtype=np.int32),
    )


def looks_visits(routing: Routing) -> int:
    """Return the first visit from which the routing reads no queue and may choose early."""
    if not routing.adaptive:
        return 0
    return routing.random_visits if routing.room_vc < 0 else 1 << 16


def one_channel_from(routing: Routing) -> int:
    """Return the first link from which on packets use one channel of each, looking at no queue."""
    if routing.adaptive:
        return routing.topology.n_links
    if routing.n_vcs == 1:
        return 2 * routing.topology.n_ports
    minimal = routing.tables.code == MINIMAL
    return int(routing.tables.params[FIRST_GLOBAL]) if minimal else routing.topology.n_links
