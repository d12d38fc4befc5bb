"""Which rail a message takes, and which links are of rails (docs/end-points.md, "Rails")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.topology import Topology
from netsim.traffic import Traffic


def nic_links(topology: Topology) -> NDArray[np.bool_]:
    """Return which links belong to a network port that is not on a scale-up switch, (n_links,)."""
    link = np.arange(topology.n_links)
    of_nic = link < topology.first_router_link
    if topology.scale_up is not None:
        of_nic &= link % topology.n_ports % topology.rails > 0
    return np.asarray(of_nic)


def first_rail(traffic: Traffic, rails: int, policy: str) -> NDArray[np.int64]:
    """Return the rail of each message, or of its first part if it is striped, (n_messages,) int64;
    ``policy`` is one of `netsim.packet.model.RAIL_POLICIES`."""
    program = traffic.program
    if rails == 1:
        return np.zeros(program.n_messages, dtype=np.int64)
    sender = program.send_src().astype(np.int64)
    if policy == "pinned":
        return place_on_node(traffic)[sender] % rails
    first = np.asarray(program.send_ptr)[program.rank_step_ptr]
    return (np.arange(program.n_messages) - first[sender]) % rails


def place_on_node(traffic: Traffic) -> NDArray[np.int64]:
    """Return the number of lower ranks of each rank's group on its node, (n_ranks,) int64."""
    n = len(traffic.rank_node)
    order = np.lexsort((np.arange(n), traffic.rank_node, traffic.rank_group))
    node, group = traffic.rank_node[order], traffic.rank_group[order]
    new = np.ones(n, dtype=np.bool_)
    new[1:] = (node[1:] != node[:-1]) | (group[1:] != group[:-1])
    begin = np.maximum.accumulate(np.where(new, np.arange(n), 0))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) - begin
    return place
