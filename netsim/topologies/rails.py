"""Several network ports a node: the parameters that families share, and the routers of the
ports."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.parameters import OneOf, ReadIf
from netsim.topologies.checks import need_int, need_one_of

DIFFERENT, SAME = RAIL_ROUTERS = ("different", "same")
"""Port r of a node on the r-th router of its block of neighbours, or all ports on one router."""

Rails = Annotated[int, "network ports of every node", Ge(1)]
RailRouters = Annotated[
    str,
    "whether the ports of a node are attached to neighbouring routers or to one",
    OneOf(RAIL_ROUTERS),
    ReadIf(("rails",), lambda rails: rails > 1, "machine.rails is above 1"),
]


def need_rails(where: str, rails: int, rail_routers: str, what: str, together: int) -> None:
    """Refuse rails that do not fit the machine.

    ``what`` is the parameter with the number of neighbouring routers, ``together`` its value; with
    "different", whole blocks of ``rails`` routers must fit in.
    """
    need_int(where, "rails", rails, 1)
    need_one_of(where, "rail_routers", rail_routers, RAIL_ROUTERS)
    if rail_routers == DIFFERENT and together % rails:
        raise NetcosimError(
            f"{where}: rails = {shown(rails)} on different routers need {what} to be a multiple "
            f"of it; {what} = {shown(together)}"
        )


def routers_a_block(rails: int, rail_routers: str) -> int:
    """Return the number of neighbouring routers that the ports of one node are attached to."""
    return rails if rail_routers == DIFFERENT else 1


def port_routers(
    n_routers: int, nodes_per_router: int, rails: int, rail_routers: str
) -> NDArray[np.int64]:
    """Return the router of each port for an equal number of nodes a router, (n_ports,) int64.

    Counted are routers with nodes, and nodes with a port on a router: they have all their ports on
    its block.

    Examples
    --------
    Two rails, two nodes on each of four routers:

    >>> port_routers(4, 2, 2, "different").tolist()
    [0, 1, 0, 1, 2, 3, 2, 3]
    >>> port_routers(2, 2, 2, "same").tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    step = routers_a_block(rails, rail_routers)
    first = np.repeat(np.arange(0, n_routers, step), nodes_per_router)
    place = np.arange(rails) if step > 1 else np.zeros(rails, dtype=np.int64)
    return (first[:, None] + place).ravel()
