"""Links that are slow or down for a while: the network that is left at a time.

A fault is on all cables between two routers, or on the links of a node. At a time the links have
the lowest speed of the faults that hold then. Links of no speed stay in the tables of a topology,
with their numbers, and no route takes them (`Topology.down`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from netsim.errors import NetcosimError, near
from netsim.parameters import Example, check_values
from netsim.topology import Topology, nodes_named

_LINK = {"link": ["leaf-1", "spine-2"]}


@dataclass(frozen=True)
class Fault:
    """A link at a part of its speed, from a time to just before another.

    Examples
    --------
    >>> import netcosim as nc
    >>> from netsim.faults import Fault, with_faults
    >>> ring = nc.make_topology("torus", {"dims": [4]})
    >>> slow = with_faults(ring, [Fault(("0", "1"), speed=0.25)])
    >>> slow.link_bandwidth_Bps[slow.first_router_link :][:2].tolist()
    [250000000, 1000000000]
    """

    link: Annotated[
        Sequence[str],
        "two routers, or a node, by name; by number, as text, where they have none",
        Example(_LINK["link"]),
    ]
    speed: Annotated[
        float, "part of the bandwidth that is left; 0: down", Ge(0), Le(1), Example(0.5, _LINK)
    ] = 0.0
    cables: Annotated[
        int | None, "of several cables between two routers so many", Ge(1), Example(1, _LINK)
    ] = None
    from_s: Annotated[
        float, "when it begins, on the clock of the queue", Ge(0), Example("2 h", _LINK)
    ] = 0.0
    to_s: Annotated[float | None, "when it ends", Ge(0), Example("5 h", _LINK)] = None

    def __post_init__(self) -> None:
        check_values("fault", self)
        object.__setattr__(self, "link", tuple(self.link))
        if len(self.link) > 2:
            raise NetcosimError(f"fault on link {list(self.link)}; at most 2 ends")
        if self.to_s is not None and self.to_s <= self.from_s:
            raise NetcosimError(f"from = {self.from_s:g} s, to = {self.to_s:g} s; to must be later")

    def holds(self, time_s: float) -> bool:
        """Return whether the link has the fault at a time."""
        return self.from_s <= time_s and (self.to_s is None or time_s < self.to_s)


def with_faults(topology: Topology, faults: Sequence[Fault]) -> Topology:
    """Return the network with these faults, whenever they hold."""
    share = np.ones(topology.n_links)
    for fault in faults:
        links = links_of(topology, fault)
        share[links] = np.minimum(share[links], fault.speed)
    if share.min() == 1:
        return topology
    speed = np.maximum(1, np.rint(topology.link_bandwidth_Bps * share)).astype(np.int64)
    speed.flags.writeable = False
    down = share == 0
    return replace(topology, link_bandwidth_Bps=speed, down=down if down.any() else None)


def links_of(topology: Topology, fault: Fault) -> NDArray[np.int64]:
    """Return the links that a fault is on, both directions."""
    t, where = topology, f"fault on link {' - '.join(fault.link)}"
    if len(fault.link) == 1:
        [node] = nodes_named(t, fault.link).tolist()
        if fault.speed == 0:
            raise NetcosimError(
                f"{where}: without it node {fault.link[0]} is cut off; nodes that are out for a "
                "while are in the file of queue.outages"
            )
        ports = np.arange(node * t.rails, (node + 1) * t.rails)
        # the port of the scale-up switch is no adapter
        ports = ports[int(t.scale_up is not None) :]
        return np.concatenate([ports, t.n_ports + ports])
    a, b = (_router(t, where, name) for name in fault.link)
    src, dst = (ends[t.first_router_link :] - t.n_ports for ends in (t.link_src, t.link_dst))
    forth, back = (
        t.first_router_link + np.flatnonzero((src == one) & (dst == other))
        for one, other in ((a, b), (b, a))
    )
    if not len(forth):
        raise NetcosimError(f"{where}: {t.name} has no cable between these two")
    if fault.cables is not None and fault.cables > len(forth):
        raise NetcosimError(f"{where}: cables = {fault.cables}; there are {len(forth)}")
    return np.concatenate([forth[: fault.cables], back[: fault.cables]])


def _router(topology: Topology, where: str, name: str) -> int:
    names = router_names(topology)
    if name in names:
        return names.index(name)
    raise NetcosimError(f"{where}: no router {name!r} in {topology.name};{near(name, names)[:300]}")


def router_names(topology: Topology) -> list[str]:
    """Return the names of the routers: those of the machine's file, or their numbers."""
    for attribute in ("switches", "labels"):
        if hasattr(topology.shape, attribute):
            return [str(name) for name in getattr(topology.shape, attribute)]
    return [str(router) for router in range(topology.n_routers)]
