"""Common parts of the dragonfly policies: free nodes per router and per group."""

from __future__ import annotations

from alloc.nodes import Counts, NodePolicy
from netsim.topology import Topology


class DragonflyPolicy(NodePolicy):
    """A node policy on a dragonfly or dragonfly+.

    Routers are those with nodes: the leaves of a dragonfly+. Node (group*a + router)*p + host
    of a such routers a group. Where the ports of a node are spread over several routers, they
    count as one.
    """

    families = ("dragonfly", "dragonfly-plus")
    counts_only = True

    def block_sizes(self, topology: Topology) -> tuple[int, ...]:
        """Return the nodes a router (a block of routers that share nodes), nodes a group."""
        return topology.shape.p, topology.shape.nodes_per_group

    @property
    def _p(self) -> int:
        return self._blocks[0]

    @property
    def _group_size(self) -> int:
        return self._blocks[1]

    @property
    def _router_free(self) -> Counts:
        return self._counts[0]

    @property
    def _group_free(self) -> Counts:
        return self._counts[1]
